"""When starts and events become known: as a tracker tells them, row by row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import known_events
from live_event_cases import CLASSES, random_live

pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")


@given(seed=st.integers(0, 2**32 - 1))
def test_starts_and_events_are_known_when_a_tracker_tells_them(seed: int) -> None:
    live = random_live(seed, 80)
    tracker = cf.Tracker(live.pipe, events=True)
    starts: dict[Any, Any] = {}
    wanted = []
    for row in [*live.rows, None]:
        at = math.inf if row is None else row.time
        if row is None:
            tracker.drop(tracker.streams)
        else:
            tracker.update(*row)
        starts |= {(event.stream, event.label, event.start): at for event in tracker.pop_starts()}
        wanted += [(event, at) for event in tracker.pop_events()]
    stream, time, source, probs = zip(*live.rows, strict=True)
    rows = cf.rows(stream=stream, time=time, source=source, probs=list(probs), classes=CLASSES)
    known = known_events(rows, live.pipe)
    key = lambda one: (str(one[0].stream), one[0].start)  # noqa: E731
    assert sorted(((one.event, one.end_known) for one in known), key=key) == sorted(wanted, key=key)
    for one in known:
        told = starts.get((one.event.stream, one.event.label, one.event.start))
        assert one.start_known <= one.end_known
        assert told is None or one.start_known == told
        pieces = live.pipe.rule is not None and live.pipe.rule.max_duration is not None
        assert told is not None or pieces
    with pytest.raises(cf.ArgumentError, match="has none"):
        known_events(rows, replace(live.pipe, rule=None))
