"""Events on real data, at fixed costs of a change: how many, how right, and live against offline.

The strong classifier is called at every twelfth step. The filter is tuned without labels; the
cost is not: the table shows a range of costs, and labels only judge.

    python -m experiments.events geolife ltafdb --data DATA
"""

from __future__ import annotations

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


def live_events(rule: cf.EventRule, person: Person, P: Array) -> list[tuple[object, ...]]:
    """Return the events of rows that come one by one, as a device would report them."""
    core = rule.compiled(person.classes, P.dtype)
    state, found = core.start(), []
    for at, p in zip(person.time.tolist(), P, strict=True):
        state, events = core.update(state, at, p)
        found += [event[:4] for event in events]
    return found + list(zip(*(x.tolist() for x in core.finish(state)[:4]), strict=True))


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
    print(f"{'rows':16}{'cost, s':>9}{'F1@50':>8}{'events':>8}{'rows right':>12}{'live':>7}")
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
            differ = 0
            for p in people if kind == "filtered" else []:
                offline = [(p.classes.index(e.label), *e[2:]) for e in by_stream.get(p.name, [])]
                differ += live_events(rule, p, estimates[p.name]) != offline
            live = f"{differ} differ" if kind == "filtered" else ""
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
