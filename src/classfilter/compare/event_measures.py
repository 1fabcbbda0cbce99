"""Rules for events on the same estimates: how many events, how right, how late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import metrics
from ..engine import Rule, decided_as_they_are, label_events
from ..events import EventRule, Events, ThresholdRule
from ..filters import VoteFilter
from ..inputs import Rows
from ..support.types import Array, Floats, Ints
from .row_measures import totals

METHODS = ("Raw", "Hold", "Tuned", "Tuned, smoothed")
"""The methods whose events are compared."""
IOU = 0.5
COSTS = (0.25, 1.0, 4.0)
"""Of a change, in the time from one call of the reference to the next."""
MAJORITY = 9
"""Rows of which the most frequent class counts."""


def event_rules(call: float, step: float, rule: EventRule | None) -> dict[str, Rule]:
    """Return rules by name: simple ones, and the rule, or without one, the rule at some costs.

    `call` is the time from one call of the reference to the next, `step` from row to row.
    """
    on, off = 8 * step, 3 * step  # as silero has them, in rows
    rules: dict[str, Rule] = {
        "argmax": EventRule(),
        f"thresholds 0.5/0.35, {on:g} s on, {off:g} s off": ThresholdRule(
            0.5, 0.35, min_duration=on, merge_gap=off
        ),
    }
    if rule is not None:
        return rules | {"rule": rule}
    return rules | {f"cost {cost * call:g} s": EventRule(cost * call) for cost in COSTS}


class EventSums(NamedTuple):
    """The sums behind the measures of one stream; those of several streams add up."""

    found: float
    true: float
    predicted: float
    late: float
    right: float
    rows: float
    agreement: float
    judged: float
    hours: float


def decide_all(
    streams: Sequence[Rows],
    probs: Mapping[str, Sequence[Array]],
    scores: Sequence[Any],
    rules: Mapping[str, Rule],
) -> dict[str, list[EventSums]]:
    """Return the counts of each stream, by the names of method and rule."""
    counts: dict[str, list[EventSums]] = {}
    for method, arrays in probs.items():
        for rec, P, score in zip(streams, arrays, scores, strict=True):
            P = np.asarray(P, np.float64)
            voted = VoteFilter(rec.classes, MAJORITY).run(P)
            for name, rule, rows in (
                *((name, rule, P) for name, rule in rules.items()),
                (f"majority of {MAJORITY}", EventRule(), voted),
            ):
                title = f"{method}: {name}"
                counts.setdefault(title, []).append(count_events(rec, rows, rule, score))
    return counts


def count_events(rec: Rows, P: Array, rule: Rule, score: Any = None) -> EventSums:
    """Return the counts of a stream, by its labels or, where none judge, by `score`."""
    events = decided_as_they_are(rule, replace(rec, probs=P))
    label = _classes_of_rows(rec, events)
    hours = (rec.time[-1] - rec.time[0]) / 3600 if len(rec) else 0.0
    if score is not None:
        agreed = score.of_class[np.arange(score.rows.size), label[score.rows]]
        known = label[score.rows] >= 0
        return EventSums(
            0, 0, len(events), 0, 0, 0, float(agreed[known].sum()), float(known.sum()), hours
        )
    if rec.label is None or (rec.label < 0).all():  # nothing judges it
        return EventSums(0, 0, 0, 0, 0, 0, 0, 0, 0)
    labelled = rec.label >= 0
    scored = metrics.event_scores(label_events(rec), events, iou=IOU)
    late = scored.delay * scored.found if scored.found else 0.0
    right = float((label == rec.label)[labelled].sum())
    found = (float(scored.found), float(scored.true), float(scored.predicted), late)
    return EventSums(*found, right, float(labelled.sum()), 0.0, 0.0, hours)


def _classes_of_rows(rec: Rows, events: Events) -> Ints:
    """Return the class of each row by the events, -1 where there is none."""
    label = np.full(len(rec), -1)
    bounds = np.searchsorted(rec.time, np.array([event[2:4] for event in events]))
    for event, (first, last) in zip(events, bounds.reshape(-1, 2).tolist(), strict=True):
        label[first:last] = rec.classes.index(event.label)
    return label


def event_values(columns: Mapping[str, Floats], sets: Ints) -> dict[str, Floats]:
    """Return each measure of each set of streams, (sets,)."""
    total = totals(columns, sets)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_hour = {"events": total["predicted"] / total["hours"]}
        if not columns["rows"].any():
            return {"agreement": np.exp(total["agreement"] / total["judged"])} | per_hour
        return {
            "event_f1": 2 * total["found"] / (total["true"] + total["predicted"]),
            "event_precision": total["found"] / total["predicted"],
            "event_recall": total["found"] / total["true"],
            "accuracy": total["right"] / total["rows"],
            **per_hour,
            "event_delay": total["late"] / total["found"],
        }
