"""Transitions over any time: rates, powers and exponentials, against fifty digits."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import expm, logm

import classfilter as cf
from classfilter.filters import generator
from classfilter.filters.rates import stationary, stochastic
from markov import random_rates
from streams import random_stream


def test_a_short_time_is_not_lost_to_rounding() -> None:
    """1 - stay**dt must not cancel."""
    f = cf.StickyFilter(2, 0.9)
    f.state = ([1.0, 0.0],)
    f.update([np.nan] * 2, dt=1e-9)
    expected = float(-mpmath.expm1(mpmath.log(0.9) * mpmath.mpf(1e-9))) / 2
    assert f.probs[1] == pytest.approx(expected, rel=1e-13, abs=0)


@pytest.mark.covering(1)
@pytest.mark.parametrize("K", [2, 3, 6, 9, 20])
@pytest.mark.parametrize("dt", [0.0, 1e-9, 0.01, 1.0, 3.7, 100.0, 1e4, 1e9])
def test_powers_are_exponentials(K: int, dt: float) -> None:
    rates = random_rates(K, K)
    f = cf.StickyFilter(K, transitions=expm(rates))
    if dt == 1e9:
        expected = np.tile(stationary(rates), (K, 1))
    elif dt > 1e3:
        expected = expm(rates * dt)
    else:
        with mpmath.workdps(40):
            # the rates of the filter; the next tests check them
            own = mpmath.matrix(generator(expm(rates)).tolist())
            expected = np.array(mpmath.expm(own * dt, method="taylor").tolist(), float)
    np.testing.assert_allclose(f._transitions(dt), expected, rtol=1e-11, atol=1e-15)


@given(st.integers(2, 10), st.integers(0, 999), st.sampled_from([1e-3, 0.1, 0.5]))
def test_rates_are_recovered(K: int, seed: int, speed: float) -> None:
    rates = random_rates(K, seed, speed)
    np.testing.assert_allclose(
        generator(expm(rates)), rates, rtol=0, atol=1e-12 * max(1, K * speed)
    )


def test_rates_of_a_matrix_without_eigenvectors() -> None:
    """A fixed order of classes with an absorbing last one: SciPy's logarithm, and the powers."""
    matrix = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])
    log = np.real(logm(matrix))
    clipped = np.maximum(log - np.diag(np.diag(log)), 0)
    rates = generator(matrix)
    np.testing.assert_allclose(rates - np.diag(np.diag(rates)), clipped, atol=1e-13)
    np.testing.assert_allclose(rates.sum(axis=1), 0, atol=1e-16)
    f = cf.StickyFilter(3, transitions=matrix, prior=[1 / 3] * 3)
    assert np.abs(f.transitions - matrix).max() < 0.01  # a process in continuous time may skip
    np.testing.assert_allclose(f.transitions, expm(rates), rtol=1e-13, atol=1e-16)


@given(st.integers(2, 6), st.integers(0, 999))
def test_similar_rates_where_there_are_no_exact_ones(K: int, seed: int) -> None:
    """Most random matrices have no exact rates: those in use are valid, and time still splits."""
    rng = np.random.default_rng(seed)
    matrix = stochastic(0.8 * np.eye(K) + 0.2 * rng.dirichlet(np.full(K, 0.3), K), tuple(range(K)))
    rates = generator(matrix)
    assert (rates - np.diag(np.diag(rates)) >= 0).all()
    np.testing.assert_allclose(rates.sum(axis=1), 0, atol=1e-15)
    assume(np.abs(expm(rates) - matrix).max() < 0.05)
    f = cf.StickyFilter(K, transitions=matrix, prior=np.full(K, 1 / K))
    half = f._transitions(0.5)
    np.testing.assert_allclose(half @ half, f.transitions, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(f.transitions, expm(rates), rtol=1e-12, atol=1e-16)


def test_no_change_at_all() -> None:
    f = cf.StickyFilter(2, transitions=np.eye(2), prior=[0.5, 0.5])
    g = cf.StickyFilter(2, 1.0)
    stream = random_stream(2, 50, 0)
    np.testing.assert_allclose(f.run(*stream), g.run(*stream), rtol=1e-12)


def off_diagonal(rates: Any) -> Any:
    """Rates with the diagonal that they need."""
    rates = np.array(rates, float)
    np.fill_diagonal(rates, 0)
    return rates - np.diag(rates.sum(axis=1))


def cycle(K: int, rate: float, back: float = 0.0) -> Any:
    """Each class to the next, and some way back: complex eigenvalues."""
    step = np.roll(np.eye(K), 1, axis=1)
    return off_diagonal(rate * step + back * step.T)


# rates, the time that their transitions cover, and whether modes serve them
GENERATORS: dict[str, tuple[Any, float, bool]] = {
    "random": (random_rates(6, 6), 1.0, True),
    "twenty classes": (random_rates(20, 20, 0.02), 1.0, True),
    "cycle": (cycle(5, 0.4), 1.0, True),
    "cycle, seconds": (cycle(7, 0.3, 0.1), 0.01, True),
    "birth and death": (off_diagonal(0.2 * np.eye(8, k=1) + 0.3 * np.eye(8, k=-1)), 60.0, True),
    "two time scales": (
        off_diagonal([[0, 0.9, 1e-4], [0.7, 0, 1e-4], [1e-4, 1e-4, 0]]),
        1.0,
        True,
    ),
    "stiff": (off_diagonal([[0, 1.4, 1e-9], [1.2, 0, 1e-9], [1e-9, 2e-9, 0]]), 1e-3, True),
    "defective": (off_diagonal(0.1 * np.eye(4, k=1)), 1.0, False),
    "nearly defective": (off_diagonal(0.1 * np.eye(4, k=1) + 1e-10 * np.eye(4, k=-3)), 1.0, False),
    "nearly absorbing": (off_diagonal([[0, 0.3, 0.1], [0.1, 0, 0.2], [1e-8, 0, 0]]), 1.0, False),
    "absorbing": (off_diagonal([[0, 0.3, 0.1], [0.1, 0, 0.2], [0, 0, 0]]), 1.0, False),
    "two islands": (off_diagonal([[0, 0.3, 0], [0.1, 0, 0], [0, 0, 0]]), 1.0, False),
}


def of_generator(name: str) -> cf.StickyFilter:
    rates, interval, _ = GENERATORS[name]
    K = len(rates)
    return cf.StickyFilter(K, transitions=expm(rates), interval=interval, prior=np.full(K, 1 / K))


@pytest.mark.parametrize("name", list(GENERATORS))
def test_steps_of_any_length_in_fifty_digits(name: str) -> None:
    """From one class, over a time that is new, and with nothing observed: a row of the exponential.

    The rates are those of the filter; other tests check them.
    """
    f, (_, interval, by_modes) = of_generator(name), GENERATORS[name]
    rates = f._prepared[3]
    assert rates is not None
    K = len(rates)
    rates = off_diagonal(rates)
    assert f._use_modes(rates) == by_modes
    for steps in (1e-9, 0.01, 0.37, 5.3, 1e3, 1e9) if K < 20 else (0.37, 5.3):
        dt = steps * interval
        with mpmath.workdps(50):
            exact_rates = mpmath.matrix(rates.tolist())
            for k in range(K):  # a rounded diagonal would make a class leak over a long time
                exact_rates[k, k] -= mpmath.fsum(exact_rates[k, :])
            exact = mpmath.expm(exact_rates * mpmath.mpf(dt), method="taylor")
            expected = np.array(exact.tolist(), float)
        for k in range(K):
            f.state = (np.eye(K)[k],)
            row = f.update(np.full(K, np.nan), dt=dt)
            np.testing.assert_allclose(row, np.maximum(expected[k], 0), rtol=0, atol=1e-12)
            assert row.min() > 0
            assert abs(row.sum() - 1) < 1e-15 * K


@pytest.mark.parametrize("name", list(GENERATORS))
def test_a_step_does_not_depend_on_those_before(name: str) -> None:
    """The same bits whether or not the last step was as long, one by one or in a run."""
    f, interval = of_generator(name), GENERATORS[name][1]
    K = len(f.classes)
    stream = random_stream(K, 40, 1)
    dt = np.repeat([1.0, 0.7, 3.0, 0.7, 1.0], 8) * interval
    whole = f.copy().run(stream.probs, stream.beta, dt)
    for row, s, beta, step in zip(whole, stream.probs, stream.beta, dt, strict=True):
        new = f.copy()
        assert new.update(s, beta, step).tobytes() == row.tobytes()
        f._transitions(2.0 * interval)
        assert f.update(s, beta, step).tobytes() == row.tobytes()
