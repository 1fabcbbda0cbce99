"""`compare` of policies: a row is what the live loop does with the same calls."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Comparison, Rows, compare
from classfilter.policy import Adaptive, Periodic
from classfilter.tuning import tune, two_folds
from compare_oracle import clean

POLICIES: Any = {"Periodic(6)": Periodic(6), "eager": Adaptive(1 / 5)}
COST = {"strong": 9.0, "weak": 0.4}


@lru_cache
def dense() -> tuple[Rows, ...]:
    """Both sources at each time; in one stream some strong predictions are missing."""
    days = []
    for seed in range(5):
        day = cf.simulate("plain", hours=0.6, seed=seed)
        T = len(day.time)
        strong = day.probs["strong"].copy()
        strong[100 * (seed == 0) : 120 * (seed == 0)] = np.nan
        days.append(
            cf.rows(
                time=np.repeat(day.time, 2),
                source=np.tile(["weak", "strong"], T),
                probs=np.stack([day.probs["weak"], strong], axis=1).reshape(2 * T, -1),
                classes=day.classes,
                label=np.repeat(day.truth, 2),
            )
        )
    return tuple(days)


@lru_cache
def result() -> Comparison:
    return compare(dense(), "strong", policies=POLICIES, cost=COST)


@pytest.mark.parametrize("name", POLICIES)
def test_a_row_is_what_the_live_loop_does(name: str) -> None:
    """Step by step through a `Cascade`, whose sources look up what was recorded."""
    folds = two_folds(dense(), "strong")
    assert folds is not None
    right = rows = 0
    calls, spent, hours = 0, 0.0, 0.0
    for fold, rest in folds:
        pipe = tune(rest, "auto", "strong", policy=POLICIES[name])
        for rec in fold:
            there = {
                source: {
                    float(rec.time[t]): rec.probs[t]
                    for t in range(len(rec))
                    if rec.source_names[t] == source and not np.isnan(rec.probs[t, 0])
                }
                for source in ("weak", "strong")
            }
            assert rec.label is not None
            truth = dict(zip(rec.time.tolist(), rec.label.tolist(), strict=True))
            missing = set(truth) - set(there["strong"])

            def look(source: str, there: Any = there) -> Any:
                def at(window: Any) -> Any:
                    return there[source][float(window[-1])]

                return at

            cascade = cf.Cascade(
                pipe,
                {"weak": look("weak"), "strong": look("strong")},
                policy=POLICIES[name],
                cost=COST,
            )
            if missing:  # a loop would find nothing there; here the other source is called
                continue
            for time, y in truth.items():
                step = cascade.step([time], time=time)
                right += step.label == rec.classes[y]
                rows += 1
            calls += cascade.calls["strong"]
            spent += cascade.total_cost
            hours += float(rec.time[-1] - rec.time[0]) / 3600
    assert rows == 4 * 432
    found = compare_without_gaps(name)
    assert found.accuracy == pytest.approx(right / rows)
    assert found.calls == pytest.approx(calls / hours)
    assert found.cost == pytest.approx(spent / hours)


@lru_cache
def compare_without_gaps(name: str) -> Any:
    """Return the row of a policy, measured on streams without a gap."""
    import sys

    module = sys.modules["classfilter.compare"]
    folds = two_folds(dense(), "strong")
    assert folds is not None
    streams = [rec for fold, _ in folds for rec in fold if not np.isnan(rec.probs).any()]
    judge = module.Judge(streams, "strong", COST)
    run = []
    for fold, rest in folds:
        arms = {arm.name: arm for arm in module.arms_under(POLICIES, rest, "strong", {})}
        for rec in fold:
            if not np.isnan(rec.probs).any():
                seen = arms[name].see(rec)
                run.append(module.Run(seen, arms[name].run(seen), None))
    return judge.measure(name, run)[0]


def test_the_rows_and_their_costs() -> None:
    names = [row.name for row in result().rows]
    assert names == [
        "weak always", "weak always, rule", "strong always", "strong always, rule",
        "Periodic(6), Hold", "Periodic(6)", "Periodic(6), rule",
        "eager, Hold", "eager", "eager, rule",
        "Periodic(6), smoothed", "eager, smoothed",
    ]  # fmt: skip
    hours = sum(float(rec.time[-1] - rec.time[0]) for rec in dense()) / 3600
    weak, strong = result()["weak always"], result()["strong always"]
    steps = sum(np.unique(rec.time).size for rec in dense())
    assert weak.calls == 0
    assert weak.cost == pytest.approx(0.4 * steps / hours)
    assert strong.cost == pytest.approx(9.0 * strong.calls)
    periodic = result()["Periodic(6)"]
    assert periodic.calls == pytest.approx(steps / 6 / hours, rel=0.02)
    assert periodic.cost < strong.cost / 3
    text = str(result())
    assert max(map(len, text.split("\n"))) <= 100
    assert all(title in text for title in ("calls", "cost per", "F1@50"))


def test_other_methods_run_on_what_is_called() -> None:
    seen: list[int] = []

    def count(rec: Rows) -> Any:
        seen.append(len(rec))
        assert np.unique(rec.time).size == len(rec)
        return np.nan_to_num(rec.probs)

    got = compare(dense(), "strong", policies=[Periodic(6)], extra={"mine": count}, events=False)
    assert got["Periodic(6), mine"].accuracy == got["Periodic(6), mine"].accuracy
    assert math.isnan(got["Periodic(6)"].cost)  # no prices
    assert len(seen) == 5


def test_policies_need_rows_to_choose_from() -> None:
    with pytest.raises(ValueError, match=r"policies is \['Periodic\(12\)'\]; only 0% of the times"):
        compare([clean(0), clean(1)], "strong", policies=[Periodic(12)])
