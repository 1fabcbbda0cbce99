"""Several labels at once on real data: filters beside the simple rules, label by label.

The labels and scores are those of `experiments.label_streams`. Everybody is tested once, by
classifiers of other people. Nothing here is chosen by labels: the simple rules and the default
filters have fixed settings, and what is tuned is tuned without labels on one fold of the people and
runs on the other. Labels only judge, on the rows where a label is known to be on or off.

    python -m experiments.labels --data DIR
    python -m experiments.labels --data DIR --every 1      # the strong classifier at every row
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import classfilter as cf
from classfilter._support.types import Bools, Floats
from experiments.label_streams import LabelledPerson, load_people

ROW = 60.0
"""Seconds from row to row."""
MAX_GAP = 5 * ROW
"""A longer gap ends an event."""
COST = 5 * ROW
"""Of a change, for the events of the tuned filter."""


class Estimates(NamedTuple):
    """What a method says of one person: the score of each label, (T, L), and whether it is on."""

    scores: Floats
    on: Bools


Method = Callable[[cf.Recording], Estimates]


def fixed_methods(labels: Sequence[str]) -> dict[str, Method]:
    """Return the simple rules, and the filters with their default settings per row."""

    def filtered(one: Any) -> Method:
        f = cf.MultiLabelFilter(labels, one)
        return lambda rec: _at_half(rec.run(f))

    def thresholds(rule: cf.ThresholdRule) -> Method:
        return lambda rec: Estimates(rec.probs, _decided(rec, rec.probs, rule))

    return {
        "raw": lambda rec: _at_half(rec.probs),
        "mean of 5": filtered(cf.MeanFilter(2, window=5)),
        "EMA": filtered(cf.EmaFilter(2, gamma=0.9 ** (1 / ROW))),
        "thresholds .5/.35": thresholds(cf.ThresholdRule(0.5, 0.35)),
        "the same, 8 rows on, 3 off": thresholds(
            cf.ThresholdRule(0.5, 0.35, min_duration=8 * ROW, merge_gap=3 * ROW)
        ),
        "sticky, default": filtered(cf.StickyFilter(2, stay=0.99 ** (1 / ROW))),
        "Dirichlet, default": filtered(cf.DirichletFilter(2, gamma=0.9 ** (1 / ROW))),
    }


def tuned_methods(tuned: cf.Chain) -> dict[str, Method]:
    """Return what is done with tuned settings: live, with a rule for events, and afterwards."""
    rule = cf.EventRule(COST)

    def with_rule(rec: cf.Recording) -> Estimates:
        P = tuned.run(rec)
        return Estimates(P, _decided(rec, P, rule))

    return {
        "tuned": lambda rec: _at_half(tuned.run(rec)),
        "tuned, cost 5 min": with_rule,
        "tuned, smoothed": lambda rec: _at_half(tuned.smooth(rec)),
    }


def all_estimates(people: Sequence[LabelledPerson], every: int) -> dict[str, dict[str, Estimates]]:
    """Return the estimates of each method for each person; tuned on the other fold."""
    recs = {p.name: p.recording(every) for p in people}
    found: dict[str, dict[str, Estimates]] = {}
    folds = [list(recs)[::2], list(recs)[1::2]]
    for fold, other in zip(folds, folds[::-1], strict=True):
        tuned = cf.tune([recs[name] for name in other], reference="strong")  # reads no labels
        methods = fixed_methods(people[0].labels) | tuned_methods(tuned)
        for name, method in methods.items():
            found.setdefault(name, {}).update({person: method(recs[person]) for person in fold})
    return found


class Scores(NamedTuple):
    """How right one method is on one label."""

    f1: float
    average_precision: float
    event_f1: float
    false_per_hour: float
    changes_per_hour: float


TITLES = ("F1", "AP", "F1@50", "false/h", "changes/h")


def judged(
    people: Sequence[LabelledPerson], estimates: Mapping[str, Estimates], label: int
) -> Scores:
    """Return the scores of one label, on the rows where it is known."""
    from sklearn.metrics import average_precision_score, f1_score

    truth, on, scores, changes = [], [], [], 0
    events: dict[str, list[cf.Event]] = {"true": [], "predicted": []}
    for person in people:
        rows = np.flatnonzero(person.truth[:, label] >= 0)
        time, y = person.time[rows], person.truth[rows, label] == 1
        said = estimates[person.name].on[rows, label]
        truth.append(y)
        on.append(said)
        scores.append(estimates[person.name].scores[rows, label])
        changes += int(((said[1:] != said[:-1]) & (np.diff(time) <= MAX_GAP)).sum())
        for kind, state in (("true", y), ("predicted", said)):
            events[kind] += _runs(person, time, state, person.labels[label])
    y, said, score = map(np.concatenate, (truth, on, scores))
    hours = len(y) * ROW / 3600
    by_event = cf.metrics.event_scores(**events, iou=0.5, duration=hours * 3600)  # type: ignore[arg-type]
    return Scores(
        100 * f1_score(y, said, zero_division=0.0),
        100 * average_precision_score(y, score),
        100 * by_event.f1,
        by_event.false_per_hour,
        changes / hours,
    )


def print_tables(people: Sequence[LabelledPerson], every: int) -> None:
    """Print the mean over the labels of each score, then two of the scores label by label."""
    halves = [[p for p in people if p.split == split] for split in (0, 1)]
    estimates: dict[str, dict[str, Estimates]] = {}
    for half in halves:
        for name, of in (all_estimates(half, every) if half else {}).items():
            estimates.setdefault(name, {}).update(of)
    labels = people[0].labels
    table = {
        name: [judged(people, of, label) for label in range(len(labels))]
        for name, of in estimates.items()
    }
    hours = sum(len(p.time) for p in people) * ROW / 3600
    print(
        f"{len(people)} people, {len(labels)} labels, {hours:.0f} h; "
        f"the strong classifier at one row in {every}"
    )
    print(f"\n{'mean over labels':28}" + "".join(f"{title:>11}" for title in TITLES))
    for name, rows in table.items():
        means = np.mean(rows, axis=0)
        print(f"{name:28}" + "".join(f"{mean:11.1f}" for mean in means))
    for column in (0, 2):
        print(f"\n{TITLES[column]} of each label; the best is starred")
        print(f"{'':28}" + "".join(f"{label[:9]:>10}" for label in labels))
        values = np.array([[row[column] for row in rows] for rows in table.values()])
        for name, row, best in zip(table, values, values == values.max(axis=0), strict=True):
            cells = (f"{x:.1f}{'*' if star else ' '}" for x, star in zip(row, best, strict=True))
            print(f"{name:28}" + "".join(f"{cell:>10}" for cell in cells))
        names = list(table)
        simple = values[: names.index("sticky, default")].max(axis=0)
        live = values[names.index("tuned")]
        worse = [label for label, a, b in zip(labels, live, simple, strict=True) if a < b]
        print(
            f"tuned against the best simple rule of each label, chosen by labels: "
            f"better or equal on {len(labels) - len(worse)}, worse on {len(worse)}"
            + f" ({', '.join(worse)})"
            * bool(worse)
        )


def _at_half(scores: Floats) -> Estimates:
    return Estimates(scores, np.asarray(scores) > 0.5)


def _decided(rec: cf.Recording, scores: Floats, rule: Any) -> Bools:
    """Return whether each label is on at each row, by a rule for events."""
    on = np.zeros(scores.shape, bool)
    estimates = cf.Recording(rec.time, "decided", scores, rec.classes, scores="independent")
    for event in cf.events(estimates, rule):
        first, last = np.searchsorted(rec.time, [event.start, event.end])
        on[first:last, rec.classes.index(event.label)] = True
    return on


def _runs(person: LabelledPerson, time: Floats, on: Bools, label: str) -> list[cf.Event]:
    """Return the stretches of rows that are on, as events."""
    rule = cf.EventRule(max_gap=MAX_GAP)
    rec = cf.Recording(time, "decided", on.astype(float), [label], scores="independent")
    return [event._replace(stream=person.name) for event in cf.events(rec, rule)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the files of people")
    parser.add_argument("--every", type=int, default=12, help="rows from strong score to strong")
    parser.add_argument("--split", type=int, choices=(0, 1), help="only this half of the people")
    given = parser.parse_args()
    chosen = (0, 1) if given.split is None else (given.split,)
    print_tables([p for split in chosen for p in load_people(given.data, split)], given.every)


if __name__ == "__main__":
    main()
