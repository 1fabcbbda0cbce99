"""One source: errors told from classes, and settings near the best by labels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter.tuning.memory import class_covariance, rows_of_short_classes, two_exponentials

Floats = NDArray[np.float64]


def video(
    seed: int, r: float, dwell: float, K: int, T: int = 3000, spread: float = 1.17
) -> cf.Rows:
    """Classes that last `dwell` rows; logits with errors of correlation r from row to row."""
    rng = np.random.default_rng(seed)
    starts = np.where(rng.random(T) < 1 / dwell, rng.integers(K, size=T), -1)
    starts[0] = rng.integers(K)
    truth = starts[np.maximum.accumulate(np.where(starts >= 0, np.arange(T), 0))]
    noise = rng.normal(size=(T, K)) * spread
    for t in range(1, T):
        noise[t] = r * noise[t - 1] + np.sqrt(1 - r**2) * noise[t]
    p = np.exp(noise + 2.0 * np.eye(K)[truth])
    return cf.rows(
        time=np.arange(T) / 30,
        source="video",
        probs=p / p.sum(axis=1, keepdims=True),
        classes=K,
        label=truth,
    )


def accuracy(run: object, recs: list[cf.Rows]) -> float:
    hits = [np.asarray(run(rec)).argmax(axis=1) == rec.label for rec in recs]  # type: ignore[operator]
    return float(np.concatenate(hits).mean())


def raw(rec: cf.Rows) -> Floats:
    return rec.probs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("r", "dwell", "K"),
    [
        (0.0, 150, 5),
        (0.8, 150, 5),
        (0.6, 60, 3),
        (0.5, 150, 5),
        (0.9, 300, 10),
        (0.3, 30, 4),
    ],
)
@pytest.mark.filterwarnings("ignore:.* predicted rows are gone")
def test_near_the_best_by_labels_and_well_above_raw(r: float, dwell: float, K: int) -> None:
    recs = [video(seed, r, dwell, K) for seed in range(4)]
    fresh = [video(seed, r, dwell, K) for seed in range(10, 14)]
    tuned, by_labels = cf.tune(recs), cf.tune(recs, labels=True)
    assert accuracy(tuned.run, fresh) > accuracy(by_labels.run, fresh) - 0.03
    assert accuracy(tuned.run, fresh) > accuracy(raw, fresh) + 0.1


def test_two_exponentials_are_recovered() -> None:
    lags = np.unique(np.geomspace(1, 500, 40).round())
    values = 0.3 * np.exp(-lags / 4.0) + 0.5 * np.exp(-lags / 120.0)
    fast, fast_weight, slow, slow_weight = two_exponentials(lags, values)
    assert fast == pytest.approx(4.0, rel=0.25)
    assert slow == pytest.approx(120.0, rel=0.25)
    assert (fast_weight, slow_weight) == pytest.approx((0.3, 0.5), rel=0.25)
    values = np.exp(-lags / 50.0)  # one: the fit is its curve, by one or by two near it
    fast, fast_weight, slow, slow_weight = two_exponentials(lags, values)
    fitted = slow_weight * np.exp(-lags / slow)
    fitted += fast_weight * np.exp(-lags / fast) if fast else 0.0
    np.testing.assert_allclose(fitted, values, rtol=0, atol=0.02)


def test_the_covariance_of_calibrated_predictions() -> None:
    """Labels drawn from the predictions themselves: the spread of the mean prediction by class."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.5, 0.8, 1.2], 200_000)
    label = (rng.random(len(probs))[:, None] > probs.cumsum(axis=1)).sum(axis=1)
    mean = probs.mean(axis=0)
    expected = 0.0
    for k in range(3):
        expected += (label == k).mean() * ((probs[label == k].mean(axis=0) - mean) ** 2).sum()
    assert class_covariance(probs, mean) == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_certain_predictions_with_lasting_errors() -> None:
    """They do not say how far they can be trusted, and are filtered all the same."""
    hard = [certain(video(seed, 0.8, 150, 5)) for seed in range(8)]
    tuned = cf.tune(hard[:4])
    assert accuracy(tuned.run, hard[4:]) > accuracy(raw, hard[4:]) + 0.1


def certain(rec: cf.Rows) -> cf.Rows:
    """The most probable class of each row, with a probability of nearly 1."""
    K = len(rec.classes)
    probs = 0.99 * np.eye(K)[rec.probs.argmax(axis=1)] + 0.01 / K
    return cf.rows(
        time=rec.time, source=rec.sources[0], probs=probs, classes=rec.classes, label=rec.label
    )


def test_short_classes_are_not_taken_for_errors() -> None:
    """A day of sleep and activities of some minutes: the filter must not leave only the sleep."""
    days = [cf.simulate("capture24", hours=24.0, step=30.0, seed=seed) for seed in range(3)]
    recs = [
        certain(
            cf.rows(
                time=d.time,
                source="strong",
                probs=d.probs["strong"],
                classes=d.classes,
                label=d.truth,
            )
        )
        for d in days
    ]
    tuned = cf.tune(recs)
    assert accuracy(tuned.run, recs) >= accuracy(raw, recs)
    assert accuracy(tuned.smooth, recs) >= accuracy(raw, recs)


def test_people_who_differ_a_little_do_not_make_errors_of_classes() -> None:
    """Errors of single rows. Half of the people walk more: a small component that never decays."""
    rng = np.random.default_rng(1)
    recs = []
    for share in np.repeat([[0.55, 0.3, 0.15], [0.15, 0.3, 0.55]], 3, axis=0):
        truth = np.repeat(rng.choice(3, 100, p=share), rng.geometric(1 / 20, 100))
        said = np.where(rng.random(truth.size) < 0.2, rng.integers(3, size=truth.size), truth)
        recs.append(
            cf.rows(
                time=np.arange(truth.size),
                source="watch",
                probs=np.eye(3)[said],
                classes=3,
                label=truth,
            )
        )
    assert accuracy(cf.tune(recs).run, recs) > accuracy(raw, recs) + 0.05


def test_rows_of_short_classes_of_a_known_covariance() -> None:
    """Of two-state pipelines: the covariance of each class is p (1 - p) exp(-lag / time)."""
    lags = np.unique(np.geomspace(1, 400, 40).round())
    time, p = np.array([300.0, 300.0, 6.0, 6.0]), np.array([0.2, 0.25, 0.15, 0.4])
    by_class = p * (1 - p) * np.exp(-lags[:, None] / time)
    assert rows_of_short_classes(lags, by_class, (6.0, 300.0), p) == pytest.approx(0.55)
    errors = 0.3 * np.exp(-lags / 6.0)[:, None] * p  # in all classes alike
    lasting = p * (1 - p) * np.exp(-lags[:, None] / 300.0)
    assert rows_of_short_classes(lags, errors + lasting, (6.0, 300.0), p) == 0.0
