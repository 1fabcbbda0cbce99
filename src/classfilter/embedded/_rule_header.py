"""The rule for events as macros and tables of C, for cf_config.h."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ._c_text import number
from ._rule import FirmwareRule


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
