"""What a picture of events against the cost of a change shows, however it is drawn."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._errors import ArgumentError
from ..chain._chain import Chain
from ._event_effect import EventEffect
from ._event_explanation import in_words
from ._explanation import rate_in_words, rate_unit
from ._result import Tuned
from ._suggestion import Suggestion

FILTERED, SMOOTHED = "filtered rows, live", "smoothed rows, offline"
NO_COST = "no cost: the most probable class of each row"
CHOSEN = {"duration": "chosen by event_duration", "labels": "chosen by labels (F1@50)"}
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
TICKS = (*SECONDS, *(60 * x for x in SECONDS[4:]), *(3600 * x for x in (1, 3, 10, 30, 100, 300)))
"""Costs that are easy to read."""
LINEAR_PART = 0.5
"""The length of the linear part of the axis, in factors of ten of the rest."""


class CostMark(NamedTuple):
    """A cost that was chosen or suggested.

    Attributes
    ----------
    rows : str
        `FILTERED` or `SMOOTHED`.
    name : str
        What chose it, and whether it is applied.
    cost : float
        The cost of a change.
    events : float
        The events at this cost, in the unit of the picture.
    applied : bool
        Whether the rule of these rows has this cost.
    """

    rows: str
    name: str
    cost: float
    events: float
    applied: bool


class EventPicture(NamedTuple):
    """The events of filtered and of smoothed rows against the cost of a change.

    Attributes
    ----------
    curves : dict of str to list of (float, float)
        Costs from 0 on and the events at each, of `FILTERED` and of `SMOOTHED` rows; the costs of
        the marks are among them.
    marks : list of CostMark
        What was chosen or suggested.
    expected : float or None
        The events that a suggestion expects.
    unit : str
        Of all events: "an hour", "a day" or "in 1000 rows".
    linear : float
        Up to this cost the axis is linear, so that it has a 0; then it is logarithmic.
    ticks : dict of float to str
        Costs on the axis, in words.
    in_seconds : bool
        Whether costs may be seconds.
    """

    curves: dict[str, list[tuple[float, float]]]
    marks: list[CostMark]
    expected: float | None
    unit: str
    linear: float
    ticks: dict[float, str]
    in_seconds: bool

    def cost_in_words(self, cost: float) -> str:
        """Return a cost with its unit, where that is known."""
        return in_words(cost, self.in_seconds) if cost else "0"

    def events_in_words(self, events: float) -> str:
        """Return a number of events, as the explanation of `tune` has it."""
        return rate_in_words(events)

    @property
    def cost_title(self) -> str:
        """What the axis of costs says."""
        return "cost of a change" + " (in the unit of times)" * (not self.in_seconds)


def event_picture(tuned: Chain) -> EventPicture:
    """Return what to draw of the events that a tuned chain would report at each cost.

    Raises an ArgumentError where `tune` chose no rule for events.
    """
    effect = tuned.event_effect if isinstance(tuned, Tuned) else None
    if effect is None or not isinstance(tuned, Tuned):
        remedy = "tune with event_duration, or classes of which one is true at a time"
        if not isinstance(tuned, Tuned):
            remedy = "give the result of tune: a file does not keep it"
        problem = "has no event_effect: there is no number of events by cost"
        raise ArgumentError("tuned", type(tuned).__name__, problem, remedy=remedy)
    unit, per = rate_unit(effect, max(effect.argmax_live, effect.argmax_offline))
    marks = [mark._replace(events=mark.events * per) for mark in _marks(effect, tuned.suggestion)]
    curves = {
        FILTERED: {at.cost: at.live * per for at in effect.curve},
        SMOOTHED: {at.cost: at.offline * per for at in effect.curve},
    }
    for mark in marks:
        curves[mark.rows][mark.cost] = mark.events
    linear, furthest = effect.curve[1].cost, max(max(curve) for curve in curves.values())
    each = TICKS if effect.in_seconds else [10.0**n for n in range(-12, 13)]
    ticks = [0.0, *(tick for tick in each if linear <= tick <= furthest)]
    suggestion = tuned.suggestion
    return EventPicture(
        {rows: sorted(curve.items()) for rows, curve in curves.items()},
        marks,
        None if suggestion is None else suggestion.expected_events * per,
        unit,
        linear,
        {tick: _tick(tick, effect.in_seconds) for tick in ticks},
        effect.in_seconds,
    )


def _marks(effect: EventEffect, suggestion: Suggestion | None) -> list[CostMark]:
    """Return what was chosen, with the number of events."""
    live = CostMark(FILTERED, "", effect.live_cost, effect.live, applied=True)
    offline = CostMark(SMOOTHED, "", effect.offline_cost, effect.offline, applied=True)
    if suggestion is None:
        return [mark._replace(name=CHOSEN[effect.chosen_by]) for mark in (live, offline)]
    if suggestion.offline_cost and not suggestion.applied:
        cost, count = suggestion.offline_cost, suggestion.offline_events
        offline = offline._replace(cost=cost, events=count, applied=False)
    return [mark._replace(name=_suggested(mark)) for mark in (live, offline)]


def _suggested(mark: CostMark) -> str:
    if not mark.cost:
        return "suggested: no cost"
    return "suggested, applied" if mark.applied else "suggested, not applied"


def _tick(cost: float, in_seconds: bool) -> str:
    if not in_seconds or not cost:
        return f"{cost:g}"
    for length, unit in ((3600.0, "h"), (60.0, "min")):
        if math.fmod(cost, length) == 0:
            return f"{cost / length:g} {unit}"
    return f"{cost:g} s"
