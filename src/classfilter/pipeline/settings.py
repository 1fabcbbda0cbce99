"""Settings as built-in values and as JSON, exact to the bit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..filters import Filter, StickyFilter


def from_builtin(value: Any, pattern: Any) -> Any:
    """Return the state that `to_builtin` converted, with the types of another state, `pattern`."""
    if isinstance(pattern, np.ndarray):
        return np.array(value, dtype=pattern.dtype)
    if hasattr(pattern, "_fields"):
        items = [from_builtin(v, p) for v, p in zip(value, pattern, strict=True)]
        return type(pattern)(*items)
    return tuple(value) if isinstance(pattern, tuple) else value


def to_builtin(value: Any) -> Any:
    """Return an option or a state as text, numbers and lists of them, exact to the bit."""
    if isinstance(value, (list, tuple)):
        return [to_builtin(item) for item in value]
    if isinstance(value, np.dtype):
        return value.name
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def options(configured: object) -> dict[str, Any]:
    """Return the options of a filter or a policy as built-in values."""
    return {key: to_builtin(value) for key, value in getattr(configured, "_options", {}).items()}


def saved_kind(configured: object) -> str:
    """Return the name in a file of the class of a filter or a policy; a subclass has its own."""
    return str(vars(type(configured)).get("_kind") or type(configured).__name__)


def settings_of_rows(pipe: Any) -> dict[str, Any]:
    """Return the settings of a pipeline's filter, weights and channels.

    Of several labels at once, they are those of all labels, or of each one where they differ.
    """
    if not pipe.heads.is_exclusive:
        heads = {name: settings_of_rows(pipe.head(name)) for name in pipe.heads.names}
        common = next(iter(heads.values()))
        same, layout = all(head == common for head in heads.values()), pipe.heads.layout
        return {
            "scores": "independent",
            **({"heads": {k: x or [] for k, x in layout.items()}} if type(layout) is dict else {}),
            **(common if same else {"labels": heads}),
        }
    settings: dict[str, Any] = {"filter": saved_kind(pipe._fresh)}
    if not isinstance(pipe.beta, dict) and pipe.beta != 1.0:
        settings["beta"] = pipe.beta
    settings["options"] = options(pipe._fresh)
    if isinstance(pipe.beta, dict):
        settings["beta"] = dict(pipe.beta)
    channels = {
        name: {"matrix": channel.matrix.tolist(), "prior": channel.prior.tolist()}
        for name, channel in pipe.channel.items()
        if channel is not None
    }
    if channels:
        settings["channel"] = channels
    return settings


def differing(
    these: Mapping[str, Any], those: Mapping[str, Any], title: str = ""
) -> tuple[str, Any, Any] | None:
    """Return the first setting that differs, and its two values; None where one does not have it.

    Examples
    --------
    >>> differing({"options": {"gamma": 0.9}}, {"options": {"gamma": 0.8}})
    ('options.gamma', 0.9, 0.8)
    """
    for name in dict.fromkeys([*these, *those]):
        this, that = these.get(name), those.get(name)
        if isinstance(this, Mapping) and isinstance(that, Mapping):
            inner = differing(this, that, f"{title}{name}.")
            if inner is not None:
                return inner
        elif this != that:
            return f"{title}{name}", this, that
    return None


def prepared(filter_: Filter) -> dict[str, Any]:
    """Return what JavaScript needs beside the options of a filter: it cannot compute rates."""
    if not isinstance(filter_, StickyFilter) or filter_.stay is not None:
        return {}
    *_, rates = filter_._prepared
    assert rates is not None
    computed: dict[str, Any] = {"rates": rates.tolist()}
    if filter_._modes is not None:
        computed["modes"] = [row for part in filter_._modes for row in _as_rows(part.tolist())]
        computed["pairs"] = filter_._modes.pairs
    return {"prepared": computed}


def _as_rows(part: list[Any]) -> list[Any]:
    """Return a vector as one row, a matrix as its rows."""
    return part if isinstance(part[0], list) else [part]


def to_json(settings: Mapping[str, Any], indent: str = "") -> str:
    """Return settings as text, a key on each line; cut off anywhere, it is not JSON.

    Examples
    --------
    >>> import classfilter as cf
    >>> pipe = cf.Pipeline(cf.EmaFilter(["walk", "sit"], gamma=0.95), beta={"weak": 0.1})
    >>> print(to_json(pipe.settings))
    {
     "classes": ["walk", "sit"],
     "filter": "ema",
     "options": {
      "gamma": 0.95
     },
     "beta": {
      "weak": 0.1
     }
    }
    """
    lines = []
    for key, value in settings.items():
        has_keys = isinstance(value, Mapping) and value
        text = to_json(value, f"{indent} ") if has_keys else _dump(value)
        lines.append(f"\n{indent} {_dump(key)}: {text}")
    return f"{{{','.join(lines)}\n{indent}}}"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def check_object(
    title: str, section: Any, allowed: Sequence[str], needed: Sequence[str] = ()
) -> None:
    """Raise unless settings are an object with some keys, and name the key that is wrong."""
    if not isinstance(section, Mapping):
        raise ValueError(f"{title} is {section!r}; it must be an object")
    for key in section:
        if key not in allowed:
            raise ValueError(f"unknown key {title}.{key}; there are {', '.join(allowed)}")
    for key in needed:
        if key not in section:
            raise ValueError(f"{title}.{key} is missing; add it")


def check_classes(classes: Iterable[Any]) -> None:
    """Raise unless names of classes are restored by JSON as they are."""
    for name in classes:
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            raise ValueError(
                f"classes has {name!r}; only text and whole numbers can be saved: rename it"
            )
