"""Raven's selection tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError
from ..dates import plain
from .checks import Format

COLUMNS = (
    "Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)",
    "High Freq (Hz)", "Common Name",
)  # fmt: skip


def write_raven(events: Sequence[Any], low_freq: float = 0.0, high_freq: float = 15_000.0) -> str:
    """Return a selection table: each event spans the same band of frequencies, in Hz."""
    if not 0.0 <= low_freq < high_freq:
        must = "it must be below high_freq, and not below 0"
        raise ArgumentError("low_freq", low_freq, must=must)
    has_probability = any(e.probability is not None for e in events)
    path = [e.stream for e in events if e.stream is not None][:1]
    lines = [[*COLUMNS, *["Confidence"] * has_probability, *["Begin Path"] * len(path)]]
    for i, e in enumerate(sorted(events, key=lambda e: (e.start, e.label)), 1):
        times = [plain(x) for x in (e.start, e.end)]
        cells = [str(i), "Spectrogram 1", "1", *times, f"{low_freq:g}", f"{high_freq:g}", e.label]
        share = "" if e.probability is None else repr(float(e.probability))
        lines.append([*cells, *[share] * has_probability, *path])
    return "".join("\t".join(line) + "\n" for line in lines)


FORMAT = Format(
    "raven", "a Raven selection table", (".selections.txt", ".selection.table.txt"), write_raven,
    write_options=("low_freq", "high_freq"), streams=False, forbidden="\t\n\r",
    reserved="nocall",
)  # fmt: skip
"""BirdNET has the second suffix, and writes nocall where it hears nothing."""
