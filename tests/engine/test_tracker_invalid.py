"""What a tracker refuses changes nothing; its files are checked."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Periodic
from tracker_rows import CLASSES, GOOD, WEIGHTS


def test_a_name_that_cannot_be_saved(tmp_path: Path) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), beta=0.5)
    tracker.update("a", 0.0, None, [0.8, 0.1, 0.1])
    path = tmp_path / "tracker.npz"
    tracker.save(path)
    assert cf.Tracker.load(path).update("a", 1.0, "x", [0.8, 0.1, 0.1]).shape == (3,)
    tracker.update(frozenset("a"), 0.0, None, [0.8, 0.1, 0.1])
    path.unlink()
    with pytest.raises(TypeError, match=r"stream frozenset\({'a'}\) is a frozenset; a tracker is"):
        tracker.save(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            ("a", 4.0, "weak", GOOD[3]),
            "time is 4.0, before 5.0, that of the last row of stream 'a'",
        ),
        (("b", math.nan, "weak", GOOD[3]), "time is nan; it must be finite"),
        (("b", math.inf, "weak", GOOD[3]), "time is inf; it must be finite"),
        (("b", "noon", "weak", GOOD[3]), "time is 'noon'; give a number, a datetime, or ISO 8601"),
        (("b", 5.0, "other", GOOD[3]), "source is 'other', which has no weight; beta names"),
        (("b", 5.0, None, GOOD[3]), "source is 'default', which has no weight; beta names"),
        (("b", 5.0, "weak", [0.8, 0.1]), r"probs has 2"),
        (("b", 5.0, "strong", [0.8, -0.1, 0.3]), r"probs\[1\] is -0.1"),
        (("b", 5.0, "weak", [0.8, 0.1, 0.8]), "sums to 1.7"),
    ],
)
def test_an_invalid_row_changes_nothing(row: tuple[Any, ...], message: str) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), beta=WEIGHTS)
    tracker.update(*GOOD)
    before = tracker.filter("a").state, tracker.streams
    with pytest.raises(ValueError, match=message):
        tracker.update(*row)
    columns = zip(GOOD, row, strict=True)
    streams, times, sources, probs = ([a, b] for a, b in columns)
    with pytest.raises(ValueError, match=r"time|source|probs|sum"):
        tracker.update_many(streams, times, sources, probs)
    np.testing.assert_equal((tracker.filter("a").state, tracker.streams), before)
    tracker.update("c", 0.0, "strong", [0.8, 0.1, 0.1])  # takes the room that was given back
    fresh = cf.DirichletFilter(CLASSES)
    np.testing.assert_array_equal(tracker.probs("c"), fresh.update([0.8, 0.1, 0.1], 1.0, 0.0))


def test_invalid_settings() -> None:
    f = cf.DirichletFilter(CLASSES)
    with pytest.raises(ValueError, match="expire_after is 0; it must be positive and finite"):
        cf.Tracker(f, expire_after=0)
    with pytest.raises(ValueError, match="max_streams is 0; it must be 1 or more"):
        cf.Tracker(f, max_streams=0)
    with pytest.raises(ValueError, match=r"beta\['weak'\] is 2; it must be a number in \[0, 1\]"):
        cf.Tracker(f, beta={"weak": 2})
    with pytest.raises(ValueError, match="the tracker has no policy"):
        cf.Tracker(f).next_source("a", 0.0)
    with pytest.raises(ValueError, match="times has 1 rows, streams 2"):
        cf.Tracker(f).update_many(["a", "b"], [0.0], None, [[0.5, 0.3, 0.2]] * 2)


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
    for wrong, message in (
        (np.datetime64("NaT"), "time is nan; it must be finite"),
        (None, "time is nan; it must be finite"),
        (10**400, "time is 1000"),
    ):
        with pytest.raises(ValueError, match=message):
            tracker.update("a", wrong, None, GOOD[3])
    tracker.update("b", -1e308, None, GOOD[3])
    with pytest.raises(ValueError, match=r"time is 1e\+308, too long after -1e\+308"):
        tracker.update("b", 1e308, None, GOOD[3])


def test_times_that_go_back_in_a_batch() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    message = (
        r"times in row 2 is 1.0, before 2.0, that of the row before it of stream 'a'; give the rows"
    )
    with pytest.raises(ValueError, match=message):
        tracker.update_many(["a", "b", "a"], [2.0, 0.0, 1.0], None, [GOOD[3]] * 3)
    assert len(tracker) == 0


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
