"""Smoothing against every path of the classes, hmmlearn, and kernels in mpmath."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import classfilter as cf
from markov import random_prior, random_rates
from streams import Stream, options, random_stream, streams

Kind = cf.DirichletFilter | cf.StickyFilter


def cut(stream: Stream, stop: int) -> Stream:
    return Stream(stream.probs[:stop], stream.beta[:stop], stream.dt[:stop])


@given(streams(6, 12), options(), st.integers(1, 12))
def test_any_settings_and_any_lag(stream: Stream, settings: Any, lag: int) -> None:
    """Each row of a lag is that row with the stream cut off after the lag, to the bit."""
    f = cf.DirichletFilter(stream.probs.shape[1], **settings)
    P = cf.smooth(f, *stream, lag=lag)
    assert P.dtype == f.dtype
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1, dtype=np.float64), 1, rtol=1e-5)
    for t in range(len(P)):
        if t + 1 < len(P):  # the last row alone is a run in the filter's own precision
            whole = cf.smooth(f, *cut(stream, t + lag + 1))
            np.testing.assert_array_equal(P[t], whole[t])


def some_filters(K: int, seed: int = 0) -> list[Kind]:
    return [
        cf.StickyFilter(K, 0.9, prior=random_prior(K, seed)),
        cf.StickyFilter(K, transitions=expm(random_rates(K, seed))),
        cf.DirichletFilter(K, 0.9),
        cf.DirichletFilter(K, 0.8, anchor=0.5, prior=3 * random_prior(K, seed), estimate="mean"),
        cf.DirichletFilter(K, 0.8, anchor=0.5, dtype=np.float32),
        cf.StickyFilter(K, 0.9, dtype=np.float32),
    ]


@pytest.mark.parametrize("which", range(6))
def test_lag(which: int) -> None:
    """No row ahead is `run`, to the bit; all rows ahead are no lag."""
    f, stream = some_filters(4)[which], random_stream(4, 60, 2)
    f.run(*random_stream(4, 5, 3))
    np.testing.assert_array_equal(cf.smooth(f, *stream, lag=0), f.copy().run(*stream))
    whole = cf.smooth(f, *stream)
    assert np.abs(whole - f.copy().run(*stream)).max() > 0.1
    for lag in (59, 60, 1000):
        np.testing.assert_array_equal(cf.smooth(f, *stream, lag=lag), whole)
    # the longest lag that is one: the first row alone misses nothing but the last
    almost = cf.smooth(f, *stream, lag=58)
    tolerance = 1e-14 if f.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(almost[1:], whole[1:], rtol=0, atol=tolerance)
    assert np.abs(almost[0] - whole[0]).max() < 1e-3


@pytest.mark.parametrize("which", range(6))
def test_the_last_row_and_short_streams(which: int) -> None:
    f, stream = some_filters(3)[which], random_stream(3, 20, 1)
    tolerance = 1e-12 if f.dtype == np.float64 else 1e-5
    run = f.copy().run(*stream)
    np.testing.assert_allclose(cf.smooth(f, *stream)[-1], run[-1], rtol=0, atol=tolerance)
    if which == 2:  # without an anchor there is nothing to round
        np.testing.assert_array_equal(cf.smooth(f, *stream)[-1], run[-1])
    for rows in (0, 1):
        short = cut(stream, rows)
        np.testing.assert_array_equal(cf.smooth(f, *short), f.copy().run(*short))


@pytest.mark.parametrize("which", range(6))
def test_the_filter_does_not_change(which: int) -> None:
    f, stream = some_filters(4)[which], random_stream(4, 30, 5)
    f.run(*random_stream(4, 5, 3))
    before = [np.array(part) for part in f.state]
    copies = [array.copy() for array in stream]
    for lag in (None, 0, 3):
        cf.smooth(f, *stream, lag=lag)
    for part, old in zip(f.state, before, strict=True):
        np.testing.assert_array_equal(part, old)
    for array, old in zip(stream, copies, strict=True):
        np.testing.assert_array_equal(array, old)
    moved = cf.smooth(f, *stream)  # it starts from the current state, not from the prior
    f.reset()
    assert np.abs(cf.smooth(f, *stream) - moved).max() > 1e-6
