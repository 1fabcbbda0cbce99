"""The paper's Algorithm 1 against the oracle of fifty digits."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma

from classfilter import reference
from oracle import Oracle

Floats = NDArray[np.float64]


class Step(NamedTuple):
    """The arguments of one update."""

    eta: float
    nu: Floats
    alpha: Floats
    s: Floats
    beta: float
    gamma: float

    @property
    def rest(self) -> tuple[Any, ...]:
        """The arguments that follow alpha in an objective or a gradient."""
        return self.eta, self.nu, self.s, self.beta, self.gamma

    def objective(self, alpha: Floats) -> float:
        return reference.objective(alpha, *self.rest)


def floats(values: list[Any]) -> Floats:
    return np.array([float(v) for v in values])


def expected_log(alpha: Floats) -> Floats:
    """E[log s | alpha]."""
    return np.asarray(digamma(alpha) - digamma(alpha.sum()))


def random_step(seed: int) -> Step:
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 7))
    eta, alpha = rng.uniform(0.2, 5), rng.gamma(1.0, 3.0, K) + 0.05
    s, beta = rng.dirichlet(np.ones(K)) * 0.9 + 0.1 / K, rng.uniform(0.05, 1)
    return Step(eta, -eta * expected_log(alpha), alpha, s, beta, rng.uniform(0.5, 1))


# --rest tries more of the same.
steps = pytest.mark.parametrize(
    "step",
    [random_step(0), *(pytest.param(random_step(n), marks=pytest.mark.slow) for n in range(1, 5))],
)


# Algorithm 1


@pytest.mark.parametrize("K", [3, *(pytest.param(K, marks=pytest.mark.slow) for K in (2, 4, 5))])
def test_reference_follows_the_oracle(K: int) -> None:
    rng = np.random.default_rng(K - 2)
    T, gamma = 5, rng.uniform(0.8, 0.95)
    probs = rng.dirichlet(np.full(K, 0.5), T) * 0.9 + 0.1 / K
    beta, dt = [1.0, 0.5, 0.0, 0.2, 1.0], [1.0, 0.0, 2.5, 1.0, 0.5]
    exact, state = Oracle(K, gamma, floor=0.0), reference.start(K)
    for t in range(T):
        eta, nu, alpha, _ = state
        state = reference.update(eta, nu, alpha, probs[t], beta[t], gamma ** dt[t], rounds=250)
        exact.update(probs[t].tolist(), beta[t], dt[t])
        assert state.eta == pytest.approx(float(exact.eta), rel=1e-13)
        np.testing.assert_allclose(state.alpha, floats(exact.alpha), rtol=1e-9)
        np.testing.assert_allclose(state.nu, floats(exact.nu), rtol=1e-9)
        np.testing.assert_allclose(state.p, floats(exact.probs()), rtol=1e-9, atol=1e-9)


def test_run_is_a_loop_of_update() -> None:
    rng = np.random.default_rng(1)
    probs, beta, gamma = rng.dirichlet(np.ones(4), 6), rng.random(6), rng.uniform(0.5, 1, 6)
    state, out = reference.start(4), reference.run(probs, beta, gamma, rounds=3)
    for t in range(6):
        eta, nu, alpha, _ = state
        state = reference.update(eta, nu, alpha, probs[t], beta[t], gamma[t], rounds=3)
        np.testing.assert_array_equal(out[t], state.p)
    same = reference.run(probs, np.full(6, 0.5), np.full(6, 0.9), rounds=3)
    np.testing.assert_array_equal(reference.run(probs, 0.5, 0.9, rounds=3), same)


@steps
def test_every_round_increases_the_objective(step: Step) -> None:
    """Proposition 2; and the rounds end at the mode."""
    eta, nu, alpha, s, beta, gamma = step
    alpha = np.ones_like(alpha)  # far from it
    heights = [step.objective(alpha)]
    for _ in range(25):
        alpha = reference.update(eta, nu, alpha, s, beta, gamma, rounds=1).alpha
        heights.append(step.objective(alpha))
    gains = np.diff(heights)
    assert gains.min() > -1e-13 * np.abs(heights).max()
    assert (gains[:5] > 0).all()
    alpha = reference.update(eta, nu, alpha, s, beta, gamma, rounds=300).alpha
    np.testing.assert_allclose(reference.gradient(alpha, *step.rest), 0, atol=1e-10)
    assert step.objective(alpha) == max(step.objective(alpha * f) for f in (0.99, 1.0, 1.01))


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [([3, 2, 0.5], [2 / 3, 1 / 3, 0]), ([1, 1], [0.5, 0.5]), ([0.2, 0.6], [0.25, 0.75])],
)
def test_mode(alpha: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(reference.mode(np.array(alpha)), expected, rtol=1e-15)


# Properties of the update


# The oracle itself: its certificate is the gradient, so check the gradient, and its rules
