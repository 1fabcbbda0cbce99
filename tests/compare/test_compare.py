"""`compare`: every measure of rows against scikit-learn or a plain loop."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter import Comparison, Rows, compare
from classfilter.tuning import tune, two_folds
from compare_oracle import LOOPS, K, by_hand, changed, clean, messy, perfect, raw, values

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
    return compare(some(), "strong", extra={"Perfect": perfect})


def part(rec: Rows, rows: slice) -> Rows:
    assert rec.label is not None
    return cf.rows(
        time=rec.time[rows],
        source=rec.source_names[rows],
        probs=rec.probs[rows],
        classes=rec.classes,
        label=rec.label[rows],
    )


# --- the measures ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_the_measures_equal_scikit_learn(name: str) -> None:
    probs = [LOOPS[name](rec) for rec in some()]
    assert values(result(), name) == pytest.approx(by_hand(some(), probs), rel=1e-9)


def test_the_methods_that_are_compared() -> None:
    names = [(row.name, row.smoothed) for row in result().rows]
    ours = ("Raw", "Raw, rule", "Mean of 5", "Vote of 5", "EMA", "Hold", "Hold, rule")
    tuned = ("Single", "Multiple", "Dirichlet", "Tuned", "Tuned, rule", "Perfect")
    smoothed = ("Dirichlet, smoothed", "Tuned, smoothed", "Tuned, smoothed, rule")
    assert names[: len(ours)] == [(name, False) for name in ours]  # then other baselines
    assert names[-len(tuned + smoothed) :] == [
        *((name, False) for name in tuned),
        *((name, True) for name in smoothed),
    ]
    assert result().reference == "strong"


def test_tuned_on_the_other_fold() -> None:
    folds = two_folds(some(), "strong")
    assert folds is not None
    streams = [rec for fold, _ in folds for rec in fold]
    for name, kind in (("Dirichlet", "dirichlet"), ("Tuned", "auto")):
        live, smoothed = [], []
        for fold, rest in folds:
            pipe = tune(rest, kind, "strong", every=1)  # type: ignore[arg-type]
            live += [pipe.run(rec) for rec in fold]
            smoothed += [pipe.smooth(rec) for rec in fold]
        for row, P in ((name, live), (f"{name}, smoothed", smoothed)):
            assert values(result(), row) == pytest.approx(by_hand(streams, P), rel=1e-9)


@pytest.mark.parametrize(("name", "weak"), [("Single", 1.0), ("Multiple", 0.5)])
def test_the_papers_weights_with_the_tuned_memory(name: str, weak: float) -> None:
    folds = two_folds(some(), "strong")
    assert folds is not None
    probs = []
    for fold, rest in folds:
        tuned: Any = tune(rest, "dirichlet", "strong", every=1).filter
        f = cf.DirichletFilter(fold[0].classes, gamma=tuned.gamma, estimate="mean")
        pipe = cf.Pipeline.of(f, beta={"strong": 1.0, "weak": weak})
        probs += [pipe.run(rec) for rec in fold]
    streams = [rec for fold, _ in folds for rec in fold]
    assert values(result(), name) == pytest.approx(by_hand(streams, probs), rel=1e-9)


def test_perfect_probabilities() -> None:
    expected = {"accuracy": 1.0, "macro_f1": 1.0, "delay": 0.0, "calibration_error": 0.0}
    expected |= {"log_loss": math.log(1 + (K - 1) * 1e-3), "switches": result().true_switches}
    assert values(result(), "Perfect") == pytest.approx(expected, rel=1e-12, abs=1e-12)
    for measure in ("accuracy", "macro_f1", "log_loss", "event_f1"):
        assert result().best(measure) == "Perfect"
    assert result()["Perfect"].differences["accuracy"] == (0, 0, 0, "best")
    assert result()["Raw"].differences["accuracy"].word == "worse"
    assert result()["Raw"].differences["log_loss"].value > 0
    assert result()["Raw"].differences["log_loss"].word == "worse"  # low is good


def test_late_probabilities() -> None:
    recs = [clean(0), clean(1)]

    def late(rec: Rows) -> Floats:
        return np.concatenate([perfect(rec)[:1], perfect(rec)[:-1]])

    got = values(compare(recs, "strong", extra={"Late": late}), "Late")
    assert got == pytest.approx(by_hand(recs, list(map(late, recs))), rel=1e-9)
    assert got["delay"] == pytest.approx(5.0)


@pytest.mark.filterwarnings("ignore:.*agree hardly more than by chance")
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
    assert "\nBy the labels, there are 28.5 switches and " in str(comparison)
    assert "2 streams, 106 rows;" in str(comparison)


def test_a_class_that_never_changes_has_no_delay() -> None:
    recs = [changed(clean(seed), label=np.zeros(720, int)) for seed in (0, 1)]
    comparison = compare(recs, "strong")
    assert all(math.isnan(row.delay) for row in comparison.rows)
    assert "delay" not in comparison.table
    assert comparison.true_switches == 0


# --- without labels -------------------------------------------------------------------------


def agreement_by_hand(recs: list[Rows], probs: list[Floats], calls: int) -> float:
    """Return how often the class is what the reference predicts so many calls after the row."""
    agreed = []
    for rec, P in zip(recs, probs, strict=True):
        strong = [t for t in range(len(rec)) if rec.source_names[t] == "strong"]
        strong = [t for t in strong if not np.isnan(rec.probs[t, 0])]
        for t in range(len(rec)):
            if t + 1 < len(rec) and rec.time[t + 1] == rec.time[t]:
                continue
            later = [s for s in strong if rec.time[s] > rec.time[t]]
            if len(later) >= calls:
                agreed.append(rec.probs[later[calls - 1]].argmax() == P[t].argmax())
    return float(np.mean(agreed))


@pytest.mark.parametrize(("every", "calls"), [(12, 1), (4, 3)])
def test_without_labels_it_is_the_agreement_with_later_predictions(every: int, calls: int) -> None:
    recs = []
    for seed in (0, 1):
        day = cf.simulate("plain", hours=1.0, seed=seed)
        strong = np.arange(len(day.time)) % every == 0
        probs = np.where(strong[:, None], day.probs["strong"], day.probs["weak"])
        source = np.where(strong, "strong", "weak")
        recs.append(cf.rows(time=day.time, source=source, probs=probs, classes=day.classes))
    comparison = compare(recs, "strong", events="5min")
    for name in ("Raw", "Hold"):
        expected = agreement_by_hand(recs, [LOOPS[name](rec) for rec in recs], calls)
        assert comparison[name].agreement == pytest.approx(expected)
    assert math.isnan(comparison["Raw"].accuracy)
    assert math.isnan(comparison.true_switches)
    for name in ("Tuned, smoothed", "Tuned, rule"):  # they have seen what would judge them
        assert math.isnan(comparison[name].agreement)
        assert comparison[name].events > 0
    when = "call" if calls == 1 else f"{calls} calls"
    text = " ".join(str(comparison).split())
    assert f"There are no labels, so nothing here is accuracy. Agreement: how often the class is what strong predicts {when} later" in text  # fmt: skip # noqa: E501
    assert "accuracy (%)" not in text


@pytest.mark.slow
def test_one_source_with_correlated_errors_has_the_order_of_the_labels() -> None:
    """A class lasts 150 rows; errors of the logits are correlated from row to row by 0.8."""

    def ar1(seed: int, T: int = 4000, r: float = 0.8) -> Rows:
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

    recs = [ar1(seed) for seed in range(4)]
    names = ("Raw", "Mean of 5", "EMA", "Tuned")
    labelled = compare(recs)
    bare = compare([changed(rec, label=None) for rec in recs])
    accuracy = [labelled[name].accuracy for name in names]
    assert sorted(accuracy) == accuracy
    fits = [bare[name].agreement for name in names]
    assert sorted(fits) == fits


@pytest.mark.slow
def test_labels_change_the_measures_only() -> None:
    recs = [clean(0), clean(1)]
    rng = np.random.default_rng(0)
    plain = compare(recs, "strong", events="5min")
    labels = [rng.permutation(np.asarray(rec.label)) for rec in recs]
    wrong = [changed(rec, label=label) for rec, label in zip(recs, labels, strict=True)]
    mixed = compare(wrong, "strong", events="5min")
    bare = compare([changed(rec, label=None) for rec in recs], "strong", events="5min")
    for row, wrong_row, bare_row in zip(plain.rows, mixed.rows, bare.rows, strict=True):
        assert row.name == wrong_row.name == bare_row.name
        assert row.switches == wrong_row.switches == bare_row.switches
        assert wrong_row.accuracy < row.accuracy - 0.2


# --- recordings, other methods, errors --------------------------------------------------------


def test_one_recording_is_cut_in_two() -> None:
    rec = clean(3, 2.0)
    got = compare(rec, "strong", extra={"Mine": perfect})
    strong = np.flatnonzero(rec.of_source("strong"))
    middle = int(strong[len(strong) // 2])
    both = [part(rec, slice(0, middle)), part(rec, slice(middle, None))]
    assert got.rows == compare(both, "strong", extra={"Mine": perfect}).rows
    assert values(got, "Raw") == pytest.approx(by_hand(both, list(map(raw, both))), rel=1e-9)
    assert "paired over 16 blocks" in " ".join(str(got).split())


@pytest.mark.parametrize("place", [2, pytest.param(0, marks=pytest.mark.slow)])
def test_one_of_several_recordings_has_the_reference(place: int) -> None:
    """The others may have its times; they are not measured."""
    rec = clean(3, 2.0)
    weak = [changed(clean(seed, 2.0), source="weak") for seed in (4, 5)]
    recs = [*weak[:place], rec, *weak[place:]]
    got = compare(recs, "strong", extra={"Mine": perfect})
    assert got["Mine"].accuracy == 1.0
    assert "1,440 rows;" in str(got)


def test_one_source() -> None:
    recs = [changed(clean(seed), source="weak") for seed in (0, 1)]
    got = compare(recs)
    assert got.reference == "weak"
    names = {row.name for row in got.rows}
    assert not {"Hold", "Multiple"} & names  # no source is better than another
    assert {"Raw", "EMA", "Single", "Tuned", "Tuned, smoothed"} <= names


def test_probabilities_may_be_lists_and_of_smoothers() -> None:
    recs = [clean(0), clean(1)]
    got = compare(recs, "strong", extra={"Mine, smoothed": lambda rec: perfect(rec).tolist()})
    assert got.rows[-1].name == "Mine, smoothed"
    assert got["Mine, smoothed"].differences["accuracy"].word == "better"
    assert got.best("accuracy") not in (None, "Mine, smoothed")  # it uses later rows


def test_progress() -> None:
    shares: list[float] = []
    compare([clean(0), clean(1)], "strong", progress=shares.append)
    assert shares == sorted(set(shares))
    assert 0 < shares[0] < 0.1
    assert shares[-1] == 1.0


def test_few_predictions_give_a_warning() -> None:
    recs = [part(clean(seed), slice(0, 20 * 12)) for seed in (0, 1)]
    with pytest.warns(UserWarning, match="tuning needs"):
        got = compare(recs, "strong")
    assert values(got, "Raw") == pytest.approx(by_hand(recs, list(map(raw, recs))), rel=1e-9)
