"""Live streams of lines: a tracker, its file, and events, printed once the file has them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..engine import Columns, Read, Saved, StoreFile, Tracker
from ..errors import ArgumentError
from ..events import date_text
from ..pipeline import Pipeline
from ..support.atomic import naming

SHARE = 3
"""From one save to the next, at least so many times what the first of them took."""
LOOK = 0.02
"""Seconds after which a save that goes on is looked at again."""
TAIL = 1 << 16
"""Bytes of a file that hold its last line."""
HEAD = b'{"event": '
"""What the line of an event begins with."""


class LiveStreams:
    """A tracker with the file of its streams, of their events, and of how many lines were taken.

    A thread of its own writes the file, so that lines do not wait for it.

    Parameters
    ----------
    pipe : Pipeline
        The settings.
    columns : tuple of str
        The classes, in the order of the data; written to the file.
    file : StoreFile, optional
        The file. What it has is not read: see `resume`.
    every : float
        Minimum of seconds between two saves.
    unit : str, optional
        What numbers were before they became the seconds of `update`; written to the file.
    starts : bool, default False
        Whether starts that are final get a line, too.
    limits
        ``expire_after``, ``max_streams``, ``max_jump`` and ``lag`` of the `Tracker`.

    Attributes
    ----------
    taken, saved : int
        How many lines were taken, and how many of these the file has.
    line, resumed_line : int
        The number of the last line, and that of the last one when it was resumed; -1 for none.
    events : int
        The number of the last event.
    """

    def __init__(
        self,
        pipe: Pipeline,
        columns: tuple[str, ...],
        file: StoreFile | None = None,
        every: float = 1.0,
        unit: str | None = None,
        starts: bool = False,
        **limits: Any,
    ) -> None:
        pipe = _without_policy(pipe)
        # As they are: lines are looked at before.
        self.tracker = Tracker(pipe, unit="s", events=pipe.rule or False, **limits)
        self.names = tuple(map(str, pipe.classes))
        self.dates: bool | None = None  # whether the first line had a date
        self.pipe, self.columns, self.unit = pipe, columns, unit
        self.taken = self.saved = self.skipped = self.events = 0
        self.line = self.resumed_line = -1
        self._file, self._every, self._starts = file, every, starts
        self._unprinted: list[Any] = []  # events; the file has the first of them
        self._printable, self._file_has_printed = 0, False
        self._due = time.monotonic() + every
        self._writer = ThreadPoolExecutor(1)
        self._saving: tuple[Saved, float, Future[None]] | None = None

    def take_line(self, number: int, unnumbered: int) -> bool:
        """Return whether a line is new by its number; `unnumbered` came since the start."""
        if number <= self.line:
            self.skipped += 1
            return False
        if self.line == self.resumed_line >= 0 and number > self.line + 1 + unnumbered:
            assert self._file is not None
            raise ValueError(
                f"{self._file.path} has the lines up to number {self.line}, but the first new one "
                f"has number {number}; give the lines from number {self.line + 1} on"
            )
        self.line = number
        return True

    def finish(self) -> None:
        """End all streams: their last events are confirmed."""
        self.tracker.drop(self.tracker.streams)
        self.saved = -1  # there is something to save

    def wait(self) -> float | None:
        """Return the seconds until `save` has something to do; None if there is nothing to save."""
        if self._saving is not None:
            return 0.0 if self._saving[-1].done() else LOOK
        if self._file is None or (self.taken == self.saved and not self._file_has_printed):
            return None
        return max(0.0, self._due - time.monotonic())

    def save(self, before: Callable[[], None] = lambda: None) -> None:
        """Begin to write what changed to the file, if anything, or end what was begun.

        The thread calls `before` first.
        """
        if self._saving is not None:
            self._end_save()
            return
        self._fetch()
        nothing_new = self.wait() is None and len(self._unprinted) == self._printable
        if self._file is None or nothing_new:
            return
        start = time.monotonic()
        self._due = start + self._every
        since = self._file.since(self.tracker._written)
        saved = self.tracker._saved("lines", since is None)
        meta = {"columns": self.columns, "line": self.line, "unit": self.unit,
                "lines": self.taken, "last_event": self.events + len(self._unprinted),
                "dates": self.dates}  # fmt: skip
        saved = saved._replace(
            meta=saved.meta | meta, events=[*self._unprinted], first_event=self.events + 1
        )

        self._file_has_printed = False
        written = self._writer.submit(self.tracker._write, self._file, saved, since, before)
        self._saving = saved, start, written

    def _end_save(self) -> None:
        """Wait for the save that was begun, and set the time of the next one."""
        assert self._saving is not None
        saved, start, done = self._saving
        try:
            done.result()
            self.saved = saved.meta["lines"]
            self._printable = saved.first_event + len(saved.events) - 1 - self.events
        except BaseException:
            self._file_has_printed = True
            raise
        finally:
            end, self._saving = time.monotonic(), None
            self._due = end + max(self._every, SHARE * (end - start))

    def save_all(self, before: Callable[[], None] = lambda: None) -> None:
        """Write what changed to the file, and return when it has that."""
        if self._saving is not None:
            self._end_save()
        self.save(before)
        if self._saving is not None:
            self._end_save()

    def close(self) -> None:
        """Wait for what is being written, and close the file."""
        self._writer.shutdown()
        if self._file is not None:
            self._file.close()

    def _fetch(self) -> None:
        starts = self.tracker._engine.pop_starts()  # before their events
        if self._starts:
            self._unprinted += [(name, (k, start, None, None, False)) for name, k, start in starts]
        self._unprinted += self.tracker._engine.pop()

    def event_lines(self) -> Iterator[bytes]:
        """Yield the line of each event that the file has, or that needs none: it is printed.

        A start has null as its end.
        """
        if self._file is None:
            self._fetch()
            self._printable = len(self._unprinted)
        while self._printable:
            stream, (k, start, end, probability, forced) = self._unprinted[0]
            event: dict[str, Any] = {"event": self.events + 1}
            if stream is not None:
                event["stream"] = stream
            event |= {
                "class": self.names[k],
                "start": _time(start, self.dates),
                "end": None if end is None else _time(end, self.dates),
            }
            if end is not None:
                event |= {"duration": end - start, "probability": probability}
            if forced:
                event["forced"] = True
            yield json.dumps(event).encode() + b"\n"
            del self._unprinted[0]
            self._printable, self.events = self._printable - 1, self.events + 1
            self._file_has_printed = True

    def _take(self, read: Read) -> None:
        """Take what a file has; the limits are those of this process."""
        saved, meta = read.saved, read.saved.meta
        if meta["expire_after"] is None and self.tracker.expire_after is not None:
            names, slots, columns, *_ = saved.streams
            order = np.argsort(columns.times, kind="stable")
            columns = columns._replace(seen=columns.times)
            meta["clock"] = max(columns.times.tolist(), default=None)
            names, rest = ([items[i] for i in order] for items in (names, read.rest))
            streams = saved.streams._replace(
                names=names, slots=slots[order], columns=Columns(*(x[order] for x in columns))
            )
            read = Read(saved._replace(streams=streams), rest, None)
        self.tracker._take(read)
        self.line = self.resumed_line = int(meta["line"])
        self.taken = self.saved = int(meta["lines"])
        self.events, self.dates = int(meta["last_event"]) - len(saved.events), meta["dates"]
        self._unprinted = self.tracker._engine.pop()
        self._printable = len(self._unprinted)
        self.tracker._table.drop_old()

    def summary(self) -> str:
        """Return what a file has, and where its lines go on."""
        streams = _count(len(self.tracker), "stream")
        if self.line >= 0:
            return f"{streams}, lines up to number {self.line}; it goes on after these"
        return f"{streams}, {_count(self.taken, 'line')} taken; give the lines after those"


def _without_policy(pipe: Pipeline) -> Pipeline:
    """Return what lines need of a pipeline: they call no source."""
    return replace(pipe, policy=None)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _time(time: float, dates: bool | None) -> Any:
    """Return a time as it was given; one that has no date stays a number."""
    try:
        return date_text(time, "UTC") if dates else time
    except ArgumentError:
        return time


def resume(
    make_pipe: Callable[[tuple[str, ...]], Pipeline],
    file: StoreFile,
    every: float = 1.0,
    unit: str | None = None,
    **limits: Any,
) -> LiveStreams:
    """Return the streams of a file, or raise and say why the pipeline cannot go on from it."""
    there = file.read()
    with file.damage():
        columns = tuple(map(str, there.saved.meta["columns"]))
        if len(set(columns)) < len(columns):
            raise ValueError("a class is there twice")
        there.saved.pipe.heads.order_in(columns)
        before = {"unit": there.saved.meta["unit"] or "s", "lag": there.saved.meta["lag"]}
    pipe = _without_policy(make_pipe(columns))
    if pipe.digest != there.saved.pipe.digest:
        file.require_same(there.saved.pipe.settings, pipe.settings)
    now = {"unit": unit or "s", "lag": limits.get("lag")}
    if before != now:
        file.require_same(before, now)
    with file.damage():
        streams = LiveStreams(pipe, columns, file, every, unit, **limits)
        streams._take(there)
    return streams


def description(path: Path) -> str:
    """Return what a file has: settings, lines, streams and their last times."""
    with StoreFile(path, "lines", write=False) as file:
        saved = file.read().saved
        with file.damage():
            meta = saved.meta
            lines = f"{_count(int(meta['lines']), 'line')} taken"
            if int(meta["line"]) >= 0:
                lines += f", up to number {meta['line']}"
            times = [_time(at, meta["dates"]) for at in saved.streams.columns.times.tolist()]
    settings = json.dumps(saved.pipe.settings, ensure_ascii=False)
    rows = [
        f"  {'' if name is None else name.encode(errors='backslashreplace').decode()}\t{at}"
        for name, at in zip(saved.streams.names, times, strict=True)
    ]
    return "\n".join([settings, lines, _count(len(rows), "stream"), *rows])


class EventFile:
    """Appends the lines of events to a file.

    Parameters
    ----------
    path : Path
        Of its last line, what a crash cut off is removed: the event comes again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            with naming(path):
                self._complete()
        except BaseException:
            os.close(self._fd)
            raise

    def _complete(self) -> None:
        size = os.fstat(self._fd).st_size
        begun = os.pread(self._fd, TAIL, max(0, size - TAIL)).rpartition(b"\n")[2]
        if begun and begun[: len(HEAD)] != HEAD[: len(begun)]:
            raise ValueError(
                f"{self._path} ends with a line that is no event; give another file for --events"
            )
        if begun:
            os.ftruncate(self._fd, size - len(begun))

    def write(self, line: bytes) -> None:
        """Append a line."""
        with naming(self._path):
            while line:
                line = line[os.write(self._fd, line) :]

    def sync(self) -> None:
        """Bring the lines to the disk: the file of streams may forget their events then."""
        with naming(self._path):
            os.fsync(self._fd)

    def close(self) -> None:
        """Close the file."""
        with naming(self._path):
            os.close(self._fd)
