"""Random hidden Markov models, and the likelihood of an observation in them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FLOOR = 1e-3


def random_prior(K: int, seed: int) -> Floats:
    p = np.random.default_rng(seed).random(K) + 0.1
    prior: Floats = p / p.sum()
    return prior


def random_rates(K: int, seed: int, speed: float = 0.1) -> Floats:
    """Rates of a chain in continuous time; some are 0, but every class is reached."""
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
