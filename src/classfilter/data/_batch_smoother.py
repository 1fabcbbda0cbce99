"""Many streams smoothed: in a whole table, or with a fixed lag in tables that come in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._channel import Channels
from .._typing import Array, Ints, Weights
from ..filters._lag_smoother import LagSmoother
from ..filters._smoothing import Smoother, smooth
from ._batch_filter import in_table_order, observations
from ._frames import Rows
from ._timestamps import group_and_sort


def smooth_rows(
    fresh: Smoother,
    rows: Rows,
    beta: Weights,
    channel: Channels,
    *,
    lag: int | None = None,
    sort: bool = False,
) -> Array:
    """Smooth every stream of a table separately, (T, K), in the table's order."""
    order, dt = group_and_sort(rows.time, rows.stream.codes, sort)
    probs, weights = observations(fresh, rows, beta, channel)
    smoothed = np.empty(probs.shape, fresh.dtype)
    for span in _spans(rows):
        i = order[span]
        smoothed[i] = smooth(fresh, probs[i], weights[i], dt[span], lag=lag)
    return in_table_order(fresh, rows.classes, smoothed)


def _spans(rows: Rows) -> list[slice]:
    """Return where each stream is, with the rows grouped by stream."""
    counts = np.bincount(rows.stream.codes, minlength=len(rows.stream.categories))
    return [slice(end - n, end) for n, end in zip(counts, np.cumsum(counts), strict=True)]


class BatchSmoother:
    """Fixed-lag smoothing; each table continues the streams of the tables before it.

    Parameters
    ----------
    filter : DirichletFilter or StickyFilter
        Fresh.
    beta, channel
        As in `filter_table`.
    lag : int
        How many later rows of its stream each result uses; 1 or more.
    counts : mapping of stream to int
        The number of rows of each stream in all tables: after the last one, nothing is waited for.
    """

    def __init__(
        self,
        filter: Smoother,  # noqa: A002
        beta: Weights,
        channel: Channels,
        lag: int,
        counts: Mapping[Any, int],
    ) -> None:
        self._fresh, self._beta, self._channel, self._lag = filter, beta, channel, lag
        self._left = dict(counts)
        self._streams: dict[Any, _Stream] = {}
        self._tables: deque[_Table] = deque()
        self._rows = 0

    def push(self, rows: Rows, unfinished: Container[Any] | None = None) -> list[Array]:
        """Take a table; return the results of the tables that are complete now, in order.

        `unfinished` are the streams with rows in later tables, if there are no `counts`.
        """
        names = rows.stream.categories
        new = _Stream(LagSmoother(self._fresh, self._lag))
        last = np.array([self._streams.get(name, new).time for name in names], np.float64)
        order, dt = group_and_sort(rows.time, rows.stream.codes, last=last)
        probs, weights = observations(self._fresh, rows, self._beta, self._channel)
        self._tables.append(_Table(self._rows, np.empty(probs.shape, self._fresh.dtype)))
        numbers: list[Ints] = []
        results: list[Array] = []
        for name, span in zip(names, _spans(rows), strict=True):
            if name not in self._streams:
                self._streams[name] = _Stream(LagSmoother(self._fresh, self._lag))
            stream, i = self._streams[name], order[span]
            stream.held = np.concatenate([stream.held, self._rows + i])
            stream.time = float(rows.time[i[-1]])
            results.append(stream.smoother.push(probs[i], weights[i], dt[span]))
            numbers.append(stream.release(len(results[-1])))
            if unfinished is None:
                self._left[name] -= i.size
        self._rows += len(rows.time)
        if unfinished is None:
            ended = [name for name in names if not self._left[name]]
        else:
            ended = [name for name in self._streams if name not in unfinished]
        for name in ended:
            stream = self._streams.pop(name)
            results.append(stream.smoother.flush())
            numbers.append(stream.held)
        if results:
            self._store(np.concatenate(numbers), np.concatenate(results))
        complete = []
        while self._tables and not self._tables[0].missing:
            P = self._tables.popleft().results
            complete.append(in_table_order(self._fresh, rows.classes, P))
        return complete

    def _store(self, numbers: Ints, results: Array) -> None:
        """Put results into the tables of their rows."""
        for table in self._tables:
            i = numbers - table.first
            here = (i >= 0) & (i < len(table.results))
            table.results[i[here]] = results[here]
            table.missing -= int(here.sum())


@dataclass
class _Stream:
    """A stream whose last rows are not complete."""

    smoother: LagSmoother
    held: Ints = field(default_factory=lambda: np.empty(0, np.intp))
    """The numbers of these rows, in all tables."""
    time: float = np.nan

    def release(self, count: int) -> Ints:
        """Return the numbers of the first rows, and hold them no longer."""
        released, self.held = self.held[:count], self.held[count:]
        return released


@dataclass
class _Table:
    """The results of a table, as far as they are known."""

    first: int
    results: Array

    def __post_init__(self) -> None:
        self.missing = len(self.results)
