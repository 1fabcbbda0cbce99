"""The rules for events of a tuned chain: one for filtered rows, live, and one for smoothed rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..chain._event_rule import EventRule
from ..data._recording import Recording
from ._effect import GAP, looks_like_seconds
from ._event_cost import EventCounts, StreamRows
from ._event_duration import EventDurations, MatchedCosts, match_costs
from ._event_effect import EventEffect, confirmation_delay
from ._event_explanation import explain_events, explain_suggestion
from ._event_labels import choose_by_labels, costs_to_try, tally_events, true_events
from ._explanation import in_words
from ._folds import median_step
from ._result import Tuned
from ._suggestion import suggest


class EventRows(NamedTuple):
    """The rows of all streams that events are decided from.

    Attributes
    ----------
    recordings : list of Recording
        Those with predictions, at the rate at which the reference will be called.
    live, offline : list of StreamRows
        Filtered, and smoothed.
    step : float
        The median time from row to row.
    in_seconds : bool
        Whether the times may be seconds.
    """

    recordings: list[Recording]
    live: list[StreamRows]
    offline: list[StreamRows]
    step: float
    in_seconds: bool

    @classmethod
    def of(cls, tuned: Tuned, recordings: Sequence[Recording]) -> EventRows:
        """Filter and smooth recordings."""
        known = [rec for rec in recordings if rec.observed().any()]
        live = [StreamRows(rec.time, tuned.run(rec)) for rec in known]
        offline = [StreamRows(rec.time, tuned.smooth(rec)) for rec in known]
        step = median_step(known)
        return cls(known, live, offline, step, looks_like_seconds(known, step))

    def rule(self, usual: float) -> EventRule:
        """Return the rule without a cost; where there are gaps, events end there.

        A gap is longer than ten steps, and than an event usually lasts, where that is known.
        """
        gap = max(GAP * self.step, usual)
        has_gaps = any((np.diff(rec.time) > gap).any() for rec in self.recordings)
        return EventRule(max_gap=gap if has_gaps else None)


def with_event_rule(
    tuned: Tuned,
    recordings: Sequence[Recording],
    durations: EventDurations | None,
    by_labels: bool = False,
) -> Tuned:
    """Return a chain with rules for events, chosen by durations, by labels, or suggested.

    Parameters
    ----------
    tuned : Tuned
        Filters and smooths.
    recordings : sequence of Recording
        At the rate at which the reference will be called.
    durations : EventDurations or None
        How long events usually last.
    by_labels : bool
        Whether the labels of the recordings may choose.
    """
    suggested = durations is None and not by_labels
    if suggested and tuned.independent:
        return tuned
    if suggested and tuned._calls is None:  # nothing says how many events to expect
        return tuned.with_rule(EventRule())
    rows = EventRows.of(tuned, recordings)
    if durations is not None:
        return _by_durations(tuned, rows, durations)
    return _by_suggestion(tuned, rows) if suggested else _by_labels(tuned, rows)


def _by_durations(tuned: Tuned, rows: EventRows, durations: EventDurations) -> Tuned:
    durations.require_seconds(rows.in_seconds, rows.step)
    live, offline = _counts(tuned, rows, rows.rule(durations.longest), durations.shares)
    costs = match_costs(live, offline, durations)
    expected = durations.expected_events(offline.expected_time)
    if expected < offline.fewest and not tuned.independent:
        mean = offline.time / offline.fewest
        warnings.warn(
            f"event_duration leads to {expected:.3g} events, but there are {offline.fewest} "
            f"streams, or parts between gaps, of {in_words(mean, rows.in_seconds)} on average: no "
            "change of class is reported. Give a shorter duration, or longer recordings.",
            stacklevel=5,
        )
    half, double = (live.total(match_costs(live, offline, durations, f).live) for f in (0.5, 2.0))
    rules = live.rule(costs.live), offline.rule(costs.offline)
    effect = _effect("duration", rows, tuned, live, offline, costs)
    effect = effect._replace(half=half, double=double, duration=durations.one)
    return _result(tuned, *rules, effect, explain_events(effect, costs, durations))


def _by_labels(tuned: Tuned, rows: EventRows) -> Tuned:
    labels = [rec.label for rec in rows.recordings]
    known = [i for i, label in enumerate(labels) if label is not None and (label >= 0).any()]
    truth = [np.asarray(labels[i]) for i in known]
    spans = true_events([rows.live[i] for i in known], truth, GAP * rows.step)
    lengths = np.concatenate([one.end - one.start for one in spans])
    rule = rows.rule(float(lengths.mean()) if lengths.size else 0.0)
    live, offline = _counts(tuned, rows, rule)
    to_try = costs_to_try(rows.step, live.longest)
    chosen = []
    for several in (rows.live, rows.offline):
        of_known = [several[i] for i in known]
        tally = tally_events(of_known, truth, tuned.classes, rule, to_try)
        chosen.append(choose_by_labels(tally, to_try))
    costs = MatchedCosts(chosen[0].cost, chosen[1].cost)
    effect = _effect("labels", rows, tuned, live, offline, costs)
    effect = effect._replace(by_labels=(chosen[0], chosen[1]))
    rules = live.rule(costs.live), offline.rule(costs.offline)
    return _result(tuned, *rules, effect, explain_events(effect, costs))


def _by_suggestion(tuned: Tuned, rows: EventRows) -> Tuned:
    assert tuned._calls is not None
    live, offline = _counts(tuned, rows, rows.rule(usual=0.0))
    suggestion = suggest(tuned._calls, live, offline)
    costs = MatchedCosts(suggestion.live_cost, suggestion.applied_offline_cost)
    effect = _effect("suggestion", rows, tuned, live, offline, costs)
    rules = live.rule(costs.live), offline.rule(costs.offline)
    result = _result(tuned, *rules, effect, explain_suggestion(suggestion, effect))
    return result.having(suggestion=suggestion)


def _counts(
    tuned: Tuned, rows: EventRows, rule: EventRule, shares: dict[str, float] | None = None
) -> tuple[EventCounts, EventCounts]:
    """Return the numbers of events, live and offline."""
    how = tuned.classes, rule, tuned.independent, shares
    return EventCounts(rows.live, *how), EventCounts(rows.offline, *how)


def _effect(
    chosen_by: str,
    rows: EventRows,
    tuned: Tuned,
    live: EventCounts,
    offline: EventCounts,
    costs: MatchedCosts,
) -> EventEffect:
    rule = live.rule(costs.live)
    delay, steps = confirmation_delay(rows.live, tuned.classes, rule, tuned.independent)
    return EventEffect(
        chosen_by,
        live=live.total(costs.live),
        offline=offline.total(costs.offline),
        argmax_live=live.total(0.0),
        argmax_offline=offline.total(0.0),
        half=None,
        double=None,
        delay=delay,
        delay_rows=steps,
        by_labels=None,
        duration=None,
        time=live.time,
        rows=sum(len(one.time) for one in rows.live),
        in_seconds=rows.in_seconds,
    )


def _result(
    tuned: Tuned, live: EventRule, offline: EventRule, effect: EventEffect, lines: list[str]
) -> Tuned:
    """Return the chain with its rules, and lines before the last one of its explanation."""
    before = tuned.explanation.splitlines()
    at = len(before) if tuned.criterion == "nothing" else len(before) - 1
    if live.max_gap is not None:
        gap = in_words(live.max_gap, effect.in_seconds)
        lines = [*lines, f"Where no row comes for {gap}, events end."]
    text = "\n".join([*before[:at], *lines, *before[at:]])
    return tuned.with_rule(live, offline).having(event_effect=effect, explanation=text)
