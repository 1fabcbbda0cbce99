"""Events of live streams: those of the whole stream, each once, however the rows come."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
import label_event_cases
from label_event_cases import LABELS, random_labels, random_lagged_labels
from live_event_cases import (
    CLASSES,
    FILTERS,
    NAMES,
    SMOOTHERS,
    Events,
    Live,
    Row,
    ended,
    expected,
    random_lagged,
    random_live,
    take,
    update_many,
)
from saved_files import flipped, sql

# Some random rows stand twice, or have steps that do not fit the filter.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")

KINDS: dict[str, Any] = {
    "classes": random_live,
    "labels": random_labels,
    "lag": random_lagged,
    "lag, labels": random_lagged_labels,
}
every_kind = pytest.mark.parametrize("kind", KINDS)
seeds = st.integers(0, 2**32 - 1)
limits = st.sampled_from([{}, {"expire_after": 4.0}, {"max_streams": 2}, {"max_streams": 1}])


def same(live: Live, found: Events, wanted: Events) -> None:
    """Compare to the bit, in the order of each stream; of labels, in the order of each label."""

    def grouped(events: Events) -> dict[Any, list[cf.Event]]:
        groups: dict[Any, list[cf.Event]] = {}
        for name, several in events.items():
            for event in several:
                groups.setdefault((name, event.label if live.labels else None), []).append(event)
        return groups

    assert grouped(found) == grouped(wanted)


def row_by_row(live: Live) -> list[list[Row]]:
    return [[row] for row in live.rows]


def whole(live: Live) -> Live:
    """Return the same without max_duration, whose pieces begin with no start of their own."""

    def undivided(pipe: cf.Pipeline) -> cf.Pipeline:
        assert pipe.rule is not None
        return replace(pipe, rule=replace(pipe.rule, max_duration=None))

    if live.lag is None:
        return live._replace(pipe=undivided(live.pipe))
    assert live.pipe.smoother is not None
    return live._replace(pipe=replace(live.pipe, smoother=undivided(live.pipe.smoother)))


@every_kind
@given(seed=seeds, limits=limits)
def test_each_event_has_one_start_before_it_and_none_is_withdrawn(
    kind: str, seed: int, limits: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also with starts that wait to be fetched when the tracker is saved."""
    live, rng = KINDS[kind](seed, **limits), np.random.default_rng(seed)
    path = tmp_path_factory.getbasetemp() / "tracker"
    cuts = [0, *np.sort(rng.integers(0, len(live.rows) + 1, 6)).tolist(), len(live.rows)]
    calls = [live.rows[a:b] for a, b in pairwise(cuts) if b > a]
    tracker = live.tracker()
    starts: Events = {}
    for rows in calls:
        if rng.random() < 0.3 and "max_streams" not in limits:  # those would be dropped earlier
            for row in rows:
                tracker.update(*row)
                if rng.random() < 0.5:
                    take(starts, tracker.pop_starts())
                known = {event[1:3] for event in starts.get(row.stream, [])}
                now = tracker.current(row.stream)
                if not tracker._table.started:
                    for event in now if live.labels else [now] if now else []:
                        assert not event.final or event[1:3] in known
        else:
            update_many(tracker, rows)
        if rng.random() < 0.5:
            take(starts, tracker.pop_starts())
        if rng.random() < 0.5:
            tracker.save(path)
            tracker = cf.Tracker.load(path)
    tracker.drop(tracker.streams)
    take(starts, tracker.pop_starts())
    assert tracker.pop_starts() == []
    assert {event[3:] for events in starts.values() for event in events} <= {(None, None)}
    events = expected(whole(live), calls)
    wanted = {
        name: [event._replace(end=None, probability=None) for event in own]
        for name, own in events.items()
        if own
    }
    if live.labels or "expire_after" in limits:
        for group in (*starts.values(), *wanted.values()):
            group.sort(key=lambda event: (event.label, event.start))
    assert starts == wanted


def test_a_start_whose_event_was_fetched_is_none_any_more() -> None:
    tracker = cf.Tracker(cf.RawFilter(["a", "b"]), events=cf.EventRule(0.5))
    for time, label in enumerate("aaaabbbbbbbb"):
        tracker.update("x", float(time), None, label)
    assert [(event.label, event.end) for event in tracker.pop_events()] == [("a", 4.0)]
    [start] = tracker.pop_starts()
    assert start == cf.Event("x", "b", 4.0, None)
    assert tracker.pop_starts() == []
    assert tracker.current("x").final
    tracker.hand_over("x", "y")
    tracker.update("z", 0.0, None, "a")
    tracker.update_many(["z"] * 3, [1.0, 2.0, 3.0], None, ["a"] * 3)
    tracker.hand_over("z", "w")
    tracker.drop(["y", "w"])
    assert tracker.pop_starts() == [cf.Event("w", "a", 0.0, None)]


def test_expire_finishes_streams_too() -> None:
    live = random_live(1, expire_after=1e3)
    tracker = live.tracker()
    for row in live.rows:
        tracker.update(*row)
    tracker.expire(1e6)
    found: Events = {}
    take(found, tracker.pop_events())
    same(live, found, expected(live, row_by_row(live)))
    assert sum(map(len, found.values())) > 10


def test_a_stream_that_begins_anew_gives_its_last_events_at_once() -> None:
    f = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.5 ** (1 / 6)))
    tracker = cf.Tracker(f, events=cf.EventRule(0.5), expire_after=5.0)
    for time in (0.0, 1.0, 2.0, 3.0, 20.0):
        tracker.update("a", time, None, [0.1, 0.9, 0.1])
    assert [(e.label, e.start, e.end) for e in tracker.pop_events()] == [("wren", 0.0, 4.0)]


# --- the event that goes on -----------------------------------------------------------------


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


@given(seed=seeds)
def test_with_a_lag_the_current_event_is_that_of_the_rows_smoothed_so_far(seed: int) -> None:
    """A plain rule that gets the lagged rows from the first prediction on is at the same event."""
    live = random_lagged(seed)
    smoother, lag = live.pipe.smoothing, live.lag
    assert lag is not None
    assert smoother.rule is not None
    core = smoother.rule.compiled(smoother.heads, smoother.filter.dtype)
    tracker = live.tracker()
    seen: dict[Any, list[Row]] = {}
    for row in live.rows:
        tracker.update(*row)
        rows = seen.setdefault(row.stream, [])
        rows.append(row)
        _, time, source, probs = zip(*rows, strict=True)
        given = cf.rows(time=time, source=source, probs=list(probs), classes=CLASSES)
        counts = given.observed() & np.array([smoother.weight(name)[1] > 0 for name in source])
        smoothed = smoother.smooth(given, lag=lag)
        smoothed[: counts.argmax() if counts.any() else len(rows)] = np.nan
        count = len(rows) - lag if len(rows) > lag + 1 else 0
        state = core.run(core.start(), np.array(time)[:count], smoothed[:count])[0]
        current, now = core.current(state), tracker.current(row.stream)
        assert (current is None) == (now is None)
        if now is not None:
            k, start, probability, _ = current
            assert now == cf.Event(row.stream, CLASSES[k], start, None, probability)


@given(seed=seeds)
def test_what_each_row_confirms_and_leaves_open_is_what_each_label_has(seed: int) -> None:
    """As trackers of the lanes have it; the probability of off may round in another way there."""
    live = random_labels(seed, 25)
    rule = live.pipe.rule
    assert rule is not None
    labels = [name for name in LABELS if name not in rule.ignore]
    lanes = [cf.Tracker(live.pipe.head(name), events=True) for name in labels]
    tracker = live.tracker()
    for row in live.rows:
        tracker.update(*row)
        alone, confirmed = [], []
        for name, lane in zip(labels, lanes, strict=True):
            s = np.asarray(row.probs[LABELS.index(name)], lane.pipe.filter.probs.dtype)
            lane.update(*row[:3], np.stack([1 - s, s]))
            alone.append(lane.current(row.stream))
            confirmed += lane.pop_events()
        events = tracker.current(row.stream)
        assert [(e.label, e.start) for e in events] == [(e.label, e.start) for e in alone if e]
        assert all(e.stream == row.stream and e.end is None for e in events)
        confirmed.sort(key=lambda e: (e.end, LABELS.index(e.label)))
        assert [e[:4] for e in tracker.pop_events()] == [e[:4] for e in confirmed]


# --- what is refused ------------------------------------------------------------------------


def known(tracker: cf.Tracker) -> Any:
    """Return all that a tracker knows of its streams."""
    table = tracker._table
    return [
        (name, tracker.time(name), tracker.probs(name).tobytes(), table.columns.events[slot])
        for name, slot in table.slots.items()
    ]


def invalid(live: Live) -> list[tuple[Any, ...]]:
    K = len(live.pipe.classes)
    rows: list[tuple[Any, ...]] = [
        ("ann", -100.0, "weak", [1 / K] * K),
        ("ann", math.nan, "weak", [1 / K] * K),
        ("ann", 1e5, "unknown", [1 / K] * K),
        ("ann", 1e5, "weak", [0.5, 1.5, *[0.5] * (K - 2)]),
        ("ann", 1e5, "weak", [1.0]),
        ("new", 1e5, "weak", [-1.0, 1.0, 1.0, *[0.0] * (K - 3)]),
        (math.nan, 1e5, "weak", [1 / K] * K),
    ]
    return rows if live.labels else [*rows, ("ann", 1e5, "weak", [0.5, math.nan, 0.25, 0.25])]


@every_kind
@pytest.mark.parametrize("limits", [{}, {"expire_after": 30.0}, {"max_streams": 2}], ids=str)
@given(seed=st.integers(0, 99))
def test_invalid_rows_change_nothing(kind: str, limits: dict[str, Any], seed: int) -> None:
    live = KINDS[kind](seed, **limits)
    tracker = live.tracker()
    found: Events = {}
    for i, row in enumerate(live.rows):
        tracker.update(*row)
        bad = invalid(live)[i % len(invalid(live))]
        if bad[1] < 0 and "ann" not in tracker:
            continue  # a stream may begin at any time
        before = known(tracker)
        with pytest.raises(ValueError, match="; "):
            tracker.update(*bad)
        with pytest.raises(ValueError, match="; "):
            tracker.update_many(*map(list, zip(row, bad, strict=True)))
        assert known(tracker) == before
        if i % 20 == 0:
            take(found, tracker.pop_events())
    same(live, ended(tracker, found), expected(live, row_by_row(live)))


FIRST, THEN = (
    {"classes": "walk", "labels": [0.1, 0.9, 0.1]},
    {"classes": "sit", "labels": [0.1] * 3},
)
OF_LABELS = cf.MultiLabelFilter(LABELS, label_event_cases.FILTERS["sticky"]())
FITTING = [
    ("classes", FILTERS["sticky"](), None),
    ("labels", OF_LABELS, None),
    ("classes", SMOOTHERS["sticky"](), 2),
]


@pytest.mark.parametrize(("kind", "f", "lag"), FITTING)
@pytest.mark.parametrize("rows", [1, 30])
def test_an_event_of_many_pieces_is_an_event(kind: str, f: Any, lag: int | None, rows: int) -> None:
    """A clock that is set makes a long event: no row fails for it, in no stream."""
    tracker = cf.Tracker(f, events=cf.EventRule(0.5, max_duration=1e-3), lag=lag, max_streams=2)
    for time in (0.0, 1e5):
        tracker.update("a", time, None, FIRST[kind])
    for call in range(10):
        times = 2e5 + 30 * call + np.arange(float(rows))
        if rows > 1:
            tracker.update_many(["a"] * rows, times, None, [THEN[kind]] * rows)
        else:
            tracker.update("a", times[0], None, THEN[kind])
    for name in ("b", "c", "d"):
        tracker.update(name, 3e5, None, FIRST[kind])
    assert list(tracker.streams) == ["c", "d"]
    tracker.drop(tracker.streams)
    pieces = [event for event in tracker.pop_events() if event.stream == "a"]
    assert 10_000 < len(pieces) < 4 * 100_000
    ends = dict.fromkeys((event.label for event in pieces), -math.inf)
    for event in pieces:
        assert event.end is not None
        assert ends[event.label] <= event.start < event.end
        ends[event.label] = event.end


def test_the_rule_of_a_pipe_is_used_only_if_asked_for() -> None:
    pipe = replace(cf.Pipeline(cf.DirichletFilter(CLASSES)), rule=cf.EventRule(1.0))
    assert cf.Tracker(pipe).pipe.rule is None
    assert cf.Tracker(pipe, events=True).pipe.rule == cf.EventRule(1.0)
    other = cf.Tracker(pipe, events=cf.EventRule(2.0))
    assert other.pipe.rule == cf.EventRule(2.0)
    assert len({cf.Tracker(pipe).pipe.digest, pipe.digest, other.pipe.digest}) == 3


def test_with_a_lag_the_rule_of_the_smoother_is_used() -> None:
    rule, sticky = cf.EventRule(1.0), cf.StickyFilter(CLASSES)
    both = cf.Pipeline(sticky, rule=rule, smoother=cf.Pipeline(sticky, rule=cf.EventRule(9.0)))
    assert cf.Tracker(both, events=True, lag=3).pipe.rule == cf.EventRule(9.0)
    assert cf.Tracker(both, events=True).pipe.rule == rule


def waiting(path: Path, lag: int | None) -> None:
    """Save a tracker with events to be fetched, of streams that are over and of others."""
    pipe = replace(
        cf.Pipeline(cf.DirichletFilter(CLASSES)), rule=cf.EventRule(0.5, min_duration=2.0)
    )
    live = random_live(3)._replace(pipe=pipe, lag=lag)
    tracker = live.tracker()
    for row in live.rows:
        tracker.update(*row)
    tracker.drop([NAMES[1]])
    tracker.save(path)


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


DAMAGE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a class that is none": ("UPDATE events SET class = 'fly'", ()),
    "a start without an end": ("UPDATE events SET start = ?", (math.inf,)),
    "an end of text": ("UPDATE events SET \"end\" = 'noon'", ()),
    "a probability of nothing": ("UPDATE events SET probability = NULL", ()),
    "an event that is missing": ("DELETE FROM events WHERE number = 2", ()),
    "no state": ("UPDATE streams SET state = x''", ()),
    "a byte less": ("UPDATE streams SET state = substr(state, 1, length(state) - 1)", ()),
    "a byte more": ("UPDATE streams SET state = CAST(state || x'00' AS BLOB)", ()),
    "text for a state": ("UPDATE streams SET state = 'text'", ()),
    "a stream twice": ("UPDATE streams SET name = 'one'", ()),
    "a time of text": ("UPDATE streams SET time = 'noon'", ()),
    "a time without an end": ("UPDATE streams SET time = ?", (math.inf,)),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("lag", [None, 3])
def test_damaged_events_are_refused(tmp_path: Path, lag: int | None, name: str) -> None:
    path = tmp_path / "tracker"
    waiting(path, lag)
    use(path)
    statement, values = DAMAGE[name]
    sql(path, statement, *values)
    with pytest.raises(ValueError, match="tracker is damaged: "):
        cf.Tracker.load(path)


@pytest.mark.parametrize("every", [pytest.param(3, marks=pytest.mark.slow), 97])
@pytest.mark.parametrize("lag", [None, 3])
def test_a_damaged_state_of_the_rule_never_crashes(
    tmp_path: Path, lag: int | None, every: int
) -> None:
    """Most bits matter; a number that another row might have given cannot be told from it."""
    path = tmp_path / "tracker"
    waiting(path, lag)
    [[number, state], *_] = sql(path, "SELECT number, state FROM streams")
    refused = 0
    for at in range(0, len(state), every):
        sql(path, "UPDATE streams SET state = ? WHERE number = ?", flipped(state, at), number)
        try:
            use(path)
        except ValueError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("name", ["sticky", "dirichlet"])
def test_a_lagged_state_with_an_impossible_number_is_refused(name: str) -> None:
    tracker = cf.Tracker(SMOOTHERS[name](), events=cf.EventRule(0.5), lag=3)
    for i in range(9):
        tracker.update("a", float(i), None, CLASSES[i % 2])
    stage: Any = tracker._engine.stages.lag
    numbers = np.frombuffer(tracker._table.columns.held[0])
    stage.unpack(numbers.tobytes())
    K = len(CLASSES)
    first = 2 + K  # the number of rows and the state come before the rows
    step, columns = first + 2, first + 3
    wrong = [(step, -1.0), (step, math.inf), (first + 1, 9.0), (first + 1, math.inf), (0, 8.5)]
    if name == "sticky":
        wrong += [(columns, -0.1), (columns, math.nan), (columns + K, 0.9), (columns + K, -0.5)]
        wrong += [(columns + K, math.nan)]
    else:
        wrong += [(columns, 2.0), (columns, -0.1), (columns, math.nan), (columns + 1, 1.1)]
        wrong += [(columns + 2, -0.1), (columns + 2, math.nan), (columns + 3, 0.9)]
    for place, bad in wrong:
        other = numbers.copy()
        other[place] = bad
        with pytest.raises(ValueError, match="are no rows"):
            stage.unpack(other.tobytes())
    for count in (-1.0, math.nan, 1e300):
        with pytest.raises(ValueError, match="cut off"):
            stage.unpack(np.append(count, numbers[1:-1]).tobytes())
    for place in (1, 2):
        other = numbers.copy()
        other[place] = math.nan
        with pytest.raises(ValueError, match="state of stream"):
            stage.unpack(other.tobytes())


def test_events_that_nobody_fetches_are_not_copied() -> None:
    """Each row takes as much memory as before, so that all of them take linear time."""
    tracker = cf.Tracker(cf.RawFilter(["a", "b"]), events=cf.EventRule(0.0))
    times = np.arange(60_000.0)
    probs = np.where(times[:, None] % 2, [0.9, 0.1], [0.1, 0.9])
    tracker.update_many(["x"] * len(times), times, None, probs)
    for i in range(4):  # the list of events gets room for more
        tracker.update("x", times[-1] + 1 + i, None, [0.1, 0.9] if i % 2 else [0.9, 0.1])
    tracemalloc.start()
    try:
        tracker.update("x", times[-1] + 5, None, [0.9, 0.1])
        tracker.update_many(["x"], [times[-1] + 6], None, [[0.1, 0.9]])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000
    assert len(tracker.pop_events()) > 59_000


class Failing:
    """A rule that fails at the end of a stream."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def finish(self, state: Any, starts: Any) -> Any:
        raise ValueError("it has too many pieces")


@pytest.mark.parametrize("many", [False, True])
def test_a_stream_that_fails_at_its_end_harms_no_other(
    many: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tracker = cf.Tracker(
        cf.RawFilter(["a", "b"]), events=cf.EventRule(0.0), max_streams=1, expire_after=50.0
    )
    stage: Any = tracker._engine.stages.rule
    stage.core = Failing(stage.core)
    for i, stream in enumerate(["bad", "good", "better"]):
        row = stream, float(i), None, [0.9, 0.1]
        tracker.update_many([stream], [row[1]], None, [row[3]]) if many else tracker.update(*row)
    assert tracker.streams == ["better"]
    assert "stream 'bad' ends without its last events: it has too many pieces" in caplog.text
    tracker.update("better", 100.0, None, [0.9, 0.1])
    tracker.drop(["better"])
    assert tracker.expire(1000.0) == []
    assert tracker.pop_events() == []
