"""The search for the mode from 100,000 random states, against an independent measure.

Streams visit few states. These have an alpha of any size and shape, so that the search also starts
where no stream would lead it: there a step may be short only because two long ways cancel in it,
and must not be believed.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

import classfilter as cf
import oracle
from classfilter.filters import StreamRows, StreamRunner

GAMMA, FLOOR, STATES, LIMIT = 0.9, 1e-3, 25_000, 1e6
Floats = NDArray[np.float64]
UNIT: Floats = np.ones(())


def random_states(K: int, n: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return states (n, K + 1): eta, then alpha; predictions (n, K); and weights (n,)."""
    rng = np.random.default_rng(seed)
    size, spread = 10 ** rng.uniform(-2, 4, (n, 1)), rng.uniform(0, 3, (n, 1))
    alpha = np.maximum(size * 10 ** (spread * rng.uniform(-1, 1, (n, K))), 1e-6)
    eta = 10 ** rng.uniform(-5, 1, (n, 1))
    s = rng.random((n, K)) ** (3 * 10 ** rng.uniform(-1, 1, (n, 1)))
    beta = np.where(rng.random(n) < 0.2, 1.0, rng.uniform(0.01, 1, n))
    return np.hstack([eta, alpha]), s / s.sum(axis=1, keepdims=True), beta


def hostile_states(K: int, n: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return states (n, K + 1), predictions (n, K), weights and time steps (n,), of any size.

    They are drawn like those of ``tests/core/c/states.c``.
    """
    rng = np.random.default_rng(seed)
    spread = np.where(rng.random((n, 1)) < 0.5, 3 * rng.random((n, 1)), 12)
    alpha = 10 ** (rng.uniform(-6, 6, (n, 1)) + spread * rng.uniform(-1, 1, (n, K)))
    alpha = alpha.clip(1e-6, 1e6)
    alpha *= np.minimum(1, 0.999 * LIMIT / alpha.sum(axis=1, keepdims=True))
    eta = 10 ** rng.uniform(-9, 2, (n, 1))
    s = rng.random((n, K)) ** (10 ** rng.uniform(-1, 2, (n, 1))) + 1e-300
    beta = np.where(rng.random(n) < 0.2, 1.0, 10 ** rng.uniform(-8, 0, n))
    dt = np.where(rng.random(n) < 0.7, 1.0, 10 ** rng.uniform(-3, 2, n))
    return np.hstack([eta, alpha.clip(1e-6)]), s / s.sum(axis=1, keepdims=True), beta, dt


def update_all(
    f: cf.DirichletFilter, states: Floats, s: Floats, beta: Floats, dt: Floats = UNIT
) -> Floats:
    """Update each state once, as a bank does; return the new states."""
    rows = StreamRows(s.astype(f.dtype), beta.astype(f.dtype), dt.astype(f.dtype))
    return StreamRunner(f).run(states.astype(f.dtype), rows, np.empty_like(rows.probs), threads=1)


def remaining_step(
    states: Floats,
    s: Floats,
    beta: Floats,
    x: Floats,
    dt: Floats = UNIT,
    floor: float = FLOOR,
) -> Floats:
    """The largest relative change of alpha that a Newton step at x would make, (n,)."""
    b, c, old = beta[:, None], GAMMA ** dt.reshape(-1, 1) * states[:, :1], states[:, 1:]
    s = np.maximum(s, floor)
    X, A = x.sum(axis=1, keepdims=True), old.sum(axis=1, keepdims=True)
    Z, z = b * X + x.shape[1] * (1 - b), b * x + 1 - b
    memory = digamma(X) - digamma(x) - digamma(A) + digamma(old)
    seen = digamma(Z) - digamma(z) + np.log(s / s.sum(axis=1, keepdims=True))
    g = c * memory + b * seen
    f1 = c * polygamma(1, x) + b**2 * polygamma(1, z)
    F1 = c * polygamma(1, X) + b**2 * polygamma(1, Z)
    total = (g / f1).sum(axis=1, keepdims=True) / (1 - F1 * (1 / f1).sum(axis=1, keepdims=True))
    step: Floats = np.abs((g + F1 * total) / f1 / x).max(axis=1)
    return step


def exact_mode(state: Floats, s: Floats, beta: float) -> list[float]:
    exact = oracle.Oracle(len(s), GAMMA, FLOOR, bounded=False)
    exact.eta, exact.alpha = oracle.mp.mpf(state[0]), [oracle.mp.mpf(a) for a in state[1:]]
    exact.update(s.tolist(), beta)
    return [float(a) for a in exact.alpha]


@pytest.mark.parametrize("K", [2, 3, 6, 20])
def test_random_states(K: int) -> None:
    f = cf.DirichletFilter(K, GAMMA, floor=FLOOR, bounded=False)
    states, s, beta = random_states(K, STATES, K)
    good = states[:, 1:].sum(axis=1) < 9e5
    states, s, beta = states[good], s[good], beta[good]
    x = update_all(f, states, s, beta)[:, 1:]
    assert np.isfinite(x).all()
    inner = (x.min(axis=1) > 2e-6) & (x.sum(axis=1) < 1e4)  # no limit moved it; digamma resolves it
    assert inner.mean() > 0.5
    left = remaining_step(states[inner], s[inner], beta[inner], x[inner])
    doubtful = np.flatnonzero(inner)[left > 1e-9]
    assert len(doubtful) < 20
    for i in doubtful:
        np.testing.assert_allclose(x[i], exact_mode(states[i], s[i], beta[i]), rtol=1e-9)


@pytest.mark.parametrize(
    ("state", "s", "beta"),
    [
        ([0.03940313189290075, 3.428162509819262, 10.660361668472616], [6e-13, 1], 0.416224030983),
        ([0.015583246164220257, 0.006590229639632457, 0.15203258605167164], [0.93, 0.07], 0.571),
        (
            [0.010735199968961209, 3.408320917095792, 2.9230700839532817e-05, 3.457817532791587],
            [0.042594915937113, 0.5231032102080442, 0.4343018738548428],
            0.05160076018578139,
        ),
    ],
)
def test_a_class_and_the_sum_cancel(state: list[float], s: list[float], beta: float) -> None:
    """A class's way and the sum's add up to a short step, ten times off the mode: it must go on."""
    f = cf.DirichletFilter(len(s), GAMMA, floor=FLOOR, bounded=False)
    new = update_all(f, np.array([state]), np.array([s]), np.array([beta]))[0, 1:]
    np.testing.assert_allclose(new, exact_mode(np.array(state), np.array(s), beta), rtol=1e-9)


@pytest.mark.parametrize("K", [2, 6, 20])
def test_single_precision_from_random_states(K: int) -> None:
    """Within what rounding leaves open: more, the larger the sum of alpha is."""
    states, s, beta = random_states(K, 5000, K + 100)
    good = states[:, 1:].sum(axis=1) < 1e4
    states, s, beta = states[good].astype(np.float32).astype(float), s[good], beta[good]
    double, single = (
        update_all(
            cf.DirichletFilter(K, GAMMA, floor=FLOOR, bounded=False, dtype=d), states, s, beta
        )[:, 1:]
        for d in (np.float64, np.float32)
    )
    total = double.sum(axis=1)
    inner = (double.min(axis=1) > 1e-5) & (total < 1e3)
    error = np.abs(single / double - 1).max(axis=1)[inner]
    assert (error < 1e-3 * np.maximum(1, total[inner] / 100)).mean() > 0.999


@pytest.mark.parametrize("K", [2, 6])
def test_both_precisions_agree_at_usual_weights(K: int) -> None:
    """Also where the limit decides the sum, and little is remembered."""
    states, s, beta, dt = (
        x.astype(np.float32).astype(float) for x in hostile_states(K, 50_000, K + 200)
    )
    usual = (states[:, 0] * GAMMA**dt > 1e-5) & (beta >= 1e-3)
    estimates = []
    for dtype in (np.float64, np.float32):
        f = cf.DirichletFilter(K, GAMMA, bounded=False, max_concentration=LIMIT, dtype=dtype)
        x = update_all(f, states[usual], s[usual], beta[usual], dt[usual])[:, 1:].astype(float)
        estimates.append(x / x.sum(axis=1, keepdims=True))
    assert usual.sum() > 10_000
    assert np.abs(estimates[0] - estimates[1]).max() < 2e-3


def test_a_mode_whose_sum_no_double_resolves() -> None:
    """Its sum is 1.1e12, of which rounding leaves a percent open: the limit decides it."""
    f = cf.DirichletFilter(2, 0.5, floor=1e-30, max_concentration=1e6, bounded=False)
    f.state = (0.0017967447058368979, np.array([999999.99999999988, 1e-6]))
    np.testing.assert_allclose(f.update([1.0, 0.0], beta=0.99999998999999995), [1, 0], atol=1e-12)
    np.testing.assert_allclose(f.alpha.sum(), 1e6)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("K", [2, 3, 6, 20])
def test_hostile_states(K: int, dtype: type, bounded: bool) -> None:
    """Every search ends, within the limits, and in double precision at the mode."""
    steps = []
    for i, floor in enumerate([1e-1, 1e-3, 1e-12, 1e-29]):
        f = cf.DirichletFilter(
            K, GAMMA, floor=floor, bounded=bounded, max_concentration=LIMIT, dtype=dtype
        )
        states, s, beta, dt = hostile_states(K, 5000, 4 * K + i)
        x = update_all(f, states, s, beta, dt)[:, 1:].astype(float)
        total = x.sum(axis=1)
        assert np.isfinite(x).all()
        assert x.min() >= np.float32(1e-6)
        assert total.max() <= LIMIT * (1 + K * np.finfo(dtype).eps) + K * 1e-6
        inner = (x.min(axis=1) > 2e-6) & (total < 1e4)
        at = states[inner], s[inner], beta[inner], x[inner], dt[inner]
        steps.append(remaining_step(*at, floor))
    if dtype is np.float64 and not bounded:
        left = np.concatenate(steps)
        assert len(left) > 5000
        assert (left > 1e-9).mean() < 0.005  # the measure, too, has rounding errors
        assert left.max() < 1e-6


def test_no_step_takes_a_class_below_zero() -> None:
    """A class below zero would count in the sum that the limit scales, and be gone afterwards."""
    limit = 852744.5625
    f = cf.DirichletFilter(
        6, GAMMA, floor=1.669e-18, bounded=False, max_concentration=limit, dtype=np.float32
    )
    alpha = [1.36204863, 0.000679019489, 0.000767906022, 0.0622717477, 0.0764019787, 0.00212963787]
    s = [0.00932898745, 0.0220017899, 0.298055828, 0.13315703, 0.321418703, 0.216037646]
    state = np.array([[1.32582079e-09, *alpha]])
    x = update_all(f, state, np.array([s]), np.array([1.61029475e-05]))[0, 1:]
    assert x.sum(dtype=float) <= limit * (1 + 6 * np.finfo(np.float32).eps)
