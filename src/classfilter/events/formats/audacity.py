"""Audacity's label tracks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import RowError
from ..dates import plain
from .checks import Cells, Format, numbered_lines, seconds_of

TIMES = ("start", "end")


def write_audacity(events: Sequence[Any]) -> str:
    """Return a label track; it has no place for probabilities."""
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


FORMAT = Format(
    "txt", "an Audacity label track", (".txt",), write_audacity, read_audacity,
    read_options=("stream",), streams=False, probability=False, forbidden="\t\n\r",
)  # fmt: skip
