"""Temperatures: by log-loss, against SciPy; of smoothed rows, of one source, and by labels."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import classfilter as cf
from classfilter.pipeline import tempered, under_rule
from classfilter.tuning import as_list, prepare, untempered
from classfilter.tuning.rows import cut_streams
from classfilter.tuning.temperature import FORETOLD, find_temperature

Floats = NDArray[np.float64]


def power(P: Floats, temperature: float) -> Floats:
    q: Floats = np.asarray(P, np.float64) ** (1 / temperature)
    normalised: Floats = q / q.sum(axis=1, keepdims=True)
    return normalised


def by_scipy(P: Floats, target: Floats) -> float:
    """The temperature of the least log-loss, by a search that knows no derivatives."""

    def loss(log_temperature: float) -> float:
        q = power(np.maximum(P, 1e-6), np.exp(log_temperature))
        return float(-(target * np.log(q)).sum(axis=1).mean())

    bounds = np.log([0.1, 10.0])
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))


def honest(seed: int, rows: int, temperature: float = 1.0) -> tuple[Floats, Floats]:
    """Probabilities at a temperature, sharper than they should be above 1; and drawn classes."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(3), rows)
    drawn = (rng.random((rows, 1)) > np.cumsum(P, axis=1)).sum(axis=1)
    return power(P, 1 / temperature), np.eye(3)[drawn]


@lru_cache
def days() -> tuple[cf.Rows, ...]:
    return tuple(cf.simulate("plain", hours=1.5, seed=seed).rows() for seed in range(3))


@lru_cache
def tuned() -> cf.Pipeline:
    return cf.tune(days(), "sticky", "strong")


def alone(rec: cf.Rows, sharper: float = 1.0) -> cf.Rows:
    return cf.rows(
        time=rec.time,
        source="only",
        probs=power(rec.probs, 1 / sharper),
        classes=rec.classes,
        label=rec.label,
    )


# --- the search -----------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), temperature=st.floats(0.3, 3.0))
def test_the_least_log_loss_is_that_of_scipy(seed: int, temperature: float) -> None:
    P, y = honest(seed, 60, temperature)
    found = find_temperature(P, y)
    assert found.value == pytest.approx(by_scipy(P, y), rel=1e-5)
    assert found.before == pytest.approx(-np.log(np.maximum(P, 1e-6)[y == 1]).mean(), abs=1e-4)
    assert found.after <= found.before + 1e-12
    order = np.random.default_rng(seed).permutation(3)
    assert find_temperature(P[:, order], y[:, order]).value == pytest.approx(found.value, rel=1e-9)


def test_the_error_is_the_spread_over_draws() -> None:
    """Streams whose labels are all drawn alike: rows of one stream are not independent."""
    values, errors = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.6, 0.9, 30)
        P = np.repeat(np.column_stack([p, 1 - p]), 8, axis=0)
        y = np.eye(2)[np.repeat(rng.random(30) > p, 8).astype(int)]
        found = find_temperature(P, y, np.repeat(np.arange(30), 8))
        values.append(1 / found.value)
        errors.append(found.error / found.value**2)  # of 1 / T, which is nearly normal
    assert np.median(errors) == pytest.approx(np.std(values), rel=0.25)


def test_limits() -> None:
    P = np.tile([0.9, 0.1], (50, 1))
    assert find_temperature(P, np.tile([1.0, 0.0], (50, 1))).value == pytest.approx(0.1, rel=1e-4)
    assert find_temperature(P, np.tile([0.0, 1.0], (50, 1))).value == pytest.approx(10, rel=1e-4)
    even = find_temperature(np.full((5, 2), 0.5), np.tile([1.0, 0.0], (5, 1)), np.arange(5))
    assert np.isfinite(even.value)
    assert np.isnan(even.error)


def test_few_streams_are_cut() -> None:
    stream = np.repeat([0, 1], [4, 8])
    part = cut_streams(stream)
    assert part.tolist() == [0, 2, 4, 6, *range(8, 16)]
    many = np.repeat(np.arange(16), 2)
    assert cut_streams(many) is many


# --- without labels -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sticky", "dirichlet"])
def test_rows_are_heated_until_they_agree_best_with_the_best_source(kind: Any) -> None:
    recs = days()
    pipe = cf.tune(recs, kind, "strong")
    plain = untempered(pipe)
    calls = [rec.observed("strong") for rec in recs]
    said = np.concatenate([rec.probs[own] for rec, own in zip(recs, calls, strict=True)])
    after = np.concatenate([plain.run(rec)[own] for rec, own in zip(recs, calls, strict=True)])
    root = by_scipy(after, said / said.sum(axis=1, keepdims=True)) ** 0.5
    assert pipe.filter.temperature == pytest.approx(1.2 * root, abs=0.01)
    assert pipe.smoothing.filter.temperature == pytest.approx(1.7 * root, abs=0.01)
    assert pipe.smoothing.beta == pipe.beta
    assert pipe.smoothing.channel == pipe.channel
    for rec in recs:
        expected = power(plain.smooth(rec), pipe.smoothing.filter.temperature)
        np.testing.assert_allclose(pipe.smooth(rec), expected, rtol=1e-12)
    assert "Temperature: " in pipe.tuning.explain()
    assert "Temperature" not in plain.tuning.explain()


def test_labels_do_not_say_how_sure_they_are() -> None:
    hard = [
        cf.rows(
            time=rec.time,
            source=rec.source_names,
            probs=rec.probs.argmax(axis=1),
            classes=rec.classes,
        )
        for rec in days()
    ]
    pipe = cf.tune(hard, "sticky", "strong")
    assert (pipe.filter.temperature, pipe.smoothing.filter.temperature) == (1.3, 2.0)


@pytest.mark.parametrize("kind", ["sticky", "dirichlet"])
def test_one_source_is_judged_by_its_own_and_by_later_predictions(kind: Any) -> None:
    recs = [alone(rec) for rec in days()]
    pipe = cf.tune(recs, kind)
    plain, raw = untempered(pipe), np.concatenate([rec.probs for rec in recs])
    prepared = prepare(recs, "only")
    assert prepared is not None
    judge = prepared.objective.criteria[0]
    for one, run in ((pipe, plain.run), (pipe.smoothing, plain.smooth)):
        P = np.concatenate([run(rec) for rec in recs])
        later = [
            np.log((power(np.maximum(P, 1e-6), T) * judge.likelihood)[judge.judged].sum(axis=1))
            for T in FORETOLD
        ]
        foretold = FORETOLD[np.argmax([one.mean() for one in later])]
        between = np.sqrt(by_scipy(P, raw) * foretold)
        assert one.filter.temperature == pytest.approx(between, abs=0.006)
    for rec in recs:
        assert (pipe.run(rec).argmax(axis=1) == plain.run(rec).argmax(axis=1)).all()


def seizures(seed: int) -> cf.Rows:
    """45 s every 10 minutes, and a classifier that was trained on as many rows of either class."""
    rng = np.random.default_rng(seed)
    lengths = rng.exponential(np.tile([600.0, 45.0], 8)).astype(int) + 5
    truth = np.repeat(np.tile([0, 1], 8), lengths)
    logit = 1.2 * rng.normal(size=len(truth)) + np.where(truth == 1, 2.6, -2.6) + 0.9
    p = 1 / (1 + np.exp(-0.7 * logit))
    return cf.rows(
        time=np.arange(len(truth)),
        probs=np.stack([1 - p, p], axis=1),
        classes=["background", "seizure"],
        label=truth,
    )


@pytest.mark.parametrize("example", ["seizures", "one_classifier.csv"])
def test_probabilities_of_one_source_are_calibrated(example: str) -> None:
    """Filtered rows of the seizures were right in 98 % and sure in 66 %; of the file, 89 and 77."""
    path = Path(__file__).parents[2] / "examples" / example
    streams = cf.rows(path) if path.exists() else [seizures(seed) for seed in range(4)]
    recs = as_list(streams)
    truth = np.concatenate([np.asarray(rec.label) for rec in recs])
    pipe = cf.tune(recs)
    raw = np.concatenate([rec.probs for rec in recs])
    for run in (pipe.run, pipe.smooth):
        P = np.concatenate([run(rec) for rec in recs])
        error = cf.metrics.calibration_error(truth, P)
        assert error < cf.metrics.calibration_error(truth, raw) + 0.03
        assert cf.metrics.log_loss(truth, P) < 0.6 * cf.metrics.log_loss(truth, raw)


def test_temperatures_are_saved(tmp_path: Path) -> None:
    rec, both = days()[0], tempered(tuned(), 1.3, 1.7)
    assert (both.filter.temperature, both.smoothing.filter.temperature) == (1.3, 1.7)
    for pipe in (tuned(), both, tempered(tuned(), 1.3, 1.3), tempered(tuned(), None, 1.0)):
        pipe.save(tmp_path / "pipeline.json")
        again = cf.load(tmp_path / "pipeline.json")
        np.testing.assert_array_equal(again.run(rec), pipe.run(rec))
        np.testing.assert_array_equal(again.smooth(rec), pipe.smooth(rec))


# --- by labels ------------------------------------------------------------------------------


def labelled(recs: Any, run: Any) -> tuple[Floats, Floats]:
    y = np.concatenate([rec.label for rec in recs])
    return np.concatenate([run(rec) for rec in recs])[y >= 0], np.eye(4)[y[y >= 0]]


def test_calibrated_has_the_least_log_loss_on_labelled_rows() -> None:
    pipe, recs = tuned(), [*days()[:2]]
    part = np.asarray(recs[1].label).copy()
    part[::3] = -1
    recs[1] = cf.rows(
        time=recs[1].time,
        source=recs[1].source_names,
        probs=recs[1].probs,
        classes=recs[1].classes,
        label=part,
    )
    new = pipe.calibrated(recs)
    plain, found = untempered(pipe), new.tuning.calibration
    assert found is not None
    assert (found.rows, found.streams) == (
        sum(int((np.asarray(r.label) >= 0).sum()) for r in recs),
        2,
    )
    for one, which, run in (
        (new, found.filtered, plain.run),
        (new.smoothing, found.smoothed, plain.smooth),
    ):
        assert one.filter.temperature == which.value
        assert which.value == pytest.approx(by_scipy(*labelled(recs, run)), rel=1e-5)
        assert f"{which.value:.2f} ± {which.error:.2f}" in new.tuning.explain()
    assert "over parts of 2 streams: others may differ by more" in new.tuning.explain()
    assert "Temperature: " not in new.tuning.explain()
    assert new.beta == pipe.beta
    assert new.tuning.table == pipe.tuning.table
    np.testing.assert_allclose(new.run(recs[0]), power(plain.run(recs[0]), new.filter.temperature))
    assert new.calibrated(recs).tuning.calibration == found  # whatever the temperatures were before


def test_dense_recordings_are_thinned_as_for_tuning() -> None:
    dense = [cf.simulate("plain", hours=1.5, seed=seed).rows(every=None) for seed in range(3)]
    pipe = cf.tune(dense, "sticky", "strong", every=12)
    found = pipe.calibrated(dense).tuning.calibration
    assert found is not None
    assert found.rows == sum(len(rec) for rec in days())


def test_the_rule_stays_and_its_events_are_counted() -> None:
    rule = cf.EventRule("30s")
    new = under_rule(tuned(), rule).calibrated(days())
    assert new.rule == rule
    filtered, smoothed = len(new.events(days())), len(new.events(days(), smooth=True))
    last = new.tuning.explain().splitlines()[-1]
    assert f"it gives {filtered} events from filtered rows, where it gave " in last
    assert f"and {smoothed} from smoothed rows, where it gave " in last


def test_several_labels_have_one_temperature() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((400, 2))
    truth = (rng.random((400, 2)) < p).astype(int)
    truth[::5, 1] = -1
    rec = cf.rows(
        time=np.arange(400),
        probs=power_of_scores(p, 2),
        classes=["a", "b"],
        label=truth,
        scores="independent",
    )
    lane = cf.StickyFilter(2, stay=0.0)  # returns what it gets
    new = cf.Pipeline(cf.MultiLabelFilter(["a", "b"], lane)).calibrated(rec)
    on = rec.probs[truth >= 0]
    both = np.maximum(np.column_stack([1 - on, on]), 1e-3)  # as the filter
    best = by_scipy(both / both.sum(axis=1, keepdims=True), np.eye(2)[truth[truth >= 0]])
    assert new.tuning.calibration.filtered.value == pytest.approx(best, rel=1e-5)
    assert new.tuning.calibration.filtered.value == pytest.approx(2, abs=0.4)
    temperatures = {new.head(label).filter.temperature for label in "ab"}
    assert temperatures == {new.tuning.calibration.filtered.value}


def power_of_scores(p: Floats, tau: float) -> Floats:
    return p**tau / (p**tau + (1 - p) ** tau)


def test_a_warning_where_labels_do_not_tell() -> None:
    rec = days()[0]
    right = tuned().run(rec).argmax(axis=1)
    all_right = cf.rows(
        time=rec.time, source=rec.source_names, probs=rec.probs, classes=rec.classes, label=right
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned().calibrated(all_right)
    assert "no temperature of filtered rows is certain enough: 0.1 is" in str(caught[0].message)
    assert caught[0].filename == __file__
    wrong = np.where(np.arange(len(rec)) < 60, (right + 1) % 4, right)  # in one stretch
    few = cf.rows(
        time=rec.time, source=rec.source_names, probs=rec.probs, classes=rec.classes, label=wrong
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned().calibrated(few)
    assert "rows is uncertain: " in str(caught[0].message)
    assert str(caught[0].message).endswith("Label more streams.")
