"""The stages after the filter, over many streams: a fixed lag, and a rule for events."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..events import EventRule, ThresholdRule
from ..inputs import Heads
from ..support.types import Array, Bools
from .lag import GroupedRows, LagStage

Confirmed = tuple[int, float, float, float, bool]
"""Class, start, end, probability, and whether it had to be decided before all paths agreed."""
Rule = EventRule | ThresholdRule
RULES = (EventRule, ThresholdRule)


class Stage(Protocol):
    """A fixed lag, or a rule for events: it keeps a state of each stream."""

    def start(self) -> Any:
        """Return the state of a new stream."""

    def run(self, states: Sequence[Any], rows: GroupedRows, over: Bools) -> tuple[list[Any], Any]:
        """Take rows of streams: the states after them, and what comes out.

        The streams that are `over` have no later rows.
        """

    def pack(self, state: Any) -> bytes:
        """Return the state of a stream as bytes."""

    def unpack(self, data: bytes) -> tuple[Any, bytes]:
        """Return the state that bytes begin with, checked, and the bytes after it."""


class RuleStage:
    """Decides events, by a rule of the core or, at the end of a stream, by a `ThresholdRule`.

    Parameters
    ----------
    rule : EventRule or ThresholdRule
    heads : Heads
        What the columns of the probabilities are.
    dtype : dtype
        That of the probabilities.
    """

    def __init__(self, rule: Rule, heads: Heads, dtype: Any) -> None:
        self.core: Any = rule.compiled(heads, dtype)
        self._start = self.core.start()

    def start(self) -> Any:
        """Return the state of a new stream."""
        return self._start

    def run(
        self, states: Sequence[Any], rows: GroupedRows, over: Bools
    ) -> tuple[list[Any], list[list[Confirmed]]]:
        """Take rows of streams: the states after them, and the events of each that are final."""
        cuts = np.searchsorted(rows.stream, np.arange(len(states) + 1)).tolist()
        after, events = [], []
        for i, (state, ends) in enumerate(zip(states, over.tolist(), strict=True)):
            part, final = slice(cuts[i], cuts[i + 1]), []
            if cuts[i] < cuts[i + 1]:
                state, *columns = self.core.run(state, rows.time[part], rows.probs[part])
                final = _listed(columns)
            if ends:
                final += _listed(self.core.finish(state))
            after.append(state)
            events.append(final)
        return after, events

    def pack(self, state: Any) -> bytes:
        """Return the state of a stream as bytes; those of heads after their lengths."""
        if isinstance(state, bytes):
            return state
        return struct.pack(f"<{len(state)}I", *map(len, state)) + b"".join(state)

    def unpack(self, data: bytes) -> tuple[Any, bytes]:
        """Return the state that bytes are, checked."""
        state: Any = data
        if not isinstance(self._start, bytes):
            count = len(self._start)
            if len(data) < 4 * count:
                raise ValueError("the state of its events is cut off")
            sizes = struct.unpack_from(f"<{count}I", data)
            ends = list(accumulate(sizes, initial=4 * count))
            if ends[-1] != len(data):
                raise ValueError("the state of its events is damaged")
            state = tuple(data[first:end] for first, end in pairwise(ends))
        self.core.check(state)
        return state, b""


def _listed(columns: Sequence[Array]) -> list[Confirmed]:
    """Return columns of events as rows."""
    return list(zip(*(column.tolist() for column in columns), strict=True))


class Later(NamedTuple):
    """What the stages after the filter know of a stream.

    Attributes
    ----------
    held : bytes or None
        The rows that wait for later ones; None where nothing is smoothed.
    rule : object
        The state of the rule for events; None where there is none.
    """

    held: bytes | None
    rule: Any


class Stages:
    """A fixed lag, if there is one, and a rule for events, if there is one.

    Parameters
    ----------
    lag : LagStage or None
    rule : RuleStage or None
    heads : Heads
        What the columns are.
    dtype : dtype
        The precision of the rows.
    """

    def __init__(
        self, lag: LagStage | None, rule: RuleStage | None, heads: Heads, dtype: Any
    ) -> None:
        self.lag, self.rule = lag, rule
        self._heads, self._dtype = heads, dtype

    def __bool__(self) -> bool:
        return self.lag is not None or self.rule is not None

    def start(self) -> Later:
        """Return what is known of a new stream."""
        held = None if self.lag is None else self.lag.start()
        return Later(held, None if self.rule is None else self.rule.start())

    def run(
        self, states: Sequence[Later], rows: GroupedRows, over: Bools
    ) -> tuple[list[Later], GroupedRows, list[list[Confirmed]]]:
        """Take rows of streams: what is known then, the complete rows, and the final events.

        The streams that are `over` have no later rows.
        """
        held: list[Any] = [state.held for state in states]
        rules: list[Any] = [state.rule for state in states]
        events: list[list[Confirmed]] = [[] for _ in states]
        if self.lag is not None:
            held, rows = self.lag.run(held, rows, over)
            rows = rows._replace(probs=self._shown(rows.probs))
        if self.rule is not None:
            rules, events = self.rule.run(rules, rows, over)
        return [Later(*both) for both in zip(held, rules, strict=True)], rows, events

    def finish(self, states: Sequence[Later]) -> tuple[GroupedRows, list[list[Confirmed]]]:
        """End streams: their last rows, smoothed, and their last events."""
        none, times = np.empty(0, np.intp), np.empty(0)
        shape = (0, 1, 1) if self.lag is None else self.lag.shape
        rows = GroupedRows(none, none, times, times, np.empty(shape), times)
        _, rows, events = self.run(states, rows, np.ones(len(states), bool))
        return rows, events

    def update(
        self, state: Later, time: float, estimate: Array, smoothed: Any, dt: float
    ) -> tuple[Later, Iterable[Confirmed]]:
        """Take one row: what is known then, and the final events. It equals `run` of one row.

        `smoothed` are the prediction as the smoother gets it, and its weight.
        """
        assert self.rule is not None
        held, rule = state
        if self.lag is None or held is None:
            rule, events = self.rule.core.update(rule, time, estimate)
            return Later(None, rule), events
        probs, weight = smoothed
        held, time, results = self.lag.update(held, time, self.of_heads(probs), weight, dt)
        if results is None:
            return Later(held, rule), ()
        rule, events = self.rule.core.update(rule, time, self._shown(results)[0])
        return Later(held, rule), events

    def of_heads(self, probs: Any) -> Array:
        """Return a prediction as the filter gets it as that of heads, (H, K)."""
        row: Array = np.array(probs, np.float64)
        if row.ndim == 2:
            return row
        return self._heads.stacked(row if self._heads.is_exclusive else row.astype(self._dtype))

    def _shown(self, P: Array) -> Array:
        """Return results of heads (T, H, K) as columns, (T, C)."""
        return np.ascontiguousarray(self._heads.flat(P))

    def pack(self, state: Later) -> bytes:
        """Return what is known of a stream as bytes."""
        held = b"" if self.lag is None or state.held is None else self.lag.pack(state.held)
        return held if self.rule is None else held + self.rule.pack(state.rule)

    def unpack(self, data: bytes) -> Later:
        """Return what bytes hold of a stream, checked."""
        held, rule = None, None
        if self.lag is not None:
            held, data = self.lag.unpack(data)
        if self.rule is not None:
            rule, data = self.rule.unpack(data)
        return Later(held, rule)
