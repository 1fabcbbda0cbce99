"""What a choice of settings is judged by: tracks in plain loops, scores and errors by hand."""

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
from classfilter.tuning._estimate import estimate_model
from classfilter.tuning._model import EstimatedModel
from classfilter.tuning._objective import Fold, Objective, mean
from classfilter.tuning._search import (
    HALF_LIVES,
    WEIGHTS,
    Axis,
    best_half_life,
    coordinate_ascent,
    search,
)

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


def setting(family: str, channel: frozenset[str], **more: float) -> Candidate:
    return Candidate(family, 4.0, BETA, channel, **more)


def taught(rec: cf.Recording) -> EstimatedModel:
    learnt = estimate_model([rec], "strong")
    assert learnt.transitions is not None
    return learnt


# --- Runner ---------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [frozenset[str](), frozenset({"weak", "odd"})])
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_tracks_in_a_plain_loop(family: str, channel: frozenset[str], seed: int) -> None:
    rec = recording(seed)
    learnt = estimate_model([recording(seed + 1)], "strong")
    chosen = setting(family, channel)
    runner = Runner(rec, learnt)
    track = runner.run(chosen, chosen.filter(learnt))
    f, weights, dt = chosen.filter(learnt), dict(BETA), rec.dt
    assert f.classes == rec.classes
    before, after, answers = [], [], []
    for t, (s, name) in enumerate(zip(rec.probs, rec.source.tolist(), strict=True)):
        if name == "strong" and not np.isnan(s[0]):
            before.append(f.copy().update(np.full(3, NAN), 1.0, dt[t]))
            answers.append(s)
        if name in channel:
            prior = None if family == "dirichlet" else learnt.prior
            s = cf.Channel(learnt.channel[name].matrix, prior).apply(s)
        after.append(f.update(s, weights[name], dt[t]))
    np.testing.assert_allclose(track.after, after, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        track.before.reshape(-1, 3), np.reshape(before[1:], (-1, 3)), rtol=0, atol=1e-9
    )
    np.testing.assert_array_equal(runner.answers, np.reshape(answers[1:], (-1, 3)))
    used = chosen.channels(learnt)
    assert used.keys() == channel
    expected = rec.run(chosen.filter(learnt), dict(BETA), used)
    np.testing.assert_allclose(track.after, expected, rtol=0, atol=1e-9)
    again = runner.run(chosen, chosen.filter(learnt))
    assert again.after.tobytes() == track.after.tobytes()
    smoothed = runner.smooth(chosen, chosen.filter(learnt))
    np.testing.assert_allclose(
        smoothed, rec.smooth(chosen.filter(learnt), dict(BETA), used), rtol=0, atol=1e-7
    )


def test_one_runner_for_several_settings() -> None:
    """What it keeps of one setting does not show in another."""
    rec = recording(3)
    learnt, runner = taught(rec), Runner(rec, taught(rec))
    tried = [setting(family, frozenset(names)) for family in FAMILIES for names in ([], ["weak"])]
    for chosen in [*tried, *tried[::-1]]:
        found = runner.run(chosen, chosen.filter(learnt)).after
        alone = Runner(rec, learnt).run(chosen, chosen.filter(learnt)).after
        assert found.tobytes() == alone.tobytes()
    assert not np.isnan(found).any()
    used = chosen.filter(learnt)
    used.run(np.eye(3))
    expected = runner.smooth(chosen, chosen.filter(learnt))
    assert runner.smooth(chosen, used).tobytes() == expected.tobytes()


def test_what_is_learnt() -> None:
    rec = recording(5)
    learnt = taught(rec)
    assert (learnt.classes, learnt.reference) == (rec.classes, "strong")
    assert set(learnt.channel) == {"weak", "odd"}
    s = rec.probs[(rec.source == "strong") & ~np.isnan(rec.probs[:, 0])]
    shares = s.sum(axis=0) + 1 / 3
    np.testing.assert_allclose(learnt.prior, np.sqrt(shares) / np.sqrt(shares).sum(), rtol=1e-12)
    alone = estimate_model([cf.Recording([0, 1], ["strong", "weak"], np.eye(2), 2)], "strong")
    assert alone.transitions is None


def test_channels_are_learnt_from_the_nearest_answers_and_then_from_hindsight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rec = recording(5)
    names = ("weak", "odd")
    found = []
    for looks in (0, 1, 2):
        monkeypatch.setattr("classfilter.candidate.LOOKS", looks)
        found.append(taught(rec))
    for name in names:
        assert found[0].channel[name] == cf.Channel.between(rec, name, "strong")
    for before, after in pairwise(found):
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


def test_a_setting_makes_its_filter() -> None:
    learnt = taught(recording(1))
    one = setting("dirichlet", frozenset(), floor=0.01, anchor=0.5).filter(learnt)
    assert isinstance(one, cf.DirichletFilter)
    options = vars(one)["_options"]
    assert [options[name] for name in ("estimate", "floor", "anchor")] == ["mean", 0.01, 0.5]
    assert one.gamma == pytest.approx(0.5**0.25)
    stays = setting("stay", frozenset(), floor=0.01).filter(learnt)
    assert isinstance(stays, cf.StickyFilter)
    assert stays.stay == pytest.approx(0.5**0.25)
    follows = setting("transitions", frozenset()).filter(learnt)
    assert isinstance(follows, cf.StickyFilter)
    assert learnt.transitions is not None
    matrix, interval = learnt.transitions
    np.testing.assert_allclose(follows._transitions(interval), matrix, rtol=0, atol=1e-9)
    for f in (stays, follows):
        np.testing.assert_allclose(f.prior, learnt.prior, rtol=1e-12)
    other = setting("stay", frozenset()).with_beta("weak", 0.7)
    assert other.beta == (("strong", 1.0), ("weak", 0.7), ("odd", 0.6), ("nobody", 0.5))


# --- Fold -----------------------------------------------------------------------------------


def test_scores_by_hand() -> None:
    recs = [recording(7), recording(8, T=45)]
    learnt = taught(recording(9))
    chosen = setting("stay", frozenset({"weak"}))
    tracks = [Runner(rec, learnt).run(chosen, chosen.filter(learnt)) for rec in recs]
    right = known = 0
    for rec, track in zip(recs, tracks, strict=True):
        assert rec.label is not None
        for label, p in zip(rec.label.tolist(), track.after.tolist(), strict=True):
            known += label >= 0
            right += label == p.index(max(p))
    by_labels = Fold(recs, learnt, "labels", 1.0).score(chosen)
    assert by_labels.sum(axis=0).tolist() == [right, known]
    assert by_labels.shape == (4, 2)
    assert mean(by_labels) == right / known
    total, count = 0.0, 0
    for rec, track in zip(recs, tracks, strict=True):
        for s, p in zip(Runner(rec, learnt).answers, track.before, strict=True):
            total += sum(s[k] * np.log(max(p[k], 1e-4)) for k in range(3))
            count += 1
    by_next = Fold(recs, learnt, "next answer", 1.0).score(chosen)
    np.testing.assert_allclose(by_next.sum(axis=0), [total, count], rtol=1e-12)
    half = Fold(recs, learnt, "hindsight", 1.0)
    total = 0.0
    for truth, track in zip(half.pseudo_labels, tracks, strict=True):
        np.testing.assert_allclose(truth.sum(axis=1), 1, rtol=0, atol=1e-9)
        total += sum(truth[t, track.after[t].argmax()] for t in range(len(truth)))
    np.testing.assert_allclose(half.score(chosen).sum(axis=0), [total, 105], rtol=1e-12)


# --- Objective -----------------------------------------------------------------------------------


class Told:
    """Fold of the streams, whose scores are known; counts how often it is asked."""

    learnt = taught(recording(0))

    def __init__(self, scores: dict[Any, Floats]) -> None:
        self._scores, self.asked = scores, 0

    def score(self, setting: Any) -> Floats:
        self.asked += 1
        return self._scores[setting]


def jury_of(*halves: Any) -> Objective:
    return Objective(halves)


@given(SEEDS, st.integers(2, 8))
def test_the_error_of_equal_parts_is_that_of_a_mean(seed: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 2 * parts)) * 50
    given = {
        name: np.stack([x, np.full(2 * parts, 50.0)], axis=1) for name, x in (("a", a), ("b", b))
    }
    halves = [
        Told({name: x[half] for name, x in given.items()})
        for half in (slice(0, parts), slice(parts, None))
    ]
    jury: Any = jury_of(*halves)
    root = np.sqrt(2 * parts)
    assert jury.mean("a") == pytest.approx(np.mean(a / 50))
    assert jury.error("a") == pytest.approx(np.std(a / 50, ddof=1) / root)
    assert jury.error("a", "b") == pytest.approx(np.std((a - b) / 50, ddof=1) / root)
    assert jury.error("a", "a") == 0
    assert [half.asked for half in halves] == [2, 2]  # each was run once
    best = max("ab", key=jury.mean)
    assert jury.table()[0].candidate == best
    assert jury.table()[0].score == jury.mean(best)
    assert jury.table()[0].error == jury.error(best)


def test_the_error_of_unequal_parts_is_that_of_a_bootstrap() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(50, 150, 80)
    scores = np.stack([rng.binomial(counts, 0.8), counts], axis=1).astype(float)
    jury: Any = jury_of(Told({"a": scores}))
    drawn = scores[rng.integers(80, size=(20_000, 80))].sum(axis=1)
    assert jury.error("a") == pytest.approx(np.std(drawn[:, 0] / drawn[:, 1]), rel=0.05)


# --- the search -----------------------------------------------------------------------------


def weights_of(name: str) -> Axis:
    return lambda setting: [setting.with_beta(name, weight) for weight in WEIGHTS]


@given(st.tuples(st.floats(-1, 9), st.floats(-0.2, 1.2), st.floats(-0.2, 1.2)))
def test_ascend_finds_the_top_of_a_separable_score(top: tuple[float, float, float]) -> None:
    start = Candidate("stay", 8.0, (("weak", 0.5), ("odd", 0.5)), frozenset())

    def score(s: Candidate) -> float:
        beta = dict(s.beta)
        at = (np.log2(s.half_life), beta["weak"], beta["odd"])
        return -sum(abs(float(x) - y) for x, y in zip(at, top, strict=True))

    def half_lives(s: Candidate) -> list[Candidate]:
        return [s._replace(half_life=float(n)) for n in HALF_LIVES]

    axes = [half_lives, weights_of("weak"), weights_of("odd")]
    found = coordinate_ascent(start, axes, score)
    every = product(HALF_LIVES, WEIGHTS, WEIGHTS)
    all_of_them = [start._replace(half_life=h, beta=(("weak", a), ("odd", b))) for h, a, b in every]
    assert score(found) == max(map(score, all_of_them))


def test_ascend_goes_on_until_no_step_helps() -> None:
    """A ridge, on which the second step makes way for another first one."""

    def score(s: Candidate) -> float:
        a, b = (weight for _, weight in s.beta)
        return -3 * (a - b) ** 2 - (b - 1) ** 2

    axes = [weights_of("weak"), weights_of("odd")]
    start = Candidate("stay", 8.0, (("weak", 0.1), ("odd", 0.1)), frozenset())
    found = coordinate_ascent(start, axes, score)
    assert score(found) > score(coordinate_ascent(start, axes[::-1][:1], score))
    assert all(score(other) <= score(found) for axis in axes for other in axis(found))


class Liking:
    """A jury that likes a memory of 16 steps, a weight of 0.35, the channel, and maybe a floor."""

    def __init__(self, floor: float, doubt: float) -> None:
        self.floor, self.doubt = floor, doubt

    def mean(self, s: Candidate) -> float:
        memory = abs(np.log2(s.half_life / 5) - 4)
        away = abs(dict(s.beta)["weak"] - 0.35)
        return float(-memory - away + 0.1 * ("weak" in s.channel) + (s.floor == self.floor))

    def error(self, setting: Candidate, other: Candidate | None = None) -> float:
        return self.doubt


@pytest.mark.parametrize(
    ("channel", "doubt", "floor"), [(None, 0.4, 1e-2), (None, 0.6, 1e-3), (False, 0.6, 1e-3)]
)
def test_search(channel: bool | None, doubt: float, floor: float) -> None:
    jury: Any = Liking(1e-2, doubt)
    told: list[int] = []
    found = search(jury, "stay", "strong", ["weak"], 5.0, channel, lambda: told.append(1))
    assert found.half_life == 80
    assert dict(found.beta) == {"strong": 1.0, "weak": 0.35}
    assert found.channel == (frozenset() if channel is False else {"weak"})
    assert found.floor == floor
    assert len(told) == 3
    assert best_half_life(jury, (("weak", 0.5),), 5.0) == Candidate(
        "dirichlet", 80, (("weak", 0.5),), frozenset()
    )
