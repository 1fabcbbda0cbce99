"""Fixed-lag smoothing of many streams at once, whose rows come in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..filters import (
    DirichletFilter,
    MultiLabelFilter,
    Smoother,
    StickyFilter,
    StreamRows,
    StreamRunner,
    dirichlet_rows,
    in_double,
    pack_state,
    sticky_rows,
    untempered,
)
from ..inputs import pairs
from ..support.arrays import stable_argsort
from ..support.types import Array, Bools, Floats, Ints


def lag_smoother(filter: Smoother, lag: int) -> LagSmoother | LabelLagSmoother:  # noqa: A002
    """Return what smooths many streams block by block by a filter."""
    if isinstance(filter, MultiLabelFilter):
        return LabelLagSmoother(filter, lag)
    return LagSmoother(filter, lag)


class Block(NamedTuple):
    """Rows of several streams.

    Attributes
    ----------
    stream, number : ndarray of int (T,)
        The number of each row's stream, and of the row itself.
    probs, weight, dt : ndarray (T, K), (T,), (T,)
        The observations, their weights, and the time since the row of the same stream before.
    """

    stream: Ints
    number: Ints
    probs: Floats
    weight: Floats
    dt: Floats


class HeldRows(NamedTuple):
    """What a `LagSmoother` knows of one stream.

    Attributes
    ----------
    state, held_from : ndarray (S,)
        The filter's state after the last row, and before the first row held.
    begun : bool
        Whether the stream is longer than the lag.
    rows : ndarray (H, 2 + 2 K)
        Of each row held the step, the weight, the observation and the filter's estimate.
    """

    state: Array
    held_from: Floats
    begun: bool
    rows: Floats


class LagSmoother:
    """Smooth many streams block by block: each as by ``smooth(..., lag=lag)``, to the bit.

    Of each stream it holds the last `lag` rows or, at the beginning, one more.

    Parameters
    ----------
    filter : DirichletFilter or StickyFilter
        Its settings, and the state of each stream before its first row.
    lag : int
        How many later rows each result uses; 1 or more.
    """

    def __init__(self, filter: DirichletFilter | StickyFilter, lag: int) -> None:  # noqa: A002
        self._filter, self._temperature, self._lag = untempered(filter), filter.temperature, lag
        self._double, self._runner = in_double(self._filter), StreamRunner(self._filter)
        self._start = pack_state(filter.state, filter.dtype)
        self._states = np.tile(self._start, (0, 1))  # after the last row of each stream
        self._held_from = self._states.astype(np.float64)  # before the first row held
        self._begun = np.zeros(0, bool)
        none, K = np.empty(0, np.intp), len(filter.classes)
        self._held = Block(none, none, np.empty((0, K)), np.empty(0), np.empty(0))
        self._forward = np.empty((0, K), filter.dtype)  # of the rows held

    def __len__(self) -> int:
        """Return for how many streams there is room."""
        return len(self._states)

    @property
    def lanes(self) -> list[LagSmoother]:
        """What smooths each of several labels; itself, where the classes exclude each other."""
        return [self]

    def restore(self, streams: Sequence[HeldRows]) -> None:
        """Go on with streams, numbered from 0, and their rows; there are none before."""
        self._states = np.array([held.state for held in streams], self._filter.dtype)
        self._held_from = np.array([held.held_from for held in streams], np.float64)
        self._begun = np.array([held.begun for held in streams], bool)
        stream = np.repeat(np.arange(len(streams)), [len(held.rows) for held in streams])
        rows, K = np.concatenate([held.rows for held in streams]), len(self._filter.classes)
        probs, forward = rows[:, 2 : 2 + K], rows[:, 2 + K :]
        self._held = Block(stream, np.arange(len(stream)), probs, rows[:, 1], rows[:, 0])
        self._forward = forward.astype(self._filter.dtype)

    def held(self) -> tuple[list[HeldRows], list[Ints]]:
        """Return what is known of each stream, and the numbers of its rows held."""
        stream, number, probs, weight, dt = self._held
        order = stable_argsort(stream)
        cuts = np.cumsum(np.bincount(stream, minlength=len(self)))[:-1]
        rows = np.column_stack([dt, weight, probs, self._forward])[order]
        known = zip(self._states, self._held_from, self._begun.tolist(), strict=True)
        parts = zip(known, np.split(rows, cuts), strict=True)
        return [HeldRows(*of, part) for of, part in parts], np.split(number[order], cuts)

    def next_row(
        self, held: Sequence[HeldRows], probs: Floats, weight: float, dt: float
    ) -> tuple[list[HeldRows], Array]:
        """Take one row of a stream by itself; return what is held then, and complete results.

        It equals `push` of a block of one row, and is faster. What this smoother holds stays.
        """
        [(state, before, begun, earlier)] = held
        dtype, K, before = self._filter.dtype, len(probs), before[None].copy()
        rows = np.empty((len(earlier) + 1, 2 + 2 * K))
        rows[:-1], rows[-1, 0], rows[-1, 1], rows[-1, 2 : 2 + K] = earlier, dt, weight, probs
        row = rows[-1:, : 2 + K].astype(dtype)
        observed = StreamRows(row[:, 2:], row[:, 1], row[:, 0])
        estimate = np.empty((1, K), dtype)
        [after] = self._runner.run(state.astype(dtype)[None], observed, estimate, threads=1)
        rows[-1:, 2 + K :] = estimate
        begun = begun or len(rows) > self._lag + 1
        done = len(rows) - self._lag if begun else 0
        results = rows[:done, 2 + K :]
        if done:
            s, steps = rows[:, 2 : 2 + K], rows[:, 0]
            weights = np.where(np.isnan(s[:, 0]), 0.0, rows[:, 1])
            if isinstance(self._filter, StickyFilter):
                results = sticky_rows(self._double, results, s, weights, steps, self._lag)
            else:
                counts = np.array([len(rows)]), np.array([done])
                results = dirichlet_rows(
                    self._double, before, s, weights, steps, self._lag, *counts
                )
        return [HeldRows(after, before[0], begun, rows[done:])], self._tempered(results)

    def push(self, block: Block, ended: Ints) -> tuple[Ints, Array]:
        """Take more rows, grouped by stream; return the numbers of complete ones, and results.

        After its rows here, if any, each stream of `ended` has no more: its number is free for
        another stream.
        """
        forward = self._filtered(block)
        present = np.union1d(block.stream, ended)
        code = np.full(len(self._states), -1)
        code[present] = np.arange(len(present))
        mine = code[self._held.stream] >= 0
        rows = [np.concatenate([a[mine], b]) for a, b in zip(self._held, block, strict=True)]
        order = stable_argsort(code[rows[0]])
        whole = Block(*(column[order] for column in rows))
        forward = np.concatenate([self._forward[mine], forward])[order]
        done, lagged = self._complete(present, code[whole.stream], np.isin(present, ended))
        results = self._smoothed(whole, forward, present, done, lagged)
        for_later = zip(self._held, whole, strict=True)
        self._held = Block(*(np.concatenate([a[~mine], b[~done]]) for a, b in for_later))
        self._forward = np.concatenate([self._forward[~mine], forward[~done]])
        self._states[ended] = self._held_from[ended] = self._start
        self._begun[ended] = False
        return whole.number[done], self._tempered(results)

    def _tempered(self, results: Array) -> Array:
        results = results.astype(self._filter.dtype, copy=False)
        return results if self._temperature == 1 else _core.temper(results, self._temperature)

    def _filtered(self, block: Block) -> Array:
        """Run the filter over the rows of each stream."""
        if not len(block.stream):
            return np.empty(block.probs.shape, self._filter.dtype)
        known, count = len(self._states), int(block.stream.max(initial=-1)) + 1
        if count > known:
            new = np.tile(self._start, (count - known, 1))
            self._states = np.concatenate([self._states, new])
            self._held_from = np.concatenate([self._held_from, new])
            self._begun = np.concatenate([self._begun, np.zeros(count - known, bool)])
        streams, first = np.unique(block.stream, return_index=True)
        streams = block.stream[np.sort(first)]  # in the order of the block
        counts = np.diff(np.append(np.sort(first), len(block.stream)))
        dtype = self._filter.dtype
        s, w, t = (x.astype(dtype, copy=False) for x in (block.probs, block.weight, block.dt))
        out = np.empty(s.shape, dtype)
        rows = StreamRows(s, w, t, counts=counts, slots=streams)
        after = self._runner.run(self._states, rows, out, threads=1)
        self._states[streams] = after
        return out

    def _complete(self, present: Ints, codes: Ints, ended: Bools) -> tuple[Bools, Bools]:
        """Return which rows are complete, and which streams are longer than the lag."""
        totals = np.bincount(codes, minlength=len(present))
        begun = self._begun[present] | (totals > self._lag + 1)
        self._begun[present] = begun
        counts = np.where(ended, totals, np.where(begun, np.maximum(totals - self._lag, 0), 0))
        rank = np.arange(len(codes)) - np.repeat(np.cumsum(totals) - totals, totals)
        return rank < counts[codes], begun

    def _smoothed(
        self, block: Block, forward: Array, present: Ints, done: Bools, lagged: Bools
    ) -> Array:
        """Return the results of the rows that are done; a short stream is smoothed as a whole."""
        results = forward[done]
        codes = np.searchsorted(present, block.stream)
        totals, complete = (np.bincount(c, minlength=len(present)) for c in (codes, codes[done]))
        place = np.cumsum(done) - 1
        for streams, ahead in ((lagged, self._lag), (~lagged & (totals > 1), None)):
            chosen = streams & (complete > 0)
            rows = np.flatnonzero(chosen[codes])
            if not rows.size:
                continue
            s, dt, counts = block.probs[rows], block.dt[rows], totals[chosen]
            weight = np.where(np.isnan(s[:, 0]), 0.0, block.weight[rows])
            targets = np.flatnonzero(done[rows])
            at = rows[targets]
            if isinstance(self._filter, StickyFilter):
                ends = np.repeat(np.cumsum(counts), counts)
                smoothed = sticky_rows(
                    self._double, forward[at], s, weight, dt, ahead, ends, targets
                )
            else:
                states = self._held_from[present[chosen]]
                smoothed = dirichlet_rows(
                    self._double, states, s, weight, dt, ahead, counts, complete[chosen]
                )
                self._held_from[present[chosen]] = states
            results[place[at]] = smoothed
        return results


class LabelLagSmoother:
    """Smooth several labels at once block by block, each label by a `LagSmoother` of its own."""

    def __init__(self, filter: MultiLabelFilter, lag: int) -> None:  # noqa: A002
        self.lanes = [LagSmoother(one, lag) for one in filter.filters]
        self._dtype = filter.dtype

    def __len__(self) -> int:
        """Return for how many streams there is room."""
        return len(self.lanes[0])

    def push(self, block: Block, ended: Ints) -> tuple[Ints, Array]:
        """Take more rows, (T, L) or (T, L, 2); see `LagSmoother.push`."""
        s = np.asarray(block.probs, self._dtype)
        both = s if s.ndim == 3 else pairs(s)
        each = block.weight.ndim == 2
        found = []
        for i, lane in enumerate(self.lanes):
            weight = np.ascontiguousarray(block.weight[:, i]) if each else block.weight
            probs = np.ascontiguousarray(both[:, i])
            number, results = lane.push(block._replace(probs=probs, weight=weight), ended)
            found.append(results[:, 1])
        return number, np.stack(found, axis=1)

    def next_row(
        self, held: Sequence[HeldRows], probs: Floats, weight: Any, dt: float
    ) -> tuple[list[HeldRows], Array]:
        """Take one row, (L,) or (L, 2), of a stream by itself; see `LagSmoother.next_row`."""
        s = np.asarray(probs, self._dtype)
        both = s if s.ndim == 2 else pairs(s)
        later, found = [], []
        each = zip(self.lanes, held, both, np.broadcast_to(weight, len(both)), strict=True)
        for lane, known, row, w in each:
            after, results = lane.next_row([known], row, w, dt)
            later += after
            found.append(results[:, 1])
        return later, np.stack(found, axis=1)
