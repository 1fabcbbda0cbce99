"""The paper's Algorithm 1, the fifty-digit oracle, and properties of the model they share."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import digamma
from scipy.stats import dirichlet

from classfilter import reference
from oracle import Oracle, gradient, log_posterior, mp, posterior_mode

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


@steps
def test_objective_and_gradient_equal_the_oracles(step: Step) -> None:
    alpha = step.alpha[::-1].copy()
    exact = float(log_posterior(alpha.tolist(), *step.rest))
    assert step.objective(alpha) == pytest.approx(exact, rel=1e-13)
    slope = floats(gradient(alpha.tolist(), *step.rest))
    np.testing.assert_allclose(reference.gradient(alpha, *step.rest), slope, rtol=1e-12, atol=1e-13)


def test_beta_zero_only_lets_time_pass() -> None:
    eta, nu, alpha, s, _, gamma = random_step(0)
    after = reference.update(eta, nu, alpha, s, 0.0, gamma)
    assert after.eta == gamma * eta
    np.testing.assert_allclose(after.nu, gamma * nu, rtol=1e-11)
    np.testing.assert_allclose(after.alpha, alpha, rtol=1e-11)


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [([3, 2, 0.5], [2 / 3, 1 / 3, 0]), ([1, 1], [0.5, 0.5]), ([0.2, 0.6], [0.25, 0.75])],
)
def test_mode(alpha: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(reference.mode(np.array(alpha)), expected, rtol=1e-15)


def test_without_scipy_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match=r"pip install .*classfilter\[bench\]"):
        reference.start(3)


# Properties of the update


@steps
def test_one_step_decides_by_a_linear_rule(step: Step) -> None:
    eta, nu, alpha, s, beta, gamma = step
    exact = floats(_mode(step))
    np.testing.assert_array_equal(np.argsort(exact), np.argsort(beta * np.log(s) - gamma * nu))
    one_round = reference.update(eta, nu, alpha, s, beta, gamma, rounds=1).alpha
    assert one_round.argmax() == exact.argmax()


@steps
def test_full_weight_has_a_closed_form(step: Step) -> None:
    """For beta = 1, nu <- gamma nu - log s: an exponential average of the logarithms."""
    eta, nu, alpha, s, _, gamma = step
    after = reference.update(eta, nu, alpha, s, 1.0, gamma, rounds=300)
    np.testing.assert_allclose(after.nu, gamma * nu - np.log(s), rtol=1e-10)
    assert after.eta == gamma * eta + 1


@steps
def test_update_is_a_proximal_step(step: Step) -> None:
    """L = log Dir(s | beta alpha + 1 - beta) - gamma eta KL(Dir(old) || Dir(alpha)) + constant."""
    eta, _, old, s, beta, gamma = step

    def proximal(alpha: Floats) -> float:
        s0 = np.full(len(old), 1 / len(old))  # any point: what is left of the ratio is exact
        log_ratio = dirichlet.logpdf(s0, old) - dirichlet.logpdf(s0, alpha)
        kl = log_ratio + (old - alpha) @ (expected_log(old) - np.log(s0))
        return float(dirichlet.logpdf(s, beta * alpha + (1 - beta)) - gamma * eta * kl)

    rng = np.random.default_rng(0)
    points = [old, *rng.gamma(1.0, 3.0, (10, len(old)))]
    constant = [step.objective(alpha) - proximal(alpha) for alpha in points]
    np.testing.assert_allclose(constant, constant[0], atol=1e-10)
    assert np.ptp([step.objective(alpha) for alpha in points]) > 1  # and L itself is no constant


@steps
def test_innovation_form(step: Step) -> None:
    """nu changes by beta times E[-log s] less the innovation, log s - E[log s]."""
    eta, nu, alpha, s, beta, gamma = step
    after = reference.update(eta, nu, alpha, s, beta, gamma, rounds=300)
    seen = expected_log(beta * after.alpha + (1 - beta))
    innovation = np.log(s) - seen
    expected = gamma * nu + beta * (-expected_log(after.alpha) - innovation)
    np.testing.assert_allclose(after.nu, expected, rtol=1e-9)


# The oracle itself: its certificate is the gradient, so check the gradient, and its rules


@steps
def test_the_oracles_gradient_is_that_of_its_objective(step: Step) -> None:
    alpha, h = [mp.mpf(a) for a in step.alpha.tolist()], mp.mpf(10) ** -15
    for i, slope in enumerate(gradient(alpha, *step.rest)):
        up, down = (
            log_posterior([*alpha[:i], alpha[i] + d, *alpha[i + 1 :]], *step.rest) for d in (h, -h)
        )
        assert abs((up - down) / (2 * h) - slope) < 1e-25


@pytest.mark.parametrize("K", [2, 6, 100])
@pytest.mark.parametrize("total", [0.1, 1e2, 1e7, 1e12])
def test_the_oracle_holds_at_any_concentration(K: int, total: float) -> None:
    """Observing exactly what the state expects does not change its mode."""
    rng = np.random.default_rng(K)
    alpha = [mp.mpf(a) for a in (total * rng.dirichlet(np.ones(K) * 5)).tolist()]
    X, eta = mp.fsum(alpha), mp.mpf(2)
    nu = [eta * (mp.digamma(X) - mp.digamma(a)) for a in alpha]
    beta = mp.mpf(0.25)
    z = [beta * a + (1 - beta) for a in alpha]
    s = [mp.exp(mp.digamma(v) - mp.digamma(mp.fsum(z))) for v in z]  # as expected of Dir(z)
    guess = [mp.one] * K
    mode = posterior_mode(eta, nu, s, beta, guess)
    assert max(abs(a / b - 1) for a, b in zip(mode, alpha, strict=True)) < 1e-25


def test_the_oracle_starts_from_its_prior() -> None:
    f = Oracle(3, 0.9, prior=[3.0, 2.0, 0.5], prior_weight=4.0)
    assert (f.eta, f.alpha) == (4, [3, 2, 0.5])
    assert abs(f.nu[0] - 4 * (mp.digamma(5.5) - mp.digamma(3))) < 1e-45
    np.testing.assert_allclose(floats(f.probs()), [2 / 3, 1 / 3, 0], rtol=1e-15)
    np.testing.assert_allclose(floats(f.probs("mean")), np.array([6, 4, 1]) / 11, rtol=1e-15)


def test_the_oracle_without_observations() -> None:
    missing, seen = [float("nan")] * 3, [0.7, 0.2, 0.1]
    f = Oracle(3, 0.5)
    f.update(seen)
    alpha, nu = f.alpha, f.nu
    f.update(missing, dt=2.0)
    assert (f.eta, f.alpha) == (1.5 / 4, alpha)
    assert max(abs(a - b / 4) for a, b in zip(f.nu, nu, strict=True)) < 1e-45
    f.update(seen, beta=0.0, dt=0.0)
    assert (f.eta, f.alpha) == (1.5 / 4, alpha)

    f = Oracle(3, 0.5, anchor=2.0, prior=[1.0, 2.0, 3.0])
    f.update(seen)
    f.update(missing, dt=1.0)
    assert f.eta == 0.5 * (0.5 * 1 + 0.5 * 2 + 1) + 0.5 * 2
    f.update(missing, dt=1000.0)  # back to the prior
    assert abs(f.eta - 2) < 1e-45
    assert max(abs(a - b) for a, b in zip(f.alpha, (1, 2, 3), strict=True)) < 1e-38


def test_the_oracle_anchors_nu_as_it_does_eta() -> None:
    f = Oracle(2, 0.5, anchor=3.0, prior=[2.0, 5.0], prior_weight=0.5)
    f.update([0.9, 0.1], beta=0.4)
    nu = [
        n / 2 + 3 * (mp.digamma(7) - mp.digamma(a)) / 2 for n, a in zip(f.nu, (2, 5), strict=True)
    ]
    f.update([float("nan")] * 2)
    assert max(abs(a - b) for a, b in zip(f.nu, nu, strict=True)) < 1e-35


def test_the_oracle_floors_and_renormalises() -> None:
    floored, plain = Oracle(3, 0.9, floor=0.125), Oracle(3, 0.9, floor=0.0)
    floored.update([1.0, 0.0, 0.0])
    plain.update([0.8, 0.1, 0.1])
    assert max(abs(a - b) for a, b in zip(floored.alpha, plain.alpha, strict=True)) < 1e-15


def test_the_oracle_caps_the_concentration() -> None:
    capped, free = Oracle(3, 0.5, max_concentration=20.0), Oracle(3, 0.5)
    for _ in range(30):
        before = free.alpha
        free.update([0.6, 0.3, 0.1])
        capped.update([0.6, 0.3, 0.1])
        assert mp.fsum(capped.alpha) < 20 + mp.mpf(10) ** -45
        if mp.fsum(before) < 20 < mp.fsum(free.alpha):  # the first time: the same direction
            scale = 20 / mp.fsum(free.alpha)
            assert [scale * a for a in free.alpha] == pytest.approx(capped.alpha, rel=1e-30)
    assert mp.fsum(free.alpha) > 1e4
    assert capped.eta == free.eta
    expected = [capped.eta * (mp.digamma(20) - mp.digamma(a)) for a in capped.alpha]
    assert max(abs(a - b) for a, b in zip(capped.nu, expected, strict=True)) < 1e-40


def test_the_oracle_without_a_prior() -> None:
    """No mode: alpha is the observation at the largest concentration; nearly so for a tiny eta."""
    for gamma in (0.0, 1e-60, 1e-30):
        f = Oracle(2, gamma, floor=0.0, max_concentration=100.0)
        f.update([0.75, 0.25], beta=0.5)
        assert abs(f.alpha[0] - 75) < 1e-25
        assert abs(f.alpha[1] - 25) < 1e-25
        assert abs(f.eta - 0.5) < 1e-25


def _mode(step: Step) -> list[Any]:
    prior = [mp.mpf(step.gamma) * n for n in step.nu.tolist()]
    eta = mp.mpf(step.gamma) * step.eta
    return posterior_mode(eta, prior, step.s.tolist(), mp.mpf(step.beta), [mp.one] * len(step.nu))
