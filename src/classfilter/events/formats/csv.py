"""CSV with the columns of an event table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..dates import date_text, exact, plain
from ..list import EVENT_COLUMNS, Events
from .checks import Cells, Format, in_quotes
from .delimited import probability_text, read_table


def write_csv(events: Events) -> str:
    """Return CSV with the columns of an event table; times are numbers, or dates in ISO 8601."""
    rows: list[Sequence[str]] = [EVENT_COLUMNS]
    for e in events:
        assert e.end is not None
        times = [exact(e.start), exact(e.end)]
        as_text = [date_text(float(x), events.zone) if events.dates else plain(x) for x in times]
        stream = "" if e.stream is None else str(e.stream)
        rows.append(
            [stream, e.label, *as_text, plain(times[1] - times[0]), probability_text(e, "")]
        )
    return "".join(",".join(map(_csv_field, row)) + "\n" for row in rows)


def read_csv(text: str, columns: Mapping[str, str] | None = None) -> Cells:
    """Return the events of CSV."""
    names, rows, lines = read_table(text, ",", columns, {})
    return [{ours: row[theirs] for ours, theirs in names.items()} for row in rows], lines


def _csv_field(cell: str) -> str:
    """Return a field of CSV; the library's writer lets a carriage return pass without quotes."""
    return in_quotes(cell) if re.search('[",\r\n]', cell) else cell


FORMAT = Format(
    "csv", "CSV", (".csv",), write_csv, read_csv, read_options=("columns",), seconds=False
)
