"""Live events at a fixed lag: those of the whole stream smoothed with that lag, to the bit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from live_event_cases import (
    BETA,
    CLASSES,
    POLICY,
    Events,
    Live,
    Row,
    ended,
    random_live,
    random_rule,
    stretches,
    take,
)
from saved_files import replace_parts

seeds = st.integers(0, 2**32 - 1)
limits = st.sampled_from([{}, {"expire_after": 4.0}, {"max_streams": 2}, {"max_streams": 1}])
CHANNEL = cf.Channel(np.eye(4) * 6 + 1)
MATRIX = np.eye(4) * 0.8 + 0.05
SMOOTHERS: dict[str, Any] = {
    "sticky": lambda: cf.StickyFilter(CLASSES, half_life=4.0),
    "sticky, single": lambda: cf.StickyFilter(
        CLASSES, half_life=4.0, temperature=1.4, dtype="float32"
    ),
    "transitions": lambda: cf.StickyFilter(CLASSES, transitions=MATRIX),
    "dirichlet": lambda: cf.DirichletFilter(CLASSES, half_life=4.0, temperature=1.4),
    "dirichlet, single": lambda: cf.DirichletFilter(CLASSES, half_life=4.0, dtype="float32"),
}


class Lagged(NamedTuple):
    """A tracker with a lag, and its rows."""

    live: Live
    lag: int

    def tracker(self) -> cf.Tracker:
        return cf.Tracker(self.live.chain, events=True, lag=self.lag, **self.live.limits)

    def expected(self, calls: Iterable[Iterable[Row]]) -> Events:
        """Return the events of each stream after the end of all."""
        found: Events = {}
        for name, parts in stretches(self.live, calls).items():
            for part in parts:
                found.setdefault(name, []).extend(self.offline(part))
        return {name: events for name, events in found.items() if events}

    def offline(self, part: Iterable[Row]) -> list[cf.Event]:
        stream, time, source, probs = zip(*part, strict=True)
        rec = cf.Recording(time, source, list(probs), CLASSES)
        return [*cf.events({stream[0]: rec}, self.live.chain, smooth=True, lag=self.lag)]


def random_lagged(seed: int, rows: int = 60, **limits: Any) -> Lagged:
    """Return any filter, with a smoother that differs from it in all; short and long lags."""
    rng = np.random.default_rng(seed)
    live = random_live(seed, rows, **limits)
    make = SMOOTHERS[list(SMOOTHERS)[rng.integers(len(SMOOTHERS))]]
    beta = {"weak": 0.4, "strong": 0.9}
    channel = {"weak": CHANNEL} if rng.random() < 0.5 else {}
    smoother = cf.Chain(make(), beta=beta, channel=channel, rule=random_rule(rng))
    policy = POLICY if rng.random() < 0.25 else None
    chain = cf.Chain(live.chain.filter(), beta=BETA, policy=policy, smoother=smoother)
    if rng.random() < 0.25:  # classes alone: how much they count depends on the channel
        live = live._replace(rows=[row._replace(probs=label_of(row)) for row in live.rows])
    return Lagged(live._replace(chain=chain), int(rng.choice([1, 2, 5, 30])))


def label_of(row: Row) -> Any:
    return None if math.isnan(row.probs[0]) else CLASSES[int(np.argmax(row.probs))]


def update_rows(tracker: cf.Tracker, rows: Iterable[Row]) -> Any:
    streams, times, sources, probs = zip(*rows, strict=True)
    return tracker.update_many(list(streams), times, sources, list(probs))


def chunks(rng: np.random.Generator, rows: list[Row]) -> list[list[Row]]:
    cuts = [0, *np.sort(rng.integers(0, len(rows) + 1, 5)).tolist(), len(rows)]
    return [rows[a:b] for a, b in pairwise(cuts) if b > a]


@given(seed=seeds, limits=limits)
def test_row_by_row_events_are_those_of_the_smoothed_recording(
    seed: int, limits: dict[str, Any]
) -> None:
    lagged, rng = random_lagged(seed, **limits), np.random.default_rng(seed)
    tracker = lagged.tracker()
    found: Events = {}
    plain = cf.Tracker(lagged.live.chain, **lagged.live.limits)
    for row in lagged.live.rows:
        assert tracker.update(*row).tobytes() == plain.update(*row).tobytes()
        if rng.random() < 0.1:
            take(found, tracker.pop_events())
    assert tracker.streams == plain.streams
    assert ended(tracker, found) == lagged.expected([[row] for row in lagged.live.rows])


@given(seed=seeds, limits=limits)
def test_any_chunking_gives_the_same_events(seed: int, limits: dict[str, Any]) -> None:
    lagged, rng = random_lagged(seed, **limits), np.random.default_rng(seed)
    calls = chunks(rng, lagged.live.rows)
    tracker = lagged.tracker()
    found: Events = {}
    for rows in calls:
        if rng.random() < 0.2 and "max_streams" not in limits:  # those would be dropped earlier
            for row in rows:
                tracker.update(*row)
        else:
            update_rows(tracker, rows)
        if rng.random() < 0.5:
            take(found, tracker.pop_events())
    assert ended(tracker, found) == lagged.expected(calls)


@given(seed=seeds, limits=limits)
def test_saved_and_loaded_it_goes_on(
    seed: int, limits: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lagged, rng = random_lagged(seed, **limits), np.random.default_rng(seed)
    path = tmp_path_factory.getbasetemp() / "lagged"
    tracker = lagged.tracker()
    found: Events = {}
    calls = chunks(rng, lagged.live.rows)
    for rows in calls:
        update_rows(tracker, rows)
        now = [tracker.current(name) for name in tracker.streams]
        tracker.save(path)
        tracker = cf.Tracker.load(path)
        assert tracker.lag == lagged.lag
        assert [tracker.current(name) for name in tracker.streams] == now
    assert ended(tracker, found) == lagged.expected(calls)


@given(seed=seeds)
def test_the_current_event_is_that_of_the_rows_smoothed_so_far(seed: int) -> None:
    """A plain rule that gets the lagged rows themselves is at the same event."""
    lagged = random_lagged(seed)
    chain, lag = lagged.live.chain.smoother, lagged.lag
    core = chain.rule.compiled(CLASSES, chain.filter().dtype)  # type: ignore[union-attr]
    tracker = lagged.tracker()
    seen: dict[Any, list[Row]] = {}
    for row in lagged.live.rows:
        tracker.update(*row)
        rows = seen.setdefault(row.stream, [])
        rows.append(row)
        _, time, source, probs = zip(*rows, strict=True)
        smoothed = cf.Recording(time, source, list(probs), CLASSES).smooth(chain, lag=lag)
        count = len(rows) - lag if len(rows) > lag + 1 else 0
        state = core.run(core.start(), np.array(time)[:count], smoothed[:count])[0]
        current, now = core.current(state), tracker.current(row.stream)
        assert (current is None) == (now is None)
        if now is not None:
            k, start, probability, _ = current
            assert now == cf.Event(row.stream, CLASSES[k], start, None, probability)


INVALID: list[tuple[Any, ...]] = [
    ("ann", -100.0, "weak", [0.25] * 4),
    ("ann", math.nan, "weak", [0.25] * 4),
    ("ann", 1e5, "unknown", [0.25] * 4),
    ("ann", 1e5, "weak", [0.5, math.nan, 0.25, 0.25]),
    ("ann", 1e5, "weak", [1.0]),
    ("new", 1e5, "weak", [-1.0, 1.0, 1.0, 0.0]),
]


@pytest.mark.parametrize("seed", range(4))
def test_invalid_rows_change_nothing(seed: int) -> None:
    lagged = random_lagged(seed)
    tracker = lagged.tracker()
    found: Events = {}
    for i, row in enumerate(lagged.live.rows):
        tracker.update(*row)
        bad = INVALID[i % len(INVALID)]
        if bad[1] < 0 and "ann" not in tracker:
            continue  # a stream may begin at any time
        before = known(tracker)
        with pytest.raises(ValueError, match="; "):
            tracker.update(*bad)
        with pytest.raises(ValueError, match="; "):
            tracker.update_many(*map(list, zip(row, bad, strict=True)))
        assert known(tracker) == before
    assert ended(tracker, found) == lagged.expected([[row] for row in lagged.live.rows])


def known(tracker: cf.Tracker) -> Any:
    table = tracker._table
    return [(name, table.columns.events[slot], tracker.probs(name).tobytes())
            for name, slot in table.slots.items()]  # fmt: skip


@pytest.mark.parametrize("many", [False, True])
def test_an_event_of_too_many_pieces_changes_nothing(many: bool) -> None:
    """What the rule refuses, neither filter nor smoother have taken."""
    rule = cf.EventRule(0.5, max_duration=1e-3)
    tracker = cf.Tracker(cf.StickyFilter(CLASSES), events=rule, lag=2)
    for time in (0.0, 1e5):
        tracker.update("a", time, None, "walk")
    before, refused = known(tracker), ""
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
        before = known(tracker)
    assert "max_duration" in refused
    assert known(tracker) == before


def labelled(lag: int, seed: int) -> tuple[cf.Chain, Any, Any]:
    rng = np.random.default_rng(seed)
    names = ["robin", "wren", "owl"]
    filters = {"robin": cf.StickyFilter(2, half_life=1.0), "wren": cf.DirichletFilter(2, 0.5),
               "owl": cf.StickyFilter(2, transitions=[[0.6, 0.4], [0.4, 0.6]])}  # fmt: skip
    below = cf.MultiLabelFilter(names, cf.StickyFilter(2, half_life=1.0))
    beta: Any = {"weak": {"robin": 0.5, "wren": 0.25, "owl": 1.0}, "strong": 1.0}
    channel = {"weak": {"robin": cf.Channel([[8, 2], [3, 7]]), "wren": None, "owl": None}}
    rule = cf.EventRule(0.1, min_duration={"wren": 1.0})
    smoother = cf.Chain(
        cf.MultiLabelFilter(names, filters), beta=beta, rule=rule, channel=channel if seed else None
    )
    scores = rng.random((70, 3))
    scores[rng.random(scores.shape) < 0.1] = np.nan
    return cf.Chain(below, beta=BETA, smoother=smoother), scores, rng.choice(list(BETA), 70)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("lag", [1, 4])
def test_several_labels_at_once(lag: int, seed: int, tmp_path: Path) -> None:
    chain, scores, sources = labelled(lag, seed)
    time = np.arange(70) * 0.5
    rec = cf.Recording(time, sources, scores, chain.classes, scores="independent")
    wanted = [*cf.events({"a": rec}, chain, smooth=True, lag=lag)]
    assert len(wanted) > 5
    tracker = cf.Tracker(chain, events=True, lag=lag)
    for t, source, row in zip(time[:20], sources, scores, strict=False):
        tracker.update("a", t, source, row)
    tracker.save(tmp_path / "labels")
    tracker = cf.Tracker.load(tmp_path / "labels")
    assert isinstance(tracker.current("a"), list)
    tracker.update_many(["a"] * 50, time[20:], sources[20:], scores[20:])
    tracker.drop(["a"])
    by_start = [*tracker.pop_events()]
    by_start.sort(key=lambda e: (e.start, chain.classes.index(e.label)))
    assert by_start == wanted


def test_what_does_not_fit_is_refused() -> None:
    rule, sticky = cf.EventRule(1.0), cf.StickyFilter(CLASSES)
    with pytest.raises(TypeError, match="EmaFilter, which cannot smooth; give a DirichletFilter"):
        cf.Tracker(cf.EmaFilter(CLASSES), events=rule, lag=2)
    with pytest.raises(ValueError, match="lag is 0; it must be 1 row or more: leave it out"):
        cf.Tracker(sticky, events=rule, lag=0)
    with pytest.raises(ValueError, match="lag is 2, without events; give events=True"):
        cf.Tracker(sticky, lag=2)
    with pytest.raises(TypeError, match=r"lag is 1\.5; it must be a whole number"):
        cf.Tracker(sticky, events=rule, lag=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the chain has no rule"):
        cf.Tracker(sticky, events=True, lag=2)
    both = cf.Chain(sticky, rule=rule).with_rule(rule, smoothed=cf.EventRule(9.0))
    assert cf.Tracker(both, events=True, lag=3).chain.rule == cf.EventRule(9.0)
    assert cf.Tracker(both, events=True).chain.rule == rule


@pytest.mark.slow
def test_a_damaged_state_never_crashes(tmp_path: Path) -> None:
    """What is refused says so; a number that another row might have given cannot be told."""
    tracker = cf.Tracker(cf.StickyFilter(CLASSES), events=cf.EventRule(0.5), lag=3)
    rng = np.random.default_rng(0)
    for i in range(12):
        tracker.update("a", float(i), None, rng.dirichlet(np.ones(4)))
    path = tmp_path / "tracker"
    tracker.save(path)
    with np.load(path) as file:
        states, sizes = file["event_states"], file["event_sizes"]
    refused = 0
    for at in range(0, len(states), 5):
        other = states.copy()
        other[at] ^= 1 << at % 8
        replace_parts(path, event_states=other)
        try:
            again = cf.Tracker.load(path)
            again.update("a", 20.0, None, "walk")
            again.drop(["a"])
            assert {event.label for event in again.pop_events()} <= set(CLASSES)
        except ValueError:
            refused += 1
    assert refused > 5
    for cut in (states[:8], states[:100], states[:0]):
        replace_parts(path, event_states=cut, event_sizes=sizes * 0 + len(cut))
        with pytest.raises(ValueError, match="is damaged: "):
            cf.Tracker.load(path)


@pytest.mark.parametrize("name", ["sticky", "dirichlet"])
def test_a_state_with_an_impossible_number_is_refused(name: str) -> None:
    tracker = cf.Tracker(SMOOTHERS[name](), events=cf.EventRule(0.5), lag=3)
    for i in range(9):
        tracker.update("a", float(i), None, CLASSES[i % 2])
    live: Any = tracker._live
    core, [(state, _)] = live.core, tracker._table.columns.events[:1]
    core.check(state)
    for column, bad in ((0, -1.0), (0, math.inf), (1, 2.0), (1, -0.1), (1, math.nan), (2, -0.1),
                        (2, math.nan), (3, 0.9), (6, math.nan), (7, -0.5), (9, 0.9)):  # fmt: skip
        known = core._unpacked(state)
        rows = known.lanes[0].rows.copy()
        rows[1, column] = bad
        with pytest.raises(ValueError, match="are no rows"):
            core.check(core._packed(known._replace(lanes=[known.lanes[0]._replace(rows=rows)])))
    for bad_times in ([0.0, 2.0, 1.0], [0.0, 1.0, math.inf]):
        with pytest.raises(ValueError, match="are no rows"):
            core.check(core._packed(known._replace(time=np.array(bad_times))))
    lane = known.lanes[0]
    few = known._replace(lanes=[lane._replace(rows=lane.rows[:2])], time=known.time[:2])
    with pytest.raises(ValueError, match="are no rows"):
        core.check(core._packed(few))
