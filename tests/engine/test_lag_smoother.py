"""Many streams smoothed in blocks equal each one smoothed by itself, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine.lag import Block, LagSmoother

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 12, 30]
FILTERS: list[Any] = [
    cf.StickyFilter(3, 0.9),
    cf.StickyFilter(3, 0.9, temperature=1.4, dtype=np.float32),
    cf.StickyFilter(3, transitions=np.eye(3) * 0.7 + 0.1),
    cf.DirichletFilter(3, 0.9, anchor=0.4, prior=[2.0, 1.0, 1.5], temperature=0.6),
    cf.DirichletFilter(3, 0.9, estimate="mean", dtype=np.float32),
]


@pytest.mark.parametrize("at_once", [1, 5, 23, 1000])
@pytest.mark.parametrize("lag", [1, 3, 5])
@pytest.mark.parametrize("f", FILTERS)
def test_any_length_of_stream_and_of_block(f: Any, lag: int, at_once: int) -> None:
    """Streams of the lag, one row more and one less; some blocks end in the middle of a stream."""
    rng = np.random.default_rng(lag)
    T = sum(LENGTHS)
    stream = rng.permutation(np.repeat(np.arange(len(LENGTHS)), LENGTHS))
    probs = rng.dirichlet(np.ones(3), T)
    probs[rng.random(T) < 0.1] = np.nan
    weight, dt = rng.choice([0.3, 1.0], T), rng.choice([0.0, 1.0, 2.5], T)
    smoother, got = LagSmoother(f.copy(), lag), np.full((T, 3), -1.0, f.dtype)
    for start in range(0, T, at_once):
        rows = np.arange(start, min(start + at_once, T))
        rows = rows[np.argsort(stream[rows], kind="stable")]
        left = stream[rows[-1] + 1 :] if len(rows) == 1 else stream[start + at_once :]
        ended = np.setdiff1d(stream[rows], left)
        block = Block(stream[rows], rows, probs[rows], weight[rows], dt[rows])
        numbers, results = smoother.push(block, ended)
        assert np.all(got[numbers] == -1), "returned twice"
        got[numbers] = results
        for k in set(stream[rows]) - set(ended):  # as early as they are known
            seen = np.sum(stream[: start + at_once] == k)
            known = np.sum(got[stream == k, 0] != -1)
            assert known == (seen - lag if seen > lag + 1 else 0)
    for k in range(len(LENGTHS)):
        rows = np.flatnonzero(stream == k)
        alone = cf.smooth(f, probs[rows], weight[rows], dt[rows], lag=lag)
        np.testing.assert_array_equal(got[rows], alone)


@pytest.mark.parametrize("f", FILTERS)
def test_a_row_by_itself_is_a_block_of_one(f: Any) -> None:
    """The same results at the same row, and the same rows held."""
    rng, lag = np.random.default_rng(1), 3
    probs, none = rng.dirichlet(np.ones(3), 12), np.empty(0, np.intp)
    probs[4] = np.nan
    blocks, alone = LagSmoother(f.copy(), lag), LagSmoother(f.copy(), lag)
    held: list[Any] = []
    for i, row in enumerate(probs):
        weight, dt = rng.choice([0.3, 1.0]), rng.choice([0.0, 2.5])
        number = np.array([i])
        block = Block(np.zeros(1, np.intp), number, row[None], np.array([weight]), np.array([dt]))
        if not held:
            blocks.push(block, none)
            held = blocks.held()[0]
            continue
        held, results = alone.next_row(held, row, weight, dt)
        np.testing.assert_array_equal(results, blocks.push(block, none)[1])
        for mine, other in zip(held[0], blocks.held()[0][0], strict=True):
            np.testing.assert_array_equal(mine, other)
