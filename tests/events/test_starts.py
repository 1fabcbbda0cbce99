"""Starts that are final: each event has one, no row that comes can change it; it comes early."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from event_streams import Numbers, offline, random_rule, random_stream
from slow_events import Rule, plain_rule

seeds = st.integers(0, 2**32 - 1)
Starts = list[tuple[int, float]]


def told_by(rule: Any, times: Numbers, probs: Numbers) -> list[Starts]:
    """Return the starts that are told by each row, and at last those by the end."""
    state, told = rule.start(), []
    starts: Starts = []
    for time, row in zip(times.tolist(), probs, strict=True):
        state, _ = rule.update(state, time, row, starts)
        rule.check(state)
        told.append([*starts])
    rule.finish(state, starts)
    return [*told, starts]


def starts_of(rule: Any, times: Numbers, probs: Numbers) -> Starts:
    """Return those of the events offline."""
    return [(event[0], event[1]) for event in offline(rule, times, probs)]


def random_case(seed: int) -> tuple[Rule, bool, float, Numbers, Numbers]:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    delay = float(rng.choice([math.inf, 3.0, 5.0]))
    rule, single = random_rule(rng, classes), bool(rng.random() < 0.5)
    return rule, single, delay, *random_stream(rng, classes, 40)


def futures(rng: np.random.Generator, classes: int, time: float) -> list[tuple[Numbers, Numbers]]:
    """Return what may come: nothing; missing rows; one class for long, at once or late; others."""
    certain = [
        (time + step + 0.5 * np.arange(40), np.tile(row, (40, 1)))
        for step in (0.0, 0.5, 30.0)
        for row in np.eye(classes)
    ]
    missing = time + 0.5 * np.arange(1, 5), np.full((4, classes), np.nan)
    other = [random_stream(rng, classes, 30) for _ in range(2)]
    return [
        (np.empty(0), np.empty((0, classes))),
        missing,
        *certain,
        *((time + times - times[0], probs) for times, probs in other),
    ]


@given(seed=seeds)
def test_nothing_that_comes_changes_a_start_that_was_told(seed: int) -> None:
    settings, single, delay, times, probs = random_case(seed)
    rule = settings.compiled(single, max_delay=delay)
    whole = settings.compiled(single, max_delay=delay, max_duration=math.inf)
    told, rng = told_by(rule, times, probs), np.random.default_rng(seed)
    for i in rng.integers(1, len(times) + 1, 4).tolist():
        known = told[i - 1]
        for later, rows in futures(rng, settings.classes, float(times[i - 1])):
            all_times, all_probs = np.append(times[:i], later), np.vstack([probs[:i], rows])
            assert starts_of(whole, all_times, all_probs)[: len(known)] == known


@given(seed=seeds)
def test_each_event_has_one_start_also_if_rows_come_together(seed: int) -> None:
    settings, single, delay, times, probs = random_case(seed)
    rule = settings.compiled(single, max_delay=delay)
    whole = settings.compiled(single, max_delay=delay, max_duration=math.inf)
    told = told_by(rule, times, probs)
    assert told[-1] == starts_of(whole, times, probs)
    state: bytes = rule.start()
    one, starts = state, list[tuple[int, float]]()
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(times), 3))
    for part in np.split(np.arange(len(times)), cuts):
        state, *_ = rule.run(state, times[part], probs[part], starts)
        for i in part.tolist():
            one, _ = rule.update(one, float(times[i]), probs[i], [])
        assert state == one
        assert starts == (told[part[-1]] if part.size else starts)
    rule.finish(state, starts)
    assert starts == told[-1]


@given(seed=seeds)
def test_a_start_is_told_a_row_after_all_futures_have_it(seed: int) -> None:
    """A row counts when the next one says how long it lasts."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 4))
    rule = plain_rule(
        classes,
        float(rng.choice([0.5, 1.0, 2.0])),
        leave=rng.choice([0.0, 0.5], classes),
        ignore=(np.arange(classes) == rng.integers(classes)) * 1.0,
        merge_gap=float(rng.choice([-1.0, 2.0])),
        pad_before=float(rng.choice([0.0, 0.5])),
        shift=float(rng.choice([0.0, 1.0])),
    ).compiled()
    times = np.arange(40.0)
    probs = random_stream(rng, classes, 40, missing=0.0)[1]
    told = told_by(rule, times, probs)
    for i in range(2, len(times)):
        several = [
            starts_of(rule, np.append(times[:i], later), np.vstack([probs[:i], rows]))
            for later, rows in futures(rng, classes, times[i - 1])
        ]
        common = [one for one, *rest in zip(*several, strict=False) if set(rest) == {one}]
        assert told[i][: len(common)] == common


def test_a_start_is_told_long_before_the_end() -> None:
    """Once going back, too, is worth less than staying: after twice the cost of a change."""
    rule = plain_rule(2, 3.0, ignore=np.array([1.0, 0.0])).compiled()
    probs = np.repeat([[1.0, 0.0], [0.0, 1.0]], [10, 90], axis=0)
    told = told_by(rule, np.arange(100.0), probs)
    [first] = [i for i in range(1, 100) if len(told[i]) > len(told[i - 1])]
    assert told[first] == [(1, 10.0)]
    assert 16 <= first <= 18


def test_a_state_remembers_which_start_was_told() -> None:
    rule = plain_rule(2, 1.0).compiled()
    state = rule.start()
    starts: Starts = []
    state, *_ = rule.run(state, np.arange(20.0), [[1.0, 0.0]] * 20, starts)
    assert starts == [(0, 0.0)]
    state = bytes(bytearray(state))
    state, _ = rule.update(state, 20.0, [1.0, 0.0], starts)
    rule.finish(state, starts)
    assert starts == [(0, 0.0)]
    rule.finish(state)  # starts that nobody wants
