"""Smoothing of the sticky filter: every path, and messages by matrices."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf
from conftest import rejected
from markov import likelihood, random_prior, random_rates, sticky_and_steps
from streams import random_stream

Floats = NDArray[np.float64]


def sum_over_paths(start: Floats, steps: list[Floats], likelihoods: list[Floats]) -> Floats:
    """Sum the joint probability of each path of classes, K^(T + 1) of them, row by row."""
    T, K = len(steps), len(start)
    total = np.zeros((T, K))
    for path in itertools.product(range(K), repeat=T + 1):
        joint = start[path[0]]
        for n in range(T):
            joint *= steps[n][path[n], path[n + 1]] * likelihoods[n][path[n + 1]]
        total[np.arange(T), path[1:]] += joint
    posterior: Floats = total / total.sum(axis=1, keepdims=True)
    return posterior


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("with_transitions", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_path_of_the_classes(K: int, with_transitions: bool, seed: int) -> None:
    """Weights below 1, irregular times, missing rows, an initial state that is not the prior."""
    T, prior, start = 6, random_prior(K, seed), random_prior(K, seed + 50)
    stream = random_stream(K, T, seed)
    f, steps = sticky_and_steps(K, seed, prior, stream.dt, with_transitions)
    f.state = (start,)
    likelihoods = [likelihood(s, prior, b) for s, b in zip(stream.probs, stream.beta, strict=True)]
    known = [sum_over_paths(start, steps[:n], likelihoods[:n]) for n in range(1, T + 1)]
    np.testing.assert_allclose(cf.smooth(f, *stream), known[-1], rtol=1e-11)
    for lag in range(T + 2):
        expected = [known[min(t + lag, T - 1)][t] for t in range(T)]
        np.testing.assert_allclose(cf.smooth(f, *stream, lag=lag), expected, rtol=1e-11)


def test_evidence_that_would_underflow() -> None:
    """The class never changes, but the rows say that it does: never NaN or zero."""
    for dtype in (np.float64, np.float32):
        f = cf.StickyFilter(2, 1.0, dtype=dtype)
        P = cf.smooth(f, np.repeat(np.eye(2), 500, axis=0))
        assert np.isfinite(P).all()
        assert (P > 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
        assert P.dtype == dtype
        # the longer first part outweighs the end
        P = cf.smooth(f, np.repeat(np.eye(2), [1000, 500], axis=0))
        assert P[0].argmax() == 0


def some_pipes(K: int, seed: int, dtype: Any = np.float64) -> list[cf.StickyFilter]:
    prior = random_prior(K, seed)
    return [
        cf.StickyFilter(K, 0.9, prior=prior, dtype=dtype),
        cf.StickyFilter(K, transitions=expm(random_rates(K, seed)), prior=prior, dtype=dtype),
    ]


def some_likelihoods(K: int, T: int, seed: int) -> tuple[Floats, Floats]:
    """Likelihoods and times: rows of any size, impossible classes, missing rows, equal times."""
    rng = np.random.default_rng(seed)
    rows = rng.random((T, K)) ** 3 * 10 ** rng.uniform(-20, 20, (T, 1))
    rows[rng.random(T) < 0.2, 0] = 0.0
    rows[rng.random(T) < 0.2] = np.nan
    return rows, rng.choice([0.0, 1.0, 1.0, 2.5, 40.0], T)


def messages_by_matrices(f: cf.StickyFilter, rows: Floats, dt: Floats) -> Floats:
    """The recursion as it is written, a matrix of transitions per row."""
    messages = np.full(rows.shape, 1 / rows.shape[1])
    for t in range(len(rows) - 1, 0, -1):
        seen = np.ones(rows.shape[1]) if np.isnan(rows[t]).all() else rows[t]
        message = f._transitions(dt[t]) @ (seen * messages[t])
        messages[t - 1] = message / message.sum()
    return messages


@pytest.mark.parametrize("K", [2, 3, 4, 5, 6, 9, 20])
@pytest.mark.parametrize("which", range(2))
def test_backward_messages(which: int, K: int) -> None:
    f, (rows, dt) = some_pipes(K, K)[which], some_likelihoods(K, 200, K)
    before = f.probs
    messages, expected = f._backward(rows, dt), messages_by_matrices(f, rows, dt)
    np.testing.assert_allclose(messages, expected, rtol=1e-12, atol=1e-29)
    np.testing.assert_array_equal(f.probs, before)
    dt[0] = np.nan  # the time before the first row does not matter
    np.testing.assert_array_equal(f._backward(rows, dt), messages)
    np.testing.assert_array_equal(f._backward(rows, 1.0), f._backward(rows, np.ones(len(rows))))
    missing = np.isnan(rows)
    np.testing.assert_array_equal(f._backward(np.where(missing, 1.0, rows), dt), messages)
    # a row is known up to a factor; a power of two does not even round
    np.testing.assert_array_equal(f._backward(rows * 2.0**20, dt), messages)
    single = some_pipes(K, K, np.float32)[which]._backward(rows, dt)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-29)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_messages_of_evidence_that_would_underflow(dtype: Any) -> None:
    """Each row excludes the class of the row before it, and no class ever changes."""
    for f in (cf.StickyFilter(2, 1.0, dtype=dtype), cf.StickyFilter(2, 0.5, dtype=dtype)):
        messages = f._backward(np.tile(np.eye(2), (50, 1)), 0.0)
        assert (messages >= np.float32(1e-30) * (1 - 1e-6)).all()
        np.testing.assert_allclose(messages.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", range(3))
def test_messages_of_evidence_that_the_transitions_exclude(k: int, dtype: Any) -> None:
    """In time the second class becomes the first; nothing enters or leaves the third."""
    transitions = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    f = cf.StickyFilter(3, transitions=transitions, prior=[0.3, 0.3, 0.4], dtype=dtype)
    messages = f._backward(np.eye(3)[[0, k]], 2000.0)
    expected = [[0.5, 0.5, 1e-30], [1 / 3, 1 / 3, 1 / 3], [1e-30, 1e-30, 1.0]][k]
    np.testing.assert_allclose(messages[0], expected, rtol=1e-6)


@pytest.mark.parametrize("which", range(2))
def test_short_messages(which: int) -> None:
    f = some_pipes(3, 1)[which]
    assert f._backward(np.empty((0, 3)), 1.0).shape == (0, 3)
    np.testing.assert_allclose(f._backward([[0.2, 0.5, 7.0]], 1.0), [[1 / 3] * 3], rtol=1e-15)


@pytest.mark.parametrize("row", [[-0.1, 1.0], [np.inf, 1.0], [0.0, 0.0], [np.nan, 1.0]])
def test_invalid_likelihoods_are_named(row: list[float]) -> None:
    for f in some_pipes(2, 1):
        with pytest.raises(ValueError, match="each"):
            f._backward([[0.5, 0.5], row, [0.5, 0.5]], 1.0)
        with rejected("dt"):
            f._backward([[0.5, 0.5]] * 3, [1.0, 1.0, -1.0])
