"""Many streams filtered in turn: one state per stream, and several streams at once."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._channel import Channels, correct
from .._typing import Array, Floats, Ints, Weights
from .._validation import class_order, row_weights
from ..filters._base import Filter
from ..filters._dirichlet import DirichletFilter
from ._frames import Rows
from ._timestamps import group_and_sort, stable_argsort

MIN_STREAMS_AT_ONCE = 64
"""With fewer streams, each by itself costs less than the calls for one row of each."""


class BatchFilter:
    """One state per stream; each table continues the streams of the tables before it.

    Parameters
    ----------
    filter : Filter
        Its settings are used, not its state.
    beta : mapping of str to float, or float
        The weight of each source, or one for all.
    channel : mapping of str to Channel or None, optional
        Corrects the outputs of a source before they are filtered; in the filter's order of classes.
    threads : int, optional
        The number of threads; by default that of processors.

    Examples
    --------
    >>> import polars as pl
    >>> from classfilter import DirichletFilter
    >>> from classfilter.data._frames import read_rows
    >>> streams = BatchFilter(DirichletFilter(["rest", "move"]))
    >>> for time in (0, 5):
    ...     df = pl.DataFrame({"time": [time], "p_rest": [0.9], "p_move": [0.1]})
    ...     P = streams.run(read_rows(df))
    >>> len(streams)
    1
    """

    def __init__(
        self,
        filter: Filter,  # noqa: A002
        beta: Weights = 1.0,
        channel: Channels | None = None,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        self._threads = threads or os.cpu_count() or 1
        self._fresh = filter.copy()
        self._fresh.reset()
        self._beta, self._channel = beta, channel
        self._many = self._fresh if type(self._fresh) is DirichletFilter else None
        """The filter, if the core can update many streams at once with its settings."""
        self._number: dict[Any, int] = {}
        self._time = np.empty(0)
        self._states = self._initial_states(0)

    def __len__(self) -> int:
        """Return the number of streams so far."""
        return len(self._number)

    def run(self, rows: Rows, *, sort: bool = False) -> Array:
        """Filter the rows of a table, (T, K), in its order; at an error nothing changes.

        With `sort`, the rows of a stream come in any order of time within the table.
        """
        names = rows.stream.categories
        numbers = np.array([self._number.get(name, -1) for name in names], np.intp)
        new = numbers < 0
        last, states = np.full(len(names), np.nan), self._initial_states(len(names))
        last[~new], states[~new] = self._time[numbers[~new]], self._states[numbers[~new]]
        order, dt = group_and_sort(rows.time, rows.stream.codes, sort, last)
        probs, beta = observations(self._fresh, rows, self._beta, self._channel)
        ends = np.cumsum(np.bincount(rows.stream.codes, minlength=len(names)))
        starts = np.append(0, ends)
        filtered = np.empty(probs.shape, self._fresh.probs.dtype)

        def work(share: slice) -> None:
            """Filter some streams, whose rows are successive in `order`."""
            span = slice(starts[share.start], starts[share.stop])
            grouped = Grouped(order[span], np.diff(starts[share.start : share.stop + 1]), dt[span])
            rounds = self._rounds(grouped.counts)
            if rounds:
                self._run_at_once(rounds, grouped, states[share], probs, beta, filtered)
            self._run_each(rounds, grouped, states[share], probs, beta, filtered)

        shares = self._shares(ends)
        if len(shares) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(shares)) as pool:
                list(pool.map(work, shares))
        else:
            for share in shares:
                work(share)
        if new.any():
            numbers[new] = np.arange(len(self), len(self) + new.sum())
            self._number |= {names[i]: int(numbers[i]) for i in np.flatnonzero(new)}
            self._time = np.concatenate([self._time, last[new]])
            self._states = np.concatenate([self._states, states[new]])
        self._time[numbers] = rows.time[order[ends - 1]]
        self._states[numbers] = states
        return in_table_order(self._fresh, rows.classes, filtered)

    def _initial_states(self, streams: int) -> Array:
        """Return new states: rows of eta and alpha, as in a bank, or None for each stream."""
        if self._many is None:
            return np.full(streams, None, object)
        start = np.array([self._many.eta, *self._many.alpha], self._many.dtype)
        return np.tile(start, (streams, 1))

    def _shares(self, ends: Ints) -> list[slice]:
        """Return the streams of each thread, with about equally many rows."""
        if not ends.size:
            return []
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, self._threads) / self._threads)
        cuts = np.unique([0, *(cuts + 1), ends.size])
        return [slice(int(i), int(j)) for i, j in pairwise(cuts)]

    def _rounds(self, counts: Ints) -> int:
        """Return for how many rows each there are enough streams to update at once."""
        if self._many is None or counts.size < MIN_STREAMS_AT_ONCE:
            return 0
        return int(np.partition(counts, -MIN_STREAMS_AT_ONCE)[-MIN_STREAMS_AT_ONCE])

    def _run_at_once(
        self, rounds: int, grouped: Grouped, states: Array, probs: Floats, beta: Floats, out: Array
    ) -> None:
        """Update all streams with their first rows, then with their second, and so on."""
        assert self._many is not None
        counts = grouped.counts
        stream = np.repeat(np.arange(counts.size, dtype=np.uintp), counts)
        rank = np.arange(stream.size) - np.repeat(np.cumsum(counts) - counts, counts)
        order = stable_argsort(rank)
        ends = np.cumsum(np.bincount(rank, minlength=rounds)[:rounds])
        order = order[: ends[-1]]
        rows, which = grouped.rows[order], stream[order]
        # In the filter's precision now, or each call would convert all rows.
        columns = (probs[rows], beta[rows], grouped.dt[order])
        observed, weights, dt = (column.astype(out.dtype, copy=False) for column in columns)
        filtered = np.empty_like(observed)
        for start, stop in pairwise([0, *ends.tolist()]):
            self._many._update_many(states, which, observed, weights, dt, filtered, start, stop)
        out[rows] = filtered

    def _run_each(
        self, done: int, grouped: Grouped, states: Array, probs: Floats, beta: Floats, out: Array
    ) -> None:
        """Run the filter over each stream's rows from row `done` on."""
        f = self._fresh.copy()
        ends = np.cumsum(grouped.counts)
        for i in np.flatnonzero(grouped.counts > done):
            span = slice(ends[i] - grouped.counts[i] + done, ends[i])
            rows = grouped.rows[span]
            if self._many is not None:
                f.state = states[i, 0], states[i, 1:]
            elif states[i] is None:
                f.reset()
            else:
                f.state = states[i]
            out[rows] = f.run(probs[rows], beta=beta[rows], dt=grouped.dt[span])
            if self._many is not None:
                states[i, 0], states[i, 1:] = f.state
            else:
                states[i] = f.state


def observations(
    filter: Filter,  # noqa: A002
    rows: Rows,
    beta: Weights,
    channel: Channels | None,
) -> tuple[Floats, Floats]:
    """Return the corrected rows (T, K), in the filter's order of classes, and their weights."""
    columns = class_order(filter, rows.classes)
    probs = rows.probs if _identity(columns) else rows.probs[:, columns]
    probs = correct(probs, rows.source, channel, filter.probs.dtype)
    return probs, row_weights(rows.source, beta)


def in_table_order(filter: Filter, classes: tuple[str, ...], P: Array) -> Array:  # noqa: A002
    """Return results (T, K) of a filter in the table's order of classes."""
    columns = class_order(filter, classes)
    return P if _identity(columns) else P[:, np.argsort(columns)]


def _identity(columns: Ints) -> bool:
    return bool(np.all(columns == np.arange(columns.size)))


class Grouped(NamedTuple):
    """Rows of some streams, those of a stream one after the other.

    Attributes
    ----------
    rows : ndarray of int (T,)
        The row of the table.
    counts : ndarray of int (N,)
        The number of rows of each stream.
    dt : ndarray (T,)
        The time since the stream's row before.
    """

    rows: Ints
    counts: Ints
    dt: Floats
