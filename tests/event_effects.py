"""What a rule for events does, with numbers by hand: half an hour, and half a second a row."""

from __future__ import annotations

from typing import Any

import classfilter as cf
from classfilter.tuning import EventEffect, EventsAtCost, Suggestion

CURVE = ((0.0, 40, 20), (0.25, 30, 18), (4.0, 12, 11), (60.0, 3, 5))


def tuned_with(chosen_by: str, suggestion: Suggestion | None = None, **changes: Any) -> cf.Tuned:
    """Return settings whose rule has 10 live events at 5 s, and 9 offline at 10 s."""
    effect = EventEffect(
        chosen_by, live=10, offline=9, live_cost=5.0, offline_cost=10.0, argmax_live=40,
        argmax_offline=20, half=None, double=None, delay=8.0, delay_rows=16.0,
        curve=tuple(EventsAtCost(*at) for at in CURVE), by_labels=None, time=1800.0, rows=3600,
        in_seconds=True,
    )  # fmt: skip
    tuned = cf.Tuned(cf.StickyFilter(["a", "b"]), beta={"s": 1.0}, reference="s")
    return tuned.having(event_effect=effect._replace(**changes), suggestion=suggestion)


def suggested(offline_cost: float, applied: bool, live_cost: float = 5.0) -> cf.Tuned:
    """Return settings with a suggestion: 9.5 events are expected in the half hour."""
    found = Suggestion(
        9.5, 9.4, 40, 20, live_cost, offline_cost, 9 if offline_cost else 20, 1, applied,
        "so it is",
    )  # fmt: skip
    now = {"offline_cost": offline_cost, "offline": found.offline_events}
    if not applied:
        now = {"offline_cost": 0.0, "offline": 20}
    live = {"live_cost": live_cost, "live": 10 if live_cost else 40}
    return tuned_with("suggestion", found, **now, **live)
