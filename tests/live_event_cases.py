"""Random trackers with a rule for events, their rows, and the events of each stream offline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import classfilter as cf
from classfilter.policy import Adaptive

CLASSES = ("walk", "sit", "sleep", "run")
NAMES: tuple[Any, ...] = ("ann", 7, ("bob", 1))
BETA = {"weak": 0.25, "strong": 1.0}
POLICY = Adaptive(budget=0.5, horizon=4)
FILTERS: dict[str, Any] = {
    "dirichlet": lambda: cf.DirichletFilter(CLASSES, half_life=6.0),
    "single": lambda: cf.DirichletFilter(CLASSES, half_life=6.0, dtype="float32"),
    "sticky": lambda: cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 6)),
    "sticky, single": lambda: cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 6), dtype="float32"),
    "ema": lambda: cf.EmaFilter(CLASSES),
}


class Row(NamedTuple):
    stream: Any
    time: float
    source: str
    probs: Any


class Live(NamedTuple):
    """A pipeline with a rule, its rows in order of time, and how streams end."""

    pipe: cf.Pipeline
    rows: list[Row]
    limits: dict[str, Any]
    lag: int | None = None

    @property
    def labels(self) -> bool:
        """Whether several labels are there at once."""
        return isinstance(self.pipe.filter, cf.MultiLabelFilter)

    def tracker(self) -> cf.Tracker:
        return cf.Tracker(self.pipe, events=True, lag=self.lag, **self.limits)

    def offline(self, rows: Iterable[Row]) -> list[cf.Event]:
        """Return the events of one stream, by its recording."""
        stream, time, source, probs = zip(*rows, strict=True)
        how: Any = {"scores": "independent"} if self.labels else {}
        rec = cf.rows(time=time, source=source, probs=list(probs), classes=self.pipe.classes, **how)
        how = {} if self.lag is None else {"smooth": True, "lag": self.lag}
        return [*cf.events({stream[0]: rec}, self.pipe, **how)]


Events = dict[Any, list[cf.Event]]


def random_rule(
    rng: np.random.Generator, names: tuple[str, ...] = CLASSES, labels: bool = False
) -> cf.EventRule:
    """Return a rule; each of its options is there about every second time."""

    def some(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def each(*numbers: float) -> dict[str, float]:
        return {name: float(rng.choice(numbers)) for name in names}

    return cf.EventRule(
        some(0.3, 1.0, each(0.0, 0.5, 1.0, 2.0)),
        leave_cost=some(0.0, 0.5, each(0.0, 0.5)),
        min_duration=some(0.0, 2.0, {names[1]: 3.0}, each(0.0, 0.5, 2.0, 3.0)),
        merge_gap=some(None, 0.0, 3.0, *[each(2.0, 5.0)] * labels),
        bias=some(None, 0.1, each(0.0, 0.1, -0.2)),
        evidence=some("time", "time", "log"),
        min_probability=some(None, None, 0.5, 0.6),
        pad=some((0.0, 0.0), (0.5, 0.0), (1.5, 0.5)),
        shift=some(0.0, 0.5, 2.0),
        ignore=some((), (), names[1:2], (names[0], names[-1])),
        max_gap=some(None, 2.0, 4.0),
        max_duration=some(None, None, 2.0),
        max_delay=some(None, None, 4.0),
    )


def random_live(seed: int, rows: int = 120, **limits: Any) -> Live:
    """Return a tracker and rows of several streams and sources; some are missing."""
    rng = np.random.default_rng(seed)
    make = FILTERS[list(FILTERS)[rng.integers(len(FILTERS))]]
    policy = POLICY if rng.random() < 0.25 else None
    pipe = replace(cf.Pipeline(make(), beta=BETA, policy=policy), rule=random_rule(rng))
    times = np.cumsum(rng.choice([0.0, 0.25, 0.5, 0.5, 1.0, 1.0, 3.0, 5.0], rows)) - 4.0
    of = rng.integers(len(NAMES), size=rows)
    truth = np.array([np.cumsum(rng.random(rows) < 0.1) + i for i in range(len(NAMES))])
    sure = rng.choice([0.0, 1.0, 6.0], rows)[:, None] * np.eye(4)[truth[of, np.arange(rows)] % 4]
    probs = np.array([rng.dirichlet(0.5 + row) for row in sure])
    probs[rng.random(rows) < 0.05] = np.nan
    sources = rng.choice(list(BETA), rows).tolist()
    streams = [NAMES[i] for i in of]
    table = zip(streams, times.tolist(), sources, probs.tolist(), strict=True)
    return Live(pipe, [Row(*row) for row in table], limits)


MATRIX = np.eye(4) * 0.8 + 0.05
SMOOTHERS: dict[str, Any] = {
    "sticky": lambda: cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 4)),
    "sticky, single": lambda: cf.StickyFilter(
        CLASSES, stay=0.5 ** (1 / 4), temperature=1.4, dtype="float32"
    ),
    "transitions": lambda: cf.StickyFilter(CLASSES, transitions=MATRIX),
    "dirichlet": lambda: cf.DirichletFilter(CLASSES, half_life=4.0, temperature=1.4),
    "dirichlet, single": lambda: cf.DirichletFilter(CLASSES, half_life=4.0, dtype="float32"),
}


def random_lagged(seed: int, rows: int = 60, **limits: Any) -> Live:
    """Return any filter, with a smoother that differs from it in all; short and long lags."""
    rng = np.random.default_rng(seed)
    live = random_live(seed, rows, **limits)
    make = SMOOTHERS[list(SMOOTHERS)[rng.integers(len(SMOOTHERS))]]
    channel = {"weak": cf.Channel(np.eye(4) * 6 + 1)} if rng.random() < 0.5 else {}
    beta = {"weak": 0.4, "strong": 0.9}
    smoother = cf.Pipeline(make(), beta=beta, channel=channel, rule=random_rule(rng))
    policy = POLICY if rng.random() < 0.25 else None
    pipe = cf.Pipeline(live.pipe.filter, beta=BETA, policy=policy, smoother=smoother)
    given = live.rows
    if rng.random() < 0.25:  # classes alone: how much they count depends on the channel
        given = [row._replace(probs=label_of(row)) for row in given]
    return live._replace(pipe=pipe, rows=given, lag=int(rng.choice([1, 2, 5, 30])))


def label_of(row: Row) -> str | None:
    return None if np.isnan(row.probs[0]) else CLASSES[int(np.argmax(row.probs))]


def stretches(live: Live, calls: Iterable[Iterable[Row]]) -> dict[Any, list[list[Row]]]:
    """Return the rows of each stream, divided where it is over; streams are dropped after calls.

    Rows are in order of time: a stream that the clock of all ends would begin anew by its own.
    """
    parts: dict[Any, list[list[Row]]] = {}
    going: dict[Any, None] = {}  # the next to be dropped first
    for rows in calls:
        for row in rows:
            known = parts.setdefault(row.stream, [])
            gap = row.time - known[-1][-1].time if known else 0.0
            if row.stream not in going or gap > live.limits.get("expire_after", np.inf):
                known.append([])
            known[-1].append(row)
            going.pop(row.stream, None)
            going[row.stream] = None
        while len(going) > live.limits.get("max_streams", np.inf):
            del going[next(iter(going))]
    return parts


def expected(live: Live, calls: Iterable[Iterable[Row]]) -> Events:
    """Return the events of each stream after the end of all."""
    return {
        name: [event for part in parts for event in live.offline(part)]
        for name, parts in stretches(live, calls).items()
    }


def take(found: Events, events: Iterable[cf.Event]) -> None:
    for event in events:
        found.setdefault(event.stream, []).append(event)


def update_many(tracker: cf.Tracker, rows: Iterable[Row]) -> Any:
    streams, times, sources, probs = zip(*rows, strict=True)
    numbers = all(isinstance(row, list) for row in probs)
    given = np.array(probs) if numbers else list(probs)
    return tracker.update_many(list(streams), times, sources, given)


def ended(tracker: cf.Tracker, found: Events) -> Events:
    """Return all events, after the end of all streams; without streams that have none."""
    tracker.drop(tracker.streams)
    take(found, tracker.pop_events())
    assert tracker.pop_events() == []
    return found
