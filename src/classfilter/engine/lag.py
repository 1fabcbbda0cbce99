"""The stage that smooths at a fixed lag: each row with some later rows of its stream."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentError
from ..filters import (
    Smoother,
    StickyFilter,
    StreamRows,
    StreamRunner,
    check_lag,
    check_smoother,
    dirichlet_rows,
    in_double,
    pack_state,
    sticky_rows,
    untempered,
)
from ..support.arrays import stable_argsort
from ..support.types import Array, Bools, Floats, Ints

ALL = 1 << 62
"""The lag of rows that wait for the end of their stream."""
MAX_OFF = 0.0501
"""How far from 1 the sum of a row may be: what a filter takes, and a little for rounding."""
_COUNTS = struct.Struct("<QQ")


class GroupedRows(NamedTuple):
    """Rows of several streams, those of a stream together and in order of time.

    Attributes
    ----------
    stream : ndarray of int (T,)
        The place of each row's stream among the states; it never decreases.
    number : ndarray of int (T,)
        The number of the row: it comes out with its result.
    time, dt : ndarray (T,)
        The time, and that since the row of the same stream before.
    probs : ndarray (T, H, K)
        The observations, or the estimates.
    weight : ndarray (T,) or (T, H)
        The weights of observations.
    """

    stream: Ints
    number: Ints
    time: Floats
    dt: Floats
    probs: Array
    weight: Floats


class HeldHead(NamedTuple):
    """What a head of a stream needs to go on.

    Attributes
    ----------
    state, before : ndarray (S,)
        The filter's state after the last row, and, in double precision, before the first row held.
    rows : ndarray (N, 2 + 2 K)
        Of each row held the step, the weight, the observation and the filter's estimate.
    """

    state: Array
    before: Floats
    rows: Floats


class HeldRows(NamedTuple):
    """The rows of a stream that wait for later ones.

    Attributes
    ----------
    number, time : ndarray (N,)
        Of the rows held: the last `lag` rows, or one more while the stream is not longer.
    begun : bool
        Whether the stream is longer than the lag.
    heads : tuple of HeldHead
    """

    number: Ints
    time: Floats
    begun: bool
    heads: tuple[HeldHead, ...]


class LagStage:
    """Smooths the rows of many streams: each as ``smooth(..., lag=lag)`` does, to the bit.

    The rows of one call may be any part of the streams, in any number of pieces.

    Parameters
    ----------
    filter : DirichletFilter, StickyFilter or MultiLabelFilter
        Its settings, and the state of each stream before its first row.
    lag : int, optional
        How many later rows each row uses; None for all of them.
    """

    def __init__(self, filter: Smoother, lag: int | None) -> None:  # noqa: A002
        heads: Any = getattr(filter, "filters", (filter,))
        self._heads = [_Head(one, ALL if lag is None else lag) for one in heads]
        self._lag = ALL if lag is None else lag
        self._start = HeldRows(
            np.empty(0, np.intp), np.empty(0), False, tuple(head.start for head in self._heads)
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of no rows, (0, H, K)."""
        return 0, len(self._heads), max(head.classes for head in self._heads)

    def start(self) -> HeldRows:
        """Return the state of a new stream."""
        return self._start

    def run(
        self, states: Sequence[HeldRows], rows: GroupedRows, over: Bools
    ) -> tuple[list[HeldRows], GroupedRows]:
        """Take rows of streams: their states, and the rows that are complete, smoothed.

        The streams that are `over` have no later rows: all of theirs are complete.
        """
        if not len(states):
            return [], rows
        held = np.array([len(state.time) for state in states], np.intp)
        owner = np.concatenate([np.repeat(np.arange(len(states)), held), rows.stream])
        order = stable_argsort(owner) if held.any() else slice(None)
        owner = owner[order]
        number = np.concatenate([*(state.number for state in states), rows.number])[order]
        time = np.concatenate([*(state.time for state in states), rows.time])[order]
        totals = np.bincount(owner, minlength=len(states))
        begun = np.array([state.begun for state in states], bool) | (totals > self._lag + 1)
        complete = np.where(begun, np.maximum(totals - self._lag, 0), 0)
        complete[over] = totals[over]
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(totals) - totals, totals)
        done = rank < np.repeat(complete, totals)
        counts = _Counts(owner, order, totals, complete, begun, done)
        after, smoothed = [], []
        for i, head in enumerate(self._heads):
            weight = rows.weight[:, i] if rows.weight.ndim == 2 else rows.weight
            new = rows.dt, weight, rows.probs[:, i, : head.classes]
            states_after, results = head.run([state.heads[i] for state in states], new, counts)
            after.append(states_after)
            smoothed.append(results)
        cuts = np.cumsum(totals - complete)[:-1]
        waiting = zip(
            np.split(number[~done], cuts), np.split(time[~done], cuts), begun.tolist(),
            zip(*after, strict=True), strict=True,
        )  # fmt: skip
        complete_rows = GroupedRows(
            owner[done], number[done], time[done], np.empty(0), stacked(smoothed), np.empty(0)
        )
        return [HeldRows(*parts) for parts in waiting], complete_rows

    def update(
        self, state: HeldRows, time: float, probs: Array, weight: Any, dt: float
    ) -> tuple[HeldRows, Floats, Array]:
        """Take one row, (H, K), of a stream: its state, and times and results of complete rows.

        It equals `run` of one row, and is faster.
        """
        count = len(state.time) + 1
        begun = state.begun or count > self._lag + 1
        done = max(count - self._lag, 0) if begun else 0
        times = np.append(state.time, time)
        heads, results = [], []
        weights = np.broadcast_to(weight, len(self._heads))
        for head, held, row, w in zip(self._heads, state.heads, probs, weights, strict=True):
            later, smoothed = head.update(held, row[: head.classes], w, dt, done)
            heads.append(later)
            results.append(smoothed)
        number = np.zeros(count - done, np.intp)
        after = HeldRows(number, times[done:], begun, tuple(heads))
        return after, times[:done], stacked(results)

    def pack(self, state: HeldRows) -> bytes:
        """Return the state of a stream as bytes.

        First come two whole numbers of 8 bytes: how many rows are held, and 1 where the stream is
        longer than the lag; then numbers in double precision: the times of the rows, and for each
        head the two states and the rows.
        """
        numbers = [state.time, *(part.ravel() for head in state.heads for part in head)]
        counts = _COUNTS.pack(len(state.time), state.begun)
        return counts + np.concatenate(numbers).astype("<f8", copy=False).tobytes()

    def unpack(self, data: bytes) -> tuple[HeldRows, bytes]:
        """Return the state that bytes begin with, checked, and the bytes after it."""
        count, begun = _COUNTS.unpack_from(data) if len(data) >= _COUNTS.size else (len(data), 0)
        size = count + sum(2 * len(h.start.state) + count * h.width for h in self._heads)
        end = _COUNTS.size + 8 * size
        if end > len(data) or begun > 1:
            raise ValueError("the state of its events is cut off")
        numbers = np.frombuffer(data, "<f8", size, _COUNTS.size)
        time, heads, at = numbers[:count], [], count
        valid = bool((np.diff(time) >= 0).all() and np.isfinite(time).all())
        valid &= (self._lag if begun else 0) <= count <= self._lag + (not begun)
        for head in self._heads:
            states = len(head.start.state)
            rows = numbers[at + 2 * states : at + 2 * states + count * head.width]
            after, before = numbers[at : at + states], numbers[at + states : at + 2 * states]
            own = HeldHead(head.typed(after), before, rows.reshape(count, head.width))
            at += 2 * states + count * head.width
            valid = valid and head.is_valid(own)
            heads.append(own)
        if not valid:
            raise ValueError("the rows held for a lag are no rows")
        number = np.zeros(count, np.intp)
        return HeldRows(number, time, begun == 1, tuple(heads)), data[end:]


def stacked(results: list[Array]) -> Array:
    """Return the results of heads, each (T, K_h), as (T, H, K)."""
    width = max(P.shape[1] for P in results)
    padded = [
        np.pad(P, ((0, 0), (0, width - P.shape[1]))) if P.shape[1] < width else P for P in results
    ]
    return np.stack(padded, 1)


_Columns = tuple[Array, Array, Array]
"""Step, weight and observation of rows, (T,), (T,), (T, K)."""


class _Counts(NamedTuple):
    """The rows held and the new ones together, (T,), grouped by stream (N,)."""

    owner: Ints
    order: Any
    """Of the rows held, one stream after the other, and then the new ones."""
    totals: Ints
    complete: Ints
    begun: Bools
    done: Bools


class _Head:
    """Smooths one head of streams."""

    def __init__(self, filter: Any, lag: int) -> None:  # noqa: A002
        check_smoother(filter)
        self._filter, self._temperature, self._lag = untempered(filter), filter.temperature, lag
        self._double, self._runner = in_double(self._filter), StreamRunner(self._filter)
        state = pack_state(filter.state, filter.dtype)
        self.classes = self._K = len(filter.classes)
        self.width = 2 + 2 * self._K
        self.start = HeldHead(state, state.astype(np.float64), np.empty((0, self.width)))

    def typed(self, numbers: Floats) -> Array:
        """Return numbers in the precision of the filter."""
        return numbers.astype(self._filter.dtype)

    def run(
        self, held: Sequence[HeldHead], new: _Columns, counts: _Counts
    ) -> tuple[list[HeldHead], Array]:
        """Take the new rows: the states after them, and the results of complete rows."""
        K, order, done = self._K, counts.order, counts.done
        states = np.array([one.state for one in held], self._filter.dtype)
        before = np.array([one.before for one in held], np.float64)
        after, forward = self._filtered(states, new, held, counts)
        if len(forward) < len(done):  # some rows were held
            waiting = np.concatenate([one.rows for one in held])
            parts = waiting[:, 0], waiting[:, 1], waiting[:, 2 : 2 + K], waiting[:, 2 + K :]
            joined = zip(parts, (*new, forward), strict=True)
            dt, weight, probs, forward = (np.concatenate(both)[order] for both in joined)
            forward = self.typed(forward)
        else:
            dt, weight, probs = new
        results = self._smoothed(dt, weight, probs, forward, before, counts)
        left = np.column_stack([column[~done] for column in (dt, weight, probs, forward)])
        cuts = np.cumsum(counts.totals - counts.complete)[:-1]
        rows = zip(after, before, np.split(left, cuts), strict=True)
        return [HeldHead(*parts) for parts in rows], self._tempered(results)

    def _filtered(
        self, states: Array, new: _Columns, held: Sequence[HeldHead], counts: _Counts
    ) -> tuple[Array, Array]:
        """Return the states after the new rows, and the filter's estimates of these.

        A Dirichlet filter needs none of them where a stream is smoothed to its end.
        """
        fresh = counts.totals - np.array([len(one.rows) for one in held], np.intp)
        dtype = self._filter.dtype
        dt, weight, probs = (np.ascontiguousarray(column, dtype) for column in new)
        estimates = np.zeros(probs.shape, dtype)
        needed = (counts.totals == 1) | (counts.complete < counts.totals)
        needed = (fresh > 0) & (needed | isinstance(self._filter, StickyFilter))
        some = np.flatnonzero(needed)
        if len(some) < len(needed):
            _core.check_rows(self._K, probs, weight, dt)
        if not some.size:
            return states, estimates
        order = np.flatnonzero(np.repeat(needed, fresh))
        observed = StreamRows(probs, weight, dt, order, fresh[some], some)
        after = states.copy()
        after[some] = self._runner.run(states, observed, estimates, threads=1)
        return after, estimates

    def _smoothed(
        self,
        dt: Floats,
        weight: Floats,
        probs: Floats,
        forward: Array,
        before: Floats,
        counts: _Counts,
    ) -> Array:
        """Return the results of complete rows; a short stream is smoothed as a whole.

        `before` follows: it is the state before the first row that is still held.
        """
        owner, _, totals, complete, begun, done = counts
        results, place = forward[done], np.cumsum(done) - 1
        weight = np.where(np.isnan(probs[:, 0]), 0.0, weight)
        for streams, ahead in ((begun, self._lag), (~begun & (totals > 1), None)):
            chosen = streams & (complete > 0)
            at = np.flatnonzero(chosen[owner])
            if not at.size:
                continue
            columns: _Columns = (probs, weight, dt)
            if at.size < len(probs):
                columns = probs[at], weight[at], dt[at]
            sizes, targets = totals[chosen], np.flatnonzero(done[at])
            if isinstance(self._filter, StickyFilter):
                ends = np.repeat(np.cumsum(sizes), sizes)
                estimates = forward[at[targets]]
                smoothed = sticky_rows(self._double, estimates, *columns, ahead, ends, targets)
            else:
                states = before[chosen]
                smoothed = dirichlet_rows(
                    self._double, states, *columns, ahead, sizes, complete[chosen]
                )
                before[chosen] = states
            results[place[at[targets]]] = smoothed
        return results

    def update(
        self, held: HeldHead, probs: Array, weight: float, dt: float, done: int
    ) -> tuple[HeldHead, Array]:
        """Take one row, (K,): what is held then, and the results of the first `done` rows."""
        K, before, dtype = self._K, held.before, self._filter.dtype
        rows = np.empty((len(held.rows) + 1, self.width))
        rows[:-1], rows[-1, 0], rows[-1, 1], rows[-1, 2 : 2 + K] = held.rows, dt, weight, probs
        row = rows[-1:, : 2 + K].astype(dtype)
        observed = StreamRows(row[:, 2:], row[:, 1], row[:, 0])
        estimate = np.empty((1, K), dtype)
        [after] = self._runner.run(held.state[None], observed, estimate, threads=1)
        rows[-1:, 2 + K :] = estimate
        results = rows[:done, 2 + K :]
        if done:
            s, steps = rows[:, 2 : 2 + K], rows[:, 0]
            weights = np.where(np.isnan(s[:, 0]), 0.0, rows[:, 1])
            if isinstance(self._filter, StickyFilter):
                results = sticky_rows(self._double, results, s, weights, steps, self._lag)
            else:
                states, sizes = before[None].copy(), (np.array([len(rows)]), np.array([done]))
                results = dirichlet_rows(self._double, states, s, weights, steps, self._lag, *sizes)
                [before] = states
        return HeldHead(after, before, rows[done:]), self._tempered(results)

    def _tempered(self, results: Array) -> Array:
        results = results.astype(self._filter.dtype, copy=False)
        return results if self._temperature == 1 else _core.temper(results, self._temperature)

    def is_valid(self, held: HeldHead) -> bool:
        """Return whether numbers are states of the filter and rows that it takes."""
        rows, K = held.rows, self._K
        dt, weight, missing = rows[:, 0], rows[:, 1], np.isnan(rows[:, 2 : 2 + K]).all(axis=1)
        valid = np.isfinite(dt).all() and (dt >= 0).all()
        valid &= ((weight >= 0) & (weight <= 1)).all()
        valid &= _are_probabilities(rows[~missing, 2 : 2 + K])
        valid &= _are_probabilities(rows[:, 2 + K :])
        if valid:
            for numbers in (held.state, held.before):
                self._runner.check_states(numbers.astype(self._filter.dtype)[None])
        return bool(valid)


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
