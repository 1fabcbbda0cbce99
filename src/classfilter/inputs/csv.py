"""CSV files as they exist: separators, encodings, decimal commas."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from ..errors import ArgumentError, Remedy, RowError
from ..support.imports import import_optional

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
        raise ArgumentError("separator", None, problem, remedy=Remedy.SEPARATOR)
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
        rule = f"other numbers have decimal {words}"
        remedy = "write all of them in one way"
        return RowError(f"column {column}", df[column][row], "is {}", rule, remedy, row)


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
