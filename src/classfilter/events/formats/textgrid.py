"""Praat's TextGrid: tiers of intervals that cover the whole time, with gaps as empty intervals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from ...errors import ArgumentError, RowError
from ...inputs import duration as parse_duration
from ..dates import exact, plain
from .checks import NUMBER_TEXT, Cells, Format, in_quotes, one_stream

TIERS = ("stream", "class")
_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(<\w+>)|(![^\n]*)|([^\s"!][^\s"]*)|(")')


def write_textgrid(events: Sequence[Any], tiers: str = "stream", duration: Any = None) -> str:
    """Return a TextGrid in the long format.

    Parameters
    ----------
    events : sequence of Event
        Their times are `Decimal`.
    tiers : {"stream", "class"}
        What each tier holds: all events of a stream, or those of a class. Of a stream whose events
        overlap there is a tier for each class, all with the stream's name.
    duration : float, optional
        The end of the last interval; by default, of the last event. The first begins at 0, or
        where the first event begins, if that is earlier.
    """
    _check_tiers(tiers)
    first: Any = min([Decimal(0), *(e.start for e in events)])
    last = max((e.end for e in events), default=first)
    if duration is not None:
        end = exact(parse_duration("duration", duration))
        if end < last:
            raise ArgumentError("duration", float(end), must=f"the last event ends at {last}")
        last = end
    if last <= first:
        raise ArgumentError(
            "events",
            len(events),
            problem="are {}, so the file would have no length",
            fix="write another format, or give duration=3600.0 in Python",
        )
    if tiers == "class":
        one_stream(events, "a TextGrid with a tier for each class")
    groups = _groups(events, tiers)
    span = [f"xmin = {plain(first)}", f"xmax = {plain(last)}"]
    out = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", *span]
    out += ["tiers? <exists>", f"size = {len(groups)}", "item []:"]
    for i, (name, group) in enumerate(groups, 1):
        intervals = list(_intervals(group, first, last))
        tier = ['class = "IntervalTier"', f"name = {in_quotes(name)}", *span]
        tier.append(f"intervals: size = {len(intervals)}")
        out += [f"    item [{i}]:", *(" " * 8 + line for line in tier)]
        for j, (start, end, text) in enumerate(intervals, 1):
            out.append(f"        intervals [{j}]:")
            lines = f"xmin = {plain(start)}", f"xmax = {plain(end)}", f"text = {in_quotes(text)}"
            out += [" " * 12 + line for line in lines]
    return "\n".join(out) + "\n"


def read_textgrid(text: str, tiers: str = "stream") -> Cells:
    """Return the intervals that are not empty; points are events without a length.

    It reads the long and the short format alike, as Praat does: only numbers, quoted texts and
    ``<exists>`` count, in their order.
    """
    _check_tiers(tiers)
    if text.startswith("ooBinaryFile"):
        raise ArgumentError(
            "the file",
            "ooBinaryFile",
            problem="is a binary TextGrid",
            fix="save it as text in Praat",
        )
    reader = _Reader(text)
    kind = reader.take(str), reader.take(str)
    if kind[0] != "ooTextFile" or not kind[1].startswith("TextGrid"):
        raise ArgumentError("the file", kind, problem="is not a TextGrid: it begins with {}")
    reader.take(Decimal), reader.take(Decimal)
    events: list[dict[str, Any]] = []
    lines = []
    for _ in range(_count(reader) if reader.take(_Flag) == "<exists>" else 0):
        points, name = reader.take(str) == "TextTier", reader.take(str)
        reader.take(Decimal), reader.take(Decimal)
        for _ in range(_count(reader)):
            start = reader.take(Decimal)
            end = start if points else reader.take(Decimal)
            label, line = reader.take(str), reader.line
            if label.strip():
                names = {"stream": name or None, "class": label}
                if tiers == "class":
                    names = {"class": name or label}
                events.append(names | {"start": start, "end": end})
                lines.append(line)
    return events, lines


class _Flag(str):
    """A word such as ``<exists>``."""


class _Reader:
    """The tokens of a file that count."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1
        self.tokens = self._tokens()

    def _tokens(self) -> Iterator[Any]:
        for match in _TOKEN.finditer(self.text):
            self.line += self.text.count("\n", self.at, match.start())
            self.at = match.start()
            quoted, flag, _, word, open_quote = match.groups()
            if open_quote:
                raise RowError(
                    "the file", '"', problem="has a quote that does not end", line=self.line
                )
            if quoted is not None:
                yield quoted.replace('""', '"')
            elif flag:
                yield _Flag(flag)
            elif word and NUMBER_TEXT.fullmatch(word):
                yield Decimal(word)

    def take(self, kind: type) -> Any:
        """Return the next token, which must be of a kind."""
        token = next(self.tokens, None)
        if type(token) is not kind:
            wanted = {Decimal: "a number", str: "a text in quotes", _Flag: "<exists>"}[kind]
            value = None if token is None else str(token)
            problem = "ends too early" if token is None else "has {}"
            raise RowError(
                "the file",
                value,
                problem=problem,
                must=f"{wanted} is expected here",
                line=self.line,
            )
        return token


def _count(reader: _Reader) -> int:
    number = reader.take(Decimal)
    if not 0 <= number <= len(reader.text) or number != int(number):
        must = "a number of tiers or intervals is expected here"
        raise RowError("the file", float(number), problem="has {}", must=must, line=reader.line)
    return int(number)


def _check_tiers(tiers: str) -> None:
    if tiers not in TIERS:
        raise ArgumentError("tiers", tiers, must=f"it must be one of {', '.join(TIERS)}")


def _groups(events: Sequence[Any], tiers: str) -> list[tuple[str, list[Any]]]:
    """Return the name of each tier, and its events by their start."""
    in_order = sorted(events, key=lambda e: e.start)
    ends: dict[str | None, Any] = {}
    overlap = set()
    for e in in_order:
        if e.start < ends.get(e.stream, e.start):
            overlap.add(e.stream)
        ends[e.stream] = e.end

    def tier(e: Any) -> tuple[str, str]:
        if tiers == "class":
            return e.label, ""
        return e.stream or "", e.label if e.stream in overlap else ""

    groups: dict[tuple[str, str], list[Any]] = {tier(e): [] for e in events}
    for e in in_order:
        groups[tier(e)].append(e)
    return [(name, group) for (name, _), group in groups.items()] or [("", [])]


def _intervals(events: Sequence[Any], first: Any, last: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield the intervals of a tier without gaps between them."""
    at = first
    for e in events:
        if e.start < at:
            must = "intervals of a class must not overlap"
            problem = f"is {{}}, but the event before ends at {plain(at)}"
            raise ArgumentError(
                "start", float(e.start), problem=problem, must=must, fix="merge them"
            )
        if e.end == e.start:
            must = "an interval must have a length"
            raise ArgumentError(
                "end", float(e.end), problem="is {}, as the start", must=must, fix="leave it out"
            )
        if e.start > at:
            yield at, e.start, ""
        yield e.start, e.end, e.label
        at = e.end
    if at < last:
        yield at, last, ""


FORMAT = Format(
    "textgrid", "Praat's TextGrid", (".TextGrid",), write_textgrid, read_textgrid,
    write_options=("tiers", "duration"), read_options=("tiers",), probability=False,
)  # fmt: skip
