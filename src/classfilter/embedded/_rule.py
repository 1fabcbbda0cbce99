"""The rule for events in firmware: times in ticks of the device's clock, memory of a fixed size."""

from __future__ import annotations

import itertools
import math
import struct
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._errors import ArgumentError
from .._label_scores import lane_names
from .._timestamps import duration
from ..chain._chain import Chain
from ..chain._event_rule import EventRule
from ._c_text import number

TICK = 0.001
NODES = 16
MOST_TICKS = 2**29
"""Limits are shorter, CF_TICKS_MOST: then a rule with times as float64 decides the same."""
MOST_SLOTS = 8192
_SPANS = ("max_gap", "max_delay", "max_duration", "shift")


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
        The memory: closed segments, and rows at which a class may have been entered.
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


def firmware_rules(chain: Chain, tick: Any = TICK, step: Any = None) -> list[FirmwareRule | None]:
    """Return the rule of a chain in ticks: one, or one for each of several labels at once.

    None stands for a label without events. A duration that is no whole number of ticks is rounded,
    with a warning. `step`, the shortest time between two rows, is needed for minimum durations:
    memory has to hold the rows of the longest one.
    """
    rule = chain.rule
    if not isinstance(rule, EventRule):
        return []
    length = duration("tick", tick)
    if not 0 < length < math.inf:
        raise ArgumentError("tick", tick, rule="it must be positive and finite")
    rule.check(chain.classes, chain.independent)
    in_ticks, names = _in_ticks(rule, length), tuple(map(str, chain.classes))
    lanes = [(in_ticks, names)]
    if chain.independent:
        lanes = [(in_ticks.lane(name), lane_names(name)) for name in names]
    longest = max(float(max(one.numbers(of)["min_duration"])) for one, of in lanes)
    slots = _slots(longest, length, step) if longest > 0 else 0
    rules = [FirmwareRule(one, of, length, NODES, slots) for one, of in lanes]
    return [
        None if chain.independent and name in rule.ignore else one
        for name, one in zip(names, rules, strict=False)
    ]


def _slots(longest: float, tick: float, step: Any) -> int:
    if step is None:
        raise ArgumentError(
            "step", None, "is not given, but the rule has a minimum duration",
            "memory has to hold the rows that the longest one spans",
            "give the shortest time between two rows",
        )  # fmt: skip
    shortest = duration("step", step)
    if not 0 < shortest < math.inf:
        raise ArgumentError("step", step, rule="it must be positive and finite")
    slots = math.ceil(longest * tick / shortest - 1e-9) + 2
    if slots > MOST_SLOTS:
        raise ArgumentError(
            "step", step, f"makes the longest minimum duration span {slots} rows, but it is {{}}",
            f"the memory is for at most {MOST_SLOTS}", "give a shorter minimum duration",
        )  # fmt: skip
    return slots


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

    changes = {name: cost(getattr(rule, name)) for name in ("change_cost", "leave_cost")}
    spans = ("min_duration", "merge_gap", *_SPANS)
    changes |= {name: span(name, getattr(rule, name)) for name in spans}
    changes["pad"] = tuple(_whole("pad", side, tick) for side in rule.pad)
    return replace(rule, **changes)


def _whole(name: str, length: float, tick: float) -> float:
    """Return a duration as a whole number of ticks."""
    ticks = float(round(length / tick))
    if ticks >= MOST_TICKS or (ticks == 0 and length > 0):
        rule = f"it must be from 1 to 2^29 - 1 ticks of {tick!r}, or 0"
        remedy = f"give a {'longer' if ticks else 'shorter'} tick"
        raise ArgumentError(name, length, rule=rule, remedy=remedy)
    if abs(ticks * tick - length) > 1e-9 * length:
        warnings.warn(
            f"{name} is {length!r}, which is no whole number of ticks of {tick!r}; the firmware "
            f"has {ticks * tick:.9g}",
            stacklevel=5,
        )
    return ticks


# ---- in C ----


def rule_macros(rules: Sequence[FirmwareRule | None]) -> list[str]:
    """Return the macros of cf_config.h for the rules of a chain."""
    some = [one for one in rules if one is not None]
    numbers, tick = [one.numbers for one in some], some[0].tick
    slow = [int(np.count_nonzero(of["min_duration"])) for of in numbers]
    lines = [
        "#define CF_EVENTS",
        "#define CF_TICKS",
        *(["#define CF_RULE cf_config_rule[0]"] if len(_unlike(rules)) == 1 else []),
        f"#define CF_RULES {len(some)}",
        f"#define CF_RULE_STATES {max(len(of['enter']) for of in numbers)}",
        f"#define CF_RULE_SLOW {max(slow)}",
        f"#define CF_RULE_NODES {some[0].nodes}",
        f"#define CF_RULE_SLOTS {some[0].slots}",
    ]
    if round(1 / tick) * tick == 1:
        lines += [f"#define CF_TICKS_PER_UNIT {round(1 / tick)}"]
    if any(one.rule.max_duration is not None for one in some):
        lines += ["#define CF_PIECES"]
    for name in ("enter", "leave", "bias"):
        values = {float(np.float32(x)) for of in numbers for x in of[name]}
        if len(values) == 1:
            lines += [f"#define CF_RULE_{name.upper()} {number(values.pop())}"]
    return lines


def rule_tables(rules: Sequence[FirmwareRule | None], independent: bool) -> list[str]:
    """Return the tables of cf_config.h; labels of equal rules share theirs."""
    unlike = _unlike(rules)
    lines = [line for i, one in enumerate(unlike.values()) for line in _numbers(one, i)]
    listed = ",\n    ".join(_fields(one, i) for i, one in enumerate(unlike.values()))
    lines += [f"static const cf_events_f32 cf_config_rule[] = {{\n    {listed}}};"]
    if not independent:
        return lines
    keys, place = list(unlike), itertools.count()
    of_labels = [-1 if one is None else keys.index(_key(one)) for one in rules]
    places = [-1 if one is None else next(place) for one in rules]
    for name, values in (("rule_of", of_labels), ("events_of", places)):
        lines += [f"static const short cf_config_{name}[] = {{{', '.join(map(str, values))}}};"]
    return lines


def _unlike(rules: Sequence[FirmwareRule | None]) -> dict[str, FirmwareRule]:
    """Return the rules that differ in their numbers, by these."""
    return {_key(one): one for one in rules if one is not None}


def _key(of: FirmwareRule) -> str:
    return repr({name: np.asarray(value).tolist() for name, value in of.numbers.items()})


def _numbers(of: FirmwareRule, i: int) -> list[str]:
    """Return the arrays of a rule, number i."""
    numbers = of.numbers
    reals = ", ".join(number(x) for name in ("enter", "leave", "bias") for x in numbers[name])
    lengths = ", ".join(_time(x) for x in numbers["min_duration"])
    ignored = ", ".join(str(int(x)) for x in numbers["ignore"])
    return [
        f"static const float cf_config_costs_{i}[] = {{{reals}}};",
        f"static const cf_time cf_config_min_duration_{i}[] = {{{lengths}}};",
        f"static const unsigned char cf_config_ignore_{i}[] = {{{ignored}}};",
    ]


def _fields(of: FirmwareRule, i: int) -> str:
    numbers, states = of.numbers, len(of.numbers["enter"])
    uncertain = numbers["min_probability"]
    times = (
        "max_gap",
        "max_delay",
        "max_duration",
        "merge_gap",
        "pad_before",
        "pad_after",
        "shift",
    )
    fields = [
        "CF_CLASSES",
        str(int(numbers["log"])),
        number(numbers["floor"]),
        number(0.0 if math.isnan(uncertain) else uncertain),
        f"cf_config_costs_{i}",
        f"cf_config_costs_{i} + {states}",
        f"cf_config_costs_{i} + {2 * states}",
        f"cf_config_min_duration_{i}",
        f"cf_config_ignore_{i}",
        *(_time(numbers[name]) for name in times),
    ]
    return f"{{{', '.join(fields)}}}"


def _time(ticks: float) -> str:
    return "CF_FOREVER" if ticks == math.inf else str(int(ticks))


# ---- golden vectors ----


def golden_events(
    rules: Sequence[FirmwareRule | None], independent: bool, dt: Any, rows: Any
) -> list[str]:
    """Return the lines of golden.h: what the rules report of the self-test's rows.

    `rows` are the filtered probabilities, of classes or of several labels at once.
    """
    scale, count, crc = _ticks_per_part(rules), 0, 0
    if independent:
        pairs = [np.column_stack([1 - on, on]) for on in rows.T]
        streams = [_Stream(*part) for part in zip(rules, pairs, range(len(rules)), strict=True)]
    else:
        streams = [_Stream(rules[0], rows)]
    now = 0
    for row, step in enumerate(np.asarray(dt, float).tolist()):
        now += int(step * 16) * scale
        for stream in streams:
            found, words = stream.words_of_row(now, row)
            count, crc = count + found, zlib.crc32(words, crc)
    for stream in streams:
        found, words = stream.words_of_end()
        count, crc = count + found, zlib.crc32(words, crc)
    return [
        f"#define CF_GOLDEN_TICKS {scale}u",
        f"#define CF_GOLDEN_EVENTS {count}",
        f"#define CF_GOLDEN_REPORTED 0x{crc:08x}u",
    ]


def _ticks_per_part(rules: Sequence[FirmwareRule | None]) -> int:
    """Return how many ticks a sixteenth of the self-test's time unit takes.

    A row of one unit then stands for about a quarter of what a change costs.
    """
    some = [one for one in rules if one is not None]
    cost = float(np.median([x for one in some for x in one.numbers["enter"]]))
    scale = cost / 64 if cost > 0 else 1 / some[0].tick / 16
    gaps = [one.rule.max_gap / 40 for one in some if one.rule.max_gap is not None]
    return max(1, min(round(min(scale, *gaps)) if gaps else round(scale), 200_000))


class _Stream:
    """A stream of the self-test: what is reported, as the words that the firmware adds up.

    Of several labels at once, it is one of a `label`, which may have no rule.
    """

    def __init__(self, rule: FirmwareRule | None, rows: Any, label: int | None = None) -> None:
        self._core = None if rule is None else rule.core()
        self._rows, self._label = rows.astype(np.float32), label
        self._state = b"" if self._core is None else self._core.start()
        both = 0.0 if rule is None else sum(rule.rule.pad)
        self._tiny = 0.5 / both if both else 0.0

    def words_of_row(self, now: int, row: int) -> tuple[int, bytes]:
        if self._core is None:
            return 0, _packed([0, 0])
        self._state, events = self._core.update(self._state, float(now), self._rows[row])
        going_on = self._core.current(self._state)
        words = [len(events)]
        for event in events:
            words += self._words(*event)
        words += [0] if going_on is None else self._current(*going_on)
        return len(events), _packed(words)

    def words_of_end(self) -> tuple[int, bytes]:
        if self._core is None:
            return 0, b""
        columns = [column.tolist() for column in self._core.finish(self._state)]
        events = list(zip(*columns, strict=True))
        return len(events), _packed([word for event in events for word in self._words(*event)])

    def _current(self, label: int, start: float, mean: float, confirmed: bool) -> list[int]:
        return [1 + confirmed, self._named(label), *self._time(start), _bits(mean)]

    def _words(self, label: int, start: float, end: float, mean: float, forced: bool) -> list[int]:
        times = (*self._time(start), *self._time(end))
        return [self._named(label), *times, _bits(mean), int(forced)]

    def _named(self, label: int) -> int:
        return label if self._label is None else self._label

    def _time(self, time: float) -> tuple[int, int]:
        """Return the words of a tick: where pads meet between two ticks, of the earlier one.

        That time is right but for rounding, which is far less than the least share of a tick.
        """
        high, low = divmod(math.floor(time + self._tiny), 2**32)
        return low, high


def _bits(mean: float) -> int:
    return int(np.float32(mean).view(np.uint32))


def _packed(words: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)
