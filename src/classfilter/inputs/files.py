"""Tables in CSV, Parquet and NDJSON files, with Polars: read and written whole, or in parts."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..errors import ArgumentError, RowError
from ..support.atomic import atomic_write
from ..support.imports import import_optional
from .columns import Layout, TableFormat, columns_by_name_here
from .frames import as_frame, classes_of_labels, to_polars
from .heads import Heads

if TYPE_CHECKING:
    import polars as pl


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""The separators that are looked for, and their names on the command line."""

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
DECIMAL_COMMA = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"


def lines_of(path: Path) -> pl.LazyFrame:
    """Return the lines of a file of text, perhaps compressed, as a column; null where empty."""
    return cast(
        "pl.LazyFrame",
        import_optional("polars").scan_csv(
            glob.escape(str(path)),  # Polars would expand a pattern
            has_header=False,
            separator="\x01",
            quote_char=None,
            infer_schema=False,
            encoding="utf8-lossy",
            truncate_ragged_lines=True,
        ),
    )


def not_utf8(encoding: str = "latin1") -> str:
    """Return what to say of a file in another encoding."""
    convert = f"iconv -f {encoding} -t UTF-8, or pandas.read_csv(..., encoding={encoding!r})"
    return f"it is not UTF-8; if it is {encoding}, convert it: {convert}"


def open_lines(path: Path) -> BinaryIO:
    """Open a file of text, perhaps compressed by gzip; one by zstd looks empty."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == ZSTD:
        return io.BytesIO()
    opener = gzip.open if magic.startswith(GZIP) else Path.open
    return cast(BinaryIO, opener(path, "rb"))


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

    def line(self, row: int) -> int | None:
        """Return the line, from 1, on which a row of a text file begins; None for other files."""
        if self.suffix == ".parquet":
            return None
        record, quoted = -2 if self.is_csv else -1, False
        with open_lines(self.path) as lines:
            for number, text in enumerate(lines, 1):
                blank = not text.strip() and (record == -2 or not self.is_csv)
                record += not blank and not quoted
                if record == row:
                    return number
                quoted ^= self.is_csv and text.count(b'"') % 2 == 1
        return None

    def find_separator(self) -> str:
        """Return the separator of a CSV file: if none is given, the most frequent in the header."""
        if self.separator is not None:
            return self.separator
        header = next(filter(None, lines_of(self.path).head(100).collect().to_series()), "")
        if "\ufffd" in header or "\0" in header:
            encoding = "UTF-16" if "\0" in header else "latin1"
            raise ValueError(f"{self.name}, line 1: {not_utf8(encoding)}")
        unquoted = re.sub('"[^"]*"', "", header)
        best = max(SEPARATORS, key=unquoted.count)
        return best if best in unquoted else TEXT[self.suffix]


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
        That of a CSV file. By default the most frequent one in the header: a comma, a semicolon, a
        tab or a bar. Numbers may have decimal commas where it is no comma.

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
    with reading(source), naming_lines(source):
        if source.is_csv:
            return _read_csv(source, columns_by_name_here(columns))
        with source.path.open("rb") as file:
            df: pl.DataFrame = (
                polars.read_parquet(file)
                if source.suffix == ".parquet"
                else polars.read_ndjson(file, infer_schema_length=None)
            )
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
        with naming_lines(path):
            yield
    except ArgumentError as error:
        raise error.replaced(file=str(path)) from error.__cause__
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path}: {error}") from error


@contextmanager
def naming_lines(source: TableInput | str | PathLike[str]) -> Iterator[None]:
    """Let errors about a row of a file name its line."""
    try:
        yield
    except RowError as error:
        if error.row is None or error.line is not None:
            raise
        source = source if isinstance(source, TableInput) else TableInput.of(Path(source))
        raise error.replaced(line=source.line(error.row)) from error.__cause__


def _read_csv(source: TableInput, columns: Mapping[str, str]) -> pl.DataFrame:
    polars = import_optional("polars")
    texts = [columns.get(name, name) for name in ("stream", "source", "label", "prediction")]
    with source.path.open("rb") as file:
        separator = source.find_separator()
        df: pl.DataFrame = polars.read_csv(
            file,
            infer_schema_length=None,
            schema_overrides=dict.fromkeys(texts, polars.String),
            separator=separator,
        )
    check_names(df.columns, source.name)
    text = [n for n, kind in df.schema.items() if kind == polars.String and n not in texts]
    df = df if separator == "," else with_points(df, text)
    first = as_numbers(df.head(100), text)  # most text is no number from there on
    text = [name for name in text if first.schema[name] != polars.String]
    return as_numbers(df, text) if text else df


def check_names(names: Sequence[str], file: str) -> None:
    """Refuse a column that is there twice: Polars gives the second one another name."""
    for name in names:
        twice = re.fullmatch(r"(.+)_duplicated_\d+", name)
        if twice and twice[1] in names:
            raise ValueError(f"{file} has several columns {twice[1]!r}; rename them, or keep one")


def with_points(df: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return a table of text with points for decimal commas; a column that has both stays."""
    polars = import_optional("polars")
    commas = [
        name
        for name in columns
        if df[name].str.contains(",", literal=True).any()
        and not df[name].str.contains(DECIMAL_COMMA.replace(",", r"\.")).any()
    ]
    return df.with_columns(polars.col(commas).str.replace(DECIMAL_COMMA, "${1}.${2}"))


def as_numbers(df: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return a table with columns of text as numbers; one that has other text stays."""
    polars = import_optional("polars")
    text = df.select(columns)
    # all columns in one call: each call of Polars takes long
    numbers = text.select(polars.all().str.strip_chars().cast(polars.Float64, strict=False))
    missing = zip(text.null_count().row(0), numbers.null_count().row(0), strict=True)
    complete = [before == after for before, after in missing]
    return df.with_columns(compress(numbers, complete))


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
    options: dict[str, Any] = {"maintain_order": True}
    if compression:
        options["compression"] = compression
    types = rows.collect_schema().items() if kind != ".parquet" else ()
    for name, dtype in types:
        if dtype == import_optional("polars").Binary:
            raise ValueError(
                f"column {name} holds bytes, which text cannot; drop it, or write .parquet"
            )
    if kind == ".parquet":
        # Estimates hardly compress; with more effort, writing would take twice the time.
        rows.sink_parquet(file, compression="snappy", **options)
    elif kind in TEXT:
        rows.sink_csv(file, separator=TEXT[kind], **options)
    else:
        rows.sink_ndjson(file, **options)


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
        broken = _broken_line(source)
        if broken is not None:
            raise ValueError(f"{source.name}, line {broken}") from error
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{source.name} cannot be read as {source.suffix}: {reason}") from error


def _broken_line(source: TableInput) -> str | None:
    """Return the first line of a file of text that cannot be read, and what is wrong with it."""
    begins, cells = 1, 0
    unreadable = (EOFError, OSError, zlib.error, import_optional("polars").exceptions.PolarsError)
    with suppress(*unreadable), open_lines(source.path) as lines:  # a file that was cut off
        try:
            if source.is_csv:
                text = (line.decode() for line in lines)
                records = csv.reader(text, delimiter=source.find_separator(), strict=True)
                for record in records:
                    cells = cells or len(record)
                    if len(record) > cells:
                        return f"{begins}: it has {len(record)} cells, the header has {cells}"
                    begins = records.line_num + 1
            elif source.suffix != ".parquet":
                for begins, line in enumerate(lines, 1):
                    value = json.loads(line) if line.strip() else {}
                    if not isinstance(value, dict):
                        return f"{begins}: it is {value}, not an object: " + '{"time": ...}'
        except UnicodeDecodeError:
            return f"{begins}: {not_utf8()}"
        except csv.Error as error:
            return f"{begins}: {error}; look for a quote that does not end"
        except (ValueError, RecursionError) as error:
            return f"{begins}: it is not JSON: {getattr(error, 'msg', error)}"
    return None


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
        kinds = ", ".join(dict.fromkeys(kind_of(one)[0] for one in suffixes))
        more = ", perhaps with .gz or .zst after it" if ".csv.gz" in suffixes else ""
        raise ValueError(f"{path} ends in {suffix!r}; it must be one of {kinds}{more}")
    return suffix


ROWS_AT_ONCE = 100_000


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
        self._separator = ","
        literal = glob.escape(str(self.source.path))
        # One lazy frame for all: Polars keeps the schema and the metadata with it.
        self._scan: pl.LazyFrame
        with self.source.path.open("rb"), reading(self.source):  # Polars' error would be another
            if self.source.is_csv:
                self._separator = self.source.find_separator()
                self._scan = polars.scan_csv(literal, infer_schema=False, separator=self._separator)
            elif self.source.suffix == ".parquet":
                self._scan = polars.scan_parquet(literal)
            else:
                self._scan = polars.scan_ndjson(literal, infer_schema_length=None)
            self.columns: list[str] = self._scan.collect_schema().names()
            check_names(self.columns, self.source.name)

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
        polars = import_optional("polars")
        counts = self._scan.select(polars.len())
        if self.source.suffix in (".ndjson", ".jsonl"):  # Polars would parse all of it
            counts = lines_of(self.source.path).select(polars.first().is_not_null().sum())
        with reading(self.source):
            return int(counts.collect().item())

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
        return df if self._separator == "," else with_points(df, self.layout.number_columns)
