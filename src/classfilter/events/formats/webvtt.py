"""WebVTT, the captions of video players."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ...errors import ArgumentError
from .checks import Format


def write_webvtt(events: Sequence[Any], probability: bool = True) -> str:
    """Return WebVTT, with times to the millisecond.

    The first line of a cue is the class, in the voice of its stream; the second the probability.
    """
    cues = []
    for e in sorted(events, key=lambda e: e.start):
        start, end = (round(x * 1000) for x in (e.start, e.end))
        if start < 0:
            must, fix = "WebVTT has no negative times", "give an earlier start"
            raise ArgumentError("start", float(e.start), must=must, fix=fix)
        if start == end:
            must = "a cue of WebVTT must last for a millisecond"
            problem, fix = f"is {{}}, the start {e.start}", "leave the event out"
            raise ArgumentError("end", float(e.end), problem=problem, must=must, fix=fix)
        voice = "" if e.stream is None else f"<v {escape(e.stream, quote=False)}>"
        p = "" if e.probability is None or not probability else f"\n{float(e.probability)!r}"
        cue = f"{voice}{escape(e.label, quote=False)}{p}"
        cues.append(f"\n{_clock(start)} --> {_clock(end)}\n{cue}\n")
    return "WEBVTT\n" + "".join(cues)


def _clock(millis: int) -> str:
    """Return a time as WebVTT has it.

    Examples
    --------
    >>> _clock(3_723_004), _clock(360_000_000)
    ('01:02:03.004', '100:00:00.000')
    """
    seconds, millis = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"


FORMAT = Format(
    "vtt", "WebVTT", (".vtt",), write_webvtt, write_options=("probability",), forbidden="\n\r"
)
