"""Paired differences, against SciPy's t-test, a loop that leaves out streams, and a bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from classfilter.metrics import Sums, paired

Floats = NDArray[np.float64]


def test_with_equal_units_it_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    for n in (5, 12, 40):
        rows = np.full((n, 1), 200.0)
        a, b = (rng.binomial(200, p, (n, 1)).astype(float) for p in (0.8, 0.83))
        got = paired(Sums(a, rows), Sums(b, rows))
        shares = ((a - b) / 200).ravel()
        expected = stats.ttest_1samp(shares, 0).confidence_interval(0.95)
        assert got.value == pytest.approx(shares.mean())
        half = (expected.high - expected.low) / 2
        assert got[1:3] == pytest.approx((expected.low, expected.high), abs=4e-3 * half)
        words = {True: "level", False: "worse" if shares.mean() < 0 else "better"}
        assert got.word == words[bool(expected.low <= 0 <= expected.high)]


def drawn(rng: np.random.Generator, rows: Floats, p: Floats) -> Floats:
    """Return how many of these rows are right."""
    return np.asarray(rng.binomial(rows.astype(int), p), np.float64)


def f1(true: list[int], found: list[int], predicted: list[int]) -> float:
    return 2 * sum(found) / (sum(true) + sum(predicted))


def test_a_ratio_leaves_out_each_stream_once() -> None:
    true = [9, 14, 3, 22, 8, 11, 5]
    mine = [6, 10, 2, 15, 5, 6, 3], [9, 12, 6, 20, 6, 10, 4]
    best = [8, 13, 2, 20, 7, 8, 4], [9, 13, 3, 22, 9, 11, 4]
    n = len(true)
    without = []
    for i in range(n):
        kept = [j for j in range(n) if j != i]

        def score(one: tuple[list[int], list[int]], kept: list[int] = kept) -> float:
            return f1(*([part[j] for j in kept] for part in (true, *one)))

        without.append(score(mine) - score(best))
    mean = math.fsum(without) / n
    error = math.sqrt((n - 1) / n * math.fsum((x - mean) ** 2 for x in without))

    def sums(found: list[int], predicted: list[int]) -> Sums:
        over, under = 2.0 * np.array(found), 1.0 * np.add(true, predicted)
        return Sums(over[:, None], under[:, None])

    got = paired(sums(*mine), sums(*best))
    value = f1(true, *mine) - f1(true, *best)
    half = stats.t.ppf(0.975, n - 1) * error
    assert got[:3] == pytest.approx((value, value - half, value + half), abs=2e-3 * half)
    assert got.word == "worse"
    assert paired(sums(*best), sums(*mine)).word == "better"
    assert paired(sums(*best), sums(*mine), low_is_good=True).word == "worse"


def test_it_is_the_interval_of_a_bootstrap() -> None:
    """Of many streams of other lengths, means over columns, whose errors depend on each other."""
    rng = np.random.default_rng(1)
    n, draws = 120, 4000
    rows = np.asarray(rng.integers(50, 400, (n, 3)), np.float64)
    hard = rng.normal(0, 0.08, (n, 1))
    a, b = (drawn(rng, rows, np.clip(p + hard, 0, 1)) for p in (0.75, 0.76))
    got = paired(Sums(a, rows), Sums(b, rows))
    picked = rng.integers(n, size=(draws, n))
    means = [(x[picked].sum(axis=1) / rows[picked].sum(axis=1)).mean(axis=1) for x in (a, b)]
    low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
    assert got[1:3] == pytest.approx((low, high), abs=0.06 * (high - low))
    unpaired = np.hypot(*(np.std(x) for x in means)) * 2 * 1.96
    assert got.high - got.low < 0.6 * unpaired  # what is hard for both counts for neither


def test_the_interval_holds_the_truth_in_95_of_100() -> None:
    rng = np.random.default_rng(2)
    held = []
    for _ in range(600):
        rows = np.asarray(rng.integers(100, 200, (8, 1)), np.float64)
        a, b = (drawn(rng, rows, rng.beta(30, 10, (8, 1))) for _ in range(2))
        got = paired(Sums(a, rows), Sums(b, rows))
        held.append(got.low <= 0 <= got.high)
    assert 0.92 < np.mean(held) < 0.98


def test_few_units_have_no_interval() -> None:
    rows = np.full((5, 1), 10.0)
    rows[4] = 0  # a stream without labels
    got = paired(Sums(rows / 2, rows), Sums(rows / 4, rows))
    assert got.value == 0.25
    assert math.isnan(got.low)
    assert got.word == ""
    best = Sums(rows, rows)
    assert paired(best, best) == (0, 0, 0, "best")
    assert math.isnan(paired(Sums(0 * rows, 0 * rows), Sums(0 * rows, 0 * rows)).value)
