"""A stream that goes on by another name is as one that never changed it."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from conftest import rejected
from live_event_cases import expected, random_live

GOOD = [0.7, 0.3]


@given(seed=st.integers(0, 2**32 - 1))
def test_estimates_and_events_are_those_of_one_name(seed: int) -> None:
    """Of trackers with policies too, that are saved and loaded at random moments."""
    live, rng = random_live(seed), np.random.default_rng(seed)
    plain, tracker = live.tracker(), live.tracker()
    now: dict[Any, Any] = {}  # the present name of each stream
    found: dict[Any, list[Any]] = {}

    def fetch() -> None:
        first = {name: stream for stream, name in now.items()}
        for event in tracker.pop_events():
            found.setdefault(first[event.stream], []).append(tuple(event)[1:])

    for n, row in enumerate(live.rows):
        name = now.setdefault(row.stream, row.stream)
        if name in tracker and rng.random() < 0.2:
            now[row.stream] = "new", n
            tracker.hand_over(name, ("new", n))
            name = "new", n
        want = plain.update(*row)
        np.testing.assert_array_equal(tracker.update(name, *row[1:]), want)
        if live.pipe.policy is not None:
            assert tracker.next_source(name, row.time) == plain.next_source(row.stream, row.time)
        if rng.random() < 0.1:
            fetch()
        if rng.random() < 0.05:
            with TemporaryDirectory() as folder:
                tracker.save(f"{folder}/tracker.npz")
                tracker = cf.Tracker.load(f"{folder}/tracker.npz")
    tracker.drop(tracker.streams)
    fetch()
    wanted = expected(live, [[row] for row in live.rows])
    assert found == {
        stream: [tuple(event)[1:] for event in events]
        for stream, events in wanted.items()
        if events
    }


def test_rows_that_a_lag_holds_move() -> None:
    live = random_live(3)
    pipe = cf.Pipeline(cf.StickyFilter(live.pipe.classes, stay=0.5 ** (1 / 6)))
    rule = cf.EventRule(0.5)
    one, two = (cf.Tracker(pipe, events=rule, lag=5) for _ in range(2))
    rows = [row for row in live.rows if row.stream == "ann"]
    for n, row in enumerate(rows):
        one.update("ann", row.time, None, row.probs)
        if n:
            two.hand_over(n - 1, n)
        two.update(n, row.time, None, row.probs)
    for tracker in (one, two):
        tracker.drop(tracker.streams)
    events = [[tuple(event)[1:] for event in tracker.pop_events()] for tracker in (one, two)]
    assert events[0] == events[1]
    assert len(events[0]) > 2


def test_events_that_wait_have_the_new_name() -> None:
    tracker = cf.Tracker(cf.RawFilter(["x", "y"]), events=cf.EventRule(1.0))
    for time in range(20):
        tracker.update("a", float(time), None, [0.9, 0.1] if time < 10 else [0.1, 0.9])
        if time == 10:
            assert tracker.pop_events() == []
    tracker.hand_over("a", "b")
    (event,) = tracker.pop_events()
    assert event == cf.Event("b", "x", 0.0, 10.0, event.probability)
    assert event.probability == pytest.approx(0.9)
    assert tracker.current("b").label == "y"


def test_it_counts_as_a_row_of_the_newest_time() -> None:
    """Else a stream behind it would keep it from expiring, or it would go too early."""
    tracker = cf.Tracker(cf.RawFilter(2), expire_after=10.0)
    for name, time in (("a", 0.0), ("b", 4.0), ("c", 8.0)):
        tracker.update(name, time, None, GOOD)
    tracker.hand_over("a", "z")
    assert tracker.streams == ["b", "c", "z"]
    assert tracker.time("z") == 0.0
    assert tracker.expire(15.0) == ["b"]
    tracker.drop(["c"])
    assert tracker.expire(17.5) == []
    assert tracker.expire(18.5) == ["z"]
    few = cf.Tracker(cf.RawFilter(2), max_streams=2)
    for name in "ab":
        few.update(name, 0.0, None, GOOD)
    few.hand_over("a", "z")
    few.update("c", 1.0, None, GOOD)
    assert few.streams == ["z", "c"]


def test_the_time_of_the_last_row_still_counts() -> None:
    tracker = cf.Tracker(cf.StickyFilter(2, stay=0.5 ** (1 / 5)), expire_after=10.0)
    tracker.update("a", 5.0, None, [0.99, 0.01])
    tracker.hand_over("a", "b")
    with rejected("time"):
        tracker.update("b", 4.0, None, GOOD)
    np.testing.assert_allclose(tracker.update("b", 15.5, None, GOOD), GOOD)  # begun anew


def test_a_wrong_clock_keeps_its_witness() -> None:
    """Three streams agree on a far time, though one of them has another name by then."""
    tracker = cf.Tracker(cf.RawFilter(2), expire_after=10.0)
    for name in "abcd":
        tracker.update(name, 0.0, None, GOOD)
    tracker.update("a", 1e6, None, GOOD)
    tracker.hand_over("a", "z")
    tracker.update("b", 1e6, None, GOOD)
    assert len(tracker) == 4
    tracker.update("c", 1e6, None, GOOD)
    assert set(tracker.streams) == {"z", "b", "c"}
