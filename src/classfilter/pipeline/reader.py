"""A pipeline read from settings in JSON; what is wrong in them is named."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..events import EventRule
from ..filters import KINDS, Filter, MultiLabelFilter
from ..inputs import duration
from ..policy import Adaptive, Periodic, Policy
from ..support.types import is_number
from ..support.validation import check_weight
from .channel import Channel
from .pipeline import Pipeline
from .settings import check_object, prepared

POLICIES: dict[str, Callable[..., Policy]] = {"periodic": Periodic, "adaptive": Adaptive}
"""The name in a file of each policy class, which keeps its options in ``_options`` too."""

OF_ROWS = ("filter", "options", "prepared", "beta", "channel")
OF_A_SMOOTHER = ("classes", "scores", "heads", *OF_ROWS, "labels", "events")
KEYS = (*OF_A_SMOOTHER, "policy", "expected", "smoother")
_PLAIN = ("classes", "scores", "filter")
_TEXT = ("estimate", "dtype", "strong", "weak")
_TRUTH = ("bounded",)
_DURATIONS = ("half_life", "dwell", "interval", "seconds")


def load(path: str | PathLike[str]) -> Pipeline:
    """Return what a file describes: a filter, weights, channels, policy, rule and smoother.

    Parameters
    ----------
    path : str or Path
        JSON as `Pipeline.save` or a report writes it, or written by hand. Options are those of the
        filter's class; those that are left out have their defaults. Durations may be text, "30s".

    Examples
    --------
    >>> import tempfile
    >>> import classfilter as cf
    >>> pipe = cf.Pipeline(cf.DirichletFilter(["walk", "sit"], 0.95), beta={"weak": 0.1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pipe.save(f"{folder}/walk.json")
    ...     walk = load(f"{folder}/walk.json")
    >>> walk.filter, walk.beta
    (DirichletFilter(['walk', 'sit'], gamma=0.95, estimate='mode'), {'weak': 0.1})
    """
    path = Path(path)
    try:
        return parse_settings(path.read_bytes().decode("utf-8-sig"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_settings(text: str) -> Pipeline:
    """Return what the text of a file describes; see `load`."""
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_number)
        if not isinstance(content, dict):
            raise ValueError(f'it is {short(content)}; it must be an object, {{"classes": ...}}')
        return from_settings(content)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not complete JSON: {error}; write it again with save") from None
    except RecursionError:
        raise ValueError("its lists are nested too deeply; numbers need two levels") from None
    except (MemoryError, OverflowError) as error:
        raise ValueError(f"a number in it is too large: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, whose keys must differ."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"key {twice} appears twice; keep one")
    return content


def _number(name: str) -> None:
    raise ValueError(f"it has {name}, which is not valid in JSON")


def from_settings(content: Mapping[str, Any], title: str = "") -> Pipeline:
    """Return the pipeline of settings as built-in values, checked; see `Pipeline.settings`.

    `title` begins the names of what is wrong.
    """
    allowed = OF_A_SMOOTHER if title else KEYS
    for key in content:
        if key not in allowed:
            raise ValueError(f"unknown key {title}{key}; there are {', '.join(allowed)}")
    classes, scores = content.get("classes"), content.get("scores", "probabilities")
    if classes is None:
        raise ValueError(f'{title}classes is missing; give their names: ["walk", "sit"]')
    if not isinstance(classes, list) or any(type(name) not in (str, int) for name in classes):
        rule = "it must be a list of text or whole numbers"
        raise ValueError(f"{title}classes is {classes!r}; {rule}")
    for name in content:
        section, for_all = content[name], name == "beta" and type(content[name]) in (int, float)
        if name not in _PLAIN and not isinstance(section, dict) and not for_all:
            raise ValueError(f"{title}{name} is {section!r}; it must be an object")
    if scores not in ("probabilities", "independent"):
        rule = 'it must be "probabilities" or "independent"'
        raise ValueError(f"{title}scores is {scores!r}; {rule}")
    for name in ("labels", "heads"):
        if name in content and scores == "probabilities":
            raise ValueError(
                f'{title}{name} needs "scores": "independent": it is for multi-label settings'
            )
    read = _of_rows if scores == "probabilities" else _of_heads
    f, weights, channels = read(content, classes, title)
    smoother = None
    if "smoother" in content:
        smoother = from_settings(content["smoother"], f"{title}smoother.")
    try:
        return Pipeline(
            f,
            beta=weights,
            channel=channels,
            policy=_policy(content["policy"]) if "policy" in content else None,
            rule=_rule(content["events"], f"{title}events") if "events" in content else None,
            expected=content.get("expected"),
            smoother=smoother,
        )
    except ArgumentError as error:
        if not title:
            raise
        raise error.replaced(argument=f"{title}events.{error.argument}") from None


def _of_rows(
    content: Mapping[str, Any], classes: Any, title: str = ""
) -> tuple[Filter, Any, dict[str, Any]]:
    """Return the filter, the weights and the channels of settings."""
    kind = content.get("filter")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{title}filter is {kind!r}; it must be one of {', '.join(KINDS)}")
    options, beta, channel = (content.get(name, {}) for name in ("options", "beta", "channel"))
    prefix = f"{title}options." if title else ""
    _check_options(kind, options, list(inspect.signature(KINDS[kind]).parameters)[1:], prefix)
    weights: Any
    if isinstance(beta, dict):
        weights = {n: check_weight(f"{title}beta.{n}", w) for n, w in beta.items()} or 1.0
    else:
        weights = check_weight(f"{title}beta", beta)
    channels = {n: _channel(f"{title}channel.{n}", x, len(classes)) for n, x in channel.items()}
    try:
        f = KINDS[kind](classes, **options)
    except ArgumentError as error:
        raise error.replaced(argument=f"{prefix}{error.argument}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{prefix}{error}") from None
    _check_prepared(content.get("prepared"), f, title)
    return f, weights, channels


def _check_prepared(section: Any, f: Filter, title: str) -> None:
    """Raise where what JavaScript runs on belongs to other transitions; Python computes its own."""
    if section is None:
        return
    check_object(f"{title}prepared", section, ("rates", "modes", "pairs"), needed=("rates",))
    try:
        rates = np.array(section["rates"], np.float64)
        belongs = np.allclose(rates, prepared(f)["prepared"]["rates"], rtol=1e-4, atol=1e-9)
    except (KeyError, ValueError):
        belongs = False
    if not belongs:
        raise ValueError(f"{title}prepared does not belong to options.transitions; remove it")


def _of_heads(
    content: Mapping[str, Any], classes: list[Any], title: str = ""
) -> tuple[Filter, Any, dict[str, Any]]:
    """Return the filter, the weights and the channels of several labels at once, or heads."""
    layout: dict[Any, Any] = content.get("heads") or dict.fromkeys(classes)
    of_classes = {head: names or range(2) for head, names in layout.items()}
    sections = content.get("labels") or {}
    if not sections and len({len(names) for names in of_classes.values()}) == 1:
        f, weights, channels = _of_rows(content, next(iter(of_classes.values())), title)
        return _multi_label(layout, f), weights, channels
    names = [str(name) for name in layout]
    if set(sections) != set(names):
        raise ValueError(
            f"{title}labels has sections for {list(sections)}, but classes is {classes}; give one "
            "each"
        )
    heads: dict[str, tuple[Filter, Any, dict[str, Any]]] = {}
    filters: dict[str, Filter] = {}
    for name, labels in zip(names, of_classes.values(), strict=True):
        section, prefix = sections[name], f"{title}labels.{name}"
        check_object(prefix, section, OF_ROWS)
        try:
            heads[name] = _of_rows(section, labels, f"{prefix}." if title else "")
        except (TypeError, ValueError) as error:
            raise error if title else ValueError(f"{prefix}: {error}") from None
        of_filter = repr([section.get("filter"), section.get("options"), len(labels)])
        filters.setdefault(of_filter, heads[name][0])  # equal ones are one, which is faster
        heads[name] = (filters[of_filter], *heads[name][1:])
    sources = list(dict.fromkeys(s for _, beta, _ in heads.values() for s in _sources_of(beta)))
    beta: Any = heads[names[0]][1]
    if sources:
        for name in names:
            missing = [source for source in sources if source not in _sources_of(heads[name][1])]
            if missing:
                raise ValueError(f"labels.{name}.beta has no weight for {missing[0]!r}; add it")
        beta = {source: {name: heads[name][1][source] for name in names} for source in sources}
    elif len({heads[name][1] for name in names}) > 1:
        raise ValueError("beta is one number for all sources, but not the same for all labels")
    corrected = dict.fromkeys(source for _, _, channels in heads.values() for source in channels)
    channel = {source: {name: heads[name][2].get(source) for name in names} for source in corrected}
    of_names = zip(layout, names, strict=True)
    return _multi_label(layout, {head: heads[name][0] for head, name in of_names}), beta, channel


def _multi_label(heads: Mapping[Any, Any], filter: Any) -> MultiLabelFilter:  # noqa: A002
    """Return a filter of labels, or of heads of which some have several classes."""
    if any(heads.values()):
        return MultiLabelFilter({name: classes or None for name, classes in heads.items()}, filter)
    return MultiLabelFilter(list(heads), filter)


def _sources_of(beta: Any) -> list[str]:
    return list(beta) if isinstance(beta, dict) else []


def _policy(section: dict[str, Any]) -> Policy:
    """Return the policy of a section."""
    options = dict(section)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in POLICIES:
        raise ValueError(f"policy.kind is {kind!r}; it must be one of {', '.join(POLICIES)}")
    allowed = list(inspect.signature(POLICIES[kind]).parameters)
    cost = options.pop("cost", None) if "cost" in allowed else None
    _check_options(kind, options, allowed)
    if cost is not None:
        if not isinstance(cost, dict):
            raise ValueError(f"policy.cost is {cost!r}; it must be an object")
        for source, value in cost.items():
            _check(f"policy.cost.{source}", value)
        options["cost"] = cost
    try:
        return POLICIES[kind](**options)
    except ValueError as error:
        raise ValueError(f"policy: {error}") from None


def _rule(section: dict[str, Any], title: str) -> EventRule:
    """Return the rule of a section."""
    allowed = list(inspect.signature(EventRule).parameters)
    for key in section:
        if key not in allowed:
            raise ValueError(f"unknown option {title}.{key}; {title} has {', '.join(allowed)}")
    try:
        return EventRule(**section)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{title}: {error}") from None


def _check_options(
    kind: str, options: Mapping[str, Any], allowed: list[str], title: str = ""
) -> None:
    for key, value in options.items():
        if key not in allowed:
            raise ValueError(f"unknown option {title}{key}; {kind} has {', '.join(allowed)}")
        _check(key, value, title)


def _channel(title: str, section: Any, K: int) -> Channel:
    """Return the channel of a section."""
    check_object(title, section, ("matrix", "prior"), needed=("matrix",))
    for key, value in section.items():
        _check(f"{title}.{key}", value)
    try:
        channel = Channel(section["matrix"], section.get("prior"))
    except ValueError as error:
        raise ValueError(f"{title}: {error}") from None
    if len(channel.prior) != K:
        raise ValueError(f"{title} has {len(channel.prior)} classes, but the filter has {K}")
    return channel


def _check(key: str, value: Any, title: str = "") -> None:
    """Raise for a value of the wrong type; the filter checks its range."""
    begin = f"option {title}{key} is"
    if key in _TEXT:
        if not isinstance(value, str):
            raise ValueError(f'{begin} {value!r}; it must be text, in "quotes"')
        return
    if key in _TRUTH:
        if not isinstance(value, bool):
            raise ValueError(f"{begin} {value!r}; it must be true or false, without quotes")
        return
    if key in _DURATIONS and isinstance(value, str):
        duration(f"option {title}{key}", value)
        return
    cells = value if isinstance(value, list) else [value]
    if any(isinstance(row, list) for row in cells):
        if len({len(row) if isinstance(row, list) else -1 for row in cells}) > 1:
            raise ValueError(f"{begin} {short(value)}; its rows must be equally long")
        cells = [cell for row in cells for cell in row]
    for cell in cells:
        if not is_number(cell):
            raise ValueError(f"{begin} {short(value)}; it must be a number, without quotes")
