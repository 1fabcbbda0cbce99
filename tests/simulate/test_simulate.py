"""Simulated streams: every setting has its effect, measured on the stream itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from classfilter import metrics
from classfilter.simulate import Classifier, Simulation, simulate

Floats = NDArray[np.float64]
WHITE = {"jitter": 1.0}  # errors independent over time: plain binomial tolerances hold


def errors(sim: Simulation, source: str) -> Floats:
    return np.where(sim.probs[source].argmax(axis=1) != sim.truth, 1.0, 0.0)


def correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def lagged(x: Floats, lag: int) -> float:
    return correlation(x[:-lag], x[lag:])


def segments(sim: Simulation) -> tuple[NDArray[np.intp], Floats]:
    """Classes and seconds of all visits save the first and the last, which are cut off."""
    at = np.flatnonzero(np.diff(sim.truth)) + 1
    return sim.truth[at[:-1]], np.diff(sim.time[at])


def same(a: Simulation, b: Simulation) -> bool:
    return (
        np.array_equal(a.time, b.time)
        and np.array_equal(a.truth, b.truth)
        and all(np.array_equal(a.probs[k], b.probs[k]) for k in a.probs)
    )


@pytest.mark.parametrize("settings", [{}, {"preset": "capture24"}, {"gaps": 0.2}])
def test_equal_seeds_give_equal_streams(settings: dict[str, Any]) -> None:
    first = simulate(hours=3, seed=4, **settings)
    assert same(first, simulate(hours=3, seed=4, **settings))
    other = simulate(hours=3, seed=5, **settings)
    assert not np.array_equal(first.truth, other.truth)
    assert not same(first, other)


def test_another_seed_has_other_noise_and_other_gaps() -> None:
    """With equal truth, equal noise would give equal predictions."""
    settings: dict[str, Any] = {"hours": 10, "dwell": 1e8, "prior": [1.0, 1e-9, 1e-9, 1e-9]}
    first, second = (simulate(seed=s, **settings) for s in (4, 5))
    np.testing.assert_array_equal(first.truth, second.truth)
    for name in ("weak", "strong"):
        assert abs(correlation(errors(first, name), errors(second, name))) < 0.2
    time, other = (simulate(seed=s, gaps=0.3, **settings).time for s in (4, 5))
    assert not np.array_equal(time, other)


def test_another_classifier_sees_the_same_day() -> None:
    day, other = simulate(seed=2, hours=5), simulate(seed=2, hours=5, weak=0.5, gaps=0.3)
    rows = np.searchsorted(day.time, other.time)
    np.testing.assert_array_equal(day.truth[rows], other.truth)
    np.testing.assert_array_equal(day.probs["strong"][rows], other.probs["strong"])


@pytest.mark.parametrize("preset", ["plain", "capture24"])
def test_shapes_and_simplex(preset: str) -> None:
    sim = simulate(preset, seed=1)
    K = len(sim.classes)
    np.testing.assert_array_equal(sim.time, np.arange(17280) * 5.0)
    assert sim.truth.dtype == np.intp
    assert set(np.unique(sim.truth)) <= set(range(K))
    assert list(sim.probs) == ["weak", "strong"]
    for p in sim.probs.values():
        assert p.shape == (17280, K)
        assert p.min() >= 0
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_mixed_is_the_policy_of_the_paper() -> None:
    sim = simulate(hours=1, seed=3)
    source, probs = sim.mixed(every=12)
    for t in range(sim.time.size):
        name = "strong" if t % 12 == 0 else "weak"
        assert source[t] == name
        np.testing.assert_array_equal(probs[t], sim.probs[name][t])
    assert set(sim.mixed(every=1)[0]) == {"strong"}


@pytest.mark.parametrize("every", [1, 5, 12])
def test_the_recording(every: int) -> None:
    day = simulate("capture24", hours=0.5, gaps=0.3, gap_length=60.0, seed=3)
    rec = day.rows(every)
    source, probs = day.mixed(every)
    assert rec.classes == day.classes
    assert rec.label is not None
    for column, expected in (
        (rec.time, day.time),
        (rec.source_names, source),
        (rec.probs, probs),
        (rec.label, day.truth),
    ):
        np.testing.assert_array_equal(column, expected)
    assert np.flatnonzero(rec.of_source("strong")).tolist() == [*range(0, len(rec), every)]


def test_predictions_follow_the_confusion_row() -> None:
    """Without correlation, counts are within 4.5 standard deviations of the probabilities."""
    accuracy = np.array([0.9, 0.7, 0.4])
    similar = np.array([[0, 3, 1], [1, 0, 1], [0, 1, 0]])
    row = similar / similar.sum(axis=1, keepdims=True) * (1 - accuracy)[:, None] + np.diag(accuracy)
    sim = simulate(
        classes=3,
        hours=200,
        similarity=similar,
        weak=Classifier(accuracy.tolist(), **WHITE),
        strong=Classifier(0.95, **WHITE),
    )
    counts = metrics.confusion(sim.truth, sim.probs["weak"])
    n = counts.sum(axis=1, keepdims=True)
    assert n.min() > 30_000
    tolerance = 4.5 * np.sqrt(row * (1 - row) / n) + 1e-6
    assert np.all(np.abs(counts / n - row) <= tolerance)
    assert metrics.accuracy(sim.truth, sim.probs["strong"]) == pytest.approx(0.95, abs=0.003)


def test_errors_come_in_runs() -> None:
    by_time = {
        time: errors(simulate(hours=100, error_time=time, weak=Classifier(0.7, jitter=0.0)), "weak")
        for time in (0.0, 30.0, 120.0)
    }
    assert all(abs(lagged(by_time[0.0], lag)) < 0.015 for lag in (1, 2, 12))
    assert lagged(by_time[30.0], 1) > 0.5
    assert lagged(by_time[120.0], 1) > lagged(by_time[30.0], 1) + 0.1
    assert lagged(by_time[120.0], 12) > lagged(by_time[30.0], 12) + 0.2
    assert abs(lagged(by_time[120.0], 360)) < 0.1  # 30 minutes later nothing remains

    def mean_run(e: Floats) -> float:
        return float(e.sum() / (np.diff(e, prepend=0.0) == 1).sum())

    assert mean_run(by_time[0.0]) == pytest.approx(1 / 0.7, abs=0.05)  # geometric
    assert mean_run(by_time[120.0]) > 4


def test_jitter_breaks_the_runs() -> None:
    r = [
        lagged(errors(simulate(hours=50, weak=Classifier(0.7, jitter=j)), "weak"), 1)
        for j in (0.0, 0.5, 1.0)
    ]
    assert r[0] > r[1] + 0.2
    assert r[1] > r[2] + 0.1
    assert abs(r[2]) < 0.02


def test_shared_noise_makes_both_err_together() -> None:
    def together(shared: float) -> float:
        sim = simulate(hours=100, weak=0.7, strong=0.8, shared=shared)
        return correlation(errors(sim, "weak"), errors(sim, "strong"))

    assert abs(together(0.0)) < 0.06
    assert together(1.0) > together(0.4) + 0.1 > together(0.0) + 0.15


def test_sharpness_is_over_and_under_confidence() -> None:
    excess = {}
    for sharpness in (0.5, 1.0, 2.0):
        sim = simulate(hours=50, weak=Classifier(0.75, jitter=0.5, sharpness=sharpness))
        p = sim.probs["weak"]
        excess[sharpness] = p.max(axis=1).mean() - metrics.accuracy(sim.truth, p)
        if sharpness == 1.0:
            assert metrics.calibration_error(sim.truth, p) < 0.08
    assert excess[0.5] < -0.1
    assert abs(excess[1.0]) < 0.02
    assert excess[2.0] > 0.07


def test_drift_moves_the_accuracy_over_the_day() -> None:
    sim = simulate(weak=Classifier(0.7, drift=-0.3, **WHITE), strong=Classifier(0.9, **WHITE))
    correct = 1 - errors(sim, "weak")
    day = np.array([q.mean() for q in np.array_split(correct, 4)])
    np.testing.assert_allclose(day, 0.7 - 0.3 * np.array([-3, -1, 1, 3]) / 8, atol=0.03)
    constant = [q.mean() for q in np.array_split(1 - errors(sim, "strong"), 4)]
    np.testing.assert_allclose(constant, 0.9, atol=0.02)


@pytest.mark.parametrize("shape", [0.5, 1.0, 4.0])
def test_the_length_of_visits(shape: float) -> None:
    sim = simulate(hours=2000, step=20.0, classes=2, dwell=[400, 1600], dwell_shape=shape)
    kind, seconds = segments(sim)
    kind, seconds = kind[seconds > 0], seconds[seconds > 0]
    if shape >= 1:  # below, many visits fall between two steps
        for k, mean in ((0, 400), (1, 1600)):
            assert seconds[kind == k].mean() == pytest.approx(mean, rel=0.12)
    assert np.mean(sim.truth == 0) == pytest.approx(0.2, abs=0.03)
    long = seconds[kind == 1]
    if shape >= 1:
        assert long.std() / long.mean() == pytest.approx(shape**-0.5, rel=0.15)
    else:
        assert long.std() / long.mean() > 1.2


def test_transitions_and_prior() -> None:
    follow = [[0, 3, 1], [1, 0, 0], [1, 1, 0]]
    sim = simulate(hours=500, classes=3, dwell=600, transitions=follow, prior=[1, 1, 2])
    kind, _ = segments(sim)
    steps = metrics.confusion(kind[:-1], kind[1:], n_classes=3)
    share = steps / steps.sum(axis=1, keepdims=True)
    expected = np.array([[0.0, 0.6, 0.4], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(share, expected, atol=0.07)


def test_an_hourly_prior() -> None:
    prior = np.full((24, 3), [1.0, 1.0, 0.0])
    prior[:8] = [0.1, 0.0, 5.0]
    sim = simulate(classes=3, dwell=[60, 60, 600], prior=prior, hours=48, start_hour=20.0)
    hour = (20 + sim.time / 3600) % 24
    assert np.mean(sim.truth[hour < 8] == 2) > 0.8
    assert not np.any(sim.truth[(hour > 10) & (hour < 23)] == 2)


def test_a_window_lags_behind_a_change() -> None:
    """Just after a change, a classifier with a window sees mostly the old class."""
    after = {}
    for window in (0.0, 60.0):
        sim = simulate(hours=200, strong=Classifier(0.9, window=window))
        wrong = errors(sim, "strong")
        change = np.flatnonzero(np.diff(sim.truth)) + 1
        after[window] = wrong[change].mean()
    assert after[0.0] == pytest.approx(0.1, abs=0.04)
    assert after[60.0] > 0.7


@pytest.mark.slow
def test_gaps_are_missing_rows() -> None:
    sim = simulate(hours=500, gaps=0.25, gap_length=900.0)
    whole = round(500 * 3600 / 5)
    assert sim.time.size / whole == pytest.approx(0.75, abs=0.05)
    step = np.diff(sim.time)
    assert step.min() == 5.0
    assert (step[step > 5] - 5).mean() == pytest.approx(900, rel=0.2)
    assert len(sim.truth) == len(sim.probs["weak"]) == len(sim.probs["strong"]) == sim.time.size


@pytest.mark.slow
def test_the_preset_is_near_the_tables_of_the_paper() -> None:
    """The Raw column of Tables I to III (the third is precision): 25 days for its 25 people."""
    days = [simulate("capture24", seed=s) for s in range(25)]
    truth = np.concatenate([d.truth for d in days])
    raw = np.concatenate([d.mixed()[1] for d in days])
    assert metrics.accuracy(truth, raw) == pytest.approx(0.7715, abs=0.015)
    paper = [0.86, 0.68, 0.85, 0.81, 0.65, 0.33]
    np.testing.assert_allclose(metrics.sensitivity(truth, raw), paper, atol=0.05)
    paper = [0.79, 0.60, 0.73, 0.93, 0.78, 0.60]
    np.testing.assert_allclose(metrics.precision(truth, raw), paper, atol=0.08)
    share = np.bincount(truth) / truth.size
    np.testing.assert_allclose(share, [0.01, 0.13, 0.38, 0.38, 0.04, 0.06], atol=0.03)
    sleep = np.concatenate([d.truth[12000:] for d in days]) == 3  # from about midnight on
    assert sleep.mean() > 0.8
