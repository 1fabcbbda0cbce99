"""Operating points: against a live tracker, a plain loop over rules, and streams left out."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Rows
from classfilter.tuning import OperatingCurve
from classfilter.tuning.operating import count, measured


@lru_cache
def alarms(seed: int, T: int = 1200) -> Rows:
    rng = np.random.default_rng(seed)
    label = np.zeros(T, int)
    for start in rng.choice(T - 60, 5, replace=False):
        label[start : start + rng.integers(15, 50)] = 1
    p = 1 / (1 + np.exp(1.5 - 1.8 * label + rng.normal(0, 1.5, T)))
    probs = np.stack([1 - p, p], axis=1)
    label[:50] = -1
    return cf.rows(time=np.arange(T) * 2.0, probs=probs, classes=["rest", "seizure"], label=label)


def days() -> list[Rows]:
    return [alarms(seed) for seed in range(5)]


@lru_cache
def tuned() -> cf.Pipeline:
    return cf.tune(days(), labels=True, max_false_events_per_day=40, detect_within="20s")


def curve() -> OperatingCurve:
    found = tuned().tuning.operating
    assert isinstance(found, OperatingCurve)
    return found


def live(rec: Rows, pipe: cf.Pipeline) -> tuple[int, int, list[float]]:
    """Return true and false events, and the delay of each that is found, of a live tracker."""
    tracker = cf.Tracker(pipe, events=True)
    reported: dict[float, float] = {}
    events = []
    for time, p in zip(rec.time.tolist(), rec.probs, strict=True):
        tracker.update("a", time, "default", p)
        for event in tracker.pop_starts():
            if event.label == "seizure":
                reported.setdefault(event.start, time)
        events += tracker.pop_events()
    tracker.drop(["a"])
    for event in tracker.pop_starts():
        if event.label == "seizure":
            reported.setdefault(event.start, float(rec.time[-1]))
    events += tracker.pop_events()
    mine = [e for e in events if e.label == "seizure"]
    truth = [e for e in cf.label_events(rec) if e.label == "seizure"]
    late: dict[float, float] = {}
    for event in mine:
        for true in truth:  # in order; the first that it overlaps is the one it finds
            assert true.end is not None
            if event.start < true.end and (event.end or 0) > true.start:
                delay = max(0.0, reported[event.start] - true.start)
                late[true.start] = min(delay, late.get(true.start, delay))
                break
    delays = list(late.values())
    assert rec.label is not None
    first = rec.time[np.flatnonzero(rec.label >= 0)[0]]
    false = sum(
        (e.end or 0) > first
        and not any(e.start < (t.end or 0) and (e.end or 0) > t.start for t in truth)
        for e in mine
    )
    return len(truth), false, delays


def test_the_chosen_point_is_what_a_live_tracker_does() -> None:
    true, false, delays = 0, 0, list[float]()
    for rec in days():
        one = live(rec, tuned())
        true, false, delays = true + one[0], false + one[1], delays + one[2]
    chosen = curve().chosen
    assert chosen.sensitivity == pytest.approx(sum(late <= 20 for late in delays) / true)
    hours = sum(1150 * 2 / 3600 for _ in days())
    assert chosen.false_per_day == pytest.approx(24 * false / hours)
    assert chosen.delay == pytest.approx(np.median(delays))
    assert tuned().rule == chosen.rule
    assert curve().classes == ("seizure",)  # rest has most rows


def test_no_rule_that_keeps_to_the_limit_finds_more() -> None:
    points = curve().points
    assert curve().chosen.false_per_day <= 40
    assert curve().chosen in points
    kept = [point.sensitivity for point in points if point.false_per_day <= 40]
    assert curve().chosen.sensitivity == max(kept)
    assert max(point.sensitivity for point in points) > max(kept)  # more costs more
    rates = [point.false_per_day for point in points]
    shares = [point.sensitivity for point in points]
    assert rates == sorted(rates)
    assert shares == sorted(shares)


def test_what_is_left_out_is_not_chosen_on() -> None:
    """Each stream with the rule that is best on the four others, over all rules in a loop."""
    from classfilter.tuning import operating

    pipe, heads = tuned(), tuned().heads
    rules = [
        cf.EventRule(2 * cost, min_duration=2 * least, bias={"seizure": bias} if bias else 0.0)
        for cost in operating.COSTS
        for least in operating.MIN_DURATIONS
        for bias in operating.BIASES
    ]
    counts = [
        [count(rule, rec, np.asarray(pipe.run(rec)), heads, ["seizure"]) for rec in days()]
        for rule in rules
    ]
    picked = []
    for out in range(5):
        best: Any = None
        for of in counts:
            rest = measured(pipe.rule, [of[i] for i in range(5) if i != out], 20.0)  # type: ignore[arg-type]
            if rest.false_per_day <= 40:
                score = rest.sensitivity, -rest.false_per_day
                best = (
                    max(best, (score, of[out]), key=lambda one: one[0])
                    if best
                    else (score, of[out])
                )
        picked.append(best[1])
    left_out = curve().left_out
    assert left_out is not None
    true = sum(one.true for one in picked)
    found = sum(late <= 20 for one in picked for late in one.delays)
    assert left_out.sensitivity == pytest.approx(found / true)
    assert left_out.false_per_day == pytest.approx(
        sum(one.false for one in picked) / sum(one.days for one in picked)
    )


def test_a_limit_that_nothing_keeps_to() -> None:
    with pytest.warns(UserWarning, match="no rule that was tried finds events with at most 0.001"):
        pipe = cf.tune(
            [alarms(7, 900)], labels=True, max_false_events_per_day=1e-3, detect_within=1
        )
    found = pipe.tuning.operating
    assert found.left_out is None
    assert "one stream cannot tell" in pipe.tuning.explain()


def test_without_a_limit_f1_decides_and_each_label_counts() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(2):
        on = np.repeat(rng.integers(0, 2, (30, 2)), 20, axis=0)
        probs = np.clip(0.25 + 0.5 * on + rng.normal(0, 0.25, on.shape), 0, 1)
        rows.append(
            cf.rows(
                time=np.arange(600) * 2.0,
                probs=probs,
                classes=["robin", "wren"],
                label=on,
                scores="independent",
            )
        )
    pipe = cf.tune(rows, labels=True, detect_within="1min")
    found = pipe.tuning.operating
    assert found.classes == ("robin", "wren")
    assert found.chosen.sensitivity > 0.8
    assert found.chosen.false_per_day < found.points[-1].false_per_day or len(found.points) == 1


def test_it_is_a_table_and_a_figure() -> None:
    text = str(curve())
    assert text.count("chosen") == 1
    assert "on streams left out" in text
    assert "Found: the share of the events of seizure that were reported within 20 s." in text
    assert "<table>" in curve()._repr_html_()
    assert curve().summary() in tuned().tuning.explain()
    (axes,) = cf.plot.operating_curve(curve()).axes
    assert axes.get_ylabel() == "Events found within 20 s (%)"
    np.testing.assert_allclose(
        np.asarray(axes.lines[0].get_xdata(), float), [p.false_per_day for p in curve().points]
    )
    assert len(axes.lines) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_false_events_per_day": 3}, "max_false_events_per_day is 3; labels choose"),
        ({"detect_within": "10s"}, "detect_within is '10s'; labels choose the operating point"),
        ({"max_false_events_per_day": 0, "labels": True}, "max_false_events_per_day is 0; it must"),
    ],
)
def test_errors(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cf.tune(days()[:2], **options)
    assert math.isfinite(curve().within)
