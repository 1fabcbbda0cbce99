"""The rate of calls: recordings thinned by hand, and tuned for the rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Adaptive, Periodic
from classfilter.tuning import thin
from classfilter.tuning.thinning import steps_between_calls
from policy_steps import drive

NAN = float("nan")


def dense(seed: int, hours: float = 4.0) -> cf.Rows:
    return cf.simulate(hours=hours, seed=seed).rows(every=None)


def test_thinned_by_hand() -> None:
    """Both sources at six times, one prediction of the reference missing; every second stays."""
    rows = [
        (0, "s"), (0, "w"), (1, "s"), (1, "w"), (2, "w"), (2, "s"),
        (3, "s"), (3, "w"), (4, "s"), (4, "w"), (5, "s"), (5, "w"),
    ]  # fmt: skip
    probs = np.tile([[0.6, 0.4]], (12, 1))
    probs[2] = NAN
    rec = cf.rows(
        time=[t for t, _ in rows],
        source=[n for _, n in rows],
        probs=probs,
        classes=2,
        label=np.arange(12) % 2,
    )
    thinned = thin([rec], "s", 2)
    # five predictions in six steps: 0, 2, 3, 4, 5; kept: 0, 3, 5
    kept = [(0, "s"), (1, "w"), (2, "w"), (3, "s"), (4, "w"), (5, "s")]
    (result,) = thinned.recordings
    assert list(zip(result.time.tolist(), result.source_names.tolist(), strict=True)) == kept
    assert result.label is not None
    assert result.label.tolist() == [rows.index(row) % 2 for row in kept]
    assert (thinned.thinned, thinned.assumed) == (True, False)
    assert thinned.every == pytest.approx(2 * 6 / 5)


def test_a_periodic_policy_calls_at_the_same_steps() -> None:
    rec = dense(0, 1.0)
    (result,) = thin([rec], "strong", 12).recordings
    policy, times = Periodic(12), np.unique(rec.time)
    steps = np.full((times.size, len(rec.classes)), np.nan)
    called = drive(policy, steps, steps, np.diff(times, prepend=times[0]))
    assert result.time.tolist() == times.tolist()
    assert result.source_names.tolist() == called
    rows = {(t, s): i for i, (t, s) in enumerate(zip(rec.time, rec.source_names, strict=True))}
    at = [rows[step] for step in zip(times, called, strict=True)]
    np.testing.assert_array_equal(result.probs, rec.probs[at])
    np.testing.assert_array_equal(result.label, np.asarray(rec.label)[at])


def test_what_is_thinned() -> None:
    rec, sparse = dense(0, 1.0), cf.simulate(hours=1.0, seed=0).rows(every=12)
    assert thin([rec], "strong", None)[1:] == (12.0, True, True)
    assert thin([rec], "strong", 1)[1:] == (1.0, False, False)
    assert thin([sparse], "strong", None)[1:] == (12.0, False, False)
    assert thin([sparse], "strong", 4)[1:] == (12.0, False, False)  # it cannot be called more
    assert thin([sparse], "strong", 24).every == 24.0
    alone = cf.rows(time=sparse.time, source="weak", probs=sparse.probs, classes=sparse.classes)
    assert not thin([alone], "weak", None).thinned


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((7, None, None), 7),
        ((None, 0.1, None), 10),
        ((None, None, Periodic(6)), 6),
        ((None, None, Periodic(seconds=60)), 12),
        ((None, None, Adaptive(1 / 20)), 20),
        # 2 a second: 10 in a step of 5 s, of which 1 for each weak call
        ((None, None, Adaptive(2.0, cost={"weak": 1.0, "strong": 40.0})), 4),
        ((None, None, None), None),
    ],
)
def test_rates(options: tuple[Any, Any, Any], expected: int | None) -> None:
    assert steps_between_calls(*options, step=5.0) == expected
