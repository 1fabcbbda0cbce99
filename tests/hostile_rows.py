"""Rows that clocks, networks and restarts bring about, as named cases for every entry point."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import classfilter as cf

CLASSES = ("walk", "sit", "sleep")
BETA = {"weak": 0.25, "strong": 1.0, "default": 0.5}
CHANNEL = {"weak": cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 8]])}
FILTERS: dict[str, Any] = {
    "dirichlet": cf.DirichletFilter(CLASSES, half_life=60.0),
    "single": cf.DirichletFilter(CLASSES, half_life=60.0, dtype=np.float32),
    "sticky": cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 40)),
    "tempered": cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 40), temperature=1.4, dtype=np.float32),
}
NOW = 1.7e9
DAY = 86400.0
MS = 1000 * NOW
"""The same moment in milliseconds: a clock of 55,840 years from now."""
SPAN = 60.0
MISSING = (math.nan,) * 3
INVALID = (0.9, 0.9, 0.9)
PREDICTIONS = (
    (0.5, 0.3, 0.2), (0.25, 0.35, 0.4), (0.45, 0.35, 0.2), (0.25, 0.5, 0.25), (0.4, 0.25, 0.35),
    (0.3, 0.45, 0.25), (0.34, 0.33, 0.33),
)  # fmt: skip
"""So doubtful that no estimate rounds to 0 or 1, which would hide what came before."""


@dataclass(frozen=True)
class Row:
    """A prediction of a source for a stream: probabilities, or a class by its name."""

    stream: Hashable
    time: float
    source: str | None = "strong"
    probs: tuple[float, ...] | str = ()


@dataclass(frozen=True)
class Restart:
    """The state is saved and loaded; nothing else may change."""


@dataclass(frozen=True)
class Expire:
    """The time of all streams is set."""

    now: float


Step = Row | Restart | Expire


@dataclass(frozen=True)
class Case:
    """Rows, and what happens between them; each row without a prediction gets one of its own.

    `columns` is the order of the classes in tables and lines, `rows_a_call` how many rows a call
    has that takes several. The rest is for entry points that differ: each stream has rules of its
    own; so many rows are one call; rows, by number, that are refused whatever the rules say.
    """

    name: str
    steps: tuple[Step, ...]
    limits: Mapping[str, Any] = field(default_factory=dict)
    filter: str = "dirichlet"
    columns: tuple[str, ...] = CLASSES
    rows_a_call: int = 3
    apart: bool = False
    calls: int = 1
    refused: frozenset[int] = frozenset()

    def __str__(self) -> str:
        return self.name

    def fresh(self) -> Any:
        """Return the filter of all streams, before any row."""
        return FILTERS[self.filter].copy()

    @property
    def rows(self) -> list[Row]:
        """The rows alone."""
        return [step for step in self.steps if isinstance(step, Row)]


def case(
    name: str,
    *steps: Step,
    filter: str = "dirichlet",  # noqa: A002
    columns: tuple[str, ...] = CLASSES,
    **limits: Any,
) -> Case:
    """Return a case whose times count from `NOW`, if they are less than a thousand days."""
    whole: list[Step] = []
    for i, step in enumerate(steps):
        if isinstance(step, Row):
            at = step.time + NOW if abs(step.time) < 1000 * DAY else step.time
            probs = step.probs or PREDICTIONS[i % len(PREDICTIONS)]
            whole.append(Row(step.stream, at, step.source, probs))
        elif isinstance(step, Expire):
            whole.append(Expire(step.now + NOW))
        else:
            whole.append(step)
    return Case(name, tuple(whole), limits, filter, columns)


def of(stream: Hashable, *times: float) -> list[Row]:
    """Return rows of one stream."""
    return [Row(stream, at) for at in times]


def turns(streams: str, *times: float) -> list[Row]:
    """Return rows of several streams, all of them at each time."""
    return [Row(name, at) for at in times for name in streams]


A, B, C = "a", "b", "c"
JUMPS: dict[str, Any] = {"max_jump": DAY}
OVER: dict[str, Any] = {"expire_after": SPAN}
FAR = [Row(f"far{i}", 1000.0 * i) for i in range(2, 8)]
CASES = [
    case("in order", *turns("ab", 0, 5, 7.5), *of(A, 10), *of(B, 30)),
    case("late rows", *of(A, 0, 3600, 3590, 0, 3605), *of(B, 3), *of(A, 3604.9, 3610)),
    case("late after a restart", *of(A, 0, 100), Restart(), *of(A, 50, 101, 100.5, 102)),
    case("equal times", *turns("ab", 0, 0, 5, 5, 5), Restart(), *of(A, 5, 6)),
    case(
        "sources at one time",
        Row(A, 0, "weak"), Row(A, 0, "strong"), Row(A, 0, None), Row(A, 5, "weak"), Row(A, 5, None),
    ),
    case("the same row again", *[Row(A, t, "strong", PREDICTIONS[0]) for t in (0, 5, 5, 5, 10)]),
    case("certain predictions", *[Row(A, 5 * i, "strong", p) for i, p in enumerate(
        [(1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.9, 0.1)])]),
    case("gaps", *of(A, 0, 1e-3, 7200, 90 * DAY), *of(B, 90 * DAY)),
    case("milliseconds", *[Row(A, MS + 5000 * i) for i in range(4)]),
    case("before 1970", *[Row(A, t) for t in (-3e9, -2.5e9, -2.5e9, -2.6e9)]),
    case("times that are no numbers", *of(A, 0, math.nan, 5, math.nan), *of(B, math.nan, 6)),
    # R2: times too far ahead
    case("one jump", *of(A, 0, 5, 400 * DAY, 10, 15), **JUMPS),
    case("a jump, confirmed", *of(A, 0, 5, 400 * DAY, 400 * DAY + 5, 400 * DAY + 6), **JUMPS),
    case("a jump, confirmed at once", *of(A, 0, 400 * DAY, 400 * DAY, 400 * DAY), **JUMPS),
    case("a jump, confirmed too early", *of(A, 0, 400 * DAY, 399.5 * DAY, 399.6 * DAY), **JUMPS),
    case("two jumps", *of(A, 0, 100 * DAY, 300 * DAY, 300 * DAY + 5, 300 * DAY + 6), **JUMPS),
    case("a jump, a row, a jump", *of(A, 0, 90 * DAY, 5, 90 * DAY, 90 * DAY + 1), **JUMPS),
    case("a jump, a late row, the jump", *of(A, 5, 90 * DAY, 0, 90 * DAY + 1), **JUMPS),
    case("a jump, a restart", *of(A, 0, 90 * DAY), Restart(), *of(A, 90 * DAY + 1, 7), **JUMPS),
    case("jumps of two streams", *turns("ab", 0, 90 * DAY), *of(A, 90 * DAY + 5, 6),
         *of(B, 6), **JUMPS),
    case("exactly a jump", *of(A, 0, DAY, 2 * DAY + 0.25, 2 * DAY), **JUMPS),
    case("a new stream far ahead", *of(A, 0), *of(B, 90 * DAY, 90 * DAY + 1), **JUMPS),
    case("an unknown source is no jump", *of(A, 0), Row(A, 90 * DAY, "other"),
         *of(A, 90 * DAY + 1, 90 * DAY + 2), **JUMPS),
    case("an invalid prediction is no jump", *turns("ab", 0), Row(A, 90 * DAY, "strong", INVALID),
         Row(B, 90 * DAY, "weak", INVALID), *turns("ab", 90 * DAY + 1, 90 * DAY + 2), **JUMPS),
    case("a jump of a stream that is over", *of(A, 0, 2 * DAY, 2 * DAY + 5, 2 * DAY + 10),
         **JUMPS, **OVER),
    case("a jump of a stream that was forgotten", *of(A, 0, 2 * DAY), *of(B, 40, 80, 120),
         *of(A, 2 * DAY + 5, 2 * DAY + 6), *of(B, 125), **JUMPS, **OVER),
    # R3 to R5: streams that are over
    case("over by its own time", *of(A, 0, 5, 65, 125.25, 126), **OVER),
    case("an invalid row begins nothing anew", *turns("ab", 0), Row(A, 100, "strong", INVALID),
         Row(B, 100, "weak", INVALID), Row(A, 100, "other"), *turns("ab", 50, 55), **OVER),
    case("over by the time of others", *turns("ab", 0), *of(B, 30, 60, 90), *of(A, 50, 55), **OVER),
    case("over, with a restart", *turns("ab", 0), *of(B, 30), Restart(), *of(B, 60, 90), Restart(),
         *of(A, 50), *of(B, 91), **OVER),
    case("missing rows keep a stream", Row(A, 0), *of(B, 0), Row(A, 50, "weak", MISSING),
         *of(B, 55, 100), Row(A, 105), **OVER),
    case("a wrong first clock", Row("bad", MS), *turns("abc", 0, 5), *of(A, 70, 130), *of(B, 20),
         *of(C, 140), *of(B, 141), **OVER),
    case("a wrong first clock, alone", Row(A, MS), *of(B, 0, 5, 70, 75), *of(A, 80), **OVER),
    case("one wrong clock", *turns("abc", 0), Row("bad", MS), *turns("abc", 5, 10), *of(B, 12),
         *of(A, 100), Row("bad", MS + 5), *turns("abc", 101), **OVER),
    case("a stream with a wrong clock", *turns("abc", 0), Row(A, MS), *turns("bc", 5, 50, 100),
         *of(A, 101), **OVER),
    case("two wrong clocks", *turns("abcd", 0), Row("bad", MS), Row("evil", MS), *turns("abcd", 5),
         *of(A, 60, 100), Row("evil", MS + 2), *turns("abcd", 101), **OVER),
    case("three clocks agree", *turns("abcd", 0), *of(A, DAY), *of(B, DAY + 5), *of(A, DAY + 7),
         *of(C, DAY + 6), *of("d", DAY + 8), *of(A, DAY + 9), **OVER),
    case("a night", *turns("ab", 0, 5), *turns("ab", DAY, DAY + 5), *of("d", DAY + 6), **OVER),
    case("a clock that goes back", *turns("abc", 500), Row("d", 0), Row("e", 1), *of("d", 5),
         Row("f", 2), *turns("def", 10, 40, 80), *of(A, 501, 505), *of("d", 81), **OVER),
    case("strays of many streams",
         *of(A, 0), *[Row(f"s{i}", 1000.0 * i) for i in range(1, 13)], *of(A, 5),
         *[Row(f"s{i}", 1000.0 * i + 1) for i in (12, 11, 1)], Row("t", 12002), Row("u", 12003),
         *of(A, 10), Row("s11", 11010), **OVER),
    case("the ninth stray", *of(A, 0), Row("s", 1000), Row("t", 1001), *FAR, Row("u", 1002),
         *of(A, 5), **OVER),
    case("a stray comes again", *of(A, 0), Row("s", 1000), Row("t", 1001), *FAR, Row("s", 1003),
         Row("u", 1004), Row("v", 1005), *of(A, 5), **OVER),
    case("strays of two times", *of(A, 0), Row("p", 5000), *[Row(n, 1000) for n in "stu"],
         Row("q", 5001), Row("r", 5002), Row("s", 1003), **OVER),
    case("strays exactly so far apart", *turns("abc", 0), Row("s", 1000), Row("t", 1030),
         Row("u", 1060), *of(A, 5), **OVER),
    case("strays, the last first", *turns("abc", 0), Row("s", 1030), Row("t", 1020), Row("u", 1000),
         Row("v", 1061), Row("v", 1091), Row("s", 1040), **OVER),
    case("exactly so far on", *turns("abc", 0), *of(A, 60, 61), *of(B, 1), **OVER),
    case("a clock behind", Row("o", 0), *of(A, 50), *of(B, -5), *of(A, 61), Row("o", 1), **OVER),
    case("a single stream, then two", *of(A, 0, DAY), *of(B, DAY + 5, DAY + 50, DAY + 70),
         *of(A, DAY + 1),
         **OVER),
    case("expire", *turns("ab", 0), *of(B, 40), Expire(70), *of(A, 5), *of(B, 71), Expire(200),
         *of(A, 6), **OVER),
    case("expire, back", *turns("ab", 500), Expire(0), *of(C, 1), *of(A, 501), Expire(61.5),
         *of(B, 501), Restart(), Expire(1e5), *of(C, 2), **OVER),
    # R6: too many streams
    case("too many streams", *turns("abc", 0), *of(A, 5), *turns("bca", 6, 7), max_streams=2),
    case("one stream at a time", *of(A, 0, 5), *of(B, 3), *of(A, 1), Restart(), *of(A, 2),
         max_streams=1),
    case("too many, and over", *turns("abc", 0), *of(A, 50, 100), Restart(), *of(B, 20, 21),
         *of(C, 22), max_streams=3, **OVER),
    case("many streams", *[Row(f"s{i * 7 % 24}", i / 4, ["weak", "strong"][i % 2])
                           for i in range(96)], max_streams=20),
    # R7 to R10: sources, predictions, names
    case("unknown sources", Row(A, 0, "other"), *of(A, 5), Row(A, 6, "other"), Row(B, 7, "other"),
         *of(B, 1), *of(A, 6)),
    case("missing rows", Row(A, 0, "weak", MISSING), *of(A, 5), Row(A, 10, "strong", MISSING),
         Row(A, 10, None, MISSING), Restart(), *of(A, 60)),
    case("sources, with a channel and without",
         *[Row(A, 5 * i, source) for i, source in enumerate(["weak", None, "strong"] * 4)]),
    case("invalid predictions", *of(A, 0), Row(A, 5, "strong", (0.5, math.nan, 0.5)),
         Row(A, 6, "weak", INVALID), Row(B, 7, "weak", (-0.2, 0.6, 0.6)), *turns("ab", 5)),
    case("equally probable classes", Row(A, 0, "strong", (0.2, 0.4, 0.4)),
         Row(B, 0, "strong", (1 / 3, 1 / 3, 1 / 3)), Row(C, 0, "weak", MISSING),
         Row("d", 0, "strong", (0.4, 0.2, 0.4)), Row("e", 0, "weak", (0.5, 0.5, 0.0))),
    case("columns in another order", Row(A, 0, "strong", (0.4, 0.2, 0.4)), *of(A, 5),
         Row(B, 0, "strong", (0.2, 0.4, 0.4)), Row(B, 5, "weak"), Row(C, 5, "weak", MISSING),
         columns=("sleep", "walk", "sit")),
    case("classes by name", *of(A, 0), Row(A, 5, "weak", "sit"), Row(A, 10, "strong", "sleep"),
         *of(A, 11), columns=("sleep", "walk", "sit")),
    case("1 and '1'", Row(1, 0), Row("1", 0), Row(1, 5), Row("1", 5), Row("01", 5), Row(1, 6)),
    case("single precision", *turns("ab", 0, 5), Row(A, 6, "weak"), Restart(), Row(B, 6, "weak"),
         *of(A, 3, 8), filter="single"),
    case("a sticky filter", *turns("ab", 0, 5), Row(A, 6, "weak"), Restart(), Row(B, 6, "weak"),
         *of(A, 3, 8), filter="sticky", max_streams=2),
    case("a temperature", *turns("ab", 0, 5), Row(A, 6, "weak"), Restart(), Row(B, 6, "weak"),
         *of(A, 3, 8), filter="tempered"),
]  # fmt: skip
