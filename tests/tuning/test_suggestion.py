"""The suggested rule for events: its costs, its guard, and what is said of it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import classfilter as cf
from classfilter.inputs import Heads
from classfilter.pipeline import Pipeline
from classfilter.tuning import Suggestion, record_of
from classfilter.tuning.event_cost import DecidedRows, EventCounts
from classfilter.tuning.expected_events import ExpectedCalls
from classfilter.tuning.suggestion import MIN_KEPT, MOST_LIVE_COST, suggest


@lru_cache
def flickering() -> tuple[dict[int, cf.Rows], Pipeline]:
    """Events of 200 rows, errors of the strong source that stand alone, and a weak source."""
    recs = {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = np.repeat(np.cumsum(rng.integers(1, 3, 8)) % 3, 200)
        strong = np.arange(truth.size) % 4 == 0
        wrong = rng.random(truth.size) < np.where(strong, 0.15, 0.45)
        predicted = (truth + wrong * rng.integers(1, 3, truth.size)) % 3
        sure = np.where(strong, 0.85, 0.55)[:, None]  # as often as they are right
        probs = np.where(np.eye(3)[predicted] > 0, sure, (1 - sure) / 2)
        source = np.where(strong, "strong", "weak")
        recs[seed] = cf.rows(
            time=np.arange(truth.size) * 5.0,
            source=source,
            probs=probs,
            classes=list("abc"),
            label=truth,
        )
    return recs, cf.tune(recs, "sticky", "strong")


def suggested(tuned: Pipeline) -> Suggestion:
    suggestion = record_of(tuned).suggestion
    assert suggestion is not None
    return suggestion


def costs(tuned: Pipeline) -> tuple[float, float]:
    """The costs that the live rule and the offline rule have."""
    rules = tuned.rule, tuned.smoothing.rule
    assert rules[0] is not None
    assert rules[1] is not None
    return rules[0].change_cost, rules[1].change_cost


def random_counts(seed: int = 0) -> EventCounts:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.5), 400)
    return EventCounts([DecidedRows(np.arange(400.0), probs)], Heads.exclusive("abc"))


def test_errors_that_stand_alone_do_not_count_as_events() -> None:
    recs, tuned = flickering()
    true = len(cf.label_events(recs))
    suggestion = suggested(tuned)
    assert suggestion.expected_events == pytest.approx(true, rel=0.2)
    assert suggestion.shared_calls == 1
    assert suggestion.argmax_live == len(cf.events(recs, tuned, cf.EventRule(0.0)))
    assert suggestion.argmax_offline == len(cf.events(recs, tuned, cf.EventRule(0.0), smooth=True))
    assert costs(tuned) == (suggestion.live_cost, suggestion.applied_offline_cost)
    assert len(cf.events(recs, tuned)) <= suggestion.argmax_live


def test_a_duration_takes_its_place() -> None:
    recs, _ = flickering()
    tuned = cf.tune(recs, "sticky", "strong", event_duration=1000.0)
    assert tuned.tuning.suggestion is None
    assert tuned.tuning.event_effect is not None
    assert tuned.tuning.event_effect.chosen_by == "duration"


def test_the_explanation_has_both_numbers_and_the_remedy() -> None:
    _, tuned = flickering()
    effect = tuned.tuning.event_effect
    assert effect is not None
    assert effect.chosen_by == "suggestion"
    lines = tuned.tuning.explain().splitlines()
    at = next(
        i for i, line in enumerate(lines) if line.startswith("Suggested events an hour: live")
    )
    hours = effect.time / 3600
    for count in (effect.live, effect.offline):
        assert f"{count / hours:.2g}" in lines[at]
    assert f"About {suggested(tuned).expected_events / hours:.2g} an hour" in lines[at + 1]
    assert "event_duration" in lines[at + 1]


@pytest.mark.parametrize(("kept", "shared"), [(MIN_KEPT - 0.01, 2), (MIN_KEPT, 2), (MIN_KEPT, 1)])
def test_applied_only_where_calls_share_errors_and_half_of_them_expect_as_many(
    kept: float, shared: int
) -> None:
    live, offline = random_counts(0), random_counts(1)
    most = offline.total(0.0)
    calls = ExpectedCalls(shared, 0.5 * most, 0.5 * most * kept, 0.0, 4.0)
    found = suggest(calls, live, offline)
    assert found.applied == (kept == MIN_KEPT and shared == 2)
    assert (
        offline.total(found.offline_cost) <= 0.5 * most < offline.total(0.98 * found.offline_cost)
    )
    assert found.applied_offline_cost == (found.offline_cost if found.applied else 0.0)
    if found.applied:
        assert live.total(found.live_cost) <= offline.total(found.offline_cost)
    elif shared == 2:
        assert "only 94% of these events" in found.why
    else:
        assert "no errors are seen that calls share" in found.why


def test_no_cost_where_no_more_events_are_there_than_expected() -> None:
    live, offline = random_counts(0), random_counts(1)
    found = suggest(ExpectedCalls(1, 1e9, 1e9, 0.0, 4.0), live, offline)
    assert (found.offline_cost, found.applied) == (0.0, False)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_live_cost_of_more_than_half_a_call_is_left_out(share: float) -> None:
    rng = np.random.default_rng(0)
    steady = rng.dirichlet(np.full(3, 0.5), 40).repeat(10, axis=0)
    offline = EventCounts([DecidedRows(np.arange(400.0), steady)], Heads.exclusive("abc"))
    live = random_counts(1)
    cost = live.smallest_cost(offline.total(0.0))
    assert cost > 0
    found = suggest(ExpectedCalls(1, 1e9, 1e9, 0.0, share * cost / MOST_LIVE_COST), live, offline)
    assert found.live_cost == (cost if share > 1 else 0.0)


def test_without_a_judge_there_is_no_suggestion() -> None:
    recs, _ = flickering()
    alone = {name: rec.take(rec.of_source("strong")) for name, rec in recs.items()}
    tuned = cf.tune(alone)
    assert tuned.tuning.suggestion is None
    assert tuned.rule == tuned.smoothing.rule == cf.EventRule(0.0)
