"""Events in lines of fields: what CSV and BIDS share."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError, RowError
from ..dates import plain
from ..list import Event, column_names


def start_and_length(e: Any) -> tuple[str, str]:
    """Return the start and the duration of an event as text."""
    return plain(e.start), plain(e.end - e.start)


def probability_text(e: Event, missing: str) -> str:
    """Return the probability of an event as text."""
    return missing if e.probability is None else repr(float(e.probability))


def read_table(
    text: str, delimiter: str, columns: Mapping[str, str] | None, usual: Mapping[str, str]
) -> tuple[dict[str, str], list[dict[str, str]], list[int]]:
    """Return the names of the columns of events, and the rows with their lines."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE,
    )
    try:
        header = next(reader, [])
        if len(set(header)) < len(header):
            must = "each column must have a name of its own"
            raise ArgumentError("the header", header, must=must)
        present = {ours: theirs for ours, theirs in usual.items() if theirs in header}
        names = column_names(header, present | dict(columns or {}))
        rows: list[dict[str, str]] = []
        lines: list[int] = []
        last = reader.line_num
        for cells in reader:
            line, last = last + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                problem = f"has {{}} fields, but the header {len(header)}"
                raise RowError("the event", len(cells), problem=problem, row=len(rows), line=line)
            rows.append(dict(zip(header, cells, strict=True)))
            lines.append(line)
    except csv.Error as error:
        raise ArgumentError(
            "the file", str(error), problem="is not CSV: {}", fix="check its quotes"
        ) from None
    return names, rows, lines
