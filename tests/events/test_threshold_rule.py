"""Two thresholds and minimum durations, against a plain loop and what other tools document."""

from __future__ import annotations

import itertools
import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from example_tables import NAN

CLASSES = ("a", "b")
Span = tuple[float, float, float]


def recording(time: Any, p: Any) -> cf.Rows:
    p = np.asarray(p, float)
    return cf.rows(time=time, source="net", probs=np.column_stack([p, 1 - p]), classes=CLASSES)


def by_loop(time: list[float], p: list[float], rule: cf.ThresholdRule) -> list[Span]:
    """Return start, end and mean probability of the events of one class, row by row."""
    assert rule.leave is not None
    longest = math.inf if rule.max_gap is None else rule.max_gap
    steps = [b - a for a, b in itertools.pairwise(time)]
    steps = [min(step, longest) for step in [*steps, *(steps[-1:] or [0.0])]]
    runs: list[list[int]] = []
    on = False
    for i, x in enumerate(p):
        gap = i > 0 and time[i] > time[i - 1] + steps[i - 1]
        before = on and not gap
        on = x >= rule.enter or (before and x >= rule.leave)
        if on and before:
            runs[-1].append(i)
        elif on:
            runs.append([i])
    joined: list[list[int]] = []
    for run in runs:
        if sum(steps[i] for i in run) == 0:
            continue
        if joined:
            last = joined[-1][-1]
            if time[run[0]] - (time[last] + steps[last]) <= rule.merge_gap:
                joined[-1] += range(last + 1, run[-1] + 1)
                continue
        joined.append(run)
    spans = []
    for run in joined:
        start, end = time[run[0]], time[run[-1]] + steps[run[-1]]
        if end - start >= rule.min_duration:
            known = [i for i in run if not math.isnan(p[i])]
            total = sum(steps[i] for i in known)
            spans.append((start, end, sum(p[i] * steps[i] for i in known) / total))
    return spans


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 1.0, 1.0, 2.0, 6.0]), st.integers(-1, 16)), max_size=25
    ),
    st.tuples(st.integers(4, 14), st.integers(0, 6)),
    st.tuples(st.sampled_from([0, 0, 2, 3]), st.sampled_from([0, 0, 1, 2, 7])),
    st.sampled_from([None, 1.5, 3.0]),
)
def test_it_equals_a_loop(rows: Any, thresholds: Any, times: Any, max_gap: Any) -> None:
    time = np.cumsum([step for step, _ in rows]).tolist() if rows else []
    p = [NAN if x < 0 else x / 16 for _, x in rows]
    enter, below = thresholds
    rule = cf.ThresholdRule(
        enter / 16,
        max(enter - below, 0) / 16,
        min_duration=times[0],
        merge_gap=times[1],
        max_gap=max_gap,
    )
    found = cf.events(recording(time, p), rule)
    for name, q in (("a", p), ("b", [1 - x for x in p])):
        mine = [e for e in found if e.label == name]
        spans = by_loop(time, q, rule)
        assert [(e.start, e.end) for e in mine] == [span[:2] for span in spans]
        assert [e.probability for e in mine] == pytest.approx([span[2] for span in spans])
    assert [e.start for e in found] == sorted(e.start for e in found)


VOICE = [0.2, 0.6, 0.4, 0.3, 0.45, 0.5, 0.9, 0.1, 0.1, 0.1, 0.7, 0.2, 0.1]
"""Frames of a second: above 0.5 it begins, from 0.35 it goes on, and 0.45 alone does not begin."""


@pytest.mark.parametrize(
    ("options", "spans"),
    [
        # silero-vad: threshold 0.5, and by default 0.15 less to end; neither minimum
        ({}, [(1, 3), (5, 7), (10, 11)]),
        # min_silence_duration: a pause of 2 s is speech, one of 3 s is not
        ({"merge_gap": 2.5}, [(1, 7), (10, 11)]),
        # and min_speech_duration: only then what is short is dropped; the other way nothing is left
        ({"merge_gap": 2.5, "min_duration": 3}, [(1, 7)]),
        ({"min_duration": 3}, []),
        # pyannote's Binarize: onset and offset, min_duration_off before min_duration_on
        ({"leave": 0.5}, [(1, 2), (5, 7), (10, 11)]),
        ({"leave": 0.5, "min_duration": 2}, [(5, 7)]),
        ({"leave": 0.5, "merge_gap": 3.5, "min_duration": 3}, [(1, 11)]),
    ],
)
def test_the_order_of_other_tools(options: dict[str, Any], spans: list[tuple[int, int]]) -> None:
    rec = recording(np.arange(13.0), VOICE)
    found = cf.events(rec, cf.ThresholdRule(ignore="b", **options))
    assert [(e.start, e.end) for e in found] == spans


def test_the_probability_is_the_mean_over_the_filled_event() -> None:
    (event, _) = cf.events(
        recording(np.arange(13.0), VOICE), cf.ThresholdRule(ignore="b", merge_gap="2.5s")
    )
    assert event.probability == pytest.approx((0.6 + 0.4 + 0.3 + 0.45 + 0.5 + 0.9) / 6)


def test_settings_are_read_as_people_give_them() -> None:
    rule = cf.ThresholdRule(0.6, min_duration="250ms", merge_gap=timedelta(seconds=2), ignore=3)
    assert (rule.leave, rule.min_duration, rule.merge_gap) == (0.6 - 0.15, 0.25, 2.0)
    assert (rule.ignore, rule.max_gap) == (("3",), None)
    assert cf.ThresholdRule(0.1).leave == 0.0
