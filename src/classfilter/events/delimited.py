"""Events in lines of fields: CSV, BIDS events.tsv, Audacity's label tracks and RTTM."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from ..errors import ArgumentError, RowError
from .dates import date_text, exact, plain
from .list import COLUMNS, Events, column_names, from_cells
from .rows import (
    Row,
    check_names,
    ended,
    numbered_lines,
    one_stream,
    probability_of,
    seconds_of,
    stream_text,
)

NA = "n/a"
RTTM_NA = "<NA>"


def write_csv(events: Events) -> str:
    """Return CSV with the columns of an event table; times are numbers, or dates in ISO 8601."""
    rows: list[Sequence[str]] = [COLUMNS]
    for e in events:
        times = [exact(e.start), exact(ended(e))]
        as_text = [date_text(float(x), events.zone) if events.dates else plain(x) for x in times]
        p = "" if e.probability is None else repr(float(e.probability))
        stream = stream_text(e.stream) or ""
        rows.append([stream, e.label, *as_text, plain(times[1] - times[0]), p])
    return "".join(",".join(map(_quoted, row)) + "\n" for row in rows)


def read_csv(text: str, columns: Mapping[str, str] | None = None) -> tuple[Events, list[int]]:
    """Return the events of CSV, and the line of each."""
    names, rows, lines = _read_table(text, ",", columns, {})
    return from_cells([_cells(names, row) for row in rows], lines), lines


def write_tsv(rows: Sequence[Row]) -> str:
    """Return a BIDS table of events; ``probability`` is a column of our own, as BIDS allows."""
    one_stream(rows, "BIDS events.tsv")
    check_names(rows, "[\t\n\r]", 'tabs, line breaks or the name "n/a"', "BIDS events.tsv", NA)
    known = any(row.probability is not None for row in rows)
    lines = ["onset\tduration\ttrial_type" + "\tprobability" * known]
    for row in sorted(rows, key=lambda row: row.start):
        cells = [plain(row.start), plain(row.end - row.start), row.label]
        if known:
            cells.append(NA if row.probability is None else repr(float(row.probability)))
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def read_tsv(
    text: str, columns: Mapping[str, str] | None = None, stream: str | None = None
) -> list[Row]:
    """Return the events of a BIDS table."""
    usual = {"start": "onset", "class": "trial_type"}
    names, rows, lines = _read_table(text, "\t", columns, usual)
    found = []
    for i, (row, line) in enumerate(zip(rows, lines, strict=True)):
        cells = _cells(names, row)
        start = seconds_of(cells["start"], names["start"], i, line)
        if "duration" in names:
            end = start + seconds_of(cells["duration"], names["duration"], i, line)
        else:
            end = seconds_of(cells["end"], names["end"], i, line)
        if cells["class"] in ("", NA):
            rule = "every event needs a class"
            raise RowError(names["class"], cells["class"], rule=rule, row=i, line=line)
        p = probability_of(cells.get("probability", NA), NA, i, line)
        name = cells.get("stream", NA)
        found.append(Row(stream if name == NA else name, cells["class"], start, end, p, line))
    return found


def write_audacity(rows: Sequence[Row]) -> str:
    """Return a label track; it has no place for probabilities."""
    one_stream(rows, "a label track")
    check_names(rows, "[\t\n\r]", "tabs or line breaks", "a label track")
    return "".join(f"{plain(row.start)}\t{plain(row.end)}\t{row.label}\n" for row in rows)


def read_audacity(text: str, stream: str | None = None) -> list[Row]:
    r"""Return the events of a label track; lines of frequencies, which begin with ``\``, pass."""
    rows: list[Row] = []
    for line, content in numbered_lines(text):
        if content.startswith("\\"):
            continue
        fields = content.split("\t", 2)
        if len(fields) < 3 or not fields[2].strip():
            rule = "it must have a start, an end and a label, with tabs between them"
            raise RowError("the event", content, rule=rule, row=len(rows), line=line)
        start, end = (
            seconds_of(x, n, len(rows), line)
            for x, n in zip(fields, ("start", "end"), strict=False)
        )
        rows.append(Row(stream, fields[2], start, end, None, line))
    return rows


def write_rttm(rows: Sequence[Row]) -> str:
    """Return RTTM: a line SPEAKER with ten fields for each event."""
    check_names(rows, r"\s", 'spaces or the name "<NA>"', "RTTM", RTTM_NA)
    lines = []
    for row in rows:
        p = RTTM_NA if row.probability is None else repr(float(row.probability))
        length = plain(row.end - row.start)
        lines.append(
            f"SPEAKER {row.stream or RTTM_NA} 1 {plain(row.start)} {length} "
            f"{RTTM_NA} {RTTM_NA} {row.label} {p} {RTTM_NA}\n"
        )
    return "".join(lines)


def read_rttm(text: str) -> list[Row]:
    """Return the SPEAKER lines of RTTM; comments and lines of other types pass."""
    rows: list[Row] = []
    others: set[str] = set()
    for line, content in numbered_lines(text):
        fields = content.split()
        if content.startswith(";;") or fields[0] != "SPEAKER":
            others |= set() if content.startswith(";;") else {fields[0]}
            continue
        if len(fields) not in (9, 10):
            rule = "a line SPEAKER must have ten fields (or nine, without the last)"
            raise RowError("the event", content, "has " + str(len(fields)) + " fields: {}", rule,
                           row=len(rows), line=line)  # fmt: skip
        start = seconds_of(fields[3], "onset", len(rows), line)
        length = seconds_of(fields[4], "duration", len(rows), line)
        if fields[7] == RTTM_NA:
            rule = "every event needs a class"
            raise RowError("name", RTTM_NA, rule=rule, row=len(rows), line=line)
        p = probability_of(fields[8], RTTM_NA, len(rows), line)
        stream = None if fields[1] == RTTM_NA else fields[1]
        rows.append(Row(stream, fields[7], start, start + length, p, line))
    if others and not rows:
        raise ArgumentError(
            "the file", sorted(others), "has no line SPEAKER, only {}", "events are lines SPEAKER"
        )
    return rows


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
            rule = "each column must have a name of its own"
            raise ArgumentError("the header", header, rule=rule)
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
                raise RowError("the event", len(cells), problem, row=len(rows), line=line)
            rows.append(dict(zip(header, cells, strict=True)))
            lines.append(line)
    except csv.Error as error:
        raise ArgumentError(
            "the file", str(error), "is not CSV: {}", remedy="check its quotes"
        ) from None
    return names, rows, lines


def _cells(names: Mapping[str, str], row: Mapping[str, str]) -> dict[str, str]:
    return {ours: row[theirs] for ours, theirs in names.items()}


def _quoted(cell: str) -> str:
    """Return a field of CSV; the library's writer lets a carriage return pass without quotes."""
    return '"' + cell.replace('"', '""') + '"' if re.search('[",\r\n]', cell) else cell
