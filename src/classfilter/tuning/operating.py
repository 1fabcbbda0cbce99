"""Operating points by labels: how many events a rule finds in time, and how many are false."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..events import EventRule
from ..inputs import Heads, Rows, positive_duration
from ..pipeline import Pipeline
from ..support.html import block, table
from ..support.text import aligned
from ..support.types import Array, Duration, Floats, is_number
from .effect import GAP
from .event_labels import ends_of_rows, stretches
from .folds import step_of
from .record import noted, record_of

COSTS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Of a change, in steps: those that are tried."""
MIN_DURATIONS = (0.0, 8.0)
"""In steps."""
BIASES = (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3)
"""Of the classes that are looked for."""
BACKGROUND = 0.5
"""A class with more than this share of the labelled rows is no event that is looked for."""
FOLDS = 5
SECONDS_A_DAY = 86400.0


class RuleCounts(NamedTuple):
    """What a rule finds in a stream, and the delays of what it finds."""

    true: int
    false: int
    days: float
    delays: tuple[float, ...]


class OperatingPoint(NamedTuple):
    """What a rule does on labelled streams.

    Attributes
    ----------
    rule : EventRule
        Of live events.
    sensitivity : float
        The share of the true events whose start was reported in time. A reported event finds the
        first true one that it overlaps.
    false_per_day : float
        Events per day that overlap no true event of their class.
    delay : float
        The median time from a true start to the report that an event began; NaN if none did.
    """

    rule: EventRule
    sensitivity: float
    false_per_day: float
    delay: float


@dataclass(frozen=True)
class OperatingCurve:
    """The rules with the highest sensitivity for their false events, and the one that was chosen.

    Attributes
    ----------
    points : tuple of OperatingPoint
        From few false events to many.
    chosen : OperatingPoint
        The one of the pipeline's rule.
    left_out : OperatingPoint or None
        The same choice, made on other streams than those that it is measured on; None of a single
        stream. Its rule is the chosen one.
    classes : tuple of str
        The classes whose events are counted.
    within : float
        How late a report may be, in the unit of the times.
    """

    points: tuple[OperatingPoint, ...]
    chosen: OperatingPoint
    left_out: OperatingPoint | None
    classes: tuple[str, ...]
    within: float

    def _rows(self) -> list[list[str]]:
        header = ["cost (s)", "minimum (s)", "bias", "found", "false per day", "delay (s)", ""]
        rows = [
            [
                *_setting_cells(point, self.classes),
                *_measure_cells(point),
                "chosen" * (point == self.chosen),
            ]
            for point in self.points
        ]
        if self.left_out is not None:
            rows.append(["", "", "", *_measure_cells(self.left_out), "on streams left out"])
        return [header, *rows]

    def summary(self) -> str:
        """Return the choice in a sentence."""
        found, false, delay = _measure_cells(self.chosen)
        text = (
            f"The rule for live events was chosen using the labels: it finds {found} of the events "
            f"of {', '.join(self.classes)}{self._when}, {delay} s after their start in the median, "
            f"with {false} false events per day"
        )
        if self.left_out is None:
            return f"{text}; one stream cannot tell how that holds on others."
        found, false, _ = _measure_cells(self.left_out)
        return f"{text}. Chosen on other streams, it finds {found}, with {false} false ones."

    def __str__(self) -> str:
        return "\n".join([aligned(self._rows(), left=(6,)), self._note()])

    @property
    def _when(self) -> str:
        return "" if math.isinf(self.within) else f" within {self.within:g} s"

    def _note(self) -> str:
        names = ", ".join(self.classes)
        return f"Found: the share of the events of {names} that were reported{self._when}."

    def _repr_html_(self) -> str:
        header, *rows = self._rows()
        return block(table(header, rows), self._note())


def _setting_cells(point: OperatingPoint, classes: Sequence[str]) -> list[str]:
    bias: Any = point.rule.bias
    value = bias[classes[0]] if isinstance(bias, dict) else bias
    return [f"{point.rule.change_cost:.3g}", f"{point.rule.min_duration:.3g}", f"{value:g}"]


def _measure_cells(point: OperatingPoint) -> list[str]:
    delay = "-" if math.isnan(point.delay) else f"{point.delay:.3g}"
    return [f"{point.sensitivity:.0%}", f"{point.false_per_day:.1f}", delay]


def limits_of(
    max_false_events_per_day: float | None, detect_within: Duration | None, labels: bool
) -> tuple[float, float] | None:
    """Return the most false events per day and how late a report may be; None without either."""
    most, within = math.inf, math.inf
    given = {"max_false_events_per_day": max_false_events_per_day, "detect_within": detect_within}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if not labels:
            must = "labels choose the operating point"
            raise ArgumentError(name, value, must=must, fix="give labels=True")
    if max_false_events_per_day is not None:
        most = max_false_events_per_day
        if not is_number(most) or not most > 0:
            raise ArgumentError("max_false_events_per_day", most, must="it must be positive")
    if detect_within is not None:
        within = positive_duration("detect_within", detect_within)
    return (most, within) if given else None


def with_operating_point(
    pipe: Pipeline,
    recordings: Sequence[Rows],
    most: float,
    within: float,
) -> Pipeline:
    """Return a pipeline whose live rule keeps to a limit of false events, chosen by the labels.

    Parameters
    ----------
    pipe : Pipeline
        Filters the rows.
    recordings : sequence of Rows
        At the rate at which the reference will be called; times are seconds.
    most : float
        The limit of false events per day; where it is infinite, F1 decides.
    within : float
        How late a report may be to count.
    """
    known = [rec for rec in recordings if rec.label is not None and (rec.label >= 0).any()]
    heads, classes = pipe.heads, classes_looked_for(known)
    step = step_of(known)
    max_gap = None if pipe.rule is None else pipe.rule.max_gap
    rules = [
        EventRule(
            cost * step,
            min_duration=least * step,
            bias=dict.fromkeys(classes, bias) if bias else 0.0,
            max_gap=max_gap,
        )
        for cost, least, bias in product(COSTS, MIN_DURATIONS, BIASES)
    ]
    probs = [np.ascontiguousarray(pipe.run(rec)) for rec in known]
    counts = [
        [count(rule, rec, P, heads, classes) for rec, P in zip(known, probs, strict=True)]
        for rule in rules
    ]
    every = list(range(len(known)))
    chosen = best_rule(rules, counts, every, most, within)
    left_out = None
    if len(known) > 1:
        tested: list[RuleCounts] = []
        for fold in range(min(FOLDS, len(known))):
            out = every[fold :: min(FOLDS, len(known))]
            place = best_rule(rules, counts, [i for i in every if i not in out], most, within)
            tested += [counts[place][i] for i in out]
        left_out = measured(rules[chosen], tested, within)
    points = [measured(rule, of, within) for rule, of in zip(rules, counts, strict=True)]
    curve = OperatingCurve(front(points), points[chosen], left_out, classes, within)
    point = curve.chosen
    if point.false_per_day > most or point.sensitivity == 0:
        warnings.warn(
            f"no rule that was tried finds events with at most {most:g} false ones a day: the "
            f"closest finds {point.sensitivity:.0%}, with {point.false_per_day:.3g} false events a "
            "day. Allow more of them, or more time.",
            stacklevel=4,
        )
    text = f"{record_of(pipe).text}\n{curve.summary()}"
    return replace(noted(pipe, operating=curve, text=text), rule=point.rule)


def classes_looked_for(recordings: Sequence[Rows]) -> tuple[str, ...]:
    """Return the labels, or the classes but one that most rows have: the background."""
    heads = recordings[0].heads
    if not heads.is_exclusive:
        return tuple(map(str, heads.shown))
    label = np.concatenate([np.asarray(rec.label) for rec in recordings])
    share = np.bincount(label[label >= 0], minlength=len(heads.shown)) / (label >= 0).sum()
    return tuple(str(n) for n, one in zip(heads.shown, share, strict=True) if one <= BACKGROUND)


def count(rule: EventRule, rec: Rows, P: Array, heads: Heads, classes: Sequence[str]) -> RuleCounts:
    """Return what a rule finds in a stream, row by row, as it would live."""
    time, core = rec.time, rule.compiled(heads, P.dtype)
    state, reported = core.start(), dict[tuple[int, float], float]()
    events: list[tuple[int, float, float]] = []
    for at, p in zip(time.tolist(), P, strict=True):
        starts: list[tuple[int, float]] = []
        state, final = core.update(state, at, p, starts)
        for key in starts:
            reported.setdefault(key, at)
        events += [event[:3] for event in final]
    starts = []
    events += zip(*(part.tolist() for part in core.finish(state, starts)[:3]), strict=True)
    for key in starts:
        reported.setdefault(key, float(time[-1]))
    true, false, delays = 0, 0, list[float]()
    end = ends_of_rows(time, GAP * rec.step)
    truth = heads.certain(np.asarray(rec.label))
    for k, name in enumerate(map(str, heads.shown)):
        if name not in classes:
            continue
        known = ~np.isnan(truth[:, k])
        spans = stretches(time, end, truth[:, k] == 1)
        mine = [(start, stop) for of, start, stop in events if of == k]
        first = np.full(len(spans.start), math.inf)
        for start, stop in mine:
            overlaps = (spans.start < stop) & (spans.end > start)
            one = np.flatnonzero(overlaps)[:1]  # or a rule that reports one long event finds all
            late = reported.get((k, start), math.inf) - spans.start[one]
            first[one] = np.minimum(first[one], np.maximum(late, 0))
            inside = (time >= start) & (time < stop)
            false += not overlaps.any() and bool((inside & known).any())
        true += len(first)
        delays += first[np.isfinite(first)].tolist()
    labelled = (~np.isnan(truth)).any(axis=1)
    return RuleCounts(
        true, false, float((end - time)[labelled].sum()) / SECONDS_A_DAY, tuple(delays)
    )


def measured(rule: EventRule, counts: Sequence[RuleCounts], within: float) -> OperatingPoint:
    """Return what a rule does on streams."""
    delays: Floats = np.array([x for one in counts for x in one.delays])
    true, days = sum(one.true for one in counts), sum(one.days for one in counts)
    return OperatingPoint(
        rule,
        float((delays <= within).sum()) / true if true else math.nan,
        sum(one.false for one in counts) / days,
        float(np.median(delays)) if delays.size else math.nan,
    )


def best_rule(
    rules: Sequence[EventRule],
    counts: Sequence[Sequence[RuleCounts]],
    streams: Sequence[int],
    most: float,
    within: float,
) -> int:
    """Return the place of the best rule on some streams.

    It is the one with the highest sensitivity of those that keep to the limit and, where none does,
    the one with the fewest false events. Without a limit, F1 decides.
    """

    def rank(place: int) -> tuple[float, ...]:
        some = [counts[place][i] for i in streams]
        point = measured(rules[place], some, within)
        if math.isinf(most):
            true = sum(one.true for one in some)
            found, false = point.sensitivity * true, sum(one.false for one in some)
            return 2 * found / max(found + true + false, 1), -point.false_per_day
        if point.false_per_day > most:
            return -1.0, -point.false_per_day
        return point.sensitivity, -point.false_per_day

    return max(range(len(rules)), key=rank)


def front(points: Sequence[OperatingPoint]) -> tuple[OperatingPoint, ...]:
    """Return the points that no other beats in both, from few false events to many."""
    best, kept = -1.0, []
    for point in sorted(points, key=lambda p: (p.false_per_day, -p.sensitivity)):
        if point.sensitivity > best:
            best = point.sensitivity
            kept.append(point)
    return tuple(kept)
