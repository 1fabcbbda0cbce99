"""Many streams smoothed in blocks equal each one smoothed by itself, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine.lag import GroupedRows, LagStage

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
    stage, got = LagStage(f.copy(), lag), np.full((T, 3), -1.0, f.dtype)
    states = [stage.start() for _ in LENGTHS]
    for start in range(0, T, at_once):
        rows = np.arange(start, min(start + at_once, T))
        rows = rows[np.argsort(stream[rows], kind="stable")]
        here, owner = np.unique(stream[rows], return_inverse=True)
        over = ~np.isin(here, stream[start + at_once :])
        block = GroupedRows(
            owner, rows, rows.astype(np.float64), dt[rows], probs[rows, None], weight[rows]
        )
        after, done = stage.run([states[k] for k in here], block, over)
        for k, state in zip(here, after, strict=True):
            states[k] = state
        assert np.all(got[done.number] == -1), "returned twice"
        got[done.number] = done.probs[:, 0]
        for k in here[~over]:  # as early as they are known
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
    probs = rng.dirichlet(np.ones(3), 12)
    probs[4] = np.nan
    stage, goes_on, one = LagStage(f.copy(), lag), np.zeros(1, bool), np.zeros(1, np.intp)
    blocks = alone = stage.start()
    for i, row in enumerate(probs):
        weight, dt = rng.choice([0.3, 1.0]), rng.choice([0.0, 2.5])
        time, weights, steps = np.array([[i], [weight], [dt]], float)
        block = GroupedRows(one, one + i, time, steps, row[None, None], weights)
        [blocks], done = stage.run([blocks], block, goes_on)
        alone, times, results = stage.update(alone, float(i), row[None], weight, dt)
        np.testing.assert_array_equal(times, done.time)
        np.testing.assert_array_equal(results, done.probs)
        assert stage.pack(alone) == stage.pack(blocks)
