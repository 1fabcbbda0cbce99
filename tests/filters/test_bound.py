"""The bound of the Dirichlet filter's memory: nu_i <= -eta log(smallest prediction)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import DTypeLike

import classfilter as cf
from bank_filters import same
from classfilter import reference
from oracle import Oracle, mp
from streams import Stream, streams

FLOOR = float(np.float32(1e-3))


def conflict(K: int, T: int, seed: int) -> tuple[Any, Any, Any]:
    """One-hot rows that disagree, weights of every size, and now and then a pause."""
    rng = np.random.default_rng(seed)
    probs = np.eye(K)[rng.integers(K, size=T)]
    beta = rng.choice([0.0625, 0.5, 0.9375, 1.0], T, p=[0.3, 0.4, 0.2, 0.1])
    return probs, beta, rng.choice([1.0, 0.0, 40.0], T, p=[0.8, 0.1, 0.1])


@pytest.mark.covering(1)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("K", [2, 3, 6, pytest.param(20, marks=pytest.mark.slow)])
def test_bounded_steps_to_fifty_digits(K: int, dtype: DTypeLike, limit: float) -> None:
    """Each step from the filter's own state."""
    gamma = 0.875
    f = cf.DirichletFilter(K, gamma, floor=FLOOR, dtype=dtype)
    exact = Oracle(K, gamma, FLOOR)
    free = Oracle(K, gamma, FLOOR, bounded=False)
    acted = 0
    for s, beta, dt in zip(*conflict(K, 40, K), strict=True):
        for o in (exact, free):
            o.eta, o.alpha = mp.mpf(f.eta), [mp.mpf(a) for a in f.alpha.tolist()]
            o.update(s.tolist(), float(beta), float(dt))
        f.update(s, beta, dt)
        scale = max(1.0, float(f.alpha.sum()) / 250) if dtype == np.float32 else 1.0
        for a, e in zip(f.alpha.tolist(), exact.alpha, strict=True):
            assert abs(float(a / e) - 1) <= limit * scale
        acted += any(
            abs(float(a / b) - 1) > 1e-3 for a, b in zip(exact.alpha, free.alpha, strict=True)
        )
    assert acted >= 10


@given(streams(), st.sampled_from([0.3, 0.9, 0.999]), st.sampled_from([np.float64, np.float32]))
def test_weight_one_keeps_every_bit(stream: Stream, gamma: float, dtype: DTypeLike) -> None:
    stream = stream._replace(beta=np.ones(len(stream.beta)))
    K = stream.probs.shape[1]
    bounded, paper = (cf.DirichletFilter(K, gamma, bounded=b, dtype=dtype) for b in (True, False))
    assert same(bounded.run(*stream), paper.run(*stream))


def test_one_step_after_a_pause_does_not_lock_a_strong_source() -> None:
    """A weak step after a pause takes alpha far beyond the bound; a strong one must not care."""
    f = cf.DirichletFilter(2, 0.9)
    f.run([[1.0, 0.0], [0.0, 1.0]] * 4, 0.3)
    f.update([1.0, 0.0], 0.1, dt=102.0)
    counts = 0
    while f.label == 0 and counts < 99:
        f.update([0.0, 1.0])
        counts += 1
    assert counts <= 2


@pytest.mark.slow
def test_the_reference_has_the_same_line() -> None:
    s = np.array([[0.97, 0.02, 0.01], [0.01, 0.97, 0.02]] * 4)
    f = cf.DirichletFilter(3, 0.9, floor=0.01)
    ours = f.run(s, 0.5)
    theirs = reference.run(s, 0.5, 0.9, rounds=300, bound=np.log(1.07 / 0.01))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    assert not np.allclose(ours, reference.run(s, 0.5, 0.9, rounds=300), atol=1e-3)
