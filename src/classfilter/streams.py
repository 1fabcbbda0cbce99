"""Many named streams through one kind of filter, table after table."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .columns import Channels, Floats, Ints, Weights, class_order, in_order, put_right, row_weights
from .filters import Filter
from .tables import Rows, begins


class Streams:
    """One state a stream; each stream goes on where the table before left it.

    Parameters
    ----------
    filter : Filter
        Its settings are used, not its state.
    beta : mapping of str to float, or float
        The weight of each source, or one for all.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; in the filter's order of classes.
    threads : int, optional
        How many threads share the streams; as many as there are processors unless given.

    Examples
    --------
    >>> import polars as pl
    >>> from classfilter import DirichletFilter
    >>> from classfilter.tables import read_rows
    >>> streams = Streams(DirichletFilter(["rest", "move"]))
    >>> for time in (0, 5):
    ...     df = pl.DataFrame({"time": [time], "p_rest": [0.9], "p_move": [0.1]})
    ...     P = streams.run(read_rows(df))
    >>> streams.time
    {None: 5.0}
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
        self._states: dict[Any, Any] = {}
        self.time: dict[Any, float] = {}
        """The last time of each stream."""

    def run(self, rows: Rows, *, sort: bool = False) -> Floats:
        """Filter the rows of a table, (T, K), in its order; at an error nothing changes.

        With `sort`, the rows of a stream come in any order of time within the table.
        """
        to = class_order(self._fresh, rows.classes)
        names = rows.stream.cells
        last = np.array([self.time.get(name, np.nan) for name in names], np.float64)
        order, dt = in_order(rows.time, rows.stream.codes, sort, last)
        beta = row_weights(rows.source, self._beta)[order]
        s = put_right(rows.probs[:, to], rows.source, self._channel, self._fresh.probs.dtype)[order]
        filtered = np.empty(s.shape, self._fresh.probs.dtype)
        which = rows.stream.codes[order]
        ends = np.append(begins(which), order.size)[: len(names)]
        starts = np.append(0, ends[:-1])[: len(names)]
        states: dict[Any, Any] = {}

        def work(part: Ints) -> None:
            f = self._fresh.copy()
            for i in part:
                name, span = names[which[starts[i]]], slice(starts[i], ends[i])
                f.reset()
                if name in self._states:
                    f.state = self._states[name]
                filtered[span] = f.run(s[span], beta=beta[span], dt=dt[span])
                states[name] = f.state

        parts = [p for p in self._shares(ends) if p.size]
        if len(parts) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(work, parts))
        else:
            for part in parts:
                work(part)
        self._states |= states
        self.time |= {names[which[i - 1]]: float(rows.time[order[i - 1]]) for i in ends}
        P = np.empty_like(filtered)
        P[order] = filtered[:, np.argsort(to)]
        return P

    def _shares(self, ends: Ints) -> list[Ints]:
        """Return the streams of each thread, about as many rows for one as for another."""
        if not ends.size:
            return []
        share = (ends - 1) * self._threads // ends[-1]
        return [np.flatnonzero(share == i) for i in range(self._threads)]
