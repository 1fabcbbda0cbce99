"""The file of a tracker: its settings, and the state of every stream; complete and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from .. import config
from .._support.atomic import atomic_write
from .._support.types import Array, Floats
from ..chain._settings import from_builtin, to_builtin, to_toml

VERSION = 1
NAMES_AT_ONCE = 4096
_KEYS = ("version", "settings", "more", "streams", "times", "seen", "states")


class Saved(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    filter, beta, channel, policy, expire_after, max_streams
        As in `Tracker`.
    names : list
        The streams; where they are dropped, the next one to go is first.
    times, seen : ndarray (N,)
        The time of each one's last row, and what the newest time of all streams was then.
    states : ndarray (N, S)
        The state of each one's filter, as in a bank.
    calls : dict
        Of a policy, by stream: its state, the last estimate, and the time of each source's last
        call.
    newest : float
        The newest time of all streams.
    """

    filter: Any
    beta: Any
    channel: Any
    policy: Any
    expire_after: float | None
    max_streams: int | None
    names: list[Any]
    times: Floats
    seen: Floats
    states: Array
    calls: dict[Any, Any]
    newest: float


def write(path: str | PathLike[str], saved: Saved, more: Mapping[str, Any] | None = None) -> None:
    """Write a file, with more arrays; it appears complete or not at all."""
    named = saved.beta if hasattr(saved.beta, "items") else None
    calls = [[_as_json(name), to_builtin(values)] for name, values in saved.calls.items()]
    rest = {
        "beta": None if named is not None else saved.beta,
        "expire_after": saved.expire_after,
        "max_streams": saved.max_streams,
        "newest": saved.newest if saved.names else None,
        "calls": calls,
    }
    with atomic_write(fspath(path), private=True) as file:
        np.savez(
            file,
            version=VERSION,
            settings=to_toml(saved.filter, named, saved.channel, saved.policy),
            more=json.dumps(rest),
            streams=_packed(saved.names),
            times=saved.times,
            seen=saved.seen,
            states=saved.states,
            **(more or {}),
        )


def read(
    path: str | PathLike[str], otherwise: str = "no saved tracker; take an earlier copy"
) -> tuple[Saved, dict[str, Array]]:
    """Read a file, and all its arrays; or raise and say what is wrong with it."""
    content = read_npz(path, otherwise)
    missing = [key for key in _KEYS if key not in content]
    if missing:
        raise ValueError(f"{path} is {otherwise.partition(';')[0]}: it has no {missing[0]!r}")
    try:
        version = int(content["version"])
        if version == VERSION:
            return _saved(content), content
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        what = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged, or {otherwise} ({what})") from None
    raise ValueError(
        f"{path} has version {version} of the format, but this reads version {VERSION}; use the "
        "release that wrote it"
    )


def _saved(content: dict[str, Array]) -> Saved:
    settings = config.parse(str(content["settings"]))
    more = json.loads(str(content["more"]))
    names = _unpacked(content["streams"])
    times, seen, states = content["times"], content["seen"], content["states"]
    if len(set(names)) < len(names):
        raise ValueError("a stream is there twice")
    for column in (times, seen):
        if column.shape != (len(names),) or column.dtype != np.float64:
            raise ValueError("its columns have unequal lengths")
    if not np.isfinite(times).all() or np.isnan(seen).any():
        raise ValueError("a time is not finite")
    if len(states) != len(names):
        raise ValueError("its columns have unequal lengths")
    beta = settings.beta if more["beta"] is None else more["beta"]
    calls = {}
    if settings.policy is not None:
        pattern = settings.policy.state
        for name, (state, estimate, last) in more["calls"]:
            calls[_from_json(name)] = from_builtin(state, pattern), estimate, dict(last)
    newest = float("-inf") if more["newest"] is None else float(more["newest"])
    return Saved(
        settings.filter, beta, settings.channel, settings.policy, more["expire_after"],
        more["max_streams"], names, times, seen, states, calls, newest,
    )  # fmt: skip


def _packed(names: list[Any]) -> Array:
    """Return names as JSON, in bytes; block by block, since JSON takes much memory meanwhile."""
    blocks = (names[i : i + NAMES_AT_ONCE] for i in range(0, len(names), NAMES_AT_ONCE))
    texts = [json.dumps([_as_json(name) for name in block])[1:-1].encode() for block in blocks]
    return np.frombuffer(b"[%b]" % b",".join(texts), np.uint8)


def _unpacked(text: Array) -> list[Any]:
    if text.dtype != np.uint8:
        raise ValueError("the names of its streams are no text")
    return [_from_json(name) for name in json.loads(text.tobytes())]


def _as_json(name: Any) -> Any:
    """Return the name of a stream as JSON has it: a list for a tuple."""
    if isinstance(name, np.generic):
        name = name.item()
    if type(name) is tuple:
        return [_as_json(part) for part in name]
    if name is not None and type(name) not in (str, int, float, bool):
        raise TypeError(
            f"stream {name!r} is a {type(name).__name__}; a tracker is saved with streams named by "
            "text, numbers, or tuples of them"
        )
    return name


def _from_json(name: Any) -> Any:
    return tuple(map(_from_json, name)) if type(name) is list else name


def read_npz(path: str | PathLike[str], otherwise: str) -> dict[str, Array]:
    """Return the arrays of a `.npz` file; `otherwise` says what else it may be, and the remedy."""
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError):  # as NumPy meets other files
        raise ValueError(f"{path} is damaged, or {otherwise}") from None
