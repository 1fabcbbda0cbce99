"""Before the first prediction of a stream nothing is known, so that no event is found there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf

NAMES = ("fall", "walk", "sit")
RULE = cf.EventRule("30s", pad=(5.0, 0.0))
MISSING = [np.nan] * 3
WALK = [0.05, 0.9, 0.05]
FILTERS: dict[str, Any] = {
    "sticky": cf.StickyFilter(NAMES, stay=0.5 ** (1 / 20)),
    "dirichlet": cf.DirichletFilter(NAMES, half_life=20.0),
}


def live(pipe: cf.Pipeline, probs: list[list[float]], lag: int | None = None) -> list[cf.Event]:
    tracker = cf.Tracker(pipe, events=True, lag=lag)
    for i, row in enumerate(probs):
        tracker.update("a", 10.0 * i, None, row)
    current: Any = tracker.current("a")
    tracker.drop(["a"])
    events = tracker.pop_events()
    assert current is None or events
    return [*events]


def offline(pipe: cf.Pipeline, probs: list[list[float]], **how: Any) -> list[cf.Event]:
    scores = "probabilities" if pipe.heads.is_exclusive else "independent"
    rows = cf.rows(
        time=10.0 * np.arange(len(probs)), probs=probs, classes=pipe.classes, scores=scores
    )
    return [*cf.events({"a": rows}, pipe, **how)]


@pytest.mark.parametrize("smoothed", [False, True])
@pytest.mark.parametrize("kind", FILTERS)
def test_no_event_before_it(kind: str, smoothed: bool) -> None:
    pipe = cf.Pipeline(FILTERS[kind], rule=RULE, smoother=cf.Pipeline(FILTERS[kind], rule=RULE))
    for probs, wanted in [
        ([MISSING] * 30, []),
        ([MISSING] * 30 + [WALK] * 20, [("walk", 300.0, 500.0)]),
        ([MISSING] + [WALK] * 20, [("walk", 10.0, 210.0)]),
    ]:
        how = {"smooth": True, "lag": 3} if smoothed else {}
        events = offline(pipe, probs, **how)
        assert [event[1:4] for event in events] == [
            (name, max(start - 5.0, 0.0), end) for name, start, end in wanted
        ]
        assert live(pipe, probs, 3 if smoothed else None) == events


def test_each_label_has_its_own() -> None:
    mostly_on = cf.StickyFilter(2, transitions=[[0.9, 0.1], [0.02, 0.98]])
    labels = cf.MultiLabelFilter(["robin", "wren"], mostly_on)
    pipe = cf.Pipeline(labels, rule=cf.EventRule(1.0))
    probs = [[np.nan, np.nan]] * 5 + [[np.nan, 0.9]] * 5 + [[0.95, 0.9]] * 10
    events = offline(pipe, probs)
    assert sorted(event[1:4] for event in events) == [
        ("robin", 100.0, 200.0),
        ("wren", 50.0, 200.0),
    ]
    assert sorted(live(pipe, probs)) == sorted(events)


def test_a_weight_of_zero_is_no_prediction() -> None:
    pipe = cf.Pipeline(FILTERS["sticky"], beta={"off": 0.0, "on": 1.0}, rule=RULE)
    tracker = cf.Tracker(pipe, events=True)
    for i in range(30):
        tracker.update("a", 10.0 * i, "off" if i < 10 else "on", WALK)
    tracker.drop(["a"])
    assert [event.start for event in tracker.pop_events()] == [95.0]


def test_a_stream_without_any_is_named() -> None:
    rows = cf.rows(time=range(4), stream=["a", "b"] * 2, probs=[WALK, MISSING] * 2, classes=NAMES)
    with pytest.warns(UserWarning, match="no prediction of 'b'"):
        cf.filter_table(rows, FILTERS["sticky"])
