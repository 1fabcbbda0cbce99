"""The exponential of rates, beside SciPy; and agreement by hand."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf
from classfilter.filters import exponential
from classfilter.tuning.model import agreement
from classfilter.tuning.rows import concatenate

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def rates(K: int, seed: int, size: float) -> Floats:
    """Rates of about a size, some of them 0."""
    rng = np.random.default_rng(seed)
    G: Floats = rng.exponential(size, (K, K)) * (rng.random((K, K)) < 0.8)
    np.fill_diagonal(G, 0)
    np.fill_diagonal(G, -G.sum(axis=1))
    return G


def recording(time: Floats, probs: Floats, source: str = "strong") -> cf.Rows:
    return cf.rows(time=time, source=source, probs=probs, classes=probs.shape[1])


# --- the exponential ------------------------------------------------------------------------


@given(st.integers(2, 8), SEEDS, st.floats(-6, 3).map(lambda e: 10**e))
def test_exponential_is_scipys(K: int, seed: int, size: float) -> None:
    G = rates(K, seed, size)
    np.testing.assert_allclose(exponential(G), expm(G), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e5, 1e8, 1e12])
def test_large_rates_give_the_stationary_distribution(size: float) -> None:
    """In every row; the oracle has 50 digits."""
    G = rates(4, 5, size)
    with mpmath.workdps(50):
        equations = mpmath.matrix(G.T.tolist())
        for k in range(4):
            equations[0, k] = 1
        stationary = mpmath.lu_solve(equations, mpmath.matrix([1, 0, 0, 0]))
        expected = [float(x) for x in stationary]
    np.testing.assert_allclose(exponential(G), [expected] * 4, rtol=0, atol=1e-12)


# --- agreement ------------------------------------------------------------------------------


def test_agreement_by_hand() -> None:
    """Three of four pairs agree; the shares of the predicted classes are 3/5 and 2/5."""
    rec = recording(np.arange(5.0), np.array([[0.9, 0.1]] * 3 + [[0.2, 0.8]] * 2))
    chance = 0.6**2 + 0.4**2
    assert agreement(concatenate([rec], "strong")) == pytest.approx((0.75 - chance) / (1 - chance))
    same = recording(np.arange(5.0), np.array([[0.9, 0.1]] * 5))
    assert agreement(concatenate([same], "strong")) == 1.0
