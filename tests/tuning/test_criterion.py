"""The criterion: targets by enumeration of all class paths, scores in a plain loop."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

import classfilter as cf
from classfilter.tuning import Candidate
from classfilter.tuning.candidates import RULES, Runner, rule
from classfilter.tuning.criterion import by_rows, by_target, later_target
from classfilter.tuning.estimate import Timeline
from classfilter.tuning.memory import Memory
from classfilter.tuning.model import WAYS, EstimatedModel, Transitions
from classfilter.tuning.objective import Gain, Objective
from classfilter.tuning.passes import Passes, decayed_sums
from classfilter.tuning.rows import concatenate
from streams import at_most

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
RATES = np.array([[-0.2, 0.15, 0.05], [0.1, -0.4, 0.3], [0.3, 0.1, -0.4]])
SHARES = np.array([0.5, 0.3, 0.2])
PRIOR = np.sqrt(SHARES) / np.sqrt(SHARES).sum()
MODEL = EstimatedModel(SHARES, PRIOR, Transitions(expm(RATES * 2), 2.0), {})


def short_streams(seed: int, lengths: tuple[int, ...] = (6, 1, 5)) -> list[cf.Rows]:
    """Steps of 1, some of 2; a reference now and then."""
    rng = np.random.default_rng(seed)
    recs = []
    for T in lengths:
        time = np.cumsum(rng.choice([1.0, 2.0], T, p=[0.8, 0.2]))
        source = np.where(rng.random(T) < 0.5, "strong", "weak")
        recs.append(
            cf.rows(time=time, source=source, probs=rng.dirichlet(np.ones(3), T), classes=3)
        )
    recs[0] = cf.rows(
        time=recs[0].time,
        source=["strong", *recs[0].source_names[1:]],
        probs=recs[0].probs,
        classes=3,
    )
    return recs


def grid(dt: float, step: float) -> float:
    """Times are rounded by up to a percent, and those near the usual step to it."""
    steps = dt / step
    if steps > 1.2:
        return step * float(np.exp(np.round(np.log(steps) * 50) / 50))
    return step if abs(steps - 1) < 0.2 else dt


def test_the_target_of_one_source_is_the_sum_over_all_class_paths() -> None:
    """Only predictions beyond the gap count, each as so much news."""
    rng = np.random.default_rng(1)
    rec = cf.rows(
        time=np.arange(7.0), source="video", probs=rng.dirichlet(np.ones(3), 7), classes=3
    )
    rows, memory = concatenate([rec, rec], "video"), Memory(1.0, 0.5, 6.0, 2, 0.4)
    target, judged = later_target(rows, Passes(rows), SHARES, memory)
    stay = np.exp(-1 / 6.0)
    A = stay * np.eye(3) + (1 - stay) * PRIOR
    s = np.maximum(rec.probs, 1e-3)
    s /= s.sum(axis=1, keepdims=True)
    for t in range(7):
        assert judged[t] == (t + 3 < 7)
        if not judged[t]:
            continue
        total = np.zeros(3)
        for k, *path in product(range(3), repeat=7 - t):
            p, now = 1.0, k
            for u, c in enumerate(path, t + 1):
                p *= A[now, c] * ((s[u, c] / PRIOR[c]) ** 0.4 if u > t + 2 else 1.0)
                now = c
            total[k] += p
        np.testing.assert_allclose(target[t], total / (total @ PRIOR), rtol=1e-8)
        np.testing.assert_allclose(target[t + 7], target[t], rtol=1e-8)


CANDIDATES = [
    Candidate("transitions", (("strong", 1.0), ("weak", 0.35))),
    Candidate("transitions", (("strong", 0.5), ("weak", 0.0))),
    Candidate("stay", (("strong", 0.2), ("weak", 0.2)), 4.0),
    Candidate("dirichlet", (("strong", 1.0), ("weak", 0.1)), 4.0),
    Candidate("dirichlet", (("strong", 1.0), ("weak", 1.0)), 4.0),
    *(rule(name, ("strong", "weak"), 1.0) for name in RULES),
]


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda c: f"{c.family} {c.beta[-1][1]}")
def test_scores_in_a_plain_loop(candidate: Candidate) -> None:
    """All streams at once, as the filter of each stream alone."""
    recs = short_streams(7, (40, 1, 30, 2))
    rows = concatenate(recs, "strong")
    passes = Passes(rows)
    line = Timeline(rows)
    target = np.random.default_rng(8).exponential(1.0, rows.probs.shape)
    runner = Runner(rows, passes, MODEL._replace(line=line))
    objective = Objective(runner, [by_rows(rows, target), by_target(rows, target)])
    total, whole, row = 0.0, 0.0, 0
    for rec in recs:
        filter_ = candidate.filter(MODEL, rec.classes)
        dt = [0.0, *(grid(d, rows.step) for d in np.diff(rec.time))]
        if candidate.family == "transitions":  # whole steps since the first row
            number = np.floor((rec.time - rec.time[0]) / line.tau + 0.5)
            dt = [0.0, *np.diff(number * line.tau)]
        for t in range(len(rec)):
            P = filter_.update(rec.probs[t], dict(candidate.beta)[str(rec.source_names[t])], dt[t])
            total += np.log(target[row, P.argmax()] + 0.01)
            whole += np.log(target[row] @ P)
            row += 1
    if candidate.family in ("dirichlet", "ema"):  # their times are not rounded
        assert objective.shown(candidate).gain == pytest.approx(total / row, abs=0.05)
    else:
        assert objective.shown(candidate).gain == pytest.approx(total / row, rel=1e-9)
    if candidate.family == "transitions":
        assert objective.mean(candidate) == pytest.approx((whole + total) / row, rel=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_through_a_channel_as_the_recording_runs_it(way: str) -> None:
    matrix = np.array([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.3, 0.5]])
    model = MODEL._replace(channel={("weak", way): cf.Channel(matrix, PRIOR)})
    rng = np.random.default_rng(3)
    rec = cf.rows(
        time=np.arange(60.0),
        source=rng.choice(["strong", "weak"], 60),
        probs=rng.dirichlet(np.ones(3), 60),
        classes=3,
    )
    candidate = Candidate("transitions", (("strong", 1.0), ("weak", 0.5)), None, (("weak", way),))
    rows = concatenate([rec], "strong")
    runner = Runner(rows, Passes(rows), model._replace(line=Timeline(rows)))
    f, channels = candidate.filter(model, rec.classes), candidate.channels(model)
    assert isinstance(f, cf.StickyFilter)
    P = cf.Pipeline.of(f, beta=dict(candidate.beta), channel=channels).run(rec)
    np.testing.assert_allclose(runner.run(candidate), P, rtol=0, atol=1e-9)
    # The likelihoods: s / shares^0.5, and the channel's to the power of the weight.
    p, A = PRIOR, f._transitions(1.0)
    for t, s in enumerate(rec.probs):
        p = p @ A if t else p
        s = np.maximum(s, 1e-3) if rec.source_names[t] == "strong" else s
        if rec.source_names[t] == "strong":
            p = p * s / SHARES**0.5
        else:
            corrected = PRIOR * np.exp(s @ np.log(matrix).T)
            corrected = np.maximum(corrected / corrected.sum(), 1e-3)
            p = p * (corrected / corrected.sum() / PRIOR) ** 0.5
        p /= p.sum()
        np.testing.assert_allclose(P[t], p, rtol=0, atol=1e-9)


@at_most(20)
@given(SEEDS, st.integers(1, 700))
def test_decayed_sums_in_a_plain_loop(seed: int, T: int) -> None:
    rng = np.random.default_rng(seed)
    values, decay = rng.random((T, 2)), rng.random(T) * (rng.random(T) < 0.9)
    last, expected = np.zeros(2), []
    for v, d in zip(values, decay, strict=True):
        last = d * last + v
        expected.append(last)
    np.testing.assert_allclose(decayed_sums(values, decay), expected, rtol=1e-12)


class Gains(Objective):
    """Known gains over any base, with their standard errors."""

    def __init__(self, gains: dict[Candidate, Gain]) -> None:
        rows: Any = SimpleNamespace(source=np.zeros(1))
        super().__init__(SimpleNamespace(rows=rows, model=None), [])  # type: ignore[arg-type]
        self._gains = gains

    def gains(self, candidate: Candidate, other: Candidate) -> list[Gain]:
        return [self._gains[candidate]]


def test_the_gain_that_can_be_counted_on() -> None:
    base, bold, modest = (Candidate("dirichlet", (("s", w),)) for w in (0.0, 1.0, 0.1))
    objective = Gains({base: Gain(0.0, 0.0), bold: Gain(1.0, 0.6), modest: Gain(0.4, 0.1)})
    assert objective.safest([base, bold, modest], base) == modest  # 0.4 - 0.15 > 1 - 0.9
    objective = Gains({base: Gain(0.0, 0.0), bold: Gain(1.0, 0.7), modest: Gain(0.4, 0.3)})
    assert objective.safest([bold, modest, base], base) == base
    assert objective.safest([bold, modest], base) in (bold, modest)
