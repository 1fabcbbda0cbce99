"""The event rule: all paths, the path by going back, in any chunking, in any order of classes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slow_events
from event_streams import as_rows, offline, one_by_one, random_rule, random_stream
from slow_events import plain_rule

seeds = st.integers(0, 2**32 - 1)


def positive(rule: slow_events.Rule, times: Any, probs: Any) -> list[slow_events.Stretch]:
    """Return the stretches without rows that stand for no time."""
    kept = map(slow_events.without_empty_rows, slow_events.stretches(rule, times, probs))
    return [stretch for stretch in kept if stretch.times]


def same_events(expected: list[slow_events.Segment], events: list[Any]) -> bool:
    return [x[:3] for x in expected] == [x[:3] for x in events] and np.allclose(
        [x[3] for x in expected], [x[3] for x in events], rtol=0, atol=1e-12
    )


@given(seed=seeds)
def test_the_path_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    rule = random_rule(rng, classes, reporting=False)
    times, probs = random_stream(rng, classes, int(rng.integers(1, 10)))
    events = offline(rule.compiled(), times, probs)
    for stretch in positive(rule, times, probs):
        if len(rule.enter) ** len(stretch.times) > 20_000:
            continue
        inside = [e for e in events if stretch.times[0] <= e[1] < stretch.end]
        paths, values = slow_events.enumerate_paths(rule, stretch)
        order = np.argsort(-values)[:2]
        if values[order[0]] == -math.inf:
            assert inside == []
            continue
        labels = [
            next((e[0] for e in inside if e[1] <= time < e[2]), classes) for time in stretch.times
        ]
        chosen = values[np.all(paths == labels, axis=1)]
        assert chosen == pytest.approx(values[order[0]], rel=0, abs=1e-12)
        if values[order[0]] - values[order[1]] > 1e-9:
            best = slow_events.segments(stretch, tuple(paths[order[0]]))
            assert same_events([x for x in best if x.label < classes], inside)


@given(seed=seeds)
def test_events_are_those_of_the_path_by_going_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 6))
    rule = random_rule(rng, classes)
    times, probs = random_stream(rng, classes, int(rng.integers(0, 90)))
    expected = slow_events.events(rule, times, probs)
    assert same_events(expected, offline(rule.compiled(), times, probs))


@given(seed=seeds, single=st.booleans(), delay=st.sampled_from([math.inf, 4.0]))
def test_any_chunking_gives_the_same_bits(seed: int, single: bool, delay: float) -> None:
    """One row at a time takes the plain loop, many rows the vectors of up to 8 classes."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 11))
    rule = random_rule(rng, classes).compiled(single, max_delay=delay)
    times, probs = random_stream(rng, classes, 120)
    probs = probs.astype(np.float32 if single else np.float64)
    rows = one_by_one(rule, times, probs)
    whole = offline(rule, times, probs)
    assert whole == list(itertools.chain(*rows))
    assert whole == offline(rule, times, probs, np.sort(rng.integers(0, 121, 4)))
    state = rule.start()
    for time, row in zip(times.tolist(), probs, strict=True):
        state, _ = rule.update(state, time, row)
    assert state == rule.run(rule.start(), times, probs)[0]


@given(seed=seeds, delay=st.sampled_from([math.inf, 8.0, 3.0]))
def test_a_segment_is_confirmed_when_all_open_paths_share_it(seed: int, delay: float) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    rule = replace(random_rule(rng, classes, reporting=False), max_gap=math.inf, max_delay=delay)
    times, probs = random_stream(rng, classes, 50, missing=0)
    kept = np.append(np.diff(times) > 0, True)
    times, probs = times[kept], probs[kept]
    (stretch,) = slow_events.stretches(rule, times, probs)
    expected = slow_events.live(rule, stretch)
    rows = one_by_one(rule.compiled(), times, probs)
    found = [(t - 1, *e[:3]) for t, events in enumerate(rows) for e in events]
    assert [x for x in expected if x[1] < classes and x[3] > x[2]] == found


@given(seed=seeds, single=st.booleans())
def test_the_order_of_classes_does_not_matter(seed: int, single: bool) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 7))
    rule, (times, probs) = random_rule(rng, classes), random_stream(rng, classes, 100)
    order = rng.permutation(classes)
    states = np.append(order, classes)[: len(rule.enter)]
    by_class = {name: getattr(rule, name)[order] for name in ("min_duration", "bias", "ignore")}
    other = replace(rule, enter=rule.enter[states], leave=rule.leave[states], **by_class)
    probs = probs.astype(np.float32 if single else np.float64)
    events = offline(other.compiled(single), times, probs[:, order])
    named = [(int(order[label]), *rest) for label, *rest in events]
    assert named == offline(rule.compiled(single), times, probs)


@given(seed=seeds, delay=st.sampled_from([3.0, 5.0, 20.0]))
def test_no_event_waits_longer_than_max_delay(seed: int, delay: float) -> None:
    rng = np.random.default_rng(seed)
    rule = replace(random_rule(rng, 3, reporting=False), max_delay=delay, max_gap=math.inf)
    times, _ = random_stream(rng, 3, 150)
    rows = one_by_one(rule.compiled(), times, rng.dirichlet(np.ones(3), 150))
    waits = [times[t - 1] - e[2] for t, events in enumerate(rows[:-1]) for e in events]
    assert max(waits, default=0.0) <= delay


@given(seed=seeds)
def test_the_current_event_is_the_last_one_if_the_stream_ended_now(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule = replace(random_rule(rng, 3), max_duration=math.inf)
    times, probs = random_stream(rng, 3, 60)
    compiled, state = rule.compiled(), rule.compiled().start()
    starts: dict[tuple[int, float], bool] = {}
    for t, time in enumerate(times.tolist()):
        state, _ = compiled.update(state, time, probs[t])
        now, before = compiled.current(state), state
        last = as_rows(compiled.finish(state))[-1:]
        end = time + slow_events.weights_of(times[: t + 1], rule.max_gap)[-1]
        seen = not np.isnan(probs[t]).any()
        if now is None:
            continue
        assert seen
        assert now[:3] == (last[0][0], last[0][1], last[0][3])
        assert last[0][2] == end
        starts[now[0], now[1]] = starts.get((now[0], now[1]), False) or now[3]
        assert state == before
    final = {(label, start) for label, start, *_ in offline(compiled, times, probs)}
    assert {key for key, confirmed in starts.items() if confirmed} <= final


def test_ten_steps_of_a_tenth_make_one() -> None:
    """In binary they make a little more, or a little less."""
    lengths = []
    for start, first in itertools.product([0.0, 0.3, 1_700_000_000.1], range(2, 28)):
        times, probs = start + np.arange(40) * 0.1, np.tile([0.9, 0.1], (40, 1))
        probs[first : first + 10] = [0.2, 0.8]
        short = np.array([0.0, 1.0])
        for rule in (plain_rule(2, 0.1, max_gap=0.1), plain_rule(2, 0.1, min_duration=short)):
            events = offline(rule.compiled(), times, probs)
            assert [(e[0], round(e[2] - e[1], 5)) for e in events][1] == (1, 1.0)
            assert len(events) == 3
            lengths.append(events[1][2] - events[1][1])
    assert min(lengths) < 1 < max(lengths)


def test_ties_stay_and_else_take_the_first_class() -> None:
    times, probs = np.arange(6.0), np.full((6, 3), 1 / 3)
    assert [e[:3] for e in offline(plain_rule(3, 0.0).compiled(), times, probs)] == [(0, 0.0, 6.0)]


def test_a_background_class_does_not_hold_an_event_back() -> None:
    rule = plain_rule(
        2, 1.0, ignore=np.array([1.0, 0.0]), merge_gap=2.0, pad_before=0.5, pad_after=0.5
    ).compiled()
    probs = np.array([[0.9, 0.1]] * 10 + [[0.1, 0.9]] * 5 + [[0.9, 0.1]] * 10)
    rows = one_by_one(rule, np.arange(25.0), probs)
    assert [(t, e[:3]) for t, events in enumerate(rows) for e in events] == [(19, (1, 9.5, 15.5))]


def test_long_streams_stay_exact() -> None:
    """The values after a long stretch are those after a short one."""
    rule = plain_rule(3, 2.0).compiled()
    sure = np.tile([0.98, 0.01, 0.01], (4096, 1))
    rng = np.random.default_rng(0)
    tail = rng.dirichlet(np.ones(3), 300)
    ends = []
    for blocks in (1, 50):
        state, time = rule.start(), 0.0
        for _ in range(blocks):
            state, *_ = rule.run(state, time + np.arange(4096.0), sure)
            time += 4096
        state, *columns = rule.run(state, time + np.arange(300.0), tail)
        events = as_rows(columns) + as_rows(rule.finish(state))
        ends.append([(e[0], e[2] - time) for e in events])
    assert ends[0] == ends[1]
