"""Who wins: every measure by scikit-learn or a plain loop, on tracks made by plain loops."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk

import classfilter as cf
from classfilter import Comparison, Recording, compare
from classfilter.evaluation._comparison import Measure
from classfilter.tuning._folds import two_folds
from classfilter.tuning._search import HALF_LIVES
from classfilter.tuning._tune import tune
from slow_metrics import slow_delays, slow_switches

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
NAN = float("nan")
K = 4


def changed(rec: Recording, **new: Any) -> Recording:
    columns = {name: getattr(rec, name) for name in ("time", "source", "probs", "classes", "label")}
    return Recording(**(columns | new))


@lru_cache
def clean(seed: int, hours: float = 1.0) -> Recording:
    return cf.simulate("plain", hours=hours, seed=seed).recording()


def messy(seed: int, hours: float) -> Recording:
    """Weak and strong at one time, in any order; answers, rows and labels missing."""
    rng = np.random.default_rng(seed)
    one = cf.simulate("plain", hours=hours, seed=seed)
    rows = np.flatnonzero(rng.random(len(one.time)) < 0.9)
    source, order = [], []
    for t in rows.tolist():
        both = ["weak", "strong"] if t % 12 < 2 else ["weak"]
        source += rng.permutation(both).tolist()
        order += [t] * len(both)
    probs = np.array([one.probs[name][t] for name, t in zip(source, order, strict=True)])
    probs[rng.random(len(probs)) < 0.05] = NAN
    unknown = rng.random(len(one.time)) < 0.1
    label = np.where(unknown, -1, one.truth)[order]
    return Recording(one.time[order], source, probs, one.classes, label)


@lru_cache
def some() -> tuple[Recording, ...]:
    """Of several lengths; one without labels, one with few."""
    first, second, third, fourth = (messy(seed, 0.6 + 0.2 * seed) for seed in range(4))
    assert third.label is not None
    few = np.where(np.arange(len(third)) < len(third) // 4, third.label, -1)
    return first, changed(second, label=None), changed(third, label=few), fourth


@lru_cache
def found() -> Comparison:
    return compare(some(), "strong", extra={"Perfect": list(map(perfect, some()))}, seed=5)


def perfect(rec: Recording) -> Floats:
    label = np.zeros(len(rec), int) if rec.label is None else rec.label
    return np.eye(K)[np.maximum(label, 0)]


def measures(result: Comparison, name: str) -> dict[str, Measure]:
    (row,) = [row for row in result.rows if row.name == name]
    return row.measures


def values(result: Comparison, name: str) -> dict[str, float]:
    return {key: measure.value for key, measure in measures(result, name).items()}


# --- the same, one row after the other ------------------------------------------------------


def raw(rec: Recording) -> Floats:
    return mean_of(1)(rec)


def hold(rec: Recording) -> Floats:
    out, strong = [np.full(K, 1 / K)], False
    for source, p in zip(rec.source, rec.probs, strict=True):
        seen = not np.isnan(p[0]) and (source == "strong" or not strong)
        strong |= bool(seen and source == "strong")
        out.append(p / p.sum() if seen else out[-1])
    return np.array(out[1:])


def mean_of(window: int) -> Callable[[Recording], Floats]:
    def track(rec: Recording) -> Floats:
        out, last = [], []
        for p in rec.probs:
            if not np.isnan(p[0]):
                last.append(p / p.sum())
            out.append(np.mean(last[-window:], axis=0) if last else np.full(K, 1 / K))
        return np.array(out)

    return track


def vote(rec: Recording) -> Floats:
    sure = np.where(np.isnan(rec.probs), NAN, np.eye(K)[np.nan_to_num(rec.probs).argmax(axis=1)])
    return mean_of(5)(changed(rec, probs=sure))


def ema(rec: Recording) -> Floats:
    """A row is worth 0.9 to the number of usual steps that it is old."""
    out = []
    seen = ~np.isnan(rec.probs[:, 0])
    for t in range(len(rec)):
        rows = np.flatnonzero(seen[: t + 1])
        worth = 0.9 ** ((rec.time[t] - rec.time[rows]) / 5.0)
        total = worth.sum()
        out.append(worth @ rec.probs[rows] / total if total else np.full(K, 1 / K))
    return np.array(out)


LOOPS = {"Raw": raw, "Hold": hold, "Mean of 5": mean_of(5), "Vote of 5": vote, "Ema": ema}


def counted(rec: Recording, P: Floats) -> tuple[Ints, Floats, list[float]]:
    """Labels, track and times, of several rows at one time the last."""
    T = len(rec)
    rows = [t for t in range(T) if t == T - 1 or rec.time[t + 1] > rec.time[t]]
    label = np.full(T, -1) if rec.label is None else rec.label
    return label[rows], P[rows], rec.time[rows].tolist()


def by_hand(several: Sequence[Recording], tracks: Sequence[Floats]) -> dict[str, float]:
    """All measures, of all rows of the recordings one behind the other."""
    ys, ps = [], []
    switches, seconds, delays = 0, 0.0, list[float]()
    for rec, track in zip(several, tracks, strict=True):
        y, p, time = counted(rec, track)
        ys.append(y[y >= 0])
        ps.append(p[y >= 0])
        step = float(np.median(np.diff(time)))
        called, truth = p.argmax(axis=1).tolist(), y.tolist()
        delays += slow_delays(truth, called, time, 10 * step, step)[0]
        more, longer = slow_switches(truth, called, time, 10 * step)
        switches, seconds = switches + more, seconds + longer
    y, p = np.concatenate(ys), np.concatenate(ps)
    floored = np.maximum(p, 1e-3)
    floored /= floored.sum(axis=1, keepdims=True)
    return {
        "accuracy": sk.accuracy_score(y, p.argmax(axis=1)),
        "macro_f1": sk.f1_score(y, p.argmax(axis=1), average="macro"),
        "log_loss": sk.log_loss(y, floored, labels=range(K)),
        "brier": sum(sk.brier_score_loss(y == c, p[:, c]) for c in range(K)),
        "switches": 3600 * switches / seconds,
        "delay": float(np.mean(delays)),
    }


# --- the measures ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_the_measures_equal_scikit_learn(name: str) -> None:
    tracks = [LOOPS[name](rec) for rec in some()]
    assert values(found(), name) == pytest.approx(by_hand(some(), tracks), rel=1e-9)


def test_what_is_compared() -> None:
    names = [row.name for row in found().rows]
    assert names == [
        "Raw", "Mean of 5", "Vote of 5", "Ema", "Hold", "Single", "Multiple",
        "Dirichlet, tuned", "Dirichlet, tuned, channel",
        "Sticky, tuned", "Sticky, tuned, channel", "Tuned", "Perfect",
        "Dirichlet, tuned, looking back", "Sticky, tuned, looking back", "Tuned, looking back",
    ]  # fmt: skip
    ahead = [row.smoothed for row in found().rows]
    assert ahead == [False] * 13 + [True] * 3
    assert (found().streams, found().steps) == (4, sum(map(len, some())))
    assert found().reference == "strong"


def test_what_is_tuned_is_tuned_on_the_other_half() -> None:
    halves = two_folds(some(), "strong")
    assert halves is not None
    tracks: dict[str, list[Floats]] = {}
    for mine, rest in halves:
        for name, tuned, way in [
            ("Dirichlet, tuned", tune(rest, "dirichlet", "strong", channel=False), "run"),
            ("Dirichlet, tuned, channel", tune(rest, "dirichlet", "strong", channel=True), "run"),
            ("Sticky, tuned", tune(rest, "sticky", "strong", channel=False), "run"),
            ("Sticky, tuned, channel", tune(rest, "sticky", "strong", channel=True), "run"),
            ("Tuned", tune(rest, "auto", "strong"), "run"),
            ("Dirichlet, tuned, looking back", tune(rest, "dirichlet", "strong"), "smooth"),
            ("Sticky, tuned, looking back", tune(rest, "sticky", "strong"), "smooth"),
            ("Tuned, looking back", tune(rest, "auto", "strong"), "smooth"),
        ]:
            tracks.setdefault(name, []).extend(getattr(tuned, way)(rec) for rec in mine)
    streams = [rec for mine, _ in halves for rec in mine]
    for name, given in tracks.items():
        assert values(found(), name) == pytest.approx(by_hand(streams, given), rel=1e-9)


@pytest.mark.parametrize(("name", "weak"), [("Single", 1.0), ("Multiple", 0.5)])
def test_the_papers_weights_with_some_memory(name: str, weak: float) -> None:
    """In each half one of the memories that are tried; the measures add up over the halves."""
    halves = two_folds(some(), "strong")
    assert halves is not None
    right: list[set[int]] = []
    for mine, _ in halves:
        right.append(set())
        for n in HALF_LIVES:
            f = cf.DirichletFilter(mine[0].classes, half_life=5.0 * n, estimate="mean")
            parts = [counted(rec, rec.run(f, {"strong": 1.0, "weak": weak})) for rec in mine]
            right[-1].add(sum(int((p.argmax(axis=1) == y).sum()) for y, p, _ in parts))
    rows = sum(int((counted(rec, raw(rec))[0] >= 0).sum()) for rec in some())
    got = values(found(), name)["accuracy"] * rows
    assert round(got) in {a + b for a in right[0] for b in right[1]}
    assert got == pytest.approx(round(got), abs=1e-6)


def test_a_perfect_track() -> None:
    expected = {"accuracy": 1.0, "macro_f1": 1.0, "brier": 0.0, "delay": 0.0}
    expected |= {"log_loss": math.log(1 + (K - 1) * 1e-3), "switches": found().true_switches}
    assert values(found(), "Perfect") == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert found().best("accuracy") == found().best("brier") == "Perfect"
    assert found().best("delay") is None  # flicker is quick by chance


def test_a_late_track() -> None:
    recs = [clean(0), clean(1)]
    late = [np.concatenate([perfect(rec)[:1], perfect(rec)[:-1]]) for rec in recs]
    got = values(compare(recs, "strong", extra={"Late": late}), "Late")
    assert got == pytest.approx(by_hand(recs, late), rel=1e-9)
    assert got["delay"] == pytest.approx(5.0)


def test_few_streams_have_no_intervals() -> None:
    assert all(np.isnan([m.low, m.high]).all() for m in found().rows[0].measures.values())


def test_the_intervals_equal_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["classfilter.compare"], "FEWEST", 2)
    again = found.__wrapped__()
    halves = two_folds(some(), "strong")
    assert halves is not None
    streams = [rec for mine, _ in halves for rec in mine]
    sets = np.random.default_rng(5).integers(4, size=(1000, 4))
    labelled = [rec.label is not None for rec in streams]
    for name in ("Raw", "Hold"):
        known: dict[tuple[int, ...], dict[str, float]] = {}
        drawn: dict[str, list[float]] = {}
        for chosen in sets.tolist():
            key = tuple(sorted(chosen))
            if not any(labelled[i] for i in key):
                continue
            if key not in known:
                picked = [streams[i] for i in key]
                known[key] = by_hand(picked, [LOOPS[name](rec) for rec in picked])
            for measure, value in known[key].items():
                drawn.setdefault(measure, []).append(value)
        assert len(drawn["accuracy"]) < 1000  # some sets have no label at all
        for measure, got in measures(again, name).items():
            expected = np.percentile(drawn[measure], [2.5, 97.5])
            assert got[1:] == pytest.approx(tuple(expected), rel=1e-9)


def test_the_true_switches_by_hand() -> None:
    """A change in 235 s, two in 275 s; the last two rows are at one time, and one row unknown."""
    rng = np.random.default_rng(0)
    first = Recording(np.arange(48) * 5.0, "a", rng.dirichlet([1, 1], 48), 2, np.repeat([0, 1], 24))
    label = np.repeat([0, 1, 0], [20, 20, 18])
    time = np.minimum(np.arange(58), 56) * 5.0
    label[[10, 57]] = -1, 1  # it breaks the stream for 10 s; a change in the last 5 s
    second = Recording(time, "a", rng.dirichlet([1, 1], 58), 2, label)
    result = compare([first, second])
    assert result.true_switches == pytest.approx(3600 * (1 + 3) / (235 + 270), rel=1e-12)
    assert str(result).endswith("\nThe true class switches 28.5 times an hour.")
    assert "2 streams, 106 steps;" in str(result)


def test_a_class_that_never_changes_has_no_delay() -> None:
    recs = [changed(clean(seed), label=np.zeros(720, int)) for seed in (0, 1)]
    result = compare(recs, "strong")
    assert all(math.isnan(x) for row in result.rows for x in row.measures["delay"])
    assert result.best("delay") is None
    assert not any(best for _, best in result.cells("delay"))
    assert result.true_switches == 0


# --- without labels -------------------------------------------------------------------------


def test_without_labels() -> None:
    """What hindsight gives to all classes adds up to 1."""
    bare = [changed(clean(seed), label=label) for seed, label in ((0, None), (1, [-1] * 720))]
    called = [raw(rec).argmax(axis=1) for rec in bare]
    turned = {f"turned {n}": [np.eye(K)[(k + n) % K] for k in called] for n in range(K)}
    result = compare(bare, "strong", extra=turned)
    assert {tuple(row.measures) for row in result.rows} == {("agreement", "switches")}
    assert math.isnan(result.true_switches)
    assert "The true class" not in str(result)
    shares = [values(result, name)["agreement"] for name in turned]
    assert sum(shares) == pytest.approx(1.0, rel=1e-12)
    assert measures(result, "turned 0") == measures(result, "Raw")
    best = result.best("agreement", looks_ahead=True)
    assert best is not None
    assert 1 >= values(result, best)["agreement"] > values(result, "Raw")["agreement"] + 0.02


def test_the_labels_only_measure() -> None:
    recs = [clean(0), clean(1)]
    rng = np.random.default_rng(0)
    plain = compare(recs, "strong")
    labels = [rng.permutation(np.asarray(rec.label)) for rec in recs]
    wrong = [changed(rec, label=label) for rec, label in zip(recs, labels, strict=True)]
    mixed = compare(wrong, "strong")
    bare = compare([changed(rec, label=None) for rec in recs], "strong")
    for one, two, three in zip(plain.rows, mixed.rows, bare.rows, strict=True):
        assert one.name == two.name == three.name
        assert one.measures["switches"] == two.measures["switches"] == three.measures["switches"]
        assert two.measures["accuracy"].value < one.measures["accuracy"].value - 0.2
