"""Streams that outlive their process: one filter a stream, and the file to go on from.

The file is JSON: a version, the settings of the filter, the columns of the data, one entry a
stream, and at the end the CRC-32 of all that comes before it.
"""

from __future__ import annotations

import json
import math
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .config import options, plain
from .filters import Array, Filter
from .policy import Policy
from .replacing import replacing

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


class Streams:
    """One filter a stream.

    Parameters
    ----------
    fresh : Filter
        Its settings are used, not its state.
    columns : tuple of str
        The classes, in the order of the data; kept in the file.
    path : Path, optional
        Where to keep the states. What is there already is not read: see `resume`.
    every : float
        Least seconds between two checkpoints.

    Examples
    --------
    >>> from classfilter import DirichletFilter
    >>> streams = Streams(DirichletFilter(["rest", "move"]), ("rest", "move"))
    >>> streams.update("ann", 0.0, b"", [0.75, 0.25], 1.0).round(3)
    array([0.781, 0.219])
    """

    def __init__(
        self, fresh: Filter, columns: tuple[str, ...], path: Path | None = None, every: float = 1.0
    ) -> None:
        self.columns = columns
        self.passed = 0
        self.fresh, self._path, self._every = fresh, path, every
        self._streams: dict[Any, _Stream] = {}
        self._changed = False
        self._due = time.monotonic() + every

    def update(
        self, name: str | int | None, at: float, row: bytes, probs: Sequence[float], beta: float
    ) -> Array | None:
        """Take one observation of a stream; None where the file that was resumed has it already.

        Those are the rows before the stream's time in the file and, at that time, those of the same
        bytes `row`, each as often as it was seen; until the first row of the stream that is new.
        """
        stream = self._streams.get(name)
        if stream is None:
            stream = _Stream(self.fresh, at)
        dt = at - stream.time
        tie = 0 if self._path is None else zlib.crc32(row)
        if stream.replayed is not None and (dt < 0 or (dt == 0 and stream.replayed[tie] > 0)):
            if dt == 0:
                stream.replayed[tie] -= 1
            self.passed += 1
            return None
        if not 0 <= dt < math.inf:
            raise ValueError(_bad_time(at, stream.time))
        filtered = stream.observe(probs, beta, dt)
        stream.replayed = None
        if dt > 0:
            stream.time, stream.ties = at, [tie]
        elif self._path is not None:
            stream.ties.append(tie)
        self._streams[name] = stream
        self._changed = True
        return filtered

    def wait(self) -> float | None:
        """Return the seconds until a checkpoint is due; None where there is nothing to save."""
        if self._path is None or not self._changed:
            return None
        return max(0.0, self._due - time.monotonic())

    def save(self) -> None:
        """Write the file if there is anything new, and settle when the next is due."""
        if self._path is None or not self._changed:
            return
        begin = time.monotonic()
        try:
            streams = [
                Saved(name, s.time, s.ties, plain(s.filter.state))
                for name, s in self._streams.items()
            ]
            write(self._path, Checkpoint(settings(self.fresh), self.columns, streams))
            self._changed = False
        finally:
            end = time.monotonic()
            self._due = end + max(self._every, SHARE * (end - begin))


class _Stream:
    __slots__ = ("filter", "observe", "replayed", "ties", "time")

    def __init__(self, fresh: Filter, at: float) -> None:
        self.filter = fresh.copy()
        self.observe = self.filter.update
        self.time = at
        self.ties: list[int] = []
        self.replayed: Counter[int] | None = None
        """Of the ties in the file, those that have not come again; None after a new row."""


def resume(
    make_filter: Callable[[tuple[str, ...]], Filter], path: Path, every: float = 1.0
) -> Streams:
    """Return the streams that a file keeps, or say why the filter cannot go on from it."""
    found = read(path)
    fresh = make_filter(found.columns)
    require_same(path, found.filter, settings(fresh), "filter")
    streams = Streams(fresh, found.columns, path, every)
    for name, at, ties, values, _ in found.streams:
        stream = streams._streams[name] = _Stream(fresh, at)
        stream.filter.state = revived(values, fresh.state)
        stream.ties, stream.replayed = ties, Counter(ties)
    return streams


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
    with replacing(path) as file:
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


def _bad_time(at: float, last: float) -> str:
    if not math.isfinite(at):
        return f"time is {at}; it must be finite: leave the line out"
    return (
        f"time is {at!r}, before {last!r}, that of the stream's last line; "
        "put the lines of a stream in order of time"
    )


def revived(value: Any, pattern: Any) -> Any:
    """Return what `plain` made of a state, with the types of another state of the same filter."""
    if isinstance(pattern, np.ndarray):
        return np.array(value, dtype=pattern.dtype)
    if hasattr(pattern, "_fields"):
        items = [revived(v, p) for v, p in zip(value, pattern, strict=True)]
        return type(pattern)(*items)
    return tuple(value) if isinstance(pattern, tuple) else value
