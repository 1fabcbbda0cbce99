"""Settings as built-in values and as TOML, exact to the bit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

LAYOUT = ("classes", "scores", "heads")
"""The settings that say what the columns are: those of a smoother are those of its pipeline."""


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


def to_toml(settings: Mapping[str, Any]) -> str:
    """Return settings, as a pipeline has them, as the text of a TOML file.

    Examples
    --------
    >>> import classfilter as cf
    >>> pipe = cf.Pipeline(cf.EmaFilter(["walk", "sit"], gamma=0.95), beta={"weak": 0.1})
    >>> print(to_toml(pipe.settings).strip())
    classes = ["walk", "sit"]
    filter = "ema"
    <BLANKLINE>
    [options]
    gamma = 0.95
    <BLANKLINE>
    [beta]
    weak = 0.1
    """
    for name in settings["classes"]:
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            raise ValueError(
                f"classes has {name!r}; only text and whole numbers can be saved: rename it"
            )
    return "\n".join(_section("", settings)).lstrip("\n") + "\n"


def _section(title: str, entries: Mapping[str, Any]) -> list[str]:
    """Return the lines of a section, and of those within it."""
    inner = {key: value for key, value in entries.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in entries.items() if key not in inner}
    lines = ["", f"[{title}]"] if title and (plain or not inner) else []
    lines += [f"{_toml_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, value in inner.items():
        lines += _section(f"{title}.{_toml_key(key)}" if title else _toml_key(key), value)
    return lines


def _value(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, str):
        return f'"{re.sub(_ESCAPED, _escape, value)}"'
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else repr(float(value))


_ESCAPED = r'["\\\x00-\x1f\x7f]'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)
