"""Smoothing of the Dirichlet filter: a two-sided kernel, in fifty digits."""

from copy import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma

import classfilter as cf
from classfilter import _core
from classfilter.filters.dirichlet_smoothing import _mode, in_two_searches
from markov import FLOOR, random_prior
from oracle import Oracle, expected_neg_log, mp, posterior_mode
from streams import Stream, random_stream

Floats = NDArray[np.float64]


def summarise(alpha: list[Any], estimate: str) -> list[float]:
    """The mode or the mean of Dir(alpha), as in a filter."""
    peak = [max(a - 1, mp.zero) for a in alpha]
    if estimate == "mean" or not any(peak):
        peak = alpha
    return [float(p / mp.fsum(peak)) for p in peak]


def kernel(
    stream: Stream, gamma: float, anchor: float, prior: Floats, eta: float, alpha: Floats
) -> list[list[Any]]:
    """The mode at each row: a sum over all rows, however far before or after."""
    T, K = stream.probs.shape
    g, times = mp.mpf(gamma), [mp.fsum(map(mp.mpf, stream.dt[: t + 1].tolist())) for t in range(T)]
    at_rest = expected_neg_log([mp.mpf(a) for a in prior.tolist()])
    at_start = expected_neg_log([mp.mpf(a) for a in alpha.tolist()])
    modes = []
    for t in range(T):
        decay = g ** times[t]
        weights = [decay * eta, (1 - decay) * anchor]
        parts = [at_start, at_rest]
        for r in range(T):
            if not np.isnan(stream.probs[r]).any():
                s = [max(mp.mpf(v), mp.mpf(FLOOR)) for v in stream.probs[r].tolist()]
                parts.append([-mp.log(v / mp.fsum(s)) for v in s])
                weights.append(g ** abs(times[t] - times[r]))
        nu = [mp.fdot(weights, column) for column in zip(*parts, strict=True)]
        modes.append(posterior_mode(mp.fsum(weights), nu, [1] * K, mp.zero, [mp.one] * K))
    return modes


@pytest.mark.covering(2)
@pytest.mark.parametrize("estimate", ["mode", "mean"])
@pytest.mark.parametrize("anchor", [0.0, 0.7])
@pytest.mark.parametrize(("K", "seed"), [(2, 0), (3, 1), (6, 2)])
def test_at_full_weight_it_is_a_two_sided_kernel(
    K: int, seed: int, anchor: float, estimate: Any
) -> None:
    """Irregular times, missing rows, a prior, and an initial state that is not the prior."""
    T, gamma, prior = 15, 0.8, 3 * random_prior(K, seed)
    stream = random_stream(K, T, seed)._replace(beta=np.ones(T))
    f = cf.DirichletFilter(
        K, gamma, anchor=anchor, prior=prior, prior_weight=0.6, estimate=estimate, bounded=False
    )  # the initial state may be more certain than any prediction
    f.state = (1.3, 4 * random_prior(K, seed + 9))
    alpha = kernel(stream, gamma, anchor, prior, *f.state)
    expected = [summarise(a, estimate) for a in alpha]
    np.testing.assert_allclose(cf.smooth(f, *stream), expected, rtol=1e-9, atol=1e-12)


def at_largest(mean: list[Any], largest: float = 1e6) -> list[Any]:
    """The alpha that follow from their sum if it is the largest, scaled to it."""
    logs = [mp.digamma(largest) - m for m in mean]
    alpha = [mp.findroot(lambda a, y=y: mp.digamma(a) - y, mp.exp(y) + 0.5) for y in logs]
    return [largest * a / mp.fsum(alpha) for a in alpha]


@pytest.mark.covering(2)
@pytest.mark.parametrize("anchor", [0.0, 0.7])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
@pytest.mark.parametrize(("K", "seed"), [(2, 0), (3, 1), (5, 2)])
def test_weights_below_one(K: int, seed: int, gamma: float, anchor: float) -> None:
    """Filters in mpmath from both sides, their states added, then the row observed."""
    T, prior = 8, 2 * random_prior(K, seed)
    stream = random_stream(K, T, seed)
    f = cf.DirichletFilter(K, gamma, anchor=anchor, prior=prior, estimate="mean")
    P = cf.smooth(f, *stream)
    missing, at_rest = [float("nan")] * K, expected_neg_log([mp.mpf(a) for a in prior.tolist()])

    def exact_filter() -> Oracle:
        return Oracle(K, gamma, anchor=anchor, prior=prior.tolist())

    rows = list(zip(stream.probs.tolist(), stream.beta, stream.dt, strict=True))
    pasts, past = [], exact_filter()
    for s, beta, dt in rows:
        pasts.append(copy(past))
        pasts[-1].update(missing, dt=dt)
        past.update(s, beta, dt)
    after, without = exact_filter(), exact_filter()
    for t in reversed(range(T)):
        (s, beta, dt), before, both = rows[t], pasts[t], exact_filter()
        both.eta = before.eta + after.eta - without.eta
        nu = [a + b - without.eta * c for a, b, c in zip(before.nu, after.nu, at_rest, strict=True)]
        mean = [n / both.eta for n in nu]
        if after.eta == without.eta:  # nothing follows: as in `run`
            both.alpha = before.alpha
        elif mp.fsum(mp.exp(-m) for m in mean) < 1:
            both.alpha = posterior_mode(both.eta, nu, [1] * K, mp.zero, before.alpha)
        else:  # a weight below 1 can agree with the rest so well that there is no mode
            both.alpha = at_largest(mean)
        both.update(s, beta, 0.0)
        np.testing.assert_allclose(P[t], [float(p) for p in both.probs("mean")], rtol=1e-9)
        after.update(s, beta, 0.0)
        after.update(missing, dt=dt)
        without.update(missing, dt=dt)


@pytest.mark.parametrize("K", [2, 6, 40])
def test_the_mode_of_any_state(K: int) -> None:
    """From alpha of every size to nu, by SciPy, and back; none below the smallest."""
    rng = np.random.default_rng(K)
    alpha = 10 ** rng.uniform(-5, 4, (500, K))
    alpha[:100] = 10 ** rng.uniform(-7, -5, (100, K))
    alpha[100:200] *= 1e-3 / alpha[100:200].sum(axis=1, keepdims=True)
    mean = digamma(alpha.sum(axis=1))[:, None] - digamma(alpha)
    result, expected = _mode(mean, 1e9), np.maximum(alpha, 1e-6)
    # where the search ends, and what rounding of the mean leaves open
    total, space = alpha.sum(axis=1), 1 - np.exp(-mean).sum(axis=1)
    tolerance = 1e-12 + 1e-14 * total + 4e-15 * (1 + np.abs(digamma(total))) / space
    assert (np.abs(result / expected - 1).max(axis=1) < tolerance).all()


def test_a_concentration_without_bound_is_capped() -> None:
    """Rows that agree to the bit, the initial state long forgotten: the estimate equals them."""
    s = np.tile([0.7, 0.2, 0.1], (300, 1))
    for most in (1e3, 1e6, 1e12):
        f = cf.DirichletFilter(3, 0.5, max_concentration=most, estimate="mean")
        for lag in (None, 3):
            P = cf.smooth(f, s, lag=lag)[100:-100]
            np.testing.assert_allclose(P, s[100:-100], rtol=2 / most + 1e-12)


def test_a_missing_row_between_long_pauses() -> None:
    """Where next to nothing is left of either side, the nearer one decides."""
    s = np.array([[0.9, 0.1], [np.nan, np.nan], [0.2, 0.8]])
    f = cf.DirichletFilter(2, 0.5, estimate="mean")
    nearer_after = cf.smooth(f, s, dt=[1.0, 200.0, 150.0])
    nearer_before = cf.smooth(f, s, dt=[1.0, 150.0, 200.0])
    assert nearer_after[1].argmax() == 1
    assert nearer_before[1].argmax() == 0
    dt = [1.0, 1065.0, 1065.0]  # too little is left to have digits: the mode stays
    np.testing.assert_array_equal(cf.smooth(f, s, dt=dt)[1], f.copy().run(s, dt=dt)[1])
    forgotten = cf.DirichletFilter(2, 0.0, estimate="mean")  # nothing is left of either side
    run = forgotten.copy().run(s)
    np.testing.assert_array_equal(cf.smooth(forgotten, s), run)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("anchor", [0.0, 0.7])
@pytest.mark.parametrize("K", [2, 3, 6, 11])
def test_states_are_joined_in_one_search_as_in_two(K: int, anchor: float, bounded: bool) -> None:
    """Weights of every kind, missing rows and pauses; alone, a row has the same bits."""
    rng, T = np.random.default_rng(K), 203
    f = cf.DirichletFilter(K, 0.9, anchor=anchor, bounded=bounded)
    chain = np.column_stack([rng.uniform(0.1, 9, T), rng.gamma(1.0, 3.0, (T, K)) + 1e-3])
    slots, dt, eta = rng.permutation(T), rng.uniform(0, 9, T), rng.uniform(0.1, 9, T)
    after = np.column_stack([eta, rng.gamma(1.0, 3.0, (T, K)) + 1e-3])
    nu = eta[:, None] * f._means(after)
    s, beta = rng.dirichlet(np.ones(K), T), rng.choice([0.0, 0.1, 0.5, 1.0], T)
    s[beta == 0] = np.nan
    out, alone = np.empty((T, K)), np.empty((1, K))
    found = f._join(chain, slots, dt, eta, nu, s, beta, out)
    assert found.mean() > 0.9
    columns: tuple[Any, ...] = (slots, dt, eta, nu, s, beta)
    expected = in_two_searches(
        f, chain[slots[found]], dt=dt[found], eta=eta[found], nu=nu[found], s=s[found],
        beta=beta[found],
    )  # fmt: skip
    np.testing.assert_allclose(out[found], expected, rtol=1e-8, atol=1e-10)
    for row in range(0, T, 20):
        one: list[Any] = [chain, *(column[row : row + 1] for column in columns), alone]
        assert f._join(*one)[0] == found[row]
        if found[row]:
            np.testing.assert_array_equal(alone[0], out[row])


def test_what_is_not_joined_in_one_search() -> None:
    """Nothing is added, hardly anything is there, the bound is exceeded, there is no mode."""
    f = cf.DirichletFilter(2, 0.5)
    states = np.array([[1.0, 2.0, 3.0], [1e-40, 2.0, 3.0]])
    slots, eta = np.array([0, 1, 0, 0, 0]), np.array([0.0, 1e-40, 1.0, 1.0, 1.0])
    nu = np.array([[0.0, 0.0], [0.0, 0.0], [0.1, 99.0], [-2.0, -2.0], [0.7, 1.1]])
    s, beta, out = np.full((5, 2), 0.5), np.ones(5), np.full((5, 2), 7.0)
    found = f._join(states, slots, np.zeros(5), eta, nu, s, beta, out)
    assert found.tolist() == [False, False, False, False, True]
    assert (out[:4] == 7).all()


def test_sums_that_decay() -> None:
    before = np.array([9, 0, 9, 1, 2])
    decay, added = np.array([0.5, 0.25, 1.0, 0.5, 0.125]), np.arange(5.0)
    sums = _core.decayed_sums(8.0, before, decay, added)
    assert sums.tolist() == [4.0, 2.0, 10.0, 4.0, 5.25]
    with pytest.raises(ValueError, match="same length"):
        _core.decayed_sums(8.0, before[:4], decay, added)


@pytest.mark.parametrize("lag", [None, 2])
def test_rows_in_single_precision(lag: int | None) -> None:
    """Rows that are float32 already, as those of labels are, count as the same numbers do."""
    rows: Any = np.random.default_rng(0).dirichlet(np.ones(2), 9).astype(np.float32)
    for dtype in (np.float32, np.float64):
        f = cf.DirichletFilter(2, 0.8, dtype=dtype)
        single = cf.smooth(f, rows, 0.7, lag=lag)
        np.testing.assert_array_equal(single, cf.smooth(f, rows.astype(np.float64), 0.7, lag=lag))
