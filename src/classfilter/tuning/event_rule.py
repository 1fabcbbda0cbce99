"""The rules for events of a tuned pipeline: of filtered rows, live, and of smoothed rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..events import EventRule
from ..inputs import Rows
from ..pipeline import Pipeline, smoothed_by, under_rule
from .effect import GAP, looks_like_seconds
from .event_cost import DecidedRows, EventCounts
from .event_duration import EventDurations, MatchedCosts, match_costs
from .event_effect import CostByLabels, EventEffect, confirmation_delays
from .event_labels import choose_by_labels, costs_to_try, tally_events, true_events
from .explanation import after, in_words, rate_in_words, rate_unit
from .folds import step_of
from .record import noted, record_of
from .suggestion import Suggestion, suggest

ALIKE = 1.5
"""Events by the time of each class may be so many times as many as durations allow."""


def explain_events(
    effect: EventEffect, costs: tuple[float, float], durations: EventDurations | None = None
) -> list[str]:
    """Return lines: why this rule, how many events it has, when they are confirmed, what else.

    Parameters
    ----------
    effect : EventEffect
        What the rule does.
    costs : pair of float
        Of live and of offline events.
    durations : EventDurations or None
        What the rule was chosen by, if not by labels.
    """
    most = max(effect.argmax_live, effect.argmax_offline)
    unit, per = rate_unit(effect, most)

    def rate(count: int) -> str:
        return rate_in_words(count * per)

    def span(time: float) -> str:
        return in_words(time, effect.in_seconds)

    lines = []
    if effect.by_labels is not None:
        live, offline = (_cost_in_words(one, span) for one in effect.by_labels)
        lines += [
            f"The cost of a change was chosen by the labels, by F1@50 of events. Live: {live}.",
            f"Offline: {offline}.",
        ]
        begin = "Then there are"
    else:
        assert durations is not None
        last = ", ".join(f"{span(d)} ({name})" for name, d in durations.by_class.items())
        begin = f"For events of about {last if durations.one is None else span(durations.one)}:"
    mean = " on average" if durations is not None and durations.one is None else ""
    live, offline = (f"at a cost of {span(cost)}{mean} for a change" for cost in costs)
    lines += [
        f"{begin} {rate(effect.live)} events {unit} live, {live}, and {rate(effect.offline)} "
        f"offline, {offline}.",
        f"The most probable class of each row would have {rate(effect.argmax_live)} live and "
        f"{rate(effect.argmax_offline)} offline.",
    ]
    if not math.isnan(effect.delay):
        lines.append(f"Live, the end of an event is confirmed {after(effect)}.")
    if effect.start_delay > 0:
        lines.append(
            f"Live, its start is final after about {span(effect.start_delay)}. The leave_cost and "
            "max_delay of EventRule bring it sooner."
        )
    if effect.half is not None and effect.double is not None:
        lines.append(
            f"With half the duration, there would be {rate(effect.half)} {unit} live; with double, "
            f"{rate(effect.double)}."
        )
    return lines


def explain_suggestion(suggestion: Suggestion, effect: EventEffect) -> list[str]:
    """Return lines: the suggested rules, how many events they have, and how sure that is."""
    unit, per = rate_unit(effect, max(effect.argmax_live, effect.argmax_offline))

    def costs(cost: float) -> str:
        return f"at a cost of {in_words(cost, effect.in_seconds)} for a change" if cost else ""

    def events(count: int, cost: float, of_argmax: int) -> str:
        number = rate_in_words(count * per)
        return (
            f"{number}, {costs(cost)} (without, {rate_in_words(of_argmax * per)})"
            if cost
            else (f"{number}, the most probable class of each row")
        )

    applied, expected = suggestion.applied_offline_cost, suggestion.expected_events
    live = events(effect.live, suggestion.live_cost, effect.argmax_live)
    offline = events(effect.offline, applied, effect.argmax_offline)
    line = f"About {rate_in_words(expected * per)} {unit} are expected"
    if suggestion.applied:
        line += f": {suggestion.why}"
    elif suggestion.offline_cost:
        line += f", {costs(suggestion.offline_cost)}, but {suggestion.why}: not applied"
    else:
        line += ", so smoothed rows need no cost"
    return [
        f"Suggested events {unit}: live {live}; offline {offline}.",
        f"{line}. If you know how long an event usually lasts, give event_duration.",
    ]


def _cost_in_words(chosen: CostByLabels, span: Callable[[float], str]) -> str:
    """Say how good a cost is, and which others are alike."""
    if not chosen.f1:
        return "no event is found at any cost"
    if math.isnan(chosen.error):
        sure = "one stream cannot tell how uncertain that is"
        return f"{chosen.f1:.1%} at {span(chosen.cost)}; {sure}"
    sure = f"costs from {span(chosen.low)} to {span(chosen.high)} are alike"
    if chosen.low == chosen.high:
        sure = "no other cost that was tried is alike"
    return f"{chosen.f1:.1%} ± {chosen.error:.1%} at {span(chosen.cost)}; {sure}"


class EventRows(NamedTuple):
    """The rows of all streams that events are decided from.

    Attributes
    ----------
    recordings : list of Rows
        Those with predictions, at the rate at which the reference will be called.
    live, offline : list of DecidedRows
        Filtered, and smoothed.
    step : float
        The median time from row to row.
    in_seconds : bool
        Whether the times may be seconds.
    """

    recordings: list[Rows]
    live: list[DecidedRows]
    offline: list[DecidedRows]
    step: float
    in_seconds: bool

    @classmethod
    def of(cls, tuned: Pipeline, recordings: Sequence[Rows]) -> EventRows:
        """Filter and smooth recordings."""
        known = [rec for rec in recordings if rec.observed().any()]
        live = [DecidedRows(rec.time, tuned.run(rec)) for rec in known]
        offline = [DecidedRows(rec.time, tuned.smooth(rec)) for rec in known]
        step = step_of(known)
        return cls(known, live, offline, step, looks_like_seconds(known, step))

    def rule(self, usual: float) -> EventRule:
        """Return the rule without a cost; where there are gaps, events end there.

        A gap is longer than ten steps, and than an event usually lasts, where that is known.
        """
        gap = max(GAP * self.step, usual)
        has_gaps = any((np.diff(rec.time) > gap).any() for rec in self.recordings)
        return EventRule(max_gap=gap if has_gaps else None)


def with_event_rule(
    tuned: Pipeline,
    recordings: Sequence[Rows],
    durations: EventDurations | None,
    by_labels: bool = False,
) -> Pipeline:
    """Return a pipeline with rules for events, chosen by durations, by labels, or suggested.

    Parameters
    ----------
    tuned : Pipeline
        Filters and smooths.
    recordings : sequence of Rows
        At the rate at which the reference will be called.
    durations : EventDurations or None
        How long events usually last.
    by_labels : bool
        Whether the labels of the recordings may choose.
    """
    suggested = durations is None and not by_labels
    if suggested and not tuned.heads.is_exclusive:
        return tuned
    if suggested and record_of(tuned).expected_calls is None:  # how many events to expect
        return under_rule(tuned, EventRule())
    rows = EventRows.of(tuned, recordings)
    if durations is not None:
        return _by_durations(tuned, rows, durations)
    return _by_suggestion(tuned, rows) if suggested else _by_labels(tuned, rows)


def _by_durations(tuned: Pipeline, rows: EventRows, durations: EventDurations) -> Pipeline:
    durations.require_seconds(rows.in_seconds, rows.step)
    live, offline = _counts(tuned, rows, rows.rule(durations.longest), durations.shares)
    expected = durations.expected_events(offline.expected_time)
    if durations.one is None and tuned.heads.is_exclusive:
        name, most = durations.most_events(offline.expected_time)
        most += offline.fewest  # a stream may begin and end with the same class
        if expected > ALIKE * most:
            unit, per = ("an hour", 3600 / offline.time) if rows.in_seconds else ("in all", 1.0)
            warnings.warn(
                f"event_duration: by the time of each class there would be {expected * per:.3g} "
                f"events {unit}, but of classes that last so long, {name!r} and others in turn, "
                f"there can be {most * per:.3g} at most, and so many are taken. Check the "
                f"durations, and whether {name!r} is predicted too often.",
                stacklevel=5,
            )
        expected = min(expected, most)
    one = len(tuned.beta) == 1 and durations.one is not None

    def matched(factor: float = 1.0) -> MatchedCosts:
        return match_costs(live, offline, expected / factor, one)

    costs = matched()
    if expected < offline.fewest and tuned.heads.is_exclusive:
        mean = offline.time / offline.fewest
        warnings.warn(
            f"event_duration leads to {expected:.3g} events, but there are {offline.fewest} "
            f"streams, or parts between gaps, of {in_words(mean, rows.in_seconds)} on average: no "
            "change of class is reported. Give a shorter duration, or longer recordings.",
            stacklevel=5,
        )
    half, double = (live.total(matched(factor).live) for factor in (0.5, 2.0))
    rules = live.rule(costs.live), offline.rule(costs.offline)
    effect = _effect("duration", rows, tuned, live, offline, costs)
    effect = effect._replace(half=half, double=double, duration=durations.one)
    return _with_rule(tuned, *rules, effect, explain_events(effect, costs, durations))


def _by_labels(tuned: Pipeline, rows: EventRows) -> Pipeline:
    labels = [rec.label for rec in rows.recordings]
    known = [i for i, label in enumerate(labels) if label is not None and (label >= 0).any()]
    truth = [np.asarray(labels[i]) for i in known]
    spans = true_events([rows.live[i] for i in known], truth, tuned.heads, GAP * rows.step)
    lengths = np.concatenate([one.end - one.start for one in spans])
    rule = rows.rule(float(lengths.mean()) if lengths.size else 0.0)
    live, offline = _counts(tuned, rows, rule)
    to_try = costs_to_try(rows.step, live.longest)
    chosen = []
    for several in (rows.live, rows.offline):
        of_known = [several[i] for i in known]
        tally = tally_events(of_known, truth, tuned.heads, rule, to_try)
        chosen.append(choose_by_labels(tally, to_try))
    costs = MatchedCosts(chosen[0].cost, chosen[1].cost)
    effect = _effect("labels", rows, tuned, live, offline, costs)
    effect = effect._replace(by_labels=(chosen[0], chosen[1]))
    rules = live.rule(costs.live), offline.rule(costs.offline)
    return _with_rule(tuned, *rules, effect, explain_events(effect, costs))


def _by_suggestion(tuned: Pipeline, rows: EventRows) -> Pipeline:
    calls = record_of(tuned).expected_calls
    assert calls is not None
    live, offline = _counts(tuned, rows, rows.rule(usual=0.0))
    suggestion = suggest(calls, live, offline)
    costs = MatchedCosts(suggestion.live_cost, suggestion.applied_offline_cost)
    effect = _effect("suggestion", rows, tuned, live, offline, costs)
    rules = live.rule(costs.live), offline.rule(costs.offline)
    result = _with_rule(tuned, *rules, effect, explain_suggestion(suggestion, effect))
    return noted(result, suggestion=suggestion)


def _counts(
    tuned: Pipeline, rows: EventRows, rule: EventRule, shares: dict[str, float] | None = None
) -> tuple[EventCounts, EventCounts]:
    """Return the numbers of events, live and offline."""
    how = tuned.heads, rule, shares
    return EventCounts(rows.live, *how), EventCounts(rows.offline, *how)


def _effect(
    chosen_by: str,
    rows: EventRows,
    tuned: Pipeline,
    live: EventCounts,
    offline: EventCounts,
    costs: MatchedCosts,
) -> EventEffect:
    rule = live.rule(costs.live)
    delays = confirmation_delays(rows.live, tuned.heads, rule)
    return EventEffect(
        chosen_by,
        live=live.total(costs.live),
        offline=offline.total(costs.offline),
        argmax_live=live.total(0.0),
        argmax_offline=offline.total(0.0),
        half=None,
        double=None,
        delay=delays.end,
        delay_rows=delays.end_rows,
        start_delay=delays.start,
        by_labels=None,
        duration=None,
        time=live.time,
        rows=sum(len(one.time) for one in rows.live),
        in_seconds=rows.in_seconds,
    )


def _with_rule(
    tuned: Pipeline, live: EventRule, offline: EventRule, effect: EventEffect, lines: list[str]
) -> Pipeline:
    """Return the pipeline with its rules, and lines before the last one of its explanation."""
    before = record_of(tuned).text.splitlines()
    at = len(before) if record_of(tuned).criterion == "nothing" else len(before) - 1
    if live.max_gap is not None:
        gap = in_words(live.max_gap, effect.in_seconds)
        lines = [*lines, f"Where no row comes for {gap}, events end."]
    text = "\n".join([*before[:at], *lines, *before[at:]])
    smoother = replace(tuned.smoothing, rule=offline)
    return smoothed_by(replace(noted(tuned, event_effect=effect, text=text), rule=live), smoother)
