"""Costs of a change from how long an event usually lasts, which people know.

Predictions alone cannot tell a confident error that stands alone from a short event. A duration
can: of the recordings' time and the duration follows how many events to expect, and the cost is
matched to that number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..inputs import duration
from ..support.types import Floats
from .effect import require_seconds
from .event_cost import EventCounts

NAME = "event_duration"
ROUNDING = 1 + 1e-6
"""A sum of probabilities may fall short of the time by rounding."""


class EventDurations(NamedTuple):
    """How long events usually last.

    Attributes
    ----------
    given : object
        As the user gave it.
    by_class : dict of str to float
        The duration of each class, or of each label being on, in the unit of the times.
    """

    given: Any
    by_class: dict[str, float]

    @classmethod
    def of(cls, given: Any, classes: tuple[str, ...]) -> EventDurations | None:
        """Check what was given; None where nothing was."""
        if given is None:
            return None
        if not isinstance(given, Mapping):
            return cls(given, dict.fromkeys(classes, _positive(given)))
        by_class = {str(name): _positive(value, str(name)) for name, value in given.items()}
        for name in by_class:
            if name not in classes:
                raise ArgumentError(
                    NAME, name, problem="names {}", must=f"the classes are {list(classes)}"
                )
        for name in classes:
            if name not in by_class:
                fix = "name every class, or give one duration for all"
                raise ArgumentError(NAME, name, problem="has no duration of {}", fix=fix)
        return cls(given, {name: by_class[name] for name in classes})

    @property
    def longest(self) -> float:
        """The longest of them."""
        return max(self.by_class.values())

    @property
    def one(self) -> float | None:
        """The duration, where it is one for all classes."""
        return None if isinstance(self.given, Mapping) else self.longest

    @property
    def shares(self) -> dict[str, float] | None:
        """What the cost of each class is multiplied by: costs are as durations are."""
        if self.one is not None:
            return None
        mean = sum(self.by_class.values()) / len(self.by_class)
        return {name: length / mean for name, length in self.by_class.items()}

    def require_seconds(self, in_seconds: bool, step: float) -> None:
        """Raise where a duration has a unit, and the times cannot be seconds."""
        values = self.given.values() if isinstance(self.given, Mapping) else [self.given]
        for value in values:
            require_seconds(NAME, value, in_seconds, step)

    def expected_events(self, expected_time: Floats) -> float:
        """Return how many events to expect: the sum of the time of each class by its duration."""
        return float((expected_time / np.array(list(self.by_class.values()))).sum())

    def most_events(self, expected_time: Floats) -> tuple[str, float]:
        """Return the class of most events, and how many there can be of classes that exclude each.

        No two events of a class follow each other, so that those of this class have others between.
        """
        lasts = np.array(list(self.by_class.values()))
        events = expected_time / lasts
        k = int(events.argmax())
        others = float(np.delete(events, k).sum())
        name = tuple(self.by_class)[k]
        if not others:
            return name, float(events.sum())
        between = float(np.delete(expected_time, k).sum()) / others
        return name, 2 * float(expected_time.sum()) / (lasts[k] + between)


class MatchedCosts(NamedTuple):
    """The costs of live events, which are of filtered rows, and of offline ones, of smoothed."""

    live: float
    offline: float


def match_costs(
    live: EventCounts, offline: EventCounts, expected: float, one_source: bool = False
) -> MatchedCosts:
    """Return the costs whose events are as many as expected.

    Offline, it is the smallest cost with at most as many; live, one with at least as many events as
    the offline path has. So both err short: too many events do less harm than too few. Of one
    source, what smooths may leave fewer events than there are; live ones, if there are so many, are
    as many as are expected.
    """
    expected *= ROUNDING
    cost = offline.smallest_cost(expected)
    least = offline.total(cost)
    if one_source and live.total(0.0) >= expected:
        least = max(least, math.floor(expected))
    return MatchedCosts(live.cost_of_as_many(least), cost)


def _positive(value: Any, entry: str | None = None) -> float:
    span = duration(NAME, value, entry)
    if not 0 < span < math.inf:
        raise ArgumentError(NAME, value, must="it must be positive and finite", entry=entry)
    return span
