"""Live streams of lines: a tracker, and a file that knows which lines it has."""

from __future__ import annotations

import math
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine import Columns, Tracker
from ..engine import store as file
from ..pipeline import Pipeline
from ..support.atomic import real_path, remove_drafts, require_lock
from ..support.types import Array

SHARE = 30
"""From one save to the next, at least so many times what the first of them took."""


class Skipped(NamedTuple):
    """A line that the file has: its stream, its time, and the time of the stream there."""

    stream: Any
    time: float
    last: float


class LiveStreams:
    """A tracker whose file says which lines it has, so that these may come again.

    Parameters
    ----------
    pipeline : Pipeline
        The settings.
    columns : tuple of str
        The classes, in the order of the data; written to the file.
    path : Path, optional
        The file. One that exists already is not read: see `resume`.
    every : float
        Minimum of seconds between two saves.
    unit : str, optional
        What numbers were before they became the seconds of `update`; written to the file.
    limits
        ``expire_after``, ``max_streams``, ``max_jump`` and ``lag`` of the `Tracker`.

    Examples
    --------
    >>> from classfilter import Pipeline, DirichletFilter
    >>> pipe = Pipeline(DirichletFilter(["rest", "move"]))
    >>> streams = LiveStreams(pipe, ("rest", "move"))
    >>> streams.update("ann", 0.0, b"", None, [0.75, 0.25]).round(3)
    array([0.781, 0.219])
    """

    def __init__(
        self,
        pipe: Pipeline,
        columns: tuple[str, ...],
        path: Path | None = None,
        every: float = 1.0,
        unit: str | None = None,
        **limits: Any,
    ) -> None:
        pipe = _without_policy(pipe)
        # As they are: lines are looked at before.
        self.tracker = Tracker(pipe, unit="s", events=pipe.rule or False, **limits)
        self.names, self.events = tuple(map(str, pipe.classes)), 0
        self.dates: bool | None = None  # whether the first line had a date
        self.pipe, self.columns, self.unit = pipe, columns, unit
        self.skipped = 0
        self.last_skipped: Skipped | None = None
        self.line = self.resumed_line = -1
        self._path, self._every, self._table = path, every, self.tracker._table
        # By slot, whether rows that the file has may come again: until a stream's first new row.
        self._replaying = bytearray()
        self._tie_counts: dict[Any, Counter[int]] = {}
        self._changed = False
        self._due = time.monotonic() + every

    def update(
        self, name: str | None, at: float, row: bytes, source: Any, probs: Any, new: bool = False
    ) -> Array | None:
        """Take one observation of a stream; return None if the resumed file has it already.

        It has the rows before the stream's time in the file and, at that time, those with the same
        bytes `row`, each as often as it came; until the first row of the stream that is `new`.
        """
        if self._path is None:
            return self.tracker.update(name, at, source, probs)
        table, tie = self._table, zlib.crc32(row)
        slot = table.slots.get(name)
        last = math.nan if slot is None else float(table.columns.times[slot])
        may_have = slot is not None and not new and self._is_replaying(slot)
        if may_have and self._has(name, slot, at, last, tie):
            table.columns.jumps[slot] = math.nan  # as when it was taken: two wrong times are apart
            self._skip(Skipped(name, at, last))
            return None
        self._changed = True  # also where it is refused: the table may remember that
        estimate = self.tracker.update(name, at, source, probs)
        self._note(name, tie, at == last)
        return estimate

    def confirmed(self) -> list[tuple[Any, Any]]:
        """Return the events that were confirmed since the last call, with their streams."""
        return self.tracker._engine.pop()

    def _is_replaying(self, slot: int) -> bool:
        return slot < len(self._replaying) and bool(self._replaying[slot])

    def _has(self, name: Any, slot: Any, at: float, last: float, tie: int) -> bool:
        """Return whether the file has a row."""
        if at != last:
            return at < last
        ties = self._tie_counts.get(name)
        if ties is None:
            ties = self._tie_counts[name] = Counter(_ties(self._table.columns.extra[slot]))
        ties[tie] -= 1
        return ties[tie] >= 0

    def _skip(self, line: Skipped | None) -> None:
        self.skipped += 1
        self.last_skipped = line

    def _note(self, name: Any, tie: int, at_last: bool) -> None:
        """Remember which row was the last one of its stream."""
        slot = self._table.slots.get(name)
        if slot is None:  # dropped at once
            return
        extra = self._table.columns.extra
        # One number for one row: there may be a million streams.
        extra[slot] = (*_ties(extra[slot]), tie) if at_last else tie
        if self._is_replaying(slot):
            self._replaying[slot] = 0
            self._tie_counts.pop(name, None)

    def take_line(self, number: int, unnumbered: int) -> bool:
        """Return whether a line is new by its number; `unnumbered` came since the start."""
        if number <= self.line:
            self._skip(None)
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
            file.write(self._path, self._saved())
            self._changed = False
        finally:
            end = time.monotonic()
            self._due = end + max(self._every, SHARE * (end - start))

    def _saved(self) -> file.Saved:
        saved = self.tracker._saved("lines")
        ties = [_ties(known) for known in saved.columns.extra]
        several = [(i, tie) for i, (_, *more) in enumerate(ties) for tie in more]
        arrays: dict[str, Array] = {
            "ties": np.array([tie for tie, *_ in ties], np.uint32),
            "tie_slots": np.array([i for i, _ in several], np.int64),
            "more_ties": np.array([tie for _, tie in several], np.uint32),
        }
        known = {"columns": self.columns, "line": self.line, "unit": self.unit}
        meta = saved.meta | known | {"events": self.events, "dates": self.dates}
        return saved._replace(meta=meta, more=saved.more | arrays)

    def _take(self, saved: file.Saved) -> None:
        """Take the streams of a file; the limits are those of this process."""
        columns, ties = saved.columns, [saved.more[k] for k in ("ties", "tie_slots", "more_ties")]
        count = len(saved.names)
        first, at, more = ties
        kinds = [column.dtype for column in ties] == [np.uint32, np.int64, np.uint32]
        fits = kinds and first.shape == (count,) and at.shape == more.shape
        if not fits or np.any((at < 0) | (at >= count)):
            raise ValueError("the checksums of its rows do not fit its streams")
        columns.extra[:] = first.tolist()
        for i, tie in zip(at.tolist(), more.tolist(), strict=True):
            columns.extra[i] = (*_ties(columns.extra[i]), tie)
        order = np.arange(count)
        expires = self.tracker.expire_after is not None
        if saved.meta["expire_after"] is None and expires:  # of a process whose streams never did
            order = np.argsort(columns.times, kind="stable")
            columns = columns._replace(seen=columns.times.copy())
            saved.meta["clock"] = max(columns.times.tolist(), default=None)
        names = [saved.names[i] for i in order.tolist()]
        columns = Columns(*(column[order] for column in columns))
        self.tracker._take(saved._replace(names=names, columns=columns))
        self.line = self.resumed_line = int(saved.meta["line"])
        self.events, self.dates = int(saved.meta["events"]), saved.meta.get("dates")
        self._replaying.extend(b"\1" * count)
        self._table.drop_old()

    def summary(self) -> str:
        """Return what a file has, and where its lines go on."""
        streams = _streams(len(self.tracker))
        if self.line >= 0:
            return f"{streams}, lines up to number {self.line}; it goes on after these"
        newest = max(map(self.tracker.time, self.tracker.streams), default=math.nan)
        return (
            f"{streams}, times up to {newest!r}; give the lines after those it has, or from any "
            "earlier one"
        )

    def behind(self) -> list[Any]:
        """Return the streams of the file of which no new row came."""
        return [name for name, slot in self._table.slots.items() if self._is_replaying(slot)]


def _without_policy(pipe: Pipeline) -> Pipeline:
    """Return what lines need of a pipeline: they call no source; `extra` has their checksums."""
    return replace(pipe, policy=None)


def _ties(known: Any) -> tuple[int, ...]:
    """Return the CRC-32 of each row at the time of a stream's last row."""
    return known if type(known) is tuple else (known,)


def _streams(count: int) -> str:
    return "1 stream" if count == 1 else f"{count:,} streams"


def resume(
    make_pipe: Callable[[tuple[str, ...]], Pipeline],
    path: Path,
    every: float = 1.0,
    unit: str | None = None,
    **limits: Any,
) -> LiveStreams:
    """Return the streams of a file, or raise and say why the pipeline cannot go on from it."""
    saved = file.read(path, "lines", f"no state of streams; {file.REMEDY}")
    with file.damaged(path):
        columns = tuple(map(str, saved.meta["columns"]))
        if len(set(columns)) < len(columns):
            raise ValueError("a class is there twice")
        saved.pipe.heads.order_in(columns)
    pipe = _without_policy(make_pipe(columns))
    if pipe.digest != saved.pipe.digest:
        file.require_same(path, saved.pipe.settings, pipe.settings)
    there = {"unit": saved.meta.get("unit") or "s", "lag": saved.meta.get("lag")}
    here = {"unit": unit or "s", "lag": limits.get("lag")}
    if there != here:
        file.require_same(path, there, here)
    with file.damaged(path):
        streams = LiveStreams(pipe, columns, path, every, unit, **limits)
        streams._take(saved)
    return streams


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time use a state file, and remove drafts of those that were killed."""
    target = real_path(path)  # two links to a file are one file
    lock = target.with_name(f".{target.name}.lock")
    while True:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        require_lock(fd, path)
        if os.fstat(fd).st_nlink:
            break
        os.close(fd)  # its last user has just removed it
    try:
        remove_drafts(target)
        yield
    finally:
        with suppress(OSError):  # one that stays is taken again
            lock.unlink()
        with suppress(OSError):
            os.close(fd)
