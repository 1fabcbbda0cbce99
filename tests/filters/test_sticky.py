"""StickyFilter against every path of the classes, mpmath and SciPy's expm."""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm, fractional_matrix_power

import classfilter as cf
from conftest import rejected
from markov import FLOOR, likelihood, random_prior, random_rates, sticky_and_steps
from streams import Stream, random_stream, streams


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("with_transitions", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_path_of_the_classes(K: int, with_transitions: bool, seed: int) -> None:
    """Bayes' rule by brute force: the sum over all K^(T + 1) paths of their joint probability."""
    T, prior = 6, random_prior(K, seed)
    stream = random_stream(K, T, seed)
    f, steps = sticky_and_steps(K, seed, prior, stream.dt, with_transitions)
    out = f.run(*stream)
    likelihoods = [likelihood(s, prior, b) for s, b in zip(stream.probs, stream.beta, strict=True)]
    for t in range(T):
        total = np.zeros(K)
        for path in itertools.product(range(K), repeat=t + 2):
            joint = prior[path[0]]
            for n in range(t + 1):
                joint *= steps[n][path[n], path[n + 1]] * likelihoods[n][path[n + 1]]
            total[path[-1]] += joint
        np.testing.assert_allclose(out[t], total / total.sum(), rtol=1e-11)


@given(streams(max_rows=12), st.sampled_from([0.0, 0.3, 0.99, 1.0]), st.integers(0, 99))
def test_fifty_digits(stream: Stream, stay: float, seed: int) -> None:
    K = stream.probs.shape[1]
    prior = random_prior(K, seed)
    f = cf.StickyFilter(K, stay, prior=prior)
    with mpmath.workdps(50):
        exact_prior = [mpmath.mpf(x) for x in prior.tolist()]
        exact_prior = [x / mpmath.fsum(exact_prior) for x in exact_prior]
        p = exact_prior
        for s, beta, dt in zip(*stream, strict=True):
            f.update(s, beta, dt)
            keep = mpmath.mpf(stay) ** mpmath.mpf(float(dt))
            p = [keep * a + (1 - keep) * b for a, b in zip(p, exact_prior, strict=True)]
            if not np.isnan(s).all():
                floored = [max(mpmath.mpf(x), mpmath.mpf(FLOOR)) for x in s.tolist()]
                power = mpmath.mpf(float(beta))
                p = [a * (x / b) ** power for a, x, b in zip(p, floored, exact_prior, strict=True)]
            p = [a / mpmath.fsum(p) for a in p]
            for ours, exact in zip(f.probs.tolist(), p, strict=True):
                assert abs(float(ours / exact) - 1) < 1e-12 or exact < 1e-28


@pytest.mark.parametrize(("dtype", "most", "mean"), [("f4", 8e-7, 2e-7), ("f8", 2e-15, 3e-16)])
def test_powers_are_as_exact_as_their_precision(dtype: str, most: float, mean: float) -> None:
    """Of two classes, where nothing is remembered, the odds are those of the row, to its weight."""
    rng = np.random.default_rng(0)
    share, beta = np.exp(rng.uniform(np.log(1e-3), np.log(0.5), 2000)), rng.random(2000)
    rows, beta = np.stack([share, 1 - share], axis=1).astype(dtype), beta.astype(dtype)
    out = cf.StickyFilter(2, 0.0, dtype=dtype).run(rows, beta)
    with mpmath.workdps(30):
        exact = [
            (mpmath.mpf(a) / b) ** power
            for (a, b), power in zip(rows.tolist(), beta.tolist(), strict=True)
        ]
        errors = [
            float(mpmath.mpf(a) / b / x - 1) for (a, b), x in zip(out.tolist(), exact, strict=True)
        ]
    assert np.abs(errors).max() < most
    assert np.sqrt(np.square(errors).mean()) < mean


def test_the_dwell_of_two_classes() -> None:
    """By hand: each leaves at the rate 1/6, so the difference of the two decays at 2/6."""
    f = cf.StickyFilter(2, dwell=6.0)
    f.state = ([1.0, 0.0],)
    left = (1 + math.exp(-2)) / 2
    np.testing.assert_allclose(f.update([np.nan, np.nan], dt=6.0), [left, 1 - left], rtol=1e-14)


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.2] * 5, [0.9, 0.1], [0.6, 0.25, 0.1, 0.05]])
def test_the_dwell_is_the_mean_time_from_change_to_change(prior: list[float]) -> None:
    """In the transitions over a short time, and in a simulation of classes that are drawn again."""
    f, shares = cf.StickyFilter(len(prior), dwell=50.0, prior=prior), np.array(prior)
    assert f.stay is not None
    leaves = (1 - np.diag(f._transitions(1e-3))) / 1e-3
    np.testing.assert_allclose(1 / (shares @ leaves), 50, rtol=1e-4)
    if len(set(prior)) == 1:
        np.testing.assert_allclose(1 / leaves, 50, rtol=1e-4)
    np.testing.assert_allclose(f._dwell, 1 / leaves, rtol=1e-4)
    rng, draws = np.random.default_rng(0), 400_000
    until = rng.exponential(-1 / math.log(f.stay), draws)
    drawn = rng.choice(len(prior), draws, p=shares)
    changes = np.count_nonzero(np.diff(drawn))
    np.testing.assert_allclose(until.sum() / changes, 50, rtol=0.01)
    lasts = np.split(until, np.flatnonzero(np.diff(drawn)) + 1)[:-1]
    starts = np.flatnonzero(np.diff(drawn, prepend=-1))[: len(lasts)]
    times = np.array([one.sum() for one in lasts])
    for k in range(len(prior)):
        assert times[drawn[starts] == k].mean() == pytest.approx(f._dwell[k], rel=0.03)


def test_a_dwell_of_a_half_life_is_the_same_filter() -> None:
    """ln 2 times the dwell is the half-life of a class, where the class drawn is another one."""
    for prior in ([0.5, 0.5], [0.7, 0.2, 0.1]):
        same = 6 / (math.log(2) * (1 - sum(share * share for share in prior)))
        f = cf.StickyFilter(len(prior), dwell=same, prior=prior)
        assert f.stay == pytest.approx(0.5 ** (1 / 6), rel=1e-15)
    assert cf.StickyFilter(2, dwell=5e-324).stay == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("beta", [1.0, 0.9, 1e-3])
@pytest.mark.parametrize("K", [2, 5, 300])
def test_the_hardest_evidence(K: int, beta: float, dtype: Any) -> None:
    """The smallest floor and prior, no transitions: never NaN or zero, and it can still change."""
    prior = np.full(K, 1e-6)
    prior[0] = 1 - 1e-6 * (K - 1)
    f = cf.StickyFilter(K, 1.0, prior=prior, floor=1e-30, dtype=dtype)
    for k in (1, 0, 1):
        P = f.run(np.tile(np.eye(K)[k], (3000, 1)), beta)
        assert np.isfinite(P).all()
        assert (np.float32(1e-30) * 0.999 <= P).all()
        np.testing.assert_allclose(P.sum(axis=1, dtype=np.float64), 1, atol=1e-5)
        assert f.label == k


@given(streams(), st.sampled_from([0.0, 0.5, 0.99, 1.0]), st.booleans(), st.integers(0, 99))
def test_single_precision(stream: Stream, stay: float, with_transitions: bool, seed: int) -> None:
    K = stream.probs.shape[1]
    dynamics: dict[str, Any] = {"stay": stay}
    if with_transitions:
        dynamics = {"transitions": expm(random_rates(K, seed))}
    prior = random_prior(K, seed)
    double, single = (
        cf.StickyFilter(K, prior=prior, dtype=dtype, **dynamics)
        for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose(single.run(*stream), double.run(*stream), rtol=1e-4, atol=1e-12)


def test_properties() -> None:
    f = cf.StickyFilter(["a", "b"], prior=[0.2, 0.8])
    assert (f.stay, f.floor, f.dtype, f.label) == (0.99, 1e-3, np.dtype(np.float64), "b")
    np.testing.assert_allclose(f.transitions, [[0.992, 0.008], [0.002, 0.998]], rtol=1e-13)
    assert repr(f) == "StickyFilter(['a', 'b'], stay=0.99)"
    assert f.state._fields == ("probs",)
    g = cf.StickyFilter(2, transitions=f.transitions)
    assert g.stay is None
    assert repr(g) == "StickyFilter([0, 1], transitions=...)"


def test_a_state_is_restored_to_the_bit_and_zeros_are_raised() -> None:
    f = cf.StickyFilter(3)
    f.state = ([1.0, 0.0, 0.0],)
    assert f.probs.tolist() == [1.0, 1e-30, 1e-30]
    with pytest.raises(ValueError, match="probs"):
        f.state = ([0.5, 0.4, 0.0],)
    assert f.probs.tolist() == [1.0, 1e-30, 1e-30]


@pytest.mark.parametrize("interval", [0.25, 60.0])
def test_transitions_of_an_interval(interval: float) -> None:
    """The same pipeline, with transitions over another time."""
    P = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]])
    rng = np.random.default_rng(1)
    s, dt = rng.dirichlet(np.ones(3), 50), rng.exponential(2.0, 50)
    unit = cf.StickyFilter(3, transitions=P).run(s, dt=dt)
    other = cf.StickyFilter(3, transitions=P, interval=interval)
    np.testing.assert_allclose(other.run(s, dt=dt * interval), unit, rtol=0, atol=1e-9)
    expected = fractional_matrix_power(P, 1 / interval)
    np.testing.assert_allclose(other.transitions, expected, rtol=0, atol=1e-9)
    copied = other.copy()
    assert copied.transitions.tobytes() == other.transitions.tobytes()
    for invalid in (0.0, -1.0, np.inf, np.nan):
        with rejected("interval"):
            cf.StickyFilter(3, transitions=P, interval=invalid)
