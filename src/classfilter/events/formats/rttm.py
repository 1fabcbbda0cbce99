"""RTTM: a SPEAKER line of ten fields for each event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError, RowError
from .checks import Cells, Format, numbered_lines, probability_of, seconds_of
from .delimited import probability_text, start_and_length

NA = "<NA>"


def write_rttm(events: Sequence[Any]) -> str:
    """Return RTTM: a SPEAKER line with ten fields for each event."""
    none = f"{NA} {NA}"
    return "".join(
        f"SPEAKER {e.stream or NA} 1 {' '.join(start_and_length(e))} {none} {e.label} "
        f"{probability_text(e, NA)} {NA}\n"
        for e in events
    )


def read_rttm(text: str) -> Cells:
    """Return the SPEAKER lines of RTTM; comments and lines of other types pass."""
    events: list[dict[str, Any]] = []
    lines = []
    other_types: set[str] = set()
    for line, content in numbered_lines(text):
        fields = [None if field == NA else field for field in content.split()]
        if content.startswith(";;"):
            continue
        if fields[0] != "SPEAKER":
            other_types.add(str(fields[0]))
            continue
        row = len(events)
        if len(fields) not in (9, 10):
            must = "a SPEAKER line must have ten fields (or nine, without the last)"
            problem = f"has {len(fields)} fields: {{}}"
            raise RowError("the event", content, problem=problem, must=must, row=row, line=line)
        start = seconds_of(fields[3], "onset", row, line)
        end = start + seconds_of(fields[4], "duration", row, line)
        p = probability_of(fields[8] or "", "", row, line)
        cells = {"stream": fields[1], "class": fields[7], "start": start, "end": end}
        events.append(cells | {"probability": p})
        lines.append(line)
    if other_types and not events:
        must = "events are SPEAKER lines"
        raise ArgumentError(
            "the file", sorted(other_types), problem="has no SPEAKER line, only {}", must=must
        )
    return events, lines


FORMAT = Format("rttm", "RTTM", (".rttm",), write_rttm, read_rttm, forbidden=r"\s", reserved=NA)
