"""WebVTT: a cue for each event, with its class, and perhaps its stream and its probability."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from html import escape, unescape

from .._errors import ArgumentError, RowError
from ._rows import NUMBER_TEXT, Row, check_names

_TIME = r"(?:(\d{2,}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_TIMES = re.compile(rf"\s*{_TIME}\s+-->\s+{_TIME}(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]([^>]*)>")
_TAG = re.compile(r"<[^>]*>")


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


def read_webvtt(text: str) -> list[Row]:
    """Return the cues of WebVTT; notes, styles and regions pass, and so do settings and tags."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not re.fullmatch(r"WEBVTT([ \t].*)?", lines[0]):
        raise ArgumentError("the file", lines[0], "begins with {}", "it must begin with WEBVTT")
    rows: list[Row] = []
    at = 0
    while at < len(lines):
        first = at
        while at < len(lines) and lines[at]:
            at += 1
        block = lines[first:at]
        at += 1
        cue = next((i for i, line in enumerate(block[:2]) if "-->" in line), None)
        if cue is None or block[0].split()[:1] == ["NOTE"]:
            continue
        rows.append(_cue(block[cue], block[cue + 1 :], len(rows), first + cue + 1))
    return rows


def _cue(times: str, payload: list[str], row: int, line: int) -> Row:
    match = _TIMES.fullmatch(times)
    if match is None:
        rule = "a cue must have two times such as 00:01:02.500 --> 00:01:04.000"
        raise RowError("the event", times, rule=rule, row=row, line=line)
    start, end = _seconds(*match.groups()[:4]), _seconds(*match.groups()[4:])
    probability = None
    if len(payload) > 1 and NUMBER_TEXT.fullmatch(payload[-1].strip()):
        probability = float(payload.pop())
    content = "\n".join(payload)
    voice = _VOICE.match(content)
    label = unescape(_TAG.sub("", content))
    if not label.strip():
        rule = "a cue must have the name of a class"
        raise RowError("the event", content, rule=rule, row=row, line=line + 1)
    return Row(unescape(voice[1]) if voice else None, label, start, end, probability, line)


def _seconds(hours: str | None, minutes: str, seconds: str, millis: str) -> Decimal:
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return Decimal(f"{whole}.{millis}")


def _clock(millis: int) -> str:
    """Return a time as WebVTT has it.

    Examples
    --------
    >>> _clock(3_723_004), _clock(360_000_000)
    ('01:02:03.004', '100:00:00.000')
    """
    seconds, millis = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"
