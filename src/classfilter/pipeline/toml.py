"""A pipeline read from a TOML file, or from its text; what is wrong in it is named."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any

from ..errors import ArgumentError
from ..events import EventRule
from ..filters import KINDS, Filter, MultiLabelFilter
from ..inputs import duration
from ..policy import Adaptive, Periodic, Policy
from ..support.types import is_number
from ..support.validation import check_weight
from .channel import Channel
from .pipeline import Pipeline
from .settings import LAYOUT

POLICIES: dict[str, Callable[..., Policy]] = {"periodic": Periodic, "adaptive": Adaptive}
"""The name in a file of each policy class, which keeps its options in ``_options`` too."""

OF_ROWS = ("filter", "options", "beta", "channel")
_TOP_KEYS = ("classes", "scores", "filter")
_SECTIONS = (
    "heads",
    "options",
    "beta",
    "channel",
    "policy",
    "events",
    "expected",
    "smoother",
    "labels",
)
_TEXT = ("estimate", "dtype", "strong", "weak")
_TRUTH = ("bounded",)
_DURATIONS = ("half_life", "interval", "seconds")


def load(path: str | PathLike[str]) -> Pipeline:
    """Return what a file describes: a filter, weights, channels, policy, rule and smoother.

    Parameters
    ----------
    path : str or Path
        TOML as `save` writes it, or written by hand, or JSON as a report saves it. Options are
        those of the filter's class.

    Examples
    --------
    >>> import tempfile
    >>> import classfilter as cf
    >>> pipe = cf.Pipeline(cf.DirichletFilter(["walk", "sit"], 0.95), beta={"weak": 0.1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pipe.save(f"{folder}/walk.toml")
    ...     walk = load(f"{folder}/walk.toml")
    >>> walk.filter, walk.beta
    (DirichletFilter(['walk', 'sit'], gamma=0.95, estimate='mode'), {'weak': 0.1})
    """
    path = Path(path)
    try:
        return parse_settings(path.read_bytes().decode("utf-8-sig"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_settings(text: str) -> Pipeline:
    """Return what the text of a TOML file describes, or of the same as JSON; see `load`."""
    import tomllib

    try:
        return from_settings(_json(text) if text.lstrip()[:1] == "{" else tomllib.loads(text))
    except RecursionError:
        raise ValueError("its lists are nested too deeply; numbers need two levels") from None
    except (MemoryError, OverflowError) as error:
        raise ValueError(f"a number in it is too large: {error}") from None


def from_settings(content: dict[str, Any]) -> Pipeline:
    """Return the pipeline of settings as built-in values, checked; see `Pipeline.settings`."""
    for key in content:
        if key not in (*_TOP_KEYS, *_SECTIONS):
            known = (
                "classes, scores, filter, [options], [heads], [beta], [channel.<source>], "
                "[policy], [events], [expected.<source>], [smoother] and [labels.<label>]"
            )
            raise ValueError(f"unknown key {key}; there are {known}")
    classes = content.get("classes")
    if classes is None:
        raise ValueError('classes is missing; give their names: classes = ["walk", "sit"]')
    if not isinstance(classes, list) or any(type(name) not in (str, int) for name in classes):
        raise ValueError(f"classes is {classes!r}; it must be a list of text or whole numbers")
    pipe = _pipe_of(content)
    if "smoother" not in content:
        return pipe
    return replace(pipe, smoother=_smoother(content, pipe))


def _pipe_of(content: dict[str, Any], title: str = "") -> Pipeline:
    """Return the pipeline of settings, but for its smoother; `title` is the section they are in."""
    classes = content["classes"]
    for name in _SECTIONS:
        section = content.get(name, {})
        for_all = name == "beta" and type(section) in (int, float)
        if not isinstance(section, dict) and not for_all:
            what = f"{title}{name}"
            raise ValueError(f"{what} is {section!r}; it must be a section, [{what}]")
    scores = content.get("scores", "probabilities")
    if scores not in ("probabilities", "independent"):
        raise ValueError(f'scores is {scores!r}; it must be "probabilities" or "independent"')
    read = _of_heads
    if scores == "probabilities":
        read = _of_rows
        if "labels" in content:
            raise ValueError('[labels] needs scores = "independent": several labels at once')
    f, weights, channels = read(content, classes, title)
    policy = _policy(content["policy"]) if "policy" in content else None
    rule = _rule(content["events"], f"{title}events") if "events" in content else None
    expected = content.get("expected", {})
    parts = {"beta": weights, "channel": channels, "policy": policy, "expected": expected}
    try:
        return Pipeline(f, rule=rule, **parts)
    except ArgumentError as error:
        if not title:
            raise
        raise error.replaced(argument=f"{title}events.{error.argument}") from None


def _smoother(content: Mapping[str, Any], pipe: Pipeline) -> Pipeline:
    """Return the smoother of settings; it has the classes and the heads of the pipeline."""
    section, allowed = content["smoother"], [*OF_ROWS, "events"]
    if not pipe.heads.is_exclusive:
        allowed.append("labels")
    for key in section:
        if key not in allowed:
            raise ValueError(f"unknown key smoother.{key}; [smoother] has {', '.join(allowed)}")
    layout = {name: content[name] for name in LAYOUT if name in content}
    return _pipe_of({**layout, **section}, "smoother.")


def _of_rows(
    content: Mapping[str, Any], classes: Any, title: str = ""
) -> tuple[Filter, Any, dict[str, Any]]:
    """Return the filter, the weights and the channels of settings."""
    kind = content.get("filter")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{title}filter is {kind!r}; it must be one of {', '.join(KINDS)}")
    options, beta, channel = (content.get(name, {}) for name in ("options", "beta", "channel"))
    where = f"{title}options." if title else ""
    _check_options(kind, options, list(inspect.signature(KINDS[kind]).parameters)[1:], where)
    weights: Any
    if isinstance(beta, dict):
        weights = {n: check_weight(f"{title}beta.{n}", w) for n, w in beta.items()} or 1.0
    else:
        weights = check_weight(f"{title}beta", beta)
    channels = {n: _channel(f"{title}channel.{n}", x, len(classes)) for n, x in channel.items()}
    try:
        return KINDS[kind](classes, **options), weights, channels
    except ArgumentError as error:
        raise error.replaced(argument=f"{where}{error.argument}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}{error}") from None


def _of_heads(
    content: Mapping[str, Any], classes: list[Any], title: str = ""
) -> tuple[Filter, Any, dict[str, Any]]:
    """Return the filter, the weights and the channels of several labels at once, or heads."""
    given: dict[Any, Any] = content.get("heads") or dict.fromkeys(classes)
    of_classes = {head: own or range(2) for head, own in given.items()}
    sections = content.get("labels") or {}
    if not sections and len({len(own) for own in of_classes.values()}) == 1:
        f, weights, channels = _of_rows(content, next(iter(of_classes.values())), title)
        return _multi_label(given, f), weights, channels
    names = [str(name) for name in given]
    if set(sections) != set(names):
        there = list(sections)
        raise ValueError(
            f"{title}labels has sections for {there}, but classes is {classes}; give one each"
        )
    heads: dict[str, tuple[Filter, Any, dict[str, Any]]] = {}
    filters: dict[str, Filter] = {}
    for name, own in zip(names, of_classes.values(), strict=True):
        section, where = sections[name], f"{title}labels.{name}"
        if not isinstance(section, dict) or not section.keys() <= set(OF_ROWS):
            raise ValueError(f"[{where}] may have {', '.join(OF_ROWS)}")
        try:
            heads[name] = _of_rows(section, own, f"{where}." if title else "")
        except (TypeError, ValueError) as error:
            raise error if title else ValueError(f"{where}: {error}") from None
        of_filter = repr([section.get("filter"), section.get("options"), len(own)])
        filters.setdefault(of_filter, heads[name][0])  # equal ones are one, which is faster
        heads[name] = (filters[of_filter], *heads[name][1:])
    sources = list(dict.fromkeys(s for _, beta, _ in heads.values() for s in _sources_of(beta)))
    beta: Any = heads[names[0]][1]
    if sources:
        for name in names:
            missing = [source for source in sources if source not in _sources_of(heads[name][1])]
            if missing:
                raise ValueError(f"[labels.{name}.beta] has no weight for {missing[0]!r}; add it")
        beta = {source: {name: heads[name][1][source] for name in names} for source in sources}
    elif len({heads[name][1] for name in names}) > 1:
        raise ValueError("beta is one number for all sources, but not the same for all labels")
    corrected = dict.fromkeys(source for _, _, channels in heads.values() for source in channels)
    channel = {source: {name: heads[name][2].get(source) for name in names} for source in corrected}
    of_names = zip(given, names, strict=True)
    return _multi_label(given, {head: heads[name][0] for head, name in of_names}), beta, channel


def _multi_label(heads: Mapping[Any, Any], filter: Any) -> MultiLabelFilter:  # noqa: A002
    """Return a filter of labels, or of heads of which some have several classes."""
    if any(heads.values()):
        return MultiLabelFilter({name: own or None for name, own in heads.items()}, filter)
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
            raise ValueError(f"policy.cost is {cost!r}; it must be a section, [policy.cost]")
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
            raise ValueError(f"unknown option {title}.{key}; [{title}] has {', '.join(allowed)}")
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
    if not isinstance(section, dict) or not {"matrix"} <= section.keys() <= {"matrix", "prior"}:
        raise ValueError(f"{title} must be a section, [{title}], with a matrix and maybe a prior")
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
    what = f"option {title}{key} is"
    if key in _TEXT:
        if not isinstance(value, str):
            raise ValueError(f'{what} {value!r}; it must be text, in "quotes"')
        return
    if key in _TRUTH:
        if not isinstance(value, bool):
            raise ValueError(f"{what} {value!r}; it must be true or false, without quotes")
        return
    if key in _DURATIONS and isinstance(value, str):
        duration(f"option {title}{key}", value)
        return
    cells = value if isinstance(value, list) else [value]
    if any(isinstance(row, list) for row in cells):
        if len({len(row) if isinstance(row, list) else -1 for row in cells}) > 1:
            raise ValueError(f"{what} {short(value)}; its rows must be equally long")
        cells = [cell for row in cells for cell in row]
    for cell in cells:
        if not is_number(cell):
            raise ValueError(f"{what} {short(value)}; it must be a number, without quotes")


def _json(text: str) -> dict[str, Any]:
    """Return settings as JSON, without what Python prepares for JavaScript."""
    content: dict[str, Any] = json.loads(text)
    labels = content.get("labels")
    for section in (content, *(labels.values() if isinstance(labels, dict) else ())):
        if isinstance(section, dict):
            section.pop("prepared", None)
    return content
