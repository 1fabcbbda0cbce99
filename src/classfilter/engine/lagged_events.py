"""Live events at a fixed lag: decided on rows smoothed with some rows after them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..filters import Smoother, StreamRunner, check_lag, check_smoother, pack_state
from ..inputs import Rows
from ..pipeline import Chain
from ..support.types import Array, Floats, Ints
from .lag import Block, HeldRows, lag_smoother
from .live_events import Known, LiveEvents, RowSeen, event_rows
from .rows import Taken

_HEAD = struct.Struct("<QQ")
_NONE: Ints = np.empty(0, np.intp)
Columns = tuple[Array, ...]
"""Events: classes, starts, ends, probabilities, and whether each had to be decided early."""
MAX_OFF = 0.0501
"""How far from 1 the sum of a row may be: what a filter takes, and a little for rounding."""


class RowsForLag(NamedTuple):
    """Rows of several streams, as the smoother gets them; grouped by stream, numbered from 0."""

    stream: Ints
    time: Floats
    probs: Floats
    weight: Floats
    dt: Floats


class StreamState(NamedTuple):
    """What is known of a stream: by the smoother, of each label or once, and by the rule."""

    lanes: list[HeldRows]
    time: Floats
    rule: bytes


class LaggedRule:
    """A rule of the core on smoothed rows, with the methods of the core; states are bytes.

    A state has two whole numbers of 8 bytes: how many rows are held, and 1 where the stream is
    longer than the lag. Then come numbers in double precision: the times of the rows; and of each
    label, or once, the filter's state after the last row and before the first one held, and of each
    row the step, the weight, the observation and the estimate. The state of the rule is the rest.

    Parameters
    ----------
    rule : EventRule of the core, or LabelRules
        For the smoothed rows.
    filter : DirichletFilter, StickyFilter or MultiLabelFilter
        What smooths.
    lag : int
        With how many later rows of its stream each row is smoothed; 1 or more.
    """

    def __init__(self, rule: Any, filter: Smoother, lag: int) -> None:  # noqa: A002
        self._rule, self._filter, self._lag = rule, filter, lag
        self._smoother = lag_smoother(filter, lag)
        self._lanes: Any = getattr(filter, "filters", [filter])
        starts = [pack_state(lane.state, lane.dtype) for lane in self._lanes]
        self._sizes = [
            (len(start), 2 + 2 * len(lane.classes))
            for start, lane in zip(starts, self._lanes, strict=True)
        ]
        self._of_states = 2 * sum(size for size, _ in self._sizes)
        self._of_row = 1 + sum(width for _, width in self._sizes)
        fresh = [
            HeldRows(start, start.astype(np.float64), False, np.empty((0, width)))
            for start, (_, width) in zip(starts, self._sizes, strict=True)
        ]
        self._start = self._packed(StreamState(fresh, np.empty(0), rule.start()))

    def start(self) -> bytes:
        """Return the state of a new stream."""
        return self._start

    def update(
        self, state: bytes, time: float, probs: Floats, weight: Any, dt: float
    ) -> tuple[bytes, Columns]:
        """Take one row of a stream, faster than by `push`."""
        held, times, rule = self._unpacked(state)
        later, smoothed = self._smoother.next_row(held, probs, weight, dt)
        times, done = np.concatenate([times, [time]]), len(smoothed)
        events: Columns = ()
        if done:
            rule, *events = self._rule.run(rule, times[:done], smoothed)
        return self._packed(StreamState(later, times[done:], rule)), tuple(events)

    def push(
        self, states: Sequence[bytes], rows: RowsForLag, over: Ints = _NONE
    ) -> list[tuple[bytes, Columns]]:
        """Take rows of streams: the new state of each, and its events that are final by now.

        The streams of `over` have no more rows, so that all rows of theirs are smoothed.
        """
        parts = [self._unpacked(state) for state in states]
        smoother, count = self._smoother, len(parts)
        for i, lane in enumerate(smoother.lanes):
            lane.restore([part.lanes[i] for part in parts])
        time = np.concatenate([*(part.time for part in parts), rows.time])
        held = np.repeat(np.arange(count), [len(part.time) for part in parts])
        owner = np.concatenate([held, rows.stream])
        new = np.arange(len(held), len(time))
        done, smoothed = smoother.push(Block(rows.stream, new, *rows[2:]), over)
        cuts = np.cumsum(np.bincount(owner[done], minlength=count))[:-1]
        complete = zip(parts, np.split(time[done], cuts), np.split(smoothed, cuts), strict=True)
        decided = [self._rule.run(part.rule, at, P) for part, at, P in complete]
        lanes = [lane.held() for lane in smoother.lanes]
        later = lanes[0][1]
        return [
            (
                self._packed(StreamState([of[i] for of, _ in lanes], time[later[i]], rule)),
                (*events,),
            )
            for i, (rule, *events) in enumerate(decided)
        ]

    def finish(self, state: bytes) -> Columns:
        """End the stream: its last events as columns."""
        shape = (0, len(self._filter.classes))
        none = RowsForLag(_NONE, np.empty(0), np.empty(shape), np.empty(0), np.empty(0))
        [(state, events)] = self.push([state], none, np.zeros(1, np.intp))
        last = self._rule.finish(self._unpacked(state).rule)
        return tuple(np.concatenate(pair) for pair in zip(events, last, strict=True))

    def current(self, state: bytes) -> Any:
        """Return the event, or the events of several labels, that the smoothed rows end with."""
        return self._rule.current(self._unpacked(state).rule)

    def check(self, state: bytes) -> None:
        """Refuse bytes that are no state of this rule."""
        lanes, time, rule = self._unpacked(state)
        valid = (np.diff(time) >= 0).all() and np.isfinite(time).all()
        for lane, (after, before, begun, rows) in zip(self._lanes, lanes, strict=True):
            valid &= (self._lag if begun else 0) <= len(time) <= self._lag + (not begun)
            dt, weight, K = rows[:, 0], rows[:, 1], len(lane.classes)
            valid &= np.isfinite(dt).all() and (dt >= 0).all()
            valid &= ((weight >= 0) & (weight <= 1)).all()
            missing = np.isnan(rows[:, 2 : 2 + K]).all(axis=1)
            valid &= _are_probabilities(rows[~missing, 2 : 2 + K])
            valid &= _are_probabilities(rows[:, 2 + K :])
            if valid:
                for numbers in (after, before):
                    StreamRunner(lane).check_states(numbers.astype(lane.dtype)[None])
        if not valid:
            raise ValueError("the rows held for a lag are no rows")
        self._rule.check(rule)

    def _packed(self, state: StreamState) -> bytes:
        lanes, time, rule = state
        numbers = [
            time,
            *(x.ravel() for after, before, _, rows in lanes for x in (after, before, rows)),
        ]
        head = _HEAD.pack(len(time), lanes[0].begun)
        return b"".join([head, np.concatenate(numbers).astype("<f8", copy=False).tobytes(), rule])

    def _unpacked(self, state: bytes) -> StreamState:
        count, begun = _HEAD.unpack_from(state) if len(state) >= _HEAD.size else (len(state), 0)
        size = self._of_states + count * self._of_row
        end = _HEAD.size + 8 * size
        if end > len(state) or begun > 1:
            raise ValueError("the state of its events is cut off")
        numbers = np.frombuffer(state, "<f8", size, _HEAD.size)
        lanes, at = [], count
        for states, width in self._sizes:
            rows = at + 2 * states
            after, before = numbers[at : at + states], numbers[at + states : rows]
            at = rows + count * width
            held = numbers[rows:at].reshape(count, width)
            lanes.append(HeldRows(after, before, begun == 1, held))
        return StreamState(lanes, numbers[:count], state[end:])


def _are_probabilities(rows: Floats) -> bool:
    """Return whether all rows are probabilities, as near as a filter takes them."""
    return bool((rows >= 0).all() and (abs(rows.sum(axis=1) - 1) <= MAX_OFF).all())


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

    def after(self, before: Sequence[Any], rows: Rows, taken: Taken) -> Array:
        """Return what is known of each stream after many rows; `before` stays as it is."""
        probs, weight = self._smoother.observe_rows(
            rows.factorized_sources, rows.probs, rows.one_hot
        )
        order = np.argsort(rows.stream, kind="stable")
        owner, begins = rows.stream[order], taken.begins[order]
        # A part is the rows of a stream from where it begins, or goes on, to where it begins anew.
        first = (np.diff(owner, prepend=-1) != 0) | begins
        owners, anew = owner[first].tolist(), begins[first].tolist()
        states = [
            self.core.start() if new else before[i][0] for i, new in zip(owners, anew, strict=True)
        ]
        columns = (x[order] for x in (rows.time, probs, weight, taken.dt))
        results = self.core.push(states, RowsForLag(np.cumsum(first) - 1, *columns))
        after = np.full(len(before), None, object)
        for i, new, (state, events) in zip(owners, anew, results, strict=True):
            known = before[i] if after[i] is None else after[i]
            earlier = self.finished(known) if new else known[1]
            after[i] = Known(state, (*earlier, *event_rows(events)))
        return after
