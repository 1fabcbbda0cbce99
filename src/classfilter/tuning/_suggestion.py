"""A rule for events where nobody said how long an event lasts: a suggestion, with a guard.

The calls of the reference say how many events to expect, and costs of a change are matched to that
number. Calls cannot tell an error that stands alone from a short event, so the suggestion is taken
only where half of the calls would expect as many events.
"""

from __future__ import annotations

from typing import NamedTuple

from .._support.types import Floats
from ._event_cost import EventCounts
from ._expected_events import expect_events
from ._rows import JoinedRows

MIN_KEPT = 0.95
"""Half of the calls must expect at least this share of the events. Chosen on 45 drawn simulations at
1 call in 4, 12 and 30, judged on geolife, ltafdb, wisdm and extrasensory; leaving out any set, the
others choose the same (``python -m experiments.suggestion``)."""
MOST_LIVE_COST = 0.5
"""A live cost that only takes out what the smoother takes out, at most, as a share of the time from
one call to the next: twice the cost is then less than what one call decides. Looked at on all six
sets of ``python -m experiments.suggestion``: on ltafdb a larger one loses up to 1.5 points."""


class Suggestion(NamedTuple):
    """A rule for events that follows from the recordings alone; `event_duration` settles it.

    *Live* is of filtered rows, by `Tuned.rule`; *offline* of smoothed rows, by the rule of
    `Tuned.smoother`.

    Attributes
    ----------
    expected_events : float
        The events to expect in the recordings.
    argmax_live, argmax_offline : int
        The events without a cost: of the most probable class of each row.
    live_cost : float
        The cost that the live rule has: matched to the events of the offline rule, 0 where that
        would take more than half the time between calls.
    offline_cost : float
        The cost with as many events as are to expect; 0 where the argmax has no more.
    shared_calls : int
        How many successive calls of the reference share an error; 1 where they do not.
    applied : bool
        Whether the offline rule has this cost; otherwise it has none.
    why : str
        Why it is applied, or why not.
    """

    expected_events: float
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


def suggest(
    calls: JoinedRows, shares: Floats, live: EventCounts, offline: EventCounts
) -> Suggestion:
    """Suggest costs of a change.

    Parameters
    ----------
    calls : JoinedRows
        The predictions of the reference.
    shares : ndarray (K,)
        The share of each class in them.
    live, offline : EventCounts
        Of the filtered and of the smoothed rows of the same streams.
    """
    expected = expect_events(calls, shares)
    argmax = offline.total(0.0)
    cost = offline.smallest_cost(expected.number)
    applied = expected.from_fewer_calls >= MIN_KEPT * expected.number and cost > 0
    if cost == 0:
        why = "the most probable class of each row has no more events than are to expect"
    elif applied:
        why = "half of the calls would expect as many events"
    else:
        share = expected.from_fewer_calls / expected.number
        why = (
            f"half of the calls would expect only {share:.0%} of these events, so some are shorter "
            "than calls can see"
        )
    if applied:
        live_cost = live.smallest_cost(offline.total(cost))
    else:
        live_cost = live.smallest_cost(argmax)
        if live_cost > MOST_LIVE_COST * calls.step:
            live_cost = 0.0
    counts = expected.number, live.total(0.0), argmax
    return Suggestion(*counts, live_cost, cost, expected.shared, applied, why)
