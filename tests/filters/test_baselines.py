"""The baselines against a counter, and their rules written out."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from streams import Stream, random_stream, streams


def observations(stream: Stream) -> Stream:
    """The rows that are observations."""
    keep = ~np.isnan(stream.probs).any(axis=1) & (stream.beta > 0)
    return Stream(*(a[keep] for a in stream))


@given(streams())
def test_raw_is_the_last_row(stream: Stream) -> None:
    T, K = stream.probs.shape
    out = cf.RawFilter(K).run(*stream)
    rows = np.where(stream.beta[:, None] > 0, stream.probs, np.nan)
    expected = pd.DataFrame(rows).ffill().fillna(1 / K)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assert len(out) == T


def test_mean_weights_its_rows() -> None:
    f = cf.MeanFilter(2, window=2)
    f.update([0.0, 1.0], beta=1.0)  # leaves the window
    f.update([1.0, 0.0], beta=0.25)
    np.testing.assert_allclose(f.update([0.2, 0.8], beta=0.75), [0.4, 0.6], rtol=1e-15)
    f.update([np.nan, np.nan])  # takes no place in it
    np.testing.assert_allclose(f.probs, [0.4, 0.6], rtol=1e-15)


@given(streams(), st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_ema_is_its_formula(stream: Stream, gamma: float) -> None:
    K = stream.probs.shape[1]
    out = cf.EmaFilter(K, gamma).run(*stream)
    time = np.cumsum(stream.dt)
    beta = np.where(np.isnan(stream.probs[:, 0]), 0, stream.beta)
    rows = np.nan_to_num(stream.probs / stream.probs.sum(axis=1, keepdims=True))
    for t, p in enumerate(out):
        weight = beta[: t + 1] * gamma ** (time[t] - time[: t + 1])
        if weight.sum() > 1e-200:
            np.testing.assert_allclose(p, weight @ rows[: t + 1] / weight.sum(), atol=1e-9)


def test_ema_half_life() -> None:
    f = cf.EmaFilter(2, half_life=6.0)
    f.update([1.0, 0.0])
    np.testing.assert_allclose(f.update([0.0, 1.0], dt=6.0), [1 / 3, 2 / 3], rtol=1e-15)


@given(streams(), st.integers(1, 8))
def test_vote_is_a_count(stream: Stream, window: int) -> None:
    rows, K = observations(stream).probs, stream.probs.shape[1]
    rows = rows[(rows == rows.max(axis=1, keepdims=True)).sum(axis=1) == 1]  # no split votes
    f = cf.VoteFilter(K, window)
    for t, row in enumerate(rows):
        p = f.update(row)
        count = Counter(rows[max(0, t + 1 - window) : t + 1].argmax(axis=1).tolist())
        n = min(t + 1, window)
        np.testing.assert_allclose(p, [count[k] / n for k in range(K)], atol=1e-15)
        assert count[f.label] == max(count.values())


def test_vote_splits_a_tie_and_weights() -> None:
    f = cf.VoteFilter(3)
    assert f.update([0.4, 0.4, 0.2]).tolist() == [0.5, 0.5, 0]
    assert f.label == 0
    np.testing.assert_allclose(f.update([0.0, 0.0, 1.0], beta=0.25), [0.4, 0.4, 0.2], rtol=1e-15)


@given(streams())
def test_hold_is_the_last_of_the_highest_weight(stream: Stream) -> None:
    K = stream.probs.shape[1]
    out = cf.HoldFilter(K).run(*stream)
    for t, p in enumerate(out):
        past = observations(Stream(*(a[: t + 1] for a in stream)))
        best = [s for s, b in zip(past.probs, past.beta, strict=True) if b == past.beta.max()]
        np.testing.assert_allclose(p, best[-1] if best else np.full(K, 1 / K), rtol=1e-6)


@pytest.mark.parametrize("kind", [cf.RawFilter, cf.MeanFilter, cf.EmaFilter, cf.HoldFilter])
def test_rows_are_normalised(kind: Any) -> None:
    np.testing.assert_allclose(kind(2).update([0.51, 0.51]), [0.5, 0.5], rtol=1e-15)


def test_names() -> None:
    f = cf.VoteFilter(["walk", "sit"], window=2)
    assert repr(f) == "VoteFilter(['walk', 'sit'], window=2)"
    f.run(random_stream(2, 5, 0).probs)
    assert f.label in ("walk", "sit")
