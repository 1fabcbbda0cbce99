"""The events to expect and lasting errors, from calls: loops, hmmlearn, and known simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.tuning.expected_events import (
    SpacedCalls,
    calls_that_share_an_error,
    estimate_calls,
    expected_transitions,
    reference_calls,
    spaced_calls,
)
from classfilter.tuning.memory import autocovariance, class_covariance
from classfilter.tuning.model import mean_shares
from classfilter.tuning.rows import JoinedRows, concatenate
from tuning_days import correlated_errors


def joined(lengths: Sequence[int], K: int = 3) -> JoinedRows:
    rng = np.random.default_rng(0)
    recs = [
        cf.rows(
            time=np.arange(n) * 2.0,
            source="strong",
            probs=rng.dirichlet(np.full(K, 0.5), n),
            classes=K,
        )
        for n in lengths
    ]
    return concatenate(recs, "strong")


def calibrated(
    r: float, streams: int = 4, rows: int = 6000, dwell: float = 300, shape: float = 1.0
) -> list[cf.Rows]:
    """A source whose errors have the correlation r from row to row, right as often as it says."""
    recs = []
    for seed in range(streams):
        rec = correlated_errors(r, dwell, seed, rows, shape=shape)
        probs = rec.probs ** (2.0 / 1.17**2)  # its logits are 2 and of a deviation of 1.17
        probs /= probs.sum(axis=1, keepdims=True)
        recs.append(
            cf.rows(time=rec.time, source="strong", probs=probs, classes=4, label=rec.label)
        )
    return recs


def every(recs: Sequence[cf.Rows], nth: int) -> JoinedRows:
    return concatenate([rec.take(np.arange(len(rec)) % nth == 0) for rec in recs], "strong")


def test_covariances_are_those_of_a_loop() -> None:
    rows = joined([40, 60])
    shares, s = mean_shares(rows.probs), rows.probs
    lags, values = autocovariance(rows, shares, [1, 5])
    assert lags.tolist() == [1, 5]
    for lag, value in zip((1, 5), values, strict=True):
        pairs = [
            sum((s[t, k] - shares[k]) * (s[t + lag, k] - shares[k]) for k in range(3))
            for t in range(len(s) - lag)
            if rows.stream[t] == rows.stream[t + lag]
        ]
        assert value == pytest.approx(np.mean(pairs))
    known = 0.0
    for k in range(3):
        mean = sum(s[t, k] * s[t] for t in range(len(s))) / len(s) / shares[k]
        known += shares[k] * float(((mean - shares) ** 2).sum())
    assert class_covariance(s, shares) == pytest.approx(known)


@given(st.lists(st.integers(1, 90), min_size=1, max_size=4), st.integers(1, 7))
def test_each_call_is_in_one_sequence_after_the_call_m_before(
    lengths: list[int], spacing: int
) -> None:
    rows = joined(lengths)
    shares = mean_shares(rows.probs)
    likelihood, sizes, offsets = spaced_calls(rows, shares, spacing)
    assert offsets == spacing
    known = rows.probs / shares
    np.testing.assert_array_equal(np.sort(likelihood, axis=0), np.sort(known, axis=0))
    starts = np.cumsum(sizes) - sizes
    row_of = {tuple(x): t for t, x in enumerate(known)}
    for place in range(1, len(sizes)):
        for i in range(sizes[place]):
            t = row_of[tuple(likelihood[starts[place] + i])]
            assert row_of[tuple(likelihood[starts[place - 1] + i])] == t - spacing
            assert rows.stream[t] == rows.stream[t - spacing]


def test_a_round_is_that_of_hmmlearn() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.full(3, 2.0), 3)
    shares = np.array([0.5, 0.2, 0.3])
    emission = rng.dirichlet(np.full(4, 1.0), 3)
    lengths = [9, 7, 7, 2, 1]
    observed = [rng.integers(4, size=n) for n in lengths]
    # Packed: all first symbols, then all second ones, the longest sequence first.
    packed = [x[t] for t in range(9) for x in observed if len(x) > t]
    sizes = np.array([sum(n > t for n in lengths) for t in range(9)])
    sequences = SpacedCalls(emission[:, packed].T, sizes, 1)
    counts, log_likelihood = expected_transitions(sequences, matrix, shares)
    model = CategoricalHMM(3, params="t", init_params="", n_iter=1, n_features=4)
    model.startprob_, model.transmat_, model.emissionprob_ = shares, matrix, emission
    joint = np.concatenate(observed)[:, None]
    assert log_likelihood == pytest.approx(model.score(joint, lengths), abs=1e-9)
    model.fit(joint, lengths)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), model.transmat_)
    assert counts.sum() == pytest.approx(sum(lengths) - len(lengths))


@pytest.mark.parametrize(("r", "nth", "at_most"), [(0.0, 4, 1), (0.97, 4, 24), (0.97, 120, 1)])
def test_calls_share_an_error_as_long_as_errors_last(r: float, nth: int, at_most: int) -> None:
    calls = reference_calls(every(calibrated(r), nth))
    shared = calls_that_share_an_error(calls, mean_shares(calls.probs))
    assert shared <= at_most
    # Errors of correlation 0.97 from row to row fall below a third within 36 rows.
    assert (shared > 1) == (r == 0.97 and nth < 36)


@pytest.mark.parametrize(
    ("r", "nth"), [(0.0, 12), (0.97, 12), pytest.param(0.9, 4, marks=pytest.mark.slow)]
)
def test_the_events_to_expect_are_about_the_true_ones(r: float, nth: int) -> None:
    recs = calibrated(r)
    true = len(cf.label_events(recs))
    calls = estimate_calls(every(recs, nth))
    assert calls.expected_events == pytest.approx(true, rel=0.15)
    assert calls.step == pytest.approx(nth / 30)


def test_half_of_the_calls_miss_events_that_are_shorter_than_the_time_between_them() -> None:
    def kept(shape: float) -> float:
        calls = estimate_calls(every(calibrated(0.0, dwell=150, shape=shape), 4))
        return calls.from_fewer_calls / calls.expected_events

    assert kept(0.15) < 0.9 < 0.95 < kept(1.0)
