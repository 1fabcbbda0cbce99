"""The stages after the filter, over many streams: a fixed lag, and a rule for events."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ..events import EventRule, Start, ThresholdRule
from ..inputs import Heads
from ..support.types import Array, Bools, Floats, Ints
from .lag import GroupedRows, LagStage

Confirmed = tuple[int, float, float, float, bool]
"""Class, start, end, probability, and whether it had to be decided before all paths agreed."""


class Decided(NamedTuple):
    """What a rule knows of a stream's events since the call before.

    Attributes
    ----------
    events : sequence of Confirmed
        Those that are final.
    starts : sequence of Start
        Those that are final, each once: it comes with its event, or before.
    """

    events: Sequence[Confirmed] = ()
    starts: Sequence[Start] = ()


Rule = EventRule | ThresholdRule
RULES = (EventRule, ThresholdRule)


class Waiting(NamedTuple):
    """The state of a rule until each head of the stream has had a prediction.

    Attributes
    ----------
    state : object
        That of the rule's core.
    first : tuple of float
        The time of each head's first prediction; NaN while there is none.
    """

    state: Any
    first: tuple[float, ...]


class RuleStage:
    """Decides events, by a rule of the core or, at the end of a stream, by a `ThresholdRule`.

    Before the first prediction of a stream nothing is known of it: the estimate is only where the
    filter starts. The rule gets NaN for these rows, so that no event is found there.

    Parameters
    ----------
    rule : EventRule or ThresholdRule
    heads : Heads
        What the columns of the probabilities are.
    dtype : dtype
        That of the probabilities.
    waits : bool, default True
        Whether the rows are estimates of a filter; others are taken as they are.
    starts : bool, default False
        Whether starts are wanted.
    """

    def __init__(
        self, rule: Rule, heads: Heads, dtype: Any, waits: bool = True, starts: bool = False
    ) -> None:
        self._starts = starts
        self.core: Any = rule.compiled(heads, dtype)
        self._fresh = self.core.start()
        self._count = len(heads.names)
        self._head_of_column = np.repeat(range(self._count), [len(x) for x in heads.columns])
        self._known = (-np.inf,) * self._count  # when no head waits for its first prediction
        self._start = Waiting(self._fresh, (np.nan,) * self._count) if waits else self._fresh
        self.update_stream: Any = getattr(self.core, "update_stream", None)
        """Of the core, for a stream that waits for no prediction; it equals `run` of one row."""

    def start(self) -> Any:
        """Return the state of a new stream."""
        return self._start

    def run(
        self, states: Sequence[Any], rows: GroupedRows, over: Bools, first: Floats
    ) -> tuple[list[Any], list[Decided]]:
        """Take rows of streams: the states after them, and what is final of each one's events.

        `first` are the times of the first prediction of each stream and head that came by now since
        the call before, (N, H); NaN where there is none.
        """
        states, probs, first = self._without_early_rows(states, rows, first)
        cuts = np.searchsorted(rows.stream, np.arange(len(states) + 1)).tolist()
        after, decided = [], []
        for i, (state, ends) in enumerate(zip(states, over.tolist(), strict=True)):
            part, final = slice(cuts[i], cuts[i + 1]), list[Confirmed]()
            starts: list[Start] | None = [] if self._starts else None
            if cuts[i] < cuts[i + 1]:
                state, *columns = self.core.run(state, rows.time[part], probs[part], starts)
                final = _listed(columns)
            if ends:
                final += _listed(self.core.finish(state, starts))
            last = rows.time[cuts[i + 1] - 1] if cuts[i] < cuts[i + 1] else -np.inf
            waits = first is not None and not (first[i] <= last).all()
            after.append(Waiting(state, tuple(first[i].tolist())) if waits else state)
            decided.append(Decided(final, starts or ()))
        return after, decided

    def update(self, state: Any, time: float, row: Array) -> tuple[Any, Decided]:
        """Take one row of a stream that waits for no prediction. It equals `run` of one row."""
        starts: list[Start] | None = [] if self._starts else None
        state, events = self.core.update(state, time, row, starts)
        return state, Decided(events, starts or ())

    def _without_early_rows(
        self, states: Sequence[Any], rows: GroupedRows, first: Floats
    ) -> tuple[list[Any], Array, Any]:
        """Return the states of the core, the rows with NaN before the first prediction, and when.

        The last is None where no stream waits for a prediction.
        """
        cores = [state.state if isinstance(state, Waiting) else state for state in states]
        waiting = [i for i, state in enumerate(states) if isinstance(state, Waiting)]
        if not waiting:
            return cores, rows.probs, None
        since = np.full((len(states), self._count), -np.inf)
        for i in waiting:
            since[i] = states[i].first
        since = np.where(np.isnan(since), first, since)
        early = ~(rows.time[:, None] >= since[rows.stream])
        if not early.any():
            return cores, rows.probs, since
        probs = rows.probs.copy()
        probs[early[:, self._head_of_column]] = np.nan
        return cores, probs, since

    def current(self, state: Any) -> Any:
        """Return the event that a stream ends with at present, or those of several labels."""
        return self.core.current(state.state if isinstance(state, Waiting) else state)

    def pack(self, state: Any) -> bytes:
        """Return the state of a stream as bytes.

        First comes for each head the time of its first prediction, -inf where it does not matter
        any more; the states of several heads come after their lengths.
        """
        first = self._known
        if isinstance(state, Waiting):
            state, first = state
        times = struct.pack(f"<{self._count}d", *first)
        if isinstance(state, bytes):
            return times + state
        return times + struct.pack(f"<{len(state)}I", *map(len, state)) + b"".join(state)

    def unpack(self, data: bytes) -> tuple[Any, bytes]:
        """Return the state that bytes are, checked."""
        end = 8 * self._count
        first = struct.unpack(f"<{self._count}d", data[:end]) if len(data) >= end else (np.inf,)
        if np.inf in first:
            raise ValueError("the state of its events has no time of the first prediction")
        state = self._unpacked(data[end:])
        self.core.check(state)
        return (state if first == self._known else Waiting(state, first)), b""

    def _unpacked(self, data: bytes) -> Any:
        state: Any = data
        if not isinstance(self._fresh, bytes):
            count = len(self._fresh)
            if len(data) < 4 * count:
                raise ValueError("the state of its events is cut off")
            sizes = struct.unpack_from(f"<{count}I", data)
            ends = list(accumulate(sizes, initial=4 * count))
            if ends[-1] != len(data):
                raise ValueError("the state of its events is damaged")
            state = tuple(data[first:end] for first, end in pairwise(ends))
        return state


def first_predictions(time: Floats, probs: Array, weight: Floats, first: Ints) -> Floats:
    """Return when the rows of each group and head have the first prediction, (G, H); NaN for never.

    The groups begin at the rows `first`; `probs` are (T, H, K), `weight` (T,) or (T, H).
    """
    weights = weight[:, None] if weight.ndim == 1 else weight
    is_prediction = ~np.isnan(probs[..., 0]) & (weights > 0)
    times = np.where(is_prediction, time[:, None], np.inf)
    if len(first):
        times = np.minimum.reduceat(times, first, axis=0)
    return np.where(np.isinf(times), np.nan, times)


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
        self, states: Sequence[Later], rows: GroupedRows, over: Bools, first: Floats
    ) -> tuple[list[Later], GroupedRows, list[Decided]]:
        """Take rows of streams: what is known then, the complete rows, and what is decided.

        The streams that are `over` have no later rows; `first` is as in `RuleStage.run`.
        """
        held: list[Any] = [state.held for state in states]
        rules: list[Any] = [state.rule for state in states]
        decided = [Decided() for _ in states]
        if self.lag is not None:
            held, rows = self.lag.run(held, rows, over)
            rows = rows._replace(probs=self._shown(rows.probs))
        if self.rule is not None:
            rules, decided = self.rule.run(rules, rows, over, first)
        return list(map(Later, held, rules)), rows, decided

    def finish(self, states: Sequence[Later]) -> tuple[GroupedRows, list[Decided]]:
        """End streams: their last rows, smoothed, and their last events."""
        none, times = np.empty(0, np.intp), np.empty(0)
        shape = (0, 1, 1) if self.lag is None else self.lag.shape
        rows = GroupedRows(none, none, times, times, np.empty(shape), times)
        first = np.full((len(states), len(self._heads.names)), np.nan)
        _, rows, decided = self.run(states, rows, np.ones(len(states), bool), first)
        return rows, decided

    def update(
        self, state: Later, time: float, estimate: Array, observation: tuple[Any, Any], dt: float
    ) -> tuple[Later, Decided]:
        """Take one row: what is known then, and what is decided. It equals `run` of one row.

        `seen` are the prediction as the smoother gets it or, without one, the filter; and its
        weight.
        """
        assert self.rule is not None
        held, rule = state
        probs, weight = observation
        if isinstance(rule, Waiting):
            return self._update_waiting(state, time, estimate, self.of_heads(probs), weight, dt)
        if self.lag is None or held is None:
            rule, decided = self.rule.update(rule, time, estimate)
            return Later(None, rule), decided
        held, time, results = self.lag.update(held, time, self.of_heads(probs), weight, dt)
        if results is None:
            return Later(held, rule), Decided()
        rule, decided = self.rule.update(rule, time, self._shown(results)[0])
        return Later(held, rule), decided

    def _update_waiting(
        self, state: Later, time: float, estimate: Array, row: Array, weight: Any, dt: float
    ) -> tuple[Later, Decided]:
        """Take one row of a stream of which a head may have had no prediction."""
        place, weights = np.zeros(1, np.intp), np.asarray(weight, np.float64)[None]
        probs = estimate if self.lag is None else row
        rows = GroupedRows(place, place, np.array([time]), np.array([dt]), probs[None], weights)
        first = first_predictions(rows.time, row[None], weights, place)
        [after], _, [decided] = self.run([state], rows, np.zeros(1, bool), first)
        return after, decided

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
