"""Random rules and streams whose times are exact: sums of them have no rounding."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slow_events import Rule

Numbers = NDArray[Any]
Row = tuple[int, float, float, float, bool]


def random_rule(rng: np.random.Generator, classes: int, reporting: bool = True) -> Rule:
    """Return a rule; without `reporting`, its events are the path, but for "uncertain"."""

    def one_of(*numbers: float) -> float:
        return float(rng.choice(numbers))

    uncertain = rng.random() < 0.3
    states = classes + uncertain
    slow = rng.random() < 0.6
    rule = Rule(
        enter=rng.choice([0.0, 0.25, 0.5, 1.0, 2.0], states) + rng.random(states) / 10,
        leave=rng.choice([0.0, 0.0, 0.5], states),
        min_duration=rng.choice([0.0, 0.0, 0.5, 1.0, 2.0, 3.0], classes) * slow,
        bias=rng.choice([0.0, 0.0, 0.1, -0.2], classes),
        ignore=np.zeros(classes),
        log=bool(rng.random() < 0.3),
        min_probability=one_of(0.3, 0.5) if uncertain else 0.0,
        max_gap=one_of(math.inf, 2.0, 4.0),
    )
    if not reporting:
        return rule
    return replace(
        rule,
        ignore=(rng.random(classes) < 0.2) * 1.0,
        merge_gap=one_of(-1.0, 0.0, 1.0, 3.0),
        pad_before=one_of(0.0, 0.0, 0.5, 1.5),
        pad_after=one_of(0.0, 0.0, 0.5),
        shift=one_of(0.0, 0.0, 0.5, 2.0),
        max_duration=one_of(math.inf, math.inf, 2.0),
    )


def random_stream(
    rng: np.random.Generator, classes: int, rows: int, missing: float = 0.05
) -> tuple[Numbers, Numbers]:
    """Return times, some of them equal, and probabilities that follow a class, some NaN."""
    steps = rng.choice([0.0, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0, 3.0, 5.0], rows)
    times = np.cumsum(steps) + rng.choice([0.0, -4.0, 100.0])
    truth = np.cumsum(rng.random(rows) < 0.2) * rng.integers(1, classes + 1) % classes
    sure = rng.choice([0.0, 1.0, 3.0], rows)[:, None] * np.eye(classes)[truth]
    probs = np.array([rng.dirichlet(0.7 + row) for row in sure]).reshape(rows, classes)
    probs[rng.random(rows) < missing] = np.nan
    return times, probs


def as_rows(columns: Any) -> list[Row]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def offline(rule: Any, times: Numbers, probs: Numbers, cuts: Any = ()) -> list[Row]:
    """Return the events of a stream that comes in parts, each state checked and taken as bytes."""
    state, events = rule.start(), []
    for part in np.split(np.arange(len(times)), cuts):
        state, *columns = rule.run(state, times[part], probs[part])
        events += as_rows(columns)
        rule.check(state)
        state = bytes(bytearray(state))
    return events + as_rows(rule.finish(state))


def one_by_one(rule: Any, times: Numbers, probs: Numbers) -> list[list[Row]]:
    """Return the events of each row, then those of the end."""
    state, events = rule.start(), []
    for time, row in zip(times.tolist(), probs, strict=True):
        state, new = rule.update(state, time, row)
        events.append(list(new))
    return [*events, as_rows(rule.finish(state))]
