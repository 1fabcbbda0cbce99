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
from ..filters import (
    Smoother,
    StickyFilter,
    StreamRows,
    StreamRunner,
    check_lag,
    check_smoother,
    decays,
    dirichlet_rows,
    in_double,
    in_two_searches,
    likelihoods,
    pack_state,
    sticky_rows,
    untempered,
)
from ..support.arrays import stable_argsort
from ..support.types import Array, Bools, Floats, Ints

ALL = sys.maxsize >> 1
"""The lag of rows that wait for the end of their stream."""
MAX_OFF = 0.0501
"""How far from 1 the sum of a row may be: what a filter takes, and a little for rounding."""
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
        self._heads = [(_Sticky if isinstance(f, StickyFilter) else _Dirichlet)(f) for f in filters]
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
        here = waiting + new
        complete = np.where(over, here, np.maximum(here - self._lag, 0))
        owner = np.concatenate([np.repeat(np.arange(len(states)), waiting), rows.stream])
        order = stable_argsort(owner) if len(held) else slice(None)
        owner = owner[order]
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(here) - here, here)
        done = rank < np.repeat(complete, here)
        number, time, dt = (
            np.concatenate([held[:, i], column])[order]
            for i, column in enumerate((rows.number, rows.time, rows.dt))
        )
        groups = self._groups(tops[:, 0], over, here, complete, owner, done)
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
        cuts = np.cumsum(here - complete)[:-1]
        after = [
            self._start if ends else top.tobytes() + own.tobytes()
            for ends, top, own in zip(over.tolist(), tops, np.split(left, cuts), strict=True)
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
        kept = np.power(self._gammas, np.full(H + 1, dt))
        return self._core.update(state, time, dt, probs, weights, likelihood, kept)

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
        valid = count == int(count) and bool(np.isfinite(rows[:, :COLUMNS]).all())
        valid &= bool((np.diff(time) >= 0).all() and (dt >= 0).all())
        for h, head in enumerate(self._heads):
            own = self._own(h, rows)
            valid = valid and head.is_valid([own[:, place] for place in head.places])
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
        self, total: Floats, over: Bools, here: Ints, complete: Ints, owner: Ints, done: Bools
    ) -> list[_Group]:
        """Return the streams of a row by itself, the longer ones, and those smoothed as a whole."""
        groups, place = [], np.cumsum(done) - 1
        alone, long = over & (total == 1), total > self._lag + 1
        for streams, ahead in ((alone, 0), (long, self._lag), (~alone & ~long, None)):
            chosen = np.flatnonzero(streams & (complete > 0))
            if not chosen.size:
                continue
            rows: Any = slice(None)
            if chosen.size < len(here):
                rows = np.flatnonzero((streams & (complete > 0))[owner])
            targets = np.flatnonzero(done[rows])
            results = place[rows][targets]
            groups.append(
                _Group(ahead, chosen, rows, here[chosen], complete[chosen], targets, results)
            )
        return groups


class _Group(NamedTuple):
    """Streams that are smoothed with as many later rows: `ahead`, None for all of them.

    Attributes
    ----------
    streams, sizes, complete : ndarray of int (N,)
        Their numbers, how many rows of each are there, and how many of these are complete.
    rows : slice or ndarray of int (T,)
        Their rows among all rows.
    targets, results : ndarray of int (M,)
        The complete ones, and the places of their results.
    """

    ahead: int | None
    streams: Ints
    rows: Any
    sizes: Ints
    complete: Ints
    targets: Ints
    results: Ints


class _Sticky:
    """A head with a sticky filter.

    Its state is that of the filter after the last row. Columns: the likelihood of each class, and
    the filter's estimate.
    """

    gamma, search = 1.0, None

    def __init__(self, filter: Any) -> None:  # noqa: A002
        self.filter, self.double = filter, in_double(untempered(filter))
        self.runner = StreamRunner(untempered(filter))
        self.dtype, self.temperature = filter.dtype, filter.temperature
        self.classes = K = len(filter.classes)
        self.places: Any = slice(K), slice(K, 2 * K)
        self.floor, self.prior = self.double.floor, self.double.prior
        self.start = pack_state(filter.state, filter.dtype)

    def columns(
        self, probs: Array, weight: Floats, dt: Floats, states: Floats, counts: Ints
    ) -> list[Array]:
        """Return the columns of new rows; the states of streams become those after them."""
        seen = np.where(np.isnan(probs[:, 0]), 0.0, weight)
        estimates = np.empty(probs.shape, self.dtype)
        if len(probs):
            rows = (np.ascontiguousarray(x, self.dtype) for x in (probs, weight, dt))
            observed = StreamRows(*rows, counts=counts)
            before = np.ascontiguousarray(states, self.dtype)
            states[:] = self.runner.run(before, observed, estimates, threads=1)
        return [likelihoods(probs, seen, self.floor, self.prior), estimates]

    def smooth(self, columns: list[Array], dt: Floats, _states: Floats, group: _Group) -> Array:
        """Return the results of complete rows, without the temperature."""
        likelihood, estimates = columns
        if group.ahead == 0:
            return estimates[group.targets]
        ends = np.repeat(np.cumsum(group.sizes), group.sizes)
        own = estimates[group.targets]
        return sticky_rows(self.double, own, likelihood, dt, group.ahead, ends, group.targets)

    def is_valid(self, columns: list[Array]) -> bool:
        """Return whether columns are what rows may have."""
        likelihood, estimates = columns
        valid = ((likelihood >= 0) & (likelihood <= 1e30)).all() and likelihood.any(axis=1).all()
        return bool(valid) and _are_probabilities(estimates)


class _Dirichlet:
    """A head with a Dirichlet filter.

    Its state is that in double precision before the first row held. Columns: the weight, what the
    step leaves of a state, and the row.
    """

    def __init__(self, filter: Any) -> None:  # noqa: A002
        self.filter, self.double = filter, in_double(untempered(filter))
        self.dtype, self.temperature = filter.dtype, filter.temperature
        self.classes = K = len(filter.classes)
        self.places: Any = 0, 1, slice(2, 2 + K)
        self.floor, self.prior, self.gamma = 1.0, np.ones(K), filter.gamma
        self.start = pack_state(filter.state, filter.dtype)
        self.runner = StreamRunner(untempered(filter))

    def search(
        self, state: Floats, dt: Floats, eta: Floats, nu: Floats, probs: Floats, weight: Floats
    ) -> Floats:
        """Return the result of a row, (K,), that the core does not find."""
        own = state[None], dt, eta, nu[None], probs[None], weight
        result: Floats = in_two_searches(self.double, *own)[0]
        return result

    def columns(
        self, probs: Array, weight: Floats, dt: Floats, _states: Floats, _counts: Ints
    ) -> list[Array]:
        """Return the columns of new rows."""
        rows = (np.ascontiguousarray(x, self.dtype) for x in (probs, weight, dt))
        _core.check_rows(self.classes, *rows)
        seen = np.where(np.isnan(probs[:, 0]), 0.0, weight)
        return [seen, decays(self.gamma, dt), np.asarray(probs, np.float64)]

    def smooth(self, columns: list[Array], dt: Floats, states: Floats, group: _Group) -> Array:
        """Return the results of complete rows; the states become those before the rows left."""
        weight, _, probs = columns
        before = np.ascontiguousarray(states[group.streams])
        if group.ahead == 0:
            estimates = np.empty(probs.shape, self.dtype)
            rows = (np.ascontiguousarray(x, self.dtype) for x in (probs, weight, dt))
            self.runner.run(before.astype(self.dtype), StreamRows(*rows), estimates, threads=1)
            return estimates
        smoothed = dirichlet_rows(
            self.double, before, probs, weight, dt, group.ahead, group.sizes, group.complete
        )
        states[group.streams] = before
        return smoothed

    def is_valid(self, columns: list[Array]) -> bool:
        """Return whether columns are what rows may have."""
        weight, kept, probs = columns
        valid = ((weight >= 0) & (weight <= 1) & (kept >= 0) & (kept <= 1)).all()
        return bool(valid) and _are_probabilities(probs[~np.isnan(probs).all(axis=1)])


def _are_probabilities(rows: Floats) -> bool:
    """Return whether all rows are probabilities, as near as a filter takes them."""
    return bool((rows >= 0).all() and (abs(rows.sum(axis=1) - 1) <= MAX_OFF).all())


def _swapped(numbers: bytes) -> bytes:
    """Return numbers with their bytes in the other order."""
    return np.frombuffer(numbers).byteswap().tobytes()


def checked_lag(lag: int) -> int:
    """Return the lag of live events: one row or more."""
    ahead = check_lag(lag)
    if not ahead:
        remedy = "leave it out, to decide on filtered rows"
        raise ArgumentError("lag", lag, rule="it must be 1 row or more", remedy=remedy)
    return ahead
