"""The stage that smooths at a fixed lag: each row with some later rows of its stream.

Its state of a stream is one block of numbers in double precision, as bytes. First comes how many
rows the stream has; then K + 1 numbers for each head; and then the rows that wait for later ones,
the last `lag` of them. A row begins with its number, its time and its step; each head adds 2 K
numbers. What these are, a head's class says. One row by itself is taken in C, `_ext/lag.c`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentError
from ..filters import SmoothedGroup, Smoother, check_lag, check_smoother, likelihoods, smoothed_rows
from ..support.arrays import stable_argsort
from ..support.types import Array, Bools, Floats, Ints

ALL = sys.maxsize >> 1
"""The lag of rows that wait for the end of their stream."""
COLUMNS = 3
"""What a row begins with: number, time, step."""


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


class LagStage:
    """Smooths the rows of many streams: each as ``smooth(..., lag=lag)`` does, bit-identical.

    The rows of one call may be any part of the streams, in any number of pieces.

    Parameters
    ----------
    filter : DirichletFilter, StickyFilter or MultiLabelFilter
        Its settings, and the state of each stream before its first row.
    lag : int, optional
        How many later rows each row uses, at least one; None for all of them.
    """

    def __init__(self, filter: Smoother, lag: int | None) -> None:  # noqa: A002
        filters: Any = getattr(check_smoother(filter), "filters", (filter,))
        self._lag = ALL if lag is None else min(lag, ALL)
        self._heads = [smoothed_rows(f) for f in filters]
        self._dtype = self._heads[0].dtype
        H, K = len(self._heads), max(head.classes for head in self._heads)
        self.shape = 0, H, K
        self._first, self._size = 1 + H * (K + 1), COLUMNS + 2 * K * H
        start, self._priors = np.zeros(self._first), np.ones((H, K))
        for h, head in enumerate(self._heads):
            self._state_of(h, start)[:] = head.start
            self._priors[h, : head.classes] = head.prior
        self._start = start.tobytes()
        self._floors = np.array([[head.floor] for head in self._heads])
        # One more than there are heads: one number by itself NumPy might raise in another way.
        self._gammas = np.array([*(head.gamma for head in self._heads), 1.0])
        cores = tuple((head.filter, head.double, head.search) for head in self._heads)
        self._core = _core.Lag(cores, self._lag)

    def start(self) -> bytes:
        """Return the state of a new stream."""
        return self._start

    def run(
        self, states: Sequence[bytes], rows: GroupedRows, over: Bools
    ) -> tuple[list[bytes], GroupedRows]:
        """Take rows of streams: their states, and the rows that are complete, smoothed.

        The streams that are `over` have no later rows: all of theirs are complete.
        """
        if not len(states):
            return [], rows
        tops, held = self._parts(states)
        waiting = np.minimum(tops[:, 0], self._lag).astype(np.intp)
        new = np.bincount(rows.stream, minlength=len(states))
        tops[:, 0] += new
        sizes = waiting + new
        complete = np.where(over, sizes, np.maximum(sizes - self._lag, 0))
        owner = np.concatenate([np.repeat(np.arange(len(states)), waiting), rows.stream])
        order = stable_argsort(owner) if len(held) else slice(None)
        owner = owner[order]
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        done = rank < np.repeat(complete, sizes)
        number, time, dt = (
            np.concatenate([held[:, i], column])[order]
            for i, column in enumerate((rows.number, rows.time, rows.dt))
        )
        groups = self._groups(tops[:, 0], over, sizes, complete, owner, done)
        left = np.zeros((len(owner) - np.count_nonzero(done), self._size))
        left[:, 0], left[:, 1], left[:, 2] = number[~done], time[~done], dt[~done]
        smoothed = np.zeros((np.count_nonzero(done), *self.shape[1:]), self._dtype)
        for h, head in enumerate(self._heads):
            state, results = self._state_of(h, tops), smoothed[:, h, : head.classes]
            weight = rows.weight[:, h] if rows.weight.ndim == 2 else rows.weight
            columns = head.columns(rows.probs[:, h, : head.classes], weight, rows.dt, state, new)
            for i, place in enumerate(head.places):
                if len(held):
                    columns[i] = np.concatenate([self._own(h, held)[:, place], columns[i]])[order]
                self._own(h, left)[:, place] = columns[i][~done]
            for group in groups:
                of_group = [column[group.rows] for column in columns]
                results[group.results] = head.smooth(of_group, dt[group.rows], state, group)
            if head.temperature != 1:
                results[:] = _core.temper(np.ascontiguousarray(results), head.temperature)
        cuts = np.cumsum(sizes - complete)[:-1]
        after = [
            self._start if ends else top.tobytes() + held_rows.tobytes()
            for ends, top, held_rows in zip(over.tolist(), tops, np.split(left, cuts), strict=True)
        ]
        number = number[done].astype(np.intp)
        none = np.empty(0)
        return after, GroupedRows(owner[done], number, time[done], none, smoothed, none)

    def update(
        self, state: bytes, time: float, probs: Floats, weight: Any, dt: float
    ) -> tuple[bytes, float, Array | None]:
        """Take one row, (H, K), of a stream: its state, and the row complete now, or None.

        Of that row it returns the time and the result, (1, H, K). It equals `run` of one row, and
        is faster.
        """
        H = len(self._heads)
        probs, weights = np.ascontiguousarray(probs, np.float64), np.empty(H)
        weights[:] = weight
        likelihood = likelihoods(probs, weights, self._floors, self._priors)
        decayed = np.power(self._gammas, np.full(H + 1, dt))
        return self._core.update(state, time, dt, probs, weights, likelihood, decayed)

    def pack(self, state: bytes) -> bytes:
        """Return the state of a stream as bytes: its numbers, little-endian."""
        return state if sys.byteorder == "little" else _swapped(state)

    def unpack(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the state that bytes begin with, checked, and the bytes after it."""
        count = float(np.frombuffer(data, "<f8", 1)[0]) if len(data) >= 8 else -1.0
        held = int(min(count, self._lag)) if count >= 0 else 0
        end = 8 * (self._first + held * self._size)
        if not count >= 0 or end > len(data):
            raise ValueError("the state of its events is cut off")
        state = data[:end] if sys.byteorder == "little" else _swapped(data[:end])
        [top], rows = self._parts([state])
        time, dt = rows[:, 1], rows[:, 2]
        valid = count.is_integer() and bool(np.isfinite(rows[:, :COLUMNS]).all())
        valid &= bool((np.diff(time) >= 0).all() and (dt >= 0).all())
        for h, head in enumerate(self._heads):
            columns = self._own(h, rows)
            valid = valid and head.is_valid([columns[:, place] for place in head.places])
        if not valid:
            raise ValueError("the rows held for a lag are no rows")
        for h, head in enumerate(self._heads):
            head.runner.check_states(self._state_of(h, top).astype(self._dtype)[None])
        return state, data[end:]

    def _parts(self, states: Sequence[bytes]) -> tuple[Floats, Floats]:
        """Return what comes before the rows of each stream, (N, S), and the rows of all."""
        numbers = np.frombuffer(b"".join(states))
        sizes = np.array([len(state) // 8 for state in states])
        top = (np.cumsum(sizes) - sizes)[:, None] + np.arange(self._first)
        if len(numbers) == top.size:
            return numbers[top], np.empty((0, self._size))
        of_rows = np.ones(len(numbers), bool)
        of_rows[top] = False
        return numbers[top], numbers[of_rows].reshape(-1, self._size)

    def _state_of(self, h: int, tops: Floats) -> Floats:
        """Return the numbers of the state of a head: a view."""
        first = 1 + h * (self.shape[2] + 1)
        return tops[..., first : first + len(self._heads[h].start)]

    def _own(self, h: int, rows: Floats) -> Floats:
        """Return the columns of a head: a view."""
        first = COLUMNS + 2 * h * self.shape[2]
        return rows[:, first : first + 2 * self.shape[2]]

    def _groups(
        self, total: Floats, over: Bools, sizes: Ints, complete: Ints, owner: Ints, done: Bools
    ) -> list[SmoothedGroup]:
        """Return the streams of a row by itself, the longer ones, and those smoothed as a whole."""
        groups, place = [], np.cumsum(done) - 1
        alone, long = over & (total == 1), total > self._lag + 1
        for streams, ahead in ((alone, 0), (long, self._lag), (~alone & ~long, None)):
            chosen = np.flatnonzero(streams & (complete > 0))
            if not chosen.size:
                continue
            rows: Any = slice(None)
            if chosen.size < len(sizes):
                rows = np.flatnonzero((streams & (complete > 0))[owner])
            targets = np.flatnonzero(done[rows])
            results = place[rows][targets]
            groups.append(
                SmoothedGroup(
                    ahead, chosen, rows, sizes[chosen], complete[chosen], targets, results
                )
            )
        return groups


def _swapped(numbers: bytes) -> bytes:
    """Return numbers with their bytes in the other order."""
    return np.frombuffer(numbers).byteswap().tobytes()


def checked_lag(lag: int) -> int:
    """Return the lag of live events: one row or more."""
    ahead = check_lag(lag)
    if not ahead:
        fix = "leave it out, to decide on filtered rows"
        raise ArgumentError("lag", lag, must="it must be 1 row or more", fix=fix)
    return ahead
