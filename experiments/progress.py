"""A progress bar with Rich, where it is installed and there is a terminal; else plain lines."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

PAUSE = 5.0
"""Least seconds between two plain lines."""


class Progress:
    """Count pieces of work.

    Parameters
    ----------
    total : int
        How many there are.
    """

    def __init__(self, total: int) -> None:
        self.total, self.count = total, 0
        self.start = self.shown = time.perf_counter()
        self.bar: Any = None
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            return
        if Console().is_terminal:
            self.bar = Bar()
            self.task = self.bar.add_task("", total=total)

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def note(self, text: str) -> None:
        """Show what is being done."""
        if self.bar is not None:
            self.bar.update(self.task, description=text)
        elif time.perf_counter() - self.shown > PAUSE:
            self.shown = time.perf_counter()
            print(f"{self.shown - self.start:.0f} s: {text}", flush=True)

    def done(self, text: str) -> None:
        """Count one piece."""
        self.count += 1
        if self.bar is not None:
            self.bar.update(self.task, completed=self.count, description=text)
        else:
            elapsed = time.perf_counter() - self.start
            print(f"{elapsed:.0f} s: {self.count} of {self.total} done, {text}", flush=True)
