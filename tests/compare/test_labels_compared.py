"""`compare` of several labels: by the head of each label, and by `label_scores`."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Comparison, Rows
from classfilter.metrics import label_scores
from classfilter.tuning import two_folds
from label_days import label_day, with_labels
from slow_metrics import slow_switches

NAN = float("nan")


@lru_cache
def some() -> tuple[Rows, ...]:
    """Five streams; scores and truth missing here and there, one label never on."""
    days = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rec = label_day(seed, 150 + 20 * seed)
        rec = with_labels(rec, never=rng.uniform(0, 0.4, len(rec)))
        assert rec.label is not None
        truth, scores = rec.label.copy(), rec.probs.copy()
        truth[:, -1] = 0
        truth[rng.random(truth.shape) < 0.1] = -1
        scores[rng.random(scores.shape) < 0.05] = NAN
        if seed == 3:
            truth[:, 1] = -1
        days.append(
            cf.rows(
                time=rec.time,
                source=rec.source_names,
                probs=scores,
                classes=rec.classes,
                label=truth,
                scores="independent",
            )
        )
    return tuple(days)


@lru_cache
def result() -> Comparison:
    return cf.compare(some(), "strong")


def last(rec: Rows) -> Any:
    """Return which rows are the last of their time."""
    return np.append(np.diff(rec.time) > 0, True)


def raw(rec: Rows) -> Any:
    """Return the last score of each label, one half before the first."""
    P = rec.probs.copy()
    for k in range(P.shape[1]):
        held = 0.5
        for t in range(len(P)):
            held = held if math.isnan(P[t, k]) else float(P[t, k])
            P[t, k] = held
    return P


def check(name: str, probs: Any) -> None:
    """Compare with `label_scores`, which is tested against scikit-learn, and with plain loops."""
    row = result()[name]
    true = np.concatenate([np.asarray(rec.label)[last(rec)] for rec in some()])
    P = np.concatenate([p[last(rec)] for rec, p in zip(some(), probs, strict=True)])
    scores = label_scores(true, P, labels=some()[0].classes)
    assert row.macro_f1 == pytest.approx(scores.macro_f1)
    assert row.accuracy == pytest.approx(scores.accuracy)
    known = true >= 0
    raised = np.maximum(np.stack([1 - P, P]), 1e-3)
    likely = (np.where(true == 1, raised[1], raised[0]) / raised.sum(axis=0))[known]
    assert row.log_loss == pytest.approx(-np.log(likely).mean())


def test_the_measures_are_those_of_the_metrics() -> None:
    check("Raw", [raw(rec) for rec in some()])


def test_tuned_filters_are_tuned_on_the_other_fold() -> None:
    folds = two_folds(some(), "strong")
    assert folds is not None
    of_stream: dict[int, Any] = {}
    for fold, rest in folds:
        tuned = cf.tune(rest, "auto", "strong", every=1)
        of_stream |= {id(rec): tuned.run(rec) for rec in fold}
    check("Tuned", [of_stream[id(rec)] for rec in some()])


def test_switches_per_hour_are_those_of_one_label() -> None:
    switches, seconds = 0, 0.0
    for rec in some():
        on, time = raw(rec)[last(rec)] > 0.5, rec.time[last(rec)].tolist()
        assert rec.label is not None
        for k, truth in enumerate(rec.label[last(rec)].T.tolist()):
            counted = slow_switches(truth, on[:, k].astype(int).tolist(), time, 50.0)
            switches, seconds = switches + counted[0], seconds + counted[1]
    assert result()["Raw"].switches == pytest.approx(3600 * switches / seconds)


def test_events_are_those_of_all_labels() -> None:
    found = true = predicted = 0
    for rec in some():
        heads = [rec.head(label) for label in rec.classes]
        for h, head in enumerate(heads):
            label = None if head.label is None else np.asarray(head.label)
            if label is None or (label < 0).all():
                continue
            on = raw(rec)[:, h]
            probs = np.stack([1 - on, on], axis=1)
            rows = cf.rows(time=rec.time, probs=probs, classes=["off", "on"], label=label)
            events = [e for e in cf.events(rows, cf.EventRule()) if e.label == "on"]
            truth = [e for e in cf.label_events(rows) if e.label == "on"]
            known = rec.time[label >= 0]
            events = [e for e in events if ((known >= e.start) & (known < (e.end or 0))).any()]
            scores = cf.metrics.event_scores(truth, events, iou=0.5)
            found, true = found + scores.found, true + scores.true
            predicted += scores.predicted
    assert result()["Raw"].event_f1 == pytest.approx(2 * found / (true + predicted))


def test_one_label_has_the_measures_of_its_head() -> None:
    days = [label_day(seed, 200, [(12, 18)], ["weak"]) for seed in range(6)]
    together = cf.compare(days)
    alone = cf.compare([rec.head("bird0") for rec in days])
    for name in ("Raw", "Mean of 5", "EMA", "Tuned"):
        for key in ("accuracy", "switches", "delay"):
            expected = getattr(alone[name], key)
            assert getattr(together[name], key) == pytest.approx(expected, rel=1e-9), (name, key)
    assert together.true_switches == pytest.approx(alone.true_switches)


@pytest.mark.slow
def test_without_truth_it_is_the_mean_agreement_of_the_labels() -> None:
    days = [label_day(seed, 120, [(6, 9), (10, 8)], labelled=False) for seed in range(4)]
    comparison = cf.compare(days, "strong")
    alone = [cf.compare([rec.head(x) for rec in days], "strong") for x in days[0].classes]
    for name in ("Raw", "Mean of 5", "Hold"):
        mean = np.mean([one[name].agreement for one in alone])
        assert comparison[name].agreement == pytest.approx(mean)
    assert "2 labels: F1 is their mean, and rates are of one label." in str(comparison)


@pytest.mark.slow
def test_rare_labels_do_not_break_it() -> None:
    days = []
    for seed in range(3):
        rec = label_day(seed, 120, labelled=False)
        T = len(rec)
        rare = {"zero": np.zeros(T), "unseen": np.full(T, NAN), "one": np.ones(T)}
        rare["here"] = np.full(T, 0.3 if seed else NAN)
        days.append(with_labels(rec, **rare))
    comparison = cf.compare(days, "strong")
    assert all(row.smoothed or math.isfinite(row.agreement) for row in comparison.rows)


def test_the_best_is_by_macro_f1() -> None:
    assert result().labels == tuple(some()[0].classes)
    text = str(result())
    assert "macro-F1" in text
    assert "4 labels: F1 is their mean" in text
    assert max(map(len, text.split("\n"))) <= 100

    def perfect(rec: Rows) -> Any:
        return np.maximum(np.asarray(rec.label), 0)

    other = cf.compare(some(), "strong", extra={"Perfect": perfect})
    assert other.best("macro_f1") == "Perfect"
    assert other["Perfect"].accuracy == 1.0


def test_heads_of_several_classes() -> None:
    T, days = 1600, []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        on, activity = (np.repeat(rng.integers(0, K, T // 40), 40) for K in (2, 3))
        scores = np.clip(0.3 + 0.4 * on + rng.normal(0, 0.2, T), 0, 1)
        probs = 0.2 + 0.4 * np.eye(3)[activity] + 0.5 * rng.random((T, 3))
        truth = np.where(rng.random((T, 2)) < 0.5, -1, np.stack([on, activity], axis=1))
        days.append(
            cf.rows(
                time=np.arange(T) * 5.0,
                source=np.where(np.arange(T) % 10 == 0, "strong", "weak"),
                probs=np.column_stack([scores, probs / probs.sum(axis=1, keepdims=True)]),
                classes={"robin": None, "activity": ["walk", "sit", "run"]},
                label=truth,
            )
        )
    together = cf.compare(days, "strong")["Raw"]
    right = known = 0
    f1 = []
    for name in ("robin", "activity"):
        heads = [rec.head(name) for rec in days]
        label = np.concatenate([np.asarray(head.label).reshape(T) for head in heads])
        shown = np.concatenate([head.probs for head in heads])
        k = (shown[:, -1] > 0.5).astype(int) if name == "robin" else shown.argmax(axis=1)
        right, known = right + int((k == label).sum()), known + int((label >= 0).sum())
        for c in (1,) if name == "robin" else (0, 1, 2):
            both = ((k == c) & (label == c)).sum()
            f1.append(2 * both / ((label == c).sum() + ((k == c) & (label >= 0)).sum()))
    assert together.accuracy == pytest.approx(right / known)
    assert together.macro_f1 == pytest.approx(np.mean(f1))
