"""Streams that outlive their process: one filter a stream, and the file to go on from.

The file is JSON: a version, the settings of the filter, the columns of the data, one entry a
stream, and at the end the CRC-32 of all that comes before it.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from ._atomic import atomic_write
from ._settings import options
from .filters._base import Filter
from .policy import Policy

VERSION = 1
SHARE = 30
"""Between two checkpoints, at least so many times what the first of them took."""
_SUM = b', "crc32": '
_REMEDY = "move the file away to start anew"


class Saved(NamedTuple):
    """What a file keeps of a stream.

    Attributes
    ----------
    id : str, int or None
        Its name; None where it has none.
    time : float
        That of its last row.
    ties : list of int
        The CRC-32 of each row at that time.
    state : list
        What its filter remembers, as plain values.
    policy : dict, optional
        Of a live loop: the settings and the state of its policy, and when each source was called
        last, as plain values.
    """

    id: str | int | None
    time: float
    ties: list[int]
    state: Any
    policy: Any = None


class Checkpoint(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    filter : dict
        The kind of the filter, its classes and all its options; see `settings`.
    columns : tuple of str
        The classes, in the order of the data.
    streams : list of Saved
        All streams.
    """

    filter: dict[str, Any]
    columns: tuple[str, ...]
    streams: list[Saved]


def settings(filter: Filter) -> dict[str, Any]:  # noqa: A002
    """Return what makes the same filter anew, as plain values.

    Examples
    --------
    >>> from classfilter import DirichletFilter
    >>> found = settings(DirichletFilter(["rest", "move"], 0.9))
    >>> found["kind"], found["classes"], found["gamma"]
    ('DirichletFilter', ['rest', 'move'], 0.9)
    """
    known = {"kind": type(filter).__name__, "classes": [str(name) for name in filter.classes]}
    return known | options(filter)


def require_same(path: Path, made: dict[str, Any], here: dict[str, Any], what: str) -> None:
    """Refuse a file that was made with other settings of a filter or a policy."""
    for key in dict.fromkeys([*made, *here]):
        there, now = made.get(key), here.get(key)
        if there != now:
            raise ValueError(
                f"{path} was made with {key} {there!r}, but the {what} has {now!r}; "
                f"give the {what} the same, or {_REMEDY}"
            )


def policy_settings(policy: Policy) -> dict[str, Any]:
    """Return what makes the same policy anew, as plain values."""
    return {"kind": type(policy).__name__, **options(policy)}


def write(path: Path, found: Checkpoint) -> None:
    """Write a file; it appears complete or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "state.json")
    ...     write(path, Checkpoint({"kind": "none"}, ("a", "b"), [Saved("ann", 5.0, [7], 0.1)]))
    ...     read(path).streams
    [Saved(id='ann', time=5.0, ties=[7], state=0.1, policy=None)]
    """
    body = json.dumps({"version": VERSION, **found._asdict()})[:-1].encode()
    with atomic_write(path) as file:
        file.write(body + _SUM + b"%d}\n" % zlib.crc32(body))


def read(path: Path) -> Checkpoint:
    """Read a file, or say what is wrong with it."""
    text = path.read_bytes()
    try:
        found = json.loads(text)
        version = found["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{path} is damaged, or no checkpoint; {_REMEDY}") from None
    if version != VERSION:
        raise ValueError(
            f"{path} has version {version!r} of the format, but this reads version {VERSION}; "
            f"use the release that wrote it, or {_REMEDY}"
        )
    body, _, check = text.rpartition(_SUM)
    if check != b"%d}\n" % zlib.crc32(body):
        raise ValueError(f"{path} is damaged: its check sum is wrong; {_REMEDY}")
    streams = [Saved(*stream) for stream in found["streams"]]
    return Checkpoint(found["filter"], tuple(found["columns"]), streams)
