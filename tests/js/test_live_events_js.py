"""Events of live streams in JavaScript: call by call, those of Python's tracker, to the bit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
import label_event_cases
import node_cases as node
from classfilter.events import CurrentEvent
from firmware_configs import head_configs
from label_event_cases import LABELS
from live_event_cases import BETA, CLASSES, Row, random_live
from node_cases import camel, sent
from saved_files import file_of

STREAMS = {"ann": "ann", 7: 7, ("bob", 1): "bob/1"}
seeds = st.integers(0, 2**32 - 1)
limits = st.sampled_from(
    [{}, {"expire_after": 4.0}, {"max_streams": 2}, {"max_streams": 1}, {"max_jump": 2.5}]
)
METHODS = {"popEvents": "pop_events", "popStarts": "pop_starts"}


def as_objects(found: Any) -> Any:
    """Return events as JSON has them."""
    if isinstance(found, cf.Event):
        final = {"final": found.final} if isinstance(found, CurrentEvent) else {}
        return {**found._asdict(), "duration": found.duration, **final}
    return [as_objects(event) for event in found] if isinstance(found, list) else found


def compare(pipe: cf.Pipeline, limits: dict[str, Any], steps: list[Any]) -> list[Any]:
    """Make the calls in both; return all events. A call that is refused changes nothing."""
    case = {"kind": "calls", "config": file_of(pipe), "options": camel(limits)}
    (ran,) = node.run([{**case, "steps": [[sent(x) for x in step] for step in steps]}])
    tracker = cf.Tracker(pipe, events=True, **limits)
    events: list[Any] = []
    for (method, *args), result in zip(steps, ran["results"], strict=True):
        call = partial(getattr(tracker, METHODS.get(method, method)), *args)
        if "message" in result:
            with pytest.raises((ValueError, KeyError)):
                call()
            continue
        found = call()
        if method == "update":
            assert node.same_bits(result["found"], found)
            continue
        wanted = as_objects(found)
        if method in METHODS:  # of each stream in their order; which stream is first is open
            for several in (wanted, result["found"]):
                several.sort(key=lambda event: str(event["stream"]))
            events += found if method == "popEvents" else []
        assert result["found"] == wanted, (method, args)
    return events


def random_steps(rng: np.random.Generator, rows: list[Row], expires: bool) -> list[Any]:
    """Return rows with other calls between them: late ones, and such as no tracker takes."""
    steps: list[Any] = []
    for row in rows:
        steps.append(["update", *row])
        draw = rng.random()
        if draw < 0.1:
            steps += [["popStarts"]] * int(rng.integers(2)) + [["popEvents"]]
        elif draw < 0.15:
            steps.append(["popStarts"])
        elif draw < 0.2:
            steps.append(["current", row.stream])
        elif draw < 0.25:
            steps.append(["drop", [row.stream]])
        elif draw < 0.3:
            steps.append(["update", row.stream, row.time - 1.0, "weak", row.probs])
        elif draw < 0.35:
            steps.append(["update", row.stream, row.time, "weak", [7.0] * len(row.probs)])
        elif draw < 0.4 and expires:
            steps.append(["expire", row.time + float(rng.choice([0.0, 3.0, 9.0]))])
    names = list(dict.fromkeys(row.stream for row in rows))
    drops = [["drop", [name]] for name in names]
    return [*steps, *drops, ["popStarts"], ["popEvents"], ["popEvents"], ["popStarts"]]


@given(seed=seeds, limits=limits)
def test_a_tracker_has_the_events_of_python(seed: int, limits: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    live = random_live(seed)
    pipe = live.pipe
    if isinstance(pipe.filter, cf.EmaFilter):  # JavaScript has none
        pipe = cf.Pipeline(cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 2)), beta=BETA, rule=pipe.rule)
    rows = [row._replace(stream=STREAMS[row.stream]) for row in live.rows]
    compare(pipe, limits, random_steps(rng, rows, "expire_after" in limits))


@given(seed=seeds, limits=limits)
def test_labels_at_once_have_the_events_of_python(seed: int, limits: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    pipe = label_event_cases.random_pipe(rng, label_event_cases.random_rule(rng))
    if any(isinstance(pipe.head(name).filter, cf.EmaFilter) for name in LABELS):
        f = cf.MultiLabelFilter(LABELS, cf.DirichletFilter(2, half_life=2.0))
        pipe = cf.Pipeline(f, beta=BETA, rule=pipe.rule)
    count = 40
    names = rng.choice(["ann", "bob"], count).tolist()
    sources = rng.choice(list(BETA), count).tolist()
    times = label_event_cases.random_times(rng, count).tolist()
    scores = label_event_cases.random_scores(rng, count).tolist()
    rows = [Row(*row) for row in zip(names, times, sources, scores, strict=True)]
    compare(pipe, limits, random_steps(rng, rows, "expire_after" in limits))


@pytest.mark.parametrize("kind", ["alike", "dirichlet", "moving"])
def test_heads_of_several_classes_have_the_events_of_python(kind: str) -> None:
    rng = np.random.default_rng(3)
    pipe, count = head_configs()[kind], 120
    parts = [
        rng.beta(0.4, 0.4, (count, 1))
        if h in pipe.heads.labels
        else rng.dirichlet([0.4] * size, count)
        for h, size in enumerate(pipe.heads.sizes)
    ]
    names = rng.choice(["ann", "bob"], count).tolist()
    times = np.cumsum(rng.choice([0.5, 1.0, 4.0], count)).tolist()
    scores = np.hstack(parts).tolist()
    rows = [Row(*row) for row in zip(names, times, ["mic"] * count, scores, strict=True)]
    events = compare(pipe, {}, random_steps(rng, rows, False))
    assert len({event.label for event in events}) > 2


def pipe_with(**options: Any) -> cf.Pipeline:
    return cf.Pipeline(cf.DirichletFilter(CLASSES, half_life=1.0), rule=cf.EventRule(**options))


def test_a_state_grows_with_a_long_minimum_duration() -> None:
    rng = np.random.default_rng(0)
    rows = [["update", "ann", t / 10, None, p] for t, p in enumerate(rng.dirichlet([0.3] * 4, 400))]
    steps = [[*row[:4], row[4].tolist()] for row in rows]
    events = compare(
        pipe_with(min_duration=8.0),
        {},
        [*steps, ["current", "ann"], ["drop", ["ann"]], ["popEvents"]],
    )
    assert len(events) > 1


def test_an_event_of_many_pieces_is_an_event() -> None:
    """A clock that is set makes a long event: no row fails for it."""
    steps: list[Any] = [["update", "a", time, None, "walk"] for time in (0.0, 1e5)]
    for call in range(10):
        steps += [["update", "a", 2e5 + 30 * call, None, "sit"], ["current", "a"], ["time", "a"]]
    steps += [["drop", ["a"]], ["popEvents"]]
    events = compare(pipe_with(change_cost=0.5, max_duration=1e-2), {}, steps)
    assert 10_000 < len(events) < 2 * 100_000


def test_it_says_how_to_give_a_rule() -> None:
    without = cf.Pipeline(cf.DirichletFilter(CLASSES))
    case = {"kind": "calls", "config": file_of(without), "options": {}, "steps": []}
    remedy = 'give one: events: new EventRule({ changeCost: "30s" })'
    with pytest.raises(
        AssertionError, match="events is true, but the pipeline has no rule; "
    ) as error:
        node.run([case])
    assert remedy in str(error.value)
    (result,) = node.run([{"kind": "refused", "options": {}, "method": "popEvents", "call": []}])
    assert result["message"] == f"the tracker has no rule for events; {remedy}"
    (other,) = node.run([{"kind": "refused", "options": {}, "method": "current", "call": ["ann"]}])
    assert other == result


@pytest.mark.parametrize("events", [1, {"changeCost": 1}])
def test_what_is_no_rule_is_rejected(events: Any) -> None:
    case = {"kind": "error", "name": "Tracker", "args": [{"events": events}]}
    assert "it must be an EventRule, or true or false" in node.run([case])[0]["message"]


def test_a_rule_of_its_own() -> None:
    """In place of the pipeline's; and one that does not fit is refused."""
    steps = [["update", "ann", float(t), None, "sit"] for t in range(4)]
    case: dict[str, Any] = {"kind": "calls", "config": file_of(pipe_with()), "options": {}}
    case["steps"] = [*steps, ["drop", ["ann", "ann"]], ["popEvents"]]
    (result,) = node.run([{**case, "rule": {"changeCost": 2, "pad": [1, 1], "ignore": "walk"}}])
    (event,) = result["results"][-1]["found"]
    assert (event["stream"], event["label"], event["start"], event["end"]) == ("ann", "sit", 0, 4)
    with pytest.raises(AssertionError, match='ignore names "fly"; the classes are '):
        node.run([{**case, "rule": {"ignore": "fly"}}])


def test_a_time_that_no_rule_takes() -> None:
    case = {"kind": "calls", "config": file_of(pipe_with()), "options": {}}
    (result,) = node.run([{**case, "steps": [["update", "ann", 1e301, None, "sit"]]}])
    assert result["results"][0]["message"].startswith("time is 1e+301; it must be finite")
