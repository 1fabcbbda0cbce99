"""Confirmed events as lines, each once: a file that a killed process wrote to is continued."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from ..errors import ArgumentError
from ..events import date_text
from ..support.atomic import naming, require_lock
from .streams import LiveStreams

BLOCK = 1 << 16
"""Bytes of the file that are read first, from its end."""
HEAD = b'{"event": '
"""What each line begins with."""


class EventLines:
    """Writes a line for each event, with a number that grows by one.

    After a restart, the lines since the last save come again, and with them the events since then.
    Those that the file has already are compared, and not written again. A file that cannot be of
    this run is refused, and stays as it is.

    Parameters
    ----------
    path : Path, optional
        The file that lines are appended to; None for the sink of results.
    write : callable
        Writes a line to that sink.
    log : text file
        Where messages go.
    """

    def __init__(self, path: Path | None, write: Callable[[bytes], None], log: TextIO) -> None:
        self._path, self._log = path, log
        self._fd: int | None = None
        self._write = write
        self._there: list[bytes] = []
        self._resumed = False
        self._named = Path() if path is None else path
        self._unsynced = True  # what is there may be of a process that was killed
        if path is not None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            fd = os.open(path, flags, 0o600)
            require_lock(fd, path)
            self._fd, self._write = fd, self._append

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            with naming(self._named):
                os.close(fd)

    def sync(self) -> None:
        """Let the disk have what was written: a state that counts it may be saved then."""
        if self._fd is not None and self._unsynced:
            with naming(self._named):
                os.fsync(self._fd)
            self._unsynced = False

    def resume(self, streams: LiveStreams | None) -> None:
        """Go on after the events of the state, if there is one; the file may have more."""
        if self._fd is None:
            return
        self._resumed, number = streams is not None, 0 if streams is None else streams.events
        size = os.fstat(self._fd).st_size
        end = self._end_of_lines(size)
        lines = self._last_lines(number, end)
        last = _number(lines[-1], self._path) if lines else number
        self._there = [line for line in lines if _number(line, self._path) > number]
        first = _number(self._there[0], self._path) if self._there else number + 1
        if last < number:
            raise ValueError(
                f"{self._path} has events up to {last}, but the state has those up to {number}; "
                "give the file of the same run, or another file"
            )
        if first != number + 1 or last != number + len(self._there):
            raise ValueError(
                f"{self._path} has the events {first} to {last} that the state does not have; "
                "give the state of the run that wrote them, or another file"
            )
        if end < size:
            with naming(self._named):
                os.ftruncate(self._fd, end)

    def write(self, streams: LiveStreams) -> None:
        """Write the events that were confirmed since the last call."""
        for stream, (k, start, end, probability, forced) in streams.confirmed():
            streams.events += 1
            event = {"event": streams.events}
            if stream is not None:
                event["stream"] = stream
            event |= {
                "class": streams.names[k],
                "start": _time(start, streams.dates),
                "end": _time(end, streams.dates),
                "duration": end - start,
                "probability": probability,
            }
            if forced:
                event["forced"] = True
            line = json.dumps(event).encode() + b"\n"
            if self._there:
                self._compare(self._there.pop(0), line, streams.events)
            else:
                self._write(line)

    def _compare(self, there: bytes, line: bytes, number: int) -> None:
        if there == line.rstrip(b"\n"):
            return
        text = f"{self._path} has another event {number} than these lines give"
        if not self._resumed:
            raise ValueError(f"{text}; give the state of the run that wrote it, or another file")
        text += "; it stays as it is. Give the lines again that came after the state was saved"
        print(text, file=self._log, flush=True)

    def _append(self, line: bytes) -> None:
        assert self._fd is not None
        self._unsynced = True
        with naming(self._named):
            while line:
                line = line[os.write(self._fd, line) :]

    def _end_of_lines(self, size: int) -> int:
        """Return where the last whole line ends; a killed process may have begun another one."""
        assert self._fd is not None
        block = BLOCK
        while True:
            start = max(size - block, 0)
            tail = os.pread(self._fd, size - start, start)
            newline = tail.rfind(b"\n")
            if newline >= 0 or start == 0:
                break
            block *= 2
        begun = tail[newline + 1 :]
        if begun[: len(HEAD)] != HEAD[: len(begun)]:
            raise _no_event(self._path)
        return size - len(begun)

    def _last_lines(self, number: int, end: int) -> list[bytes]:
        """Return the last lines of the file, at least those of the events after so many."""
        assert self._fd is not None
        block = BLOCK
        while True:
            start = max(end - block, 0)
            lines = os.pread(self._fd, end - start, start).split(b"\n")[:-1]
            if start > 0:
                lines = lines[1:]  # the first may be a part
            if start == 0 or (lines and _number(lines[0], self._path) <= number):
                return lines
            block *= 2


def _time(time: float, dates: bool | None) -> Any:
    """Return a time as it was given; one that has no date stays a number."""
    try:
        return date_text(time, "UTC") if dates else time
    except ArgumentError:
        return time


def _number(line: bytes, path: Path | None) -> int:
    """Return the number of an event line."""
    try:
        number = json.loads(line)["event"]
        if type(number) is int:
            return number
    except (ValueError, LookupError, TypeError):
        pass
    raise _no_event(path)


def _no_event(path: Path | None) -> ValueError:
    return ValueError(f"{path} has a line that is no event; give another file for --events")
