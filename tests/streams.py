"""Random streams of observations, and Hypothesis strategies for them."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Stream(NamedTuple):
    """Observations with their weights and the time since the one before."""

    probs: Floats  # (T, K)
    beta: Floats  # (T,)
    dt: Floats  # (T,)


def random_stream(K: int, T: int, seed: int) -> Stream:
    """Rows of every kind (random, one-hot, uniform, repeated, missing), weights, and pauses.

    The numbers are exact in single precision, so that both precisions get the same stream.
    """
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(K, 0.5), T)
    kind = rng.random(T)
    for t in range(T):
        if kind[t] < 0.1:
            probs[t] = np.eye(K)[rng.integers(K)]
        elif kind[t] < 0.2:
            probs[t] = 1 / K
        elif kind[t] < 0.3:
            probs[t] = np.nan
        elif kind[t] < 0.5 and t > 0:
            probs[t] = probs[t - 1]
    beta = rng.choice([0.0, 0.05, 0.5, 1.0, *rng.random(2)], T)
    dt = rng.choice([1.0, 1.0, 0.0, 12.0, *rng.exponential(size=2)], T)
    return Stream(*(a.astype(np.float32).astype(np.float64) for a in (probs, beta, dt)))


def streams(max_classes: int = 8, max_rows: int = 20) -> SearchStrategy[Stream]:
    return st.builds(
        random_stream,
        st.integers(2, max_classes),
        st.integers(1, max_rows),
        st.integers(0, 2**32 - 1),
    )


def options() -> SearchStrategy[dict[str, Any]]:
    """Settings of a DirichletFilter."""
    return st.fixed_dictionaries(
        {
            "gamma": st.sampled_from([0.0, 0.01, 0.5, 0.9, 0.999, 1.0]),
            "anchor": st.sampled_from([0.0, 0.3, 2.0]),
            "estimate": st.sampled_from(["mode", "mean"]),
            "floor": st.sampled_from([1e-3, 1e-9]),
            "dtype": st.sampled_from([np.float64, np.float32]),
        }
    )


def at_most(examples: int) -> settings:
    """So many examples of a costly test with --rest; in the quick suite no more than of others."""
    return settings(max_examples=min(examples, settings().max_examples))
