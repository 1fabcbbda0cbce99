"""The cost of a change that gives a number of events.

The path of classes has fewer changes the more they cost. So the smallest cost with at most so many
events is found by bisection, with the rule of the core over all streams.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from ..events import EventRule
from ..inputs import Heads
from ..support.arrays import median_step
from ..support.types import Array, Floats, Ints

FINEST = 1e-3
"""The smallest cost above 0 that is tried, in median steps."""
RATIO = 1.005
"""Of each cost that is tried to the one before."""


class DecidedRows(NamedTuple):
    """The times (T,) and the filtered or smoothed probabilities (T, K) of one stream."""

    time: Floats
    probs: Array


class EventCounts:
    """How many events streams have, at any cost of a change.

    Parameters
    ----------
    streams : sequence of DecidedRows
        The rows, in order of time.
    heads : Heads
        What the columns of the probabilities are; of labels, events are those of on.
    rule : EventRule, optional
        Its other settings hold: only the cost varies.
    shares : mapping of str to float, optional
        What the cost is multiplied by for each class; 1 by default.

    Attributes
    ----------
    time : float
        The time that all rows stand for.
    expected_time : ndarray (K,)
        The expected time of each class: the sum of w p, where a row stands for the time w.
    longest : float
        The time of the longest stream; a cost beyond it has no change.
    step : float
        The median time from row to row.

    Examples
    --------
    >>> walk = np.array([0.9, 0.9, 0.3, 0.9, 0.1, 0.1])
    >>> rows = DecidedRows(np.arange(6.0), np.stack([walk, 1 - walk], axis=1))
    >>> counts = EventCounts([rows], Heads.exclusive(["walk", "sit"]))
    >>> counts.total(0.0), counts.total(1.0), counts.smallest_cost(2)
    (4, 2, 0.2)
    """

    def __init__(
        self,
        streams: Sequence[DecidedRows],
        heads: Heads,
        rule: EventRule | None = None,
        shares: Mapping[str, float] | None = None,
    ) -> None:
        self._streams = [rows for rows in streams if len(rows.time)]
        self._heads, self._rule, self._shares = heads, rule or EventRule(), shares
        weights = [row_times(rows, self._rule.max_gap) for rows in self._streams]
        self.expected_time: Floats = np.zeros(len(heads.shown))
        for rows, w in zip(self._streams, weights, strict=True):
            self.expected_time += w @ np.nan_to_num(rows.probs)
        self.time = float(sum(w.sum() for w in weights))
        self.longest = max((float(w.sum()) for w in weights), default=0.0)
        apart = np.concatenate([np.diff(rows.time) for rows in self._streams] or [np.zeros(0)])
        self.step = median_step(apart)
        self.total = cache(self._total)

    def rule(self, cost: float) -> EventRule:
        """Return the rule at a cost; with shares, each class has its own, of three digits."""
        costs: Any = cost
        if self._shares is not None:
            costs = {name: round_up(cost * self._shares[name]) for name in self._heads.shown}
        return replace(self._rule, change_cost=costs)

    def by_class(self, rule: EventRule) -> Ints:
        """Return the number of events of each class (K,), by a rule."""
        counts: Ints = np.zeros(len(self._heads.shown), np.intp)
        compiled: dict[Any, Any] = {}
        for time, probs in self._streams:
            core = compiled.get(probs.dtype)
            if core is None:
                core = rule.compiled(self._heads, probs.dtype)
                compiled[probs.dtype] = core
            state, of_path, *_ = core.run(core.start(), time, np.ascontiguousarray(probs))
            for classes in (of_path, core.finish(state)[0]):
                counts += np.bincount(classes, minlength=len(counts))
        return counts

    def _total(self, cost: float) -> int:
        """Return the number of events at a cost."""
        return int(self.by_class(self.rule(cost)).sum())

    @cached_property
    def fewest(self) -> int:
        """The number of events without any change: one for each stretch without a gap."""
        return self.total(self._costs[-1])

    def smallest_cost(self, most: float) -> float:
        """Return the smallest cost with at most so many events, to half a percent and three digits.

        Where even streams without a change have more, the smallest cost without changes.
        """
        return self._costs[self._place(most)]

    def cost_of_as_many(self, least: int) -> float:
        """Return the smallest cost with so many events, or else the largest with more than that.

        0 where there are never so many.
        """
        place = self._place(least)
        fewer = self.total(self._costs[place]) < least
        return self._costs[max(0, place - fewer)]

    def _place(self, most: float) -> int:
        costs = self._costs
        if self.total(0.0) <= most:
            return 0
        return bisect_left(costs, -max(most, self.fewest), key=lambda cost: -self.total(cost))

    @cached_property
    def _costs(self) -> list[float]:
        """The costs that are tried: 0, and from the finest to one that nothing can be worth."""
        shares = [1.0] if self._shares is None else list(self._shares.values())
        furthest = round_up(self.longest / min(shares))
        low = FINEST * self.step
        count = math.ceil(math.log(max(furthest / low, 1)) / math.log(RATIO)) + 1
        return [0.0, *(min(round_up(low * RATIO**i), furthest) for i in range(count))]


def row_times(rows: DecidedRows, max_gap: float | None = None) -> Floats:
    """Return the time that each row stands for (T,), as the rule has it; 0 where it is unknown.

    That is the time to the next row, at most `max_gap`; at the last row, the step before.
    """
    w = np.minimum(np.diff(rows.time), np.inf if max_gap is None else max_gap)
    w = np.append(w, w[-1:] if w.size else 0.0)
    w[np.isnan(rows.probs).any(axis=1)] = 0.0
    return w


def round_up(cost: float) -> float:
    """Return three digits, not below the cost.

    Examples
    --------
    >>> round_up(87.31), round_up(0.02), round_up(123456.0), round_up(0.0)
    (87.4, 0.02, 124000.0, 0.0)
    """
    rounded = float(f"{cost:.3g}")
    if rounded >= cost:
        return rounded
    last_digit = 10.0 ** (math.floor(math.log10(cost)) - 2)
    return float(f"{rounded + last_digit:.3g}")
