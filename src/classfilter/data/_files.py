"""Read and write tables in CSV, Parquet and NDJSON files, with Polars."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from .._support.atomic import atomic_write
from .._support.imports import import_optional
from ._format import columns_by_name_here
from ._frames import to_polars

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".parquet", ".ndjson", ".jsonl")


def read_table(path: str | Path, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Read a ``.csv``, ``.parquet``, ``.ndjson`` or ``.jsonl`` file with Polars.

    The columns ``stream``, ``source``, ``label`` and ``prediction`` of a CSV file are read as text:
    007 stays 007. With `columns`, those named there for them; see `filter_table`.
    """
    polars = import_optional("polars")
    path = Path(path)
    suffix = file_suffix(path)
    texts = ("stream", "source", "label", "prediction")
    renamed = columns_by_name_here(columns)
    names = {renamed.get(name, name): polars.String for name in texts}
    with reading(path) as file:
        if suffix == ".csv":
            rename = csv_names(path)
            df = polars.read_csv(file, infer_schema_length=None, schema_overrides=names)
            df.columns = rename(df.columns)
        elif suffix == ".parquet":
            df = polars.read_parquet(file)
        else:
            df = polars.read_ndjson(file, infer_schema_length=None)
    result: pl.DataFrame = df
    return result


def write_table(df: Any, path: str | Path) -> None:
    """Write a dataframe to a ``.csv``, ``.parquet``, ``.ndjson`` or ``.jsonl`` file with Polars.

    The file appears complete or not at all; an existing one is replaced at the end. The index of a
    pandas dataframe is not written.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter import Recording
    >>> rec = Recording([0, 5], "weak", [[0.9, 0.1], [0.4, 0.6]], ["rest", "move"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(rec.to_table(), f"{folder}/day.csv")
    ...     print(Path(f"{folder}/day.csv").read_text().strip())
    time,source,p_rest,p_move
    0.0,weak,0.9,0.1
    5.0,weak,0.4,0.6
    """
    import_optional("polars")
    path = Path(path)
    suffix = file_suffix(path)
    frame = to_polars(df)
    write: dict[str, Callable[[BinaryIO], Any]] = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".ndjson": frame.write_ndjson,
        ".jsonl": frame.write_ndjson,
    }
    with atomic_write(path) as file:
        write[suffix](file)


def csv_names(path: Path) -> Callable[[list[str]], list[str]]:
    """Return what the columns of a CSV file are called, by the names that Polars reads.

    Polars leaves quotes doubled, and gives the second of two equal names another one.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            header = next((row for row in csv.reader(file) if row), [])
        except csv.Error as error:
            raise ValueError(f"{path} cannot be read as .csv: its first line: {error}") from None
    for name, count in Counter(filter(None, header)).items():
        if count > 1:
            raise ValueError(f"{path} has {count} columns {name!r}; rename them, or keep one")

    def rename(names: list[str]) -> list[str]:
        if len(names) != len(header):
            return names
        return [new or name for name, new in zip(names, header, strict=True)]

    return rename


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file; an error of Polars becomes a ValueError that names the file."""
    polars = import_optional("polars")
    suffix = file_suffix(path)
    with path.open("rb") as file:
        try:
            yield file
        except polars.exceptions.PolarsError as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{path} cannot be read as {suffix}: {reason}") from error


def file_suffix(path: Path, suffixes: Sequence[str] = SUFFIXES) -> str:
    """Return the suffix of a file, which names its kind."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise ValueError(f"{path} ends in {suffix!r}; it must be one of {', '.join(suffixes)}")
    return suffix
