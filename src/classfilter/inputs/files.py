"""Tables in CSV, Parquet and NDJSON files, with Polars: read and written whole, or in parts."""

from __future__ import annotations

import glob
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import ArgumentError
from ..support.atomic import atomic_write
from ..support.imports import import_optional
from .columns import Layout, TableFormat, columns_by_name_here, is_number_here
from .csv import (
    DecimalMark,
    Dialect,
    find_dialect,
    first_line_not_utf8,
    has_decimal_commas,
    is_compressed,
    not_utf8,
)
from .frames import classes_of_labels
from .heads import Heads
from .ndjson import check_lines
from .tables import as_frame, to_polars

if TYPE_CHECKING:
    import polars as pl

TEXT = {".csv": ",", ".tsv": "\t"}
"""Files of separated cells, with the separator that is written."""
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
SUFFIXES = (
    ".csv",
    ".tsv",
    ".parquet",
    ".ndjson",
    ".jsonl",
    *(f"{kind}{more}" for kind in (".csv", ".tsv", ".ndjson", ".jsonl") for more in COMPRESSIONS),
)


@dataclass(frozen=True)
class TableInput:
    """Where a table comes from.

    Attributes
    ----------
    path : Path
        A regular file.
    suffix : str
        Its kind, one of `SUFFIXES` without that of a compression, which its first bytes tell.
    name : str
        How messages call it.
    separator : str, optional
        That of a CSV file, where it is known.
    """

    path: Path
    suffix: str
    name: str
    separator: str | None = None

    @classmethod
    def of(cls, path: str | Path, separator: str | None = None) -> TableInput:
        """Return a file, whose suffix names its kind."""
        path = Path(path)
        return cls(path, kind_of(file_suffix(path))[0], str(path), separator)

    @property
    def is_csv(self) -> bool:
        """Whether it has separated cells of text."""
        return self.suffix in TEXT

    def dialect(self, time: str) -> Dialect:
        """Return how a CSV file is written."""
        return find_dialect(self.path, self.name, self.separator, time, TEXT[self.suffix])


def read_table(
    path: str | Path | TableInput,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
) -> pl.DataFrame:
    r"""Read a CSV, Parquet or NDJSON file with Polars.

    The columns ``stream``, ``source``, ``label`` and ``prediction`` of a CSV file are read as text:
    007 stays 007.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.csv``, ``.tsv``, ``.parquet``, ``.ndjson`` or ``.jsonl``; ``.gz`` or
        ``.zst`` may follow the suffix of text. Text is UTF-8.
    columns : mapping of str to str, optional
        The names of columns in the table, where they differ; see `filter_table`.
    separator : str, optional
        That of a CSV file. By default it is found in the header: a comma, a semicolon, a tab or a
        bar. Numbers may have decimal commas where it is no comma.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     day = Path(folder) / "day.csv"
    ...     _ = day.write_text("time;p_rest;p_move\n0;0,9;0,1\n5;0,4;0,6\n")
    ...     read_table(day)["p_rest"].to_list()
    [0.9, 0.4]
    """
    polars = import_optional("polars")
    source = path if isinstance(path, TableInput) else TableInput.of(path, separator)
    with reading(source):
        if source.is_csv:
            return _read_csv(source, columns_by_name_here(columns))
        with source.path.open("rb") as file:
            how: dict[str, Any] = {}
            if source.suffix != ".parquet":
                check_lines(source.path, source.name)
                how["infer_schema_length"] = None
            read = polars.read_parquet if source.suffix == ".parquet" else polars.read_ndjson
            df: pl.DataFrame = read(file, **how)
    return df


@contextmanager
def table_of(data: Any, columns: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Give a dataframe as it is, and a path as the table in that file, which errors then name."""
    if not isinstance(data, (str, PathLike)):
        yield data
        return
    with naming_file(data):
        yield read_table(Path(data), columns=columns)


@contextmanager
def naming_file(path: str | PathLike[str]) -> Iterator[None]:
    """Let errors about the content of a file name it."""
    try:
        yield
    except ArgumentError as error:
        raise error.replaced(file=str(path)) from error.__cause__
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path}: {error}") from error


def _read_csv(source: TableInput, columns: Mapping[str, str]) -> pl.DataFrame:
    polars = import_optional("polars")
    dialect = source.dialect(columns.get("time", "time"))
    texts = [columns.get(n, n) for n in ("stream", "source", "label", "prediction")]
    how: dict[str, Any] = {
        "infer_schema_length": None,
        "schema_overrides": dict.fromkeys(texts, polars.String),
        "separator": dialect.separator,
    }

    def read(**more: Any) -> pl.DataFrame:
        with source.path.open("rb") as file:
            df: pl.DataFrame = polars.read_csv(file, **how, **more)
        df.columns = dialect.rename(df.columns)
        return df

    df = read()
    here = {name: key for key, name in columns.items()}
    used = [name for name in df.columns if is_number_here(here.get(name, name))]
    if df.select(used).select(polars.selectors.float()).columns:
        others = used
    else:  # the columns of classes may have other names
        others = [name for name in df.columns if name not in texts]
    if dialect.separator == "," or not has_decimal_commas(df.select(others)):
        return df
    df = read(decimal_comma=True)
    mixed = [name for name in used if df.schema[name] == polars.String]
    return DecimalMark(",").points(df, mixed) if mixed else df


def write_table(df: Any, path: str | Path) -> None:
    """Write a dataframe to a CSV, Parquet or NDJSON file with Polars.

    The file appears complete or not at all; an existing one is replaced at the end. The index of a
    pandas dataframe is not written.

    Parameters
    ----------
    df : dataframe
        Of any kind.
    path : str or Path
        A file that ends as in `read_table`. A ``.csv`` file has commas and points, a ``.tsv`` file
        tabs.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter import rows
    >>> probs, classes = [[0.9, 0.1], [0.4, 0.6]], ["rest", "move"]
    >>> day = rows(time=[0, 5], source="weak", probs=probs, classes=classes)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(day.to_table(), f"{folder}/day.csv")
    ...     print(Path(f"{folder}/day.csv").read_text().strip())
    time,source,p_rest,p_move
    0.0,weak,0.9,0.1
    5.0,weak,0.4,0.6
    """
    import_optional("polars")
    path = Path(path)
    suffix = file_suffix(path)
    frame = to_polars(df)
    with atomic_write(path) as file:
        if suffix == ".parquet":
            frame.write_parquet(file)
        else:
            sink(frame.lazy(), file, suffix)


def sink(rows: pl.LazyFrame, file: BinaryIO, suffix: str) -> None:
    """Write rows to an open file of a kind."""
    kind, compression = kind_of(suffix)
    how: dict[str, Any] = {"maintain_order": True}
    if compression:
        how["compression"] = compression
    types = rows.collect_schema().items() if kind != ".parquet" else ()
    for name, found in types:
        if found == import_optional("polars").Binary:
            raise ValueError(
                f"column {name} holds bytes, which text cannot; drop it, or write .parquet"
            )
    if kind == ".parquet":
        # Estimates hardly compress; with more effort, writing would take twice the time.
        rows.sink_parquet(file, compression="snappy", **how)
    elif kind in TEXT:
        rows.sink_csv(file, separator=TEXT[kind], **how)
    else:
        rows.sink_ndjson(file, **how)


@contextmanager
def reading(source: TableInput) -> Iterator[None]:
    """Turn an error of Polars into a ValueError that names the file."""
    polars = import_optional("polars")
    try:
        yield
    except (
        polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError, EOFError,
        zlib.error,
    ) as error:  # fmt: skip
        if isinstance(error, OSError) and error.errno is not None:  # not one of Polars
            raise
        line = None if source.suffix == ".parquet" else first_line_not_utf8(source.path)
        if line is not None:
            raise not_utf8(source.name, "latin1", line) from error
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{source.name} cannot be read as {source.suffix}: {reason}") from error


def kind_of(suffix: str) -> tuple[str, str | None]:
    """Return the kind of a file, and its compression, of one of `SUFFIXES`."""
    for more, compression in COMPRESSIONS.items():
        if suffix.endswith(more):
            return suffix.removesuffix(more), compression
    return suffix, None


def file_suffix(path: Path, suffixes: Sequence[str] = SUFFIXES) -> str:
    """Return the suffix of a file, which names its kind; with that of its compression."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS:
        suffix = Path(path.stem).suffix.lower() + suffix
    if suffix not in suffixes:
        known = ", ".join(dict.fromkeys(kind_of(one)[0] for one in suffixes))
        more = ", perhaps with .gz or .zst after it" if ".csv.gz" in suffixes else ""
        raise ValueError(f"{path} ends in {suffix!r}; it must be one of {known}{more}")
    return suffix


ROWS_AT_ONCE = 100_000
HEADER_LINES = {".csv": 1, ".tsv": 1, ".ndjson": 0, ".jsonl": 0}
SAMPLES, SAMPLE = 16, 1 << 16
"""The number of rows of a long file of text is estimated from so many places, of so many bytes."""


class TableFile:
    """A CSV, Parquet or NDJSON file; its metadata is read once.

    The cells of a CSV file stay text.

    Attributes
    ----------
    source : TableInput
        Where it comes from.
    columns : list of str
        The names of the columns.
    """

    def __init__(
        self,
        source: str | Path | TableInput,
        format: TableFormat | None = None,  # noqa: A002
    ) -> None:
        polars = import_optional("polars")
        self.source = source if isinstance(source, TableInput) else TableInput.of(source)
        self.format = format or TableFormat()
        self._marks: DecimalMark | None = None
        literal = glob.escape(str(self.source.path))  # Polars would expand a pattern
        # One lazy frame for all: Polars keeps the schema and the metadata with it.
        self._scan: pl.LazyFrame
        with self.source.path.open("rb"), reading(self.source):  # Polars' error would be another
            if self.source.is_csv:
                dialect = self.source.dialect(self.format.columns.get("time", "time"))
                self._scan = polars.scan_csv(
                    literal,
                    infer_schema=False,
                    with_column_names=dialect.rename,
                    separator=dialect.separator,
                )
                if dialect.separator != ",":
                    self._marks = DecimalMark()
            elif self.source.suffix == ".parquet":
                self._scan = polars.scan_parquet(literal)
            else:
                check_lines(self.source.path, self.source.name)
                self._scan = polars.scan_ndjson(literal, infer_schema_length=None)
            self.columns: list[str] = self._scan.collect_schema().names()

    @cached_property
    def layout(self) -> Layout:
        """Where things are in the table."""
        return self.format.layout(self.columns)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes; where only the labels tell, their columns are read."""
        return self.heads.shown

    @cached_property
    def heads(self) -> Heads:
        """What the columns are."""
        if self.layout.classes:
            return self.layout.heads
        with reading(self.source):
            labels = self._scan.select(self.layout.label_columns).unique()
            read = as_frame(labels.collect(engine="streaming"))
            return self.layout.heads.like(classes_of_labels(read, self.layout))

    @cached_property
    def rows(self) -> int:
        """The number of rows; a text file is read to count them."""
        with reading(self.source):
            return int(self._scan.select(import_optional("polars").len()).collect().item())

    def about_rows(self) -> int | None:
        """Return about how many rows there are, without reading all; None if it is compressed."""
        if self.source.suffix == ".parquet":
            return self.rows
        size, lines, seen = self.source.path.stat().st_size, 0, 0
        with self.source.path.open("rb") as file:
            if is_compressed(file.peek(4)):
                return None
            step = max(size // SAMPLES, SAMPLE)
            for start in range(0, size, step):
                file.seek(start + (step - SAMPLE) // 2)
                text = file.read(SAMPLE)
                lines += text.count(b"\n")
                seen += len(text)
        return round(lines * size / max(seen, 1)) - HEADER_LINES[self.source.suffix]

    @cached_property
    def stream_rows(self) -> dict[Any, int]:
        """The number of rows of each stream; the column ``stream`` is read to count them."""
        stream = self.layout.columns.get("stream")
        if stream is None:
            return {None: self.rows} if self.rows else {}
        with reading(self.source):
            counts = self._scan.group_by(stream).len(" rows").collect(engine="streaming")
        return dict(zip(counts[stream].to_list(), counts[" rows"].to_list(), strict=True))

    def parts(self, whole: bool = False) -> Iterator[pl.DataFrame]:
        """Read the rows in order, part by part; at least one part, even without rows."""
        if whole:
            yield self._scan.collect()
        elif self.source.suffix == ".parquet":
            # Batches would read several row groups ahead; a slice decodes no more than it needs.
            at_once = self._rows_at_once()
            for start in range(0, max(self.rows, 1), at_once):
                yield self._scan.slice(start, at_once).collect()
        else:
            # Cells of text take more memory than numbers.
            at_once = max(ROWS_AT_ONCE // 2, 1)
            batches = self._scan.collect_batches(chunk_size=at_once, maintain_order=True)
            first = next(batches, None)
            yield self._scan.head(0).collect() if first is None else first
            yield from batches

    def _rows_at_once(self) -> int:
        """Return how many rows a part has: whole row groups, or each would be decoded twice.

        All row groups are taken to be as long as the first; else, parts only take longer to read.
        """
        by_group = self._scan.select(self.columns[:1]).collect_batches(maintain_order=True)
        first = next(by_group, None)
        group = 1 if first is None else max(len(first), 1)
        if group > 2 * ROWS_AT_ONCE:
            return ROWS_AT_ONCE
        return max(ROWS_AT_ONCE // group, 1) * group

    def with_points(self, df: pl.DataFrame) -> pl.DataFrame:
        """Return a part of a CSV file with points in its numbers, which are text."""
        if self._marks is None:
            return df
        return self._marks.points(df, self.layout.number_columns)

    def line(self, row: int) -> int | None:
        """Return the line of a row of a text file, from 1; None for other files."""
        header = HEADER_LINES.get(self.source.suffix)
        return None if header is None else header + row + 1
