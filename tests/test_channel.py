"""Channels: Bayes' rule by hand, in long numbers, by counting, and by scikit-learn."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, mutual_info_score

import classfilter as cf
from classfilter._channel import SMALLEST, Channel, beta_from_confusion, nearest

Floats = NDArray[np.float64]
NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)
CLASSES = st.integers(2, 12)


def made(K: int, seed: int) -> tuple[Channel, Floats]:
    """A channel with a prior, some entries nearly 0, and answers: usual, sure and missing ones."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(K, rng.choice([0.02, 1.0])), K) + 1e-300
    answers = rng.dirichlet(np.ones(K), 9) * rng.uniform(0.96, 1.04, (9, 1))
    answers[1], answers[2] = np.eye(K)[rng.integers(K)], NAN
    return Channel(matrix, rng.uniform(0.01, 5, K)), answers


# --- apply ----------------------------------------------------------------------------------


@given(CLASSES, SEEDS)
def test_the_formula_in_long_numbers(K: int, seed: int) -> None:
    channel, answers = made(K, seed)
    found = channel.apply(answers)
    with mpmath.workdps(40):
        for w, p in zip(answers.tolist(), found.tolist(), strict=True):
            if np.isnan(w[0]):
                assert all(np.isnan(p))
                continue
            total = mpmath.fsum(w)
            weights = []
            for prior, row in zip(channel.prior.tolist(), channel.matrix.tolist(), strict=True):
                terms = [x / total * mpmath.log(m) for x, m in zip(w, row, strict=True)]
                weights.append(mpmath.mpf(prior) * mpmath.exp(mpmath.fsum(terms)))
            for one, weight in zip(p, weights, strict=True):
                assert abs(one - weight / mpmath.fsum(weights)) < 1e-14


@given(CLASSES, SEEDS)
def test_probabilities_come_out(K: int, seed: int) -> None:
    channel, answers = made(K, seed)
    found = np.delete(channel.apply(answers), 2, axis=0)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)


@given(CLASSES, SEEDS)
def test_a_row_alone_gives_the_bits_of_many(K: int, seed: int) -> None:
    channel, answers = made(K, seed)
    found = channel.apply(answers)
    for rows in (answers[:, None], np.array_split(answers, 4), [np.asfortranarray(answers)]):
        parts = np.concatenate([channel.apply(part) for part in rows])
        assert parts.tobytes() == found.tobytes()
    assert channel.apply(answers[0]).tobytes() == found[0].tobytes()
    assert channel.apply(answers[0]).shape == (K,)
    assert channel.apply(np.empty((0, K))).shape == (0, K)


@given(CLASSES, SEEDS)
def test_classes_in_another_order(K: int, seed: int) -> None:
    channel, answers = made(K, seed)
    to = np.random.default_rng(seed).permutation(K)
    other = Channel(channel.matrix[to][:, to], channel.prior[to])
    np.testing.assert_allclose(
        other.apply(answers[:, to]), channel.apply(answers)[:, to], rtol=0, atol=1e-14
    )


def test_a_sure_answer_is_bayes_rule_by_counting() -> None:
    """Of a thousand rows, those where it said k: how many were of each class?"""
    rng = np.random.default_rng(3)
    truth = rng.choice(3, 1000, p=[0.6, 0.3, 0.1])
    said = np.where(rng.random(1000) < 0.6, truth, rng.integers(3, size=1000))
    counts = np.array([[np.sum((truth == k) & (said == j)) for j in range(3)] for k in range(3)])
    channel = Channel(counts, prior=counts.sum(axis=1))
    for j in range(3):
        shares = [np.mean(truth[said == j] == k) for k in range(3)]
        np.testing.assert_allclose(channel.apply(np.eye(3)[j]), shares, rtol=1e-12)


def test_classes_that_it_cannot_tell_apart_stay_as_they_are() -> None:
    channel = Channel([[8, 1, 1], [1, 3, 6], [1, 3, 6]], prior=[1, 2, 1])
    p = channel.apply([[0.2, 0.1, 0.7], [0.0, 0.9, 0.1]])
    np.testing.assert_allclose(p[:, 1], 2 * p[:, 2], rtol=1e-12)


@given(CLASSES, SEEDS)
def test_it_is_made_again_from_what_it_shows(K: int, seed: int) -> None:
    channel, _ = made(K, seed)
    again = Channel(channel.matrix, channel.prior)
    assert again.matrix.tobytes() == channel.matrix.tobytes()
    assert again.prior.tobytes() == channel.prior.tobytes()
    assert again == channel
    assert channel.matrix.min() > SMALLEST / 2
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(channel.prior.sum(), 1, rtol=1e-12)


def test_it_cannot_be_changed_from_outside() -> None:
    given, prior = np.eye(2) + 1, np.ones(2)
    channel = Channel(given, prior)
    before = channel.apply([0.3, 0.7]).tolist()
    for array in (given, prior, channel.matrix, channel.prior):
        array[:] = 9
        array[0] = 1
    assert channel.apply([0.3, 0.7]).tolist() == before
    assert channel != Channel(np.eye(2) + 2)
    assert channel != Channel(np.eye(2) + 1, [1, 2])
    assert channel != "channel"
    assert repr(channel) == "Channel(2 classes, 67% kept on average)"
    with pytest.raises(TypeError):
        hash(channel)


# --- fit ------------------------------------------------------------------------------------


@given(st.integers(2, 5), SEEDS)
def test_of_sure_answers_it_is_the_confusion_matrix(K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.concatenate([np.arange(K), rng.integers(K, size=40)])
    said = rng.integers(K, size=len(label))
    expected = confusion_matrix(label, said, labels=range(K), normalize="true")
    for strong in (label, label.astype(np.uint8), np.eye(K)[label]):
        channel = Channel.fit(np.eye(K)[said], strong, smoothing=1e-12)
        np.testing.assert_allclose(channel.matrix, expected, rtol=0, atol=1e-8)


@given(st.integers(2, 5), SEEDS, st.floats(0.01, 100))
def test_soft_counts_and_smoothing_in_loops(K: int, seed: int, smoothing: float) -> None:
    rng = np.random.default_rng(seed)
    weak, strong = rng.dirichlet(np.ones(K), 12), rng.dirichlet(np.ones(K), 12)
    weak[3], strong[5] = NAN, NAN
    rows = [t for t in range(12) if t not in (3, 5)]
    matrix = [[sum(strong[t, k] * weak[t, j] for t in rows) for j in range(K)] for k in range(K)]
    usual = [sum(weak[t, j] for t in rows) / len(rows) for j in range(K)]
    for k in range(K):
        for j in range(K):
            matrix[k][j] += smoothing * (usual[j] + 0.001 / K) / 1.001
        matrix[k] = [x / sum(matrix[k]) for x in matrix[k]]
    found = Channel.fit(weak, strong, smoothing=smoothing, prior=np.arange(1, K + 1))
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-12)
    np.testing.assert_allclose(found.prior, np.arange(1, K + 1) / (K * (K + 1) / 2), rtol=1e-12)


def test_unknown_labels_and_classes_never_answered() -> None:
    weak = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    some = Channel.fit(weak, [0, 1, -1])
    assert some == Channel.fit(weak[:2], [0, 1])
    assert some.matrix.min() > 1e-7
    np.testing.assert_allclose(
        some.matrix[2], [1, 0, 0], rtol=0, atol=1e-3
    )  # nothing known: as usual


TIMES = st.lists(st.integers(0, 40).map(lambda n: n / 4), min_size=1, max_size=12)


@given(TIMES, TIMES)
def test_nearest_by_looking_at_all(time: list[float], others: list[float]) -> None:
    others.sort()
    found = nearest(np.array(time), np.array(others))
    for t, i in zip(time, found.tolist(), strict=True):
        distance = [abs(t - other) for other in others]
        assert i == distance.index(min(distance))


@given(TIMES, TIMES, SEEDS)
def test_the_nearest_answers_count(time: list[float], others: list[float], seed: int) -> None:
    """By pairs found in a loop; the better answers may come in any order of time."""
    rng = np.random.default_rng(seed)
    weak = rng.dirichlet(np.ones(3), len(time))
    strong = rng.dirichlet(np.ones(3), len(others))
    strong[rng.random(len(others)) < 0.2] = NAN
    known = [i for i in range(len(others)) if not np.isnan(strong[i, 0])]
    if not known:
        with pytest.raises(ValueError, match="nothing to learn from"):
            Channel.fit(weak, strong, time=time, strong_time=others)
        return
    pairs = [min(known, key=lambda i: (abs(t - others[i]), others[i], i)) for t in time]
    found = Channel.fit(weak, strong, time=time, strong_time=others)
    np.testing.assert_allclose(found.matrix, Channel.fit(weak, strong[pairs]).matrix, rtol=1e-12)


@given(SEEDS)
def test_between_recordings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    several, weak, strong = [], [], []
    for _ in range(3):
        time = np.sort(rng.integers(0, 60, 25)) / 2
        source = rng.choice(["weak", "strong", "odd"], 25)
        source[:2] = "weak", "strong"
        probs = rng.dirichlet(np.ones(3), 25)
        probs[2:][rng.random(23) < 0.1] = NAN
        several.append(cf.Recording(time, source, probs, 3))
        better = [t for t in range(25) if source[t] == "strong" and not np.isnan(probs[t, 0])]
        for t in range(25):
            if source[t] == "weak":
                weak.append(probs[t])
                strong.append(probs[min(better, key=lambda i: abs(time[i] - time[t]))])
    alone = cf.Recording([0, 1], "weak", [[1, 0, 0]] * 2, 3)  # nothing to compare it with
    found = Channel.between([*several, alone], "weak", "strong", smoothing=2.0, prior=[1, 2, 3])
    expected = Channel.fit(weak, strong, smoothing=2.0, prior=[1, 2, 3])
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-12)
    assert found.prior.tolist() == expected.prior.tolist()
    rec = several[0]
    is_weak, is_strong = rec.source == "weak", rec.source == "strong"
    timed = Channel.fit(
        rec.probs[is_weak],
        rec.probs[is_strong],
        time=rec.time[is_weak],
        strong_time=rec.time[is_strong],
    )
    one = Channel.between(rec, "weak", "strong")
    np.testing.assert_allclose(one.matrix, timed.matrix, rtol=1e-12)


# --- a weight -------------------------------------------------------------------------------


def counts(K: int, seed: int) -> NDArray[np.intp]:
    """Some of them 0; two true classes or more."""
    rng = np.random.default_rng(seed)
    found = rng.poisson(rng.choice([0.5, 20.0]), (K, K)) + np.diag(rng.integers(0, 50, K))
    found[0, 0] += 1
    found[-1, 0] += 1
    return found


@given(CLASSES, SEEDS, st.floats(1, 100))
def test_the_weight_is_the_mutual_information_of_scikit_learn(
    K: int, seed: int, repeats: float
) -> None:
    matrix = counts(K, seed)
    truth, answer = (
        np.repeat(index, matrix.ravel()) for index in np.indices((K, K)).reshape(2, -1)
    )
    share = mutual_info_score(truth, answer) / mutual_info_score(truth, truth)
    beta = beta_from_confusion(matrix, repeats=repeats)
    assert beta * repeats * (1 - share) == pytest.approx((1 - beta) * share, abs=1e-10)
    assert 0 <= beta <= 1


@given(CLASSES, SEEDS, st.floats(1e-6, 1e6))
def test_the_weight_needs_neither_size_nor_order(K: int, seed: int, scale: float) -> None:
    matrix, rng = counts(K, seed), np.random.default_rng(seed)
    expected = pytest.approx(beta_from_confusion(matrix), rel=1e-9, abs=1e-11)
    assert beta_from_confusion(matrix * scale) == expected
    to, names = rng.permutation(K), rng.permutation(K)
    assert beta_from_confusion(matrix[to][:, to]) == expected
    assert beta_from_confusion(matrix[to][:, names]) == expected  # answers may be called anything


@pytest.mark.parametrize("K", [2, 3, 6])
def test_the_more_accurate_the_more_weight(K: int) -> None:
    others = (1 - np.eye(K)) / (K - 1)
    weights = [
        beta_from_confusion(a * np.eye(K) + (1 - a) * others) for a in np.linspace(1 / K, 1, 40)
    ]
    assert weights[0] == 0.0
    assert weights[-1] == 1.0
    assert np.diff(weights).min() > 0


@given(CLASSES, SEEDS)
def test_without_error_1_by_chance_0(K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    often, answer = rng.integers(1, 1000, K), rng.integers(0, 1000, K) + np.eye(K)[0]
    assert beta_from_confusion(np.diag(often)) == pytest.approx(1.0, abs=1e-12)
    assert beta_from_confusion(np.outer(often, answer)) == pytest.approx(0.0, abs=1e-12)


def test_fewer_repeats_more_weight() -> None:
    weights = [beta_from_confusion([[8, 2], [1, 9]], repeats=n) for n in (1, 2, 8, 100)]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 4


# --- errors ---------------------------------------------------------------------------------

TWO = [[0.5, 0.5], [0.5, 0.5]]
UNEQUAL = [[0.5, 0.5], [1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Channel([[1, 2, 3], [1, 2, 3]]), r"matrix has shape \(2, 3\); .* square"),
        (lambda: Channel([1, 2]), r"matrix has shape \(2,\)"),
        (lambda: Channel([[1]]), "matrix has 1 row; there are two classes or more"),
        (lambda: Channel([[1, 0], [0, 0]]), "matrix, row 1: it is all 0; say what"),
        (
            lambda: Channel([[1.0, 0.0], [-1.0, 2.0]]),
            r"matrix, row 1, column 0: it is -1\.0; give counts",
        ),
        (lambda: Channel([[1.0, NAN], [1.0, 2.0]]), "matrix, row 0, column 1: it is nan"),
        (lambda: Channel(np.eye(2), [1, 2, 3]), r"prior is \[1, 2, 3\]; it must be 2 numbers"),
        (lambda: Channel(np.eye(2), [1, NAN]), r"prior is .*; it must be 2 numbers"),
        (lambda: Channel(np.eye(2), [1, 0]), r"prior, entry 1: it is 0\.0; .* positive"),
        (
            lambda: Channel(np.eye(2)).apply([[1.0, 0.0], [0.5, 0.2]]),
            r"probs in row 1 sums to 0\.7",
        ),
        (lambda: Channel(np.eye(2)).apply([1, 0, 0]), "probs in row 0 has 3 entries, .* 2 classes"),
        (lambda: Channel(np.eye(2)).apply([[NAN, 1]]), "probs in row 0, class '0', is nan"),
        (lambda: Channel(np.eye(2)).apply(UNEQUAL), "probs in row 1 has 1 entries, .* 2 classes"),
        (lambda: Channel.fit(UNEQUAL, [0, 1]), "weak has rows of unequal length; give one entry"),
        (lambda: Channel.fit([0.5, 0.5], [0]), r"weak has shape \(2,\); it must be \(T, K\)"),
        (lambda: Channel.fit([[0.5, 0.5], [2.0, 0.0]], [0, 1]), r"weak in row 1 sums to 2\.0"),
        (
            lambda: Channel.fit(TWO, [[0.5, 0.5], [-1.0, 2.0]]),
            r"strong in row 1, class '0', is -1\.0",
        ),
        (lambda: Channel.fit(TWO, [0, 2]), "strong has the class 2, but there are 2 classes"),
        (lambda: Channel.fit(TWO, np.ones((2, 3)) / 3), r"strong has shape \(2, 3\); .* \(T, 2\)"),
        (lambda: Channel.fit(TWO, [0]), "weak has 2 rows, strong 1; give time and strong_time"),
        (lambda: Channel.fit(TWO, [0, 1], time=[0, 1]), "belong together; give both, or neither"),
        (
            lambda: Channel.fit(TWO, [0], time=[0], strong_time=[0]),
            r"time has shape \(1,\) and strong_time \(1,\); they must be \(2,\) and \(1,\)",
        ),
        (
            lambda: Channel.fit(TWO, [0, 1], time=[0, 1], strong_time=[0, NAN]),
            "strong_time in row 1 is nan; it must be finite",
        ),
        (
            lambda: Channel.fit(TWO, [0, 1], time=[np.inf, 1], strong_time=[0, 1]),
            "time in row 0 is inf; it must be finite",
        ),
        (lambda: Channel.fit(TWO, [-1, -1]), "nothing to learn from"),
        (lambda: Channel.fit(TWO, [-1], time=[0, 1], strong_time=[0]), "nothing to learn from"),
        (lambda: Channel.fit(TWO, [0, 1], smoothing=0), "smoothing is 0; it must be positive"),
        (lambda: Channel.fit(TWO, [0, 1], smoothing=np.inf), "smoothing is inf"),
        (
            lambda: Channel.between(cf.Recording([0, 1], ["a", "b"], TWO, 2), "a", "c"),
            "no recording has answers of both 'a' and 'c'; there are: a, b",
        ),
        (
            lambda: Channel.between([cf.Recording([0], "a", [[NAN, NAN]], 2)], "a", "a"),
            "no recording has answers of both 'a' and 'a'; there are: a",
        ),
        (lambda: beta_from_confusion([[1, 2, 3]]), r"matrix has shape \(1, 3\); it must be square"),
        (lambda: beta_from_confusion([[1, 2], [-1, 3]]), r"matrix, row 1, column 0: it is -1\.0; "),
        (
            lambda: beta_from_confusion([[1.0, NAN], [1.0, 3.0]]),
            "matrix, row 0, column 1: it is nan; ",
        ),
        (lambda: beta_from_confusion([[0, 0], [0, 0]]), "matrix is all 0; give counts of answers"),
        (lambda: beta_from_confusion([[0, 0], [3, 1]]), "matrix has one row of counts only; it"),
        (lambda: beta_from_confusion(np.eye(2), repeats=0.5), "repeats is 0.5; it must be 1 or"),
        (lambda: beta_from_confusion(np.eye(2), repeats=NAN), "repeats is nan; it must be 1 or"),
        (lambda: beta_from_confusion(np.eye(2), repeats=np.inf), "repeats is inf; .* and finite"),
    ],
)
def test_errors_name_the_argument_the_row_and_the_remedy(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- in single precision --------------------------------------------------------------------


@given(CLASSES, SEEDS)
def test_single_precision_in_long_numbers(K: int, seed: int) -> None:
    channel, answers = made(K, seed)
    found = channel.apply(answers.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(np.isnan(found), np.isnan(answers))
    exact = channel.apply(answers.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=0, atol=4e-6)
    for row, one in zip(answers.astype(np.float32), found, strict=True):
        assert channel.apply(row).tobytes() == one.tobytes()


@pytest.mark.parametrize("kind", [cf.DirichletFilter, cf.StickyFilter])
def test_a_channel_computes_in_the_precision_of_the_filter_behind(kind: Any) -> None:
    """However the answers come to the filter, the bits are those of a loop in float32."""
    channel, answers = made(3, 1)
    rng = np.random.default_rng(1)
    T = 50
    answers = rng.dirichlet(np.ones(3), T)
    f = kind(["a", "b", "c"], 0.9, dtype=np.float32)
    loop = f.copy()
    expected = np.array(
        [
            loop.update(channel.apply(s.astype(np.float32)), 0.5, dt)
            for s, dt in zip(answers, [0.0] + [1.0] * (T - 1), strict=True)
        ]
    )
    rec = cf.Recording(np.arange(T), "weak", answers, ["a", "b", "c"])
    beta, channels = {"weak": 0.5}, {"weak": channel}
    assert rec.run(f, beta, channels).tobytes() == expected.tobytes()
    now_and_then = cf.policy.Periodic(every=10)
    twice, sources = np.repeat(answers, 2, axis=0), ["weak", "strong"] * T
    both = cf.Recording(np.repeat(rec.time, 2), sources, twice, rec.classes)
    weights, channels_of_both = dict.fromkeys(sources, 0.5), dict.fromkeys(sources, channel)
    track = cf.replay(both, now_and_then, f, weights, channels_of_both).probs
    assert track.tobytes() == expected.tobytes()
    table = cf.filter_table(rec.to_table(), f, beta, channels)
    got = table.select("f_a", "f_b", "f_c").to_numpy().astype(np.float32)
    assert np.ascontiguousarray(got).tobytes() == expected.tobytes()
