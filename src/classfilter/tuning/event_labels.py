"""The cost of a change by labels: F1@50 of events over a grid of costs, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..events import EventRule
from ..inputs import Heads
from ..metrics import Spans, by_iou
from ..support.types import Array, Bools, Floats, Ints
from .event_cost import DecidedRows, round_up
from .event_effect import CostByLabels

IOU = 0.5
"""Of F1@50."""
FIRST_COST, COST_RATIO = 0.5, math.sqrt(2)
"""The costs that are tried: 0, then from half a median step on, each so many times the last."""
RESAMPLES = 200
"""How often streams are drawn anew, for standard errors."""


class EventTally(NamedTuple):
    """How many events were found, predicted and true, of each stream at each cost (S, C)."""

    found: Ints
    predicted: Ints
    true: Ints

    def f1(self, weights: Floats | None = None) -> Floats:
        """Return F1 at each cost (C,); with weights (B, S), of so many draws of streams (B, C)."""
        w = np.ones(len(self.found)) if weights is None else weights
        events = w @ self.predicted + w @ self.true
        return np.divide(2 * (w @ self.found), events, out=np.zeros(events.shape), where=events > 0)


def costs_to_try(step: float, longest: float) -> list[float]:
    """Return costs from 0 to half of the longest stream, beyond which a change is worth nothing."""
    count = math.floor(math.log(max(longest / (2 * FIRST_COST * step), 1), COST_RATIO)) + 1
    return [0.0, *(round_up(FIRST_COST * step * COST_RATIO**i) for i in range(count))]


def tally_events(
    streams: Sequence[DecidedRows],
    labels: Sequence[Ints],
    heads: Heads,
    rule: EventRule,
    costs: Sequence[float],
) -> EventTally:
    """Compare the events of each cost with the true ones, as `metrics.event_scores` does.

    Only time with a label counts: what is predicted in other time is cut off.

    Parameters
    ----------
    streams : sequence of DecidedRows
        Filtered or smoothed rows.
    labels : sequence of ndarray (T,), or (T, H) of several heads
        The true class of each row, of a label 1 or 0; -1 where it is not known.
    heads : Heads
        What the columns of the rows are.
    rule : EventRule
        With any cost.
    costs : sequence of float
        The costs to compare.
    """
    tally = EventTally(*np.zeros((3, len(streams), len(costs)), np.intp))
    rules = [replace(rule, change_cost=cost) for cost in costs]
    cores = {
        kind: [one.compiled(heads, kind) for one in rules]
        for kind in {rows.probs.dtype for rows in streams}
    }
    for i, ((time, probs), label) in enumerate(zip(streams, labels, strict=True)):
        end, rows = ends_of_rows(time, rule.max_gap), np.ascontiguousarray(probs)
        truth = heads.certain(label)
        known, true = ~np.isnan(truth), [stretches(time, end, on) for on in (truth == 1).T]
        tally.true[i] = sum(len(spans.start) for spans in true)
        for j, core in enumerate(cores[probs.dtype]):
            state, *parts = core.run(core.start(), time, rows)
            of_class, start, stop = (
                np.concatenate(pair) for pair in zip(parts[:3], core.finish(state)[:3], strict=True)
            )
            for k in np.unique(of_class).tolist():
                spans = Spans(start[of_class == k], stop[of_class == k])
                if not known[:, k].all():
                    spans = stretches(time, end, covered(time, spans) & known[:, k])
                tally.predicted[i, j] += len(spans.start)
                tally.found[i, j] += by_iou(true[k], spans, IOU).found.sum()
    return tally


def covered(time: Floats, spans: Spans) -> Bools:
    """Return which rows (T,) lie in a span; spans do not overlap."""
    edges = np.zeros(len(time) + 1, np.intp)
    np.add.at(edges, np.searchsorted(time, spans.start), 1)
    np.add.at(edges, np.searchsorted(time, spans.end), -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)


def stretches(time: Floats, end: Floats, on: Array) -> Spans:
    """Return where something is true (T,), as spans; rows that do not touch are apart."""
    rows = np.flatnonzero(on & (end > time))
    apart = end[rows[:-1]] != time[rows[1:]]
    first, last = np.append(True, apart), np.append(apart, True)
    return Spans(time[rows[first[: len(rows)]]], end[rows[last[: len(rows)]]])


def ends_of_rows(time: Floats, max_gap: float | None) -> Floats:
    """Return until when each row stands (T,): the next one, or `max_gap` later."""
    if len(time) < 2:
        return time.copy()
    gap = np.inf if max_gap is None else max_gap
    end = np.append(time[1:], time[-1] + min(time[-1] - time[-2], gap))
    return np.where(end - time > gap, time + gap, end)


def true_events(
    streams: Sequence[DecidedRows], labels: Sequence[Ints], heads: Heads, max_gap: float
) -> list[Spans]:
    """Return the true events of each stream and class, or label."""
    spans = []
    for (time, _), label in zip(streams, labels, strict=True):
        end = ends_of_rows(time, max_gap)
        spans += [stretches(time, end, on) for on in (heads.certain(label) == 1).T]
    return spans


def choose_by_labels(tally: EventTally, costs: Sequence[float]) -> CostByLabels:
    """Return the middle one of the costs around the best that are alike.

    They are less than a standard error of the difference below the best, from resampled streams. On
    streams that were left out, the middle one lost less than the best, and much less than the
    smallest. Where no event is found at any cost, the cost is 0.
    """
    f1 = tally.f1()
    best, streams = int(f1.argmax()), len(tally.found)
    if not f1[best]:
        return CostByLabels(0.0, 0.0, math.nan, 0.0, 0.0)
    draws = np.random.default_rng(0).multinomial(streams, np.full(streams, 1 / streams), RESAMPLES)
    drawn = tally.f1(draws.astype(np.float64))
    alike = f1 >= f1[best] - (drawn[:, [best]] - drawn).std(axis=0)
    low = high = best
    while low > 0 and alike[low - 1]:
        low -= 1
    while high + 1 < len(f1) and alike[high + 1]:
        high += 1
    chosen = (low + high) // 2
    error = float(drawn[:, chosen].std()) if streams > 1 else math.nan
    return CostByLabels(costs[chosen], float(f1[chosen]), error, costs[low], costs[high])
