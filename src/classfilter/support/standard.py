"""Standard input, output and error, any of which a parent process may have closed."""

from __future__ import annotations

import os
import sys

NAMES = ("standard input", "standard output", "standard error")
_closed: set[int] = set()


def hold_places() -> None:
    """Open what is closed: the next file that is opened would be taken for it."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
            _closed.add(fd)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def require_open(fd: int) -> None:
    """Raise if standard input, 0, or output, 1, was closed when the process began."""
    if fd in _closed:
        raise ValueError(f"{NAMES[fd]} is closed; open it, or give a file")
