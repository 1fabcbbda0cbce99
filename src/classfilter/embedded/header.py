"""The settings of a filter as a header of C, cf_config.h."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._version import __version__
from ..filters import DirichletFilter, StickyFilter
from ..pipeline import Pipeline, of_head, options
from ..policy import Adaptive
from .rule import FirmwareRule


def table(name: str, numbers: Any) -> str:
    """Write numbers as a constant array."""
    listed = ", ".join(number(x) for x in np.asarray(numbers).ravel().tolist())
    return f"static const float cf_config_{name}[] = {{{listed}}};"


def number(x: float) -> str:
    """Write a number so that a C compiler reads the same float, to the bit."""
    digits = f"{np.float32(x):.9g}"
    return f"{digits if re.search('[.e]', digits) else digits + '.0'}f"


def quoted(value: str) -> str:
    r"""Write text as a C string: bytes beyond ASCII by number, quotes and backslashes escaped."""
    plain = range(32, 127)
    return (
        '"'
        + "".join(
            chr(b) if b in plain and chr(b) not in '"\\?' else f"\\{b:03o}" for b in value.encode()
        )
        + '"'
    )


_MACROS = ("CF_CLASS_NAMES", "CF_HEAD_NAMES", "CF_HEAD_COLUMNS")
"""Macros of cf_config.h that an enumeration must not have, too."""


def constants(prefix: str, names: Sequence[Any]) -> list[str]:
    """Return the names of an enumeration, no two alike; some get a number."""
    words = [f"{prefix}_{re.sub('[^A-Za-z0-9]', '_', str(name)).upper()}" for name in names]
    unique = list(_MACROS)
    for i, word in enumerate(words):
        new, number = word, i
        while new in unique or (new != word and new in words):
            new, number = f"{word}_{number}", number + 1
        unique.append(new)
    return unique[len(_MACROS) :]


def comment(text: str) -> str:
    """Write text so that it may stand in a comment."""
    return re.sub(r"[^\x20-\x7e]|\*/|/\*", "?", text)


def rule_macros(rules: Sequence[FirmwareRule | None]) -> list[str]:
    """Return the macros of cf_config.h for the rules of a pipeline."""
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


def rule_tables(rules: Sequence[FirmwareRule | None]) -> list[str]:
    """Return the tables of cf_config.h; heads of equal rules share theirs."""
    unlike = _unlike(rules)
    lines = [line for i, one in enumerate(unlike.values()) for line in _numbers(one, i)]
    listed = ",\n    ".join(_fields(one, i) for i, one in enumerate(unlike.values()))
    lines += [f"static const cf_events_f32 cf_config_rule[] = {{\n    {listed}}};"]
    keys, place = list(unlike), itertools.count()
    of_heads = [-1 if one is None else keys.index(_key(one)) for one in rules]
    places = [-1 if one is None else next(place) for one in rules]
    return [*lines, by_head("rule_of", of_heads), by_head("events_of", places)]


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
    fields = [
        str(len(of.names)),
        str(int(numbers["log"])),
        number(numbers["floor"]),
        number(numbers["min_probability"]),
        f"cf_config_costs_{i}",
        f"cf_config_costs_{i} + {states}",
        f"cf_config_costs_{i} + {2 * states}",
        f"cf_config_min_duration_{i}",
        f"cf_config_ignore_{i}",
        *(_time(numbers[name]) for name in _core.EVENT_TIMES),
    ]
    return f"{{{', '.join(fields)}}}"


def _time(ticks: float) -> str:
    return "CF_FOREVER" if ticks == math.inf else str(int(ticks))


def channels_of(pipe: Pipeline) -> list[str]:
    """Return the sources that have a channel."""
    return [name for name, channel in pipe.channel.items() if channel is not None]


def filters_of(config: Pipeline) -> Sequence[Any]:
    """Return the filter of each head."""
    f = config.filter
    filters: Sequence[Any] = getattr(f, "filters", (f,))
    return filters


def is_tempered(config: Pipeline) -> bool:
    """Return whether a filter has a temperature; where none has, there is no code for it."""
    return any(np.float32(f.temperature) != 1 for f in filters_of(config))


def config_header(config: Pipeline, name: str, rules: Sequence[FirmwareRule | None] = ()) -> str:
    """Return the header with all settings as constants.

    Heads of equal settings share a filter; weights and channels stand by source, then by head.
    """
    heads, each, beta = config.heads, filters_of(config), config.beta
    assert isinstance(beta, dict)
    settings = [repr((len(f.classes), options(f))) for f in each]
    unlike = list(dict.fromkeys(settings))
    of_filters = [each[settings.index(one)] for one in unlike]
    filters = [filter_tables(f, f"_{i}") for i, f in enumerate(of_filters)]
    weights = [of_head(weight, name) for weight in beta.values() for name in heads.names]
    channels = [of_head(config.channel[source], name) for source in beta for name in heads.names]
    columns = [len(shown) for shown in heads.columns]
    macros = [
        f"#define CF_HEADS {len(heads.names)}",
        f"#define CF_HEAD_COLUMNS {_listed(columns)}",
        *([] if heads.is_exclusive else _names("CF_HEAD", heads.names)),
        f"#define CF_COLUMNS {len(heads.shown)}",
        *_names("CF_CLASS", heads.shown),
        f"#define CF_MOST_CLASSES {heads.width}",
        *([f"#define CF_CLASSES {heads.width}"] if len(set(heads.sizes)) == 1 else []),
        *_sources(list(beta), weights),
        *_kinds(filters),
    ]
    fields, starts = ",\n    ".join(f.fields for f in filters), [f.start for f in filters]
    tables = [line for f in filters for line in f.tables]
    tables += [
        f"static const {filters[0].kind} cf_config_filter[] = {{\n    {fields}}};",
        f"static const float *const cf_config_start[] = {_listed(starts)};",
        by_head("filter_of", [unlike.index(one) for one in settings]),
        by_head("column", [span.start for span in heads.spans]),
        by_head("is_label", [int(h in heads.labels) for h in range(len(columns))]),
        table("beta", weights),
    ]
    if channels_of(config):
        macros += ["#define CF_CHANNELS"]
        tables += _channels(channels)
    if is_tempered(config):
        macros += ["#define CF_TEMPERED"]
        tables += [table("temperature", [f.temperature for f in of_filters])]
    if not any(options(f).get("anchor", 0.0) > 0 for f in each):
        macros += ["#define CF_NO_ANCHOR"]
    if config.policy is not None:
        macros += _policy_macros(config.policy, list(beta))
        tables += _policy_table(config.policy)
    if any(rules):
        macros += rule_macros(rules)
        tables += rule_tables(rules)
    lines = [
        f"/* Written by classfilter {__version__} from {comment(name)}; do not edit. */",
        "#ifndef CF_CONFIG_H",
        "#define CF_CONFIG_H",
        "",
        "#undef CF_SMALL",
        "#define CF_SMALL",
        *macros,
        f"#define CF_SCRATCH {_scratch(macros)}(CF_MOST_CLASSES)",
        "",
        "#ifdef CF_TABLES",
        '#include "core/cf.h"',
        "",
        *tables,
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def by_head(name: str, numbers: Sequence[int]) -> str:
    """Write a number of each head as a constant array."""
    return f"static const short cf_config_{name}[] = {_listed(numbers)};"


def _listed(values: Sequence[Any]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _kinds(filters: Sequence[FilterTables]) -> list[str]:
    """Return the macros of the kind of filter; one with rates gives all of them room for these."""
    kinds = list(dict.fromkeys(macro for f in filters for macro in f.macros))
    return ["#define CF_RATES"] if "#define CF_RATES" in kinds else kinds


def _scratch(macros: list[str]) -> str:
    """Return the macro of core/cf.h for the floats that an update works on."""
    if "#define CF_DIRICHLET" in macros:
        return "CF_DIRICHLET_SCRATCH"
    return "CF_STICKY_SCRATCH" if "#define CF_RATES" in macros else "CF_STICKY_SCRATCH_STAY"


def _names(prefix: str, names: Sequence[Any]) -> list[str]:
    return [
        f"#define {prefix}_NAMES {_listed([quoted(str(name)) for name in names])}",
        f"enum {{ {', '.join(constants(prefix, names))} }};",
    ]


def _sources(sources: list[str], weights: list[float]) -> list[str]:
    macros = [
        f"#define CF_SOURCES {len(sources)}",
        f"enum {{ {', '.join(constants('CF_SOURCE', sources))} }};",
    ]
    return [*macros, "#define CF_UNIT_WEIGHTS"] if set(weights) <= {0.0, 1.0} else macros


class FilterTables(NamedTuple):
    """A filter in C: its structure, macros, tables, fields, and the name of its start."""

    kind: str
    macros: list[str]
    tables: list[str]
    fields: str
    start: str


def filter_tables(f: Any, suffix: str) -> FilterTables:
    """Return a filter in C; `suffix` ends the names of its tables."""
    return (_dirichlet if isinstance(f, DirichletFilter) else _sticky)(f, suffix)


def _dirichlet(f: DirichletFilter, suffix: str) -> FilterTables:
    settings = options(f)
    anchored = settings["anchor"] > 0
    state = [settings["prior_weight"], *settings["prior"]]
    tables = []
    if anchored:
        of_weight_one = DirichletFilter(f.classes, **settings | {"prior_weight": 1.0})
        tables += [table(f"prior_nu{suffix}", of_weight_one.nu)]
    log_gamma = _core.log(np.array([f.gamma], np.float32))[0] if np.float32(f.gamma) > 0 else 0.0
    numbers = [f.gamma, settings["floor"], settings["anchor"], settings["max_concentration"]]
    fields = [
        str(len(f.classes)),
        *map(number, numbers),
        str(int(settings["estimate"] == "mean")),
        number(settings["tolerance"]),
        str(int(settings["bounded"])),
        number(log_gamma),
        number(f._bound),
        f"cf_config_prior_nu{suffix}" if anchored else "NULL",
    ]
    macros = ["#define CF_DIRICHLET", "#define CF_NO_RATES"]
    tables += [table(f"start{suffix}", state)]
    start, listed = f"cf_config_start{suffix}", f"{{{', '.join(fields)}}}"
    return FilterTables("cf_dirichlet_f32", macros, tables, listed, start)


def _sticky(f: StickyFilter, suffix: str) -> FilterTables:
    log_stay, fastest, numbers, rates = f._prepared
    macros = ["#define CF_RATES" if rates is not None else "#define CF_NO_RATES"]
    tables = [] if rates is None else [table(f"rates{suffix}", rates)]
    fields = [
        str(len(f.classes)),
        number(1.0 if f.stay is None else f.stay),
        number(f.floor),
        "NULL" if rates is None else f"cf_config_rates{suffix}",
        number(log_stay),
        number(fastest),
        f"cf_config_table{suffix}",
    ]
    read = numbers[:2]  # with CF_SMALL the core has the least probability as a constant
    tables += [table(f"table{suffix}", read)]
    start, listed = f"cf_config_table{suffix}", f"{{{', '.join(fields)}}}"
    return FilterTables("cf_sticky_f32", macros, tables, listed, start)


def _channels(channels: Sequence[Any]) -> list[str]:
    """Return the tables of channels, some of them None; equal ones share theirs."""
    lines: list[str] = []
    fields: list[str] = []
    known: dict[str, int] = {}
    for channel in channels:
        if channel is None:
            fields.append("{0, NULL, NULL}")
            continue
        matrix, prior = channel.logarithms
        key = repr((matrix.tolist(), prior.tolist()))
        if key not in known:
            i = known[key] = len(known)
            lines += [table(f"log_matrix_{i}", matrix), table(f"log_prior_{i}", prior)]
        i = known[key]
        fields.append(f"{{{len(prior)}, cf_config_log_prior_{i}, cf_config_log_matrix_{i}}}")
    listed = ",\n    ".join(fields)
    return [*lines, f"static const cf_channel_f32 cf_config_channel[] = {{\n    {listed}}};"]


def _policy_macros(policy: Any, sources: Sequence[str]) -> list[str]:
    names = dict(zip(sources, constants("CF_SOURCE", sources), strict=True))
    lines = ["#define CF_POLICY"]
    for role in ("strong", "weak"):
        lines += [f"#define CF_{role.upper()} {names[getattr(policy, role)]}"]
    if isinstance(policy, Adaptive):
        return [*lines, "#define CF_ADAPTIVE"]
    if policy.every is not None:
        return [*lines, f"#define CF_EVERY {policy.every}u"]
    return [*lines, f"#define CF_SECONDS {number(policy.seconds)}"]


def _policy_table(policy: Any) -> list[str]:
    if not isinstance(policy, Adaptive):
        return []
    fields = [str(x) if isinstance(x, int) else number(x) for x in policy._prepared]
    return [f"static const cf_adaptive_f32 cf_config_policy = {{{', '.join(fields)}}};"]
