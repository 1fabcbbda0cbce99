"""Events of live streams: those of the whole stream, each once, however the rows come."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
import slow_events
from live_event_cases import (
    CLASSES,
    FILTERS,
    NAMES,
    Events,
    Live,
    Row,
    ended,
    expected,
    offline,
    random_live,
    stretches,
    take,
    update_many,
)
from saved_files import replace_parts

seeds = st.integers(0, 2**32 - 1)
limits = st.sampled_from([{}, {"expire_after": 4.0}, {"max_streams": 2}, {"max_streams": 1}])


def update(tracker: cf.Tracker, row: Row) -> Any:
    return tracker.update(*row)


def one_by_one(live: Live, rng: np.random.Generator) -> Events:
    """Return all events; they are fetched at random moments."""
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    for row in live.rows:
        update(tracker, row)
        if rng.random() < 0.1:
            take(found, tracker.pop_events())
    return ended(tracker, found)


def same(found: Events, wanted: Events) -> None:
    """Compare to the bit; streams may have no event."""
    assert found == {name: events for name, events in wanted.items() if events}


@given(seed=seeds, limits=limits)
def test_row_by_row_events_are_those_of_the_recording(seed: int, limits: dict[str, Any]) -> None:
    live = random_live(seed, **limits)
    found = one_by_one(live, np.random.default_rng(seed))
    same(found, expected(live, [[row] for row in live.rows]))


@given(seed=seeds, limits=limits)
def test_any_chunking_gives_the_same_events(seed: int, limits: dict[str, Any]) -> None:
    live, rng = random_live(seed, **limits), np.random.default_rng(seed)
    cuts = [0, *np.sort(rng.integers(0, len(live.rows) + 1, 6)).tolist(), len(live.rows)]
    calls = [live.rows[a:b] for a, b in pairwise(cuts) if b > a]
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    for rows in calls:
        if rng.random() < 0.2 and "max_streams" not in limits:  # those would be dropped earlier
            for row in rows:
                update(tracker, row)
        else:
            update_many(tracker, rows)
        if rng.random() < 0.5:
            take(found, tracker.pop_events())
    same(ended(tracker, found), expected(live, calls))


@given(seed=seeds)
def test_streams_that_are_dropped_are_finished(seed: int) -> None:
    """Their next row begins anew."""
    live, rng = random_live(seed), np.random.default_rng(seed)
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    parts: dict[Any, list[list[Row]]] = {}
    for row in live.rows:
        if rng.random() < 0.1 and row.stream in tracker:
            tracker.drop([row.stream])
            parts[row.stream].append([])
        update(tracker, row)
        parts.setdefault(row.stream, [[]])[-1].append(row)
        if rng.random() < 0.1:
            take(found, tracker.pop_events())
    wanted = {
        name: [event for part in several for event in offline(live.chain, part)]
        for name, several in parts.items()
    }
    same(ended(tracker, found), wanted)


def test_expire_finishes_streams_too() -> None:
    live = random_live(1, expire_after=1e3)
    tracker = live.tracker()
    for row in live.rows:
        update(tracker, row)
    tracker.expire(1e6)
    found: Events = {}
    take(found, tracker.pop_events())
    same(found, expected(live, [[row] for row in live.rows]))
    assert sum(map(len, found.values())) > 10


@given(seed=seeds, limits=limits)
def test_saved_and_loaded_it_goes_on(
    seed: int, limits: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also with events that wait to be fetched, of streams that are over or not."""
    live, rng = random_live(seed, 60, **limits), np.random.default_rng(seed)
    path = tmp_path_factory.getbasetemp() / "tracker"
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    saves = set(rng.integers(0, len(live.rows), 3).tolist())
    for i, row in enumerate(live.rows):
        update(tracker, row)
        if rng.random() < 0.05:
            take(found, tracker.pop_events())
        if i in saves:
            now = [tracker.current(name) for name in tracker.streams]
            tracker.save(path)
            tracker = cf.Tracker.load(path)
            assert [tracker.current(name) for name in tracker.streams] == now
            assert tracker.chain.rule == live.chain.rule
    same(ended(tracker, found), expected(live, [[row] for row in live.rows]))


@given(seed=seeds, limits=limits)
def test_the_current_event_is_the_last_one_if_the_stream_ended_now(
    seed: int, limits: dict[str, Any]
) -> None:
    live = random_live(seed, 40, **limits)
    tracker = live.tracker()
    for i, row in enumerate(live.rows):
        update(tracker, row)
        now = tracker.current(row.stream)
        part = stretches(live, [[row] for row in live.rows[: i + 1]])[row.stream][-1]
        events = offline(live.chain, part)
        rule = live.chain.rule
        assert rule is not None
        max_gap = math.inf if rule.max_gap is None else rule.max_gap
        step = slow_events.weights_of(np.array([row.time for row in part]), max_gap)[-1]
        goes_on = bool(events) and events[-1].end == row.time + step
        if now is None:
            continue
        assert goes_on
        if rule.max_duration is None:
            assert now == events[-1]._replace(end=None)


def test_a_current_event_is_there() -> None:
    """Nearly always, where all classes are reported."""
    rng = np.random.default_rng(0)
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), events=cf.EventRule(1.0))
    current = []
    for t in range(50):
        tracker.update("ann", float(t), None, rng.dirichlet(np.ones(4)))
        current.append(tracker.current("ann"))
    assert None not in current[1:]
    assert {event.end for event in current[1:] if event} == {None}


INVALID: list[tuple[Any, ...]] = [
    ("ann", -100.0, "weak", [0.25] * 4),
    ("ann", math.nan, "weak", [0.25] * 4),
    ("ann", 1e5, "unknown", [0.25] * 4),
    ("ann", 1e5, "weak", [0.0] * 4),
    ("ann", 1e5, "weak", [0.5, math.nan, 0.25, 0.25]),
    ("ann", 1e5, "weak", [1.0]),
    ("new", 1e5, "weak", [-1.0, 1.0, 1.0, 0.0]),
    (math.nan, 1e5, "weak", [0.25] * 4),
]


@pytest.mark.parametrize("policy", [False, True])
@pytest.mark.parametrize("limits", [{}, {"expire_after": 30.0}, {"max_streams": 2}], ids=str)
def test_invalid_rows_change_nothing(limits: dict[str, Any], policy: bool) -> None:
    seed = next(
        seed
        for seed in range(100)
        if (random_live(seed).chain.policy is not None) == policy
        and len(one_by_one(random_live(seed), np.random.default_rng(0))) == 3
    )
    live = random_live(seed, **limits)
    tracker = live.tracker()
    found: dict[Any, Any] = {}
    for i, row in enumerate(live.rows):
        update(tracker, row)
        bad = INVALID[i % len(INVALID)]
        if bad[1] < 0 and "ann" not in tracker:
            continue  # a stream may begin at any time
        before = [tracker.current(name) for name in tracker.streams]
        with pytest.raises(ValueError, match="; "):
            tracker.update(*bad)
        streams, times, sources, probs = map(list, zip(row, bad, strict=True))
        with pytest.raises(ValueError, match="; "):
            tracker.update_many(streams, times, sources, probs)
        assert [tracker.current(name) for name in tracker.streams] == before
        if i % 20 == 0:
            take(found, tracker.pop_events())
    same(ended(tracker, found), expected(live, [[row] for row in live.rows]))


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("many", [False, True])
def test_an_event_of_too_many_pieces_changes_nothing(name: str, many: bool) -> None:
    """What the rule refuses, the filter has not taken either."""
    tracker = cf.Tracker(FILTERS[name](), events=cf.EventRule(0.5, max_duration=1e-3))
    for time in (0.0, 1e5):
        tracker.update("a", time, None, "walk")

    def known() -> Any:
        return tracker.probs("a").tobytes(), tracker.time("a"), tracker.current("a")

    before, refused = known(), None
    for call in range(30):
        times = 2e5 + 30 * call + np.arange(30.0 if many else 1.0)
        try:
            if many:
                tracker.update_many(["a"] * 30, times, None, ["sit"] * 30)
            else:
                tracker.update("a", times[0], None, "sit")
        except ValueError as error:
            refused = str(error)
            break
        before = known()
    assert refused
    assert "max_duration" in refused
    assert known() == before


def test_without_a_rule_it_says_how_to_give_one() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update("ann", 0.0, None, "walk")
    for call in (tracker.pop_events, lambda: tracker.current("ann")):
        with pytest.raises(ValueError, match="no rule for events; give one: events=EventRule"):
            call()
    with pytest.raises(ValueError, match="events is True, but the chain has no rule; give one"):
        cf.Tracker(cf.DirichletFilter(CLASSES), events=True)


def test_a_rule_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="'fly'"):
        cf.Tracker(cf.DirichletFilter(CLASSES), events=cf.EventRule(1.0, ignore="fly"))


def test_the_rule_of_a_chain_is_used_only_if_asked_for() -> None:
    chain = cf.Chain(cf.DirichletFilter(CLASSES)).with_rule(cf.EventRule(1.0))
    assert cf.Tracker(chain).chain.rule is None
    assert cf.Tracker(chain, events=True).chain.rule == cf.EventRule(1.0)
    other = cf.Tracker(chain, events=cf.EventRule(2.0))
    assert other.chain.rule == cf.EventRule(2.0)
    assert len({cf.Tracker(chain).chain.digest, chain.digest, other.chain.digest}) == 3


def test_of_a_stream_that_is_not_there() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), events=cf.EventRule(1.0))
    assert tracker.pop_events() == []
    with pytest.raises(KeyError, match="there is no stream 'ann'"):
        tracker.current("ann")


def waiting(path: Path) -> Live:
    """Save a tracker with events to be fetched, of streams that are over and of others."""
    chain = cf.Chain(cf.DirichletFilter(CLASSES)).with_rule(cf.EventRule(0.5, min_duration=2.0))
    live = random_live(3)._replace(chain=chain)
    tracker = live.tracker()
    for row in live.rows:
        update(tracker, row)
    tracker.drop([NAMES[1]])
    tracker.save(path)
    return live


def use(path: Path) -> None:
    """Load a tracker, and let it do what it can."""
    tracker = cf.Tracker.load(path)
    for name in tracker.streams:
        tracker.current(name)
    for event in tracker.pop_events():
        assert event.label in CLASSES
    for name in NAMES:
        for i in range(30):
            tracker.update(name, 1e4 + i, None, CLASSES[i // 4 % 4])
    tracker.drop(tracker.streams)
    for event in tracker.pop_events():
        assert event.label in CLASSES


def damaged_parts(path: Path) -> dict[str, dict[str, Any]]:
    with np.load(path) as file:
        states, sizes, events = (file[f"event{end}"] for end in ("_states", "_sizes", "s"))
        meta = str(file["meta"])
    assert len(events) > 5
    assert '"ended": [[7, ' in meta
    other = {}
    for column, bad in ((0, 1e9), (0, -1.0), (0, np.nan), (1, 4.0), (1, -1.0), (1, np.inf),
                        (1, 0.5), (2, np.nan), (3, np.inf), (4, np.nan)):  # fmt: skip
        other[f"{bad} in column {column}"] = {"events": events.copy()}
        other[f"{bad} in column {column}"]["events"][1, column] = bad
    return other | {
        "no states": {"event_states": states[:0]},
        "a byte less": {"event_states": states[:-1]},
        "another type": {"event_states": states.astype(np.float64)},
        "other sizes": {"event_sizes": sizes + np.array([1, -1])},
        "a state of another stream": {"event_sizes": np.array([sizes.sum(), 0])},
        "negative sizes": {"event_sizes": sizes + np.array([1, -1]) * len(states)},
        "sizes that are no whole numbers": {"event_sizes": sizes + 0.5},
        "a stream without a state": {
            "event_sizes": sizes * [1, 0],
            "event_states": states[: sizes[0]],
            "events": events[events[:, 0] == 0],
        },
        "one size": {"event_sizes": sizes[:1]},
        "events in another shape": {"events": events.ravel()},
        "ended of no class": {"meta": meta.replace('"ended": [[7, ', '"ended": [[7, 9')},
        "ended of class -1": {"meta": meta.replace('"ended": [[7, ', '"ended": [[7, -1')},
        "ended at no time": {"meta": meta.replace('"ended": [[7, ', '"ended": [[7, 0, NaN],[7, ')},
        "no ended": {"meta": meta.replace('"ended"', '"endet"')},
    }


def test_damaged_events_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tracker"
    waiting(path)
    use(path)
    content = path.read_bytes()
    for name, parts in damaged_parts(path).items():
        other = tmp_path / name
        other.write_bytes(content)
        replace_parts(other, **parts)
        with pytest.raises(ValueError, match="is damaged: "):
            cf.Tracker.load(other)


@pytest.mark.parametrize("every", [pytest.param(3, marks=pytest.mark.slow), 97])
def test_a_damaged_state_of_the_rule_never_crashes(tmp_path: Path, every: int) -> None:
    """Most bits matter; a number that another row might have given cannot be told from it."""
    path = tmp_path / "tracker"
    waiting(path)
    with np.load(path) as file:
        states = file["event_states"]
    refused = 0
    for at in range(0, len(states), every):
        other = states.copy()
        other[at] ^= 1 << at % 8
        replace_parts(path, event_states=other)
        try:
            use(path)
        except ValueError:
            refused += 1
    assert refused > 0
