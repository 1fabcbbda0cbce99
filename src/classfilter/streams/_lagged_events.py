"""Live events at a fixed lag: decided on rows smoothed with some rows after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import ArgumentError
from .._support.types import Array, Floats, Ints
from ..chain._chain import Chain
from ..filters._smoothing import check_lag, check_smoother
from ._lagged_rule import LaggedRule, Rows
from ._live_events import Known, LiveEvents, RowSeen, RowsSeen, event_rows
from ._rows import Taken


def checked_lag(lag: int) -> int:
    """Return the lag of live events: one row or more."""
    ahead = check_lag(lag)
    if not ahead:
        remedy = "leave it out, to decide on filtered rows"
        raise ArgumentError("lag", lag, rule="it must be 1 row or more", remedy=remedy)
    return ahead


class LaggedEvents(LiveEvents):
    """The rule of a chain's smoother, for many streams, on rows smoothed at a fixed lag.

    Parameters
    ----------
    chain : Chain
        With a smoother that has a rule.
    lag : int
        With how many later rows of its stream each row is smoothed; 1 or more.
    """

    def __init__(self, chain: Chain, lag: int) -> None:
        self._smoother = chain.smoother
        super().__init__(self._smoother)
        self.core = LaggedRule(self.core, check_smoother(self._smoother.filter()), lag)

    def row_after(self, known: Any, at: float, _: Array, row: RowSeen) -> Known:
        """Return what is known of a stream after a row."""
        seen = self._smoother.observe(*row.prediction)
        return self.observed_after(known, at, seen.probs, seen.beta, row.dt)

    def observed_after(self, known: Any, at: float, probs: Any, weight: Any, dt: float) -> Known:
        """Return what is known of a stream after an observation of the smoother, and its weight."""
        probs = np.array(probs, np.float64)
        state, events = self.core.update(known[0], at, probs, weight, dt)
        return Known(state, (*known[1], *event_rows(events)) if events else known[1])

    def after(
        self, before: Sequence[Any], streams: Ints, time: Floats, taken: Taken, rows: RowsSeen
    ) -> Array:
        """Return what is known of each stream after many rows; `before` stays as it is."""
        probs, weight = self._smoother.observe_rows(*rows)
        order = np.argsort(streams, kind="stable")
        owner, begins = streams[order], taken.begins[order]
        # A part is the rows of a stream from where it begins, or goes on, to where it begins anew.
        first = (np.diff(owner, prepend=-1) != 0) | begins
        owners, anew = owner[first].tolist(), begins[first].tolist()
        states = [
            self.core.start() if new else before[i][0] for i, new in zip(owners, anew, strict=True)
        ]
        columns = (x[order] for x in (time, probs, weight, taken.dt))
        results = self.core.push(states, Rows(np.cumsum(first) - 1, *columns))
        after = np.full(len(before), None, object)
        for i, new, (state, events) in zip(owners, anew, results, strict=True):
            known = before[i] if after[i] is None else after[i]
            earlier = self.finished(known) if new else known[1]
            after[i] = Known(state, (*earlier, *event_rows(events)))
        return after
