"""Settings of filters and policies as built-in values and as TOML files, exact to the bit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._support.atomic import atomic_write
from .._validation import check_weight


def from_builtin(value: Any, pattern: Any) -> Any:
    """Return the state that `to_builtin` converted, with the types of another state, `pattern`."""
    if isinstance(pattern, np.ndarray):
        return np.array(value, dtype=pattern.dtype)
    if hasattr(pattern, "_fields"):
        items = [from_builtin(v, p) for v, p in zip(value, pattern, strict=True)]
        return type(pattern)(*items)
    return tuple(value) if isinstance(pattern, tuple) else value


def options(configured: object) -> dict[str, Any]:
    """Return the options of a filter or a policy as built-in values."""
    return {key: to_builtin(value) for key, value in getattr(configured, "_options", {}).items()}


def differing(these: Mapping[str, Any], those: Mapping[str, Any]) -> str | None:
    """Return the first option that only one of two has, or that has another value there."""
    names = dict.fromkeys([*these, *those])
    absent = object()
    return next((n for n in names if these.get(n, absent) != those.get(n, absent)), None)


def to_builtin(value: Any) -> Any:
    """Return an option or a state as text, numbers and lists of them, exact to the bit."""
    if isinstance(value, (list, tuple)):
        return [to_builtin(item) for item in value]
    if isinstance(value, np.dtype):
        return value.name
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def save(
    filter: Any,  # noqa: A002
    path: str | Path,
    beta: Mapping[str, float] | None = None,
    channel: Mapping[str, Any] | None = None,
    policy: Any = None,
) -> None:
    """Write a filter's settings, the weights of its sources and a policy to a TOML file.

    Every option is written, so that the file keeps its meaning if defaults change. Numbers are
    restored to the bit. The file appears complete or not at all.

    Parameters
    ----------
    filter : Filter
        Its settings are saved, not its state. Its classes must be text or whole numbers.
    path : str or Path
        The file; an existing one is replaced.
    beta : mapping of str to float, optional
        The weight of each source, 0 to 1.
    channel : mapping of str to Channel or None, optional
        Corrects the outputs of a source, in the filter's order of classes.
    policy : Periodic or Adaptive, optional
        Its settings are saved, not its state.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter import DirichletFilter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(DirichletFilter(["walk", "sit"], 0.95), f"{folder}/walk.toml", {"weak": 0.1})
    ...     print(Path(f"{folder}/walk.toml").read_text().strip())
    classes = ["walk", "sit"]
    filter = "dirichlet"
    <BLANKLINE>
    [options]
    gamma = 0.95
    estimate = "mode"
    floor = 0.001
    anchor = 0.0
    prior = [1.0, 1.0]
    prior_weight = 1.0
    max_concentration = 1000000.0
    tolerance = 0.0
    bounded = true
    dtype = "float64"
    <BLANKLINE>
    [beta]
    weak = 0.1
    """
    with atomic_write(path) as file:
        file.write(to_toml(filter, beta, channel, policy).encode())


def to_toml(
    filter: Any,  # noqa: A002
    beta: Mapping[str, float] | None = None,
    channel: Mapping[str, Any] | None = None,
    policy: Any = None,
) -> str:
    """Return what `save` writes."""
    kind = _kind(filter)
    for name in filter.classes:
        if isinstance(name, bool) or not isinstance(name, (str, int, np.integer)):
            raise ValueError(
                f"classes has {name!r}; only text and whole numbers can be saved: rename it"
            )
    sections = {"options": options(filter)}
    if beta is not None:
        for source, weight in beta.items():
            if not isinstance(source, str):
                raise ValueError(f"beta has the source {source!r}; its name must be text")
            check_weight(f"beta[{source!r}]", weight)
        sections["beta"] = {source: float(weight) for source, weight in beta.items()}
    for source, source_channel in (channel or {}).items():
        if not isinstance(source, str):
            raise ValueError(f"channel has the source {source!r}; its name must be text")
        if source_channel is None:
            continue
        matrix, prior = source_channel.matrix, source_channel.prior
        if len(prior) != len(filter.classes):
            raise ValueError(
                f"channel[{source!r}] has {len(prior)} classes, but the filter has "
                f"{len(filter.classes)}"
            )
        sections[f"channel.{_key(source)}"] = {"matrix": matrix.tolist(), "prior": prior}
    if policy is not None:
        sections |= _policy_sections(policy)
    lines = [f"classes = {_value(filter.classes)}", f"filter = {_value(kind)}"]
    for title, entries in sections.items():
        lines += ["", f"[{title}]"]
        lines += [f"{_key(key)} = {_value(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def _kind(configured: object) -> str:
    """Return the name in a file of the class of a filter or a policy; a subclass has none."""
    kind = vars(type(configured)).get("_kind")
    if kind is None:
        raise TypeError(
            f"a {type(configured).__name__} cannot be saved; save a filter or policy of classfilter"
        )
    return str(kind)


def _policy_sections(policy: object) -> dict[str, dict[str, Any]]:
    section = {key: value for key, value in options(policy).items() if value is not None}
    cost = section.pop("cost", None)
    sections = {"policy": {"kind": _kind(policy), **section}}
    return sections if cost is None else {**sections, "policy.cost": cost}


def _value(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, str):
        return f'"{re.sub(_ESCAPED, _escape, value)}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return repr(float(value))


_ESCAPED = r'["\\\x00-\x1f\x7f]'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)
