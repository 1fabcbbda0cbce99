"""The cost of a change by labels, against scores of the events themselves at every cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.inputs import Heads
from classfilter.tuning.event_cost import DecidedRows
from classfilter.tuning.event_labels import EventTally, choose_by_labels, costs_to_try, tally_events
from classfilter.tuning.event_rule import with_event_rule
from label_days import label_day
from tuning_days import changed, days, messy

HALF = 0.5


def scores_of(rec: cf.Rows, probs: np.ndarray, rule: cf.EventRule) -> tuple[int, int, int]:
    how: Any = {"scores": "independent"} if not rec.heads.is_exclusive else {}
    given = cf.rows(time=rec.time, source="any", probs=probs, classes=rec.classes, **how)
    scores = cf.metrics.event_scores(
        cf.label_events(rec, rule.max_gap), cf.events(given, rule), HALF
    )
    return scores.found, scores.predicted, scores.true


@pytest.mark.parametrize("kind", ["days", "labels at once", "gaps and two rows of one time"])
def test_events_are_scored_as_event_scores_does(kind: str) -> None:
    recs = {
        "days": lambda: days([0, 1], 1.0),
        "labels at once": lambda: [label_day(seed, 120, [(6, 9), (20, 30)]) for seed in (0, 1)],
        "gaps and two rows of one time": lambda: [messy(0, 1.0)],
    }[kind]()
    rng = np.random.default_rng(0)
    rule = cf.EventRule(max_gap=8.0 if kind.startswith("gaps") else None)
    # Rows of one label and probability each, which is right most of the time.
    streams = []
    for rec in recs:
        assert rec.label is not None
        if not rec.heads.is_exclusive:
            probs = np.where(rng.random(rec.label.shape) < 0.8, rec.label, 1 - rec.label)
            probs = 0.2 + 0.6 * probs
        else:
            noise = rng.dirichlet(np.ones(len(rec.classes)), len(rec))
            probs = 0.5 * np.eye(len(rec.classes))[rec.label] + 0.5 * noise
            probs = np.where(rng.random((len(rec), 1)) < 0.3, noise, probs)
        streams.append(DecidedRows(rec.time, probs))
    costs = [0.0, 1.0, 5.0, 40.0]
    labels = [np.asarray(rec.label) for rec in recs]
    tally = tally_events(streams, labels, recs[0].heads, rule, costs)
    for i, (rec, rows) in enumerate(zip(recs, streams, strict=True)):
        for j, cost in enumerate(costs):
            mine = int(tally.found[i, j]), int(tally.predicted[i, j]), int(tally.true[i, j])
            at_cost = cf.EventRule(cost, max_gap=rule.max_gap)
            assert mine == scores_of(rec, rows.probs, at_cost), (i, cost)
    assert 0 < tally.found.sum() < tally.predicted.sum()


def test_time_without_a_label_does_not_count() -> None:
    time, truth = np.arange(40.0), np.repeat([0, 1, 0, 1], 10)
    rows = DecidedRows(time, np.eye(2)[truth])
    label = truth.copy()
    label[5:25] = -1
    tally = tally_events([rows], [label], Heads.exclusive(["walk", "sit"]), cf.EventRule(), [0.0])
    # Of the labels 5 rows of walk are left, then 5 of walk, then 10 of sit.
    assert (tally.found.item(), tally.predicted.item(), tally.true.item()) == (3, 3, 3)


def tally_of(f1: list[list[tuple[int, int, int]]]) -> EventTally:
    return EventTally(*np.array(f1).transpose(2, 0, 1))


def test_the_middle_of_the_costs_that_are_alike() -> None:
    """All streams agree, so that no difference is uncertain: only equal scores are alike."""
    each = [(1, 8, 4), (3, 4, 4), (3, 4, 4), (3, 4, 4), (2, 2, 4), (3, 4, 4)]
    chosen = choose_by_labels(tally_of([each] * 5), [0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
    assert (chosen.cost, chosen.low, chosen.high) == (2.0, 1.0, 4.0)
    assert chosen.f1 == pytest.approx(6 / 8)
    assert chosen.error == pytest.approx(0)


def test_uncertain_differences_are_alike() -> None:
    """At the second cost streams gain or lose, and on the whole a little; at the third all lose."""
    streams = 30
    base = np.random.default_rng(1).integers(2, 9, streams)
    other = base + np.where(np.arange(streams) % 2, 2, -2) - (np.arange(streams) == 1)
    columns = zip(base.tolist(), other.tolist(), (base - 2).tolist(), strict=True)
    tally = tally_of([[(found, 10, 10) for found in three] for three in columns])
    chosen = choose_by_labels(tally, [1.0, 2.0, 3.0])
    assert (chosen.low, chosen.high, chosen.cost) == (1.0, 2.0, 1.0)
    assert chosen.f1 == pytest.approx(base.mean() / 10)
    assert chosen.error == pytest.approx(base.std() / 10 / math.sqrt(streams), rel=0.2)


def test_no_event_found_and_one_stream() -> None:
    nothing = choose_by_labels(tally_of([[(0, 5, 3)] * 3] * 3), [0.0, 4.0, 8.0])
    assert (nothing.cost, nothing.f1) == (0.0, 0.0)
    one = choose_by_labels(tally_of([[(1, 5, 3), (3, 4, 3)]]), [0.0, 4.0])
    assert (one.cost, one.low, one.high) == (4.0, 4.0, 4.0)
    assert math.isnan(one.error)


def test_costs_from_none_to_what_no_change_is_worth() -> None:
    costs = costs_to_try(5.0, 400.0)
    assert costs[:2] == [0.0, 2.5]
    assert 200 / 1.5 < costs[-1] <= 202
    assert np.allclose(np.diff(np.log(costs[1:])), math.log(2) / 2, atol=0.01)


def test_tune_chooses_by_a_grid_of_costs() -> None:
    """As a search by hand: no cost of the grid has a clearly better F1@50 than the chosen one."""
    recs = dict(enumerate(days(range(3), 1.0)))
    recs[3] = changed(recs[0], label=None)
    tuned = with_event_rule(cf.tune(recs, "sticky", "strong"), list(recs.values()), None, True)
    effect = tuned.tuning.event_effect
    assert effect is not None
    assert effect.chosen_by == "labels"
    assert effect.by_labels is not None
    known = {stream: recs[stream] for stream in range(3)}
    truth = cf.label_events(known)
    rules = (tuned.rule, tuned.smoothing.rule)
    ways = (tuned.run, tuned.smooth)
    for way, rule, chosen in zip(ways, rules, effect.by_labels, strict=True):
        assert rule == cf.EventRule(chosen.cost)
        rows = {
            stream: cf.rows(time=rec.time, source="any", probs=way(rec), classes=rec.classes)
            for stream, rec in known.items()
        }
        f1 = {
            cost: cf.metrics.event_scores(truth, cf.events(rows, cf.EventRule(cost)), HALF).f1
            for cost in costs_to_try(5.0, 3600.0)
        }
        best = max(f1, key=lambda cost: f1[cost])
        assert chosen.low <= best <= chosen.high
        assert chosen.f1 == pytest.approx(f1[chosen.cost])
        assert chosen.f1 > f1[best] - 3 * chosen.error
    lines = tuned.tuning.explain().splitlines()
    live, offline = effect.by_labels
    assert f"Live: {live.f1:.1%} ± {live.error:.1%} at " in "".join(lines)
    assert any(line.startswith(f"Offline: {offline.f1:.1%}") for line in lines)


def test_of_one_stream_it_says_that_it_cannot_tell() -> None:
    rec = days([0], 1.0)
    tuned = with_event_rule(cf.tune(rec, "sticky", "strong"), rec, None, True)
    assert "; one stream cannot tell how uncertain that is." in tuned.tuning.explain()
