"""Lines from a pipe and answers into one, with an end by signal that loses nothing."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator

from .._signals import Signals

CHUNK = 1 << 16
LONGEST = 1 << 20  # bytes of a line
PATIENCE = 1.0  # seconds for the rest of a line to come after a signal

Wait = Callable[[], float | None]


def lines(source: int, signals: Signals, wait: Wait) -> Iterator[list[bytes]]:
    """Yield the lines of each read, without newlines; none where nothing came in time."""
    rest = b""
    while not signals.asked:
        ready = select.select([source, signals.wake], [], [], wait())[0]
        if signals.wake in ready:
            os.read(signals.wake, CHUNK)
        elif not ready:
            yield []
        if ready != [source]:
            continue
        try:
            chunk = os.read(source, CHUNK)
        except BlockingIOError:
            continue
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        rest = rest[: LONGEST + 1]  # enough to see that it is too long
        yield whole
    # What is read already must not be lost, and no more may be taken: the next process gets it.
    end = time.monotonic() + PATIENCE
    while rest and signals.asked:
        left = max(0.0, end - time.monotonic())
        byte = os.read(source, 1) if select.select([source], [], [], left)[0] else b""
        if byte in (b"", b"\n"):
            break
        rest += byte
    if rest:
        yield [rest]


def write(sink: int, answer: bytes) -> None:
    """Write all of an answer, whatever the pipe takes at a time."""
    while answer:
        try:
            answer = answer[os.write(sink, answer) :]
        except BlockingIOError:
            select.select([], [sink], [])
