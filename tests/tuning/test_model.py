"""The estimated model: known pipelines and channels are recovered; SciPy and loops as oracles."""

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
from classfilter.tuning.model import (
    agreement,
    class_shares,
    estimate_model,
    successive,
    transitions_from_counts,
)
from classfilter.tuning.passes import Passes
from classfilter.tuning.rows import JoinedRows, concatenate

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
RATES = np.array([[-0.02, 0.015, 0.005], [0.01, -0.04, 0.03], [0.05, 0.0, -0.05]])


def certain(K: int) -> Floats:
    """A row for each class that is all but certain of it: a certain one would be a label."""
    return np.eye(K) * (1 - 1e-9) + 1e-9 / K


def rates(K: int, seed: int, size: float) -> Floats:
    """Rates of about a size, some of them 0."""
    rng = np.random.default_rng(seed)
    G: Floats = rng.exponential(size, (K, K)) * (rng.random((K, K)) < 0.8)
    np.fill_diagonal(G, 0)
    np.fill_diagonal(G, -G.sum(axis=1))
    return G


def pipe(G: Floats, dt: Floats, seed: int) -> Floats:
    """The classes of a pipeline at times dt apart, by their transitions; certain rows (T, K)."""
    rng = np.random.default_rng(seed)
    cumulative = {span: expm(G * span).cumsum(axis=1) for span in set(dt.tolist())}
    c = [0]
    for span in dt.tolist():
        c.append(int(np.searchsorted(cumulative[span][c[-1]], rng.random())))
    return certain(len(G))[np.minimum(c, len(G) - 1)]


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


# --- transitions ----------------------------------------------------------------------------


def counted(rows: JoinedRows) -> tuple[Floats, float, Floats]:
    """The counts of successive predictions, the mean time between them, and the shares."""
    before, after, interval = successive(rows)
    counts = rows.probs[before].T @ rows.probs[after]
    return counts, interval, class_shares(rows)


@pytest.mark.parametrize(
    "apart", [5.0, *(pytest.param(dt, marks=pytest.mark.slow) for dt in (0.5, 12.0))]
)
def test_a_known_pipe_is_recovered(apart: float) -> None:
    """Of many short streams, within 4 standard errors of the counts and of the pseudo-stream."""
    dt = np.full(200, apart)
    several = [recording(np.append(0, dt.cumsum()), pipe(RATES, dt, seed)) for seed in range(200)]
    counts, interval, shares = counted(concatenate(several, "strong"))
    assert interval == pytest.approx(apart)
    matrix, over = transitions_from_counts(counts, shares, interval, len(several))
    f = cf.StickyFilter(3, transitions=matrix, interval=over, prior=shares)
    true = expm(RATES * apart)
    error = np.sqrt(true * (1 - true) / (40_000 * shares[:, None]))
    assert np.all(np.abs(f._transitions(apart) - true) < 4 * error + 0.02)


def test_irregular_gaps_are_left_out() -> None:
    dt = np.full(300, 4.0)
    probs, time = pipe(RATES, dt, 3), np.append(0, dt.cumsum())
    nights = time + 40.0 * (np.arange(301) // 30)
    cut = [recording(nights[i : i + 30], probs[i : i + 30]) for i in range(0, 301, 30)]
    whole, pieces = (
        counted(concatenate(recs, "strong")) for recs in ([recording(nights, probs)], cut)
    )
    np.testing.assert_allclose(whole[0], pieces[0], rtol=1e-12)
    assert counted(concatenate([recording(time, probs)], "strong"))[0].sum() > whole[0].sum() + 5


def test_classes_that_always_change_have_no_logarithm() -> None:
    """The rates are then the transitions less the identity."""
    counts = np.array([[0.0, 100.0], [100.0, 0.0]])
    matrix, interval = transitions_from_counts(counts, np.array([0.5, 0.5]), 3.0, 1000)
    P = counts + 0.5 * np.ones((2, 2))
    P = 1000 * P / P.sum(axis=1, keepdims=True) + 0.5
    P /= P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(matrix, expm((P - np.eye(2)) * interval / 3), rtol=0, atol=1e-9)


def test_shares_by_hand() -> None:
    """One prediction of each class is added, and one stream with all classes alike."""
    first = cf.rows(time=[0, 1], source=["a", "b"], probs=[[0.75, 0.25], [0.1, 0.9]], classes=2)
    second = cf.rows(time=[0, 1], source=["a", "a"], probs=[[0.25, 0.75], [0.5, 0.5]], classes=2)
    once = (0.75 + 0.25 + 0.5 + 1) / (3 + 2)
    expected = (2 * once + 0.5) / 3
    shares = class_shares(concatenate([first, second], "a"))
    np.testing.assert_allclose(shares, [expected, 1 - expected], rtol=1e-12)


def test_agreement_by_hand() -> None:
    """Three of four pairs agree; the shares of the predicted classes are 3/5 and 2/5."""
    rec = recording(np.arange(5.0), np.array([[0.9, 0.1]] * 3 + [[0.2, 0.8]] * 2))
    chance = 0.6**2 + 0.4**2
    assert agreement(concatenate([rec], "strong")) == pytest.approx((0.75 - chance) / (1 - chance))
    same = recording(np.arange(5.0), np.array([[0.9, 0.1]] * 5))
    assert agreement(concatenate([same], "strong")) == 1.0


# --- channels -------------------------------------------------------------------------------


def with_weak(seed: int, confusion: Floats, T: int = 1200) -> cf.Rows:
    """A perfect reference at every sixth step, and a source with a known confusion matrix."""
    rng = np.random.default_rng(seed)
    truth = pipe(RATES, np.full(T - 1, 1.0), seed).argmax(axis=1)
    weak = certain(3)[[rng.choice(3, p=confusion[k]) for k in truth]]
    strong = np.arange(T) % 6 == 0
    probs = np.where(strong[:, None], certain(3)[truth], weak)
    source = np.where(strong, "strong", "weak")
    return cf.rows(time=np.arange(float(T)), source=source, probs=probs, classes=3, label=truth)


def test_a_known_channel_is_recovered() -> None:
    confusion = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.3, 0.5]])
    rows = concatenate([with_weak(seed, confusion) for seed in range(6)], "strong")
    model = estimate_model(rows, Passes(rows))
    assert set(model.channel) == {("weak", "near"), ("weak", "em")}
    assert np.abs(model.channel["weak", "em"].matrix - confusion).max() < 0.05
    assert np.abs(model.channel["weak", "near"].matrix - confusion).max() < 0.08
    for channel in model.channel.values():
        np.testing.assert_allclose(channel.prior, model.prior, rtol=1e-12)


def test_the_near_channel_in_a_plain_loop() -> None:
    recs = [with_weak(seed, np.full((3, 3), 1 / 3), T=40) for seed in range(3)]
    counts, paired = np.zeros((3, 3)), []
    for rec in recs:
        last = None
        for t, (name, s) in enumerate(zip(rec.source_names.tolist(), rec.probs, strict=True)):
            s = np.maximum(s, 1e-3) / np.maximum(s, 1e-3).sum()
            if name == "strong" and t > 0 and last is not None:
                counts += np.outer(s, last)
                paired.append(last)
            last = s if name == "weak" else last
    counts += np.mean(paired, axis=0)
    rows = concatenate(recs, "strong")
    model = estimate_model(rows, Passes(rows))
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.channel["weak", "near"].matrix, expected, rtol=1e-9)


def test_a_source_that_never_precedes_the_reference() -> None:
    apart = [
        cf.rows(time=np.arange(50.0), source=name, probs=np.eye(2)[np.arange(50) // 25], classes=2)
        for name in "ab"
    ]
    rows = concatenate(apart, "a")
    near = estimate_model(rows, Passes(rows)).channel["b", "near"].matrix
    np.testing.assert_allclose(near, np.full((2, 2), 0.5), atol=1e-12)
