"""Channels: Bayes' rule in mpmath and by counting, and estimates against scikit-learn."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from classfilter.pipeline import Channel
from conftest import rejected

Floats = NDArray[np.float64]
NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)
CLASSES = st.integers(2, 12)


def random_channel(K: int, seed: int) -> tuple[Channel, Floats]:
    """A channel with a prior, some entries nearly 0, and outputs: random, one-hot and missing."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(K, rng.choice([0.02, 1.0])), K) + 1e-300
    outputs = rng.dirichlet(np.ones(K), 9) * rng.uniform(0.96, 1.04, (9, 1))
    outputs[1], outputs[2] = np.eye(K)[rng.integers(K)], NAN
    return Channel(matrix, rng.uniform(0.01, 5, K)), outputs


# --- apply ----------------------------------------------------------------------------------


@given(CLASSES, SEEDS)
def test_the_formula_in_mpmath(K: int, seed: int) -> None:
    channel, outputs = random_channel(K, seed)
    corrected = channel.apply(outputs)
    with mpmath.workdps(40):
        for w, p in zip(outputs.tolist(), corrected.tolist(), strict=True):
            if np.isnan(w[0]):
                assert all(np.isnan(p))
                continue
            total = mpmath.fsum(w)
            weights = []
            for prior, row in zip(channel.prior.tolist(), channel.matrix.tolist(), strict=True):
                terms = [x / total * mpmath.log(m) for x, m in zip(w, row, strict=True)]
                weights.append(mpmath.mpf(prior) * mpmath.exp(mpmath.fsum(terms)))
            for probability, weight in zip(p, weights, strict=True):
                assert abs(probability - weight / mpmath.fsum(weights)) < 1e-14


@given(CLASSES, SEEDS)
def test_one_row_gives_the_same_bits_as_many(K: int, seed: int) -> None:
    channel, outputs = random_channel(K, seed)
    corrected = channel.apply(outputs)
    for rows in (outputs[:, None], np.array_split(outputs, 4), [np.asfortranarray(outputs)]):
        parts = np.concatenate([channel.apply(part) for part in rows])
        assert parts.tobytes() == corrected.tobytes()
    assert channel.apply(outputs[0]).tobytes() == corrected[0].tobytes()
    assert channel.apply(outputs[0]).shape == (K,)
    assert channel.apply(np.empty((0, K))).shape == (0, K)


@given(CLASSES, SEEDS)
def test_matrix_and_prior_build_the_same_channel(K: int, seed: int) -> None:
    channel, _ = random_channel(K, seed)
    again = Channel(channel.matrix, channel.prior)
    assert again.matrix.tobytes() == channel.matrix.tobytes()
    assert again.prior.tobytes() == channel.prior.tobytes()
    assert again == channel
    assert channel.matrix.min() > 4e-10
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(channel.prior.sum(), 1, rtol=1e-12)


def test_it_cannot_be_changed_from_outside() -> None:
    matrix, prior = np.eye(2) + 1, np.ones(2)
    channel = Channel(matrix, prior)
    before = channel.apply([0.3, 0.7]).tolist()
    for array in (matrix, prior, channel.matrix, channel.prior):
        array[:] = 9
        array[0] = 1
    assert channel.apply([0.3, 0.7]).tolist() == before
    assert channel != Channel(np.eye(2) + 2)
    assert channel != Channel(np.eye(2) + 1, [1, 2])
    assert channel != "channel"
    assert repr(channel) == "Channel(2 classes, mean recall 67%)"
    with pytest.raises(TypeError):
        hash(channel)


# --- fit ------------------------------------------------------------------------------------


@given(st.integers(2, 5), SEEDS)
def test_from_one_hot_outputs_it_is_the_confusion_matrix(K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.concatenate([np.arange(K), rng.integers(K, size=40)])
    predicted = rng.integers(K, size=len(label))
    expected = confusion_matrix(label, predicted, labels=range(K), normalize="true")
    for strong in (label, label.astype(np.uint8), np.eye(K)[label]):
        channel = Channel.fit(np.eye(K)[predicted], strong, smoothing=1e-12)
        np.testing.assert_allclose(channel.matrix, expected, rtol=0, atol=1e-8)


@given(st.integers(2, 5), SEEDS, st.floats(0.01, 100))
def test_soft_counts_and_smoothing_in_loops(K: int, seed: int, smoothing: float) -> None:
    rng = np.random.default_rng(seed)
    weak, strong = rng.dirichlet(np.ones(K), 12), rng.dirichlet(np.ones(K), 12)
    weak[3], strong[5] = NAN, NAN
    rows = [t for t in range(12) if t not in (3, 5)]
    matrix = [[sum(strong[t, k] * weak[t, j] for t in rows) for j in range(K)] for k in range(K)]
    usual = [sum(weak[t, j] for t in rows) / len(rows) for j in range(K)]
    for k in range(K):
        for j in range(K):
            matrix[k][j] += smoothing * (usual[j] + 0.001 / K) / 1.001
        matrix[k] = [x / sum(matrix[k]) for x in matrix[k]]
    fitted = Channel.fit(weak, strong, smoothing=smoothing, prior=np.arange(1, K + 1))
    np.testing.assert_allclose(fitted.matrix, matrix, rtol=1e-12)
    np.testing.assert_allclose(fitted.prior, np.arange(1, K + 1) / (K * (K + 1) / 2), rtol=1e-12)


def test_unknown_labels_and_classes_never_predicted() -> None:
    weak = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    some = Channel.fit(weak, [0, 1, -1])
    assert some == Channel.fit(weak[:2], [0, 1])
    assert some.matrix.min() > 1e-7
    np.testing.assert_allclose(
        some.matrix[2], [1, 0, 0], rtol=0, atol=1e-3
    )  # nothing known: the average


TIMES = st.lists(st.integers(0, 40).map(lambda n: n / 4), min_size=1, max_size=12)


@given(TIMES, TIMES, SEEDS)
def test_the_nearest_outputs_count(time: list[float], others: list[float], seed: int) -> None:
    """By pairs from a loop; the better outputs may be in any order of time."""
    rng = np.random.default_rng(seed)
    weak = rng.dirichlet(np.ones(3), len(time))
    strong = rng.dirichlet(np.ones(3), len(others))
    strong[rng.random(len(others)) < 0.2] = NAN
    known = [i for i in range(len(others)) if not np.isnan(strong[i, 0])]
    if not known:
        with pytest.raises(ValueError, match="no row in common; a channel needs outputs of both"):
            Channel.fit(weak, strong, time=time, strong_time=others)
        return
    pairs = [min(known, key=lambda i: (abs(t - others[i]), others[i], i)) for t in time]
    fitted = Channel.fit(weak, strong, time=time, strong_time=others)
    np.testing.assert_allclose(fitted.matrix, Channel.fit(weak, strong[pairs]).matrix, rtol=1e-12)


# --- in single precision --------------------------------------------------------------------


@given(CLASSES, SEEDS)
def test_single_precision(K: int, seed: int) -> None:
    channel, outputs = random_channel(K, seed)
    corrected = channel.apply(outputs.astype(np.float32))
    assert corrected.dtype == np.float32
    np.testing.assert_array_equal(np.isnan(corrected), np.isnan(outputs))
    exact = channel.apply(outputs.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(corrected, exact, rtol=0, atol=4e-6)
    for row, corrected_row in zip(outputs.astype(np.float32), corrected, strict=True):
        assert channel.apply(row).tobytes() == corrected_row.tobytes()


def test_labels_on_both_sides() -> None:
    """Names or indices, by counting; an unknown one is skipped."""
    classes = ["walk", "sit"]
    weak: Any = ["sit", "sit", "walk", None, "walk"]
    strong = ["sit", "walk", "walk", "sit", ""]
    one_hot = Channel.fit([[0, 1], [0, 1], [1, 0]], [[0, 1], [1, 0], [1, 0]])
    assert Channel.fit(weak, strong, classes=classes) == one_hot
    indices = [1, 1, 0, -1, 0], [1, 0, 0, 1, -1]
    assert Channel.fit(*indices, classes=2) == one_hot
    columns = np.array([[0, 1], [1, 0], [1, 0], [0, 1], [NAN, NAN]])
    assert Channel.fit(indices[0], columns) == one_hot
    with pytest.raises(ValueError, match="weak"):
        Channel.fit(["sit", "walk"], ["sit", "walk"])
    with rejected("strong"):
        Channel.fit(["sit", "walk"], ["sit", "fly"], classes=classes)
