"""A table in a file, scanned once and read in parts."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.imports import import_optional
from ._files import csv_names, file_suffix, reading
from ._format import Layout, TableFormat
from ._frames import as_frame, named_classes

if TYPE_CHECKING:
    import polars as pl

ROWS_AT_ONCE = 100_000
HEADER_LINES = {".csv": 1, ".ndjson": 0, ".jsonl": 0}


class TableFile:
    """A ``.csv``, ``.parquet``, ``.ndjson`` or ``.jsonl`` file; its metadata is read once.

    The cells of a CSV file stay text.

    Attributes
    ----------
    path : Path
        The file.
    suffix : str
        The kind of the file.
    columns : list of str
        The names of the columns.
    """

    def __init__(self, path: str | Path, format: TableFormat | None = None) -> None:  # noqa: A002
        polars = import_optional("polars")
        self.path = Path(path)
        self.suffix = file_suffix(self.path)
        literal = glob.escape(str(self.path))  # Polars would expand a pattern
        # One lazy frame for all: Polars keeps the schema and the metadata with it.
        self._scan: pl.LazyFrame
        with reading(self.path):
            if self.suffix == ".csv":
                names = csv_names(self.path)
                self._scan = polars.scan_csv(literal, infer_schema=False, with_column_names=names)
            elif self.suffix == ".parquet":
                self._scan = polars.scan_parquet(literal)
            else:
                self._scan = polars.scan_ndjson(literal, infer_schema_length=None)
            self.columns: list[str] = self._scan.collect_schema().names()
        self.format = format or TableFormat()

    @cached_property
    def layout(self) -> Layout:
        """Where things are in the table."""
        return self.format.layout(self.columns)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes; where only the labels tell, their columns are read."""
        if self.layout.classes is not None:
            return self.layout.classes
        with reading(self.path):
            labels = self._scan.select(self.layout.label_columns).unique()
            return named_classes(as_frame(labels.collect(engine="streaming")), self.layout)

    @cached_property
    def rows(self) -> int:
        """The number of rows; a text file is read to count them."""
        with reading(self.path):
            return int(self._scan.select(import_optional("polars").len()).collect().item())

    @cached_property
    def stream_rows(self) -> dict[Any, int]:
        """The number of rows of each stream; the column ``stream`` is read to count them."""
        stream = self.layout.columns.get("stream")
        if stream is None:
            return {None: self.rows} if self.rows else {}
        with reading(self.path):
            counts = self._scan.group_by(stream).len(" rows").collect(engine="streaming")
        return dict(zip(counts[stream].to_list(), counts[" rows"].to_list(), strict=True))

    def parts(self, whole: bool = False) -> Iterator[pl.DataFrame]:
        """Read the rows in order, part by part; at least one part, even without rows."""
        if whole:
            yield self._scan.collect()
        elif self.suffix == ".parquet":
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

    def line(self, row: int) -> int | None:
        """Return the line of a row of a text file, from 1; None for other files."""
        header = HEADER_LINES.get(self.suffix)
        return None if header is None else header + row + 1
