"""The rows of many streams: several streams at once where there are enough, each by itself else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._support.types import Array, Ints

MIN_ROWS_PER_THREAD = 2048
"""With fewer rows, starting a thread costs more than it saves."""
MIN_STREAMS_AT_ONCE = 64
"""With fewer streams, each by itself costs less than the calls for one row of each."""
ROWS_AT_ONCE = 16_384
"""So few that their numbers stay in a processor's cache, and their memory with the process."""


def thread_count(threads: int | None, rows: int) -> int:
    """Return how many threads share some rows; `threads` at most, by default the processors."""
    most = rows // MIN_ROWS_PER_THREAD
    return 1 if most < 2 else min(threads or os.cpu_count() or 1, most)  # asking takes microseconds


class StreamRows(NamedTuple):
    """Rows of many streams, in the filter's precision.

    Attributes
    ----------
    probs : ndarray (T, K)
        The observations.
    beta, dt : ndarray (T,)
        Their weights, and the time since the row of the same stream before.
    order : ndarray (T,)
        The rows grouped by stream, those of a stream in their order.
    counts : ndarray (N,)
        How many rows each stream has.
    """

    probs: Array
    beta: Array
    dt: Array
    order: Ints
    counts: Ints

    def part(self, streams: slice) -> StreamRows:
        """Return the rows of some successive streams."""
        starts = np.append(0, np.cumsum(self.counts))
        span = slice(starts[streams.start], starts[streams.stop])
        return self._replace(order=self.order[span], counts=self.counts[streams])


class StreamRunner:
    """Runs a filter over the rows of many streams, whose states are rows of numbers.

    Parameters
    ----------
    filter : Filter
        Its settings are used; its state changes unless the core can update many streams.
    """

    def __init__(self, filter: Any) -> None:  # noqa: A002
        self._filter = filter
        self._compiled = hasattr(filter, "_update_many")

    def run(self, states: Array, rows: StreamRows, out: Array, threads: int | None) -> None:
        """Filter all rows; the results (T, K) go to `out`, and `states` (N, S) follow."""
        shares = self._shares(rows.counts, threads if self._compiled else 1)

        def work(share: slice) -> None:
            part, part_states = rows.part(share), states[share]
            rounds = self._rounds(part.counts)
            if rounds:
                self._run_at_once(rounds, part, part_states, out)
            self._run_each(rounds, part, part_states, out)

        if len(shares) > 1:
            from concurrent.futures import ThreadPoolExecutor  # 5 ms that few imports need to pay

            with ThreadPoolExecutor(len(shares)) as pool:
                list(pool.map(work, shares))
        else:
            for share in shares:
                work(share)

    def _shares(self, counts: Ints, threads: int | None) -> list[slice]:
        """Return the streams of each thread, with about equally many rows."""
        if not counts.size:
            return []
        ends = np.cumsum(counts)
        threads = thread_count(threads, int(ends[-1]))
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, threads) / threads)
        cuts = np.unique([0, *(cuts + 1), ends.size])
        return [slice(int(i), int(j)) for i, j in pairwise(cuts)]

    def _rounds(self, counts: Ints) -> int:
        """Return for how many rows each there are enough streams to update at once."""
        if not self._compiled or counts.size < MIN_STREAMS_AT_ONCE:
            return 0
        return int(np.partition(counts, -MIN_STREAMS_AT_ONCE)[-MIN_STREAMS_AT_ONCE])

    def _run_at_once(self, rounds: int, rows: StreamRows, states: Array, out: Array) -> None:
        """Update all streams with their first rows, then with their second, and so on."""
        counts = rows.counts
        stream = np.repeat(np.arange(counts.size), counts)
        rank = np.arange(stream.size) - np.repeat(np.cumsum(counts) - counts, counts)
        by_rank = stable_argsort(rank)
        ends = np.cumsum(np.bincount(rank, minlength=rounds)[:rounds])
        by_rank = by_rank[: ends[-1]]
        at, which = rows.order[by_rank], stream[by_rank]
        ends = np.append(0, ends)
        for first, last in _spans(ends, ROWS_AT_ONCE):
            start = ends[first]
            here = at[start : ends[last]]
            # Of whole rows, take is three times as fast as an index.
            probs, beta, dt = (x.take(here, axis=0) for x in (rows.probs, rows.beta, rows.dt))
            streams, filtered = which[start : ends[last]], np.empty_like(probs)
            for i, j in pairwise((ends[first : last + 1] - start).tolist()):
                self._filter._update_many(states, streams, probs, beta, dt, filtered, i, j)
            out[here] = filtered

    def _run_each(self, done: int, rows: StreamRows, states: Array, out: Array) -> None:
        """Run the filter over each stream's rows from row `done` on."""
        f = self._filter.copy()
        ends = np.cumsum(rows.counts)
        for i in np.flatnonzero(rows.counts > done):
            at = rows.order[ends[i] - rows.counts[i] + done : ends[i]]
            f.state = unpack_state(f, states[i])
            out[at] = f.run(rows.probs[at], beta=rows.beta[at], dt=rows.dt[at])
            states[i] = pack_state(f.state, states.dtype)


def _spans(ends: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Yield from which to which entry of `ends` it grows by `size`, or by a single step."""
    first = 0
    while first < len(ends) - 1:
        last = max(int(np.searchsorted(ends, ends[first] + size, "right")) - 1, first + 1)
        yield first, last
        first = last


def pack_state(state: Any, dtype: np.dtype[Any]) -> Array:
    """Return the numbers of a filter's state as one row."""
    return np.concatenate([np.ravel(part) for part in state]).astype(dtype)


def unpack_state(filter: Any, row: Array) -> Any:  # noqa: A002
    """Return a row of numbers as a state of the filter."""
    like = filter.state
    sizes = [np.size(part) for part in like]
    pieces = np.split(row, np.cumsum(sizes)[:-1])
    parts = [
        piece.reshape(np.shape(part)) if np.ndim(part) else float(piece[0])
        for piece, part in zip(pieces, like, strict=True)
    ]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def update_state(
    filter: Any,  # noqa: A002
    row: Array,
    probs: ArrayLike,
    beta: float,
    dt: float,
) -> tuple[Array, Array]:
    """Return the estimate after an observation, and the state that follows, as a row like `row`."""
    filter.state = unpack_state(filter, row)
    estimate: Array = filter.update(probs, beta, dt)
    return estimate, pack_state(filter.state, row.dtype)


def stable_argsort(codes: Ints) -> Ints:
    """Return the order of numbers from 0 on; those that are equal keep their order."""
    # NumPy sorts 16 bits by radix: four times as fast.
    narrow = codes.astype(np.uint16) if codes.max(initial=0) < 1 << 16 else codes
    return np.argsort(narrow, kind="stable")
