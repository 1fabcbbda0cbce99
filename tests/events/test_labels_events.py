"""Events of several labels at once: those of each label by itself, by a rule of two classes."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
import slow_events
from classfilter.events import EventRule
from classfilter.inputs import Heads
from conftest import rejected
from label_event_cases import (
    BETA,
    FILTERS,
    LABELS,
    lane_rule,
    of_label,
    random_recording,
    random_rule,
    slow_rule,
)

seeds = st.integers(0, 2**32 - 1)


def of_each(rule: EventRule, events: Any) -> list[tuple[str, Any]]:
    """Return the events of each label that is not ignored."""
    return [(n, [e for e in events if e.label == n]) for n in LABELS if n not in rule.ignore]


def by_start(events: Any) -> bool:
    keys = [(e.start, LABELS.index(e.label)) for e in events]
    return all(a <= b for a, b in pairwise(keys))


@given(seed=seeds)
def test_events_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = random_rule(rng)
    # At no cost, off for no time at all is as good as on: the definition leaves it open.
    cost = {name: max(of_label(given.change_cost, name), 0.1) for name in LABELS}
    rule = cf.EventRule(**{**vars(given), "change_cost": cost, "max_delay": None})
    rec = random_recording(rng, 40)
    for label, found in of_each(rule, cf.events(rec, rule)):
        s = rec.probs[:, LABELS.index(label)]
        both = np.stack([1 - s, s], axis=1)
        wanted = slow_events.events(slow_rule(rule, label), rec.time, both)
        np.testing.assert_allclose([(e.start, e.end) for e in found], [x[1:3] for x in wanted])
        p = [e.probability for e in found]
        np.testing.assert_allclose(p, [x.probability for x in wanted], atol=1e-12)


@given(seed=seeds)
def test_true_events_are_those_of_each_label(seed: int) -> None:
    rec = random_recording(np.random.default_rng(seed))
    events = cf.label_events(rec, max_gap=4.0)
    assert by_start(events)
    assert {e.probability for e in events} <= {None}
    for label in LABELS:
        alone = [e for e in cf.label_events(rec.head(label), max_gap=4.0) if e.label == label]
        assert [e for e in events if e.label == label] == alone


def table(kind: Any, rng: np.random.Generator) -> Any:
    """Return rows of two streams, and their recordings."""
    recs = {name: random_recording(rng, 50) for name in ("a", "b")}
    frames = [rec.to_table("pandas").assign(stream=name) for name, rec in recs.items()]
    return kind(pd.concat(frames)), recs


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("smooth", [False, True])
def test_tables_have_the_events_of_their_recordings(kind: Any, smooth: bool) -> None:
    rng = np.random.default_rng(5)
    df, recs = table(kind, rng)
    pipe = cf.Pipeline(cf.MultiLabelFilter(LABELS, FILTERS["sticky"]()), beta=BETA)
    rule = cf.EventRule(1.0, merge_gap=2.0)
    wanted = cf.events(recs, pipe, rule, smooth=smooth)
    assert len({e.label for e in wanted}) == 3
    assert cf.Events.from_table(cf.events(df, pipe, rule, smooth=smooth)) == wanted
    filter_table = cf.smooth_table if smooth else cf.filter_table
    filtered = filter_table(cf.rows(df, scores="independent"), pipe)
    assert cf.Events.from_table(cf.events(filtered, rule)) == wanted
    without = filtered.drop(columns="labels") if kind is pd.DataFrame else filtered.drop("labels")
    again = cf.events(cf.rows(without, scores="independent"), rule)
    assert cf.Events.from_table(again) == wanted
    raw = cf.events(cf.rows(df, scores="independent"), rule)
    assert cf.Events.from_table(raw) == cf.events(recs, rule)


def test_one_label_and_its_table() -> None:
    df = pd.DataFrame({"time": range(8), "p_speech": [0.1, 0.9, 0.8, 0.2, 0.9, 0.9, 0.1, 0.2]})
    found = cf.events(cf.rows(df, scores="independent"), cf.EventRule(0.1))
    assert found["start"].tolist() == [1, 4]
    merged = cf.events(cf.rows(df, scores="independent"), cf.EventRule(0.1, merge_gap=1.0))
    assert merged[["class", "start", "end"]].values.tolist() == [["speech", 1.0, 6.0]]
    f = cf.MultiLabelFilter(["speech"], cf.RawFilter(2))
    filtered = cf.filter_table(df, f)
    pd.testing.assert_frame_equal(cf.events(filtered, cf.EventRule(0.1)), found)


def test_simple_rules_are_by_label_too() -> None:
    rng = np.random.default_rng(3)
    rec = random_recording(rng)
    thresholds = cf.ThresholdRule(0.6, 0.3, min_duration=1.0, merge_gap=1.0)
    for label, found in of_each(cf.EventRule(), cf.events(rec, thresholds)):
        alone = cf.events(rec.head(label), thresholds)
        assert found == [e for e in alone if e.label == label]
        assert found
    argmax = cf.events(rec, cf.EventRule())
    ends = np.append(rec.time[1:], 2 * rec.time[-1] - rec.time[-2])
    for k, label in enumerate(LABELS):  # on where the score is above 0.5
        on = sum((ends - rec.time)[rec.probs[:, k] > 0.5])
        assert math.isclose(sum(e.end - e.start for e in argmax if e.label == label), on)


@given(seed=seeds)
def test_states_are_checked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rule(rng).compiled(Heads.of_labels(LABELS), np.float64)
    rec = random_recording(rng)
    state = rules.run(rules.start(), rec.time, rec.probs)[0]
    rules.check(state)
    first, *others = state
    for bad in ((), state[:-1], (*state, first), (b"", *others), (first[::-1], *others)):
        with pytest.raises(ValueError, match="state"):
            rules.check(bad)
        for call in (rules.finish, rules.current):
            with pytest.raises(ValueError):  # noqa: PT011
                call(bad)
    with rejected("probs"):
        rules.update(state, 1e6, [0.5, 0.5])


def test_each_label_of_a_state_is_checked() -> None:
    """Bytes that only the check of one label's state refuses."""
    rule, rec = cf.EventRule(1.0), random_recording(np.random.default_rng(0))
    rules = rule.compiled(Heads.of_labels(LABELS), np.float64)
    state = rules.run(rules.start(), rec.time, rec.probs)[0]
    core = lane_rule(rule, "tit").compiled(Heads.exclusive(("not tit", "tit")), np.float64)
    s = rec.probs[:, 2]
    part = core.run(core.start(), rec.time, np.stack([1 - s, s], axis=1))[0]
    assert state[2] == part
    refused = 0
    for place in range(len(part)):
        damaged = bytearray(part)
        damaged[place] ^= 0x40
        try:
            core.check(bytes(damaged))
        except ValueError:
            refused += 1
            with pytest.raises(ValueError, match="state"):
                rules.check((*state[:2], bytes(damaged)))
    assert refused > 10
    with pytest.raises(ValueError, match="state"):
        rules.check(rule.compiled(Heads.of_labels(LABELS[:2]), np.float64).start())


def test_a_bad_time_or_score_changes_nothing() -> None:
    rules = cf.EventRule(1.0).compiled(Heads.of_labels(LABELS), np.float64)
    state, _ = rules.update(rules.start(), 5.0, [0.9, 0.1, math.nan])
    for time in (4.0, math.nan):
        with rejected("time", cf.RowError):
            rules.update(state, time, [0.9, 0.1, 0.2])


@given(seed=seeds)
def test_events_of_one_call_are_in_order_of_their_end(seed: int) -> None:
    """Then of their label; and a chunk has the events of its rows."""
    rng = np.random.default_rng(seed)
    rules = random_rule(rng).compiled(Heads.of_labels(LABELS), np.float64)
    rec = random_recording(rng)
    state, one_by_one = rules.start(), []
    for time, row in zip(rec.time, rec.probs, strict=True):
        state, found = rules.update(state, time, row)
        assert list(found) == sorted(found, key=lambda event: (event[2], event[0]))
        one_by_one += found
    whole, *columns = rules.run(rules.start(), rec.time, rec.probs)
    together = list(zip(*(x.tolist() for x in columns), strict=True))
    assert together == sorted(one_by_one, key=lambda event: (event[2], event[0]))
    assert whole == state
    ends = rules.finish(state)
    assert [x.dtype.kind for x in ends] == ["i", "f", "f", "f", "b"]
    assert np.array_equal(np.lexsort((ends[0], ends[2])), np.arange(len(ends[0])))


def test_a_sum_may_round_to_more_than_1() -> None:
    rules = cf.EventRule().compiled(Heads.of_labels(LABELS), np.float64)
    above = np.nextafter(1.0, 2.0)
    state, _ = rules.update(rules.start(), 0.0, [above, 0.0, 1.0])
    state, *_ = rules.run(state, [1.0, 2.0], [[above, 0.0, 1.0]] * 2)
    assert rules.current(state) == [(0, 0.0, 1.0, True), (2, 0.0, 1.0, True)]
    for wrong in (1.5, -0.5):
        with rejected("probs", cf.RowError):
            rules.update(state, 3.0, [0.5, wrong, 0.5])
