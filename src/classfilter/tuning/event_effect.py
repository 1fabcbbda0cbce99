"""What a rule for events does: how many events there are, and when they are confirmed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..events import EventRule
from ..inputs import Heads
from ..support.types import Ints
from .event_cost import DecidedRows

DELAY_ROWS = 30_000
"""The delay is measured on the first streams, of at least so many rows where there are more."""


class CostByLabels(NamedTuple):
    """A cost that was chosen by labels.

    Attributes
    ----------
    cost : float
        The middle one of those that are alike.
    f1 : float
        F1@50 of its events, over all streams; see `metrics.event_scores`.
    error : float
        Standard error of `f1`, from resampled streams; NaN of a single stream.
    low, high : float
        The costs around the best that are alike: less than a standard error below it.
    """

    cost: float
    f1: float
    error: float
    low: float
    high: float


class EventEffect(NamedTuple):
    """What the rule for events does on the recordings that it was chosen on.

    *Live* is of filtered rows, by `Pipeline.rule`; *offline* of smoothed rows, by the
    rule of `Pipeline.smoother`.

    Attributes
    ----------
    chosen_by : str
        "duration", "labels" or "suggestion".
    live, offline : int
        The number of events.
    argmax_live, argmax_offline : int
        The number of events without a cost: of the most probable class of each row.
    half, double : int or None
        The number of live events, were the duration half or double.
    delay : float
        The median time from the end of a live event to the row that confirms it; NaN where none is
        confirmed before the end of its stream.
    delay_rows : float
        The rows in it.
    by_labels : tuple of CostByLabels or None
        Of live and of offline events, where the cost was chosen by labels.
    duration : float or None
        How long an event usually lasts, where that chose the cost and is one for all classes.
    time : float
        The time of all streams, without gaps.
    rows : int
        The rows in it.
    in_seconds : bool
        Whether the times may be seconds, as far as their size tells.
    start_delay : float
        The median time from the start of a live event until that is final, as `Tracker.pop_starts`
        has it.
    """

    chosen_by: str
    live: int
    offline: int
    argmax_live: int
    argmax_offline: int
    half: int | None
    double: int | None
    delay: float
    delay_rows: float
    by_labels: tuple[CostByLabels, CostByLabels] | None
    duration: float | None
    time: float
    rows: int
    in_seconds: bool
    start_delay: float = math.nan


class Delays(NamedTuple):
    """Medians over live events: how long after its end an event is confirmed, in time and in rows.

    `start` is how long after its start the start is final.
    """

    end: float
    end_rows: float
    start: float


def confirmation_delays(streams: Sequence[DecidedRows], heads: Heads, rule: EventRule) -> Delays:
    """Return how late events and their starts are final.

    Rows are taken one by one, as in a live stream. What only its end confirms has no delay.
    """
    late: list[float] = []
    starts_late: list[float] = []
    rows: list[int] = []
    taken = 0
    for time, probs in streams:
        if taken >= DELAY_ROWS:
            break
        taken += len(time)
        core = rule.compiled(heads, probs.dtype)
        state, ends, confirmed = core.start(), [], []
        for n, (at, p) in enumerate(zip(time.tolist(), probs, strict=True)):
            starts: list[tuple[int, float]] = []
            state, events = core.update(state, at, p, starts)
            starts_late += [at - start for _, start in starts]
            ends += [event[2] for event in events]
            confirmed += [n] * len(events)
        late += (time[confirmed] - ends).tolist() if ends else []
        first: Ints = np.searchsorted(time, ends)
        rows += (np.array(confirmed, np.intp) - first).tolist()
    middle = [float(np.median(one)) if one else math.nan for one in (late, rows, starts_late)]
    return Delays(*middle)
