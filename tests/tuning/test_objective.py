"""Candidates, their scores and the search: outputs in plain loops, scores and errors by hand."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from classfilter.tuning._candidates import FAMILIES, Candidate, Runner
from classfilter.tuning._coordinate_ascent import WEIGHTS, Axis, coordinate_ascent
from classfilter.tuning._estimate import estimate_model
from classfilter.tuning._model import EstimatedModel
from classfilter.tuning._objective import Fold, Objective, mean
from classfilter.tuning._search import HALF_LIVES, best_half_life, search

Floats = NDArray[np.float64]
NAN = float("nan")
SEEDS = st.integers(0, 2**32 - 1)
BETA = (("strong", 1.0), ("weak", 0.3), ("odd", 0.6), ("nobody", 0.5))


def recording(seed: int, T: int = 60, K: int = 3) -> cf.Recording:
    """Irregular times, some of them equal; missing rows; three sources; some labels."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(K, size=T), 6)[:T]
    probs = rng.dirichlet(np.ones(K), T) / 2 + np.eye(K)[truth] / 2
    source = rng.choice(["strong", "weak", "odd"], T, p=[0.3, 0.5, 0.2])
    source[:3], probs[3:][rng.random(T - 3) < 0.1] = ["strong", "weak", "odd"], NAN
    time = rng.choice([0.0, 1.0, 2.5, 30.0], T, p=[0.2, 0.5, 0.2, 0.1]).cumsum()
    label = np.where(rng.random(T) < 0.7, truth, -1)
    return cf.Recording(time, source, probs, [f"c{k}" for k in range(K)], label)


def candidate(family: str, channel: frozenset[str], **more: float) -> Candidate:
    return Candidate(family, 4.0, BETA, channel, **more)


def model_of(rec: cf.Recording) -> EstimatedModel:
    model = estimate_model([rec], "strong")
    assert model.transitions is not None
    return model


# --- Runner ---------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [frozenset[str](), frozenset({"weak", "odd"})])
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_outputs_in_a_plain_loop(family: str, channel: frozenset[str], seed: int) -> None:
    rec = recording(seed)
    model = estimate_model([recording(seed + 1)], "strong")
    chosen = candidate(family, channel)
    runner = Runner(rec, model)
    output = runner.run(chosen, chosen.filter(model))
    f, weights, dt = chosen.filter(model), dict(BETA), rec.dt
    assert f.classes == rec.classes
    before, after, predictions = [], [], []
    for t, (s, name) in enumerate(zip(rec.probs, rec.source.tolist(), strict=True)):
        if name == "strong" and not np.isnan(s[0]):
            before.append(f.copy().update(np.full(3, NAN), 1.0, dt[t]))
            predictions.append(s)
        if name in channel:
            prior = None if family == "dirichlet" else model.prior
            s = cf.Channel(model.channel[name].matrix, prior).apply(s)
        after.append(f.update(s, weights[name], dt[t]))
    np.testing.assert_allclose(output.after, after, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        output.before.reshape(-1, 3), np.reshape(before[1:], (-1, 3)), rtol=0, atol=1e-9
    )
    np.testing.assert_array_equal(runner.reference_probs, np.reshape(predictions[1:], (-1, 3)))
    used = chosen.channels(model)
    assert used.keys() == channel
    expected = rec.run(chosen.filter(model), dict(BETA), used)
    np.testing.assert_allclose(output.after, expected, rtol=0, atol=1e-9)
    again = runner.run(chosen, chosen.filter(model))
    assert again.after.tobytes() == output.after.tobytes()
    smoothed = runner.smooth(chosen, chosen.filter(model))
    np.testing.assert_allclose(
        smoothed, rec.smooth(chosen.filter(model), dict(BETA), used), rtol=0, atol=1e-7
    )


def test_one_runner_for_several_candidates() -> None:
    """What it caches for one candidate does not change another."""
    rec = recording(3)
    model, runner = model_of(rec), Runner(rec, model_of(rec))
    tried = [candidate(family, frozenset(names)) for family in FAMILIES for names in ([], ["weak"])]
    for chosen in [*tried, *tried[::-1]]:
        shared = runner.run(chosen, chosen.filter(model)).after
        alone = Runner(rec, model).run(chosen, chosen.filter(model)).after
        assert shared.tobytes() == alone.tobytes()
    assert not np.isnan(shared).any()
    used = chosen.filter(model)
    used.run(np.eye(3))
    expected = runner.smooth(chosen, chosen.filter(model))
    assert runner.smooth(chosen, used).tobytes() == expected.tobytes()


def test_the_estimated_model() -> None:
    rec = recording(5)
    model = model_of(rec)
    assert (model.classes, model.reference) == (rec.classes, "strong")
    assert set(model.channel) == {"weak", "odd"}
    s = rec.probs[(rec.source == "strong") & ~np.isnan(rec.probs[:, 0])]
    shares = s.sum(axis=0) + 1 / 3
    np.testing.assert_allclose(model.prior, np.sqrt(shares) / np.sqrt(shares).sum(), rtol=1e-12)
    alone = estimate_model([cf.Recording([0, 1], ["strong", "weak"], np.eye(2), 2)], "strong")
    assert alone.transitions is None


def test_channels_are_estimated_from_the_nearest_predictions_and_then_by_smoothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rec = recording(5)
    names = ("weak", "odd")
    models = []
    for rounds in (0, 1, 2):
        monkeypatch.setattr("classfilter.tuning._estimate.SMOOTHING_ROUNDS", rounds)
        models.append(model_of(rec))
    for name in names:
        assert models[0].channel[name] == cf.Channel.between(rec, name, "strong")
    for before, after in pairwise(models):
        assert before.transitions is not None
        matrix, interval = before.transitions
        f = cf.StickyFilter(3, transitions=matrix, interval=interval, prior=before.prior)
        probs = rec.probs.copy()
        for i, name in enumerate(rec.source):
            if name in names and not np.isnan(probs[i, 0]):
                channel = cf.Channel(before.channel[name].matrix, before.prior)
                probs[i] = channel.apply(probs[i])
        truth = cf.smooth(f, probs, np.where(rec.source == "strong", 1.0, 0.7), rec.dt)
        for name in names:
            counts = np.zeros((3, 3))
            for s, t in zip(rec.probs[rec.source == name], truth[rec.source == name], strict=True):
                if not np.isnan(s[0]):
                    counts += np.outer(t, s / s.sum())
            share = counts.sum(axis=0) / counts.sum()
            counts += (share + 1e-3 / 3) / (1 + 1e-3)
            expected = counts / counts.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(after.channel[name].matrix, expected, rtol=0, atol=1e-9)


def test_the_filter_of_a_candidate() -> None:
    model = model_of(recording(1))
    dirichlet = candidate("dirichlet", frozenset(), floor=0.01, anchor=0.5).filter(model)
    assert isinstance(dirichlet, cf.DirichletFilter)
    options = vars(dirichlet)["_options"]
    assert [options[name] for name in ("estimate", "floor", "anchor")] == ["mean", 0.01, 0.5]
    assert dirichlet.gamma == pytest.approx(0.5**0.25)
    stay = candidate("stay", frozenset(), floor=0.01).filter(model)
    assert isinstance(stay, cf.StickyFilter)
    assert stay.stay == pytest.approx(0.5**0.25)
    transitions = candidate("transitions", frozenset()).filter(model)
    assert isinstance(transitions, cf.StickyFilter)
    assert model.transitions is not None
    matrix, interval = model.transitions
    np.testing.assert_allclose(transitions._transitions(interval), matrix, rtol=0, atol=1e-9)
    for f in (stay, transitions):
        np.testing.assert_allclose(f.prior, model.prior, rtol=1e-12)
    other = candidate("stay", frozenset()).with_beta("weak", 0.7)
    assert other.beta == (("strong", 1.0), ("weak", 0.7), ("odd", 0.6), ("nobody", 0.5))


# --- Fold -----------------------------------------------------------------------------------


def test_scores_by_hand() -> None:
    recs = [recording(7), recording(8, T=45)]
    model = model_of(recording(9))
    chosen = candidate("stay", frozenset({"weak"}))
    outputs = [Runner(rec, model).run(chosen, chosen.filter(model)) for rec in recs]
    correct = known = 0
    for rec, output in zip(recs, outputs, strict=True):
        assert rec.label is not None
        for label, p in zip(rec.label.tolist(), output.after.tolist(), strict=True):
            known += label >= 0
            correct += label == p.index(max(p))
    by_labels = Fold(recs, model, "labels", 1.0).score(chosen)
    assert by_labels.sum(axis=0).tolist() == [correct, known]
    assert by_labels.shape == (4, 2)
    assert mean(by_labels) == correct / known
    total, count = 0.0, 0
    for rec, output in zip(recs, outputs, strict=True):
        for s, p in zip(Runner(rec, model).reference_probs, output.before, strict=True):
            total += sum(s[k] * np.log(max(p[k], 1e-4)) for k in range(3))
            count += 1
    by_next = Fold(recs, model, "next prediction", 1.0).score(chosen)
    np.testing.assert_allclose(by_next.sum(axis=0), [total, count], rtol=1e-12)
    fold = Fold(recs, model, "smoothed posterior", 1.0)
    total = 0.0
    for truth, output in zip(fold.pseudo_labels, outputs, strict=True):
        np.testing.assert_allclose(truth.sum(axis=1), 1, rtol=0, atol=1e-9)
        total += sum(truth[t, output.after[t].argmax()] for t in range(len(truth)))
    np.testing.assert_allclose(fold.score(chosen).sum(axis=0), [total, 105], rtol=1e-12)


# --- Objective ------------------------------------------------------------------------------


class KnownScores:
    """A fold whose scores are known; counts the calls."""

    def __init__(self, scores: dict[Any, Floats]) -> None:
        self._scores, self.calls = scores, 0

    def score(self, candidate: Any) -> Floats:
        self.calls += 1
        return self._scores[candidate]


@given(SEEDS, st.integers(2, 8))
def test_the_error_of_equal_parts_is_that_of_a_mean(seed: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 2 * parts)) * 50
    scores = {
        name: np.stack([x, np.full(2 * parts, 50.0)], axis=1) for name, x in (("a", a), ("b", b))
    }
    folds: Any = [
        KnownScores({name: x[rows] for name, x in scores.items()})
        for rows in (slice(0, parts), slice(parts, None))
    ]
    objective: Any = Objective(folds)
    root = np.sqrt(2 * parts)
    assert objective.mean("a") == pytest.approx(np.mean(a / 50))
    assert objective.error("a") == pytest.approx(np.std(a / 50, ddof=1) / root)
    assert objective.error("a", "b") == pytest.approx(np.std((a - b) / 50, ddof=1) / root)
    assert objective.error("a", "a") == 0
    assert [fold.calls for fold in folds] == [2, 2]  # each was run once
    best = max("ab", key=objective.mean)
    assert objective.table()[0].candidate == best
    assert objective.table()[0].score == objective.mean(best)
    assert objective.table()[0].error == objective.error(best)


def test_the_error_of_unequal_parts_is_that_of_a_bootstrap() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(50, 150, 80)
    scores = np.stack([rng.binomial(counts, 0.8), counts], axis=1).astype(float)
    fold: Any = KnownScores({"a": scores})
    objective: Any = Objective([fold])
    drawn = scores[rng.integers(80, size=(20_000, 80))].sum(axis=1)
    assert objective.error("a") == pytest.approx(np.std(drawn[:, 0] / drawn[:, 1]), rel=0.05)


# --- the search -----------------------------------------------------------------------------


def weights_of(name: str) -> Axis:
    return lambda candidate: [candidate.with_beta(name, weight) for weight in WEIGHTS]


@given(st.tuples(st.floats(-1, 9), st.floats(-0.2, 1.2), st.floats(-0.2, 1.2)))
def test_coordinate_ascent_maximises_a_separable_score(top: tuple[float, float, float]) -> None:
    start = Candidate("stay", 8.0, (("weak", 0.5), ("odd", 0.5)), frozenset())

    def score(s: Candidate) -> float:
        beta = dict(s.beta)
        at = (np.log2(s.half_life), beta["weak"], beta["odd"])
        return -sum(abs(float(x) - y) for x, y in zip(at, top, strict=True))

    def half_lives(s: Candidate) -> list[Candidate]:
        return [s._replace(half_life=float(n)) for n in HALF_LIVES]

    axes = [half_lives, weights_of("weak"), weights_of("odd")]
    best = coordinate_ascent(start, axes, score)
    every = product(HALF_LIVES, WEIGHTS, WEIGHTS)
    all_of_them = [start._replace(half_life=h, beta=(("weak", a), ("odd", b))) for h, a, b in every]
    assert score(best) == max(map(score, all_of_them))


def test_coordinate_ascent_continues_until_no_step_helps() -> None:
    """A ridge, on which the second step makes another first one possible."""

    def score(s: Candidate) -> float:
        a, b = (weight for _, weight in s.beta)
        return -3 * (a - b) ** 2 - (b - 1) ** 2

    axes = [weights_of("weak"), weights_of("odd")]
    start = Candidate("stay", 8.0, (("weak", 0.1), ("odd", 0.1)), frozenset())
    best = coordinate_ascent(start, axes, score)
    assert score(best) > score(coordinate_ascent(start, axes[::-1][:1], score))
    assert all(score(other) <= score(best) for axis in axes for other in axis(best))


class Peak:
    """An objective with its best at 16 steps, a weight of 0.35, the channel, and a floor."""

    def __init__(self, floor: float, uncertainty: float) -> None:
        self.floor, self.uncertainty = floor, uncertainty

    def mean(self, s: Candidate) -> float:
        half_life = abs(np.log2(s.half_life / 5) - 4)
        weight = abs(dict(s.beta)["weak"] - 0.35)
        return float(-half_life - weight + 0.1 * ("weak" in s.channel) + (s.floor == self.floor))

    def error(self, candidate: Candidate, other: Candidate | None = None) -> float:
        return self.uncertainty


@pytest.mark.parametrize(
    ("channel", "uncertainty", "floor"), [(None, 0.4, 1e-2), (None, 0.6, 1e-3), (False, 0.6, 1e-3)]
)
def test_search(channel: bool | None, uncertainty: float, floor: float) -> None:
    objective: Any = Peak(1e-2, uncertainty)
    stages: list[int] = []
    best = search(objective, "stay", "strong", ["weak"], 5.0, channel, lambda: stages.append(1))
    assert best.half_life == 80
    assert dict(best.beta) == {"strong": 1.0, "weak": 0.35}
    assert best.channel == (frozenset() if channel is False else {"weak"})
    assert best.floor == floor
    assert len(stages) == 3
    assert best_half_life(objective, (("weak", 0.5),), 5.0) == Candidate(
        "dirichlet", 80, (("weak", 0.5),), frozenset()
    )
