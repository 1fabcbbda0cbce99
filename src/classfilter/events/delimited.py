"""Events in lines of fields: CSV, BIDS events.tsv, Audacity's label tracks and RTTM."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, RowError
from .dates import date_text, exact, plain
from .list import EVENT_COLUMNS, Event, Events, column_names
from .rows import (
    Cells,
    check_names,
    in_quotes,
    numbered_lines,
    one_stream,
    probability_of,
    seconds_of,
)

NA = "n/a"
RTTM_NA = "<NA>"
TIMES = ("start", "end")


def write_csv(events: Events) -> str:
    """Return CSV with the columns of an event table; times are numbers, or dates in ISO 8601."""
    rows: list[Sequence[str]] = [EVENT_COLUMNS]
    for e in events:
        assert e.end is not None
        times = [exact(e.start), exact(e.end)]
        as_text = [date_text(float(x), events.zone) if events.dates else plain(x) for x in times]
        stream = "" if e.stream is None else str(e.stream)
        rows.append(
            [stream, e.label, *as_text, plain(times[1] - times[0]), _probability_text(e, "")]
        )
    return "".join(",".join(map(_csv_field, row)) + "\n" for row in rows)


def read_csv(text: str, columns: Mapping[str, str] | None = None) -> Cells:
    """Return the events of CSV."""
    names, rows, lines = _read_table(text, ",", columns, {})
    return [{ours: row[theirs] for ours, theirs in names.items()} for row in rows], lines


def write_tsv(events: Sequence[Any]) -> str:
    """Return a BIDS table of events; ``probability`` is a column of our own, as BIDS allows."""
    one_stream(events, "BIDS events.tsv")
    check_names(events, "[\t\n\r]", 'tabs, line breaks or the name "n/a"', "BIDS events.tsv", NA)
    known = any(e.probability is not None for e in events)
    lines = ["onset\tduration\ttrial_type" + "\tprobability" * known]
    for e in sorted(events, key=lambda e: e.start):
        cells = [*_start_and_length(e), e.label, *[_probability_text(e, NA)] * known]
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def read_tsv(
    text: str, columns: Mapping[str, str] | None = None, stream: str | None = None
) -> Cells:
    """Return the events of a BIDS table."""
    usual = {"start": "onset", "class": "trial_type"}
    names, rows, lines = _read_table(text, "\t", columns, usual)
    events = []
    for i, (row, line) in enumerate(zip(rows, lines, strict=True)):
        times = {
            name: seconds_of(row[names[name]], names[name], i, line)
            for name in ("start", "duration" if "duration" in names else "end")
        }
        cells: dict[str, Any] = {
            ours: None if row[x] == NA else row[x] for ours, x in names.items()
        } | times
        if "duration" in times:
            cells["end"] = times["start"] + times["duration"]
        cells["probability"] = probability_of(cells.get("probability") or "", NA, i, line)
        events.append(cells | {"stream": cells.get("stream") or stream})
    return events, lines


def write_audacity(events: Sequence[Any]) -> str:
    """Return a label track; it has no place for probabilities."""
    one_stream(events, "a label track")
    check_names(events, "[\t\n\r]", "tabs or line breaks", "a label track")
    return "".join(f"{plain(e.start)}\t{plain(e.end)}\t{e.label}\n" for e in events)


def read_audacity(text: str, stream: str | None = None) -> Cells:
    r"""Return the events of a label track; lines of frequencies, which begin with ``\``, pass."""
    events: list[dict[str, Any]] = []
    lines = []
    for line, content in numbered_lines(text):
        if content.startswith("\\"):
            continue
        fields = content.split("\t", 2)
        if len(fields) < 3 or not fields[2].strip():
            must = "it must have a start, an end and a label, with tabs between them"
            raise RowError("the event", content, must=must, row=len(events), line=line)
        cells = {
            n: seconds_of(x, n, len(events), line) for n, x in zip(TIMES, fields, strict=False)
        }
        events.append({"stream": stream, "class": fields[2], **cells})
        lines.append(line)
    return events, lines


def write_rttm(events: Sequence[Any]) -> str:
    """Return RTTM: a line SPEAKER with ten fields for each event."""
    check_names(events, r"\s", 'spaces or the name "<NA>"', "RTTM", RTTM_NA)
    none = f"{RTTM_NA} {RTTM_NA}"
    return "".join(
        f"SPEAKER {e.stream or RTTM_NA} 1 {' '.join(_start_and_length(e))} {none} {e.label} "
        f"{_probability_text(e, RTTM_NA)} {RTTM_NA}\n"
        for e in events
    )


def read_rttm(text: str) -> Cells:
    """Return the SPEAKER lines of RTTM; comments and lines of other types pass."""
    events: list[dict[str, Any]] = []
    lines = []
    others: set[str] = set()
    for line, content in numbered_lines(text):
        fields = [None if field == RTTM_NA else field for field in content.split()]
        if content.startswith(";;"):
            continue
        if fields[0] != "SPEAKER":
            others.add(str(fields[0]))
            continue
        row = len(events)
        if len(fields) not in (9, 10):
            must = "a line SPEAKER must have ten fields (or nine, without the last)"
            problem = f"has {len(fields)} fields: {{}}"
            raise RowError("the event", content, problem=problem, must=must, row=row, line=line)
        start = seconds_of(fields[3], "onset", row, line)
        end = start + seconds_of(fields[4], "duration", row, line)
        p = probability_of(fields[8] or "", "", row, line)
        cells = {"stream": fields[1], "class": fields[7], "start": start, "end": end}
        events.append(cells | {"probability": p})
        lines.append(line)
    if others and not events:
        must = "events are lines SPEAKER"
        raise ArgumentError(
            "the file", sorted(others), problem="has no line SPEAKER, only {}", must=must
        )
    return events, lines


def _start_and_length(e: Any) -> tuple[str, str]:
    return plain(e.start), plain(e.end - e.start)


def _probability_text(e: Event, missing: str) -> str:
    """Return the probability of an event as text."""
    return missing if e.probability is None else repr(float(e.probability))


def _read_table(
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
        there = {ours: theirs for ours, theirs in usual.items() if theirs in header}
        names = column_names(header, there | dict(columns or {}))
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


def _csv_field(cell: str) -> str:
    """Return a field of CSV; the library's writer lets a carriage return pass without quotes."""
    return in_quotes(cell) if re.search('[",\r\n]', cell) else cell
