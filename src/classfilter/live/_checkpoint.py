"""Checkpoints: the states of streams in a file, from which another process continues.

The file is JSON: a version, the settings of the filter, the columns of the data, one entry per
stream, and at the end the CRC-32 of all that comes before it.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from .._support.atomic import atomic_write
from ..chain._settings import differing, options
from ..filters._base import Filter
from ..policy import Policy

VERSION = 1
SHARE = 30
"""From one checkpoint to the next, at least so many times what the first of them took."""
_CRC32 = b', "crc32": '
REMEDY = "move the file away to start from the beginning"


class SavedStream(NamedTuple):
    """A stream as a checkpoint has it.

    Attributes
    ----------
    id : str, int or None
        Its name; None where it has none.
    time : float
        The time of its last row.
    ties : list of int
        The CRC-32 of each row at that time.
    state : list
        The state of its filter, as built-in values; of a tracker's stream, all of it in one list.
    policy : dict, optional
        For a live loop: the settings and the state of its policy, and the time of each source's
        last call, as built-in values.
    seen : float, optional
        Where streams expire: the newest time of all streams at its last row.
    """

    id: str | int | None
    time: float
    ties: list[int]
    state: Any
    policy: Any = None
    seen: float | None = None


class Checkpoint(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    filter : dict
        The kind of the filter, its classes and all its options; see `filter_settings`.
    columns : tuple of str
        The classes, in the order of the data.
    streams : list of SavedStream
        All streams.
    """

    filter: dict[str, Any]
    columns: tuple[str, ...]
    streams: list[SavedStream]


def filter_settings(filter: Filter) -> dict[str, Any]:  # noqa: A002
    """Return the class, the classes and the options of a filter, as built-in values.

    Examples
    --------
    >>> from classfilter import DirichletFilter
    >>> settings = filter_settings(DirichletFilter(["rest", "move"], 0.9))
    >>> settings["kind"], settings["classes"], settings["gamma"]
    ('DirichletFilter', ['rest', 'move'], 0.9)
    """
    kind, classes = type(filter).__name__, [str(name) for name in filter.classes]
    return {"kind": kind, "classes": classes, **options(filter)}


def policy_settings(policy: Policy) -> dict[str, Any]:
    """Return the class and the options of a policy, as built-in values."""
    return {"kind": type(policy).__name__, **options(policy)}


def require_same(path: Path, saved: dict[str, Any], here: dict[str, Any], what: str) -> None:
    """Raise if a file was written with other settings of a filter or a policy."""
    key = differing(saved, here)
    if key is not None:
        raise ValueError(
            f"{path} was written with {key} {saved.get(key)!r}, but the {what} has "
            f"{here.get(key)!r}; give the {what} the same, or {REMEDY}"
        )


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a file; it appears complete or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "state.json")
    ...     stream = SavedStream("ann", 5.0, [7], 0.1)
    ...     write(path, Checkpoint({"kind": "none"}, ("a", "b"), [stream]))
    ...     read(path).streams
    [SavedStream(id='ann', time=5.0, ties=[7], state=0.1, policy=None, seen=None)]
    """
    body = json.dumps({"version": VERSION, **checkpoint._asdict()})[:-1].encode()
    with atomic_write(path) as file:
        file.write(body + _CRC32 + b"%d}\n" % zlib.crc32(body))


def read(path: Path) -> Checkpoint:
    """Read a file, or raise and say what is wrong with it."""
    text = path.read_bytes()
    try:
        content = json.loads(text)
        version = content["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{path} is damaged, or no checkpoint; {REMEDY}") from None
    if version != VERSION:
        raise ValueError(
            f"{path} has version {version!r} of the format, but this reads version {VERSION}; "
            f"use the release that wrote it, or {REMEDY}"
        )
    body, _, check = text.rpartition(_CRC32)
    if check != b"%d}\n" % zlib.crc32(body):
        raise ValueError(f"{path} is damaged: its checksum is wrong; {REMEDY}")
    streams = [SavedStream(*stream) for stream in content["streams"]]
    return Checkpoint(content["filter"], tuple(content["columns"]), streams)
