"""The smallest cost with at most so many events, against all paths and a fine grid of costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.inputs import Heads
from classfilter.tuning.event_cost import DecidedRows, EventCounts, round_up, row_times

CLASSES = ("walk", "sit", "run")
HEADS = Heads.exclusive(CLASSES)


def random_rows(rng: np.random.Generator, rows: int) -> DecidedRows:
    probs = rng.dirichlet(np.full(3, 0.5), rows)
    return DecidedRows(np.cumsum(rng.choice([1.0, 2.0], rows)), probs)


def events_of(streams: Sequence[DecidedRows], rule: cf.EventRule) -> list[Any]:
    recordings = [
        cf.rows(time=time, source="any", probs=probs, classes=CLASSES) for time, probs in streams
    ]
    events: list[Any] = cf.events(recordings, rule)
    return events


def test_counts_are_those_of_the_events_themselves() -> None:
    rng = np.random.default_rng(0)
    streams = [random_rows(rng, rows) for rows in (40, 1, 60)]
    streams[0].probs[10:13] = np.nan
    counts = EventCounts(streams, HEADS, cf.EventRule(max_gap=1.5))
    for cost in (0.0, 0.3, 2.0):
        events = events_of(streams, cf.EventRule(cost, max_gap=1.5))
        labels = [event.label for event in events]
        assert counts.by_class(cf.EventRule(cost, max_gap=1.5)).tolist() == [
            labels.count(name) for name in CLASSES
        ]
        assert counts.total(cost) == len(events)
        assert counts.time == pytest.approx(sum(e.end - e.start for e in events))
    assert counts.expected_time.sum() == pytest.approx(counts.time)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_the_smallest_cost_of_a_fine_grid(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    streams = [random_rows(rng, 30), random_rows(rng, 20)]
    counts = EventCounts(streams, HEADS)
    cost = counts.smallest_cost(most)
    assert counts.total(cost) <= max(most, len(streams))
    below = [c for c in np.geomspace(1e-3, 40, 60) if c < 0.985 * cost]
    assert all(counts.total(float(c)) > max(most, len(streams)) for c in below)
    assert cost == 0 or counts.total(0.0) > most


@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_a_cost_of_at_least_as_many_events(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    counts = EventCounts([random_rows(rng, 30), random_rows(rng, 20)], HEADS)
    cost = counts.cost_of_as_many(least)
    assert counts.total(cost) >= min(least, counts.total(0.0))
    assert counts.total(1.02 * cost + 1e-3) <= max(least, 2)


def test_where_no_cost_has_just_so_many_there_are_more() -> None:
    """Both changes are worth the same, so that either both are reported or none."""
    walk = np.repeat([0.9, 0.1, 0.9], 10)
    rows = DecidedRows(np.arange(30.0), np.stack([walk, 1 - walk], axis=1))
    counts = EventCounts([rows], Heads.exclusive(["walk", "sit"]))
    assert (counts.total(3.9), counts.total(4.1)) == (3, 1)  # 10 rows of 0.8, for two changes
    assert counts.total(counts.smallest_cost(2)) == 1
    assert counts.total(counts.cost_of_as_many(2)) == 3


def test_a_row_stands_for_the_time_to_the_next_but_for_gaps() -> None:
    rows = DecidedRows(np.array([0.0, 1, 3, 10]), np.full((4, 2), 0.5))
    assert row_times(rows).tolist() == [1, 2, 7, 7]
    assert row_times(rows, 5.0).tolist() == [1, 2, 5, 5]
    rows.probs[1] = np.nan
    assert row_times(rows).tolist() == [1, 0, 7, 7]


def test_nothing_to_count() -> None:
    counts = EventCounts([], HEADS)
    assert (counts.total(1.0), counts.smallest_cost(0), counts.time) == (0, 0.0, 0.0)


@given(st.floats(1e-9, 1e9))
def test_rounds_up_by_less_than_a_percent(cost: float) -> None:
    assert cost <= round_up(cost) <= 1.0101 * cost
    assert float(f"{round_up(cost):.3g}") == round_up(cost)
