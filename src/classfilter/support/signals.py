"""SIGTERM and SIGINT, noted when they come and acted on where nothing is half done."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGINT)


class Terminated(Exception):  # noqa: N818
    """SIGTERM came."""


class Signals:
    """While it is open, SIGTERM and SIGINT only make the file descriptor `wake` readable.

    Python's own handlers do not run while a library such as Polars works; the wake-up pipe is
    written even then. Only the main thread can change handlers; in others nothing happens. A signal
    that is ignored stays ignored.
    """

    def __enter__(self) -> Signals:
        self.received = False
        """Whether `poll` has met one of the two signals."""
        self._numbers: set[int] = set()
        self._handlers: dict[signal.Signals, Any] = {}
        self.wake, self._written = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._written, False)
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.set_wakeup_fd(self._written, warn_on_full_buffer=False)
            for number in ENDING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._handlers[number] = signal.signal(number, lambda *_: None)
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._previous)
        self.poll()
        os.close(self.wake)
        os.close(self._written)

    def poll(self) -> None:
        """Read which signals came, and set `received`."""
        with suppress(BlockingIOError):
            self._numbers.update(os.read(self.wake, 4096))
        self.received = not self._numbers.isdisjoint(ENDING)

    def raise_received(self) -> None:
        """Raise `Terminated` or KeyboardInterrupt if the signal came."""
        self.poll()
        if signal.SIGTERM in self._numbers:
            raise Terminated
        if signal.SIGINT in self._numbers:
            raise KeyboardInterrupt
