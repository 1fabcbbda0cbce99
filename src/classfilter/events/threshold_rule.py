"""Two thresholds and minimum durations: the simple rule that many tools have, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..errors import ArgumentError, names_keywords
from ..inputs import Heads, duration
from ..support.types import Array, Bools, Floats, Ints, is_number
from .rule import EventColumns, Start

BELOW = 0.15
"""By default an event ends so far below the threshold at which it begins."""
_Held = tuple[tuple[Floats, Array], ...]


@names_keywords
@dataclass(frozen=True)
class ThresholdRule:
    """An event begins where the probability of its class reaches `enter`, and ends below `leave`.

    Each class is decided by itself, so that events of two classes may overlap. Gaps are merged
    first, then short events are dropped. It works on whole tables and recordings only.

    Parameters
    ----------
    enter : float, default 0.5
        The threshold at which an event begins.
    leave : float, optional
        The threshold below which it ends; by default 0.15 below `enter`.
    min_duration, merge_gap : duration, default 0
        Shorter events are dropped; shorter gaps between events of a class are filled.
    ignore : class or iterable of them
        Classes for which no event is reported.
    max_gap : duration, optional
        A row stands for no more time than this; events end after it.

    Examples
    --------
    >>> import classfilter as cf
    >>> p = [[0.6, 0.4], [0.4, 0.6], [0.6, 0.4]] * 2
    >>> rows = cf.rows(time=range(6), probs=p, classes=["a", "b"])
    >>> [(e.label, e.start, e.end) for e in cf.events(rows, cf.ThresholdRule(0.5, 0.3))]
    [('a', 0.0, 6.0), ('b', 1.0, 6.0)]
    """

    enter: float = 0.5
    leave: float | None = None
    min_duration: Any = 0.0
    merge_gap: Any = 0.0
    ignore: Any = ()
    max_gap: Any = None

    def __post_init__(self) -> None:
        _require_probability("enter", self.enter)
        leave = max(self.enter - BELOW, 0.0) if self.leave is None else self.leave
        _require_probability("leave", leave)
        if leave > self.enter:
            must = f"it must not be above enter, {self.enter!r}"
            raise ArgumentError("leave", leave, must=must)
        object.__setattr__(self, "leave", float(leave))
        for name in ("min_duration", "merge_gap", "max_gap"):
            value = getattr(self, name)
            if name == "max_gap" and value is None:
                continue
            span = duration(name, value)
            if not 0 <= span < np.inf:
                raise ArgumentError(name, value, must="it must be finite and not negative")
            object.__setattr__(self, name, span)
        if self.max_gap == 0:
            fix = "give a positive duration, or None"
            raise ArgumentError("max_gap", 0, must="it must not be 0", fix=fix)
        ignore = [self.ignore] if isinstance(self.ignore, (str, int)) else self.ignore
        object.__setattr__(self, "ignore", tuple(map(str, ignore)))

    def check(self, heads: Heads) -> None:
        """Raise for a class that is named here and is not one of these."""
        for name in self.ignore:
            if name not in tuple(map(str, heads.shown)):
                must = f"the classes are {list(heads.shown)}"
                raise ArgumentError("ignore", name, problem="names {}", must=must)

    def compiled(self, heads: Heads, dtype: DTypeLike) -> HeldThresholds:
        """Return the rule for the columns of a filter, with the methods of an `EventRule`'s."""
        self.check(heads)
        return HeldThresholds(self, tuple(map(str, heads.shown)))

    def events(self, time: Floats, probs: Array, classes: tuple[str, ...]) -> EventColumns:
        """Return the events of one stream: class, start, end, probability, and never forced."""
        ends = row_ends(time, self.max_gap)
        parts = []
        for k, name in enumerate(classes):
            if name not in self.ignore:
                p = np.asarray(probs[:, k], np.float64)
                parts += [(k, *event) for event in self._of_class(time, ends, p)]
        columns = np.array(parts, np.float64).reshape(-1, 4).T
        forced = np.zeros(len(parts), bool)
        return columns[0].astype(np.intp), columns[1], columns[2], columns[3], forced

    def _of_class(self, time: Floats, ends: Floats, p: Floats) -> list[tuple[float, float, float]]:
        """Return start, end and probability of each event of a class."""
        assert self.leave is not None
        on = _held(p >= self.enter, ~(p >= self.leave), np.append(True, time[1:] > ends[:-1]))
        edges = np.flatnonzero(np.diff(on.astype(int), prepend=0, append=0))
        # A stretch that ends where the next begins with the class on is two events.
        cuts = np.flatnonzero(on[1:] & on[:-1] & (time[1:] > ends[:-1])) + 1
        bounds = np.sort(np.concatenate([edges, cuts, cuts]))
        merged: list[list[Any]] = []
        for first, last in bounds.reshape(-1, 2).tolist():
            if not ends[last - 1] > time[first]:  # rows that stand for no time
                continue
            if merged and time[first] - ends[merged[-1][1] - 1] <= self.merge_gap:
                merged[-1][1] = last
            else:
                merged.append([first, last])
        events = []
        for first, last in merged:
            start, end = float(time[first]), float(ends[last - 1])
            if end - start >= self.min_duration:
                rows, weight = p[first:last], ends[first:last] - time[first:last]
                observed = ~np.isnan(rows)
                events.append(
                    (start, end, float(np.average(rows[observed], weights=weight[observed])))
                )
        return events


class HeldThresholds:
    """A `ThresholdRule` with the methods of the core's rule: it decides when the stream ends.

    The state of a stream has all of its rows.
    """

    def __init__(self, rule: ThresholdRule, classes: tuple[str, ...]) -> None:
        self._rule, self._classes = rule, classes

    def start(self) -> _Held:
        """Return the state of a new stream."""
        return ()

    def run(
        self, state: _Held, time: Floats, probs: Array, starts: list[Start] | None = None
    ) -> tuple[Any, ...]:
        """Take further rows of a stream; no event is final yet."""
        return (*state, (time, probs)), *self._rule.events(time[:0], probs[:0], self._classes)

    def finish(self, state: _Held, starts: list[Start] | None = None) -> EventColumns:
        """Return the events of a stream that ends."""
        if not state:
            return self._rule.events(np.empty(0), np.empty((0, len(self._classes))), self._classes)
        time, probs = map(np.concatenate, zip(*state, strict=True))
        return self._rule.events(time, probs, self._classes)


def _require_probability(argument: str, value: Any) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise ArgumentError(argument, value, must="it must be a number in [0, 1]")


def row_ends(time: Floats, max_gap: float | None = None) -> Floats:
    """Return the end of the time that each row stands for: the next row, at most `max_gap` away.

    The last row stands for as long as the one before it.

    Examples
    --------
    >>> row_ends(np.array([0.0, 1.0, 3.0, 9.0]), max_gap=4.0).tolist()
    [1.0, 3.0, 7.0, 13.0]
    """
    step = np.diff(time)
    step = np.append(step, step[-1:] if step.size else np.zeros(time.size))
    result: Floats = time + (step if max_gap is None else np.minimum(step, max_gap))
    return result


def _held(on: Bools, off: Bools, begins: Bools) -> Bools:
    """Return whether each row is on: since a row that turned it on, unless one turned it off."""
    last: Ints = np.maximum.accumulate(np.where(on | off | begins, np.arange(on.size), 0))
    return on[last]
