"""What follows each class: found again in chains of known rates, with SciPy and mpmath to check."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf
from classfilter.filters._ctmc import exponential
from classfilter.tuning._model import class_shares
from classfilter.tuning._model import estimate_transitions as learnt

Floats = NDArray[np.float64]
NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)
RATES = np.array([[-0.02, 0.015, 0.005], [0.01, -0.04, 0.03], [0.05, 0.0, -0.05]])


def rates(K: int, seed: int, size: float) -> Floats:
    """Rates of about a size, some of them 0."""
    rng = np.random.default_rng(seed)
    G: Floats = rng.exponential(size, (K, K)) * (rng.random((K, K)) < 0.8)
    np.fill_diagonal(G, 0)
    np.fill_diagonal(G, -G.sum(axis=1))
    return G


def chain(G: Floats, dt: Floats, seed: int) -> Floats:
    """The classes of a chain at moments dt apart, by their transitions; sure answers (T, K)."""
    rng = np.random.default_rng(seed)
    moves = {span: expm(G * span).cumsum(axis=1) for span in set(dt.tolist())}
    c = [0]
    for span in dt.tolist():
        c.append(int(np.searchsorted(moves[span][c[-1]], rng.random())))
    return np.eye(len(G))[np.minimum(c, len(G) - 1)]


def recording(time: Floats, probs: Floats, source: str = "strong") -> cf.Recording:
    return cf.Recording(time, source, probs, probs.shape[1])


# --- the exponential ------------------------------------------------------------------------


@given(st.integers(2, 8), SEEDS, st.floats(-6, 3).map(lambda e: 10**e))
def test_exponential_is_scipys(K: int, seed: int, size: float) -> None:
    G = rates(K, seed, size)
    np.testing.assert_allclose(exponential(G), expm(G), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e5, 1e8, 1e12])
def test_large_rates_forget_all(size: float) -> None:
    """Then every row is the distribution that the rates leave as it is, here in long numbers."""
    G = rates(4, 5, size)
    with mpmath.workdps(50):
        equations = mpmath.matrix(G.T.tolist())
        for k in range(4):
            equations[0, k] = 1
        left = mpmath.lu_solve(equations, mpmath.matrix([1, 0, 0, 0]))
        expected = [float(x) for x in left]
    np.testing.assert_allclose(exponential(G), [expected] * 4, rtol=0, atol=1e-12)


@given(st.integers(2, 8), SEEDS)
def test_each_row_is_a_distribution_and_times_add_up(K: int, seed: int) -> None:
    G = rates(K, seed, 0.3)
    P = exponential(G)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(exponential(2 * G), P @ P, rtol=0, atol=1e-14)
    assert exponential(0 * G).tolist() == np.eye(K).tolist()


# --- transitions ----------------------------------------------------------------------------


def estimate_transitions(recordings: list[cf.Recording], reference: str) -> Floats:
    """What follows each class in a time unit, as a filter sees it."""
    matrix, interval = learnt(recordings, reference)
    return cf.StickyFilter(len(matrix), transitions=matrix, interval=interval).transitions


@pytest.mark.parametrize("apart", [0.5, 5.0, 12.0])
def test_a_known_chain_is_found_again(apart: float) -> None:
    """Within 4 standard errors of the counts, from streams that were put together."""
    dt = np.full(20_000, apart)
    several = [recording(np.append(0, dt.cumsum()), chain(RATES, dt, seed)) for seed in (1, 2)]
    found = estimate_transitions(several, "strong")
    true = expm(RATES * apart)
    shares = class_shares(several, "strong")
    error = np.sqrt(true * (1 - true) / (40_000 * shares[:, None]))
    again = np.asarray(expm(_log(found) * apart))
    assert np.all(np.abs(again - true) < 4 * error + 1e-5)
    assert np.abs(again - true).max() > 1e-5  # it was learnt, not known
    assert np.abs(found - expm(RATES)).max() < 0.02


def _log(P: Floats) -> Floats:
    values, vectors = np.linalg.eig(P)
    log: Floats = (vectors @ np.diag(np.log(values.astype(complex))) @ np.linalg.inv(vectors)).real
    return log


def test_irregular_gaps_are_left_out() -> None:
    """A night without answers, rows at one time and answers that were never given teach nothing."""
    dt = np.full(3000, 4.0)
    answers = chain(RATES, dt, 3)
    time = np.append(0, dt.cumsum())
    plain = estimate_transitions([recording(time, answers)], "strong")
    nights = time + 40.0 * (np.arange(3001) // 300)
    cut = [recording(nights[i : i + 300], answers[i : i + 300]) for i in range(0, 3001, 300)]
    found = estimate_transitions([recording(nights, answers)], "strong")
    np.testing.assert_allclose(found, estimate_transitions(cut, "strong"), rtol=1e-12)
    assert np.abs(found - plain).max() > 1e-6
    # a row at the same time as the next, of another source or unseen, is none
    more_time = np.repeat(time, 2)
    more = np.repeat(answers, 2, axis=0)
    more[1::2] = NAN
    np.testing.assert_array_equal(
        estimate_transitions([recording(more_time, more)], "strong"), plain
    )
    weak = np.where(np.isnan(more), 1 / 3, more)
    mixed = cf.Recording(more_time, ["strong", "weak"] * 3001, weak, 3)
    np.testing.assert_array_equal(estimate_transitions([mixed], "strong"), plain)


def test_soft_counts_by_hand() -> None:
    """Of two classes: the eigenvalue is 1 - a - b, and its d-th root that of a time unit."""
    s = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.2, 0.8], [0.6, 0.4]])
    counts = np.zeros((2, 2))
    for now, then in pairwise(s):
        counts += [[now[i] * then[j] for j in range(2)] for i in range(2)]
    shares = (s.sum(axis=0) + 0.5) / 7
    counts += shares
    a, b = counts[0, 1] / counts[0].sum(), counts[1, 0] / counts[1].sum()
    d = np.mean([4, 5, 6, 5, 4])
    kept = (1 - a - b) ** (1 / d)
    a, b = a / (a + b) * (1 - kept), b / (a + b) * (1 - kept)
    time = np.array([0.0, 4, 9, 15, 20, 24])
    for scale in (1.0, 1.02):  # sums that are a little off count as 1
        found = estimate_transitions([recording(time, s * scale)], "strong")
        np.testing.assert_allclose(found, [[1 - a, a], [b, 1 - b]], rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            class_shares([recording(time, s * scale)], "strong"), shares, rtol=1e-12
        )


def test_what_no_process_in_continuous_time_has() -> None:
    """Classes that always change: rates are the chance to leave within the time between answers."""
    answers = np.eye(2)[[0, 1] * 100]
    found = estimate_transitions([recording(np.arange(200.0) * 3, answers)], "strong")
    counts = np.array([[0, 100], [99, 0]]) + 0.5
    P = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expm((P - np.eye(2)) / 3), rtol=0, atol=1e-12)


@given(SEEDS)
def test_classes_in_another_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = rng.dirichlet(np.full(4, 0.2), 60)
    s = np.maximum(s[np.repeat(np.arange(12), 5)], 1e-3)
    s /= s.sum(axis=1, keepdims=True)
    to = rng.permutation(4)
    time = np.arange(60.0)
    plain = estimate_transitions([recording(time, s)], "strong")
    other = estimate_transitions([recording(time, s[:, to])], "strong")
    np.testing.assert_allclose(other, plain[to][:, to], rtol=0, atol=1e-9)
    np.testing.assert_allclose(plain.sum(axis=1), 1, rtol=1e-12)
    assert plain.min() >= 0


def test_class_shares_by_hand() -> None:
    first = cf.Recording([0, 1, 2], ["a", "b", "a"], [[1.0, 0.0], [0.0, 1.0], [NAN, NAN]], 2)
    second = cf.Recording([0, 1], ["a", "a"], [[0.25, 0.75], [0.5, 0.5]], 2)
    # (1 + 0.25 + 0.5 + 1/2) of 3 + 1
    assert class_shares([first, second], "a").tolist() == [2.25 / 4, 1.75 / 4]
    assert class_shares([first], "nobody").tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "rec",
    [
        recording(np.array([0.0]), np.array([[1.0, 0.0]])),
        recording(np.array([0.0, 5.0]), np.eye(2), "weak"),
        recording(np.array([5.0, 5.0]), np.eye(2)),
        recording(np.array([0.0, 5.0]), np.array([[NAN, NAN], [1.0, 0.0]])),
    ],
)
def test_nothing_to_learn_from(rec: cf.Recording) -> None:
    with pytest.raises(ValueError, match="no two answers of 'strong' follow each other; record"):
        estimate_transitions([rec], "strong")
