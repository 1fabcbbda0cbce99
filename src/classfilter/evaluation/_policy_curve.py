"""Policy curves: accuracy, events and delay against strong calls per hour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._errors import ArgumentError
from .._support.html import block, curves, table
from ..chain._chain import Chain
from ..chain._event_rule import EventRule
from ..data._frames import new_table
from ..data._recording import Recording
from ..policy import Adaptive, Periodic, Policy
from ..tuning._folds import as_list, find_reference, two_folds
from ..tuning._thinning import DEFAULT_EVERY
from ..tuning._tune import tune
from ._change_measures import ChangeMeasures, LabelledStream, change_measures
from ._replay import Replay, replay, steps

GAPS = (60, 48, 36, 24, 18, 12, 8, 6, 4)
"""Mean steps from one strong call to the next."""


class Point(NamedTuple):
    """What a policy reaches at its number of calls.

    Attributes
    ----------
    gap : int
        Requested mean steps from one strong call to the next.
    calls : float
        Strong calls per hour.
    accuracy : float
        Share of the steps at which the filter predicts the true class.
    event_f1 : float
        F1 of events with an intersection over union of at least 0.5; NaN without labels.
    delay : float
        Median time from a true change to the first step at which the filter predicts the new class;
        a change that is missed counts with the whole time until the next. NaN without labels.
    missed : float
        Share of true changes that the filter does not follow until the next; NaN without labels.
    """

    gap: int
    calls: float
    accuracy: float
    event_f1: float = math.nan
    delay: float = math.nan
    missed: float = math.nan


@dataclass(frozen=True)
class PolicyCurve:
    """Accuracy, events and delay against strong calls per hour; print it for a table.

    Attributes
    ----------
    periodic, adaptive : list of Point
        Each policy, from few calls to many.
    strong_accuracy : float
        The accuracy of the strong classifier itself, called at every step.
    labelled : bool
        Whether accuracy is measured by the labels; or else by the predictions of the strong
        classifier, called at every step.
    streams, steps : int
        How many there were.
    decided_by : str
        How events are decided, in words.
    """

    periodic: list[Point]
    adaptive: list[Point]
    strong_accuracy: float
    labelled: bool
    streams: int
    steps: int
    decided_by: str = "by the most probable class"

    def saved(self, point: Point) -> float | None:
        """Return the share of a periodic point's calls that `Adaptive` saves at equal accuracy.

        The curve is linear between its points, over the logarithm of the calls. Where its first
        point already has the accuracy, that point counts, though fewer calls might do. None where
        the curve does not reach the accuracy.
        """
        left: Point | None = None
        for right in self.adaptive:
            if right.accuracy >= point.accuracy:
                calls = right.calls
                if left is not None:
                    part = (point.accuracy - left.accuracy) / (right.accuracy - left.accuracy)
                    calls = left.calls * (right.calls / left.calls) ** part
                return 1 - calls / point.calls
            left = right
        return None

    def ahead(self, point: Point) -> float:
        """Return the accuracy of an adaptive point less that of `Periodic` with as many calls.

        The periodic curve is linear between its points, over the logarithm of the calls.
        """
        calls = np.log([other.calls for other in self.periodic])
        accuracy = [other.accuracy for other in self.periodic]
        return point.accuracy - float(np.interp(math.log(point.calls), calls, accuracy))

    def saving(self, point: Point) -> str:
        """Return the share that is saved as text, empty where there is none."""
        share = self.saved(point)
        at_least = self.adaptive[0].accuracy >= point.accuracy
        if share is None or (at_least and share <= 0):
            return ""
        return f"> {share:.0%}" if at_least else f"{share:.0%}"

    def to_table(self, kind: str = "polars") -> Any:
        """Return the curve as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``."""
        points = [("periodic", p) for p in self.periodic] + [("adaptive", p) for p in self.adaptive]
        columns: dict[str, list[Any]] = {"policy": [name for name, _ in points]}
        for i, field in enumerate(Point._fields):
            columns[field] = [float(point[i]) for _, point in points]
        return new_table(columns, kind, text=("policy",))

    def __str__(self) -> str:
        tables = "\n\n".join(_aligned(lines) for lines in (self._lines(), self._changes()) if lines)
        return "\n".join([tables, "", *self._notes()])

    def _repr_html_(self) -> str:
        tables = [table(lines[0], lines[1:]) for lines in (self._lines(), self._changes()) if lines]
        lines = {
            name: [(point.calls, 100 * point.accuracy) for point in points]
            for name, points in (("Adaptive", self.adaptive), ("Periodic", self.periodic))
        }
        level = "strong alone, every step", 100 * self.strong_accuracy
        titles = "strong calls per hour", f"{self._measure}, %"
        notes = "\n".join(self._notes())
        return block(tables[0], curves(lines, level, titles), *tables[1:], notes)

    @property
    def _measure(self) -> str:
        return "accuracy" if self.labelled else "agreement"

    def _lines(self) -> list[list[str]]:
        """Return the table: its titles, then its rows."""
        names = ("Periodic", "Adaptive")
        titles = [title for name in names for title in (f"{name}, calls/h", self._measure)]
        lines = [["gap", *titles, "saves"]]
        for periodic, adaptive in zip(self.periodic, self.adaptive, strict=True):
            cells = [f"{periodic.gap}"]
            for point in (periodic, adaptive):
                cells += [f"{point.calls:.1f}", f"{point.accuracy:.1%}"]
            lines.append([*cells, self.saving(periodic)])
        return lines

    def _changes(self) -> list[list[str]]:
        """Return the table of events and delay: its titles, then its rows; none without labels."""
        if not self.labelled:
            return []
        titles = [f"{name}, F1@50" for name in ("Periodic", "Adaptive")]
        lines = [["gap", *(t for title in titles for t in (title, "delay", "missed"))]]
        for periodic, adaptive in zip(self.periodic, self.adaptive, strict=True):
            cells = [f"{periodic.gap}"]
            for point in (periodic, adaptive):
                cells += [f"{point.event_f1:.1%}", f"{point.delay:.4g}", f"{point.missed:.1%}"]
            lines.append(cells)
        return lines

    def _notes(self) -> list[str]:
        """Return what stands below the table."""
        truth = "the labels" if self.labelled else "the strong classifier, called at every step"
        notes = [
            f"{self.streams} streams, {self.steps:,} steps; {self._measure} with {truth}.",
            f"The strong classifier alone, called at every step: {self.strong_accuracy:.1%}.",
            "gap: requested mean steps from one strong call to the next.",
            f"saves: strong calls that Adaptive saves at the {self._measure} of Periodic.",
        ]
        if self.labelled:
            notes += [
                f"F1@50: events found, with an overlap of at least half; {self.decided_by}.",
                "delay: median time from a true change to the first step in the new class.",
                "missed: true changes that are not followed until the next one.",
            ]
        return notes


def policy_curve(
    recordings: Recording | Iterable[Recording] | Mapping[Any, Recording] | Any,
    tuned: Chain | None = None,
    *,
    reference: str = "strong",
    gaps: Sequence[int] = GAPS,
    rule: EventRule | None = None,
    progress: Callable[[float], None] | None = None,
) -> PolicyCurve:
    """Replay streams with `Periodic` and with `Adaptive`, with few strong calls and with many.

    Where there are labels, each point has the accuracy, the F1 of events, and the delay after a
    true change.

    Parameters
    ----------
    recordings : Recording, or several, or a mapping to them, or a dataframe
        One per stream, with a row of both sources at every step; times in seconds.
    tuned : Chain, optional
        The filter, its weights and channels. By default, each fold of the streams is run with what
        `tune` chooses on the other fold, without labels, for a strong call at every 12th step.
    reference : str, default "strong"
        The source whose calls are counted.
    gaps : sequence of int
        Mean steps from one strong call to the next.
    rule : EventRule, optional
        How events are decided from the filtered rows; by default that of the chain, or the most
        probable class.
    progress : callable, optional
        Called with the share of the work that is done, 0 to 1.

    Examples
    --------
    >>> from classfilter import simulate
    >>> days = [simulate(hours=6.0, seed=i).recording(every=None) for i in (1, 2)]
    >>> curve = policy_curve(days, gaps=[24, 12])
    >>> [a.accuracy > p.accuracy for a, p in zip(curve.adaptive, curve.periodic)]
    [True, True]
    """
    several = [rec for rec in as_list(recordings) if len(rec)]
    strong = find_reference(several, reference)
    if several[0].independent:
        why = "a policy is judged by classes that exclude each other"
        remedy = "give the recordings of one label: [rec.lane(label) for rec in ...]"
        count = len(several[0].classes)
        raise ArgumentError("recordings", count, "has {} labels at once", why, remedy)
    for gap in gaps:
        if isinstance(gap, bool) or not isinstance(gap, (int, np.integer)) or gap < 2:
            raise ValueError(f"gaps has {gap!r}; it counts steps and must be 2 or more")
    weak = _weak(several, strong)
    for rec in several:
        steps(rec)
    groups = [(several, tuned)] if tuned is not None else _tuned_folds(several, strong)
    truths = [_truth(rec, strong) for group, _ in groups for rec in group]
    labelled = [_labelled(rec, strong) for group, _ in groups for rec in group]
    rules = [rule or tuned.rule for group, tuned in groups for _ in group]
    points: dict[str, list[Point]] = {"periodic": [], "adaptive": []}
    ordered = sorted(map(int, gaps), reverse=True)
    for i, gap in enumerate(ordered):
        policies: dict[str, Policy] = {
            "periodic": Periodic(gap, strong=strong, weak=weak),
            "adaptive": Adaptive(1 / gap, strong=strong, weak=weak),
        }
        for j, (name, policy) in enumerate(policies.items()):
            replays = [
                replay(rec, tuned, policy=policy) for group, tuned in groups for rec in group
            ]
            changes = change_measures(labelled, [result.probs for result in replays], rules)
            points[name].append(_point(replays, truths, gap, strong, changes))
            if progress is not None:
                progress((2 * i + j + 1) / (2 * len(ordered)))
    strong_classes = [
        rec.probs[steps(rec)[strong]].argmax(axis=1) for group, _ in groups for rec in group
    ]
    return PolicyCurve(
        points["periodic"],
        points["adaptive"],
        _accuracy(truths, strong_classes),
        any(stream is not None for stream in labelled),
        len(several),
        sum(truth.size for truth in truths),
        _in_words(rules),
    )


def _point(
    replays: Sequence[Replay],
    truths: Sequence[Any],
    gap: int,
    strong: str,
    changes: ChangeMeasures,
) -> Point:
    hours = sum(_hours(result.recording) for result in replays)
    accuracy = _accuracy(truths, [result.probs.argmax(axis=1) for result in replays])
    calls = sum(result.calls[strong] for result in replays) / hours
    return Point(gap, calls, accuracy, *changes)


def _labelled(rec: Recording, strong: str) -> LabelledStream | None:
    """Return the steps of a stream with its true events; None without labels."""
    return LabelledStream.of(rec._take(steps(rec)[strong]))


def _in_words(rules: Sequence[EventRule | None]) -> str:
    """Say how events are decided."""
    first, *others = dict.fromkeys(repr(rule or EventRule()) for rule in rules)
    if others:
        return "by the rule of each fold"
    return "by the most probable class" if first == repr(EventRule()) else f"by {first}"


def _tuned_folds(recordings: list[Recording], strong: str) -> list[tuple[list[Recording], Chain]]:
    """Return both folds of the streams, each with what was tuned on the other."""
    folds = two_folds(recordings, strong)
    if folds is None:
        raise ValueError(
            "recordings is too short to tune on one half and run on the other; record for longer, "
            "or give tuned"
        )
    return [(fold, tune(rest, reference=strong, every=DEFAULT_EVERY)) for fold, rest in folds]


def _weak(recordings: Sequence[Recording], strong: str) -> str:
    others = {name for rec in recordings for name in rec.sources} - {strong}
    if len(others) != 1:
        raise ValueError(
            f"recordings has the sources {sorted({strong, *others})}; give {strong!r} and one other"
        )
    return str(others.pop())


def _truth(rec: Recording, strong: str) -> Any:
    """Return the true class at each step, -1 where unknown; or that of the strong classifier."""
    rows = steps(rec)[strong]
    if rec.label is not None and (rec.label >= 0).any():
        return rec.label[rows]
    probs = rec.probs[rows]
    return np.where(np.isnan(probs[:, 0]), -1, np.nan_to_num(probs).argmax(axis=1))


def _accuracy(truths: Sequence[Any], predictions: Sequence[Any]) -> float:
    truth, predicted = np.concatenate(truths), np.concatenate(predictions)
    known = truth >= 0
    return float((truth == predicted)[known].mean()) if known.any() else math.nan


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return a table as text, each column to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join(rows)


def _hours(rec: Recording) -> float:
    """Return the length of a stream without pauses; its last step counts as a median one."""
    dt = rec.dt[1:]
    median = float(np.median(dt)) if dt.size else 1.0
    return float(np.minimum(dt, 10 * median).sum() + median) / 3600
