"""Events on real data, at fixed costs of a change: how many, how right, and live against offline.

The last columns say how long after its end an event is confirmed in a live stream: the median, in
rows and in seconds, and what 90 % of the events do not exceed.

The strong classifier is called at every twelfth step. The filter is tuned without labels; the
cost is not: the table shows a range of costs, and labels only judge.

    python -m experiments.events geolife ltafdb --data DATA
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter._support.types import Array, Ints
from experiments.streams import Person, arguments, splits

COSTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""In steps."""


def decided_rows(person: Person, events: cf.Events) -> Ints:
    """Return the class of each row by the events of its stream, -1 where there is none."""
    label = np.full(person.time.size, -1)
    for event in events:
        assert event.end is not None
        first, last = np.searchsorted(person.time, [event.start, event.end])
        label[first:last] = person.classes.index(event.label)
    return label


class Live(NamedTuple):
    """The events of rows that come one by one, and how long each took to be confirmed."""

    events: list[tuple[object, ...]]
    rows: list[int]
    seconds: list[float]


def live_events(rule: cf.EventRule, person: Person, P: Array) -> Live:
    """Return the events of a stream as a device would report them.

    A delay is counted from the end of an event to the row that confirms it; the events that only
    the end of the stream confirms have none.
    """
    core = rule.compiled(person.classes, P.dtype)
    state, live = core.start(), Live([], [], [])
    for n, (at, p) in enumerate(zip(person.time.tolist(), P, strict=True)):
        state, events = core.update(state, at, p)
        for k, start, end, probability, _ in events:
            live.events.append((k, start, end, probability))
            live.rows.append(n - int(np.searchsorted(person.time, end)))
            live.seconds.append(at - end)
    live.events.extend(zip(*(x.tolist() for x in core.finish(state)[:4]), strict=True))
    return live


def live_columns(
    people: list[Person], offline: dict[str, list[cf.Event]], live: dict[str, Live]
) -> str:
    """Return how many streams differ from offline, and the delays until events are confirmed."""
    differ = sum(
        live[p.name].events != [(p.classes.index(e.label), *e[2:]) for e in offline.get(p.name, [])]
        for p in people
    )
    rows = np.concatenate([one.rows for one in live.values()])
    seconds = np.concatenate([one.seconds for one in live.values()])
    return (
        f"{differ} differ; confirmed after {np.median(rows):g} rows, {np.median(seconds):g} s; "
        f"90 %: {np.quantile(rows, 0.9):g} rows, {np.quantile(seconds, 0.9):g} s"
    )


def print_set(name: str, people: list[Person]) -> None:
    """Print the table of one set of streams."""
    recs = {person.name: person.recording() for person in people}
    tuned = cf.tune(recs, reference="strong")
    truth, step = cf.label_events(recs), float(np.median(np.diff(people[0].time)))
    rows = {
        "strong, always": {p.name: p.strong for p in people},
        "filtered": {n: tuned.run(rec) for n, rec in recs.items()},
        "smoothed": {n: tuned.smooth(rec) for n, rec in recs.items()},
    }
    labelled = sum(int((p.label >= 0).sum()) for p in people)
    print(f"\n{name}: {len(people)} streams, {len(truth)} true events")
    print(f"{'rows':16}{'cost, s':>9}{'F1@50':>8}{'events':>8}{'rows right':>12}  live")
    for kind, estimates in rows.items():
        for cost in COSTS:
            rule = cf.EventRule(cost * step)
            given = {
                p.name: cf.Recording(p.time, kind, estimates[p.name], p.classes) for p in people
            }
            events = cf.events(given, rule)
            by_stream: dict[str, list[cf.Event]] = {}
            for event in events:
                by_stream.setdefault(event.stream, []).append(event)
            right = sum(
                int((decided_rows(p, cf.Events(by_stream.get(p.name, []))) == p.label).sum())
                for p in people
            )
            scores = cf.metrics.event_scores(truth, events, iou=0.5)
            live = ""
            if kind == "filtered":
                reported = {p.name: live_events(rule, p, estimates[p.name]) for p in people}
                live = live_columns(people, by_stream, reported)
            print(
                f"{kind:16}{cost * step:9g}{100 * scores.f1:8.1f}{len(events) / len(truth):7.1f}x"
                f"{100 * right / labelled:11.1f}%  {live}"
            )


def main() -> None:
    """Print the table of each set."""
    parser = arguments(__doc__, 1)
    parser.set_defaults(sets=["geolife", "ltafdb"])
    given = parser.parse_args()
    for name in given.sets:
        for people in splits(name, given.data, given.splits):
            print_set(name, people)


if __name__ == "__main__":
    main()
