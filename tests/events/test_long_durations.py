"""Minimum durations that span more rows than the rule has memory for: how good the path is."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slow_events
from event_streams import Row, as_rows, offline, one_by_one
from slow_events import Numbers, Rule, Stretch, plain_rule

SLOTS = 64
LATE = 2 / (SLOTS - 2)
"""By this share of its minimum duration, an event may have to last longer: cf.h, cf_events_size."""
seeds = st.integers(0, 2**32 - 1)


def random_case(seed: int, rows: int, least: int, most: int) -> tuple[Rule, Numbers]:
    """Return a rule of `least` to `most` rows, and a stream of a row a unit, often ambiguous."""
    rng = np.random.default_rng(seed)
    K, length = int(rng.integers(2, 5)), int(rng.integers(least, most + 1))
    lengths = length * rng.choice([0.0, 0.5, 1.0, 1.0], K)
    lengths[rng.integers(K)] = length
    rule = plain_rule(K, float(rng.choice([0.0, 1.0, 5.0])), min_duration=lengths)
    changes = rng.random(rows) < 1 / (length * rng.choice([0.5, 1.0, 2.0]))
    truth = np.cumsum(changes * rng.integers(1, K, rows)) % K
    sure = rng.choice([0.0, 1.0, 3.0], rows)[:, None] * np.eye(K)[truth]
    return rule, np.array([rng.dirichlet(0.7 + row) for row in sure])


def value(rule: Rule, probs: Numbers, path: tuple[int, ...] | None) -> float:
    """Return what a path is worth: the expected time right, less its costs."""
    assert path is not None
    right = float(sum(row[k] for row, k in zip(probs, path, strict=True)))
    changes = [(a, b) for a, b in itertools.pairwise(path) if a != b]
    return right - float(sum(rule.leave[a] + rule.enter[b] for a, b in changes))


def best_value(rule: Rule, probs: Numbers) -> float:
    stretch = Stretch(list(np.arange(len(probs) * 1.0)), [1.0] * len(probs), list(probs))
    return value(rule, probs, slow_events.best_path(rule, stretch))


def path_of(events: list[Row]) -> tuple[int, ...]:
    return tuple(k for k, start, end, *_ in events for _ in range(int(end - start)))


@given(seed=seeds)
def test_the_path_is_as_good_as_one_of_slightly_longer_events(seed: int) -> None:
    rule, probs = random_case(seed, 700, 80, 300)
    events = offline(rule.compiled(), np.arange(700.0), probs)
    reached = value(rule, probs, path_of(events))
    longer = replace(rule, min_duration=rule.min_duration * (1 + LATE))
    assert best_value(longer, probs) - 1e-9 <= reached <= best_value(rule, probs) + 1e-9


def test_the_path_is_mostly_the_best_one() -> None:
    lost = []
    for seed in range(20):
        rule, probs = random_case(seed, 700, 80, 300)
        best = best_value(rule, probs)
        events = offline(rule.compiled(), np.arange(700.0), probs)
        lost.append((best - value(rule, probs, path_of(events))) / best)
    assert max(lost) < 0.005
    assert np.mean(np.array(lost) < 1e-12) > 0.8


@given(seed=seeds)
def test_the_path_is_the_best_one_where_all_entries_are_kept(seed: int) -> None:
    rule, probs = random_case(seed, 300, SLOTS // 2, SLOTS)
    events = offline(rule.compiled(), np.arange(300.0), probs)
    best = best_value(rule, probs)
    assert value(rule, probs, path_of(events)) == pytest.approx(best, rel=0, abs=1e-9)


@given(seed=seeds, single=st.booleans(), delay=st.sampled_from([math.inf, 1.0, 1.5]))
def test_no_event_is_short_and_live_is_offline(seed: int, single: bool, delay: float) -> None:
    plain, probs = random_case(seed, 400, 80, 200)
    lengths = plain.min_duration
    rule = plain.compiled(single, max_delay=delay * max(lengths))
    rng, times = np.random.default_rng(seed), np.arange(400.0)
    whole = offline(rule, times, probs.astype(np.float32 if single else np.float64))
    assert all(end - start >= lengths[k] for k, start, end, *_ in whole)
    if single:
        probs = probs.astype(np.float32)
    assert whole == list(itertools.chain(*one_by_one(rule, times, probs)))
    assert whole == offline(rule, times, probs, np.sort(rng.integers(0, 401, 4)))
    state = rule.start()
    for time, row in zip(times.tolist(), probs, strict=True):
        state, _ = rule.update(state, time, row)
    assert state == rule.run(rule.start(), times, probs)[0]


@pytest.mark.parametrize("minutes", [0.1, 30.0])
def test_a_state_does_not_grow_with_the_rate_of_the_rows(minutes: float) -> None:
    rows = int(minutes * 7000)
    rule = plain_rule(6, 5.0, min_duration=np.full(6, 60 * minutes)).compiled()
    probs = np.random.default_rng(0).dirichlet(np.full(6, 0.5), rows)
    state, *_ = rule.run(rule.start(), np.arange(rows) / 100, probs)
    assert len(rule.start()) < 4_000
    assert 16_000 < len(state) < 20_000


@pytest.mark.parametrize("rows", range(1000, 1300, 37))
def test_entries_are_kept_at_all_distances(rows: int) -> None:
    """The last event has to begin before its class does, for the stream ends too early."""
    probs = np.tile([0.6, 0.4], (rows, 1))
    probs[-150:] = [0.05, 0.95]
    rule = plain_rule(2, 1.0, min_duration=np.full(2, 300.0))
    events = offline(rule.compiled(), np.arange(rows * 1.0), probs)
    assert [event[0] for event in events] == [0, 1]
    assert rows - 300 * (1 + LATE) <= events[1][1] <= rows - 300


def test_an_event_begins_where_its_class_does() -> None:
    """Of the entries that are close to each other, the one that is worth the most stays."""
    times, probs = np.arange(20_000) / 100, np.tile([0.9, 0.1], (20_000, 1))
    probs[7_777:] = [0.1, 0.9]
    rule = plain_rule(2, 5.0, min_duration=np.full(2, 60.0)).compiled()
    state, *columns = rule.run(rule.start(), times, probs)
    events = as_rows(columns) + as_rows(rule.finish(state))
    assert [event[:2] for event in events] == [(0, 0.0), (1, 77.77)]
