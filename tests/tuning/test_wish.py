"""Wishes: at most so many changes an hour, a delay of at most so long."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.tuning import Candidate
from classfilter.tuning._tune import prepare, tune
from classfilter.tuning._wish import SLOWEST, Wish, _first, scaled, slower
from tuning_days import changed, day, days, messy, tuned_short


def changes_per_hour(chain: Any, recs: list[cf.Recording]) -> float:
    """Count in a loop of updates; these recordings are regular."""
    changes, hours = 0, 0.0
    for rec in recs:
        filter_, last = chain.filter(), -1
        for source, p, dt in zip(rec.source.tolist(), rec.probs, rec.dt, strict=True):
            channel = chain.channel[source]
            p = p if channel is None else channel.apply(p)
            k = int(np.argmax(filter_.update(p, chain.beta[source], dt)))
            changes += last not in (-1, k)
            last = k
        hours += (rec.time[-1] - rec.time[0]) / 3600
    return changes / hours


def test_fewer_changes() -> None:
    """The wish is met, and of what was tried and meets it, nothing is clearly better."""
    recs = days(range(3), 2.0)
    free = tune(recs, "sticky", "strong")
    rate = changes_per_hour(free, recs)
    wish = 0.6 * rate
    tuned = tune(recs, "sticky", "strong", max_changes_per_hour=wish)
    assert tuned.effect is not None
    assert free.effect is not None
    assert 0.7 * wish < changes_per_hour(tuned, recs) <= wish
    assert tuned.effect.changes_per_hour == pytest.approx(changes_per_hour(tuned, recs))
    assert tuned.effect.delay > free.effect.delay
    lines = tuned.explanation.splitlines()
    assert f"It meets the wish, at most {wish:.3g} changes an hour." in lines
    rival = tuned.rivals[0]
    assert rival.name == f"no wish, {rate:.3g} changes an hour"
    assert rival.gain < 0
    assert any(line.startswith(f"With {rival.name}: ") for line in lines)
    prepared = prepare(recs, "strong")
    assert prepared is not None
    objective = prepared.objective
    for trial in tuned.table:
        candidate = trial.candidate
        if candidate.family == "transitions":
            gain, error = objective.gains(candidate, tuned.candidate)[0]  # type: ignore[arg-type]
            model = objective.runner.model
            if gain > 2 * error:
                chain = cf.Chain(
                    candidate.filter(model, recs[0].classes),
                    beta=dict(candidate.beta),
                    channel={"strong": None, "weak": None, **candidate.channels(model)},
                )
                assert changes_per_hour(chain, recs) > wish


@pytest.mark.parametrize("kind", ["auto", pytest.param("dirichlet", marks=pytest.mark.slow)])
def test_less_delay(kind: Any) -> None:
    recs = days([0, 1], 2.0)
    free, tuned = tuned_short(kind), tune(recs, kind, "strong", max_delay=timedelta(seconds=10))
    assert free.effect is not None
    assert tuned.effect is not None
    assert tuned.effect.delay <= 10 < free.effect.delay
    assert tuned.effect.changes_after > free.effect.changes_after
    assert "It meets the wish, a delay of at most 10 s." in tuned.explanation
    assert tuned.rivals[0].name == f"no wish, a delay of {free.effect.delay:.3g} s"
    if kind == "dirichlet":
        assert isinstance(tuned.filter(), cf.DirichletFilter)


def test_a_wish_keeps_to_the_family_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raw has no delay at all, but is no sticky filter, even where it is clearly better."""
    monkeypatch.setattr("classfilter.tuning._wish.is_clear", lambda _: True)
    tuned = tune(days([0, 1], 2.0), "sticky", "strong", max_delay="0s")
    assert isinstance(tuned.filter(), cf.StickyFilter)
    assert tuned.effect is not None
    assert tuned.effect.delay == 0


def test_a_wish_that_is_met_anyway_changes_nothing() -> None:
    free = tuned_short("sticky")
    tuned = tune(days([0, 1], 2.0), "sticky", "strong", max_changes_per_hour=500, max_delay="5m")
    assert tuned.settings == free.settings
    assert tuned.table == free.table
    wish = "at most 500 changes an hour and a delay of at most 300 s"
    assert f"It meets the wish, {wish}, at no cost." in tuned.explanation


def test_one_source() -> None:
    def alone(seed: int) -> cf.Recording:
        simulated = day(seed, 2.0)
        return cf.Recording(simulated.time, "weak", simulated.probs["weak"], simulated.classes)

    recs = [alone(seed) for seed in range(2)]
    free, tuned = tune(recs), tune(recs, max_changes_per_hour=5)
    assert changes_per_hour(tuned, recs) <= 5 < changes_per_hour(free, recs)


def test_rows_that_the_search_leaves_out_count_too() -> None:
    """Missing rows, equal times and irregular steps: the wish is met where it is counted."""
    recs = [messy(seed, 2.0) for seed in range(2)]
    tuned = tune(recs, "sticky", "strong", max_changes_per_hour=6)
    assert tuned.effect is not None
    assert 3600 * tuned.effect.changes_after / tuned.effect.time <= 6


@pytest.mark.slow
def test_wishes_that_contradict_each_other() -> None:
    recs = days([0, 1], 2.0)
    with pytest.warns(UserWarning, match="The wishes contradict each other") as caught:
        tuned = tune(recs, "sticky", "strong", max_changes_per_hour=1, max_delay=5)
    (message,) = (str(warning.message) for warning in caught)
    effect = tuned.effect
    assert effect is not None
    has = f"{effect.changes_per_hour:.3g} changes an hour and a delay of {effect.delay:.3g} s"
    assert message.startswith(
        "nothing that was tried has at most 1 changes an hour and a delay of at most 5 s; the "
        f"closest, chosen, has {has}. "
    )
    figures = re.search(
        r"at least (\S+) changes an hour, and with so few changes the delay is at least (\S+) s",
        message,
    )
    assert figures is not None
    assert float(figures[1]) > 1
    assert float(figures[2]) > 5
    assert message.endswith("Allow more changes or a longer delay.")
    wish = "at most 1 changes an hour and a delay of at most 5 s"
    assert f"The wish, {wish}, is not met: it has {has}." in tuned.explanation


def test_too_little_data_for_a_wish() -> None:
    with pytest.warns(UserWarning, match="unfiltered, and the wish was not looked at"):
        tune(days([0], 0.1), reference="strong", max_delay=5)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"max_changes_per_hour": -1}, "max_changes_per_hour is -1; it must be a number, 0 or mo"),
        ({"max_changes_per_hour": "12"}, "max_changes_per_hour is '12'; it must be a number"),
        ({"max_changes_per_hour": True}, "max_changes_per_hour is True; it must be a number"),
        ({"max_changes_per_hour": np.inf}, "max_changes_per_hour is inf; it must be a number"),
        ({"max_delay": "soon"}, "max_delay is 'soon'; it must be a duration: give a num"),
        ({"max_delay": -5}, "max_delay is -5; it must be 0 or more, and finite"),
    ],
)
def test_wishes_that_are_none(wish: Any, message: str) -> None:
    with pytest.raises(cf.ArgumentError, match=message) as raised:
        tune(days([0, 1], 2.0), "sticky", "strong", **wish)
    assert raised.value.argument in wish


@pytest.mark.filterwarnings("ignore::classfilter._time_scale.TimeWarning")
def test_hours_need_times_in_seconds() -> None:
    recs = [changed(rec, time=1.7e12 + 1000 * rec.time) for rec in days([0, 1], 2.0)]
    match = "but times 5e.03 apart do not look like seconds; give times as dates or in seconds"
    for wish in ({"max_changes_per_hour": 12}, {"max_delay": "30s"}):
        with pytest.raises(cf.ArgumentError, match=match):
            tune(recs, "sticky", "strong", **wish)
    tuned = tune(recs, "sticky", "strong", max_delay=10_000)  # in the unit of the times
    assert tuned.effect is not None
    assert tuned.effect.delay <= 10_000
    assert "It meets the wish, a delay of at most 1e+04" in tuned.explanation


def test_slower_transitions_are_those_of_a_shorter_time() -> None:
    prepared = prepare(days([0, 1], 2.0), "strong")
    assert prepared is not None
    model = prepared.objective.runner.model
    plain = Candidate("transitions", (("strong", 1.0), ("weak", 0.5)))
    slow = slower(plain, 2)
    assert slow is not None
    a, b = (c.filter(model, prepared.rows.classes) for c in (plain, slow))
    np.testing.assert_allclose(b._transitions(20.0), a._transitions(5.0), rtol=1e-9)  # type: ignore[attr-defined]
    assert dict(scaled(plain, 1.5).beta) == {"strong": 1.0, "weak": 0.75}
    assert slower(Candidate("ema", (), 8.0), -2) == Candidate("ema", (), 2.0)
    assert slower(Candidate("hold", ()), 1) is None


@given(st.integers(0, SLOWEST + 3))
def test_the_least_slow_one_that_meets_a_wish(least: int) -> None:
    base = Candidate("ema", (), 1.0)
    found = _first(base, SLOWEST, lambda c: c.half_life >= 2.0**least)  # type: ignore[operator]
    assert found.half_life == 2.0 ** min(least, SLOWEST)


TENTHS = st.integers(0, 1000).map(lambda n: n / 10)  # far from where the tolerance of a delay ends


@example(0.0, 10.5, 100.0, 10.0)
@example(10.5, 0.0, 10.0, 100.0)
@given(*[TENTHS | st.just(float("inf"))] * 2, TENTHS, TENTHS)
def test_the_excess_is_one_where_a_wish_is_met(
    changes: float, delay: float, most: float, longest: float
) -> None:
    wish = Wish.of(most, longest)
    assert (wish.excess(changes, delay) <= 1) == (changes <= most and delay <= longest * (1 + 1e-9))
    assert Wish.of(None, longest).excess(changes, 0.0) == 1
