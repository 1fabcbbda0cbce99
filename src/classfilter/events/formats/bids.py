"""BIDS events.tsv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .checks import Cells, Format, probability_of, seconds_of
from .delimited import probability_text, read_table, start_and_length

NA = "n/a"


def write_tsv(events: Sequence[Any]) -> str:
    """Return a BIDS table of events; ``probability`` is a column of our own, as BIDS allows."""
    has_probability = any(e.probability is not None for e in events)
    lines = ["onset\tduration\ttrial_type" + "\tprobability" * has_probability]
    for e in sorted(events, key=lambda e: e.start):
        cells = [*start_and_length(e), e.label, *[probability_text(e, NA)] * has_probability]
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def read_tsv(
    text: str, columns: Mapping[str, str] | None = None, stream: str | None = None
) -> Cells:
    """Return the events of a BIDS table."""
    usual = {"start": "onset", "class": "trial_type"}
    names, rows, lines = read_table(text, "\t", columns, usual)
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


FORMAT = Format(
    "tsv", "BIDS events.tsv", (".tsv",), write_tsv, read_tsv, read_options=("columns", "stream"),
    streams=False, forbidden="\t\n\r", reserved=NA,
)  # fmt: skip
