"""Events by the cost that `tune` chooses: from a duration, by its own suggestion, or by labels.

For each set and rate of strong calls, a table: the most probable class of each row (argmax); the
duration of a true event, exact, and wrong by a factor of 1.5 either way; the rule of `tune` without
a duration; and the best cost of a grid by the labels that also judge. Each has three
columns: offline, of smoothed rows; live, of filtered rows; and live at a lag of one strong call,
with the rule of smoothed rows. Each cell has F1@50, the number of events relative to the truth, and
the rows right.

    python -m experiments.event_settings geolife wisdm extrasensory --data DATA

With ``--labelled 4 8 16``, the cost is chosen by the labels of so many streams, at random, and
judged on the others: what each way to choose loses there, against the best cost for these.

    python -m experiments.event_settings geolife wisdm extrasensory --data DATA --labelled 4 8 16
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter._support.types import Array, Floats, Ints
from classfilter.tuning._effect import GAP
from classfilter.tuning._event_cost import StreamRows
from classfilter.tuning._event_labels import (
    EventTally,
    choose_by_labels,
    costs_to_try,
    tally_events,
)
from experiments.events import decided_rows
from experiments.streams import Person, arguments, splits

EVERY = (4, 12, 30)
WRONG = 1.5
"""How wrong a duration is told."""
DRAWS = 60
"""Of labelled streams."""


class Rows(NamedTuple):
    """The rows of all people: smoothed, filtered, and smoothed with a lag of one call."""

    offline: list[StreamRows]
    live: list[StreamRows]
    lag: list[StreamRows]


class Judge:
    """Scores the events of a rule against the true ones.

    Parameters
    ----------
    people : list of Person
        With labels.
    max_gap : float or None
        Of the rules, and of the true events.
    """

    def __init__(self, people: list[Person], max_gap: float | None) -> None:
        self.people, self.max_gap = people, max_gap
        self.truth = cf.label_events({p.name: p.recording() for p in people}, max_gap)
        self.duration = float(np.mean([e.end - e.start for e in self.truth]))  # type: ignore[operator]
        self.classes = people[0].classes

    def events(self, rows: list[StreamRows], rule: cf.EventRule) -> cf.Events:
        """Return the events of all people."""
        named = zip(self.people, rows, strict=True)
        recs = {p.name: cf.Recording(one.time, "any", one.probs, p.classes) for p, one in named}
        events: cf.Events = cf.events(recs, rule)
        return events

    def f1(self, rows: list[StreamRows], rule: cf.EventRule) -> float:
        """Return F1@50."""
        return cf.metrics.event_scores(self.truth, self.events(rows, rule), iou=0.5).f1

    def cell(self, rows: list[StreamRows], rule: cf.EventRule | None) -> str:
        """Return F1@50, the number of events, and the rows right, as text."""
        if rule is None:
            return "-"
        events = self.events(rows, rule)
        by_stream: dict[str, list[cf.Event]] = {}
        for event in events:
            by_stream.setdefault(event.stream, []).append(event)
        right = known = 0
        for p in self.people:
            decided = decided_rows(p, cf.Events(by_stream.get(p.name, [])))
            right += int((decided == p.label)[p.label >= 0].sum())
            known += int((p.label >= 0).sum())
        f1 = cf.metrics.event_scores(self.truth, events, iou=0.5).f1
        return f"{100 * f1:5.1f} x{len(events) / len(self.truth):4.2f} {100 * right / known:5.1f}"

    def best(self, rows: list[StreamRows], step: float) -> cf.EventRule:
        """Return the best rule of a grid of costs, by the labels that judge."""
        costs = costs_to_try(step, max(float(np.ptp(one.time)) for one in rows) / 8)
        rules = [cf.EventRule(cost, max_gap=self.max_gap) for cost in costs]
        return max(rules, key=lambda rule: self.f1(rows, rule))


def gap_of(people: list[Person], step: float) -> float | None:
    """Return from when on a gap ends an event, as `tune` would have it; None without gaps."""
    recs = {p.name: p.recording() for p in people}
    usual = np.mean([e.end - e.start for e in cf.label_events(recs, GAP * step)])  # type: ignore[operator]
    gap = max(GAP * step, float(usual))
    return gap if any((np.diff(p.time) > gap).any() for p in people) else None


def rows_of(tuned: cf.Tuned, recs: dict[str, cf.Recording], every: int) -> Rows:
    """Filter and smooth recordings."""

    def each(smooth: bool, lag: int | None = None) -> list[StreamRows]:
        def run(rec: cf.Recording) -> Array:
            rows: Array = tuned.smooth(rec, lag=lag) if smooth else tuned.run(rec)
            return rows

        return [StreamRows(rec.time, run(rec)) for rec in recs.values()]

    return Rows(each(True), each(False), each(True, every))


def print_set(name: str, people: list[Person], every: int) -> None:
    """Print the table of one set of streams at one rate."""
    step = float(np.median(np.concatenate([np.diff(p.time) for p in people])))
    recs = {p.name: p.recording(every) for p in people}
    judge = Judge(people, gap_of(people, step))
    rules: dict[str, tuple[cf.EventRule | None, ...]] = {}
    plain = cf.tune(recs, reference="strong")
    rows = rows_of(plain, recs, every)
    argmax = cf.EventRule(0.0, max_gap=judge.max_gap)
    rules["argmax"] = (argmax, argmax, argmax)
    for factor in (1 / WRONG, 1.0, WRONG):
        duration = factor * judge.duration
        tuned = cf.tune(recs, reference="strong", event_duration=duration)
        told = f"duration {duration:.0f} s" + (f", x{factor:.2f}" if factor != 1 else "")
        rules[told] = (tuned.smoother.rule, tuned.rule, tuned.smoother.rule)
    # Where a gap ends an event is a convention: here it is that of the truth.
    assert plain.rule is not None
    assert plain.smoother.rule is not None
    offline = replace(plain.smoother.rule, max_gap=judge.max_gap)
    live = replace(plain.rule, max_gap=judge.max_gap)
    rules["no duration"] = (offline, live, offline)
    rules["best by labels"] = tuple(judge.best(several, step) for several in rows)
    true = f"{len(judge.truth)} true events of {judge.duration:.0f} s"
    print(f"\n{name}, one strong call in {every}: {len(people)} streams, {true}")
    print(f"{'F1@50, events, rows right':26}{'offline':>24}{'live':>24}{'lag of one call':>24}")
    for told, three in rules.items():
        cells = (judge.cell(one, rule) for one, rule in zip(rows, three, strict=True))
        print(f"{told:26}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


def losses(tally: EventTally, costs: list[float], some: Ints, others: Ints) -> dict[str, float]:
    """Return what each way to choose a cost loses on streams that were left out."""
    mine = EventTally(*(column[some] for column in tally))
    f1 = EventTally(*(column[others] for column in tally)).f1()
    chosen = choose_by_labels(mine, costs)
    ways = {"best": costs[int(mine.f1().argmax())], "smallest": chosen.low, "middle": chosen.cost}
    return {way: float(f1.max() - f1[costs.index(cost)]) for way, cost in ways.items()}


def print_labelled(name: str, people: list[Person], every: int, sizes: list[int]) -> None:
    """Print what a cost by the labels of a few streams loses on the others."""
    step = float(np.median(np.concatenate([np.diff(p.time) for p in people])))
    recs = {p.name: p.recording(every) for p in people}
    rule = cf.EventRule(max_gap=gap_of(people, step))
    rows = rows_of(cf.tune(recs, reference="strong"), recs, every)
    for kind in ("offline", "live"):
        several: list[StreamRows] = getattr(rows, kind)
        costs = costs_to_try(step, max(float(np.ptp(one.time)) for one in several) / 8)
        labels = [p.label for p in people]
        tally = tally_events(several, labels, people[0].classes, rule, costs)
        rng = np.random.default_rng(0)
        for size in sizes:
            if size > len(people) - 4:
                continue
            draws = [rng.permutation(len(people)) for _ in range(DRAWS)]
            lost = [losses(tally, costs, draw[:size], draw[size:]) for draw in draws]
            text = ""
            for way in lost[0]:
                each: Floats = 100 * np.array([one[way] for one in lost])
                text += f"  {way} {each.mean():4.1f} ({np.quantile(each, 0.9):4.1f})"
            print(f"{name:14}{every:3}  {kind:8}{size:3} labelled{text}", flush=True)


def main() -> None:
    """Print the tables of each set and rate."""
    parser = arguments(__doc__, 1)
    parser.set_defaults(sets=["geolife", "wisdm", "extrasensory"])
    parser.add_argument("--every", type=int, nargs="+", default=EVERY)
    parser.add_argument("--labelled", type=int, nargs="+", help="choose by so many streams")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.labelled:
        print("points of F1@50 lost on the other streams, mean and (in one of ten draws)")
    for name in given.sets:
        for people in splits(name, given.data, given.splits):
            for every in given.every:
                if given.labelled:
                    print_labelled(name, people, every, given.labelled)
                else:
                    print_set(name, people, every)


if __name__ == "__main__":
    main()
