"""What formats of events share: a row of a file, checks of events, names that a file can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ..errors import ArgumentError, RowError
from ..support.types import is_number
from .dates import exact
from .event import Event

NUMBER_TEXT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")


class Row(NamedTuple):
    """An event in a file whose times are seconds."""

    stream: str | None
    label: str
    start: Decimal
    end: Decimal
    probability: float | None = None
    line: int | None = None


class Format(NamedTuple):
    """How one format is written and read, if it is: text of rows, and rows of text."""

    write: Callable[..., str]
    read: Callable[..., Any] | None
    write_options: tuple[str, ...] = ()
    read_options: tuple[str, ...] = ()
    seconds: bool = True


def to_rows(events: Sequence[Event], zero: float) -> list[Row]:
    """Return events as rows, in seconds since `zero`."""
    since = exact(zero)
    return [
        Row(
            stream_text(e.stream),
            e.label,
            exact(e.start) - since,
            exact(ended(e)) - since,
            e.probability,
        )
        for e in events
    ]


def stream_text(stream: Any) -> str | None:
    """Return the name of a stream as files have it."""
    return None if stream is None else str(stream)


def ended(event: Event) -> float:
    """Return the end of an event that has one."""
    assert event.end is not None
    return event.end


def check_events(
    events: Sequence[Event], overlaps: bool, lines: Sequence[int | None] | None = None
) -> None:
    """Refuse what is no event, and two events of one stream and class that overlap."""

    def refuse(
        i: int, name: str, value: Any, problem: str, rule: str = "", remedy: str = ""
    ) -> RowError:
        line = lines[i] if lines else None
        return RowError(name, value, problem, rule, remedy, row=i, line=line)

    for i, e in enumerate(events):
        if not isinstance(e.label, str) or not e.label.strip() or "\0" in e.label:
            raise refuse(i, "label", e.label, "is {}", "it must be text that is not empty")
        if e.end is None:
            raise refuse(
                i,
                "end",
                None,
                "is {}: the event is provisional",
                "",
                "leave it out until it is confirmed",
            )
        for name in ("start", "end"):
            x = getattr(e, name)
            if not is_number(x) or not math.isfinite(x):
                raise refuse(i, name, x, "is {}", "it must be a finite number")
        if e.end < e.start:
            raise refuse(i, "end", e.end, f"is {{}}, before the start, {e.start!r}")
        p = e.probability
        if p is not None and not (is_number(p) and 0 <= p <= 1):
            raise refuse(i, "probability", p, "is {}", "it must lie in [0, 1], or be None")
    if not overlaps:
        _check_overlaps(events, refuse)


def _check_overlaps(events: Sequence[Event], refuse: Callable[..., RowError]) -> None:
    last: dict[tuple[Any, str], int] = {}
    for i in sorted(range(len(events)), key=lambda i: (events[i].start, events[i].end)):
        e = events[i]
        before = last.get((e.stream, e.label))
        last[e.stream, e.label] = i
        end = -math.inf if before is None else ended(events[before])
        if e.start < end:
            of = f"class {e.label!r}" + (f" of {e.stream!r}" if e.stream is not None else "")
            problem = f"is {{}}, but row {before}, also of {of}, ends at {end!r}"
            raise refuse(i, "start", e.start, problem, "", "merge them, or give overlaps=True")


def check_streams(events: Sequence[Event]) -> None:
    """Refuse names of streams that cannot be told apart, or from no name, in a file."""
    names: dict[str, Any] = {}
    for i, stream in enumerate(e.stream for e in events):
        if stream is None:
            continue
        text = str(stream)
        if not text.strip() or "\0" in text:
            rule = "it must be a name that is not empty, or None"
            raise RowError("stream", stream, rule=rule, row=i)
        if names.setdefault(text, stream) != stream:
            problem = f"is {{}}, which is {text!r} in a file, as another stream is"
            raise RowError("stream", stream, problem, remedy="rename one of them", row=i)


def check_names(rows: Iterable[Row], forbidden: str, words: str, where: str, *taken: str) -> None:
    """Refuse names with characters that a format cannot hold, or that mean something else there."""
    pattern = re.compile(forbidden)
    for i, row in enumerate(rows):
        for what, name in (("label", row.label), ("stream", row.stream)):
            if name is not None and (pattern.search(name) or name in taken):
                raise RowError(
                    what,
                    name,
                    rule=f"{where} cannot hold {words}",
                    remedy="rename it, or write CSV or JSON",
                    row=i,
                )


def one_stream(rows: Sequence[Row], where: str) -> None:
    """Refuse several streams in a format that has no place for their names."""
    streams = list(dict.fromkeys(row.stream for row in rows))
    if len(streams) > 1:
        raise ArgumentError(
            "events",
            len(streams),
            "have {} streams",
            f"{where} has no place for their names",
            "write each stream to a file of its own, or write CSV or JSON",
        )


def seconds_of(text: str, what: str, row: int, line: int) -> Decimal:
    """Return a number of a file."""
    text = text.strip()
    if not NUMBER_TEXT.fullmatch(text):
        raise RowError(what, text, rule="it must be a number of seconds", row=row, line=line)
    return Decimal(text)


def probability_of(text: str, missing: str, row: int, line: int) -> float | None:
    """Return a probability of a file, None where it is missing."""
    text = text.strip()
    if text in ("", missing):
        return None
    if not NUMBER_TEXT.fullmatch(text):
        raise RowError("probability", text, rule="it must be a number", row=row, line=line)
    return float(text)


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers.

    Only line feeds end a line: names may hold other characters that `splitlines` splits at.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
