"""Many streams smoothed: in a whole table, or with a fixed lag in tables that come in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.types import Array, Ints, Weights
from ..chain._channel import Channels
from ..filters._smoothing import Smoother, smooth_streams
from ..streams._grouping import group_and_sort
from ..streams._lag import Block, LagSmoother
from ._batch_filter import in_table_order, observations
from ._frames import Rows


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
    counts = np.bincount(rows.stream.codes, minlength=len(rows.stream.categories))
    smoothed = np.empty(probs.shape, fresh.dtype)
    smoothed[order] = smooth_streams(fresh, probs[order], weights[order], dt, counts, lag)
    return in_table_order(fresh, rows.classes, smoothed)


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
        self._fresh, self._beta, self._channel = filter, beta, channel
        self._left = dict(counts)
        self._smoother = LagSmoother(filter, lag)
        self._number: dict[Any, int] = {}
        self._free: list[int] = []  # numbers of streams that ended
        self._time = np.empty(0)
        self._going_on: set[Any] = set()
        self._tables: deque[_Table] = deque()
        self._rows = 0

    def __len__(self) -> int:
        """Return for how many streams there is room: as many as there were at once."""
        return len(self._time)

    def push(self, rows: Rows, unfinished: Container[Any] | None = None) -> list[Array]:
        """Take a table; return the results of the tables that are complete now, in order.

        `unfinished` are the streams with rows in later tables, if there are no `counts`.
        """
        names = rows.stream.categories
        streams = self._numbers(names)
        codes = rows.stream.codes
        order, dt = group_and_sort(rows.time, codes, last=self._time[streams])
        probs, weights = observations(self._fresh, rows, self._beta, self._channel)
        self._tables.append(_Table(self._rows, np.empty(probs.shape, self._fresh.dtype)))
        counts = np.bincount(codes, minlength=len(names))
        over = self._ended(dict(zip(names, counts, strict=True)), unfinished)
        ended = [self._number[name] for name in over]
        self._time[streams[codes[order]]] = rows.time[order]  # of each stream, the last one stays
        block = Block(streams[codes[order]], self._rows + order, probs[order], weights[order], dt)
        self._rows += len(rows.time)
        if names or ended:
            self._store(*self._smoother.push(block, np.array(ended, int)))
        for name in over:
            self._free.append(self._number.pop(name))
        self._time[ended] = np.nan
        complete = []
        while self._tables and not self._tables[0].missing:
            P = self._tables.popleft().results
            complete.append(in_table_order(self._fresh, rows.classes, P))
        return complete

    def _numbers(self, names: list[Any]) -> Ints:
        """Return the numbers of streams; a new one takes that of one that ended, if there is any.

        Otherwise each table would cost as much as there were streams before it.
        """
        new = [name for name in names if name not in self._number]
        more = max(len(new) - len(self._free), 0)
        self._free += range(len(self), len(self) + more)
        self._time = np.append(self._time, np.full(more, np.nan))
        self._number |= {name: self._free.pop() for name in new}
        return np.array([self._number[name] for name in names], int)

    def _ended(self, counts: dict[Any, int], unfinished: Container[Any] | None) -> list[Any]:
        """Return the streams without later rows."""
        if unfinished is None:
            for name, count in counts.items():
                self._left[name] -= count
            return [name for name in counts if not self._left[name]]
        self._going_on |= counts.keys()
        ended = [name for name in self._going_on if name not in unfinished]
        self._going_on.difference_update(ended)
        return ended

    def _store(self, numbers: Ints, results: Array) -> None:
        """Put results into the tables of their rows."""
        for table in self._tables:
            i = numbers - table.first
            here = (i >= 0) & (i < len(table.results))
            table.results[i[here]] = results[here]
            table.missing -= int(here.sum())


@dataclass
class _Table:
    """The results of a table, as far as they are known."""

    first: int
    results: Array

    def __post_init__(self) -> None:
        self.missing = len(self.results)
