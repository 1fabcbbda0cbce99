"""TODO streaming._streams."""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._checkpoint import SHARE, Checkpoint, Saved, read, require_same, settings, write
from .._settings import from_builtin, to_builtin
from .._typing import Array
from ..filters._base import Filter


class LiveStreams:
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
    >>> streams = LiveStreams(DirichletFilter(["rest", "move"]), ("rest", "move"))
    >>> streams.update("ann", 0.0, b"", [0.75, 0.25], 1.0).round(3)
    array([0.781, 0.219])
    """

    def __init__(
        self, fresh: Filter, columns: tuple[str, ...], path: Path | None = None, every: float = 1.0
    ) -> None:
        self.columns = columns
        self.skipped = 0
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
            self.skipped += 1
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
                Saved(name, s.time, s.ties, to_builtin(s.filter.state))
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
) -> LiveStreams:
    """Return the streams that a file keeps, or say why the filter cannot go on from it."""
    found = read(path)
    fresh = make_filter(found.columns)
    require_same(path, found.filter, settings(fresh), "filter")
    streams = LiveStreams(fresh, found.columns, path, every)
    for name, at, ties, values, _ in found.streams:
        stream = streams._streams[name] = _Stream(fresh, at)
        stream.filter.state = from_builtin(values, fresh.state)
        stream.ties, stream.replayed = ties, Counter(ties)
    return streams


def _bad_time(at: float, last: float) -> str:
    if not math.isfinite(at):
        return f"time is {at}; it must be finite: leave the line out"
    return (
        f"time is {at!r}, before {last!r}, that of the stream's last line; "
        "put the lines of a stream in order of time"
    )
