"""Formats that are written for other programs, and not read: JSON, WebVTT and Raven's tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from .._errors import ArgumentError
from ._dates import date_text, plain
from ._list import Events
from ._rows import Row, check_names, ended, one_stream, stream_text

RAVEN_COLUMNS = (
    "Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)",
    "High Freq (Hz)", "Common Name",
)  # fmt: skip


def write_json(events: Events) -> str:
    """Return JSON as ActivityNet has it: label, score and segment of each event, by stream.

    Dates are text in ISO 8601. The stream None is the key ``""``.
    """
    results: dict[str, list[dict[str, Any]]] = {}
    for e in events:
        times = [float(e.start), float(ended(e))]
        item: dict[str, Any] = {"label": e.label}
        if e.probability is not None:
            item["score"] = float(e.probability)
        item["segment"] = [date_text(x, events.zone) for x in times] if events.dates else times
        results.setdefault(stream_text(e.stream) or "", []).append(item)
    return json.dumps({"results": results}, indent=1, ensure_ascii=False) + "\n"


def write_webvtt(rows: Sequence[Row], probability: bool = True) -> str:
    """Return WebVTT, with times to the millisecond.

    The first line of a cue is the class, in the voice of its stream; the second the probability.
    """
    check_names(rows, "[\n\r]", "line breaks", "WebVTT")
    cues = []
    for row in sorted(rows, key=lambda row: row.start):
        start, end = (round(x * 1000) for x in (row.start, row.end))
        if start < 0:
            rule, remedy = "WebVTT has no negative times", "give start="
            raise ArgumentError("start", float(row.start), "is {}", rule, remedy)
        if start == end:
            rule = "a cue of WebVTT must last for a millisecond"
            raise ArgumentError("end", float(row.end), f"is {{}}, the start {row.start}", rule,
                                "leave the event out")  # fmt: skip
        voice = "" if row.stream is None else f"<v {escape(row.stream, quote=False)}>"
        p = "" if row.probability is None or not probability else f"\n{float(row.probability)!r}"
        cues.append(f"\n{_clock(start)} --> {_clock(end)}\n"
                    f"{voice}{escape(row.label, quote=False)}{p}\n")  # fmt: skip
    return "WEBVTT\n" + "".join(cues)


def write_raven(rows: Sequence[Row], low_freq: float = 0.0, high_freq: float = 15_000.0) -> str:
    """Return a selection table: each event spans the same band of frequencies, in Hz."""
    if not 0.0 <= low_freq < high_freq:
        raise ArgumentError(
            "low_freq", low_freq, rule="it must be below high_freq, and not below 0"
        )
    one_stream(rows, "a selection table")
    check_names(rows, "[\t\n\r]", "tabs or line breaks", "a selection table", "nocall")
    known = any(row.probability is not None for row in rows)
    path = rows[0].stream if rows else None
    header = [*RAVEN_COLUMNS, *["Confidence"] * known, *["Begin Path"] * (path is not None)]
    lines = ["\t".join(header)]
    for i, row in enumerate(sorted(rows, key=lambda row: (row.start, row.label)), 1):
        band = [f"{low_freq:g}", f"{high_freq:g}"]
        cells = [str(i), "Spectrogram 1", "1", plain(row.start), plain(row.end), *band, row.label]
        if known:
            cells.append("" if row.probability is None else repr(float(row.probability)))
        lines.append("\t".join([*cells, *([path] if path is not None else [])]))
    return "\n".join(lines) + "\n"


def _clock(millis: int) -> str:
    """Return a time as WebVTT has it.

    Examples
    --------
    >>> _clock(3_723_004), _clock(360_000_000)
    ('01:02:03.004', '100:00:00.000')
    """
    seconds, millis = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"
