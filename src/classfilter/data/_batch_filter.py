"""Many streams filtered in turn: one state per stream, and several streams at once."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._support.types import Array, Floats, Ints, Weights
from .._validation import class_order, row_weights
from ..chain._channel import Channels, correct
from ..filters._base import Filter
from ..filters._stream_runner import StreamRows, StreamRunner, pack_state
from ..streams._grouping import group_and_sort
from ._frames import Rows


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
        self._start = pack_state(self._fresh.state, self._fresh.probs.dtype)
        self._number: dict[Any, int] = {}
        self._time = np.empty(0)
        self._states = np.tile(self._start, (0, 1))

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
        last = np.full(len(names), np.nan)
        last[~new] = self._time[numbers[~new]]
        order, grouped_dt = group_and_sort(rows.time, rows.stream.codes, sort, last)
        probs, beta = observations(self._fresh, rows, self._beta, self._channel)
        dt = np.empty(len(order))
        dt[order] = grouped_dt
        dtype = self._fresh.probs.dtype
        counts = np.bincount(rows.stream.codes, minlength=len(names))
        # In the filter's precision now, or each call would convert all rows.
        p, weights, times = (x.astype(dtype, copy=False) for x in (probs, beta, dt))
        states = np.tile(self._start, (len(names), 1))
        states[~new] = self._states[numbers[~new]]
        filtered = np.empty(probs.shape, dtype)
        states = StreamRunner(self._fresh).run(
            states, StreamRows(p, weights, times, order, counts), filtered, self._threads
        )
        numbers[new] = np.arange(len(self), len(self) + new.sum())
        self._number |= {names[i]: int(numbers[i]) for i in np.flatnonzero(new)}
        self._time = np.concatenate([self._time, np.empty(new.sum())])
        self._time[numbers] = rows.time[order[np.cumsum(counts) - 1]]
        self._states = np.concatenate([self._states, states[new]])
        self._states[numbers] = states
        return in_table_order(self._fresh, rows.classes, filtered)

    def keep(self, stream: Any) -> None:
        """Forget all streams but one: where they come one after the other, the last."""
        number = self._number[stream]
        self._number = {stream: 0}
        self._time, self._states = self._time[[number]], self._states[[number]]


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
