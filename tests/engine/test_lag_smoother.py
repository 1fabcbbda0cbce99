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
    weight, dt = rng.choice([0.3, 0.5, 1.0], T), rng.choice([0.0, 1.0, 2.5], T)
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
            assert known == max(seen - lag, 0)
    for k in range(len(LENGTHS)):
        rows = np.flatnonzero(stream == k)
        alone = cf.smooth(f, probs[rows], weight[rows], dt[rows], lag=lag)
        np.testing.assert_array_equal(got[rows], alone)


HEADS: list[Any] = [
    *([f] for f in FILTERS),
    [FILTERS[1], cf.DirichletFilter(2, 0.8, temperature=1.2, dtype=np.float32)],
    [cf.DirichletFilter(2, 0.8), cf.StickyFilter(4, 0.9), cf.StickyFilter(2, 0.8)],
]


@pytest.mark.parametrize("filters", HEADS)
def test_a_row_by_itself_is_a_block_of_one(filters: list[Any]) -> None:
    """The same results at the same row, and the same rows held."""
    rng, lag = np.random.default_rng(1), 3
    f, sizes = filters[0], [len(one.classes) for one in filters]
    if len(filters) > 1:
        names = {f"h{h}": list("abcd"[:size]) for h, size in enumerate(sizes)}
        f = cf.MultiLabelFilter(names, dict(zip(names, filters, strict=True)))
    T, H, K = 14, len(sizes), max(sizes)
    probs = np.zeros((T, H, K))
    for h, size in enumerate(sizes):
        probs[:, h, :size] = rng.dirichlet(np.full(size, 0.3), T)
        probs[rng.random(T) < 0.2, h, :size] = np.nan
    probs[7, 0, : sizes[0]] = np.eye(sizes[0])[0]
    stage, goes_on, one = LagStage(f.copy(), lag), np.zeros(1, bool), np.zeros(1, np.intp)
    blocks = alone = stage.start()
    for i, row in enumerate(probs):
        weight, dt = rng.choice([0.3, 0.5, 1.0], (1, H)), rng.choice([0.0, 2.0, 2.5], 1)
        block = GroupedRows(one, one, np.array([float(i)]), dt, row[None], weight)
        [blocks], done = stage.run([blocks], block, goes_on)
        alone, time, results = stage.update(alone, float(i), row, weight[0], float(dt[0]))
        if i < lag:
            assert results is None
            assert not len(done.probs)
        else:
            assert [time] == done.time.tolist()
            np.testing.assert_array_equal(results, done.probs)
            assert results is not None
            assert results.dtype == done.probs.dtype
        assert alone == blocks
        assert stage.unpack(stage.pack(alone) + b"more") == (alone, b"more")


@pytest.mark.parametrize("f", FILTERS)
def test_rows_in_single_precision(f: Any) -> None:
    """Rows that are float32 already, as those of labels are, count as the same numbers do."""
    probs: Any = np.random.default_rng(0).dirichlet(np.full(3, 0.02), 30).astype(np.float32)
    owner, over = np.repeat([0, 1], 15), np.ones(2, bool)
    stage, found = LagStage(f.copy(), 2), []
    for rows in (probs, probs.astype(np.float64)):
        block = GroupedRows(
            owner, np.arange(30), np.arange(30.0), np.ones(30), rows[:, None], np.full(30, 0.7)
        )
        found.append(stage.run([stage.start()] * 2, block, over)[1].probs)
    np.testing.assert_array_equal(found[0], found[1])


def test_a_state_of_another_stage_is_rejected() -> None:
    stage = LagStage(FILTERS[0].copy(), 3)
    numbers = np.frombuffer(stage.start())
    row = 1.0, np.full((1, 3), 1 / 3), 1.0, 0.0
    counts = (np.append(count, numbers[1:]).tobytes() for count in (1.0, -1.0, np.nan))
    for wrong in (b"", stage.start()[:-8], *counts):
        with pytest.raises(ValueError, match="the state is none of this stage"):
            stage.update(wrong, *row)


def test_the_size_of_a_state() -> None:
    """As docs/events.md says."""
    stage = LagStage(cf.StickyFilter(6, 0.9), 12)
    state = stage.start()
    for i in range(20):
        state, _, _ = stage.update(state, float(i), np.full((1, 6), 1 / 6), 1.0, 1.0)
    assert len(state) == 8 * (1 + 7) + 8 * (3 + 2 * 6) * 12
