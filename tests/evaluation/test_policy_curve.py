"""Policy curves: each point against a plain count, and the command `policy`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter.evaluation._policy_curve import GAPS, Point, PolicyCurve
from commands import rejected
from conftest import Run

BETA = {"strong": 1.0, "weak": 0.1}


def both(seed: int, hours: float = 2.0) -> cf.Recording:
    return cf.simulate(classes=["rest", "walk", "run"], hours=hours, seed=seed).recording(None)


def tuned_sticky(path: str) -> cf.Chain:
    cf.StickyFilter(["rest", "walk", "run"], half_life=200.0).save(path, BETA)
    return cf.load(path)


def unlabelled(rec: cf.Recording) -> cf.Recording:
    return cf.Recording(rec.time, rec.source, rec.probs, rec.classes)


def test_points_are_counted(tmp_path: object) -> None:
    tuned = tuned_sticky(f"{tmp_path}/f.toml")
    days = [both(1, 4.0), both(2)]
    curve = cf.policy_curve(days, tuned, gaps=[6, 30])
    assert (curve.streams, curve.steps, curve.labelled) == (2, 4320, True)
    policies: dict[str, Callable[[int], cf.policy.Policy]] = {
        "periodic": cf.policy.Periodic,
        "adaptive": lambda gap: cf.policy.Adaptive(1 / gap),
    }
    for name, policy in policies.items():
        points = getattr(curve, name)
        assert [point.gap for point in points] == [30, 6]
        for gap, calls, share, *_ in points:
            correct = strong = 0
            for day in days:
                replayed = cf.replay(day, tuned.filter(), beta=BETA, policy=policy(gap))
                correct += int((replayed.probs.argmax(axis=1) == day.label[::2]).sum())  # type: ignore[index]
                strong += replayed.calls["strong"]
            assert calls == pytest.approx(strong / 6.0)  # six hours
            assert share == pytest.approx(correct / 4320)
    predicted = np.concatenate([day.probs[day.source == "strong"].argmax(axis=1) for day in days])
    truth = np.concatenate([day.label[::2] for day in days])  # type: ignore[index]
    assert curve.strong_accuracy == pytest.approx((predicted == truth).mean())


def runs_of(y: Any) -> list[tuple[int, int, int]]:
    """Return the class, first row and end of each stretch of known labels."""
    ends = [0, *(np.flatnonzero(np.diff(y)) + 1).tolist(), len(y)]
    return [(int(y[a]), a, b) for a, b in itertools.pairwise(ends) if y[a] >= 0]


def test_events_and_delay_are_counted(tmp_path: object) -> None:
    """By plain loops over the rows; a part of the second stream has no labels."""
    tuned = tuned_sticky(f"{tmp_path}/f.toml")
    first, second = both(1, 1.0), both(2, 0.5)
    assert second.label is not None
    some = np.where(np.arange(len(second)) // 2 % 90 < 40, -1, second.label)
    days = [
        first,
        cf.Recording(second.time, second.source, second.probs, second.classes, some),
        unlabelled(both(3, 0.1)),
    ]
    (point,) = cf.policy_curve(days, tuned, gaps=[12]).periodic
    found = events = 0
    delays: list[float] = []
    missed = []
    for day in days[:2]:
        P = cf.replay(day, tuned.filter(), beta=BETA, policy=cf.policy.Periodic(12)).probs
        y = day.label[::2]  # type: ignore[index]
        k = np.where(y >= 0, P.argmax(axis=1), -1)
        true, free = runs_of(y), set(runs_of(y))
        events += len(true) + len(runs_of(k))
        for label, a, b in runs_of(k):
            overlap = {
                r: (min(b, r[2]) - max(a, r[1])) / (max(b, r[2]) - min(a, r[1])) for r in true
            }
            best = max((r for r in true if r[0] == label), key=lambda r: overlap[r], default=None)
            if best in free and overlap[best] >= 0.5:
                free.remove(best)
                found += 1
        for label, a, b in true:
            if a and y[a - 1] >= 0:
                hits = [i for i in range(a, b) if k[i] == label]
                delays.append(5.0 * ((hits[0] if hits else b) - a))
                missed.append(not hits)
    assert point.event_f1 == pytest.approx(2 * found / events)
    assert point.delay == np.median(delays)
    assert point.missed == pytest.approx(np.mean(missed))
    assert 0 < point.missed < 1
    assert 0 < point.event_f1 < 1


def test_events_by_a_rule(tmp_path: object) -> None:
    tuned, day = tuned_sticky(f"{tmp_path}/f.toml"), both(1, 1.0)
    rule = cf.EventRule(change_cost=20.0)
    curve = cf.policy_curve(day, tuned, gaps=[12], rule=rule)
    replayed = cf.replay(day, tuned.filter(), beta=BETA, policy=cf.policy.Periodic(12))
    rows = cf.Recording(day.time[::2], "x", replayed.probs, day.classes)
    events = cf.Chain(cf.RawFilter(day.classes), rule=rule).events(rows)
    scores = cf.metrics.event_scores(cf.label_events(day), events, iou=0.5)
    assert curve.periodic[0].event_f1 == pytest.approx(scores.f1)
    assert curve == cf.policy_curve(day, tuned.with_rule(rule), gaps=[12])
    assert "by EventRule(20.0)" in str(curve)
    assert "by the most probable class" in str(cf.policy_curve(day, tuned, gaps=[12]))


def test_without_labels_the_strong_one_is_the_truth(tmp_path: object) -> None:
    tuned = tuned_sticky(f"{tmp_path}/f.toml")
    day = both(1)
    probs = np.where(np.arange(len(day))[:, None] < 200, np.nan, day.probs)
    rec = cf.Recording(day.time, day.source, probs, day.classes)
    curve = cf.policy_curve(rec, tuned, gaps=[12])
    assert (curve.labelled, curve.strong_accuracy) == (False, 1.0)
    replayed = cf.replay(rec, tuned.filter(), beta=BETA, policy=cf.policy.Periodic(12))
    predicted = day.probs[day.source == "strong"].argmax(axis=1)
    agreed = (replayed.probs.argmax(axis=1) == predicted)[100:].mean()
    assert curve.periodic[0].accuracy == pytest.approx(agreed)
    assert "agreement" in str(curve)
    assert "accuracy" not in str(curve)
    assert "F1@50" not in str(curve)
    assert np.isnan(curve.periodic[0].event_f1)


def test_pauses_do_not_count_as_hours(tmp_path: object) -> None:
    tuned = tuned_sticky(f"{tmp_path}/f.toml")
    day = both(3, 1.0)
    late = np.where(np.arange(len(day)) < 720, day.time, day.time + 86400)
    paused = cf.Recording(late, day.source, day.probs, day.classes, day.label)
    points = [cf.policy_curve(rec, tuned, gaps=[12]).periodic[0] for rec in (day, paused)]
    assert points[0].calls == pytest.approx(60.0)
    assert points[1].calls == pytest.approx(60 / (1 + 45 / 3600))  # the pause counts as ten steps


@pytest.mark.slow
def test_tuned_on_the_other_fold() -> None:
    days = [both(i) for i in range(4)]
    shares: list[float] = []
    curve = cf.policy_curve(days, gaps=[12, 24], progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    # The same by hand: the longest first, alternately.
    correct = 0
    for fold, rest in ((days[::2], days[1::2]), (days[1::2], days[::2])):
        mixed = [
            cf.replay(rec, cf.RawFilter(3), policy=cf.policy.Periodic(12)).recording for rec in rest
        ]
        tuned = cf.tune(mixed, reference="strong")
        for rec in fold:
            replayed = cf.replay(
                rec,
                tuned.filter(),
                beta=tuned.beta,
                channel=tuned.channel,
                policy=cf.policy.Adaptive(1 / 24),
            )
            correct += int((replayed.probs.argmax(axis=1) == rec.label[::2]).sum())  # type: ignore[index]
    assert curve.adaptive[0].accuracy == pytest.approx(correct / curve.steps)


def test_one_stream_is_cut_between_two_steps() -> None:
    curve = cf.policy_curve(both(5), gaps=[12])
    assert (curve.streams, curve.steps) == (1, 1440)
    assert 0.5 < curve.periodic[0].accuracy < curve.adaptive[0].accuracy


def test_calls_saved() -> None:
    points = [Point(24, 10.0, 0.6), Point(12, 40.0, 0.8)]
    curve = PolicyCurve([], points, 0.9, True, 1, 1)
    assert curve.saved(Point(12, 40.0, 0.7)) == pytest.approx(0.5)  # 20 calls, halfway in log
    assert curve.saved(Point(12, 40.0, 0.8)) == pytest.approx(0.0)
    assert curve.saved(Point(12, 40.0, 0.5)) == pytest.approx(0.75)
    assert curve.saved(Point(12, 40.0, 0.81)) is None
    texts = [curve.saving(Point(12, 40.0, accuracy)) for accuracy in (0.7, 0.5, 0.81)]
    assert texts == ["50%", "> 75%", ""]
    assert curve.saving(Point(24, 9.0, 0.5)) == ""
    assert curve.saving(Point(12, 35.0, 0.8)) == "-14%"


def test_ahead_at_equal_calls() -> None:
    points = [Point(24, 10.0, 0.6), Point(12, 40.0, 0.8)]
    curve = PolicyCurve(points, [], 0.9, True, 1, 1)
    assert curve.ahead(Point(18, 20.0, 0.75)) == pytest.approx(0.05)
    assert curve.ahead(Point(12, 40.0, 0.7)) == pytest.approx(-0.1)
    assert curve.ahead(Point(48, 5.0, 0.6)) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("gaps", "strong", "message"),
    [
        ([12, 1], "strong", "gaps has 1; it counts steps and must be 2 or more"),
        ([2.5], "strong", "gaps has 2.5; "),
        ([12], "big", "reference is 'big'; the sources with predictions are strong, weak"),
    ],
)
def test_bad_arguments(gaps: list[int], strong: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cf.policy_curve(both(1, 0.5), gaps=gaps, reference=strong)


def test_bad_recordings() -> None:
    day = both(1, 0.2)
    three = cf.Recording(day.time, np.where(day.time == 5, "c", day.source), day.probs, 3)
    with pytest.raises(
        ValueError, match=r"the sources \['c', 'strong', 'weak'\]; give 'strong' and"
    ):
        cf.policy_curve(three)
    with pytest.raises(ValueError, match="recordings is too short to tune on one half"):
        cf.policy_curve(day.part(slice(0, 8)))


# --- the command ------------------------------------------------------------------------------


def write(path: str, *recs: cf.Recording) -> None:
    parts = [rec.to_table().with_columns(stream=pl.lit(f"s{i}")) for i, rec in enumerate(recs)]
    cf.write_table(pl.concat(parts), path)


def test_command(run: Run) -> None:
    days = [both(1), both(2)]
    write("both.csv", *days)
    expected = cf.policy_curve(days, gaps=[6, 12])
    gaps = ["--gap", "12", "--gap", "6"]
    assert run("policy", "both.csv", *gaps, "-o", "curve.csv", "--quiet") == (
        0,
        f"{expected}\n",
        "",
    )
    table = cf.read_table("curve.csv")
    assert table["policy"].to_list() == ["periodic"] * 2 + ["adaptive"] * 2
    assert table["accuracy"].to_list() == [
        p.accuracy for p in (*expected.periodic, *expected.adaptive)
    ]


def test_command_with_a_config(run: Run) -> None:
    tuned = tuned_sticky("f.toml")
    days = [unlabelled(both(1, 1.0)), unlabelled(both(2, 1.0))]
    named = [cf.Recording(r.time, np.char.add(r.source, "er"), r.probs, r.classes) for r in days]
    write("both.parquet", *named)
    cf.StickyFilter(["rest", "walk", "run"], half_life=200.0).save(
        "er.toml", {f"{name}er": weight for name, weight in BETA.items()}
    )
    arguments = ["--config", "er.toml", "--strong", "stronger", "-o", "curve.svg"]
    code, out, err = run("policy", "both.parquet", *arguments)
    assert (code, err) == (0, "")
    assert out == f"{cf.policy_curve(days, tuned)}\n"
    assert len(out.splitlines()) == 1 + len(GAPS) + 5
    assert "<svg" in Path("curve.svg").read_text()


def test_command_rejects(run: Run) -> None:
    write("both.csv", both(1, 0.1))
    cf.write_table(cf.simulate(hours=1.0).recording().to_table(), "mixed.csv")
    assert "mixed.csv: the recording has no row of 'strong' at time 5.0; a replay" in rejected(
        run, "policy", "mixed.csv"
    )
    assert "no-such" in rejected(run, "policy", "both.csv", "-o", "no-such/a.png")
    for option in ("--reference", "--strong"):
        assert "--reference is 'other'" in rejected(run, "policy", "both.csv", option, "other")


def test_figure() -> None:
    points = [Point(24, 10.0, 0.6), Point(12, 40.0, 0.8)]
    figure = cf.plot.policy_curve(PolicyCurve(points[:1] * 2, points, 0.9, True, 1, 1))
    (axes,) = figure.axes
    drawn = {str(line.get_label()): np.asarray(line.get_xydata()).tolist() for line in axes.lines}
    assert drawn["Adaptive"] == [[10.0, 60.0], [40.0, 80.0]]
    assert drawn["Periodic"] == [[10.0, 60.0]] * 2
    assert axes.lines[2].get_ydata()[0] == 90.0  # type: ignore[index]
    known = [p._replace(event_f1=p.accuracy / 2, delay=9.0) for p in points]
    figure = cf.plot.policy_curve(PolicyCurve(known, known, 0.9, True, 1, 1))
    assert [np.asarray(a.lines[1].get_ydata()).tolist() for a in figure.axes] == [
        [60.0, 80.0],
        [30.0, 40.0],
        [9.0, 9.0],
    ]
