"""A rule for events where nobody said how long an event lasts: a suggestion, with a guard.

The calls of the reference say how many events to expect, and costs of a change are matched to that
number. Calls cannot tell an error that stands alone from a short event, so the suggestion is taken
only where calls share errors, which the smoother takes for events, and where half of the calls
would expect as many events.
"""

from __future__ import annotations

from typing import NamedTuple

from .event_cost import EventCounts
from .expected_events import ExpectedCalls

MIN_KEPT = 0.95
"""Half of the calls must expect at least this share of the events. Whichever of six sets is left
out, the others and 45 drawn simulations choose 0.9; this leaves a margin. That calls
must share errors, too, was added after looking at all of these."""
MOST_LIVE_COST = 0.5
"""A live cost that only takes out what the smoother takes out, at most, as a share of the time from
one call to the next: twice the cost is then less than what one call decides. Looked at on six sets:
on ltafdb a larger one loses up to 1.5 points."""


class Suggestion(NamedTuple):
    """A rule for events that follows from the recordings alone; `event_duration` settles it.

    *Live* is of filtered rows, by `Pipeline.rule`; *offline* of smoothed rows, by the
    rule of `Pipeline.smoother`.

    Attributes
    ----------
    expected_events : float
        The events to expect in the recordings.
    from_half_the_calls : float
        The events that half of the calls would expect. Where that is clearly less, some events are
        shorter than calls can see.
    argmax_live, argmax_offline : int
        The events without a cost: of the most probable class of each row.
    live_cost : float
        The cost that the live rule has: matched to the events of the offline rule, 0 where that
        would take more than half the time between calls.
    offline_cost : float
        The cost with as many events as are expected; 0 where the argmax has no more.
    shared_calls : int
        How many successive calls of the reference share an error; 1 where they do not.
    applied : bool
        Whether the offline rule has this cost; otherwise it has none.
    why : str
        Why it is applied, or why not.
    """

    expected_events: float
    from_half_the_calls: float
    argmax_live: int
    argmax_offline: int
    live_cost: float
    offline_cost: float
    shared_calls: int
    applied: bool
    why: str

    @property
    def applied_offline_cost(self) -> float:
        """The cost that the offline rule has."""
        return self.offline_cost if self.applied else 0.0


def suggest(calls: ExpectedCalls, live: EventCounts, offline: EventCounts) -> Suggestion:
    """Suggest costs of a change.

    Parameters
    ----------
    calls : ExpectedCalls
        What the reference says of the events to expect in all streams.
    live, offline : EventCounts
        Of the filtered and of the smoothed rows of these streams.
    """
    expected, fewer = calls.expected_events, calls.from_fewer_calls
    argmax = offline.total(0.0)
    cost = offline.smallest_cost(expected)
    alike = fewer >= MIN_KEPT * expected
    applied = cost > 0 and calls.shared > 1 and alike
    if cost == 0:
        why = "the most probable class of each row has no more events than are expected"
    elif applied:
        why = f"{calls.shared} calls share an error, and half of the calls would expect as many"
    elif alike:
        why = "no errors are seen that calls share, so smoothed rows need no cost"
    else:
        why = (
            f"half of the calls would expect only {fewer / expected:.0%} of these events, so some "
            "are shorter than calls can see"
        )
    if applied:
        live_cost = live.smallest_cost(offline.total(cost))
    else:
        live_cost = live.smallest_cost(argmax)
        if live_cost > MOST_LIVE_COST * calls.step:
            live_cost = 0.0
    return Suggestion(
        expected_events=expected,
        from_half_the_calls=fewer,
        argmax_live=live.total(0.0),
        argmax_offline=argmax,
        live_cost=live_cost,
        offline_cost=cost,
        shared_calls=calls.shared,
        applied=applied,
        why=why,
    )
