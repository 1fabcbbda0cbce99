"""Tables in CSV, Parquet and NDJSON files, with Polars: read and written whole, or in parts."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from ..errors import ArgumentError, Fix, RowError
from ..support.atomic import atomic_write
from ..support.imports import import_optional
from ..support.types import is_number
from .columns import Layout, TableFormat, columns_by_name_here, is_number_here
from .frames import as_frame, classes_of_labels, to_polars
from .heads import Heads

if TYPE_CHECKING:
    import polars as pl


SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""The separators that are looked for, and their names on the command line."""

BEGINNING = 1 << 20
"""So many bytes are read to find the dialect: the header has to be shorter."""

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
COMMA_NUMBER = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
PATTERNS = {",": COMMA_NUMBER, ".": COMMA_NUMBER.replace(",", r"\.")}


class Dialect(NamedTuple):
    """How a CSV file is written.

    Attributes
    ----------
    separator : str
        One character.
    names : list of str
        The header.
    """

    separator: str
    names: list[str]

    def rename(self, names: list[str]) -> list[str]:
        """Return what columns are called, by the names that Polars reads.

        Polars leaves quotes doubled, and gives the second of two equal names another one.
        """
        if len(names) != len(self.names):
            return names
        return [new or name for name, new in zip(names, self.names, strict=True)]


def find_dialect(
    path: Path, name: str, separator: str | None = None, time: str = "time", usual: str = ","
) -> Dialect:
    """Find how a CSV file is written, from its header.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed.
    name : str
        How messages call it.
    separator : str, optional
        The separator, where it is known.
    time : str
        The name of the column of times: where the header could have several separators, it is the
        one that gives this name.
    usual : str
        The separator of a file that has none in its header.
    """
    data = _beginning(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:1000]:
        raise not_utf8(name, "UTF-16")
    text = data.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    line = text.partition("\n")[0]
    if "\ufffd" in line:
        raise not_utf8(name, "latin1", 1)
    if "\r" in line.removesuffix("\r"):
        raise ValueError(f"{name} has lines that end with \\r alone; write \\n in its place")
    if separator is None:
        separator = _find_separator(text, name, time, usual)
    names = _names(text, separator, name)
    for column, count in Counter(filter(None, names)).items():
        if count > 1:
            raise ValueError(f"{name} has {count} columns {column!r}; rename them, or keep one")
    return Dialect(separator, names)


def _find_separator(text: str, name: str, time: str, usual: str) -> str:
    """Return the separator of a header; where it could be several, the one with a time column."""
    unquoted = re.sub('"[^"]*"', "", text.partition("\n")[0])
    several = [separator for separator in SEPARATORS if separator in unquoted]
    if len(several) > 1:
        with_time = [
            separator
            for separator in several
            if time.casefold() in (n.strip().casefold() for n in _names(text, separator, name))
        ]
        several = with_time or several
    if len(several) > 1 and usual == ",":
        kinds = " and ".join(map(repr, several))
        problem = f"is not given, and {kinds} may separate the columns of {name}"
        raise ArgumentError(
            "separator", None, problem=problem, fix=("say which: ", Fix("separator", several[0]))
        )
    return several[0] if len(several) == 1 else usual


def is_compressed(beginning: bytes) -> bool:
    """Return whether a file is compressed, by its first bytes."""
    return beginning.startswith((GZIP, ZSTD))


def _names(text: str, separator: str, name: str) -> list[str]:
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return next((row for row in rows if row), [])
    except csv.Error as error:
        raise ValueError(f"{name} cannot be read as .csv: its first line: {error}") from None


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with path.open("rb") as file:
        data = file.read(BEGINNING)
    if data.startswith(GZIP):
        with gzip.open(path) as unpacked:
            return unpacked.read(BEGINNING)
    if data.startswith(ZSTD):  # the standard library reads it from Python 3.14 on
        polars = import_optional("polars")
        how = {"has_header": False, "infer_schema": False, "quote_char": None, "n_rows": 100}
        lines = polars.read_csv(path, separator="\x01", encoding="utf8-lossy", **how)
        return b"".join(f"{line or ''}\n".encode() for line in lines.to_series())
    return data


def not_utf8(name: str, encoding: str, line: int | None = None) -> ValueError:
    """Return the error of a file in another encoding."""
    where = "" if line is None else f" in line {line}"
    likely = f"{name} is not in UTF-8{where}; if it is in {encoding}, convert it"
    return ValueError(
        f"{likely}: iconv -f {encoding} -t UTF-8, or pandas.read_csv(..., encoding={encoding!r})"
    )


def open_lines(path: Path) -> BinaryIO:
    """Open a file of text, perhaps compressed by gzip; one by zstd looks empty."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == ZSTD:
        return io.BytesIO()
    opener = gzip.open if magic.startswith(GZIP) else Path.open
    return cast(BinaryIO, opener(path, "rb"))


def first_line_not_utf8(path: Path) -> int | None:
    """Return the first line that is not UTF-8, from 1; None if there is none."""
    # The error may be that of a file that was cut off.
    with suppress(EOFError, OSError, zlib.error), open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


class DecimalMark:
    """Turns decimal commas into points, part by part; all numbers must have the same mark."""

    def __init__(self, mark: str = "") -> None:
        self._mark = mark

    def points(self, df: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """Return a table of text with points in the numbers of some columns."""
        polars = import_optional("polars")
        for mark in PATTERNS:
            if mark != self._mark and _contains(df.select(columns), mark):
                if self._mark:
                    raise self._disagreement(df.select(columns), mark)
                self._mark = mark
        if self._mark != ",":
            return df
        return df.with_columns(polars.col(*columns).str.replace(COMMA_NUMBER, "${1}.${2}"))

    def _disagreement(self, df: pl.DataFrame, mark: str) -> RowError:
        """Return the error of the first number with another mark than those before."""
        there = {c.name: c.str.contains(PATTERNS[mark]).arg_true() for c in df}
        row, column = min((int(rows[0]), name) for name, rows in there.items() if len(rows))
        words = {",": "commas", ".": "points"}[self._mark]
        must = f"other numbers have decimal {words}"
        fix = "write all of them in one way"
        return RowError(f"column {column}", df[column][row], must=must, fix=fix, row=row)


def _contains(df: pl.DataFrame, mark: str) -> bool:
    """Return whether any number of a table of text has a decimal mark."""
    cells = import_optional("polars").all().str
    # Few files get as far as the pattern, which takes longer.
    tests = cells.contains(mark, literal=True), cells.contains(PATTERNS[mark])
    return all(any(df.select(test.any()).row(0)) for test in tests)


def has_decimal_commas(df: pl.DataFrame) -> bool:
    """Return whether a column of text has a number with a comma."""
    text = df.select(import_optional("polars").selectors.string())
    return bool(text.columns) and _contains(text, ",")


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BLOCK = 1 << 20


def check_lines(path: Path, name: str) -> None:
    """Raise where a key of the first line is there twice, or text has half of a character.

    Polars takes the first of two values, where others take the last, and half of a character as
    NUL, so that two streams become one.
    """
    with open_lines(path) as lines:
        first = lines.readline(_BLOCK)
        for line in _objects(first):
            twice = [key for key in dict(line) if sum(key == other for other, _ in line) > 1]
            if twice:
                raise ValueError(
                    f"{name}, line 1: the key {twice[0]!r} is there twice; name it once"
                )
        if not _has_surrogate(first, lines):
            return
        lines.seek(0)
        for number, text in enumerate(lines, 1):
            if _SURROGATE.search(text) and any(map(_is_half, _objects(text))):
                raise ValueError(
                    f"{name}, line {number}: text has half of a character, a surrogate without its "
                    "other half; write it in UTF-8"
                )


def _objects(text: bytes) -> list[list[tuple[str, Any]]]:
    """Return the object of a line as its pairs; Polars says what is wrong with another one."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return []
    return [pairs] if type(pairs) is list and all(type(pair) is tuple for pair in pairs) else []


def _has_surrogate(before: bytes, file: BinaryIO) -> bool:
    while before:
        block = file.read(_BLOCK)
        if _SURROGATE.search(before + block[:8]):  # it may begin in one and end in the other
            return True
        before = block
    return False


def _is_half(pairs: list[tuple[str, Any]]) -> bool:
    try:
        json.dumps(pairs, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


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
    with reading(source), naming_lines(source):
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
    if dialect.separator != "," and has_decimal_commas(df.select(others)):
        df = read(decimal_comma=True)
        mixed = [name for name in used if df.schema[name] == polars.String]
        df = DecimalMark(",").points(df, mixed) if mixed else df
    text = [name for name in used if df.schema[name] == polars.String]
    return as_numbers(df, text) if text else df


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
        broken = _broken_line(source)
        if broken is not None:
            raise ValueError(f"{source.name}, line {broken}") from error
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{source.name} cannot be read as {source.suffix}: {reason}") from error


def _broken_line(source: TableInput) -> str | None:
    """Return the line of a text file that cannot be read, and what is wrong with it."""
    with suppress(EOFError, OSError, zlib.error), open_lines(source.path) as lines:
        if source.is_csv:
            with io.TextIOWrapper(lines, "utf-8-sig", "replace", newline="") as text:
                return _uneven_record(source, text)
        if source.suffix != ".parquet":
            return _odd_object(lines)
    return None


def _uneven_record(source: TableInput, text: io.TextIOWrapper) -> str | None:
    """Return the first record of a CSV file with more cells than the header, or an open quote."""
    cells, begins = 0, 1
    records = csv.reader(text, delimiter=source.dialect("time").separator, strict=True)
    try:
        for record in records:
            cells = cells or len(record)
            if len(record) > cells:
                return f"{begins}: it has {len(record)} cells, the header has {cells}"
            begins = records.line_num + 1
    except csv.Error as error:
        return f"{begins}: {error}; look for a quote that does not end"
    return None


def _odd_object(lines: BinaryIO) -> str | None:
    """Return the first line that is no JSON object, or has another type than those before."""
    kinds: dict[str, str] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            cells = json.loads(text)
        except (ValueError, RecursionError) as error:
            return f"{number}: it is not JSON: {getattr(error, 'msg', error)}"
        if not isinstance(cells, dict):
            return f"{number}: it is {json.dumps(cells)[:80]}, not an object: " + '{"time": ...}'
        for key, cell in cells.items():
            kind = "number" if is_number(cell) else type(cell).__name__
            if cell is not None and kinds.setdefault(key, kind) != kind:
                return f"{number}: {key} is {json.dumps(cell)}, but a {kinds[key]} in lines before"
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
