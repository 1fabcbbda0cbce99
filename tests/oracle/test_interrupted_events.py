"""Ctrl-C at any point: the events of each stream fit its state, none is lost, none comes twice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import classfilter as cf
from classfilter.policy import Adaptive, Policy
from interrupts import interrupted
from live_event_cases import BETA, CLASSES, Row, update_many

POLICIES = [None, Adaptive(budget=0.5, horizon=4)]
FILTERS: dict[str, Any] = {
    "dirichlet": lambda: cf.DirichletFilter(CLASSES, half_life=0.25),
    "single": lambda: cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 0.25), dtype="float32"),
    "ema": lambda: cf.EmaFilter(CLASSES, gamma=0.1),
}
RULE = cf.EventRule(0.1, max_delay=1.0)
Call = Callable[[cf.Tracker], object]


def row(stream: str, time: float) -> Row:
    """Return a row that ends the event before."""
    probs = [0.01] * 4
    probs[int(time) // 2 % 4] = 0.97
    return Row(stream, time, "weak", probs)


BEFORE = [row(name, float(t)) for t in range(9) for name in "ab"]
CALLS: dict[str, Call] = {
    "a row of a known stream": lambda tracker: tracker.update(*row("a", 10.0)),
    "a row of a new stream": lambda tracker: tracker.update(*row("c", 10.0)),
    "a row that begins anew": lambda tracker: tracker.update(*row("a", 100.0)),
    "many rows": lambda tracker: update_many(
        tracker, [row(name, t) for t in (10.0, 12.0) for name in "ac"]
    ),
    "many rows that begin anew": lambda tracker: update_many(
        tracker, [row("a", t) for t in (10.0, 100.0)]
    ),
    "pop_events": lambda tracker: tracker.pop_events(),
    "drop": lambda tracker: tracker.drop(["b", "a"]),
    "expire": lambda tracker: tracker.expire_after and tracker.expire(1000.0),
}


def known(tracker: cf.Tracker) -> dict[str, Any]:
    """Return the state, the confirmed events, and all events of each stream; it ends them."""
    states = {name: (tracker.time(name), tracker.probs(name).tobytes()) for name in tracker.streams}
    confirmed = tracker.pop_events()
    tracker.drop(tracker.streams)
    rest = tracker.pop_events()
    return {
        name: (
            states.get(name),
            [event for event in confirmed if event.stream == name],
            [event for event in rest if event.stream == name],
        )
        for name in "abc"
    }


MOST, OVER = {"max_streams": 2}, {"expire_after": 60.0}


@pytest.mark.parametrize(
    ("name", "limits", "make"),
    [
        ("a row of a known stream", {}, "dirichlet"),
        ("a row of a known stream", {}, "ema"),
        ("a row of a new stream", MOST, "single"),
        ("a row that begins anew", OVER, "dirichlet"),
        ("many rows that begin anew", OVER, "single"),
        ("pop_events", {}, "dirichlet"),
        ("drop", {}, "dirichlet"),
        ("expire", OVER, "dirichlet"),
    ],
)
def test_events_fit_the_state(name: str, limits: dict[str, Any], make: str) -> None:
    """Each stream is as before the call, or as after it, with its events."""
    check(name, limits, None, make)


@pytest.mark.slow
@pytest.mark.covering(2)
@pytest.mark.parametrize("make", FILTERS)
@pytest.mark.parametrize("policy", POLICIES, ids=["", "policy"])
@pytest.mark.parametrize("limits", [{}, MOST, OVER], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_in_all_kinds_of_trackers(
    name: str, limits: dict[str, Any], policy: Policy | None, make: str
) -> None:
    check(name, limits, policy, make)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("a row of a known stream", {}),
        pytest.param("a row that begins anew", OVER, marks=pytest.mark.slow),
        pytest.param("many rows that begin anew", OVER, marks=pytest.mark.slow),
        pytest.param("drop", {}, marks=pytest.mark.slow),
    ],
)
def test_with_a_lag(name: str, limits: dict[str, Any]) -> None:
    """The rows that are held fit the state, too."""
    check(name, {**limits, "lag": 2}, None, "single")


def check(name: str, limits: dict[str, Any], policy: Policy | None, make: str) -> None:

    def started() -> cf.Tracker:
        tracker = cf.Tracker(FILTERS[make](), beta=BETA, policy=policy, events=RULE, **limits)
        update_many(tracker, BEFORE)
        if "row" in name:  # those of the call are to be found, too
            tracker.pop_events()
        return tracker

    taken = started()
    CALLS[name](taken)
    before, after = known(started()), known(taken)
    assert before["a"][1:] != after["a"][1:] or "new stream" in name or name == "expire"
    for at in count(1):
        tracker = started()
        stopped = interrupted(lambda: CALLS[name](tracker), at)  # noqa: B023
        now = known(tracker)
        for stream in "abc":
            assert now[stream] in (before[stream], after[stream]), (stream, at)
        if name == "pop_events":
            assert now in (before, after)
        if not stopped:
            assert now == after
            break
    assert at > 2 or name == "expire"
