"""Confirmed events as lines, each once: a file that a killed process wrote to is continued."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from .._events._dates import date_text
from ._streams import LiveStreams

BLOCK = 1 << 16
"""Bytes of the file that are read first, from its end."""


class EventLines:
    """Writes a line for each event, with a number that grows by one.

    After a restart, the lines since the last save come again, and with them the events since then.
    Those that the file has already are compared, and not written again.

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
        self._fd = None
        self._write = write
        self._there: list[bytes] = []
        self.dates = False
        if path is not None:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            self._fd = os.open(path, flags, 0o600)
            self._write = self._append

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def resume(self, number: int) -> None:
        """Go on after so many events, those of the state; the file may have more."""
        if self._fd is None:
            return
        self._drop_unfinished_line()
        after = self._lines_after(number)
        if after:
            first, last = _number(after[0], self._path), _number(after[-1], self._path)
            if first != number + 1 or last != number + len(after):
                raise ValueError(
                    f"{self._path} has the events {first} to {last} that the state does not have; "
                    "give the state of the run that wrote them, or another file"
                )
        self._there = after

    def write(self, streams: LiveStreams) -> None:
        """Write the events that were confirmed since the last call."""
        for stream, (k, start, end, probability, forced) in streams.confirmed():
            streams.events += 1
            event = {"event": streams.events}
            if stream is not None:
                event["stream"] = stream
            event |= {
                "class": streams.names[k],
                "start": self._time(start),
                "end": self._time(end),
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

    def _time(self, time: float) -> Any:
        return date_text(time, "UTC") if self.dates else time

    def _compare(self, there: bytes, line: bytes, number: int) -> None:
        if there != line.rstrip(b"\n"):
            text = (
                f"{self._path} has another event {number} than these lines give; it stays as it is."
                " Give the lines again that came after the state was saved"
            )
            print(text, file=self._log, flush=True)

    def _append(self, line: bytes) -> None:
        assert self._fd is not None
        while line:
            line = line[os.write(self._fd, line) :]

    def _drop_unfinished_line(self) -> None:
        """Cut off what a killed process had written of a line."""
        assert self._fd is not None
        size = os.fstat(self._fd).st_size
        block = BLOCK
        while size:
            start = max(size - block, 0)
            tail = os.pread(self._fd, size - start, start)
            newline = tail.rfind(b"\n")
            if newline >= 0 or start == 0:
                keep = start + newline + 1
                if keep != size:
                    os.ftruncate(self._fd, keep)
                return
            block *= 2

    def _lines_after(self, number: int) -> list[bytes]:
        """Return the last lines of the file, those of events after so many."""
        assert self._fd is not None
        size, block = os.fstat(self._fd).st_size, BLOCK
        while True:
            start = max(size - block, 0)
            lines = os.pread(self._fd, size - start, start).split(b"\n")[:-1]
            if start > 0:
                lines = lines[1:]  # the first may be a part
            if start == 0 or (lines and _number(lines[0], self._path) <= number):
                return [line for line in lines if _number(line, self._path) > number]
            block *= 2


def _number(line: bytes, path: Path | None) -> int:
    """Return the number of an event line."""
    try:
        number = json.loads(line)["event"]
        if type(number) is int:
            return number
    except (ValueError, LookupError, TypeError):
        pass
    raise ValueError(f"{path} has a line that is no event; give another file for --events")
