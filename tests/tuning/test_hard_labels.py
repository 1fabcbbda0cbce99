"""Labels without probabilities: how often each source is right is estimated, without labels."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter.tuning._hard_labels import _expectation, has_labels
from classfilter.tuning._model import Transitions
from classfilter.tuning._passes import Passes
from classfilter.tuning._rows import concatenate

Floats = NDArray[np.float64]
CLASSES = ["wake", "light", "deep", "dream"]
STEP = 30.0


def confusion(recall: float) -> Floats:
    """A rater that mostly mistakes a class for the next one."""
    errors = np.roll(np.eye(4), 1, axis=1) * 0.7 + 0.1 * (1 - np.eye(4))
    errors /= errors.sum(axis=1, keepdims=True)
    return recall * np.eye(4) + (1 - recall) * errors


MATRICES = {"watch": confusion(0.6), "band": confusion(0.85)}
TRANSITIONS = np.eye(4) * 0.94 + 0.02 * (1 - np.eye(4))


@lru_cache
def nights(seed: int = 3, count: int = 6, length: int = 900) -> list[cf.Recording]:
    """Nights with a watch in most epochs and a band in some; both give labels."""
    rng = np.random.default_rng(seed)
    recordings = []
    for _ in range(count):
        rows, k = [], 0
        for i in range(length):
            k = int(rng.choice(4, p=TRANSITIONS[k]))
            for name, share in (("watch", 0.95), ("band", 0.35)):
                if rng.random() < share:
                    label = CLASSES[rng.choice(4, p=MATRICES[name][k])]
                    rows.append((STEP * i, name, label, k))
        time, source, labels, truth = zip(*rows, strict=True)
        recordings.append(cf.Recording(time, source, labels, CLASSES, np.array(truth)))
    return recordings


def mean_accuracy(results: list[Floats]) -> float:
    scores = []
    for rec, P in zip(nights(), results, strict=True):
        assert rec.label is not None
        scores.append(cf.metrics.accuracy(rec.label, P))
    return float(np.mean(scores))


@pytest.mark.slow
def test_tuning_comes_near_the_true_confusions() -> None:
    tuned = cf.tune(nights(), reference="band")
    f = cf.StickyFilter(CLASSES, half_life=300.0)
    channel = {name: cf.Channel(matrix) for name, matrix in MATRICES.items()}
    live = mean_accuracy([tuned.run(rec) for rec in nights()])
    smoothed = mean_accuracy([tuned.smooth(rec) for rec in nights()])
    assert live > mean_accuracy([rec.run(f, beta=1.0, channel=channel) for rec in nights()]) - 0.01
    assert (
        smoothed
        > mean_accuracy([rec.smooth(f, beta=1.0, channel=channel) for rec in nights()]) - 0.01
    )
    plain = cf.DirichletFilter(CLASSES, half_life=120.0)
    assert live > mean_accuracy([rec.run(plain) for rec in nights()]) + 0.05
    for name, matrix in MATRICES.items():
        estimated = tuned.channel[name]
        assert estimated is not None
        np.testing.assert_allclose(estimated.matrix, matrix, atol=0.06)
    assert "band 1 through its channel" in tuned.explanation


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sticky", "dirichlet"])
def test_every_family_has_the_channel_of_the_reference(kind: str) -> None:
    assert cf.tune(nights()[:3], kind, "band").channel["band"] is not None  # type: ignore[arg-type]
    without = cf.tune(nights()[:3], kind, "band", channel=False)  # type: ignore[arg-type]
    assert without.channel["band"] is None


def test_probabilities_have_no_channel_of_the_reference() -> None:
    rows = concatenate(nights(), "band")
    assert has_labels(rows)
    soft = rows._replace(observed=0.98 * rows.observed + 0.005)
    assert not has_labels(soft)


def test_expected_counts_are_those_of_all_paths() -> None:
    """By enumeration of the class paths of a short stream."""
    rec = cf.Recording([0, 1, 2], ["b", "w", "b"], [[1, 0], [0, 1], [1, 0]], 2)
    rows = concatenate([rec], "b")
    A, prior = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.5, 0.5])
    likelihoods = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    counts, posterior = np.zeros((2, 2)), np.zeros((3, 2))
    for path in np.ndindex(2, 2, 2):
        p = prior[path[0]] * likelihoods[range(3), path].prod()
        p *= A[path[0], path[1]] * A[path[1], path[2]]
        counts[path[0], path[1]] += p
        counts[path[1], path[2]] += p
        posterior[range(3), path] += p
    total = posterior[0].sum()
    got, got_counts = _expectation(rows, Passes(rows), Transitions(A, 1.0), likelihoods)
    np.testing.assert_allclose(got, posterior / total, atol=1e-5)
    np.testing.assert_allclose(got_counts, counts / total, atol=1e-5)
