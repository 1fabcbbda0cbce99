"""`compare` by events: every number recomputed from the events of all streams."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Comparison, Rows, compare
from classfilter.tuning import tune, two_folds
from compare_oracle import changed, clean, raw

RULE = cf.EventRule("10s", merge_gap=30)


@lru_cache
def some() -> tuple[Rows, ...]:
    """Of several lengths, one without labels, one with some."""
    first, second, third = (clean(seed, 0.7 + 0.1 * seed) for seed in range(3))
    assert third.label is not None
    late = np.where(np.arange(len(third)) < 40, -1, third.label)
    return first, changed(second, label=None), changed(third, label=late)


def uneven(rec: Rows) -> Any:
    """Return the mean of nine rows, as another method would."""
    P = np.nan_to_num(rec.probs, nan=1 / len(rec.classes))
    ones = np.ones(9)
    sums = np.array([np.convolve(p, ones, "same") for p in P.T]).T
    return sums / sums.sum(axis=1, keepdims=True)


@lru_cache
def result() -> Comparison:
    return compare(some(), "strong", events=RULE, extra={"Mine": uneven})


def events_of(rule: Any, method: Any) -> list[cf.Event]:
    """Return the events of all labelled streams; what lies before the first label is left out."""
    found = []
    for i, rec in enumerate(some()):
        if rec.label is None:
            continue
        rows = cf.rows(time=rec.time, source="mine", probs=method(rec), classes=rec.classes)
        begin = rec.time[np.flatnonzero(rec.label >= 0)[0]]
        found += [e for e in cf.events({i: rows}, rule) if e.end is not None and e.end > begin]
    return found


@pytest.mark.parametrize(
    ("name", "method", "rule"),
    [("Raw", raw, cf.EventRule()), ("Raw, rule", raw, RULE), ("Mine", uneven, cf.EventRule())],
)
def test_scores_are_those_of_all_streams(name: str, method: Any, rule: Any) -> None:
    known = {i: rec for i, rec in enumerate(some()) if rec.label is not None}
    events = events_of(rule, method)
    scores = cf.metrics.event_scores(cf.label_events(known), events, iou=0.5)
    row = result()[name]
    got = row.event_f1, row.event_precision, row.event_recall
    assert got == pytest.approx((scores.f1, scores.precision, scores.recall))
    hours = sum(
        float((rec.time[-1] - rec.time[np.flatnonzero(rec.label >= 0)[0]]) / 3600)
        for rec in known.values()
        if rec.label is not None
    )
    assert row.events == pytest.approx(len(events) / hours)
    assert result().true_events == pytest.approx(scores.true / hours)


def test_rows_under_a_rule_have_the_classes_of_its_events() -> None:
    right = labelled = 0
    for i, rec in enumerate(some()):
        if rec.label is None:
            continue
        rows = cf.rows(time=rec.time, source="mine", probs=raw(rec), classes=rec.classes)
        events = list(cf.events({i: rows}, RULE))
        for t, y in zip(rec.time.tolist(), rec.label.tolist(), strict=True):
            inside = [e.label for e in events if e.end is not None and e.start <= t < e.end]
            labelled += y >= 0
            right += y >= 0 and inside[-1:] == [rec.classes[y]]
    row = result()["Raw, rule"]
    assert row.accuracy == pytest.approx(right / labelled)
    assert math.isnan(row.log_loss)  # its rows have classes only
    assert math.isnan(row.delay)  # and are decided when later ones are there


def test_only_events_of_a_rule_can_be_the_best_live_ones() -> None:
    """A rule decides a row when later ones are there."""
    comparison = result()
    assert comparison.best("accuracy") in {"Tuned", "Hold", "Mine", "Dirichlet", "Multiple"}
    f1 = {row.name: row.event_f1 for row in comparison.rows if not row.smoothed}
    assert comparison.best("event_f1") == max(f1, key=f1.__getitem__)


@pytest.mark.parametrize("given", [True, "4min"])
def test_the_rule_has_as_many_events_as_fit(given: Any) -> None:
    """On the streams it is made on: at its cost, but not at one a tenth less."""
    recs = [clean(seed, 1.0) for seed in range(4)]
    found = compare(recs, "strong", events=given)
    folds = two_folds(recs, "strong")
    assert folds is not None
    tally = []
    for fold, rest in folds:
        pipe = tune(rest, "auto", "strong", every=1)
        hours = sum(float(rec.time[-1] - rec.time[0]) for rec in rest)
        lengths = [e.end - e.start for rec in rest for e in cf.label_events(rec) if e.end]
        lasts = 240.0 if given == "4min" else float(np.mean(lengths))

        def count(streams: Any, cost: float, pipe: Any = pipe) -> int:
            return sum(len(cf.events(rec, pipe, cf.EventRule(cost))) for rec in streams)

        costs = np.geomspace(0.2, 400, 600).tolist()
        least = next(cost for cost in costs if count(rest, cost) <= hours / lasts)
        tally.append((count(fold, 1.08 * least), count(fold, 0.95 * least)))
    total = found["Tuned, rule"].events * sum(float(r.time[-1] - r.time[0]) for r in recs) / 3600
    low, high = (sum(part) for part in zip(*tally, strict=True))
    assert low <= round(total, 6) <= high
    assert found["Tuned, rule"].events < found["Tuned"].events


@pytest.mark.parametrize("given", [False, True])
def test_without_a_duration_there_is_no_rule(given: bool) -> None:
    bare = [changed(clean(seed), label=None) for seed in (0, 1)]
    comparison = compare(bare, "strong", events=given)
    assert not any("rule" in row.name for row in comparison.rows)
    assert ('events="5min"' in str(comparison)) == given


def test_predictions_where_there_is_no_label_count_for_nothing() -> None:
    """Of each label by itself: what is unknown of one is known of another."""
    rng = np.random.default_rng(0)
    days = []
    for _ in range(2):
        on = np.repeat(rng.integers(0, 2, (40, 2)), 20, axis=0)
        label = on.copy()
        label[:400, 0] = -1
        probs = np.clip(0.2 + 0.6 * on + rng.normal(0, 0.3, on.shape), 0, 1)
        days.append(
            cf.rows(
                time=np.arange(800) * 5.0,
                probs=probs,
                classes=["robin", "wren"],
                label=label,
                scores="independent",
            )
        )
    got = compare(days)["Raw"]
    predicted = 0
    for rec in days:
        assert rec.label is not None
        for k in (0, 1):
            on = (rec.probs[:, k] > 0.5).tolist()
            known = (rec.label[:, k] >= 0).tolist()
            ends = [t for t in range(1, 801) if on[t - 1] and (t == 800 or not on[t])]
            for end in ends:
                first = end
                while first > 0 and on[first - 1]:
                    first -= 1
                predicted += any(known[first:end])
    hours = 2 * (399 + 799) * 5.0 / 3600
    assert got.events == pytest.approx(predicted / hours)
