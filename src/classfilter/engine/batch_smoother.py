"""Many streams smoothed: in a whole table, or with a fixed lag in tables that come in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..filters import check_smoother, pack_state, smooth_streams
from ..inputs import Rows, order_of
from ..pipeline import Chain
from ..support.types import Array, Ints
from .lag import Block, lag_smoother
from .streams import StreamTable


def smooth_rows(chain: Chain, rows: Rows, *, lag: int | None = None) -> Array:
    """Smooth every stream of a table separately, (T, K), in the filter's order of classes."""
    fresh = check_smoother(chain.filter())
    order, dt = order_of(rows)
    probs, weights = chain.observe_rows(
        rows.factorized_sources, rows.probs, rows.one_hot, rows.classes
    )
    counts = np.bincount(rows.stream, minlength=len(rows.streams))
    smoothed = np.empty(probs.shape[:2], fresh.dtype)
    smoothed[order] = smooth_streams(fresh, probs[order], weights[order], dt, counts, lag)
    return smoothed


class BatchSmoother:
    """Fixed-lag smoothing; each table continues the streams of the tables before it.

    Parameters
    ----------
    chain : Chain
        Of a filter that smooths.
    lag : int
        How many later rows of its stream each result uses; 1 or more.
    counts : mapping of stream to int
        The number of rows of each stream in all tables: after the last one, nothing is waited for.
    """

    def __init__(self, chain: Chain, lag: int, counts: Mapping[Any, int]) -> None:
        self._chain = chain
        fresh = check_smoother(chain.filter())
        self._left, self._dtype = dict(counts), fresh.dtype
        self._table = StreamTable(pack_state(fresh.state, fresh.dtype))
        self._smoother = lag_smoother(fresh, lag)
        self._going_on: set[Any] = set()
        self._tables: deque[_Results] = deque()
        self._rows = 0

    def __len__(self) -> int:
        """Return the number of streams that are not over."""
        return len(self._table)

    def push(self, rows: Rows, unfinished: Container[Any] | None = None) -> list[Array]:
        """Take a table; return the results of the tables that are complete now, in order.

        `unfinished` are the streams with rows in later tables, if there are no `counts`.
        """
        names, codes, table = rows.streams, rows.stream, self._table
        new = [name for name in names if name not in table.slots]
        table.slots.update(zip(new, table.reserve(len(new)), strict=True))
        slots = np.array([table.slots[name] for name in names], np.intp)
        times = table.columns.times
        order, dt = order_of(rows, times[slots])
        probs, weights = self._chain.observe_rows(
            rows.factorized_sources, rows.probs, rows.one_hot, rows.classes
        )
        self._tables.append(_Results(self._rows, np.empty(probs.shape[:2], self._dtype)))
        counts = np.bincount(codes, minlength=len(names))
        over = self._ended(dict(zip(names, counts, strict=True)), unfinished)
        ended = np.array([table.slots[name] for name in over], np.intp)
        times[slots[codes[order]]] = rows.time[order]  # of each stream, the last one stays
        block = Block(slots[codes[order]], self._rows + order, probs[order], weights[order], dt)
        self._rows += len(rows.time)
        if names or over:
            self._store(*self._smoother.push(block, ended))
        for name in over:
            table.forget(name)
        complete = []
        while self._tables and not self._tables[0].missing:
            complete.append(self._tables.popleft().results)
        return complete

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
class _Results:
    """The results of a table, as far as they are known."""

    first: int
    results: Array

    def __post_init__(self) -> None:
        self.missing = len(self.results)
