"""Random hidden Markov models, and the likelihood of an observation in them."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf

Floats = NDArray[np.float64]
FLOOR = 1e-3


def random_prior(K: int, seed: int) -> Floats:
    p = np.random.default_rng(seed).random(K) + 0.1
    prior: Floats = p / p.sum()
    return prior


def random_rates(K: int, seed: int, speed: float = 0.1) -> Floats:
    """Rates of a pipeline in continuous time; some are 0, but every class is reached."""
    rng = np.random.default_rng(seed)
    rates = speed * rng.random((K, K)) * (rng.random((K, K)) < 0.7)
    rates[np.arange(K), (np.arange(K) + 1) % K] += speed / 10
    np.fill_diagonal(rates, 0)
    generator: Floats = rates - np.diag(rates.sum(axis=1))
    return generator


def likelihood(s: Floats, prior: Floats, beta: float) -> Floats:
    """The likelihood of each class, up to a factor."""
    if np.isnan(s).all():
        return np.ones(len(s))
    s = np.maximum(s, FLOOR)
    ratio: Floats = (s / s.sum() / prior) ** beta
    return ratio


def sticky_and_steps(
    K: int, seed: int, prior: Floats, dt: Floats, with_transitions: bool
) -> tuple[cf.StickyFilter, list[Floats]]:
    """A filter, and the transition matrix of each dt."""
    if with_transitions:
        rates = random_rates(K, seed)
        f = cf.StickyFilter(K, transitions=expm(rates), prior=prior)
        return f, [expm(rates * t) for t in dt]
    # either untouched, or drawn again: two ways to be the same class
    rho, drawn = 0.8, np.tile(prior, (K, 1))
    f = cf.StickyFilter(K, rho, prior=prior)
    return f, [rho**t * np.eye(K) + (1 - rho**t) * drawn for t in dt]
