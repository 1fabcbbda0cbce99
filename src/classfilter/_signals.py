"""SIGTERM and SIGINT, taken where nothing is half done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


class Signals:
    """While it is open, SIGTERM and SIGINT set `asked` and make `wake` readable, no more.

    So no line is left half done. Only the main thread can have it so; an ignored signal stays so.
    """

    def __enter__(self) -> Signals:
        self.asked = False
        self.wake, self._woken = os.pipe()
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            os.set_blocking(self.wake, False)
            os.set_blocking(self._woken, False)
            self._fd = signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
            for number in (signal.SIGTERM, signal.SIGINT):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._fd)
        os.close(self.wake)
        os.close(self._woken)

    def _ask(self, *_: object) -> None:
        self.asked = True


class Terminated(Exception):  # noqa: N818
    """SIGTERM came."""


@contextmanager
def raise_on_signal() -> Iterator[Callable[[], None]]:
    """Give a function that raises once SIGTERM or SIGINT came.

    While Polars works, it does not let Python's own handlers run, and its own way to end at SIGINT
    is not a clean one; the wake-up pipe tells anyway.
    """
    came, wake = os.pipe()
    os.set_blocking(came, False)
    os.set_blocking(wake, False)
    taken = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: None) for number in taken]
    wake_before = signal.set_wakeup_fd(wake)

    def check() -> None:
        with suppress(BlockingIOError):
            numbers = os.read(came, 64)
            if signal.SIGTERM in numbers:
                raise Terminated
            if signal.SIGINT in numbers:
                raise KeyboardInterrupt

    try:
        yield check
    finally:
        for number, handler in zip(taken, before, strict=True):
            signal.signal(number, handler)
        signal.set_wakeup_fd(wake_before)
        os.close(came)
        os.close(wake)
