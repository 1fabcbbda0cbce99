"""Filters for banks, and what is equal to the bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf
from markov import random_rates

FILTERS: dict[str, Callable[[int], Any]] = {
    "dirichlet": lambda K: cf.DirichletFilter(K, anchor=0.3),
    "dirichlet, float32": lambda K: cf.DirichletFilter(K, estimate="mean", dtype=np.float32),
    "sticky": lambda K: cf.StickyFilter(K, 0.95),
    "sticky, float32": lambda K: cf.StickyFilter(K, 0.95, dtype=np.float32),
    "transitions": lambda K: cf.StickyFilter(K, transitions=expm(random_rates(K, 1))),
    "transitions, float32": lambda K: cf.StickyFilter(
        K, transitions=expm(random_rates(K, 1)), dtype=np.float32
    ),
    "raw": cf.RawFilter,
    "mean": lambda K: cf.MeanFilter(K, window=3),
    "vote": lambda K: cf.VoteFilter(K, window=4),
    "ema": lambda K: cf.EmaFilter(K, 0.8),
    "hold": cf.HoldFilter,
}


every_filter = pytest.mark.parametrize("make", FILTERS.values(), ids=list(FILTERS))


def same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equal to the bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_states(bank: Any, filters: list[Any]) -> bool:
    """Each stream in the state of its filter, to the bit."""
    return len(bank) == len(filters) and all(
        same(np.asarray(a), np.asarray(b))
        for n, f in enumerate(filters)
        for a, b in zip(bank.filter(n).state, f.state, strict=True)
    )
