"""Metrics against scikit-learn, and against plain loops where scikit-learn has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from classfilter import metrics
from slow_metrics import (
    slow_calibration_error,
    slow_delays,
    slow_reliability,
    slow_switches,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@pytest.fixture(scope="module")
def sk() -> Any:
    return pytest.importorskip("sklearn.metrics")


def stream(seed: int, T: int = 400, K: int = 4, unlabelled: float = 0.2) -> tuple[Ints, Floats]:
    """Random truth with unlabelled rows, and probabilities that favour it."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, T)
    probs = rng.dirichlet(np.ones(K), T)
    probs[np.arange(T), truth] += 0.3
    probs /= probs.sum(axis=1, keepdims=True)
    return np.where(rng.random(T) < unlabelled, -1, truth), probs


@pytest.mark.parametrize("seed", range(3))
def test_classes_equal_scikit_learn(sk: Any, seed: int) -> None:
    truth, probs = stream(seed)
    keep = truth >= 0
    y, k = truth[keep], probs.argmax(axis=1)[keep]
    assert metrics.accuracy(truth, probs) == pytest.approx(sk.accuracy_score(y, k), rel=1e-12)
    assert metrics.macro_f1(truth, probs) == pytest.approx(
        sk.f1_score(y, k, average="macro"), rel=1e-12
    )
    np.testing.assert_array_equal(metrics.confusion(truth, probs), sk.confusion_matrix(y, k))
    np.testing.assert_allclose(
        metrics.sensitivity(truth, probs), sk.recall_score(y, k, average=None), rtol=1e-12
    )
    np.testing.assert_allclose(
        metrics.precision(truth, probs), sk.precision_score(y, k, average=None), rtol=1e-12
    )
    table = sk.multilabel_confusion_matrix(y, k)
    np.testing.assert_allclose(
        metrics.specificity(truth, probs), table[:, 0, 0] / table[:, 0].sum(axis=1), rtol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_equal_scikit_learn(sk: Any, seed: int) -> None:
    truth, probs = stream(seed)
    keep = truth >= 0
    y, p = truth[keep], probs[keep]
    assert metrics.log_loss(truth, probs, floor=1e-12) == pytest.approx(
        sk.log_loss(y, p, labels=range(4)), rel=1e-9
    )
    floored = np.maximum(p, 0.05)
    floored /= floored.sum(axis=1, keepdims=True)
    assert metrics.log_loss(truth, probs, floor=0.05) == pytest.approx(
        sk.log_loss(y, floored, labels=range(4)), rel=1e-9
    )
    each = [sk.brier_score_loss(y == c, p[:, c]) for c in range(4)]
    assert metrics.brier(truth, probs) == pytest.approx(sum(each), rel=1e-12)


def test_log_loss_of_a_wrong_zero_is_the_floor() -> None:
    assert metrics.log_loss([0], [[0.0, 1.0]]) == pytest.approx(-math.log(1e-3 / 1.001), rel=1e-12)


@pytest.mark.parametrize("bins", [1, 8, 15])
def test_calibration_error_equals_a_loop(bins: int) -> None:
    truth, probs = stream(5)
    probs[1:40] = [0.5, 0.25, 0.25, 0.0]  # on the edge of two bins
    probs[0] = [1.0, 0.0, 0.0, 0.0]  # the last bin includes its right edge
    slow = slow_reliability(truth.tolist(), probs.tolist(), bins)
    table = metrics.reliability(truth, probs, bins)
    assert table.rows.tolist() == [rows for rows, *_ in slow]
    filled = [part for part in slow if part[0]]
    assert table.confidence[table.rows > 0] == pytest.approx([s / n for n, s, _ in filled])
    assert table.accuracy[table.rows > 0] == pytest.approx([r / n for n, _, r in filled])
    assert np.isnan(table.accuracy[table.rows == 0]).all()
    total = slow_calibration_error(truth.tolist(), probs.tolist(), bins)
    assert metrics.calibration_error(truth, probs, bins) == pytest.approx(total, rel=1e-9)
    assert table.error == metrics.calibration_error(truth, probs, bins)


streams = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(0, 2), st.sampled_from([5.0, 5.0, 5.0, 7.0, 90.0])),
    min_size=2,
    max_size=40,
)


@given(streams)
def test_delay_equals_a_loop(rows: list[tuple[int, int, float]]) -> None:
    truth, pred = [r[0] for r in rows], [r[1] for r in rows]
    time = np.cumsum([r[2] for r in rows]).tolist()
    step = float(np.median(np.diff(time)))
    delays, missed = slow_delays(truth, pred, time, 60.0, step)
    got = metrics.detection_delay(truth, pred, time, max_gap=60.0)
    assert got.changes == len(delays)
    if delays:
        assert got.median == pytest.approx(np.median(delays), rel=1e-12)
        assert got.mean == pytest.approx(np.mean(delays), rel=1e-12)
        assert got.missed == pytest.approx(missed / len(delays), abs=1e-12)
    else:
        assert math.isnan(got.median)
        assert math.isnan(got.mean)
        assert math.isnan(got.missed)


@given(streams)
def test_switches_equal_a_loop(rows: list[tuple[int, int, float]]) -> None:
    truth, pred = [r[0] for r in rows], [r[1] for r in rows]
    time = np.cumsum([r[2] for r in rows]).tolist()
    changes, seconds = slow_switches(truth, pred, time, 60.0)
    counted = metrics.count_switches(pred, time, truth, max_gap=60.0)
    assert counted == pytest.approx((changes, seconds / 3600), rel=1e-12)
    got = metrics.switches_per_hour(pred, time, truth, max_gap=60.0)
    assert math.isnan(got) if seconds == 0 else got == pytest.approx(3600 * changes / seconds)


def test_a_long_gap_is_a_gap_by_default() -> None:
    time = np.append(np.arange(10) * 5.0, 1000 + np.arange(10) * 5.0)
    truth = np.repeat([0, 1], 10)
    assert metrics.switches_per_hour(truth, time) == 0.0
    assert metrics.detection_delay(truth, truth, time).changes == 0
    assert metrics.switches_per_hour(truth, time, max_gap=2000.0) == pytest.approx(3600 / 1045)
    assert metrics.detection_delay(truth, truth, time, max_gap=2000.0) == (0.0, 0.0, 0.0, 1)


def test_classes_that_do_not_occur_are_nan_and_out_of_the_mean() -> None:
    probs = np.eye(4)[[0, 0, 1, 1]]
    truth = [0, 0, 1, 2]
    assert np.isnan(metrics.sensitivity(truth, probs)).tolist() == [False, False, False, True]
    assert np.isnan(metrics.precision(truth, probs)).tolist() == [False, False, True, True]
    assert metrics.specificity([0, 0], [0, 1]).tolist() == pytest.approx(
        [math.nan, 0.5], nan_ok=True
    )
    assert metrics.macro_f1(truth, probs) == pytest.approx((1 + 2 / 3 + 0) / 3, rel=1e-12)
    assert metrics.confusion([0], [1], n_classes=3).shape == (3, 3)


def test_summary_holds_the_single_functions() -> None:
    truth, probs = stream(1)
    time = np.arange(truth.size) * 5.0
    delay = metrics.detection_delay(truth, probs, time)
    assert metrics.summary(truth, probs, time) == {
        "accuracy": metrics.accuracy(truth, probs),
        "macro_f1": metrics.macro_f1(truth, probs),
        "log_loss": metrics.log_loss(truth, probs),
        "brier": metrics.brier(truth, probs),
        "calibration_error": metrics.calibration_error(truth, probs),
        "switches_per_hour": metrics.switches_per_hour(probs, time, truth),
        "true_switches_per_hour": metrics.switches_per_hour(truth, time),
        "delay_median": delay.median,
        "delay_mean": delay.mean,
        "missed": delay.missed,
    }
    assert list(metrics.summary(truth, probs.argmax(axis=1))) == ["accuracy", "macro_f1"]


def test_switches_are_counted_over_the_labelled_rows_only() -> None:
    pred, time = [0, 1, 1, 0, 2, 2], [0, 900, 1800, 2700, 3600, 4500]
    assert metrics.count_switches(pred, time) == (3.0, 1.25)
    assert metrics.count_switches(pred, time, [0, 0, -1, 0, 0, 0]) == (2.0, 0.75)
    assert metrics.count_switches(np.eye(3)[pred], time) == (3.0, 1.25)
    assert metrics.count_switches([0, 1, -1, 0, 2, 2], time) == (2.0, 0.75)
    assert metrics.count_switches([0], [0]) == (0.0, 0.0)
    assert metrics.count_switches([0, 1], [0, 5], [0, -1]) == (0.0, 0.0)


NAMES = np.array(["walk", "sit", "run", "lie"])


def named(indices: Ints) -> list[Any]:
    return [None if k < 0 else NAMES[k] for k in indices]


def test_names_give_what_indices_give() -> None:
    truth, probs = stream(4)
    pred, time = probs.argmax(axis=1), np.arange(truth.size) * 5.0
    y, k, names = named(truth), list(NAMES[pred]), {"classes": NAMES}
    of_probs: list[Any] = [metrics.log_loss, metrics.brier, metrics.calibration_error]
    for metric in of_probs:
        assert metric(y, probs, **names) == metric(truth, probs)
    of_classes: list[Any] = [metrics.accuracy, metrics.macro_f1, metrics.confusion]
    of_classes += [metrics.sensitivity, metrics.precision, metrics.specificity]
    unlabelled = [math.nan if name is None else name for name in y]
    assert metrics.accuracy(unlabelled, k) == metrics.accuracy(truth, pred)
    for metric in of_classes:
        for p in (probs, pred, k):
            expected = metric(truth, pred)
            np.testing.assert_array_equal(metric(y, p, **names), expected)
            np.testing.assert_array_equal(metric(truth, p, **names), expected)
    delay = metrics.detection_delay(truth, pred, time)
    assert metrics.detection_delay(y, k, time) == delay
    assert metrics.detection_delay(y, probs, time, classes=NAMES) == delay
    switches = metrics.switches_per_hour(pred, time, truth)
    assert metrics.switches_per_hour(k, time, y) == switches
    assert metrics.switches_per_hour(probs, time, y, classes=NAMES) == switches
    assert metrics.switches_per_hour(y, time) == metrics.switches_per_hour(truth, time)
    assert metrics.count_switches(k, time, y) == metrics.count_switches(pred, time, truth)
    whole = metrics.summary(truth, probs, time)
    assert metrics.summary(y, probs, time, classes=NAMES) == whole
    assert metrics.summary(y, k, time) == metrics.summary(truth, pred, time)


def test_a_name_that_is_never_true_is_a_class() -> None:
    counts = metrics.confusion(["a", "a"], ["a", "b"], classes=["c", "b", "a"])
    assert counts.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert metrics.confusion(["a", "a"], ["a", "b"]).tolist() == [[1, 1], [0, 0]]


def test_names_of_series() -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.Series(["walk", None, "sit"], dtype="category")
    assert metrics.accuracy(truth, pandas.Series(["walk", "sit", "walk"])) == 0.5
