"""`compare`: every measure against scikit-learn or a plain loop."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter import Comparison, Rows, compare
from classfilter.tuning import tune, two_folds
from classfilter.tuning.search import DIRICHLET_HALF_LIVES
from compare_oracle import (
    LOOPS,
    K,
    by_hand,
    changed,
    clean,
    last_of_each_time,
    measures,
    messy,
    perfect,
    raw,
    values,
)

Floats = NDArray[np.float64]


@lru_cache
def some() -> tuple[Rows, ...]:
    """Of several lengths; one without labels, one with few."""
    first, second, third, fourth = (messy(seed, 0.6 + 0.2 * seed) for seed in range(4))
    assert third.label is not None
    few = np.where(np.arange(len(third)) < len(third) // 4, third.label, -1)
    return first, changed(second, label=None), changed(third, label=few), fourth


@lru_cache
def result() -> Comparison:
    return compare(some(), "strong", extra={"Perfect": perfect}, seed=5)


# --- the measures ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_the_measures_equal_scikit_learn(name: str) -> None:
    probs = [LOOPS[name](rec) for rec in some()]
    assert values(result(), name) == pytest.approx(by_hand(some(), probs), rel=1e-9)


def test_the_methods_that_are_compared() -> None:
    names = [row.name for row in result().rows]
    assert names == [
        "Raw", "Mean of 5", "Vote of 5", "Ema", "Hold", "Single", "Multiple",
        "Dirichlet, tuned", "Dirichlet, tuned, channel",
        "Sticky, tuned", "Sticky, tuned, channel", "Tuned", "Perfect",
        "Dirichlet, tuned, smoothed", "Sticky, tuned, smoothed", "Tuned, smoothed",
    ]  # fmt: skip
    smoothed = [row.smoothed for row in result().rows]
    assert smoothed == [False] * 13 + [True] * 3
    assert (result().streams, result().steps) == (4, sum(map(len, some())))
    assert result().reference == "strong"


@pytest.mark.slow
def test_tuned_on_the_other_fold() -> None:
    folds = two_folds(some(), "strong")
    assert folds is not None
    probs: dict[str, list[Floats]] = {}
    for fold, rest in folds:
        for name, tuned, method in [
            ("Dirichlet, tuned", tune(rest, "dirichlet", "strong", channel=False), "run"),
            ("Dirichlet, tuned, channel", tune(rest, "dirichlet", "strong", channel=True), "run"),
            ("Sticky, tuned", tune(rest, "sticky", "strong", channel=False), "run"),
            ("Sticky, tuned, channel", tune(rest, "sticky", "strong", channel=True), "run"),
            ("Tuned", tune(rest, "auto", "strong"), "run"),
            ("Dirichlet, tuned, smoothed", tune(rest, "dirichlet", "strong"), "smooth"),
            ("Sticky, tuned, smoothed", tune(rest, "sticky", "strong"), "smooth"),
            ("Tuned, smoothed", tune(rest, "auto", "strong"), "smooth"),
        ]:
            probs.setdefault(name, []).extend(getattr(tuned, method)(rec) for rec in fold)
    streams = [rec for fold, _ in folds for rec in fold]
    for name, arrays in probs.items():
        assert values(result(), name) == pytest.approx(by_hand(streams, arrays), rel=1e-9)


@pytest.mark.parametrize(("name", "weak"), [("Single", 1.0), ("Multiple", 0.5)])
def test_the_papers_weights_with_a_half_life(name: str, weak: float) -> None:
    """In each fold one of the half-lives that are tried; the counts add up over the folds."""
    folds = two_folds(some(), "strong")
    assert folds is not None
    correct: list[set[int]] = []
    for fold, _ in folds:
        correct.append(set())
        for n in DIRICHLET_HALF_LIVES:
            f = cf.DirichletFilter(fold[0].classes, half_life=5.0 * n, estimate="mean")
            parts = [
                last_of_each_time(
                    rec, cf.Pipeline.of(f, beta={"strong": 1.0, "weak": weak}).run(rec)
                )
                for rec in fold
            ]
            correct[-1].add(sum(int((p.argmax(axis=1) == y).sum()) for y, p, _ in parts))
    rows = sum(int((last_of_each_time(rec, raw(rec))[0] >= 0).sum()) for rec in some())
    got = values(result(), name)["accuracy"] * rows
    assert round(got) in {a + b for a in correct[0] for b in correct[1]}
    assert got == pytest.approx(round(got), abs=1e-6)


def test_perfect_probabilities() -> None:
    expected = {"accuracy": 1.0, "macro_f1": 1.0, "brier": 0.0, "delay": 0.0}
    expected["calibration_error"] = 0.0
    expected |= {"log_loss": math.log(1 + (K - 1) * 1e-3), "switches": result().true_switches}
    assert values(result(), "Perfect") == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert result().best("accuracy") == result().best("brier") == "Perfect"
    assert result().best("delay") is None  # a flickering estimate is fast by chance


def test_late_probabilities() -> None:
    recs = [clean(0), clean(1)]

    def late(rec: Rows) -> Floats:
        return np.concatenate([perfect(rec)[:1], perfect(rec)[:-1]])

    got = values(compare(recs, "strong", extra={"Late": late}), "Late")
    assert got == pytest.approx(by_hand(recs, list(map(late, recs))), rel=1e-9)
    assert got["delay"] == pytest.approx(5.0)


def test_few_streams_have_no_intervals() -> None:
    assert all(np.isnan([m.low, m.high]).all() for m in result().rows[0].measures.values())


@pytest.mark.slow
def test_the_intervals_equal_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["classfilter.compare.row_measures"], "FEWEST_STREAMS", 2)
    again = result.__wrapped__()
    folds = two_folds(some(), "strong")
    assert folds is not None
    streams = [rec for fold, _ in folds for rec in fold]
    sets = np.random.default_rng(5).integers(4, size=(1000, 4))
    labelled = [rec.label is not None for rec in streams]
    for name in ("Raw", "Hold"):
        known: dict[tuple[int, ...], dict[str, float]] = {}
        drawn: dict[str, list[float]] = {}
        for chosen in sets.tolist():
            key = tuple(sorted(chosen))
            if not any(labelled[i] for i in key):
                continue
            if key not in known:
                picked = [streams[i] for i in key]
                known[key] = by_hand(picked, [LOOPS[name](rec) for rec in picked])
            for measure, value in known[key].items():
                drawn.setdefault(measure, []).append(value)
        assert len(drawn["accuracy"]) < 1000  # some sets have no label at all
        for measure, got in measures(again, name).items():
            if "event" in measure:  # of the same sets
                continue
            expected = np.percentile(drawn[measure], [2.5, 97.5])
            assert got[1:] == pytest.approx(tuple(expected), rel=1e-9)


def test_the_true_switches_by_hand() -> None:
    """A change in 235 s, two in 275 s; the last two rows are at one time, and one row unknown."""
    rng = np.random.default_rng(0)
    first = cf.rows(
        time=np.arange(48) * 5.0,
        source="a",
        probs=rng.dirichlet([1, 1], 48),
        classes=2,
        label=np.repeat([0, 1], 24),
    )
    label = np.repeat([0, 1, 0], [20, 20, 18])
    time = np.minimum(np.arange(58), 56) * 5.0
    label[[10, 57]] = -1, 1  # it breaks the stream for 10 s; a change in the last 5 s
    second = cf.rows(time=time, source="a", probs=rng.dirichlet([1, 1], 58), classes=2, label=label)
    comparison = compare([first, second])
    assert comparison.true_switches == pytest.approx(3600 * (1 + 3) / (235 + 270), rel=1e-12)
    assert "\nThe true class switches 28.5 times, and has 4" in str(comparison)
    assert "2 streams, 106 steps;" in str(comparison)


def test_a_class_that_never_changes_has_no_delay() -> None:
    recs = [changed(clean(seed), label=np.zeros(720, int)) for seed in (0, 1)]
    comparison = compare(recs, "strong")
    assert all(math.isnan(x) for row in comparison.rows for x in row.measures["delay"])
    assert comparison.best("delay") is None
    assert not any(best for _, best in comparison.cells("delay"))
    assert comparison.true_switches == 0


# --- without labels -------------------------------------------------------------------------


def test_without_labels() -> None:
    """By the criterion of `tune`; the truth fits best, and classes turned around fit worst."""
    bare = [changed(clean(seed), label=label) for seed, label in ((0, None), (1, [-1] * 720))]

    def truth(rec: Rows) -> Floats:
        same = [np.array_equal(rec.probs, one.probs, equal_nan=True) for one in bare]
        return perfect(clean(same.index(True)))

    extra: dict[str, Any] = {
        f"turned {n}": lambda rec, n=n: np.eye(K)[(raw(rec).argmax(axis=1) + n) % K]
        for n in range(K)
    }
    comparison = compare(bare, "strong", extra=extra | {"Truth": truth})
    assert {tuple(row.measures) for row in comparison.rows} == {("agreement", "switches", "events")}
    assert math.isnan(comparison.true_switches)
    assert "The true class" not in str(comparison)
    assert "Times: how much more likely later predictions of strong are in its class" in str(
        comparison
    )
    assert measures(comparison, "turned 0") == measures(comparison, "Raw")
    fits = {row.name: row.measures["agreement"].value for row in comparison.rows}
    assert fits["Truth"] > fits["Raw"] > max(fits[f"turned {n}"] for n in range(1, K))
    assert fits["Tuned"] > fits["Raw"] + 0.1


@pytest.mark.slow
def ar1(seed: int, T: int = 4000, r: float = 0.8) -> Rows:
    """A class lasts 150 rows; errors of the logits are correlated from row to row by r."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(T, int)
    for t in range(1, T):
        truth[t] = truth[t - 1] if rng.random() > 1 / 150 else rng.integers(K)
    noise = rng.normal(size=(T, K))
    for t in range(1, T):
        noise[t] = r * noise[t - 1] + np.sqrt(1 - r**2) * noise[t]
    logits = np.eye(K)[truth] * 2.0 + noise * 1.6
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return cf.rows(time=np.arange(T) * 1.0, source="video", probs=probs, classes=K, label=truth)


@pytest.mark.slow
def test_one_source_with_correlated_errors_has_the_order_of_the_labels() -> None:
    recs = [ar1(seed) for seed in range(4)]
    names = ("Raw", "Mean of 5", "Ema", "Tuned")
    labelled = compare(recs)
    bare = compare([changed(rec, label=None) for rec in recs])
    accuracy = [values(labelled, name)["accuracy"] for name in names]
    fits = [values(bare, name)["agreement"] for name in names]
    assert sorted(accuracy) == accuracy
    assert accuracy[2] > accuracy[0] + 0.05
    assert sorted(fits) == fits


@pytest.mark.slow
def test_labels_change_the_measures_only() -> None:
    recs = [clean(0), clean(1)]
    rng = np.random.default_rng(0)
    plain = compare(recs, "strong")
    labels = [rng.permutation(np.asarray(rec.label)) for rec in recs]
    wrong = [changed(rec, label=label) for rec, label in zip(recs, labels, strict=True)]
    mixed = compare(wrong, "strong")
    bare = compare([changed(rec, label=None) for rec in recs], "strong")
    for row, wrong_row, bare_row in zip(plain.rows, mixed.rows, bare.rows, strict=True):
        assert row.name == wrong_row.name == bare_row.name
        switches = [r.measures["switches"] for r in (row, wrong_row, bare_row)]
        assert switches[0] == switches[1] == switches[2]
        assert wrong_row.measures["accuracy"].value < row.measures["accuracy"].value - 0.2
