"""The event rule in whole ticks, as firmware has it: the bits of the rule with times as double."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from event_streams import random_rule, random_stream
from slow_events import Rule, plain_rule
from ticks_core import COMPILER, Stream, in_ticks, rounded

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
seeds = st.integers(0, 2**32 - 1)
PER_UNIT = 1000
GOOD = np.array([0.2, 0.3, 0.5], np.float32)


def random_case(
    seed: int, rows: int = 150, missing: float = 0.05, delay: float = math.inf
) -> tuple[Rule, Any, Any]:
    """Return a rule in ticks, times that are whole numbers, and rows in single precision."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 9))
    rule = in_ticks(replace(random_rule(rng, classes), max_delay=delay), PER_UNIT)
    if rng.random() < 0.5:  # equal costs, and none at all: then paths tie
        rule = replace(rule, enter=np.floor(rule.enter / PER_UNIT) * PER_UNIT)
    times, probs = random_stream(rng, classes, rows, missing)
    first = int(rng.choice([0, 7, 2**31, 2**32 - 30 * PER_UNIT]))
    ticks = (times - times[:1].sum()) * PER_UNIT + first
    return rule, ticks.astype(np.int64), probs.astype(np.float32)


@given(
    seed=seeds,
    delay=st.sampled_from([math.inf, 4.0, 6.25]),
    memory=st.sampled_from([(64, 64), (16, 16), (4, 2), (5, 7)]),
    tick=st.booleans(),
)
def test_events_are_those_of_times_as_double(
    seed: int, delay: float, memory: tuple[int, int], tick: bool
) -> None:
    """Row by row: events, the one that goes on, pieces; with memory enough and with too little.

    One row ends the stream, and the next begins another.
    """
    rule, times, probs = random_case(seed, delay=delay)
    ends_at = seed % len(times)
    one, two = (Stream(rule, ticks, *memory) for ticks in (False, True))
    assert (one.prepared, two.prepared) == (0, 0)
    plain = rule.pad_before + rule.pad_after == 0
    for time, row in zip(times.tolist(), probs, strict=True):
        assert one.update(time, row) == 0
        assert two.update(time, row, tick=tick) == 0
        assert [rounded(e, rule) for e in one.events()] == two.events()
        assert [rounded(e, rule) for e in one.starts()] == two.starts()
        now = one.current()
        assert (now and (rounded(now[0], rule), now[1])) == two.current()
        for i in range(one.count.value if plain else 0):
            assert [one.piece(i, n) for n in range(4)] == [two.piece(i, n) for n in range(4)]
        if time == times[ends_at]:
            assert [rounded(e, rule) for e in one.finish()] == two.finish()
            assert [rounded(e, rule) for e in one.starts()] == two.starts()
    assert [rounded(e, rule) for e in one.finish()] == two.finish()
    assert [rounded(e, rule) for e in one.starts()] == two.starts()


@given(steps=st.lists(st.integers(2**29, 2**31 - 1) | st.integers(0, 300), min_size=3, max_size=8))
@example(steps=[2**31 - 1, 2**31 - 1, 1, 129])
def test_a_long_event_has_its_mean_rounded_once(steps: list[int]) -> None:
    rule, row = plain_rule(3, 5.0), np.array([0.9, 0.05, 0.05], np.float32)
    one, two = (Stream(rule, ticks, 16, 0) for ticks in (False, True))
    for time in np.cumsum([0, *steps]).tolist():
        assert one.update(time, row) == two.update(time, row, tick=True) == 0
    assert one.finish() == two.finish()


def test_the_clock_begins_again() -> None:
    """Months of milliseconds: starts and ends go on, and their last 32 bits are the clock's."""
    stream, day = Stream(plain_rule(3, 1000.0), True, 16, 0), 24 * 3600 * 1000
    time, found = 2**32 - 5 * day, []
    for i in range(200):
        assert stream.update(time % 2**32, np.roll(GOOD, i // 40), tick=True) == 0
        found += stream.events()
        time += day
    found += stream.finish()
    assert [e.label for e in found] == [2, 0, 1, 2, 0]
    first = 2**32 - 5 * day
    assert [e.start for e in found] == [first + 40 * n * day for n in range(5)]
    assert found[-1].end == first + 200 * day > 4 * 2**32
    assert [np.uint32(e.bits).view(np.float32) for e in found] == [np.float32(0.5)] * 5


@pytest.mark.parametrize("tick", [False, True])
def test_a_time_that_goes_back_changes_nothing(tick: bool) -> None:
    stream = Stream(plain_rule(3, 5.0), True, 16, 0)
    for time in (3_000_000_000, 3_000_000_010, 3_000_000_020):
        assert stream.update(time, GOOD, tick=tick) == 0
    before = list(stream.state)
    for time in (3_000_000_019, 0 if tick else 2**62):
        assert stream.update(time, GOOD, tick=tick) == (27 if time else 0)
        if time:
            assert list(stream.state) == before
    assert stream.update(-1 if not tick else 5, GOOD, tick=tick) == (27 if not tick else 0)


@pytest.mark.parametrize(
    ("row", "status"), [([0.2, 0.3, -0.5], 8), ([0.2, math.nan, 0.8], 10), ([0.2, 0.3, 0.6], 11)]
)
def test_a_bad_row_is_refused(row: list[float], status: int) -> None:
    stream = Stream(plain_rule(3, 5.0), True, 16, 0)
    assert stream.update(10, GOOD) == 0
    before = list(stream.state)
    assert stream.update(20, np.array(row, np.float32)) == status
    assert list(stream.state) == before


@pytest.mark.parametrize("name", ["max_gap", "max_delay", "max_duration", "pad_before", "shift"])
def test_long_limits_are_refused(name: str) -> None:
    """Beyond 2^29, the tolerance of times as double is a tick, and decisions might differ."""
    most = 2.0**29
    assert Stream(plain_rule(3, 5.0, **{name: most - 1}), True, 16, 0).prepared == 0
    assert Stream(plain_rule(3, 5.0, **{name: most}), True, 16, 0).prepared == 25


@given(
    limit=st.integers(1, 2**29 - 1),
    above=st.integers(-2, 2),
    clock=st.sampled_from([0, 2**32, 2**48]),
)
def test_limits_are_exact_at_any_time(limit: int, above: int, clock: int) -> None:
    """A gap just as long as it may be, or one more, also after years."""
    rule = plain_rule(2, 0.0, max_gap=float(limit))
    found = []
    for ticks in (False, True):
        stream, events = Stream(rule, ticks, 16, 0), []
        for time in (clock, clock + max(limit + above, 0), clock + max(limit + above, 0) + 1):
            assert stream.update(time, np.array([1, 0], np.float32)) == 0
            events += stream.events()
        found.append(events + stream.finish())
    assert found[0] == found[1]
