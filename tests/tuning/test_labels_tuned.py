"""Tuning of several labels at once: each label by itself, rare ones together."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Rows
from classfilter.pipeline import Pipeline, under_rule
from classfilter.tuning import LabelTuning, untempered
from label_days import label_day, with_labels

NAN = float("nan")
LENGTHS = ((6, 9), (10, 8))


def pooled_lanes(recs: Any) -> list[Rows]:
    """Return the lanes of all labels as streams of two classes, off and on."""
    return [
        cf.rows(
            time=rec.time,
            source=rec.source_names,
            probs=np.stack([1 - rec.probs[:, k], rec.probs[:, k]], axis=1),
            classes=["off", "on"],
            label=None if rec.label is None else rec.label[:, k],
        )
        for k in range(len(recs[0].classes))
        for rec in recs
    ]


def settings(pipe: cf.Pipeline) -> dict[str, Any]:
    """Return all settings but the names of the classes, which a lane and the pool have not."""
    return {key: value for key, value in pipe.settings.items() if key != "classes"}


@lru_cache
def recs() -> tuple[Rows, ...]:
    """Two labels with plenty of data, and rare ones of each kind."""
    days = []
    for seed in range(3):
        rec = label_day(seed, 240, LENGTHS)
        T, rng = len(rec), np.random.default_rng(seed)
        once = rng.uniform(0, 0.3, T)
        if seed == 1:
            once[100:110] = 0.9
        here = rng.uniform(0, 0.3, T) if seed else np.full(T, NAN)
        weak_only = np.where(rec.of_source("weak"), rng.uniform(size=T), NAN)
        rare = {"once": once, "some_streams": here, "zero": np.zeros(T), "one": np.ones(T)}
        rare |= {"unseen": np.full(T, NAN), "weak_only": weak_only}
        days.append(with_labels(rec, **rare))
    return tuple(days)


@lru_cache
def tuned() -> Pipeline:
    return cf.tune(recs(), reference="strong")


OWN = ("bird0", "bird1")
POOLED = tuple(name for name in recs()[0].classes if name not in OWN)


@pytest.mark.parametrize("label", OWN)
def test_a_label_with_plenty_of_data_has_the_settings_of_its_lanes(label: str) -> None:
    alone = untempered(cf.tune([rec.head(label) for rec in recs()], reference="strong"))
    assert under_rule(tuned().head(label), None).settings == under_rule(alone, None).settings
    assert tuned().tuning.by_label[label].tuning.candidate == alone.tuning.candidate
    assert tuned().tuning.by_label[label].tuning.effect == alone.tuning.effect


def test_rare_labels_have_the_settings_of_all_labels_together() -> None:
    pooled = untempered(cf.tune(pooled_lanes(recs()), reference="strong"))
    for label in POOLED:
        assert settings(under_rule(tuned().head(label), None)) == settings(under_rule(pooled, None))
    assert len({id(tuned().tuning.by_label[label]) for label in POOLED}) == 1


def test_a_saved_pipe_is_the_same(tmp_path: Path) -> None:
    tuned().save(tmp_path / "birds.json")
    again = cf.load(tmp_path / "birds.json")
    assert again.settings == tuned().settings
    assert np.array_equal(again.run(recs()[1]), tuned().run(recs()[1]))


def test_a_source_that_never_predicts_a_label_has_the_pooled_weight() -> None:
    days = [
        with_labels(rec, quiet=np.where(rec.of_source("strong"), rec.probs[:, 0], NAN))
        for rec in (label_day(seed, 240, LENGTHS[:1]) for seed in range(3))
    ]
    with pytest.warns(UserWarning, match="sources without any prediction: 'weak'. They get no"):
        alone = untempered(cf.tune([rec.head("quiet") for rec in days], reference="strong"))
    assert list(alone.beta) == ["strong"]
    pooled = untempered(cf.tune(pooled_lanes(days), reference="strong"))
    lane = cf.tune(days, reference="strong").head("quiet")
    assert lane.beta == {"strong": alone.beta["strong"], "weak": pooled.beta["weak"]}
    assert lane.channel == {"strong": None, "weak": pooled.channel["weak"]}
    assert lane.settings["options"] == alone.settings["options"]


def test_the_explanation_counts_all_labels_and_has_a_line_for_each() -> None:
    lines = tuned().tuning.explain().splitlines()
    before = after = 0
    for rec in recs():
        P = tuned().run(rec)
        for k in range(P.shape[1]):
            seen = ~np.isnan(rec.probs[:, k])
            last = np.maximum.accumulate(np.where(seen, np.arange(len(rec)), -1))
            begun = last >= 0
            ends = np.append(np.diff(rec.time) > 0, True) & begun
            before += int(np.abs(np.diff((rec.probs[last, k] > 0.5)[ends].astype(int))).sum())
            after += int(np.abs(np.diff((P[:, k] > 0.5)[ends].astype(int))).sum())
    hours = sum(rec.time[-1] - rec.time[0] for rec in recs()) / 3600
    effect = tuned().tuning.effect
    assert effect is not None
    assert (effect.changes_before, effect.changes_after) == (before, after)
    assert effect.time == pytest.approx(3600 * hours)
    assert lines[0] == (
        f"The labels change on or off {after / hours:.0f} times an hour instead of "
        f"{before / hours:.0f}, over 8 labels, 3 streams and {60 * hours:.1f} min."
    )
    by_label = dict(line.split(": ", 1) for line in lines if line.split(":")[0] in POOLED + OWN)
    assert set(by_label) == set(POOLED + OWN)
    whys = {label: text for label, text in by_label.items() if text.startswith("pooled settings")}
    assert set(whys) == set(POOLED)
    assert "because it is never on." in whys["some_streams"]
    assert "because it is never off." in whys["one"]
    assert "because it is on only once." in whys["once"]
    assert "because it is not observed." in whys["unseen"]
    assert "because 'strong' has 0 predictions of it." in whys["weak_only"]
    assert "It never changes." in whys["zero"]
    assert sum(line.startswith("Pooled settings, tuned on all labels: a ") for line in lines) == 1


def test_one_label_and_one_source() -> None:
    days = [label_day(seed, 240, [(6, 9)], ["weak"]) for seed in range(3)]
    alone = untempered(cf.tune([rec.head("bird0") for rec in days]))
    assert (
        under_rule(cf.tune(days).head("bird0"), None).settings == under_rule(alone, None).settings
    )


def test_labels_choose_by_their_truth() -> None:
    days = [
        with_labels(rec, never=np.zeros(len(rec)))
        for rec in (label_day(seed, 240, LENGTHS[:1]) for seed in range(3))
    ]
    options: Any = {"reference": "strong", "labels": True}
    by_truth = cf.tune(days, **options)
    assert by_truth.tuning.criterion == "labels"
    alone = untempered(cf.tune([rec.head("bird0") for rec in days], **options))
    assert under_rule(by_truth.head("bird0"), None).settings == under_rule(alone, None).settings
    pooled = untempered(cf.tune(pooled_lanes(days), **options))
    assert settings(under_rule(by_truth.head("never"), None)) == settings(under_rule(pooled, None))
    assert "never: pooled settings, because its truth is not known." in by_truth.tuning.explain()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"filter": "dirichlet", "channel": True, "every": 8},
        {"filter": "sticky", "max_switches_per_hour": 30},
    ],
)
def test_options_and_limits_hold_for_each_label(options: Any) -> None:
    days = [label_day(seed, 400, [(12, 18)]) for seed in range(3)]
    together = cf.tune(days, reference="strong", **options)
    alone = untempered(cf.tune([rec.head("bird0") for rec in days], reference="strong", **options))
    assert together.tuning.by_label["bird0"].tuning.table == alone.tuning.table
    assert under_rule(together.head("bird0"), None).settings == under_rule(alone, None).settings


def test_a_pooled_label_that_exceeds_a_limit_gets_a_warning() -> None:
    days = [label_day(seed, 60) for seed in range(2)]  # too short for settings of its own
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cf.tune(days, "sticky", "strong", max_switches_per_hour=20)
    words = "with the pooled settings there are more than 20 switches per hour"
    assert any(words in str(one.message) for one in caught)


def test_a_warning_names_its_labels() -> None:
    def noisy(lanes: list[Rows]) -> Pipeline:
        warnings.warn("look at it", stacklevel=1)
        return cf.tune(lanes, "sticky", "strong")

    days = [label_day(seed, 240, LENGTHS) for seed in range(3)]
    with pytest.warns(UserWarning, match="^'bird0', 'bird1': look at it$") as caught:
        LabelTuning(days, "strong", noisy).result()
    assert len(caught) == 1


@pytest.mark.parametrize("score", [0.0, 0.25, 0.5, 1.0])
def test_constant_scores_only(score: float) -> None:
    rec = cf.rows(
        time=np.arange(60),
        source="a",
        probs=np.full((60, 3), score),
        classes=list("xyz"),
        scores="independent",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P = cf.tune(rec).run(rec)
    assert np.isfinite(P).all()


@pytest.mark.parametrize("rows", [1, 2, 5, 30])
def test_too_few_rows_have_safe_settings_and_one_warning(rows: int) -> None:
    scores = np.random.default_rng(rows).uniform(size=(rows, 1))
    rec = cf.rows(
        time=np.arange(rows), source="a", probs=scores, classes=["x"], scores="independent"
    )
    with pytest.warns(UserWarning, match="all labels together: there are .* record ") as caught:
        safe = cf.tune(rec)
    assert len(caught) == 1
    assert safe.tuning.criterion == "nothing"


@pytest.mark.parametrize("seed", range(6))
def test_labels_of_any_kind_never_break_it(seed: int) -> None:
    """Scores that are random, constant, rare, missing here or everywhere, in several sources."""
    rng = np.random.default_rng(seed)
    T, L = int(rng.integers(50, 250)), int(rng.integers(1, 6))
    days = []
    kinds = rng.integers(6, size=L)
    for _ in range(int(rng.integers(1, 4))):
        scores = rng.uniform(size=(T, L))
        for k, kind in enumerate(kinds):
            if kind == 0:
                scores[:, k] = rng.choice([0.0, 0.5, 1.0])
            elif kind == 1:
                scores[:, k] = 0.2 + 0.7 * (np.arange(T) == T // 2)
            elif kind == 2:
                scores[rng.random(T) < 0.9, k] = NAN
            elif kind == 3:
                scores[:, k] = NAN
            elif kind == 4:
                scores[:, k] = rng.integers(2, size=T)
        scores[0] = 0.5
        source = rng.choice(["a", "b", "c"], T, p=[0.7, 0.2, 0.1])
        source[-1] = "c"
        time = np.sort(rng.choice(T, T))
        days.append(
            cf.rows(
                time=time,
                source=source,
                probs=scores,
                classes=[f"l{k}" for k in range(L)],
                scores="independent",
            )
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = cf.tune(days, reference="c")
    assert all(np.isfinite(tuned.run(rec)).all() for rec in days)
    assert all(np.isfinite(tuned.smooth(rec)).all() for rec in days)


def test_progress_ends_at_one() -> None:
    shares: list[float] = []
    cf.tune([label_day(0, 300)], reference="strong", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
