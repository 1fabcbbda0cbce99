"""What a tracker refuses changes nothing; its files are checked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Periodic
from conftest import rejected
from tracker_rows import CLASSES, GOOD, WEIGHTS


def test_a_name_that_cannot_be_saved(tmp_path: Path) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), beta=0.5)
    tracker.update("a", 0.0, None, [0.8, 0.1, 0.1])
    path = tmp_path / "tracker.npz"
    tracker.save(path)
    assert cf.Tracker.load(path).update("a", 1.0, "x", [0.8, 0.1, 0.1]).shape == (3,)
    tracker.update(frozenset("a"), 0.0, None, [0.8, 0.1, 0.1])
    path.unlink()
    with pytest.raises(TypeError, match="stream"):
        tracker.save(path)
    assert not path.exists()


def test_datetimes_are_seconds() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update("a", datetime(2024, 5, 1, 8, tzinfo=UTC), None, GOOD[3])
    tracker.update("a", "2024-05-01T08:00:05Z", None, GOOD[3])
    assert tracker.time("a") == datetime(2024, 5, 1, 8, tzinfo=UTC).timestamp() + 5


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (np.int64(5), 5.0),
        (np.float32(5.5), 5.5),
        (np.datetime64("1970-01-01T00:00:05.25"), 5.25),
        (5, 5.0),
    ],
)
def test_times_of_numpy(time: Any, expected: float) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update("a", time, None, GOOD[3])
    assert tracker.time("a") == expected
    for wrong in (np.datetime64("NaT"), None, 10**400):
        with rejected("time"):
            tracker.update("a", wrong, None, GOOD[3])
    tracker.update("b", -1e308, None, GOOD[3])
    with rejected("time"):
        tracker.update("b", 1e308, None, GOOD[3])


class Failing(Periodic):
    """A policy that fails at its third call."""

    def called(self, source: Any, observation: Any, probs: Any, dt: Any) -> None:
        if self.state.steps_since_strong == 2:
            raise RuntimeError("the policy failed")
        super().called(source, observation, probs, dt)


def test_a_policy_that_fails_changes_nothing() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), beta=WEIGHTS, policy=Failing(3))
    tracker.update("a", 0.0, "strong", GOOD[3])
    with pytest.raises(RuntimeError, match="the policy failed"):
        tracker.update_many(["a", "a"], [1.0, 2.0], "weak", [GOOD[3]] * 2)
    tracker.update("a", 1.0, "weak", GOOD[3])
    before = tracker.filter("a").state
    with pytest.raises(RuntimeError, match="the policy failed"):
        tracker.update("a", 2.0, "weak", GOOD[3])
    with pytest.raises(RuntimeError, match="the policy failed"):
        tracker.update_many(["b", "a"], [0.0, 2.0], "weak", [GOOD[3]] * 2)
    np.testing.assert_equal((tracker.filter("a").state, tracker.time("a")), (before, 1.0))
    assert tracker.streams == ["a"]
    fresh = cf.DirichletFilter(CLASSES).update(GOOD[3], 1.0, 0.0)
    np.testing.assert_array_equal(tracker.update("b", 0.0, "strong", GOOD[3]), fresh)
