"""Rules for events from durations: as many events as these lead to expect, and what is said."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.inputs import Heads
from classfilter.pipeline import Pipeline
from classfilter.tuning.event_cost import DecidedRows, EventCounts
from classfilter.tuning.event_duration import EventDurations, match_costs
from classfilter.tuning.event_rule import with_event_rule
from classfilter.tuning.tuner import _tune_classes
from conftest import rejected
from label_days import label_day
from tuning_days import changed, days

HOURS = 2.0
RECS = {f"day {i}": rec for i, rec in enumerate(days(range(3), HOURS))}


CLASSES = next(iter(RECS.values())).classes


@lru_cache
def without_rule() -> Pipeline:
    return _tune_classes(list(RECS.values()), "sticky", "strong", None, None, False, None, None)


def with_rule(duration: Any) -> Pipeline:
    durations = EventDurations.of(duration, CLASSES)
    return with_event_rule(without_rule(), list(RECS.values()), durations)


tuned_for = lru_cache(with_rule)


def offline_events(tuned: Pipeline, recs: Any = RECS) -> cf.Events:
    events: cf.Events = cf.events(recs, tuned, tuned.smoothing.rule, smooth=True)
    return events


def numbers(line: str) -> list[float]:
    return [float(word.strip(",;.:")) for word in line.split() if word[0].isdigit()]


def test_as_many_events_as_the_duration_leads_to_expect() -> None:
    expected = 3 * HOURS * 3600 / 3600
    tuned = tuned_for("60min")
    live, offline = cf.events(RECS, tuned), offline_events(tuned)
    assert len(offline) <= expected
    assert len(live) >= len(offline)
    # A cost that is smaller by a percent has too many, or the argmax has few enough.
    rule = tuned.smoothing.rule
    assert rule is not None
    assert rule.change_cost > 0
    less = cf.events(RECS, tuned, cf.EventRule(0.985 * rule.change_cost), smooth=True)
    assert len(less) > expected
    assert tuned.rule is not None
    more = cf.events(RECS, tuned, cf.EventRule(1.02 * tuned.rule.change_cost))
    assert len(more) <= len(live)


@pytest.mark.parametrize("same", [900, "900", timedelta(minutes=15), np.timedelta64(15, "m")])
def test_one_duration_in_many_ways(same: Any) -> None:
    assert with_rule(same).settings == tuned_for("15min").settings


def test_tune_takes_a_duration() -> None:
    tuned = cf.tune(RECS, "sticky", "strong", event_duration="15min")
    assert tuned.tuning.explain() == tuned_for("15min").tuning.explain()
    assert str(tuned) == str(tuned_for("15min"))
    assert tuned.settings == tuned_for("15min").settings
    assert tuned.smoothing.settings == tuned_for("15min").smoothing.settings
    assert (without_rule().rule, without_rule().tuning.event_effect) == (None, None)


def test_what_is_said_is_what_is_counted() -> None:
    tuned, hours = tuned_for("15min"), 3 * HOURS
    effect = tuned.tuning.event_effect
    assert effect is not None
    counts = {
        "live": len(cf.events(RECS, tuned)),
        "offline": len(offline_events(tuned)),
        "argmax_live": len(cf.events(RECS, tuned, cf.EventRule(0.0))),
        "argmax_offline": len(cf.events(RECS, tuned, cf.EventRule(0.0), smooth=True)),
        "half": len(cf.events(RECS, tuned_for("7.5min"))),
        "double": len(cf.events(RECS, tuned_for("30min"))),
    }
    assert {name: getattr(effect, name) for name in counts} == counts
    assert effect.time == pytest.approx(3600 * hours)
    lines = tuned.tuning.explain().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("For events of about 15 min"))
    per_hour = {name: float(f"{count / hours:.2g}") for name, count in counts.items()}
    rates = numbers(lines[start].partition(":")[2])
    assert rates[0::2] == [per_hour["live"], per_hour["offline"]]
    assert rates[1::2] == [tuned.rule.change_cost, tuned.smoothing.rule.change_cost]  # type: ignore[union-attr]
    assert numbers(lines[start + 1]) == [per_hour["argmax_live"], per_hour["argmax_offline"]]
    assert numbers(lines[start + 4]) == [per_hour["half"], per_hour["double"]]
    late = f"{effect.delay / 60:.3g} min ({effect.delay_rows:.0f} rows)"
    assert lines[start + 2] == f"Live, the end of an event is confirmed after about {late}."
    begin = f"Live, its start is final after about {effect.start_delay:.0f} s. The leave_cost"
    assert lines[start + 3].startswith(begin)


def test_the_delay_is_that_of_a_tracker() -> None:
    tuned, late, starts = tuned_for("15min"), [], []
    for stream, rec in RECS.items():
        tracker = cf.Tracker(tuned, events=True)
        for time, source, p in zip(
            rec.time.tolist(), rec.source_names.tolist(), rec.probs, strict=True
        ):
            tracker.update(stream, time, source, p)
            late += [time - event.end for event in tracker.pop_events()]
            starts += [time - event.start for event in tracker.pop_starts()]
    assert tuned.tuning.event_effect is not None
    assert tuned.tuning.event_effect.delay == np.median(late)
    assert tuned.tuning.event_effect.delay_rows == np.median(late) / 5
    assert tuned.tuning.event_effect.start_delay == np.median(starts) > 0


def test_durations_of_classes() -> None:
    """All events are as many as expected; a class that lasts longer costs more to enter."""
    classes = CLASSES
    lasts = {name: 300.0 * (1 + k) for k, name in enumerate(classes)}
    tuned = with_rule(lasts)
    offline, rule = offline_events(tuned), tuned.smoothing.rule
    time = sum(5 * tuned.smooth(rec).sum(axis=0) for rec in RECS.values())
    expected = sum(t / d for t, d in zip(time, lasts.values(), strict=True))
    assert len(offline) <= expected
    assert rule is not None
    cost = rule.change_cost
    assert [cost[name] / lasts[name] for name in classes] == pytest.approx(
        [cost[classes[0]] / 300] * len(classes), rel=0.02
    )
    less = {name: 0.97 * x for name, x in cost.items()}
    assert len(cf.events(RECS, tuned, cf.EventRule(less), smooth=True)) >= len(offline)
    assert f"10 min ({classes[1]})" in tuned.tuning.explain()
    assert "on average for a change" in tuned.tuning.explain()


def in_turn(cycles: int, lasts: tuple[int, int], seed: int = 0) -> cf.Rows:
    """Two classes in turn, one row a second, and a classifier that is wrong in a tenth of them."""
    truth = np.tile(np.repeat([0, 1], lasts), cycles)
    wrong = np.random.default_rng(seed).random(len(truth)) < 0.1
    probs = np.full((len(truth), 2), 0.2)
    probs[np.arange(len(truth)), np.where(wrong, 1 - truth, truth)] = 0.8
    return cf.rows(
        time=np.arange(len(truth)), probs=probs, classes=["rest", "seizure"], label=truth
    )


def test_durations_of_classes_that_cannot_be() -> None:
    """Seizures of 45 s and rest of 10 min in turn are 11.2 events an hour; half of it, 43."""
    recs = [in_turn(20, (300, 300), seed) for seed in range(2)]
    durations = {"rest": "10min", "seizure": "45s"}
    with pytest.warns(
        UserWarning, match=r"there would be 43.* events an hour.* can be 11.* at most"
    ):
        tuned = cf.tune(recs, event_duration=durations)
    hours = 2 * 20 * 600 / 3600
    assert len(offline_events(tuned, recs)) <= 11.17 * hours + 2
    right = [in_turn(20, (600, 45), seed) for seed in range(2)]
    assert len(cf.events(right, cf.tune(right, event_duration=durations))) == 80


def test_live_events_of_one_source_are_as_many_as_are_expected() -> None:
    """What smooths one source may leave fewer: then live events were as few."""
    rng = np.random.default_rng(0)
    many, few = (
        EventCounts([DecidedRows(np.arange(400.0), P)], Heads.exclusive(["a", "b"]))
        for P in (np.repeat(rng.dirichlet([1, 1], 40), 10, axis=0), np.tile([0.7, 0.3], (400, 1)))
    )
    assert few.total(0.0) == 1
    expected = 0.5 * many.total(0.0)
    assert many.total(match_costs(many, few, expected).live) <= 2
    one = match_costs(many, few, expected, one_source=True)
    assert expected <= many.total(one.live) <= expected + 2
    more = 2 * many.total(0.0)  # than there are at any cost
    assert match_costs(many, few, more, one_source=True) == match_costs(many, few, more)


def test_gaps_end_events_and_are_no_time() -> None:
    hour = 3600.0
    apart = {
        name: changed(rec, time=np.where(rec.time > hour, rec.time + 20 * hour, rec.time))
        for name, rec in RECS.items()
    }
    durations = EventDurations.of("15min", CLASSES)
    tuned = with_event_rule(without_rule(), list(apart.values()), durations)
    assert tuned.rule is not None
    assert tuned.rule.max_gap == 900
    effect = tuned.tuning.event_effect
    assert effect is not None
    # The row before a gap stands for as long as an event may.
    assert effect.time == pytest.approx(3 * (HOURS * hour + 900 - 5))
    assert len(offline_events(tuned, apart)) <= effect.time / 900
    assert "Where no row comes for 15 min, events end." in tuned.tuning.explain()
    assert tuned_for("15min").rule.max_gap is None  # type: ignore[union-attr]


def test_recordings_that_were_thinned_have_the_events_they_will_have() -> None:
    dense = [cf.simulate(hours=1.0, seed=i).rows(every=None) for i in range(3)]
    tuned = cf.tune(dense, "sticky", "strong", every=6, event_duration="5min")
    assert tuned.tuning.event_effect is not None
    assert tuned.tuning.event_effect.rows == 3 * 720
    assert tuned.tuning.event_effect.offline <= 36


def test_durations_longer_than_the_recordings() -> None:
    with pytest.warns(UserWarning, match=r"3 streams, or parts between gaps, of 2.0 h on average"):
        tuned = with_rule("3h")
    assert len(offline_events(tuned)) == 3


def test_a_duration_so_short_that_the_most_probable_class_is_best() -> None:
    tuned = tuned_for("30s")
    assert tuned.rule is not None
    assert (tuned.smoothing.rule, tuned.rule.min_duration) == (cf.EventRule(0.0), 0.0)


def test_several_labels_at_once() -> None:
    recs = [label_day(seed, 240, [(6, 9), (20, 30)]) for seed in range(3)]
    base = cf.tune(recs, "sticky", "strong")
    tuned = with_event_rule(base, recs, EventDurations.of("60s", recs[0].classes))
    time = np.sum([rec.dt @ tuned.smooth(rec) for rec in recs], axis=0)
    events = cf.events(recs, tuned, tuned.smoothing.rule, smooth=True)
    assert len(events) <= (time.sum() + 10) / 60
    each = dict(zip(recs[0].classes, ("40s", "2min"), strict=True))
    by_label = with_event_rule(base, recs, EventDurations.of(each, recs[0].classes))
    assert by_label.rule is not None
    cost = by_label.rule.change_cost
    assert set(cost) == set(recs[0].classes)
    assert len(cf.events(recs, by_label)) == by_label.tuning.event_effect.live


def test_too_little_data_still_has_a_rule() -> None:
    short = {name: rec.take(slice(0, 120)) for name, rec in RECS.items()}
    with pytest.warns(UserWarning, match="tuning needs"):
        tuned = cf.tune(short, reference="strong", event_duration="2min")
    assert tuned.tuning.criterion == "nothing"
    assert tuned.tuning.event_effect is not None
    assert len(cf.events(short, tuned)) == tuned.tuning.event_effect.live
    assert tuned.tuning.explain().splitlines()[1].startswith("For events of about 2 min: ")


def test_text_needs_times_in_seconds() -> None:
    days = [changed(rec, time=rec.time / 86400 / 365) for rec in RECS.values()]
    base = without_rule()
    with rejected("event_duration"):
        with_event_rule(base, days, EventDurations.of("15min", CLASSES))
    tuned = with_event_rule(base, days, EventDurations.of(900 / 86400 / 365, CLASSES))
    assert tuned.tuning.event_effect is not None
    assert not tuned.tuning.event_effect.in_seconds
    assert "events in 1000 rows live, at a cost of" in tuned.tuning.explain()
