"""The rule for events in firmware: times in ticks of the device's clock, memory of a fixed size."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

from .. import _core
from ..errors import ArgumentError
from ..events import OPTIONS, EventRule
from ..inputs import duration
from ..pipeline import Pipeline

TICK = 0.001
NODES = 16
MOST_TICKS = 2**29
"""Limits are shorter, CF_TICKS_MOST: then a rule with times as float64 decides the same."""
MOST_SLOTS = 64
"""More rows in a minimum duration need no more memory, CF_EVENTS_SLOTS."""


class FirmwareRule(NamedTuple):
    """A rule whose times are ticks.

    Attributes
    ----------
    rule : EventRule
        The rule; its durations are whole numbers of ticks.
    names : tuple of str
        The classes.
    tick : float
        The length of a tick, in the unit of the settings.
    nodes, slots : int
        The memory: closed segments, and rows of each class at which it may have been entered.
    """

    rule: EventRule
    names: tuple[str, ...]
    tick: float
    nodes: int
    slots: int

    @property
    def numbers(self) -> dict[str, Any]:
        """The settings as the core has them."""
        return self.rule.numbers(self.names)

    def core(self) -> Any:
        """Return the rule of Python's core in float32, with as much memory as the firmware."""
        numbers = {**self.numbers, "max_duration": math.inf}  # the firmware divides on request
        return _core.EventRule(len(self.names), True, **numbers, nodes=self.nodes, slots=self.slots)


def firmware_rules(pipe: Pipeline, tick: Any = TICK, step: Any = None) -> list[FirmwareRule | None]:
    """Return the rule of each head of a pipeline in ticks.

    None stands for a label without events. A duration that is no whole number of ticks is rounded,
    with a warning. `step`, the shortest time between two rows, saves memory where the longest
    minimum duration spans few of them.
    """
    length = _positive("tick", tick)
    if step is not None:
        _positive("step", step)
    rule = pipe.rule
    if not isinstance(rule, EventRule):
        return []
    heads = pipe.heads
    rule.check(heads)
    in_ticks = _in_ticks(rule, length)
    of_heads = [(in_ticks.head(heads, h), heads.classes_of(h)) for h in range(len(heads.names))]
    longest = max(float(max(one.numbers(names)["min_duration"])) for one, names in of_heads)
    slots = _slots(longest, length, step)
    return [
        None
        if h in heads.labels and heads.columns[h][0] in rule.ignore
        else FirmwareRule(one, names, length, NODES, slots)
        for h, (one, names) in enumerate(of_heads)
    ]


def _positive(name: str, given: Any) -> float:
    """Return a duration, which must be positive."""
    length = duration(name, given)
    if not 0 < length < math.inf:
        raise ArgumentError(name, given, must="it must be positive and finite")
    return length


def _slots(longest: float, tick: float, step: Any) -> int:
    """Return how many rows the memory is for: those of the longest minimum duration, if few."""
    if longest == 0 or step is None:
        return MOST_SLOTS if longest > 0 else 0
    return min(math.ceil(longest * tick / _positive("step", step) - 1e-9) + 2, MOST_SLOTS)


def _in_ticks(rule: EventRule, tick: float) -> EventRule:
    """Return a rule with a tick as its unit."""

    def cost(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: one / tick for name, one in value.items()}
        return value / tick

    def span(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {label: _whole(name, one, tick) for label, one in value.items()}
        return value if value is None else _whole(name, value, tick)

    def pair(name: str, sides: Any) -> Any:
        return tuple(_whole(name, side, tick) for side in sides)

    in_ticks = {"cost": lambda _, value: cost(value), "duration": span, "pair": pair}
    changes = {
        name: in_ticks[option.kind](name, getattr(rule, name))
        for name, option in OPTIONS.items()
        if option.kind in in_ticks
    }
    return replace(rule, **changes)


def _whole(name: str, length: float, tick: float) -> float:
    """Return a duration as a whole number of ticks."""
    ticks = float(round(length / tick))
    if ticks >= MOST_TICKS or (ticks == 0 and length > 0):
        must = f"it must be from 1 to 2^29 - 1 ticks of {tick!r}, or 0"
        fix = f"give a {'longer' if ticks else 'shorter'} tick"
        raise ArgumentError(name, length, must=must, fix=fix)
    if abs(ticks * tick - length) > 1e-9 * length:
        warnings.warn(
            f"{name} is {length!r}, which is no whole number of ticks of {tick!r}; the firmware "
            f"has {ticks * tick:.9g}",
            stacklevel=5,
        )
    return ticks
