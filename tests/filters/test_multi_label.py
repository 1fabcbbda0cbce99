"""Several labels at once: each label is its own filter of two classes, to the bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf

LABELS = ["robin", "wren", "tit"]
MAKE: dict[str, Callable[..., Any]] = {
    "sticky": lambda **how: cf.StickyFilter(2, stay=0.5 ** (1 / 10), temperature=1.4, **how),
    "dirichlet": lambda **how: cf.DirichletFilter(2, half_life=10.0, **how),
    "ema": lambda **_: cf.EmaFilter(2, half_life=10.0),
    "vote": lambda **_: cf.VoteFilter(2, window=5),
}


def some_rows(seed: int, rows: int = 60) -> tuple[Any, Any, Any]:
    """Return scores with missing ones, weights and time steps."""
    rng = np.random.default_rng(seed)
    scores = rng.random((rows, len(LABELS)))
    scores[rng.random(scores.shape) < 0.15] = np.nan
    scores[rng.random(rows) < 0.1] = np.nan
    return scores, rng.choice([1.0, 0.3], rows), rng.choice([0.0, 1.0, 3.5], rows)


def off_and_on(scores: Any, dtype: Any) -> list[Any]:
    """Return the rows of two classes of each label, in a precision."""
    s = scores.astype(dtype)
    return [np.stack([1 - s[:, k], s[:, k]], axis=1) for k in range(s.shape[1])]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *product(["sticky", "dirichlet"], [np.float64, np.float32]),
        *product(["ema", "vote"], [float]),
    ],
)
@given(seed=st.integers(0, 1000))
def test_each_label_is_its_own_filter(kind: str, dtype: Any, seed: int) -> None:
    scores, beta, dt = some_rows(seed, 15)
    f = cf.MultiLabelFilter(LABELS, MAKE[kind](dtype=dtype))
    one_by_one = f.copy()
    each = np.array([one_by_one.update(*row) for row in zip(scores, beta, dt, strict=True)])
    lanes = [MAKE[kind](dtype=dtype).run(s, beta, dt)[:, 1] for s in off_and_on(scores, dtype)]
    whole = f.run(scores, beta, dt)
    assert whole.dtype == dtype
    np.testing.assert_array_equal(whole, np.stack(lanes, axis=1))
    np.testing.assert_array_equal(each, whole)
    np.testing.assert_array_equal(f.probs, whole[-1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["sticky", "dirichlet"])
@pytest.mark.parametrize("lag", [None, 0, 3])
def test_smoothing_is_that_of_each_label(kind: str, dtype: Any, lag: int | None) -> None:
    scores, beta, dt = some_rows(1)
    smoothed = cf.smooth(
        cf.MultiLabelFilter(LABELS, MAKE[kind](dtype=dtype)), scores, beta, dt, lag=lag
    )
    for k, rows in enumerate(off_and_on(scores, dtype)):
        alone = cf.smooth(MAKE[kind](dtype=dtype), rows, beta, dt, lag=lag)
        np.testing.assert_array_equal(smoothed[:, k], alone[:, 1])


@pytest.mark.covering(1)
@pytest.mark.parametrize("how", [{}, {"beta": 0.4}, {"dt": 2.5}, {"beta": 0.4, "dt": 2.5}])
@pytest.mark.parametrize("kind", MAKE)
def test_one_weight_and_one_step_serve_all_streams_of_a_bank(kind: str, how: Any) -> None:
    f = cf.MultiLabelFilter(LABELS, MAKE[kind]())
    scores, *_ = some_rows(7, 12)
    bank, at_once = cf.Bank(f, 3), cf.Bank(f, 3)
    steps = np.concatenate([bank.update(scores[i : i + 3], **how) for i in range(0, 12, 3)])
    for stream in range(3):
        alone = f.copy().run(scores[stream::3], **how)
        np.testing.assert_array_equal(steps[stream::3], alone)
    streams = np.tile(np.arange(3), 4)
    np.testing.assert_array_equal(at_once.run(scores, rows=streams, **how), steps)


def test_a_state_is_restored_copied_and_pickled() -> None:
    scores, beta, dt = some_rows(4)
    f = cf.MultiLabelFilter(LABELS, MAKE["dirichlet"]())
    f.run(scores[:30], beta[:30], dt[:30])
    others = [f.copy(), pickle.loads(pickle.dumps(f)), cf.MultiLabelFilter(LABELS, f.filters[0])]
    others[2].state = f.state
    expected = f.run(scores[30:], beta[30:], dt[30:])
    for other in others:
        np.testing.assert_array_equal(other.run(scores[30:], beta[30:], dt[30:]), expected)


def test_equal_filters_are_saved_as_one(tmp_path: Path) -> None:
    same = cf.Pipeline(cf.MultiLabelFilter(LABELS, MAKE["sticky"]()), beta={"weak": 0.5})
    same.save(tmp_path / "birds.json")
    assert cf.load(tmp_path / "birds.json").digest == same.digest
    assert "labels" not in same.settings


def test_names_one_label_and_missing_rows() -> None:
    f = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2))
    by_name = f.copy().update({"tit": 0.1, "robin": 0.9, "wren": 0.6})
    np.testing.assert_array_equal(by_name, f.copy().update([0.9, 0.6, 0.1]))
    assert not f.label
    f.update([0.9, None, 0.8])
    assert set(f.label) == {"robin", "tit"}
    frame = pd.DataFrame({"tit": [0.1], "robin": [0.9], "wren": [0.6]})
    assert cf.MultiLabelFilter(LABELS, cf.StickyFilter(2)).run(frame).columns.tolist() == LABELS
    speech = cf.MultiLabelFilter(["speech"], cf.StickyFilter(2))
    np.testing.assert_array_equal(
        speech.copy().run([0.9, 0.2])[:, 0], speech.run([[0.9], [0.2]])[:, 0]
    )
    before = f.state
    f.update(None, dt=0.0)
    np.testing.assert_array_equal(np.concatenate(f.state), np.concatenate(before))


def own_filters() -> Any:
    """Return a filter in which two labels share a filter and one has its own."""
    shared, other = MAKE["sticky"](), MAKE["dirichlet"]()
    return cf.MultiLabelFilter(LABELS, {"robin": shared, "wren": other, "tit": shared})


@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_parts_of_a_stream_and_restored_states_go_on_as_the_whole(
    seed: int, cuts: list[int]
) -> None:
    scores, beta, dt = some_rows(seed, 40)
    expected = own_filters().run(scores, beta, dt)
    f, parts = own_filters(), []
    for first, last in pairwise([0, *sorted(cuts), 40]):
        restored = own_filters()
        restored.state = f.state  # what went on before is in the state alone
        f = restored
        parts.append(f.run(scores[first:last], beta[first:last], dt[first:last]))
    np.testing.assert_array_equal(np.concatenate(parts), expected)


BAD: dict[str, Callable[[Any, Any, Any, int], None]] = {
    "score": lambda s, beta, dt, at: s.__setitem__((at, at % 3), 1.5),
    "infinite": lambda s, beta, dt, at: s.__setitem__((at, at % 3), -np.inf),
    "weight": lambda s, beta, dt, at: beta.__setitem__(at, 1.5),
    "step": lambda s, beta, dt, at: dt.__setitem__(at, -1.0),
}


@pytest.mark.parametrize("what", BAD)
@given(seed=st.integers(0, 1000), at=st.integers(0, 19))
def test_an_invalid_row_anywhere_changes_nothing(what: str, seed: int, at: int) -> None:
    scores, beta, dt = some_rows(seed, 20)
    f = own_filters()
    f.run(scores, beta, dt)
    before = [part.tolist() for part in f.state]
    BAD[what](scores, beta, dt, at)
    with pytest.raises(cf.RowError) as error:
        f.run(scores, beta, dt)
    assert error.value.row == at
    with pytest.raises(cf.RowError):
        f.update(scores[at], beta[at], dt[at])
    assert [part.tolist() for part in f.state] == before
    if what in ("score", "infinite"):
        tracker = cf.Tracker(own_filters())
        tracker.update("ann", 0.0, None, np.full(3, 0.9))
        saved = tracker.probs("ann")
        with pytest.raises(cf.RowError):
            tracker.update("ann", 5.0, None, scores[at])
        with pytest.raises(cf.RowError):
            tracker.update_many(["ann"] * 20, np.arange(20.0), None, scores)
        np.testing.assert_array_equal(tracker.probs("ann"), saved)
        tracker.update("ann", 1.0, None, np.full(3, 0.9))  # its time is as it was, too
