"""A table in a file, scanned once and read in parts."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.imports import import_optional
from .columns import Layout, TableFormat
from .csv import DecimalMark, is_compressed
from .files import TableInput, reading
from .frames import classes_of_labels
from .ndjson import check_lines
from .tables import as_frame

if TYPE_CHECKING:
    import polars as pl

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

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes; where only the labels tell, their columns are read."""
        if self.layout.classes is not None:
            return self.layout.classes
        with reading(self.source):
            labels = self._scan.select(self.layout.label_columns).unique()
            return classes_of_labels(as_frame(labels.collect(engine="streaming")), self.layout)

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
