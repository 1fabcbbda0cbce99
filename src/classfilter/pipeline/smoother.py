"""A smoother of its own: checked, and its settings as what differs from those of its chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentError
from ..filters import check_smoother
from .settings import settings_of_rows

OF_ROWS = ("filter", "options", "beta", "channel")
_RATES = ("gamma", "half_life", "stay", "transitions")
"""A filter takes one of them."""


def checked(smoother: Any, chain: Any) -> Any:
    """Return what smooths in place of a chain, or None where that does it itself.

    Where the smoother has no rule for events, it gets that of the chain.
    """
    if not hasattr(smoother, "observe_rows"):
        remedy = "give a Chain, with the weights of its sources"
        raise ArgumentError("smoother", smoother, rule=remedy)
    smoother = smoother.smoother
    names = [list(map(str, one.classes)) for one in (smoother, chain)]
    if names[0] != names[1]:
        problem, rule = "has the classes {}", f"those of the chain are {names[1]}"
        raise ArgumentError("smoother", names[0], problem, rule, "give the same, in this order")
    if smoother.heads != chain.heads:
        rule = f"the {chain.heads.noun} of the chain {chain.heads.relation}: give one that does"
        raise ArgumentError("smoother", smoother, rule=rule)
    try:
        check_smoother(smoother.filter())
    except TypeError as error:
        raise TypeError(f"smoother: {error}") from None
    if isinstance(chain.beta, dict) and isinstance(smoother.beta, dict):
        missing = [source for source in chain.beta if source not in smoother.beta]
        if missing:
            problem = "has no weight of source {}"
            raise ArgumentError("smoother", missing[0], problem, remedy="add it to its beta")
    if smoother.rule is None and chain.rule is not None:
        smoother = smoother.with_rule(chain.rule)
    return smoother if difference(smoother, chain) else None


def difference(smoother: Any, chain: Any) -> dict[str, Any]:
    """Return the settings of a smoother that differ from those of its chain; see `overlaid`."""
    these, those = (_settings(one) for one in (smoother, chain))
    found: dict[str, Any] = {}
    if "labels" in these or "labels" in those:
        mine, others = (_by_label(settings, chain) for settings in (these, those))
        each = {name: _rows_difference(mine[name], others[name]) for name in mine}
        first, *more = each.values()
        same = all(one == first for one in more)
        found = first if same else {"labels": {name: one for name, one in each.items() if one}}
    else:
        found = _rows_difference(these, those)
    events = _difference(these.get("events", {}), those.get("events", {}))
    return found | ({"events": events} if events else {})


def overlaid(chain: Any, section: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a smoother: those of its chain, and over them what differs.

    An option of how fast the filter forgets takes the place of another one. What is false is left
    out: ``channel.weak = false``, ``events.merge_gap = false``. Of several labels at once, settings
    count for all labels, and those in ``labels.robin`` for one.
    """
    below = _settings(chain)
    common = {name: section[name] for name in OF_ROWS if name in section}
    of_labels = section.get("labels", {})
    of_all = ("classes", "scores")
    result: dict[str, Any] = {name: x for name, x in below.items() if name in of_all}
    if of_labels or "labels" in below:
        result["labels"] = {
            name: _over(_over(rows, common), of_labels.get(name, {}))
            for name, rows in _by_label(below, chain).items()
        }
    else:
        rows = {name: below[name] for name in OF_ROWS if name in below}
        result |= _over(rows, common)
    events = _overlay(below.get("events", {}), section.get("events", {}))
    return result | ({"events": events} if events else {})


def _settings(chain: Any) -> dict[str, Any]:
    """Return the settings of a chain that its smoother may have of its own."""
    settings = {"classes": list(chain.classes), **settings_of_rows(chain)}
    return settings | ({} if chain.rule is None else {"events": chain.rule.settings})


def _by_label(settings: dict[str, Any], chain: Any) -> dict[str, Any]:
    """Return the settings of each label, where all share them too."""
    rows = {name: settings[name] for name in OF_ROWS if name in settings}
    labels: dict[str, Any] = settings.get("labels") or dict.fromkeys(chain.heads.names, rows)
    return labels


def _rows_difference(these: dict[str, Any], those: dict[str, Any]) -> dict[str, Any]:
    """Return what differs of filter, options, weights and channels."""
    these, those = {"beta": 1.0, **these}, {"beta": 1.0, **those}
    found, options = {}, these["options"]
    if these["filter"] != those["filter"]:
        found["filter"] = these["filter"]
    below = _options_below(those, these["filter"], options)
    differing = {k: x for k, x in options.items() if k not in below or below[k] != x}
    found |= {"options": differing} if differing else {}
    parts = [{name: of.get(name, {}) for name in ("beta", "channel")} for of in (these, those)]
    return found | _difference(*parts)


def _options_below(
    those: Mapping[str, Any], kind: Any, over: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the options of a chain that stay, where a filter of some kind has others over them."""
    if those.get("filter") != kind:
        return {}
    options: Mapping[str, Any] = those["options"]
    replaced = {*_RATES, *(() if "transitions" in over else ("interval",))}
    new = any(name in over and over[name] != options.get(name) for name in _RATES)
    return {k: x for k, x in options.items() if not (new and k in replaced)}


def _over(rows: Mapping[str, Any], section: Any) -> Any:
    """Return the settings of rows with others over them."""
    if not isinstance(section, Mapping):
        return section
    kind, options = section.get("filter", rows["filter"]), section.get("options", {})
    result = _overlay(rows, {k: x for k, x in section.items() if k != "options"})
    result["options"] = options
    if isinstance(options, Mapping):
        result["options"] = {**_options_below(rows, kind, options), **options}
    return result


def _difference(these: Mapping[str, Any], those: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `_overlay` needs to make these of those."""
    found: dict[str, Any] = {name: False for name in those if name not in these}
    for name, this in these.items():
        that = those.get(name)
        if isinstance(this, Mapping) and isinstance(that, Mapping):
            inner = _difference(this, that)
            found |= {name: inner} if inner else {}
        elif this != that:
            found[name] = this
    return found


def _overlay(below: Any, over: Any) -> Any:
    """Return settings with others over them; what is false is left out."""
    if not isinstance(below, Mapping) or not isinstance(over, Mapping):
        return over
    result = dict(below)
    for name, value in over.items():
        if value is False:
            result.pop(name, None)
        else:
            result[name] = _overlay(below.get(name), value)
    return result
