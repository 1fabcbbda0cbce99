"""The file of a tracker: its settings, and the state of every stream; complete and checked."""

from __future__ import annotations

import io
import json
import zipfile
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import config
from .._atomic import atomic_write
from .._settings import from_builtin, to_builtin, to_toml
from .._typing import Array, Floats

VERSION = 1
_KEYS = ("version", "settings", "more", "streams", "times", "states")


class Saved(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    filter, beta, channel, policy, expire_after, max_streams
        As in `Tracker`.
    names : list
        The streams; the one whose last row came first is first.
    times : ndarray (N,)
        The time of each one's last row.
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
    states: Array
    calls: dict[Any, Any]
    newest: float


def write(path: str | PathLike[str], saved: Saved) -> None:
    """Write a file; it appears complete or not at all."""
    for name in saved.names:
        if name is not None and type(name) not in (str, int):
            raise TypeError(
                f"stream {name!r} is a {type(name).__name__}; a tracker is saved with streams named "
                "by text or whole numbers"
            )
    named = saved.beta if hasattr(saved.beta, "items") else None
    calls = [[name, to_builtin(values)] for name, values in saved.calls.items()]
    more = {
        "beta": None if named is not None else saved.beta,
        "expire_after": saved.expire_after,
        "max_streams": saved.max_streams,
        "newest": saved.newest if saved.names else None,
        "calls": calls,
    }
    with atomic_write(fspath(path)) as file:
        np.savez(
            file,
            version=VERSION,
            settings=to_toml(saved.filter, named, saved.channel, saved.policy),
            more=json.dumps(more),
            streams=json.dumps(saved.names),
            times=saved.times,
            states=saved.states,
        )


def read(path: str | PathLike[str]) -> Saved:
    """Read a file, or raise and say what is wrong with it."""
    data = io.BytesIO(Path(path).read_bytes())
    try:
        if not zipfile.is_zipfile(data):
            raise ValueError
        with np.load(data, allow_pickle=False) as file:
            content = {key: file[key] for key in file.files}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile):
        raise ValueError(f"{path} is damaged, or no saved tracker; take an earlier copy") from None
    missing = [key for key in _KEYS if key not in content]
    if missing:
        raise ValueError(f"{path} is no saved tracker: it has no {missing[0]!r}")
    version = int(content["version"])
    if version != VERSION:
        raise ValueError(
            f"{path} has version {version} of the format, but this reads version {VERSION}; use "
            "the release that wrote it"
        )
    settings = config.parse(str(content["settings"]))
    more = json.loads(str(content["more"]))
    names = json.loads(str(content["streams"]))
    times, states = content["times"], content["states"]
    if not len(names) == len(times) == len(states):
        raise ValueError(f"{path} is damaged: its columns have unequal lengths")
    beta = settings.beta if more["beta"] is None else more["beta"]
    calls = {}
    if settings.policy is not None:
        pattern = settings.policy.state
        for name, (state, estimate, last) in more["calls"]:
            calls[name] = from_builtin(state, pattern), estimate, last
    newest = float("-inf") if more["newest"] is None else more["newest"]
    return Saved(
        settings.filter, beta, settings.channel, settings.policy, more["expire_after"],
        more["max_streams"], names, times, states, calls, newest,
    )  # fmt: skip
