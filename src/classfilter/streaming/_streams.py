"""Live streams of lines: a tracker, and checkpoints that know which lines they have."""

from __future__ import annotations

import time
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._checkpoint import (
    REMEDY,
    SHARE,
    Checkpoint,
    SavedStream,
    filter_settings,
    read,
    require_same,
    write,
)
from .._typing import Array
from ..filters._base import Filter
from ..filters._stream_runner import pack_state
from ._tracker import Tracker
from ._tracker_rows import DEFAULT_SOURCE


class LiveStreams:
    """A tracker whose checkpoints say which lines they have, so that these may come again.

    Parameters
    ----------
    fresh : Filter
        Its settings are used, not its state.
    columns : tuple of str
        The classes, in the order of the data; written to the file.
    path : Path, optional
        The file of the checkpoints. One that exists already is not read: see `resume`.
    every : float
        Minimum of seconds between two checkpoints.
    expire_after, max_streams
        As in `Tracker`.

    Examples
    --------
    >>> from classfilter import DirichletFilter
    >>> streams = LiveStreams(DirichletFilter(["rest", "move"]), ("rest", "move"))
    >>> streams.update("ann", 0.0, b"", [0.75, 0.25], 1.0).round(3)
    array([0.781, 0.219])
    """

    def __init__(
        self,
        fresh: Filter,
        columns: tuple[str, ...],
        path: Path | None = None,
        every: float = 1.0,
        *,
        expire_after: float | None = None,
        max_streams: int | None = None,
    ) -> None:
        self.tracker = Tracker(fresh, expire_after=expire_after, max_streams=max_streams)
        self.columns = columns
        self.skipped = 0
        self.fresh, self._path, self._every = fresh, path, every
        # The CRC-32 of each row at the time of its stream's last row: one by slot, more by name.
        self._tie = array("I")
        self._more_ties: dict[Any, list[int]] = {}
        # How often each tie of the file may still come again; until a stream's first new row.
        self._replayed: dict[Any, Counter[int]] = {}
        self._changed = False
        self._due = time.monotonic() + every

    def update(
        self, name: str | int | None, at: float, row: bytes, probs: Sequence[float], beta: float
    ) -> Array | None:
        """Take one observation of a stream; return None if the resumed checkpoint has it already.

        It has the rows before the stream's time in the file and, at that time, those with the same
        bytes `row`, each as often as it came; until the first row of the stream that is new.
        """
        tracker = self.tracker
        if self._path is None:
            return tracker._observe(name, at, DEFAULT_SOURCE, beta, probs)
        tie, last = zlib.crc32(row), tracker._roster.last_time(name)
        if name in self._replayed and last is not None:
            ties = self._replayed[name]
            if at < last or (at == last and ties[tie] > 0):
                if at == last:
                    ties[tie] -= 1
                self.skipped += 1
                return None
        filtered = tracker._observe(name, at, DEFAULT_SOURCE, beta, probs)
        self._replayed.pop(name, None)
        if at == last:
            self._more_ties.setdefault(name, []).append(tie)
        else:
            slot = tracker._slots[name]
            if slot >= len(self._tie):
                self._tie.extend([0] * (len(tracker._times) - len(self._tie)))
            self._tie[slot] = tie
            self._more_ties.pop(name, None)
        self._changed = True
        return filtered

    def wait(self) -> float | None:
        """Return the seconds until a checkpoint is due; None if there is nothing to save."""
        if self._path is None or not self._changed:
            return None
        return max(0.0, self._due - time.monotonic())

    def save(self) -> None:
        """Write the file if there is anything new, and set the time of the next checkpoint."""
        if self._path is None or not self._changed:
            return
        start = time.monotonic()
        try:
            write(
                self._path, Checkpoint(filter_settings(self.fresh), self.columns, self._streams())
            )
            self._changed = False
        finally:
            end = time.monotonic()
            self._due = end + max(self._every, SHARE * (end - start))

    def _streams(self) -> list[SavedStream]:
        tracker = self.tracker
        times, seen, states = tracker._times, tracker._roster.seen, tracker._bank._states
        for known in (self._more_ties, self._replayed):  # of streams that were dropped
            for name in [name for name in known if name not in tracker]:
                del known[name]
        slots: dict[Any, int] = tracker._slots
        return [
            SavedStream(
                name,
                times[slot],
                [self._tie[slot], *self._more_ties.get(name, ())],
                states[slot].tolist(),
                None,
                None if tracker.expire_after is None else seen[slot],
            )
            for name, slot in slots.items()
        ]

    def _take(self, saved: list[SavedStream]) -> None:
        """Take the streams of a file."""
        if any(stream.seen is None for stream in saved):  # of a process whose streams never expired
            saved = sorted(saved, key=lambda stream: stream.time)
        start = self.tracker._bank._start
        states = [pack_state(stream.state, start.dtype) for stream in saved]
        times = np.array([stream.time for stream in saved], np.float64)
        seen = np.array([s.time if s.seen is None else s.seen for s in saved], np.float64)
        names = [stream.id for stream in saved]
        self.tracker._roster.restore(
            names, times, seen, np.array(states, start.dtype).reshape(len(saved), -1)
        )
        self._tie.extend(stream.ties[0] if stream.ties else 0 for stream in saved)
        self._more_ties = {s.id: s.ties[1:] for s in saved if len(s.ties) > 1}
        self._replayed = {stream.id: Counter(stream.ties) for stream in saved}
        self.tracker._drop_old()


def resume(
    make_filter: Callable[[tuple[str, ...]], Filter],
    path: Path,
    every: float = 1.0,
    *,
    expire_after: float | None = None,
    max_streams: int | None = None,
) -> LiveStreams:
    """Return the streams of a checkpoint, or raise and say why the filter cannot go on from it."""
    saved = read(path)
    fresh = make_filter(saved.columns)
    require_same(path, saved.filter, filter_settings(fresh), "filter")
    limits: dict[str, Any] = {"expire_after": expire_after, "max_streams": max_streams}
    streams = LiveStreams(fresh, saved.columns, path, every, **limits)
    try:
        if saved.streams:
            streams._take(saved.streams)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}; {REMEDY}") from None
    return streams
