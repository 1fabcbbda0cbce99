"""Settings of filters and policies as built-in values, and as a TOML file, to the bit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._atomic import atomic_write
from ._validation import check_weight


def from_builtin(value: Any, pattern: Any) -> Any:
    """Return what `to_builtin` made of a state, with the types of another state, `pattern`."""
    if isinstance(pattern, np.ndarray):
        return np.array(value, dtype=pattern.dtype)
    if hasattr(pattern, "_fields"):
        items = [from_builtin(v, p) for v, p in zip(value, pattern, strict=True)]
        return type(pattern)(*items)
    return tuple(value) if isinstance(pattern, tuple) else value


def options(of: object) -> dict[str, Any]:
    """Return the options that a filter or a policy was made with, as plain Python values."""
    return {key: to_builtin(value) for key, value in getattr(of, "_options", {}).items()}


def to_builtin(value: Any) -> Any:
    """Return an option or a state as text and numbers and lists of them, to the bit."""
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

    Every option is written, so that the file means the same whatever the defaults become. Numbers
    come back to the bit. The file appears complete or not at all.

    Parameters
    ----------
    filter : Filter
        Its settings are kept, not its state. Its classes must be text or whole numbers.
    path : str or Path
        Where to; what is there is replaced.
    beta : mapping of str to float, optional
        The weight of each source, 0 to 1.
    channel : mapping of str to Channel, optional
        What puts the answers of a source right, in the filter's order of classes.
    policy : Periodic or Adaptive, optional
        Its settings are kept, not its state.

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
    dtype = "float64"
    <BLANKLINE>
    [beta]
    weak = 0.1
    """
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
    for source, one in (channel or {}).items():
        if not isinstance(source, str):
            raise ValueError(f"channel has the source {source!r}; its name must be text")
        if len(one.prior) != len(filter.classes):
            raise ValueError(
                f"channel[{source!r}] has {len(one.prior)} classes, but the filter has "
                f"{len(filter.classes)}"
            )
        sections[f"channel.{_key(source)}"] = {"matrix": one.matrix.tolist(), "prior": one.prior}
    if policy is not None:
        sections |= _policy_sections(policy)
    lines = [f"classes = {_value(filter.classes)}", f"filter = {_value(kind)}"]
    for title, entries in sections.items():
        lines += ["", f"[{title}]"]
        lines += [f"{_key(key)} = {_value(value)}" for key, value in entries.items()]
    text = "\n".join(lines) + "\n"
    with atomic_write(path) as file:
        file.write(text.encode())


def _kind(of: object) -> str:
    """Return what a file calls the class of a filter or a policy; a subclass has no such name."""
    kind = vars(type(of)).get("_kind")
    if kind is None:
        raise TypeError(f"a {type(of).__name__} cannot be saved; save one of this library's own")
    return str(kind)


def _policy_sections(policy: object) -> dict[str, dict[str, Any]]:
    given = {key: value for key, value in options(policy).items() if value is not None}
    cost = given.pop("cost", None)
    sections = {"policy": {"kind": _kind(policy), **given}}
    return sections if cost is None else {**sections, "policy.cost": cost}


def _value(value: Any) -> str:
    """Write a value in TOML."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, str):
        return f'"{re.sub(_ESCAPED, _escape, value)}"'
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return repr(float(value))


_ESCAPED = r'["\\\x00-\x1f\x7f]'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)
