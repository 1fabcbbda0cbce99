"""Smoothing against every path of the classes, hmmlearn, and kernels in mpmath."""

import itertools
from typing import Any

import numpy as np
import pytest
from hmmlearn import _hmmc
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.special import digamma

import classfilter as cf
from classfilter.filters._dirichlet_smoothing import _mode
from classfilter.filters._lag_smoother import LagSmoother
from markov import FLOOR, likelihood, random_prior, random_rates
from oracle import Oracle, mp, posterior_mode
from streams import Stream, options, random_stream, streams

Floats = NDArray[np.float64]
Kind = cf.DirichletFilter | cf.StickyFilter


def cut(stream: Stream, stop: int) -> Stream:
    return Stream(stream.probs[:stop], stream.beta[:stop], stream.dt[:stop])


def backwards(stream: Stream) -> Stream:
    """The same rows from the last to the first; the time before the first row stays."""
    dt = np.concatenate([stream.dt[:1], stream.dt[:0:-1]])
    return Stream(stream.probs[::-1], stream.beta[::-1], dt)


# ---- sticky: the posterior ----


def sum_over_paths(start: Floats, steps: list[Floats], likelihoods: list[Floats]) -> Floats:
    """Sum the joint probability of each path of classes, K^(T + 1) of them, row by row."""
    T, K = len(steps), len(start)
    total = np.zeros((T, K))
    for path in itertools.product(range(K), repeat=T + 1):
        joint = start[path[0]]
        for n in range(T):
            joint *= steps[n][path[n], path[n + 1]] * likelihoods[n][path[n + 1]]
        total[np.arange(T), path[1:]] += joint
    posterior: Floats = total / total.sum(axis=1, keepdims=True)
    return posterior


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("with_transitions", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_path_of_the_classes(K: int, with_transitions: bool, seed: int) -> None:
    """Weights below 1, irregular times, missing rows, an initial state that is not the prior."""
    T, rho, prior, start = 6, 0.8, random_prior(K, seed), random_prior(K, seed + 50)
    stream, rates = random_stream(K, T, seed), random_rates(K, seed)
    if with_transitions:
        f = cf.StickyFilter(K, transitions=expm(rates), prior=prior)
        steps = [expm(rates * dt) for dt in stream.dt]
    else:
        f = cf.StickyFilter(K, rho, prior=prior)
        steps = [rho**dt * np.eye(K) + (1 - rho**dt) * np.tile(prior, (K, 1)) for dt in stream.dt]
    f.state = (start,)
    likelihoods = [likelihood(s, prior, b) for s, b in zip(stream.probs, stream.beta, strict=True)]
    known = [sum_over_paths(start, steps[:n], likelihoods[:n]) for n in range(1, T + 1)]
    np.testing.assert_allclose(cf.smooth(f, *stream), known[-1], rtol=1e-11)
    for lag in range(T + 2):
        expected = [known[min(t + lag, T - 1)][t] for t in range(T)]
        np.testing.assert_allclose(cf.smooth(f, *stream, lag=lag), expected, rtol=1e-11)


@pytest.mark.parametrize("K", [2, 6, 20])
def test_hmmlearn_s_posteriors(K: int) -> None:
    T, prior = 500, random_prior(K, 1)
    probs = np.random.default_rng(K).dirichlet(np.ones(K), T)
    f = cf.StickyFilter(K, transitions=expm(random_rates(K, K) / K), prior=prior)
    seen = np.maximum(probs, FLOOR) / prior
    seen /= seen.sum(axis=1, keepdims=True)
    first = f.probs @ f.transitions  # hmmlearn's first row has no step before it
    _, forward, scale = _hmmc.forward_scaling(first, f.transitions, seen)
    theirs = forward * _hmmc.backward_scaling(first, f.transitions, seen, scale)
    theirs /= theirs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cf.smooth(f, probs), theirs, rtol=1e-10)


def test_evidence_that_would_underflow() -> None:
    """The class never changes, but the rows say that it does: never NaN or zero."""
    for dtype in (np.float64, np.float32):
        f = cf.StickyFilter(2, 1.0, dtype=dtype)
        P = cf.smooth(f, np.repeat(np.eye(2), 500, axis=0))
        assert np.isfinite(P).all()
        assert (P > 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
        assert P.dtype == dtype
        # the longer first part outweighs the end
        P = cf.smooth(f, np.repeat(np.eye(2), [1000, 500], axis=0))
        assert P[0].argmax() == 0


# ---- sticky: the backward messages ----


def some_chains(K: int, seed: int, dtype: Any = np.float64) -> list[cf.StickyFilter]:
    prior = random_prior(K, seed)
    return [
        cf.StickyFilter(K, 0.9, prior=prior, dtype=dtype),
        cf.StickyFilter(K, transitions=expm(random_rates(K, seed)), prior=prior, dtype=dtype),
    ]


def some_likelihoods(K: int, T: int, seed: int) -> tuple[Floats, Floats]:
    """Likelihoods and times: rows of any size, impossible classes, missing rows, equal times."""
    rng = np.random.default_rng(seed)
    rows = rng.random((T, K)) ** 3 * 10 ** rng.uniform(-20, 20, (T, 1))
    rows[rng.random(T) < 0.2, 0] = 0.0
    rows[rng.random(T) < 0.2] = np.nan
    return rows, rng.choice([0.0, 1.0, 1.0, 2.5, 40.0], T)


def messages_by_matrices(f: cf.StickyFilter, rows: Floats, dt: Floats) -> Floats:
    """The recursion as it is written, a matrix of transitions per row."""
    messages = np.full(rows.shape, 1 / rows.shape[1])
    for t in range(len(rows) - 1, 0, -1):
        seen = np.ones(rows.shape[1]) if np.isnan(rows[t]).all() else rows[t]
        message = f._transitions(dt[t]) @ (seen * messages[t])
        messages[t - 1] = message / message.sum()
    return messages


@pytest.mark.parametrize("K", [2, 3, 4, 5, 6, 9, 20])
@pytest.mark.parametrize("which", range(2))
def test_backward_messages(which: int, K: int) -> None:
    f, (rows, dt) = some_chains(K, K)[which], some_likelihoods(K, 200, K)
    before = f.probs
    messages, expected = f._backward(rows, dt), messages_by_matrices(f, rows, dt)
    np.testing.assert_allclose(messages, expected, rtol=1e-12, atol=1e-29)
    np.testing.assert_array_equal(f.probs, before)
    dt[0] = np.nan  # the time before the first row does not matter
    np.testing.assert_array_equal(f._backward(rows, dt), messages)
    np.testing.assert_array_equal(f._backward(rows, 1.0), f._backward(rows, np.ones(len(rows))))
    missing = np.isnan(rows)
    np.testing.assert_array_equal(f._backward(np.where(missing, 1.0, rows), dt), messages)
    # a row is known up to a factor; a power of two does not even round
    np.testing.assert_array_equal(f._backward(rows * 2.0**20, dt), messages)
    single = some_chains(K, K, np.float32)[which]._backward(rows, dt)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-29)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_messages_of_evidence_that_would_underflow(dtype: Any) -> None:
    """Each row excludes the class of the row before it, and no class ever changes."""
    for f in (cf.StickyFilter(2, 1.0, dtype=dtype), cf.StickyFilter(2, 0.5, dtype=dtype)):
        messages = f._backward(np.tile(np.eye(2), (50, 1)), 0.0)
        assert (messages >= np.float32(1e-30) * (1 - 1e-6)).all()
        np.testing.assert_allclose(messages.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", range(3))
def test_messages_of_evidence_that_the_transitions_exclude(k: int, dtype: Any) -> None:
    """In time the second class becomes the first; nothing enters or leaves the third."""
    transitions = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    f = cf.StickyFilter(3, transitions=transitions, prior=[0.3, 0.3, 0.4], dtype=dtype)
    messages = f._backward(np.eye(3)[[0, k]], 2000.0)
    expected = [[0.5, 0.5, 1e-30], [1 / 3, 1 / 3, 1 / 3], [1e-30, 1e-30, 1.0]][k]
    np.testing.assert_allclose(messages[0], expected, rtol=1e-6)


@pytest.mark.parametrize("which", range(2))
def test_short_messages(which: int) -> None:
    f = some_chains(3, 1)[which]
    assert f._backward(np.empty((0, 3)), 1.0).shape == (0, 3)
    np.testing.assert_allclose(f._backward([[0.2, 0.5, 7.0]], 1.0), [[1 / 3] * 3], rtol=1e-15)


@pytest.mark.parametrize("row", [[-0.1, 1.0], [np.inf, 1.0], [0.0, 0.0], [np.nan, 1.0]])
def test_invalid_likelihoods_are_named(row: list[float]) -> None:
    for f in some_chains(2, 1):
        with pytest.raises(ValueError, match=r"each likelihood must lie in .* in row 1"):
            f._backward([[0.5, 0.5], row, [0.5, 0.5]], 1.0)
        with pytest.raises(ValueError, match=r"dt in row 2 is -1"):
            f._backward([[0.5, 0.5]] * 3, [1.0, 1.0, -1.0])


# ---- Dirichlet: the two-sided kernel ----


def expected_neg_log(alpha: list[Any]) -> list[Any]:
    total = mp.digamma(mp.fsum(alpha))
    return [total - mp.digamma(a) for a in alpha]


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

    for t in range(T):
        before, after, without = exact_filter(), exact_filter(), exact_filter()
        for r in range(t):
            before.update(stream.probs[r].tolist(), stream.beta[r], stream.dt[r])
        before.update(missing, dt=stream.dt[t])
        for r in range(T - 1, t, -1):
            after.update(stream.probs[r].tolist(), stream.beta[r], 0.0)
            after.update(missing, dt=stream.dt[r])
            without.update(missing, dt=stream.dt[r])
        both = exact_filter()
        both.eta = before.eta + after.eta - without.eta
        nu = [a + b - without.eta * c for a, b, c in zip(before.nu, after.nu, at_rest, strict=True)]
        mean = [n / both.eta for n in nu]
        if after.eta == without.eta:  # nothing follows: as in `run`
            both.alpha = before.alpha
        elif mp.fsum(mp.exp(-m) for m in mean) < 1:
            both.alpha = posterior_mode(both.eta, nu, [1] * K, mp.zero, before.alpha)
        else:  # a weight below 1 can agree with the rest so well that there is no mode
            both.alpha = at_largest(mean)
        both.update(stream.probs[t].tolist(), stream.beta[t], 0.0)
        np.testing.assert_allclose(P[t], [float(p) for p in both.probs("mean")], rtol=1e-9)


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


@given(streams(6, 12), options(), st.integers(1, 12))
def test_any_settings_and_any_lag(stream: Stream, settings: Any, lag: int) -> None:
    """Each row of a lag is that row with the stream cut off after the lag, to the bit."""
    f = cf.DirichletFilter(stream.probs.shape[1], **settings)
    P = cf.smooth(f, *stream, lag=lag)
    assert P.dtype == f.dtype
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1, dtype=np.float64), 1, rtol=1e-5)
    for t in range(len(P)):
        if t + 1 < len(P):  # the last row alone is a run in the filter's own precision
            whole = cf.smooth(f, *cut(stream, t + lag + 1))
            np.testing.assert_array_equal(P[t], whole[t])


# ---- either ----


def some_filters(K: int, seed: int = 0) -> list[Kind]:
    return [
        cf.StickyFilter(K, 0.9, prior=random_prior(K, seed)),
        cf.StickyFilter(K, transitions=expm(random_rates(K, seed))),
        cf.DirichletFilter(K, 0.9),
        cf.DirichletFilter(K, 0.8, anchor=0.5, prior=3 * random_prior(K, seed), estimate="mean"),
        cf.DirichletFilter(K, 0.8, anchor=0.5, dtype=np.float32),
        cf.StickyFilter(K, 0.9, dtype=np.float32),
    ]


@pytest.mark.parametrize("which", range(6))
def test_lag(which: int) -> None:
    """No row ahead is `run`, to the bit; all rows ahead are no lag."""
    f, stream = some_filters(4)[which], random_stream(4, 60, 2)
    f.run(*random_stream(4, 5, 3))
    np.testing.assert_array_equal(cf.smooth(f, *stream, lag=0), f.copy().run(*stream))
    whole = cf.smooth(f, *stream)
    assert np.abs(whole - f.copy().run(*stream)).max() > 0.1
    for lag in (59, 60, 1000):
        np.testing.assert_array_equal(cf.smooth(f, *stream, lag=lag), whole)
    # the longest lag that is one: the first row alone misses nothing but the last
    almost = cf.smooth(f, *stream, lag=58)
    tolerance = 1e-14 if f.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(almost[1:], whole[1:], rtol=0, atol=tolerance)
    assert np.abs(almost[0] - whole[0]).max() < 1e-3


@pytest.mark.parametrize("which", range(6))
def test_the_last_row_and_short_streams(which: int) -> None:
    f, stream = some_filters(3)[which], random_stream(3, 20, 1)
    tolerance = 1e-12 if f.dtype == np.float64 else 1e-5
    run = f.copy().run(*stream)
    np.testing.assert_allclose(cf.smooth(f, *stream)[-1], run[-1], rtol=0, atol=tolerance)
    if which == 2:  # without an anchor there is nothing to round
        np.testing.assert_array_equal(cf.smooth(f, *stream)[-1], run[-1])
    for rows in (0, 1):
        short = cut(stream, rows)
        np.testing.assert_array_equal(cf.smooth(f, *short), f.copy().run(*short))


@pytest.mark.parametrize("which", range(6))
def test_the_filter_does_not_change(which: int) -> None:
    f, stream = some_filters(4)[which], random_stream(4, 30, 5)
    f.run(*random_stream(4, 5, 3))
    before = [np.array(part) for part in f.state]
    copies = [array.copy() for array in stream]
    for lag in (None, 0, 3):
        cf.smooth(f, *stream, lag=lag)
    for part, old in zip(f.state, before, strict=True):
        np.testing.assert_array_equal(part, old)
    for array, old in zip(stream, copies, strict=True):
        np.testing.assert_array_equal(array, old)
    moved = cf.smooth(f, *stream)  # it starts from the current state, not from the prior
    f.reset()
    assert np.abs(cf.smooth(f, *stream) - moved).max() > 1e-6


@pytest.mark.parametrize("which", range(4))
def test_missing_rows_after_a_row_change_nothing(which: int) -> None:
    f, stream = some_filters(3)[which], random_stream(3, 20, 4)
    stream.probs[8:] = np.nan
    run = f.copy().run(*stream)
    np.testing.assert_allclose(cf.smooth(f, *stream)[7:], run[7:], rtol=0, atol=1e-12)
    if which == 2:  # without an anchor there is nothing to round
        np.testing.assert_array_equal(cf.smooth(f, *stream)[7:], run[7:])
    unseen = Stream(np.full((20, 3), np.nan), stream.beta, stream.dt)
    np.testing.assert_allclose(cf.smooth(f, *unseen), f.copy().run(*unseen), rtol=0, atol=1e-12)


@pytest.mark.parametrize("which", range(4))
def test_a_row_of_zero_weight_is_missing(which: int) -> None:
    f, stream = some_filters(3)[which], random_stream(3, 20, 6)
    stream.beta[5:9] = 0.0
    without = stream.probs.copy()
    without[5:9] = np.nan
    np.testing.assert_allclose(
        cf.smooth(f, *stream), cf.smooth(f, without, stream.beta, stream.dt), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("lag", [None, 3])
def test_any_order_of_the_classes(lag: int | None) -> None:
    K, stream = 5, random_stream(5, 40, 3)
    order = np.random.default_rng(0).permutation(K)
    prior, rates = random_prior(K, 3), random_rates(K, 3)
    turned = Stream(stream.probs[:, order], stream.beta, stream.dt)
    pairs: list[tuple[Kind, Kind]] = [
        (
            cf.StickyFilter(K, transitions=expm(rates)),
            cf.StickyFilter(K, transitions=expm(rates[np.ix_(order, order)])),
        ),
        (cf.DirichletFilter(K, prior=5 * prior), cf.DirichletFilter(K, prior=5 * prior[order])),
    ]
    for f, g in pairs:
        P, Q = cf.smooth(f, *stream, lag=lag), cf.smooth(g, *turned, lag=lag)
        np.testing.assert_allclose(Q, P[:, order], rtol=1e-8, atol=1e-12)


@pytest.mark.slow
@given(streams(5, 15), st.integers(0, 99))
def test_time_may_run_backwards(stream: Stream, seed: int) -> None:
    """Where the prior is as strong at either end, and the chain is reversible."""
    K = stream.probs.shape[1]
    prior = random_prior(K, seed)
    symmetric = 0.3 * np.random.default_rng(seed).random((K, K))
    rates = (symmetric + symmetric.T) * prior
    np.fill_diagonal(rates, 0)
    rates -= np.diag(rates.sum(axis=1))
    for f in (
        cf.StickyFilter(K, 0.9, prior=prior),
        cf.StickyFilter(K, transitions=expm(rates)),
        cf.DirichletFilter(K, 0.9, anchor=1.0, estimate="mean"),
        cf.DirichletFilter(K, 0.9, anchor=0.5, prior_weight=0.5, prior=prior, estimate="mean"),
    ):
        P, Q = cf.smooth(f, *stream), cf.smooth(f, *backwards(stream))
        np.testing.assert_allclose(Q[::-1], P, rtol=1e-8, atol=1e-12)


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("preset", ["plain", "capture24"])
def test_smoothing_is_more_accurate(preset: str, seed: int) -> None:
    day = cf.simulate(preset, seed=seed)
    source, probs = day.mixed()
    beta = np.where(source == "strong", 1.0, 0.1)
    K = len(day.classes)
    for f in (cf.StickyFilter(K, 0.98), cf.DirichletFilter(K, 0.95)):
        accuracy = [
            cf.metrics.accuracy(day.truth, cf.smooth(f, probs, beta, lag=lag).argmax(axis=1))
            for lag in (0, 12, None)
        ]
        assert accuracy[0] < accuracy[1]
        assert accuracy[0] < accuracy[2]


# ---- errors ----


@pytest.mark.parametrize("lag", [None, 0, 2])
@pytest.mark.parametrize("kind", [cf.DirichletFilter, cf.StickyFilter])
def test_invalid_rows_are_named(kind: Any, lag: int | None) -> None:
    f, valid = kind(2), [0.5, 0.5]
    f.update([0.9, 0.1])
    before = f.probs
    with pytest.raises(ValueError, match=r"probs\[2, 0\] is -0\.5"):
        cf.smooth(f, [valid, valid, [-0.5, 1.5], valid], lag=lag)
    with pytest.raises(ValueError, match=r"beta.*row 1"):
        cf.smooth(f, [valid, valid], [1.0, 2.0], lag=lag)
    with pytest.raises(ValueError, match=r"dt.*row 1"):
        cf.smooth(f, [valid, valid], 1.0, [1.0, -1.0], lag=lag)
    with pytest.raises(ValueError, match="beta has 3 entries, but probs has 2 rows"):
        cf.smooth(f, [valid, valid], [1.0, 1.0, 1.0], lag=lag)
    np.testing.assert_array_equal(f.probs, before)


def test_invalid_lag() -> None:
    f = cf.StickyFilter(2)
    with pytest.raises(ValueError, match=r"lag is -1; it must be 0 or more rows"):
        cf.smooth(f, [[0.5, 0.5]], lag=-1)
    with pytest.raises(TypeError, match=r"lag is 1\.5; it must be a whole number of rows"):
        cf.smooth(f, [[0.5, 0.5]], lag=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [cf.MeanFilter(2), cf.RawFilter(2), None])
def test_other_filters_cannot_smooth(other: Any) -> None:
    name = type(other).__name__
    with pytest.raises(TypeError, match=f"filter is a {name}, which cannot smooth; give a"):
        cf.smooth(other, [[0.5, 0.5]])


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("lag", [1, 2, 7, 18, 19, 20, 50])
@pytest.mark.parametrize("K", [2, 6])
def test_a_stream_in_blocks(K: int, lag: int, which: int) -> None:
    """Any cuts give the rows of the whole stream, to the bit, and as early as they are known."""
    f, T = some_filters(K)[which], 20
    f.run(*random_stream(K, 5, 3))
    stream = random_stream(K, T, lag)
    whole = cf.smooth(f, *stream, lag=lag)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ends = [*np.sort(rng.integers(0, T, 6)), T] if seed else range(1, T + 1)
        smoother, rows, start = LagSmoother(f, lag), [], 0
        for end in ends:
            rows.append(smoother.push(*(a[start:end] for a in stream)))
            known = end - lag if end > lag + 1 else 0
            assert sum(map(len, rows)) == max(known, 0)
            start = end
        rows.append(smoother.flush())
        assert rows[-1].dtype == f.dtype
        np.testing.assert_array_equal(np.concatenate(rows), whole)
