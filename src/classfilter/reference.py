"""The paper's Algorithm 1 as written: slow, readable, a starting point for newcomers.

Read it next to "Classification Filtering" (Bayram, MLSP 2025); the equation numbers are the
paper's. Two signs of its text are corrected, to fit the prior of Eq. (3): Eq. (15) must read
``- <alpha, nu>``, and the last ``nu`` line of Algorithm 1 must follow Eq. (16), which makes
``nu_i = eta (psi(sum alpha) - psi(alpha_i))``, positive. ``y`` in Eq. (11) is the given ``s``.

The state is ``eta``, the number of observations that it is worth, and ``nu``, the sum of their
``-log s``; ``alpha`` is the mode that the two imply. Time passes by ``eta <- gamma eta`` and
``nu <- gamma nu``; a step of length ``dt`` is one with ``gamma ** dt``.

`DirichletFilter` has one line more than the paper, and so has `update`: it takes a ``bound`` of
``nu_i / eta``. In the paper there is none.

Needs SciPy: ``pip install "classfilter[bench]"``.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .support.types import Floats

__all__ = ["State", "gradient", "mode", "objective", "run", "start", "update"]


class State(NamedTuple):
    """The posterior after a step: CP(alpha | eta, nu), its mode and the estimate."""

    eta: float
    nu: Floats
    alpha: Floats
    p: Floats


def start(classes: int) -> State:
    """Return the uniform initial state: alpha = 1, with the weight of one observation.

    Parameters
    ----------
    classes : int
        K, the number of classes.
    """
    alpha = np.ones(classes)
    return State(1.0, _nu(1.0, alpha), alpha, mode(alpha))


def update(
    eta: float,
    nu: Floats,
    alpha: Floats,
    s: Floats,
    beta: float,
    gamma: float,
    rounds: int = 100,
    bound: float = np.inf,
) -> State:
    """Let one time step pass, then observe: Algorithm 1.

    Parameters
    ----------
    eta, nu, alpha : float, (K,) and (K,) arrays
        The prior of Eq. (3) and its mode. ``eta`` must be positive.
    s : (K,) array
        The classifier's probabilities, all positive.
    beta : float
        The classifier's weight, from 0 (ignored) to 1.
    gamma : float
        The decay over the step, 0 < gamma <= 1.
    rounds : int
        M, the number of iterations of Eq. (11). The larger ``alpha``, the more are needed.
    bound : float
        Largest ``nu_i / eta``, not in the paper: minus the logarithm of the smallest probability
        that a prediction can have. Where that much is already remembered of a class, no prediction
        could have caused more.

    Returns
    -------
    State
        The new ``eta``, ``nu`` and ``alpha``, and ``p``, the mode of Dir(alpha).

    Examples
    --------
    >>> import numpy as np
    >>> eta, nu, alpha, _ = start(3)
    >>> s = np.array([0.7, 0.2, 0.1])
    >>> after = update(eta, nu, alpha, s, beta=0.5, gamma=0.9)
    >>> after.alpha.round(3)
    array([1.606, 1.123, 0.934])
    >>> bool(np.abs(gradient(after.alpha, eta, nu, s, beta=0.5, gamma=0.9)).max() < 1e-12)
    True
    """
    K = len(alpha)
    for _ in range(rounds):
        r = _g(alpha.sum(), beta, K * (1 - beta), gamma * eta) + beta * np.log(s) - gamma * nu
        alpha = _g_inverse(r, beta, 1 - beta, gamma * eta)  # Eq. (11)
    eta = gamma * eta + beta  # Eq. (17)
    nu = np.minimum(_nu(eta, alpha), eta * bound)  # the line that is not in the paper
    return State(eta, nu, alpha, mode(alpha))


def run(
    probs: ArrayLike,
    beta: ArrayLike = 1.0,
    gamma: ArrayLike = 0.9,
    rounds: int = 100,
    bound: float = np.inf,
) -> Floats:
    """Filter a stream from the uniform initial state.

    Parameters
    ----------
    probs : (T, K) array_like
        One observation per row, all positive.
    beta, gamma : float or (T,) array_like
        The weight of each observation, and the decay over the step before it.
    rounds, bound : int, float
        As in `update`.

    Returns
    -------
    (T, K) array
        The estimate ``p`` after each row.

    Examples
    --------
    >>> run([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], beta=[0.5, 1.0]).round(3)
    array([[0.831, 0.169, 0.   ],
           [0.068, 0.932, 0.   ]])
    """
    probs = np.asarray(probs, dtype=np.float64)
    T, K = probs.shape
    betas, gammas = np.broadcast_to(beta, T), np.broadcast_to(gamma, T)
    state, out = start(K), np.empty((T, K))
    for t in range(T):
        eta, nu, alpha, _ = state
        state = update(eta, nu, alpha, probs[t], float(betas[t]), float(gammas[t]), rounds, bound)
        out[t] = state.p
    return out


def objective(alpha: Floats, eta: float, nu: Floats, s: Floats, beta: float, gamma: float) -> float:
    """Return L(alpha), the log posterior up to a constant: Eq. (8)."""
    likelihood = _log_a(beta * alpha + (1 - beta)) + beta * (alpha @ np.log(s))
    prior = gamma * eta * _log_a(alpha) - gamma * (alpha @ nu)
    return float(likelihood + prior)


def gradient(alpha: Floats, eta: float, nu: Floats, s: Floats, beta: float, gamma: float) -> Floats:
    """Return the gradient of L(alpha), zero at the mode: Eq. (9)."""
    K = len(alpha)
    total = _g(alpha.sum(), beta, K * (1 - beta), gamma * eta)
    return total - _g(alpha, beta, 1 - beta, gamma * eta) + beta * np.log(s) - gamma * nu


def mode(alpha: Floats) -> Floats:
    """Return the mode of Dir(alpha), or its mean where no alpha_i > 1 and there is no mode.

    Parameters
    ----------
    alpha : (K,) array
        Where some ``alpha_i < 1`` the density peaks on the boundary, and ``p_i = 0``.
    """
    peak = np.maximum(alpha - 1, 0)
    if not peak.any():
        peak = alpha
    return np.asarray(peak / peak.sum())


def _nu(eta: float, alpha: Floats) -> Floats:
    """Return the nu for which CP(. | eta, nu) has its mode at alpha: Eq. (16)."""
    psi = _special().digamma
    return np.asarray(eta * (psi(alpha.sum()) - psi(alpha)))


def _log_a(alpha: Floats) -> float:
    """Return log A(alpha), the log normaliser of Dir(alpha): Eq. (1)."""
    gammaln = _special().gammaln
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum())


def _g(x: ArrayLike, beta: float, c: float, weight: float) -> Floats:
    """Return G_{beta, c}(x) with weight = gamma eta: Eq. (10). It increases with x > 0."""
    psi, x = _special().digamma, np.asarray(x)
    return np.asarray(beta * psi(beta * x + c) + weight * psi(x))


def _g_inverse(r: Floats, beta: float, c: float, weight: float) -> Floats:
    """Solve G_{beta, c}(x) = r for x > 0 by binary search, down to neighbouring floats."""
    low, high = np.zeros_like(r), np.ones_like(r)
    while (below := _g(high, beta, c, weight) < r).any():
        high[below] *= 2
    while True:
        middle = (low + high) / 2
        if ((middle == low) | (middle == high)).all():
            return high
        below = _g(middle, beta, c, weight) < r
        low, high = np.where(below, middle, low), np.where(below, high, middle)


def _special() -> Any:
    """Import `scipy.special` late, because SciPy is optional."""
    try:
        import scipy.special
    except ImportError as error:
        raise ImportError(
            'classfilter.reference needs SciPy: pip install "classfilter[bench]"'
        ) from error
    return scipy.special
