"""A filter as a small TOML file: its settings, the weights of its sources, a policy; not its state.

::

    classes = ["walk", "sit", "sleep"]
    filter = "dirichlet"

    [options]
    gamma = 0.95
    estimate = "mean"

    [beta]
    weak = 0.1
    strong = 1.0

    [channel.weak]
    matrix = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]]

    [policy]
    kind = "adaptive"
    budget = 0.08
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .baselines import EmaFilter, HoldFilter, MeanFilter, RawFilter, VoteFilter
from .channel import Channel
from .columns import NUMBER, check_weight
from .filters import DirichletFilter, Filter
from .policy import Adaptive, Periodic, Policy
from .replacing import replacing
from .sticky import StickyFilter

KINDS: dict[str, Callable[..., Filter]] = {
    "dirichlet": DirichletFilter,
    "sticky": StickyFilter,
    "raw": RawFilter,
    "mean": MeanFilter,
    "ema": EmaFilter,
    "vote": VoteFilter,
    "hold": HoldFilter,
}
"""What a file calls each class of filters. Such a class takes the classes first, then options by
name, and keeps those it was made with in ``_options``."""

POLICIES: dict[str, Callable[..., Policy]] = {"periodic": Periodic, "adaptive": Adaptive}
"""What a file calls each class of policies; it keeps its options in ``_options`` too."""

_TEXT = ("estimate", "dtype", "strong", "weak")


class Config(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    filter : Filter
        Fresh, without data.
    beta : dict of str to float
        The weight of each source; empty where the file has none.
    channel : dict of str to Channel
        What puts the answers of a source right; empty where the file has none.
    policy : Policy or None
        Which source to call next, without any calls; None where the file has none.
    """

    filter: Filter
    beta: dict[str, float]
    channel: dict[str, Channel]
    policy: Policy | None = None


def save(
    filter: Filter,  # noqa: A002
    path: str | Path,
    beta: Mapping[str, float] | None = None,
    channel: Mapping[str, Channel] | None = None,
    policy: Policy | None = None,
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
    kind = _kind(filter, KINDS)
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
    with replacing(path) as file:
        file.write(text.encode())


def _kind(of: object, kinds: Mapping[str, Callable[..., object]]) -> str:
    for name, made in kinds.items():
        if made is type(of):
            return name
    raise TypeError(f"a {type(of).__name__} cannot be saved; there are: {', '.join(kinds)}")


def _policy_sections(policy: Policy) -> dict[str, dict[str, Any]]:
    given = {key: value for key, value in options(policy).items() if value is not None}
    cost = given.pop("cost", None)
    sections = {"policy": {"kind": _kind(policy, POLICIES), **given}}
    return sections if cost is None else {**sections, "policy.cost": cost}


def load(path: str | Path) -> Filter:
    """Make the filter that a TOML file describes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(DirichletFilter(["walk", "sit"], 0.95), f"{folder}/walk.toml")
    ...     load(f"{folder}/walk.toml")
    DirichletFilter(['walk', 'sit'], gamma=0.95, estimate='mode')
    """
    return read(path).filter


def read(path: str | Path) -> Config:
    """Read a TOML file: the filter that it describes, and the weights of the sources.

    Parameters
    ----------
    path : str or Path
        A file as `save` writes it, or written by hand. Options are those of the filter's class.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(DirichletFilter(2, 0.95), f"{folder}/walk.toml", {"weak": 0.1, "strong": 1})
    ...     read(f"{folder}/walk.toml").beta
    {'weak': 0.1, 'strong': 1.0}
    """
    path = Path(path)
    try:
        return _parse(_toml().loads(path.read_bytes().decode("utf-8-sig")))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _parse(found: dict[str, Any]) -> Config:
    for key in found:
        if key not in ("classes", "filter", "options", "beta", "channel", "policy"):
            known = "classes, filter, [options], [beta], [channel.<source>] and [policy]"
            raise ValueError(f"unknown key {key}; there are {known}")
    classes = found.get("classes")
    if classes is None:
        raise ValueError('classes is missing; give their names: classes = ["walk", "sit"]')
    if not isinstance(classes, list) or any(type(name) not in (str, int) for name in classes):
        raise ValueError(f"classes is {classes!r}; it must be a list of text or whole numbers")
    kind = found.get("filter")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"filter is {kind!r}; it must be one of {', '.join(KINDS)}")
    for title in ("options", "beta", "channel", "policy"):
        if not isinstance(found.get(title, {}), dict):
            raise ValueError(f"{title} is {found[title]!r}; it must be a section, [{title}]")
    options, beta, channel = (found.get(title, {}) for title in ("options", "beta", "channel"))
    _check_options(kind, options, list(inspect.signature(KINDS[kind]).parameters)[1:])
    weights = {source: check_weight(f"beta.{source}", weight) for source, weight in beta.items()}
    channels = {source: _channel(source, given, len(classes)) for source, given in channel.items()}
    policy = _policy(found["policy"], weights) if "policy" in found else None
    return Config(KINDS[kind](classes, **options), weights, channels, policy)


def _policy(given: dict[str, Any], beta: Mapping[str, float]) -> Policy:
    """Return the policy of a section."""
    options = dict(given)
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
        made: Any = POLICIES[kind](**options)
    except ValueError as error:
        raise ValueError(f"policy: {error}") from None
    for source in (made.strong, made.weak):
        if beta and source not in beta:
            raise ValueError(
                f"policy calls {source!r}, but [beta] names {list(beta)}: add it there"
            )
    return made  # type: ignore[no-any-return]


def _check_options(kind: str, options: Mapping[str, Any], allowed: list[str]) -> None:
    for key, value in options.items():
        if key not in allowed:
            raise ValueError(f"unknown option {key}; {kind} has {', '.join(allowed)}")
        _check(key, value)


def _channel(source: str, given: Any, K: int) -> Channel:
    """Return the channel of a section."""
    title = f"channel.{source}"
    if not isinstance(given, dict) or not {"matrix"} <= given.keys() <= {"matrix", "prior"}:
        raise ValueError(f"{title} must be a section, [{title}], with a matrix and maybe a prior")
    for key, value in given.items():
        _check(f"{title}.{key}", value)
    try:
        made = Channel(given["matrix"], given.get("prior"))
    except ValueError as error:
        raise ValueError(f"{title}: {error}") from None
    if len(made.prior) != K:
        raise ValueError(f"{title} has {len(made.prior)} classes, but the filter has {K}")
    return made


def _check(key: str, value: Any) -> None:
    """Refuse a value of the wrong type; whether it is in range, the filter knows."""
    if key in _TEXT:
        if not isinstance(value, str):
            raise ValueError(f'option {key} is {value!r}; it must be text, in "quotes"')
        return
    cells = value
    while isinstance(cells, list) and cells and isinstance(cells[0], list):
        cells = [cell for row in cells for cell in (row if isinstance(row, list) else [row])]
    for cell in cells if isinstance(cells, list) else [cells]:
        if isinstance(cell, bool) or not isinstance(cell, NUMBER):
            raise ValueError(f"option {key} is {value!r}; it must be a number, without quotes")


def options(of: Filter | Policy) -> dict[str, Any]:
    """Return the options that a filter or a policy was made with, as plain Python values."""
    return {key: plain(value) for key, value in getattr(of, "_options", {}).items()}


def plain(value: Any) -> Any:
    """Return an option or a state as text and numbers and lists of them, to the bit."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.dtype):
        return value.name
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


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


def _toml() -> Any:
    """Return the library that reads TOML."""
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"reading TOML needs {name}: pip install {name}") from error
