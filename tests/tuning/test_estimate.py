"""The fit of several sources: EM in plain loops as an oracle, and what must be found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from classfilter import _core
from classfilter.tuning.criterion import STEPS_LATER, future_target, target_of_all
from classfilter.tuning.estimate import Estimate, Timeline, estimate
from classfilter.tuning.model import estimate_model
from classfilter.tuning.rows import JoinedRows, concatenate
from streams import at_most

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
STAY = np.array([[0.95, 0.04, 0.01], [0.02, 0.95, 0.03], [0.01, 0.02, 0.97]])


def truth(T: int, seed: int, A: Floats = STAY) -> NDArray[np.intp]:
    rng = np.random.default_rng(seed)
    y = np.zeros(T, np.intp)
    for t in range(1, T):
        y[t] = rng.choice(len(A), p=A[y[t - 1]])
    return y


def labelled(
    y: NDArray[np.intp], right: dict[str, tuple[int, float]], seed: int = 0, step: float = 5.0
) -> cf.Rows:
    """Hard labels of sources: how many steps apart, and how often right; else any class."""
    rng = np.random.default_rng(seed)
    K, rows = 3, []
    for t, k in enumerate(y):
        for name, (every, a) in right.items():
            if t % every == 0:
                said = k if rng.random() < a else rng.integers(K)
                rows.append((t * step, name, said))
    time, source, said = zip(*rows, strict=True)
    return cf.rows(time=time, source=source, probs=np.array(said), classes=K)


# --- beside plain loops ---------------------------------------------------------------------


@at_most(20)
@given(SEEDS)
def test_the_passes_are_sums_over_all_class_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, T = rng.dirichlet(np.ones(2)), 6
    powers = rng.dirichlet(np.ones(2), (3, 2))
    kind, likelihood = rng.integers(3, size=T), rng.random((T, 2))
    kind[[0, 4]] = -1
    filtered = _core.hmm_pass(start, powers, kind, likelihood, False)
    message = _core.hmm_pass(start, powers, kind, likelihood, True)
    for first, last in ((0, 4), (4, 6)):
        for t in range(first, last):
            past, future = np.zeros(2), np.zeros(2)
            for path in product(range(2), repeat=last - first):
                p = start[path[0]] * likelihood[first, path[0]]
                q = 1.0
                for u in range(first + 1, last):
                    i, j = path[u - 1 - first], path[u - first]
                    step = powers[kind[u], i, j] * likelihood[u, j]
                    p, q = (p * step, q) if u <= t else (p, q * step)
                same_future = all(c == 0 for c in path[t + 1 - first :])
                same_past = all(c == 0 for c in path[: t - first])
                past[path[t - first]] += p * same_future
                future[path[t - first]] += q * same_past
            np.testing.assert_allclose(filtered[t], past / past.sum(), rtol=1e-9)
            np.testing.assert_allclose(message[t], future / future.sum(), rtol=1e-9)


def em_in_plain_loops(recs: list[cf.Rows], every: dict[str, int]) -> tuple[Floats, Floats, Floats]:
    """EM over each step of time, those without a row too; slow sources anchor classes."""
    names, K, n = list(every), 3, len(recs)
    w = {s: every[s] / max(every.values()) for s in names}
    pi, A = np.full(K, 1 / K), 0.95 * np.eye(K) + 0.05 / K
    R = {s: 0.8 * np.eye(K) + 0.2 / K for s in names}
    for done in range(15):
        N, xi, total, rows = {s: np.zeros((K, K)) for s in names}, np.zeros((K, K)), np.zeros(K), 0
        for rec in recs:
            at = np.round((rec.time - rec.time[0]) / 5.0).astype(int)
            L = np.ones((at[-1] + 1, K))
            for t, s, p in zip(at, rec.source_names, rec.probs, strict=True):
                if done >= 2 or every[s] > 1:
                    L[t] *= (R[s][p.argmax()] / pi) ** w[s]
            a, b = np.empty_like(L), np.ones_like(L)
            for t in range(len(L)):
                a[t] = L[t] * (a[t - 1] @ A if t else pi)
                a[t] /= a[t].sum()
            for t in range(len(L) - 2, -1, -1):
                b[t] = A @ (L[t + 1] * b[t + 1])
                pair = A * np.outer(a[t], L[t + 1] * b[t + 1])
                xi += pair / pair.sum()
                b[t] /= b[t].sum()
            gamma = a * b / (a * b).sum(axis=1, keepdims=True)
            for t, s, p in zip(at, rec.source_names, rec.probs, strict=True):
                N[s][p.argmax()] += gamma[t]
                total, rows = total + gamma[t], rows + 1
        pi = (n * total / rows + 1 / K) / (n + 1)
        stay = np.trace(xi) / xi.sum()
        A = xi + stay * np.eye(K) + (1 - stay) * pi
        A = n * A / A.sum(axis=1, keepdims=True) + stay * np.eye(K) + (1 - stay) / K
        A /= n + 1
        for s in names:
            count = N[s].sum()
            chance = N[s].sum(axis=0) @ N[s].sum(axis=1) / count**2
            right = np.clip((np.trace(N[s]) / count - chance) / (1 - chance), 0.05, 0.98)
            R[s] = N[s] + min(100, count / 6) * (right * np.eye(K) + (1 - right) * pi)
            R[s] /= R[s].sum(axis=1, keepdims=True)
    return pi, A, np.array([R[s] for s in names])


def test_em_is_that_of_plain_loops() -> None:
    """Also where some steps have no row: the transitions over them count one by one."""
    every = {"strong": 4, "weak": 1}
    recs = []
    for seed in range(4):
        rec = labelled(truth(200, seed), {"strong": (4, 0.95), "weak": (1, 0.6)}, seed)
        kept = np.random.default_rng(seed).random(len(rec)) < 0.9
        kept[0] = True
        recs.append(rec.take(kept))
    rows = concatenate(recs, "strong")
    found = estimate(rows, Timeline(rows))
    pi, A, R = em_in_plain_loops(recs, every)
    np.testing.assert_allclose(found.shares, pi, rtol=1e-6)
    np.testing.assert_allclose(found.transitions, A, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.confusion, R, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("soft", [False, True])
def test_the_judge_is_the_sum_over_all_class_paths(soft: bool) -> None:
    """It is p(later predictions of the slow reference | class), without that of the row itself."""
    rng = np.random.default_rng(1)
    rec = labelled(truth(9, 1), {"strong": (3, 0.9), "weak": (1, 0.6)}, 1)
    if soft:
        rec = cf.rows(
            time=rec.time,
            source=rec.source_names,
            probs=rng.dirichlet(np.ones(3), len(rec)),
            classes=3,
        )
    rows = concatenate([rec] * 2, "strong")
    model = estimate_model(rows)
    assert model.found is not None
    found, target = model.found, future_target(rows, model)
    calls = np.flatnonzero(rec.source_names == "strong")
    said = np.tile(rec.probs[calls].argmax(axis=1), 2)
    M = (found.confusion[0] * (np.bincount(said, minlength=3) + 1e-6)[:, None]).T
    M /= M.sum(axis=1, keepdims=True)
    step = np.round(rec.time / 5.0).astype(int)
    for t in range(len(rec)):
        later = [u for u in range(t + 1, len(rec)) if u in calls]
        total = np.zeros(3)
        for k, *path in product(range(3), repeat=len(later) + 1):
            p, now, when = 1.0, k, step[t]
            for u, c in zip(later, path, strict=True):
                p *= np.linalg.matrix_power(found.transitions, step[u] - when)[now, c]
                p *= rec.probs[u] @ M[c]
                now, when = c, step[u]
            total[k] += p
        np.testing.assert_allclose(target[t], total / (total @ found.shares), rtol=1e-7)


def test_equally_fast_sources_judge_from_some_steps_later_on() -> None:
    rec = labelled(truth(40, 3), {"a": (1, 0.9), "b": (1, 0.8)}, 3)
    rows = concatenate([rec], "a")
    model = estimate_model(rows)
    target, last = target_of_all(rows, model), rec.time[-1]
    near = rec.time > last - 5.0 * STEPS_LATER
    assert (target[near] == 1).all()
    assert (np.abs(target[~near] - 1) > 0.01).any(axis=1).all()


# --- what must not change -------------------------------------------------------------------


def fit(recs: list[cf.Rows], reference: str) -> tuple[JoinedRows, Timeline, Estimate]:
    rows = concatenate(recs, reference)
    line = Timeline(rows)
    return rows, line, estimate(rows, line)


def test_the_order_of_classes_does_not_matter() -> None:
    recs = [labelled(truth(300, s), {"a": (6, 0.9), "b": (1, 0.5)}, s) for s in range(3)]
    order = np.array([2, 0, 1])  # class k becomes order[k]
    renamed = [
        cf.rows(
            time=rec.time, source=rec.source_names, probs=order[rec.probs.argmax(axis=1)], classes=3
        )
        for rec in recs
    ]
    one, other = fit(recs, "a")[2], fit(renamed, "a")[2]
    np.testing.assert_allclose(other.shares[order], one.shares, rtol=1e-9)
    np.testing.assert_allclose(other.transitions[np.ix_(order, order)], one.transitions, rtol=1e-8)
    np.testing.assert_allclose(other.posterior[:, order], one.posterior, rtol=1e-6, atol=1e-12)


def test_two_sources_of_one_frame_do_not_shorten_the_step() -> None:
    """50 ms apart: a class of hours was read as one of minutes."""
    rec = labelled(truth(100, 0), {"a": (1, 0.9), "b": (1, 0.8)}, step=60.0)
    burst = rec.time + np.where(rec.source_names == "b", 0.05, 0.0)
    rec = cf.rows(time=burst, source=rec.source_names, probs=rec.probs, classes=3)
    line = Timeline(concatenate([rec], "a"))
    assert line.tau == pytest.approx(60.0)
    assert line.steps.tolist() == [0, 1]
    np.testing.assert_allclose(line.interval, 1.0)


def test_a_rare_class_keeps_its_meaning() -> None:
    """Classes of hard labels swapped their meaning: 39.7 % right where the last call has 68.2."""
    A = np.array([[0.98, 0.0195, 0.0005], [0.03, 0.9695, 0.0005], [0.025, 0.025, 0.95]])
    recs, right = [], []
    for seed in range(4):
        y = truth(4000, seed, A)
        y[2000:2020] = 2
        recs.append(labelled(y, {"strong": (6, 0.93), "weak": (1, 0.6)}, seed))
        at = np.round(recs[-1].time / 5.0).astype(int)
        right.append(y[at])
    _, _, found = fit(recs, "strong")
    true = np.concatenate(right)
    best = found.posterior.argmax(axis=1)
    assert (best == true).mean() > 0.93
    assert (best[true == 2] == 2).mean() > 0.6
    assert found.confusion[0].diagonal().min() > 0.5


def test_a_word_that_means_nothing_takes_nothing() -> None:
    """A fourth word in 0.1 % of the rows took 4 to 18 hours of 47."""
    rng = np.random.default_rng(5)
    recs, junk = [], 0
    for seed in range(3):
        rec = labelled(truth(3000, seed), {"mes": (6, 0.93), "plc": (1, 0.8)}, seed)
        said = rec.probs.argmax(axis=1)
        said[rng.random(len(said)) < 0.001] = 3
        junk += int((said == 3).sum())
        recs.append(cf.rows(time=rec.time, source=rec.source_names, probs=said, classes=4))
    _, _, found = fit(recs, "mes")
    assert junk > 5
    assert (found.posterior.argmax(axis=1) == 3).mean() < 0.002


def test_which_source_is_right_needs_no_labels_and_no_name() -> None:
    accuracy = {"a": 0.5, "b": 0.9, "c": 0.7, "d": 0.3}
    recs = [
        labelled(truth(600, seed), {name: (1, a) for name, a in accuracy.items()}, seed)
        for seed in range(4)
    ]
    rows, _, found = fit(recs, "a")
    by_name = dict(zip(rows.sources, found.agreement, strict=True))
    for name, a in accuracy.items():
        assert by_name[name] == pytest.approx(a, abs=0.08)
