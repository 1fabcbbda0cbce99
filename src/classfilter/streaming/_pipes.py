"""Lines from a pipe and results into one, with an end by signal that loses nothing."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator

from .._signals import Signals

CHUNK = 1 << 16
MAX_LINE = 1 << 20  # bytes
GRACE = 1.0  # seconds for the rest of a line to come after a signal

Timeout = Callable[[], float | None]


def lines(source: int, signals: Signals, timeout: Timeout) -> Iterator[list[bytes]]:
    """Yield the lines of each read, without newlines; an empty list where the time is over."""
    rest = b""
    while not signals.received:
        ready = select.select([source, signals.wake], [], [], timeout())[0]
        signals.poll()  # also where it came when the wait was over
        if signals.received:
            break
        if not ready:
            yield []
        if source not in ready:
            continue
        try:
            chunk = os.read(source, CHUNK)
        except BlockingIOError:
            continue
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        rest = rest[: MAX_LINE + 1]  # enough to see that it is too long
        yield whole
    # What is read already must not be lost, and no more may be taken: the next process gets it.
    end = time.monotonic() + GRACE
    while rest and signals.received:
        left = max(0.0, end - time.monotonic())
        byte = os.read(source, 1) if select.select([source], [], [], left)[0] else b""
        if byte in (b"", b"\n"):
            break
        rest += byte
    if rest:
        yield [rest]


def write(sink: int, line: bytes) -> None:
    """Write a whole line, whatever the pipe takes at a time."""
    while line:
        try:
            line = line[os.write(sink, line) :]
        except BlockingIOError:
            select.select([], [sink], [])
