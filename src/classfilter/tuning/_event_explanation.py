"""What a rule for events does, in plain words."""

from __future__ import annotations

import math
from collections.abc import Callable

from ._event_duration import EventDurations
from ._event_effect import CostByLabels, EventEffect
from ._explanation import after, in_words, rate_in_words, rate_unit
from ._suggestion import Suggestion


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
        live, offline = (_by_labels(one, span) for one in effect.by_labels)
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


def _by_labels(chosen: CostByLabels, span: Callable[[float], str]) -> str:
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
