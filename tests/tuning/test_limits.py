"""Limits: at most so many switches per hour, a delay of at most so long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.tuning import prepare, tune
from conftest import rejected
from tuning_days import changed, day, days, messy, tuned_short


def changes_per_hour(pipe: Any, recs: list[cf.Rows]) -> float:
    """Count in a loop of updates; these recordings are regular."""
    changes, hours = 0, 0.0
    for rec in recs:
        filter_, last = pipe.filter, -1
        for source, p, dt in zip(rec.source_names.tolist(), rec.probs, rec.dt, strict=True):
            channel = pipe.channel[source]
            p = p if channel is None else channel.apply(p)
            k = int(np.argmax(filter_.update(p, pipe.beta[source], dt)))
            changes += last not in (-1, k)
            last = k
        hours += (rec.time[-1] - rec.time[0]) / 3600
    return changes / hours


def test_fewer_changes() -> None:
    """The limit is kept, and what scores higher than the choice exceeds it."""
    recs = days(range(3), 2.0)
    free = tune(recs, "sticky", "strong")
    rate = changes_per_hour(free, recs)
    limit = 0.5 * rate
    tuned = tune(recs, "sticky", "strong", max_switches_per_hour=limit)
    assert tuned.tuning.effect is not None
    assert changes_per_hour(tuned, recs) <= limit
    assert tuned.tuning.effect.changes_per_hour == pytest.approx(changes_per_hour(tuned, recs))
    lines = tuned.tuning.explain().splitlines()
    assert f"It keeps to the limit, at most {limit:.3g} switches per hour." in lines
    assert tuned.tuning.rivals[0].name == f"no limit, {rate:.3g} switches per hour"
    assert any(line.startswith(f"With {tuned.tuning.rivals[0].name}: ") for line in lines)
    prepared = prepare(recs, "strong")
    assert prepared is not None
    model = prepared.objective.runner.model
    tried = [t.candidate for t in tuned.tuning.table if t.candidate.family == "transitions"]
    better = tried[: tried.index(tuned.tuning.candidate)]
    assert free.tuning.candidate in better
    for candidate in better:
        pipe = cf.Pipeline(
            candidate.filter(model, recs[0].classes),
            beta=dict(candidate.beta),
            channel={"strong": None, "weak": None, **candidate.channels(model)},
        )
        assert changes_per_hour(pipe, recs) > limit


@pytest.mark.parametrize("kind", ["auto", pytest.param("dirichlet", marks=pytest.mark.slow)])
def test_less_delay(kind: Any) -> None:
    recs = days([0, 1], 2.0)
    free, tuned = tuned_short(kind), tune(recs, kind, "strong", max_delay=timedelta(seconds=10))
    assert free.tuning.effect is not None
    assert tuned.tuning.effect is not None
    assert tuned.tuning.effect.delay <= 10 < free.tuning.effect.delay
    assert "It keeps to the limit, a delay of at most 10 s." in tuned.tuning.explain()
    assert tuned.tuning.rivals[0].name == f"no limit, a delay of {free.tuning.effect.delay:.3g} s"
    assert isinstance(tuned.filter, cf.DirichletFilter) == (kind == "dirichlet")


def test_a_limit_that_is_kept_anyway_changes_nothing() -> None:
    free = tuned_short("sticky")
    tuned = tune(days([0, 1], 2.0), "sticky", "strong", max_switches_per_hour=500, max_delay="5m")
    assert tuned.settings == free.settings
    assert tuned.tuning.table == free.tuning.table
    limit = "at most 500 switches per hour and a delay of at most 300 s"
    assert f"It keeps to the limit, {limit}, at no cost." in tuned.tuning.explain()


def test_no_filter_keeps_to_the_limits() -> None:
    """The closest one is chosen; a fast filter follows at once, and changes often."""
    recs = days(range(3), 2.0)
    at_once = tune(recs, "sticky", "strong", max_delay=0).tuning.effect
    assert at_once is not None
    assert at_once.delay == 0
    with pytest.warns(UserWarning, match="nothing that was tried has at most") as caught:
        tuned = tune(recs, "sticky", "strong", max_switches_per_hour=1, max_delay=0)
    assert isinstance(tuned.filter, cf.StickyFilter)
    effect, (message,) = tuned.tuning.effect, (str(warning.message) for warning in caught)
    assert effect is not None
    limit = "at most 1 switches per hour and a delay of at most 0 s"
    has = f"{effect.changes_per_hour:.3g} switches per hour and a delay of {effect.delay:.3g} s"
    assert message == (
        f"nothing that was tried has {limit}; the closest, chosen, has {has}. "
        "Allow more switches or a longer delay."
    )
    assert f"The limit, {limit}, is exceeded: it has {has}." in tuned.tuning.explain()


def test_one_source() -> None:
    def alone(seed: int) -> cf.Rows:
        simulated = day(seed, 2.0)
        return cf.rows(
            time=simulated.time,
            source="weak",
            probs=simulated.probs["weak"],
            classes=simulated.classes,
        )

    recs = [alone(seed) for seed in range(2)]
    free, tuned = tune(recs), tune(recs, max_switches_per_hour=5)
    assert changes_per_hour(tuned, recs) <= 5 < changes_per_hour(free, recs)


def test_rows_that_the_search_leaves_out_count_too() -> None:
    """Missing rows, equal times and irregular steps: the limit is kept where rows are counted."""
    recs = [messy(seed, 2.0) for seed in range(2)]
    tuned = tune(recs, "sticky", "strong", max_switches_per_hour=6)
    assert tuned.tuning.effect is not None
    assert 3600 * tuned.tuning.effect.changes_after / tuned.tuning.effect.time <= 6


@pytest.mark.parametrize(
    ("limit", "value"),
    [("max_switches_per_hour", x) for x in (-1, "12", True, np.inf)]
    + [("max_delay", x) for x in ("soon", -5)],
)
def test_limits_that_are_none(limit: str, value: Any) -> None:
    with rejected(limit, value=value):
        tune(days([0, 1], 2.0), "sticky", "strong", **{limit: value})


@pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
def test_hours_need_times_in_seconds() -> None:
    recs = [changed(rec, time=1.7e12 + 1000 * rec.time) for rec in days([0, 1], 2.0)]
    limits: dict[str, Any] = {"max_switches_per_hour": 12, "max_delay": "30s"}
    for name, limit in limits.items():
        options: Any = {name: limit}
        with rejected(name):
            tune(recs, "sticky", "strong", **options)
    tuned = tune(recs, "sticky", "strong", max_delay=10_000)  # in the unit of the times
    assert tuned.tuning.effect is not None
    assert tuned.tuning.effect.delay <= 10_000
    assert "It keeps to the limit, a delay of at most 1e+04" in tuned.tuning.explain()
