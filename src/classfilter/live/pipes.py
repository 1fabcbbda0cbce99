"""Lines from a pipe and results into one, with an end by signal that loses nothing."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator

from ..support.signals import Signals

CHUNK = 1 << 16
MAX_LINE = 1 << 20  # bytes
GRACE = 1.0  # seconds for a line to end, or for a result to be read, after a signal
PIPE_BUF = getattr(select, "PIPE_BUF", 512)
"""So many bytes do not block where a pipe takes any at all."""

Timeout = Callable[[], float | None]


class ReaderBlocked(Exception):  # noqa: N818
    """A signal came, and the reader does not take the result of a line."""


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
    while rest and signals.received and len(rest) <= MAX_LINE:
        left = end - time.monotonic()
        if left <= 0 or not select.select([source], [], [], left)[0]:
            break
        byte = os.read(source, 1)
        if byte in (b"", b"\n"):
            break
        rest += byte
    if rest:
        yield [rest]


class Sink:
    """Writes lines to a file descriptor, and does not wait for its reader after a signal."""

    def __init__(self, fd: int, signals: Signals) -> None:
        self._fd, self._signals = fd, signals
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._poll.register(signals.wake, select.POLLIN)

    def write(self, line: bytes) -> None:
        """Write a whole line, whatever the pipe takes at a time; of up to PIPE_BUF bytes, at once.

        Raises ReaderBlocked if a signal has come and the reader takes nothing for a while.
        """
        while line:
            events = self._poll.poll()
            if (self._fd, select.POLLOUT) not in events and not self._writable(events):
                raise ReaderBlocked
            try:
                line = line[os.write(self._fd, line[:PIPE_BUF]) :]
            except BlockingIOError:
                continue

    def _writable(self, events: list[tuple[int, int]]) -> bool:
        """Return whether a line can be written, or would fail at once; after a signal, soon."""
        if any(fd == self._fd for fd, _ in events):
            return True
        self._signals.poll()
        if not self._signals.received:
            return self._writable(self._poll.poll())
        alone = select.poll()
        alone.register(self._fd, select.POLLOUT)
        return bool(alone.poll(GRACE * 1000))
