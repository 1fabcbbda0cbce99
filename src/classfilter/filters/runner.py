"""The rows of many streams: one call into C for each thread, or each stream by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..support.types import Array, Ints

MIN_ROWS_PER_THREAD = 2048
"""With fewer rows, starting a thread costs more than it saves."""


class StreamRows(NamedTuple):
    """Rows of many streams, in the filter's precision.

    Attributes
    ----------
    probs : ndarray (T, K), or (T, H, K) of several heads
        The observations.
    beta, dt : ndarray () or (T,); of several heads, beta may be (T, H)
        Their weights, and the time since the row of the same stream before.
    order : ndarray of int (T,), optional
        The rows grouped by stream, those of a stream in their order; by default as they are.
    counts : ndarray of int (N,), optional
        How many rows each stream has; by default one.
    slots : ndarray of int (N,), optional
        Where the state of each stream is; by default they follow each other.
    """

    probs: Array
    beta: Array
    dt: Array
    order: Ints | None = None
    counts: Ints | None = None
    slots: Ints | None = None


class StreamRunner:
    """Runs a filter over the rows of many streams, whose states are rows of numbers.

    Parameters
    ----------
    filter : Filter
        Its settings are used, and its state as that of a new stream.

    Attributes
    ----------
    start : ndarray (S,)
        The state of a new stream.
    """

    def __init__(self, filter: Any) -> None:  # noqa: A002
        self._filter = filter
        self._compiled = hasattr(filter, "_run_streams")
        self.start = pack_state(filter.state, filter.probs.dtype)

    def run(self, states: Array, rows: StreamRows, out: Array, threads: int | None) -> Array:
        """Filter all rows; the results (T, K) go to `out`. Return the states that follow, (N, S).

        `states` do not change. At an error, only what is in `out` has a meaning no more.
        """
        probs, beta, dt, order, counts, slots = rows
        streams = len(states) if slots is None else len(slots)
        after = np.empty((streams, states.shape[1]), states.dtype)
        most = len(probs if order is None else order) // MIN_ROWS_PER_THREAD
        parts = min(threads or os.cpu_count() or 1, most) if most > 1 else 1  # asking takes long
        if not self._compiled:
            self._run_each(states, rows, out, after)
        elif parts > 1:
            self._run_shares(parts, states, rows, out, after)
        else:
            run = self._filter._run_streams
            run(states, slots, counts, order, probs, beta, dt, out, after)
        return after

    def _run_shares(
        self, parts: int, states: Array, rows: StreamRows, out: Array, after: Array
    ) -> None:
        """Run so many shares of the streams, with about equally many rows, at the same time."""
        order = np.arange(len(rows.probs)) if rows.order is None else rows.order
        ends = np.arange(1, len(after) + 1) if rows.counts is None else np.cumsum(rows.counts)
        # In one piece now, or each call would copy all rows.
        probs, beta, dt = (np.asarray(x, order="C") for x in (rows.probs, rows.beta, rows.dt))
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts)
        cuts = np.unique([0, *(cuts + 1), len(after)])
        starts = np.append(0, ends)[cuts]

        def work(i: int) -> None:
            streams = slice(cuts[i], cuts[i + 1])
            self._filter._run_streams(
                states[streams] if rows.slots is None else states,
                None if rows.slots is None else rows.slots[streams],
                None if rows.counts is None else rows.counts[streams],
                order[starts[i] : starts[i + 1]],
                probs,
                beta,
                dt,
                out,
                after[streams],
            )

        _in_threads(work, len(cuts) - 1)

    def _run_each(self, states: Array, rows: StreamRows, out: Array, after: Array) -> None:
        """Run the filter over each stream's rows, after a check of all."""
        f = self._filter.copy()
        if rows.probs.ndim == 2:
            _core.check_rows(rows.probs.shape[1], rows.probs, rows.beta, rows.dt)
        counts = np.ones(len(after), np.intp) if rows.counts is None else rows.counts
        order = np.arange(len(rows.probs)) if rows.order is None else rows.order
        slots = np.arange(len(after)) if rows.slots is None else rows.slots
        T = len(rows.probs)
        beta, dt = (x if x.ndim else np.broadcast_to(x, T) for x in (rows.beta, rows.dt))
        for i, (first, last) in enumerate(pairwise([0, *np.cumsum(counts).tolist()])):
            after[i] = states[slots[i]]
            if last > first:
                at = order[first:last]
                f.state = unpack_state(f, after[i])
                out[at] = f.run(rows.probs[at], beta=beta[at], dt=dt[at])
                after[i] = pack_state(f.state, after.dtype)

    def check_states(self, states: Array) -> None:
        """Raise unless each row of numbers is a state of the filter."""
        fresh, like = self._filter.copy(), self.start
        if states.dtype != like.dtype:
            raise ValueError(f"it holds {states.dtype}, the filter {like.dtype}")
        if states.shape[1:] != like.shape:
            raise ValueError(
                f"it has states of shape {states.shape}; a stream of the filter has {len(like)} "
                f"numbers, shape (N, {len(like)})"
            )
        if self._compiled:
            self._filter._check_states(states)
            return
        for stream, row in enumerate(states):
            try:
                fresh.state = unpack_state(fresh, row)
            except ValueError as error:
                raise ValueError(f"the state of stream {stream}: {error}") from None


def _in_threads(work: Callable[[int], None], parts: int) -> None:
    """Do several parts, the first of them in this thread; raise the error of the first one."""
    errors: dict[int, BaseException] = {}

    def guarded(part: int) -> None:
        try:
            work(part)
        except BaseException as error:
            errors[part] = error

    threads = [Thread(target=guarded, args=(part,)) for part in range(1, parts)]
    started = 0
    try:
        for thread in threads:
            thread.start()
            started += 1
    except RuntimeError:  # the system has no more threads
        for part in range(started + 1, parts):
            guarded(part)
    finally:
        guarded(0)
        for thread in threads[:started]:
            thread.join()
    if errors:
        raise errors[min(errors)]


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
