"""The weight of a confusion matrix: mutual information, as scikit-learn computes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score

from classfilter import beta_from_confusion

SEEDS = st.integers(0, 2**32 - 1)
CLASSES = st.integers(2, 12)


def counts(K: int, seed: int) -> NDArray[np.intp]:
    """Some of them 0; two true classes or more."""
    rng = np.random.default_rng(seed)
    matrix = rng.poisson(rng.choice([0.5, 20.0]), (K, K)) + np.diag(rng.integers(0, 50, K))
    matrix[0, 0] += 1
    matrix[-1, 0] += 1
    return matrix


@given(CLASSES, SEEDS, st.floats(1, 100))
def test_the_weight_is_the_mutual_information_of_scikit_learn(
    K: int, seed: int, repeats: float
) -> None:
    matrix = counts(K, seed)
    truth, predicted = (
        np.repeat(index, matrix.ravel()) for index in np.indices((K, K)).reshape(2, -1)
    )
    share = mutual_info_score(truth, predicted) / mutual_info_score(truth, truth)
    beta = beta_from_confusion(matrix, repeats=repeats)
    assert beta * repeats * (1 - share) == pytest.approx((1 - beta) * share, abs=1e-10)
    assert 0 <= beta <= 1


@given(CLASSES, SEEDS)
def test_without_error_1_by_chance_0(K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    often, predicted = rng.integers(1, 1000, K), rng.integers(0, 1000, K) + np.eye(K)[0]
    assert beta_from_confusion(np.diag(often)) == pytest.approx(1.0, abs=1e-12)
    assert beta_from_confusion(np.outer(often, predicted)) == pytest.approx(0.0, abs=1e-12)
