"""Live events of several labels at once: those of the whole stream, however the rows come."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.policy import Periodic
from label_event_cases import (
    BETA,
    FILTERS,
    LABELS,
    random_chain,
    random_rule,
    random_scores,
    random_times,
)
from live_event_cases import Live, Row, ended, stretches, take, update_many

NAMES = ("ann", 7)
seeds = st.integers(0, 2**32 - 1)
limits = st.sampled_from([{}, {"expire_after": 4.0}, {"max_streams": 1}])


def random_live(seed: int, rows: int = 35, **limits: Any) -> Live:
    """Return a tracker of several labels, and rows of two streams and sources."""
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, random_rule(rng))
    if rng.random() < 0.2:
        chain = cf.Chain.of(chain, policy=Periodic(every=3))
    names = [NAMES[i] for i in rng.integers(len(NAMES), size=rows)]
    source = rng.choice(list(BETA), rows).tolist()
    columns = names, random_times(rng, rows).tolist(), source, random_scores(rng, rows).tolist()
    return Live(chain, [Row(*row) for row in zip(*columns, strict=True)], limits)


def expected(live: Live, calls: Any) -> dict[Any, Any]:
    """Return the events of each stream offline, by its recording, in any order."""
    found: dict[Any, Any] = {}
    for name, parts in stretches(live, calls).items():
        for part in parts:
            _, time, source, scores = zip(*part, strict=True)
            rec = cf.Recording(time, source, scores, LABELS, scores="independent")
            take(found, cf.events({name: rec}, live.chain))
    return in_any_order(found)


def in_any_order(events: dict[Any, Any]) -> dict[Any, Any]:
    return {name: sorted(found, key=repr) for name, found in events.items()}


@given(seed=seeds, limits=limits)
def test_row_by_row_events_are_those_of_the_recording(seed: int, limits: dict[str, Any]) -> None:
    live, rng = random_live(seed, **limits), np.random.default_rng(seed)
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    for row in live.rows:
        tracker.update(*row)
        if rng.random() < 0.1:
            take(found, tracker.pop_events())
    wanted = expected(live, [[row] for row in live.rows])
    assert in_any_order(ended(tracker, found)) == wanted
    for events in found.values() if not limits else ():
        for label in LABELS:  # its events come in the order of time
            starts = [e.start for e in events if e.label == label]
            assert starts == sorted(starts)


@given(seed=seeds, limits=limits)
def test_any_chunking_gives_the_same_events(seed: int, limits: dict[str, Any]) -> None:
    live, rng = random_live(seed, **limits), np.random.default_rng(seed)
    cuts = [0, *np.sort(rng.integers(0, len(live.rows) + 1, 5)).tolist(), len(live.rows)]
    calls = [live.rows[a:b] for a, b in pairwise(cuts) if b > a]
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    for rows in calls:
        if rng.random() < 0.2 and "max_streams" not in limits:
            for row in rows:
                tracker.update(*row)
        else:
            update_many(tracker, rows)
        if rng.random() < 0.5:
            take(found, tracker.pop_events())
    assert in_any_order(ended(tracker, found)) == expected(live, calls)


@given(seed=seeds, limits=limits)
def test_saved_and_loaded_it_goes_on(
    seed: int, limits: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    live, rng = random_live(seed, 30, **limits), np.random.default_rng(seed)
    path = tmp_path_factory.getbasetemp() / "birds"
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    saves = set(rng.integers(0, len(live.rows), 2).tolist())
    for i, row in enumerate(live.rows):
        tracker.update(*row)
        if rng.random() < 0.05:
            take(found, tracker.pop_events())
        if i in saves:
            now = [tracker.current(name) for name in tracker.streams]
            tracker.save(path)
            tracker = cf.Tracker.load(path)
            assert [tracker.current(name) for name in tracker.streams] == now
            assert tracker.chain.rule == live.chain.rule
    wanted = expected(live, [[row] for row in live.rows])
    assert in_any_order(ended(tracker, found)) == wanted


@given(seed=seeds)
def test_what_each_row_confirms_and_leaves_open_is_what_each_label_has(seed: int) -> None:
    """As trackers of the lanes have it; the probability of off may round in another way there."""
    live = random_live(seed, 25)
    rule = live.chain.rule
    assert rule is not None
    labels = [name for name in LABELS if name not in rule.ignore]
    lanes = [cf.Tracker(live.chain.lane(name), events=True) for name in labels]
    tracker = live.tracker()
    for row in live.rows:
        tracker.update(*row)
        alone, confirmed = [], []
        for name, lane in zip(labels, lanes, strict=True):
            s = np.asarray(row.probs[LABELS.index(name)], lane.chain.filter().probs.dtype)
            lane.update(*row[:3], np.stack([1 - s, s]))
            alone.append(lane.current(row.stream))
            confirmed += lane.pop_events()
        events = tracker.current(row.stream)
        assert [(e.label, e.start) for e in events] == [(e.label, e.start) for e in alone if e]
        assert all(e.stream == row.stream and e.end is None for e in events)
        confirmed.sort(key=lambda e: (e.end, LABELS.index(e.label)))
        assert [e[:4] for e in tracker.pop_events()] == [e[:4] for e in confirmed]


def test_a_stream_that_begins_anew_gives_its_last_events_at_once() -> None:
    f = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, half_life=6.0))
    tracker = cf.Tracker(f, events=cf.EventRule(0.5), expire_after=5.0)
    for time in (0.0, 1.0, 2.0, 3.0, 20.0):
        tracker.update("a", time, None, [0.1, 0.9, 0.1])
    assert [(e.label, e.start, e.end) for e in tracker.pop_events()] == [("wren", 0.0, 4.0)]


class Seen(NamedTuple):
    probs: bytes
    time: float
    current: Any


def seen(tracker: cf.Tracker) -> list[Seen]:
    each = [(tracker.probs(n), tracker.time(n), tracker.current(n)) for n in tracker.streams]
    return [Seen(p.tobytes(), *rest) for p, *rest in each]


INVALID: list[tuple[Any, ...]] = [
    ("ann", -100.0, "weak", [0.25] * 3),
    ("ann", math.nan, "weak", [0.25] * 3),
    ("ann", 1e5, "unknown", [0.25] * 3),
    ("ann", 1e5, "weak", [0.5, 1.5, 0.5]),
    ("ann", 1e5, "weak", [0.5]),
    ("new", 1e5, "weak", [-1.0, 1.0, 1.0]),
]


def test_invalid_rows_change_nothing() -> None:
    live = random_live(4)
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    for i, row in enumerate(live.rows):
        tracker.update(*row)
        bad = INVALID[i % len(INVALID)]
        if "ann" not in tracker:
            continue
        before = seen(tracker)
        with pytest.raises(ValueError, match="; "):
            tracker.update(*bad)
        streams, times, sources, scores = map(list, zip(row, bad, strict=True))
        with pytest.raises(ValueError, match="; "):
            tracker.update_many(streams, times, sources, scores)
        assert seen(tracker) == before
    assert in_any_order(ended(tracker, found)) == expected(live, [[row] for row in live.rows])


@pytest.mark.parametrize("kind", FILTERS)
def test_what_the_rule_refuses_the_filter_has_not_taken(kind: str) -> None:
    """An event of too many pieces."""
    f = cf.MultiLabelFilter(LABELS, FILTERS[kind]())
    tracker = cf.Tracker(f, events=cf.EventRule(0.5, max_duration=1e-3))
    for time in (0.0, 1e5):
        tracker.update("a", time, None, [0.1, 0.9, 0.1])
    before, refused = seen(tracker), ""
    for call in range(30):
        try:
            tracker.update("a", 2e5 + 30 * call, None, [0.1, 0.1, 0.1])
        except ValueError as error:
            refused = str(error)
            break
        before = seen(tracker)
    assert "max_duration" in refused
    assert seen(tracker) == before


def test_an_interrupted_row_is_taken_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    f = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, half_life=6.0))
    tracker = cf.Tracker(f, events=cf.EventRule(0.5))
    tracker.update("a", 0.0, None, [0.1, 0.9, 0.1])
    before = seen(tracker)
    live = tracker._live
    assert live is not None

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(live.core, "update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tracker.update("a", 1.0, None, [0.9, 0.9, 0.9])
    assert seen(tracker) == before
