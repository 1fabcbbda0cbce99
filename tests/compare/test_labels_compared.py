"""`compare` of several labels at once: by the head of each label, and by scikit-learn."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Comparison, Rows
from classfilter.compare import Measure, Row
from classfilter.compare.row_measures import judge, measured
from classfilter.metrics import label_scores
from classfilter.tuning import two_folds
from label_days import label_day, with_labels
from slow_metrics import slow_switches

NAN = float("nan")
SIMPLE = ("Raw", "Threshold 0.5", "Thresholds 0.5/0.35", "Mean of 5", "Ema", "Hold")
TUNED = ("Dirichlet, tuned", "Sticky, tuned", "Tuned")


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
    return cf.compare(some(), "strong", seed=3)


def row_of(comparison: Comparison, name: str) -> Row:
    (row,) = [row for row in comparison.rows if row.name == name]
    return row


def by_loop(name: str, rec: Rows) -> Any:
    """Return what a simple rule makes of each label, (T, L), row by row."""
    P = np.empty(rec.probs.shape)
    for k in range(len(rec.classes)):
        last: list[float] = []
        held, by_strong, on, ema = 0.5, False, False, [0.0, 0.0]
        before = rec.time[0]
        for t, s in enumerate(rec.probs[:, k].tolist()):
            passed = 0.9 ** ((rec.time[t] - before) / 5.0)
            before = rec.time[t]
            ema = [x * passed for x in ema]
            if not math.isnan(s):
                last.append(s)
                strong = bool(rec.source_names[t] == "strong")
                held = s if strong or not by_strong else held
                by_strong |= strong
                ema = [ema[0] + (1 - s), ema[1] + s]
            now = last[-1] if last else 0.5
            on = now >= 0.5 or (on and now >= 0.35)
            P[t, k] = {
                "Raw": now,
                "Threshold 0.5": float(now > 0.5),
                "Thresholds 0.5/0.35": float(on),
                "Mean of 5": np.mean(last[-5:]) if last else 0.5,
                "Ema": ema[1] / sum(ema) if sum(ema) else 0.5,
                "Hold": held,
            }[name]
    return P


@pytest.mark.slow
def test_the_methods_that_are_compared() -> None:
    smoothed = tuple(f"{name}, smoothed" for name in TUNED)
    assert tuple(row.name for row in result().rows) == SIMPLE + TUNED + smoothed
    assert [row.smoothed for row in result().rows] == [False] * 9 + [True] * 3


@pytest.mark.parametrize("name", SIMPLE)
def test_the_measures_are_those_of_the_metrics(name: str) -> None:
    probs = [by_loop(name, rec) for rec in some()]
    _check(row_of(result(), name), probs)


@pytest.mark.parametrize("name", TUNED)
def test_tuned_filters_are_tuned_on_the_other_fold(name: str) -> None:
    kind: Any = {"Tuned": "auto"}.get(name, name.split(",")[0].lower())
    folds = two_folds(some(), "strong")
    assert folds is not None
    of_stream: dict[int, Any] = {}
    for fold, rest in folds:
        tuned = cf.tune(rest, kind, "strong", every=1)
        of_stream |= {id(rec): tuned.run(rec) for rec in fold}
    _check(row_of(result(), name), [of_stream[id(rec)] for rec in some()])


def _check(row: Row, probs: Any) -> None:
    """Compare with `label_scores`, which is tested against scikit-learn, and with plain loops."""
    last = [np.append(np.diff(rec.time) > 0, True) for rec in some()]
    true = np.concatenate(
        [np.asarray(rec.label)[end] for rec, end in zip(some(), last, strict=True)]
    )
    P = np.concatenate([p[end] for p, end in zip(probs, last, strict=True)])
    scores = label_scores(true, P, labels=some()[0].classes)
    measures = {key: measure.value for key, measure in row.measures.items()}
    assert measures["macro_f1"] == pytest.approx(scores.macro_f1)
    assert measures["micro_f1"] == pytest.approx(scores.f1)
    assert measures["accuracy"] == pytest.approx(scores.accuracy)
    if row.name != "Ema":  # rounding decides there which scores are tied
        assert measures["average_precision"] == pytest.approx(scores.macro_average_precision)
    known = true >= 0
    squared = 2 * (P[known] - true[known]) ** 2
    assert measures["brier"] == pytest.approx(squared.mean())
    raised = np.maximum(np.stack([1 - P, P]), 1e-3)
    likely = (np.where(true == 1, raised[1], raised[0]) / raised.sum(axis=0))[known]
    assert measures["log_loss"] == pytest.approx(-np.log(likely).mean())
    for label, of_label in row.by_head.items():
        one = scores.by_class[label]
        assert of_label["f1"] == pytest.approx(one.f1, nan_ok=True)
        assert of_label["accuracy"] == pytest.approx(one.accuracy)
        if row.name != "Ema":
            ap = pytest.approx(one.average_precision, nan_ok=True)
            assert of_label["average_precision"] == ap


def test_one_label_has_the_measures_of_its_head() -> None:
    """With their intervals: the same streams are resampled."""
    days = [label_day(seed, 200, [(12, 18)], ["weak"]) for seed in range(6)]
    together = cf.compare(days, seed=1)
    alone = cf.compare([rec.head("bird0") for rec in days], seed=1)
    for row in together.rows:
        if row.name.startswith("Threshold"):
            continue
        head = row_of(alone, row.name).measures
        # Tuned by itself, a head of one source has a temperature, which changes no class.
        probs = () if "tuned" in row.name.lower() else ("log_loss", "brier")
        for key in ("accuracy", "switches", "delay", *probs):
            assert row.measures[key] == pytest.approx(head[key], rel=1e-9), (row.name, key)
    assert together.true_switches == pytest.approx(alone.true_switches)


def test_changes_an_hour_are_those_of_one_label() -> None:
    switches, seconds = 0, 0.0
    for rec in some():
        end = np.append(np.diff(rec.time) > 0, True)
        on, time = by_loop("Raw", rec)[end] > 0.5, rec.time[end].tolist()
        assert rec.label is not None
        for k, truth in enumerate(rec.label[end].T.tolist()):
            counted = slow_switches(truth, on[:, k].astype(int).tolist(), time, 50.0)
            switches, seconds = switches + counted[0], seconds + counted[1]
    per_hour = 3600 * switches / seconds
    assert row_of(result(), "Raw").measures["switches"].value == pytest.approx(per_hour)


@pytest.mark.slow
def test_without_truth_each_label_is_judged_as_its_head_is() -> None:
    days = [label_day(seed, 120, [(6, 9), (10, 8)], labelled=False) for seed in range(4)]
    comparison = cf.compare(days, "strong")
    alone = {
        label: cf.compare([rec.head(label) for rec in days], "strong") for label in days[0].classes
    }
    assert list(comparison.rows[0].measures) == ["agreement", "switches"]
    for name in ("Raw", "Mean of 5", "Hold"):
        row = row_of(comparison, name)
        heads = {label: row_of(head, name).measures for label, head in alone.items()}
        for key in ("agreement", "switches"):
            for label, measures in heads.items():
                assert row.by_head[label][key] == pytest.approx(measures[key].value)
            mean = np.mean([measures[key].value for measures in heads.values()])
            assert row.measures[key].value == pytest.approx(mean)
    text = " ".join(str(comparison).split())
    assert "of strong are in its class than on average, the mean over labels." in text


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
    assert all(math.isfinite(row.measures["agreement"].value) for row in comparison.rows)
    assert math.isnan(row_of(comparison, "Raw").by_head["unseen"]["agreement"])


def test_the_table_has_a_row_for_each_label() -> None:
    table = result().to_table("pandas", by_head=True)
    assert len(table) == len(result().rows) * 4
    assert table.columns.tolist()[:5] == ["method", "smoothed", "label", "f1", "average_precision"]
    assert table["f1"][1] == result().rows[0].by_head["bird1"]["f1"]
    assert result().best("macro_f1") in TUNED
    text = str(result())
    assert "4 labels, 5 streams" in text
    assert "A label truly switches" in text
    assert isinstance(result().rows[0].measures["average_precision"], Measure)


@pytest.mark.slow
def test_other_methods_and_what_is_refused() -> None:
    days = [label_day(seed, 200, [(6, 9)]) for seed in range(2)]
    other = cf.compare(days, "strong", extra={"Perfect": lambda rec: np.asarray(rec.label)})
    assert row_of(other, "Perfect").measures["micro_f1"].value == 1.0
    with pytest.raises(
        ValueError, match=r"events is True; .* one label: compare\(rows.head\(label\), events=True"
    ):
        cf.compare(days, "strong", events=True)
    of_head = cf.compare([rec.head("bird0") for rec in days], "strong")
    with pytest.raises(ValueError, match="by_head is True; the classes exclude each other"):
        of_head.to_table(by_head=True)


def day_of_heads(seed: int, labelled: bool = True) -> Rows:
    """Return a label and a head of three classes, half of whose truth is known."""
    T = 200
    rng = np.random.default_rng(seed)
    on, activity = (np.repeat(rng.integers(0, K, T // 10), 10) for K in (2, 3))
    scores = np.clip(0.3 + 0.4 * on + rng.normal(0, 0.2, T), 0, 1)
    probs = 0.2 + 0.4 * np.eye(3)[activity] + 0.5 * rng.random((T, 3))
    probs /= probs.sum(axis=1, keepdims=True)
    truth = np.where(rng.random((T, 2)) < 0.5, -1, np.stack([on, activity], axis=1))
    return cf.rows(
        time=np.arange(T) * 5.0,
        source=np.where(np.arange(T) % 10 == 0, "strong", "weak"),
        probs=np.column_stack([scores, probs]),
        classes={"robin": None, "activity": ["walk", "sit", "run"]},
        label=truth if labelled else None,
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_each_head_has_the_measures_that_it_has_by_itself(labelled: bool) -> None:
    days, sets = [day_of_heads(seed, labelled) for seed in range(5)], np.arange(5)[None]

    def of(some: list[Rows]) -> Row:
        scores: Any = [None] * 5 if labelled else judge(some, "strong")
        return measured("Raw", False, some, [rec.probs for rec in some], scores, sets)

    row = of(days)
    assert list(row.by_head) == ["robin", "activity"]
    alone = {name: of([rec.head(name) for rec in days]).measures for name in row.by_head}
    for name, measures in row.by_head.items():
        for key in alone[name].keys() & measures.keys() - {"macro_f1"}:
            assert measures[key] == pytest.approx(alone[name][key].value), (name, key)
    means = {key: measure.value for key, measure in row.measures.items()}
    if labelled:
        activity = row.by_head["activity"]["f1"]
        assert activity == pytest.approx(alone["activity"]["macro_f1"].value)
        of_columns = [row.by_head["robin"]["f1"], *3 * [activity]]
        assert means["macro_f1"] == pytest.approx(np.mean(of_columns))
    else:
        for key in ("agreement", "switches"):
            assert means[key] == pytest.approx(np.mean([one[key].value for one in alone.values()]))
