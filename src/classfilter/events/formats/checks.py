"""What a format of events is; checks of events, and of names that a file can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ...errors import ArgumentError, RowError
from ...support.types import is_number
from ..list import Event

NUMBER_TEXT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")


Cells = tuple[list[dict[str, Any]], list[int]]
"""The cells of each event of a file, by the names of the columns, and its line."""


@dataclass(frozen=True)
class Format:
    """How one format is written and read, if it is: text of events, and cells and lines of text.

    A format of seconds gets events whose times are `Decimal` and whose streams are text, and gives
    cells with such times.

    Attributes
    ----------
    name, title : str
        As `format=` has it, and in words.
    suffixes : tuple of str
        How names of files end; the first is the usual one.
    write, read : callable
        `read` is None where files are only written.
    write_options, read_options : tuple of str
        Their options.
    streams, probability : bool
        Whether there is a place for the name of a stream, and for a probability.
    seconds : bool
        Whether times are seconds; else they are as they are.
    forbidden : str
        What names must not have, as in the brackets of a regular expression.
    reserved : str
        A name that means something else there.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    write: Callable[..., str]
    read: Callable[..., Cells] | None = None
    write_options: tuple[str, ...] = ()
    read_options: tuple[str, ...] = ()
    streams: bool = True
    probability: bool = True
    seconds: bool = True
    forbidden: str = ""
    reserved: str = ""

    @property
    def refused(self) -> str:
        """The names that a file cannot hold, in words."""
        kinds = {"\t": "tabs", r"\s": "spaces", "\n": "line breaks"}
        words = [word for character, word in kinds.items() if character in self.forbidden]
        words += [f'the name "{self.reserved}"'] * bool(self.reserved)
        return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))

    def check(self, events: Sequence[Event]) -> None:
        """Reject names of streams and classes that a file cannot hold."""
        if not self.streams:
            one_stream(events, self.title)
        pattern = re.compile(f"[{self.forbidden}]" if self.forbidden else "(?!)")
        for row, e in enumerate(events):
            for argument, name in (("label", e.label), ("stream", e.stream)):
                if name and (pattern.search(name) or name == self.reserved):
                    must = f"{self.title} cannot hold {self.refused}"
                    raise RowError(argument, name, must, "rename it, or write CSV or JSON", row)


def check_events(
    events: Sequence[Event], overlaps: bool, lines: Sequence[int] | None = None
) -> None:
    """Reject what is no event, and two events of one stream and class that overlap."""
    for i, e in enumerate(events):
        for name, bad, problem, must, fix in _faults(e):
            if bad:
                line = lines[i] if lines else None
                raise RowError(
                    name, getattr(e, name), problem=problem, must=must, fix=fix, row=i, line=line
                )
    last: dict[tuple[Any, str], int] = {}
    in_order = sorted(range(len(events)), key=lambda i: (events[i].start, events[i].end))
    for i in () if overlaps else in_order:
        e = events[i]
        before = last.setdefault((e.stream, e.label), i)
        last[e.stream, e.label] = i
        end: Any = events[before].end
        if before != i and e.start < end:
            of_class = f"class {e.label!r}" + (f" of {e.stream!r}" if e.stream is not None else "")
            raise RowError(
                "start", e.start, problem=f"is {{}}, but row {before}, also of "
                f"{of_class}, ends at {end!r}",
                fix="merge them, or give overlaps=True", row=i, line=lines[i] if lines else None,
            )  # fmt: skip


def _faults(e: Event) -> Iterator[tuple[str, bool, str, str, str]]:
    """Yield what may be wrong with an event, and whether it is; the next may rest on the last."""
    text = isinstance(e.label, str) and bool(e.label.strip()) and "\0" not in e.label
    yield "label", not text, "is {}", "it must be text that is not empty", ""
    later = "leave it out until it is confirmed"
    yield "end", e.end is None, "is {}: the event is provisional", "", later
    for name in ("start", "end"):
        x = getattr(e, name)
        finite = is_number(x) and math.isfinite(x)
        yield name, not finite, "is {}", "it must be a finite number", ""
    assert e.end is not None
    yield "end", e.end < e.start, f"is {{}}, before the start, {e.start!r}", "", ""
    p = e.probability
    valid = p is None or (is_number(p) and 0 <= p <= 1)
    yield "probability", not valid, "is {}", "it must lie in [0, 1], or be None", ""


def check_streams(events: Sequence[Event]) -> None:
    """Refuse names of streams that cannot be told apart, or from no name, in a file."""
    names: dict[str, Any] = {}
    for i, stream in enumerate(e.stream for e in events):
        if stream is None:
            continue
        text = str(stream)
        if not text.strip() or "\0" in text:
            must = "it must be a name that is not empty, or None"
            raise RowError("stream", stream, must=must, row=i)
        if names.setdefault(text, stream) != stream:
            problem = f"is {{}}, which is {text!r} in a file, as another stream is"
            raise RowError("stream", stream, problem=problem, fix="rename one of them", row=i)


def one_stream(events: Sequence[Event], title: str) -> None:
    """Refuse several streams in a format that has no place for their names."""
    streams = {e.stream for e in events}
    if len(streams) > 1:
        raise ArgumentError(
            "events",
            len(streams),
            problem="have {} streams",
            must=f"{title} has no place for their names",
            fix="write each stream to a file of its own, or write CSV or JSON",
        )


def seconds_of(text: str | None, argument: str, row: int, line: int) -> Decimal:
    """Return a number of a file."""
    text = (text or "").strip()
    if not NUMBER_TEXT.fullmatch(text):
        raise RowError(argument, text, must="it must be a number of seconds", row=row, line=line)
    return Decimal(text)


def probability_of(text: str, missing: str, row: int, line: int) -> float | None:
    """Return a probability of a file, None where it is missing."""
    text = text.strip()
    if text in ("", missing):
        return None
    if not NUMBER_TEXT.fullmatch(text):
        raise RowError("probability", text, must="it must be a number", row=row, line=line)
    return float(text)


def in_quotes(text: str) -> str:
    """Return text in quotes; those in it are doubled."""
    return '"' + text.replace('"', '""') + '"'


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers.

    Only line feeds end a line: names may hold other characters that `splitlines` splits at.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
