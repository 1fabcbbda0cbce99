"""Live streams of lines: a tracker, and a file that knows which lines it has."""

from __future__ import annotations

import math
import time
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._support.types import Array
from ..filters._base import Filter
from ..streams._file import Saved
from ..streams._rows import DEFAULT_SOURCE
from ..streams._tracker import Tracker
from ._checkpoint import SHARE, filter_settings, require_same
from ._state_file import REMEDY, SavedLines, read, write


class LiveStreams:
    """A tracker whose file says which lines it has, so that these may come again.

    Parameters
    ----------
    fresh : Filter
        Its settings are used, not its state.
    columns : tuple of str
        The classes, in the order of the data; written to the file.
    path : Path, optional
        The file. One that exists already is not read: see `resume`.
    every : float
        Minimum of seconds between two saves.
    max_jump : float
        A row that is further ahead of the row before of its stream is rejected, unless the stream's
        next row confirms its time.
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
        max_jump: float = math.inf,
        expire_after: float | None = None,
        max_streams: int | None = None,
    ) -> None:
        self.tracker = Tracker(fresh, expire_after=expire_after, max_streams=max_streams)
        self.columns = columns
        self.skipped = 0
        self.line = self.resumed_line = -1
        self.fresh, self._path, self._every, self._max_jump = fresh, path, every, max_jump
        # The CRC-32 of each row at the time of its stream's last row: one by slot, more by name.
        self._tie = array("I")
        self._more_ties: dict[Any, list[int]] = {}
        # By slot, whether rows that the file has may come again: until a stream's first new row.
        self._replaying = bytearray()
        self._tie_counts: dict[Any, Counter[int]] = {}
        self._jumps: dict[Any, float] = {}
        self._changed = False
        self._due = time.monotonic() + every

    def update(
        self,
        name: str | int | None,
        at: float,
        row: bytes,
        probs: Sequence[float],
        beta: float,
        new: bool = False,
    ) -> Array | None:
        """Take one observation of a stream; return None if the resumed file has it already.

        It has the rows before the stream's time in the file and, at that time, those with the same
        bytes `row`, each as often as it came; until the first row of the stream that is `new`.
        """
        tracker = self.tracker
        slot = tracker._slots.get(name)
        last = at if slot is None else tracker._times[slot]
        tie = 0 if self._path is None else zlib.crc32(row)
        if slot is not None:
            if self._path and not new and self._replaying[slot] and self._has(name, slot, at, tie):
                self.skipped += 1
                return None
            if at - last > self._max_jump:
                self._confirm(name, at, last)
        filtered = tracker._observe(name, at, DEFAULT_SOURCE, beta, probs)
        if self._jumps:
            self._jumps.pop(name, None)
        if self._path is not None:
            self._note(name, tie, slot is not None and at == last)
        return filtered

    def _has(self, name: Any, slot: int, at: float, tie: int) -> bool:
        """Return whether the file has a row."""
        last = self.tracker._times[slot]
        if at != last:
            return at < last
        ties = self._tie_counts.get(name)
        if ties is None:
            known = [self._tie[slot], *self._more_ties.get(name, ())]
            ties = self._tie_counts[name] = Counter(known)
        ties[tie] -= 1
        return ties[tie] >= 0

    def _confirm(self, name: Any, at: float, last: float) -> None:
        """Raise, unless the row before has had such a time, too."""
        before = self._jumps.get(name)
        if before is not None and 0 <= at - before <= self._max_jump:
            return
        self._jumps[name] = at
        self._changed = True
        raise ValueError(
            f"time is {at!r}, more than {self._max_jump:g} after {last!r}, that of the last row of "
            f"stream {name!r}; it is rejected, unless the next row of the stream confirms it"
        )

    def _note(self, name: Any, tie: int, at_last: bool) -> None:
        """Remember which row was the last one of its stream."""
        slot = self.tracker._slots.get(name)
        if slot is None:  # dropped at once
            return
        if slot >= len(self._tie):
            more = len(self.tracker._times) - len(self._tie)
            self._tie.frombytes(bytes(4 * more))
            self._replaying.extend(bytes(more))
        if at_last:
            self._more_ties.setdefault(name, []).append(tie)
        else:
            self._tie[slot] = tie
            self._more_ties.pop(name, None)
        if self._replaying[slot]:
            self._replaying[slot] = 0
            self._tie_counts.pop(name, None)
        self._changed = True

    def take_line(self, number: int, unnumbered: int) -> bool:
        """Return whether a line is new by its number; `unnumbered` came since the start."""
        if number <= self.line:
            self.skipped += 1
            return False
        if self.line == self.resumed_line >= 0 and number > self.line + 1 + unnumbered:
            raise ValueError(
                f"{self._path} has the lines up to number {self.line}, but the first new one has "
                f"number {number}; give the lines from number {self.line + 1} on"
            )
        self.line, self._changed = number, True
        return True

    def wait(self) -> float | None:
        """Return the seconds until the file is due; None if there is nothing to save."""
        if self._path is None or not self._changed:
            return None
        return max(0.0, self._due - time.monotonic())

    def save(self) -> None:
        """Write the file if there is anything new, and set the time of the next one."""
        if self._path is None or not self._changed:
            return
        start = time.monotonic()
        try:
            write(self._path, self.tracker._saved(), self._lines())
            self._changed = False
        finally:
            end = time.monotonic()
            self._due = end + max(self._every, SHARE * (end - start))

    def _lines(self) -> SavedLines:
        tracker = self.tracker
        known: tuple[dict[Any, Any], ...] = (self._more_ties, self._tie_counts, self._jumps)
        for by_name in known:  # of streams that were dropped
            for name in [name for name in by_name if name not in tracker]:
                del by_name[name]
        place: dict[Any, int] = {}
        if self._more_ties or self._jumps:
            place = {name: i for i, name in enumerate(tracker._slots)}
        more = [(place[name], tie) for name, ties in self._more_ties.items() for tie in ties]
        return SavedLines(
            self.columns,
            self.line,
            np.array(self._tie, np.uint32)[list(tracker._slots.values())],
            np.array([i for i, _ in more], np.int64),
            np.array([tie for _, tie in more], np.uint32),
            np.array([place[name] for name in self._jumps], np.int64),
            np.array(list(self._jumps.values()), np.float64),
        )

    def _take(self, saved: Saved, lines: SavedLines) -> None:
        """Take the streams of a file."""
        tracker, order = self.tracker, np.arange(len(saved.names))
        seen, newest = saved.seen, saved.newest
        if saved.expire_after is None:  # of a process whose streams never expired
            seen, newest = saved.times, max(saved.times.tolist(), default=-math.inf)
            if tracker.expire_after is not None:
                order = np.argsort(saved.times, kind="stable")
        names = [saved.names[i] for i in order.tolist()]
        tracker._roster.restore(names, saved.times[order], seen[order], saved.states[order])
        tracker._roster.newest = newest
        self.line = self.resumed_line = lines.line
        self._tie.frombytes(lines.ties[order].tobytes())
        self._replaying.extend(b"\1" * len(names))
        for i, tie in zip(lines.tie_slots.tolist(), lines.more_ties.tolist(), strict=True):
            self._more_ties.setdefault(saved.names[i], []).append(tie)
        jumps = zip(lines.jump_slots.tolist(), lines.jumps.tolist(), strict=True)
        self._jumps = {saved.names[i]: at for i, at in jumps}
        tracker._drop_old()

    def summary(self) -> str:
        """Return what a file has, and where its lines go on."""
        count, times = len(self.tracker), self.tracker._times
        if self.line >= 0:
            return f"{_streams(count)}, lines up to number {self.line}; it goes on after these"
        newest = max((times[slot] for slot in self.tracker._slots.values()), default=math.nan)
        return (
            f"{_streams(count)}, times up to {newest!r}; give the lines after those it has, or "
            "from any earlier one"
        )

    def behind(self) -> list[Any]:
        """Return the streams of the file of which no new row came."""
        slots = self.tracker._slots.items()
        return [
            name for name, slot in slots if slot < len(self._replaying) and self._replaying[slot]
        ]


def _streams(count: int) -> str:
    return "1 stream" if count == 1 else f"{count:,} streams"


def resume(
    make_filter: Callable[[tuple[str, ...]], Filter],
    path: Path,
    every: float = 1.0,
    **limits: Any,
) -> LiveStreams:
    """Return the streams of a file, or raise and say why the filter cannot go on from it."""
    saved, lines = read(path)
    fresh = make_filter(lines.columns)
    require_same(path, filter_settings(saved.filter), filter_settings(fresh), "filter")
    streams = LiveStreams(fresh, lines.columns, path, every, **limits)
    try:
        streams._take(saved, lines)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}; {REMEDY}") from None
    return streams
