"""Faults in file operations: the n-th call that changes a file fails, as on a full or broken disk.

`Faults` replaces the functions of `os` that write, and the files that `atomic_write` opens, as long
as it is entered. Only files below its folder count. What it replaces fails once, from then on while
it needs space, or from then on in all.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from classfilter.support import atomic

NEED_SPACE = ("open", "write", "fsync", "replace")
MODES: dict[str, tuple[int, Callable[[int, int, str], bool]]] = {
    "once": (errno.EIO, lambda call, n, name: call == n),
    "full": (errno.ENOSPC, lambda call, n, name: call >= n and name in NEED_SPACE),
    "broken": (errno.EIO, lambda call, n, name: call >= n),
}
"""The error, and whether a call fails, by its number and its name."""


class Faults:
    """Let calls fail from number `n` on, as `mode` says.

    Attributes
    ----------
    calls : list of (str, str)
        The calls so far, with the name of the file.
    raised : int
        How many of them failed.
    """

    def __init__(self, folder: Path, n: int = 1 << 30, mode: str = "once") -> None:
        self.folder, self.n = os.path.realpath(folder), n
        self.error, self.fails = MODES[mode]
        self.calls: list[tuple[str, str]] = []
        self.raised = 0
        self._names: dict[int, str] = {}
        self._patches: list[Any] = []
        self._os = {name: getattr(os, name) for name in (*NEED_SPACE, "unlink", "close")}
        self._os["ftruncate"] = os.ftruncate

    def __enter__(self) -> Faults:
        for name in self._os:
            self._patches.append(mock.patch.object(os, name, self._failing(name)))
        self._patches.append(mock.patch.object(atomic, "open", self._open_file, create=True))
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def check(self, name: str, path: str | None, named: bool = False) -> None:
        """Count a call, and let it fail if it is its turn; errors of paths name them."""
        if path is None:
            return
        self.calls.append((name, Path(path).name))
        if self.fails(len(self.calls), self.n, name):
            self.raised += 1
            about = (path,) if named else ()
            raise OSError(self.error, os.strerror(self.error), *about)

    def inside(self, path: Any) -> str | None:
        """Return a path if it lies in the folder."""
        if isinstance(path, int):
            return self._names.get(path)
        real = os.path.realpath(os.fspath(path))
        return real if real.startswith(self.folder + os.sep) else None

    def _failing(self, name: str) -> Callable[..., Any]:
        original = self._os[name]

        def call(first: Any, *args: Any, **options: Any) -> Any:
            path, by_path = self.inside(first), not isinstance(first, int)
            if name == "close":  # it is closed nevertheless
                self._names.pop(first, None)
                original(first)
                self.check(name, path)
                return None
            if name != "open" or args[0] & (os.O_WRONLY | os.O_RDWR):
                self.check(name, path, by_path)
            if name == "fsync":  # tests need not wait for the disk
                return None
            result = original(first, *args, **options)
            if name == "open" and path is not None:
                self._names[result] = path
            return result

        return call

    def _open_file(self, path: Any, mode: str, opener: Any) -> Any:
        if mode != "xb":
            return builtins.open(path, mode, opener=opener)
        return io.BufferedWriter(_FaultyFile(self, str(path), opener))


class _FaultyFile(io.FileIO):
    """A file whose calls count."""

    def __init__(self, faults: Faults, path: str, opener: Any) -> None:
        self.faults, self.path = faults, path
        super().__init__(path, "x", opener=opener)

    def write(self, data: Any) -> Any:
        self.faults.check("write", self.path)
        return super().write(data)

    def close(self) -> None:
        was_open = not self.closed
        super().close()
        if was_open:
            self.faults.check("close", self.path)
