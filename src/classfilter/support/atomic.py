"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO

from ..errors import ArgumentError

SYNC_SECONDS = 0.5


@contextmanager
def atomic_write(path: str | Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` once it is complete, and only then.

    It has the mode of the file that it replaces; without one, a private file can be read by its
    owner only. A folder, a pipe, a socket or a device is refused: a file would take its place.
    """
    path = real_path(path)
    check_regular(path)
    draft = None
    try:
        with naming(path):
            draft, file = _open_draft(path, 0o600 if private else 0o666)
            with file:
                with suppress(OSError):
                    draft.chmod(stat.S_IMODE(path.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
    except BaseException:
        if draft is not None:
            with suppress(OSError):
                draft.unlink()
        raise


@contextmanager
def syncing(file: BinaryIO) -> Iterator[None]:
    """Bring a large file to the disk while it is written: at the end, little is left to wait for.

    An error counts even so: the system tells it only once.
    """
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        yield
        return
    written, errors = Event(), list[OSError]()

    def sync() -> None:
        while not errors and not written.wait(SYNC_SECONDS):
            try:
                os.fsync(file.fileno())
            except OSError as error:
                errors.append(error)

    thread = Thread(target=sync)
    thread.start()
    try:
        yield
    finally:
        written.set()
        thread.join()
    if errors:
        raise errors[0]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the system name this file: that of a write has no name, a draft another."""
    try:
        yield
    except OSError as error:
        draft = str(error.filename).startswith(str(path.with_name(f".{path.name}.")))
        if error.errno is None or not (error.filename is None or draft):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def real_path(path: str | Path) -> Path:
    """Return the path that links lead to; of links that lead to each other, the first."""
    return Path(os.path.realpath(path))


def check_folder(path: Path) -> None:
    """Raise, before the work, if there is no folder to write to."""
    if not real_path(path).parent.is_dir():
        raise ValueError(f"{path} cannot be written; make its folder first")


def check_not_input(
    out: str | Path, *inputs: str | Path | int | None, argument: str = "out"
) -> None:
    """Raise, before the work, if a result would replace what it is made from.

    An input is a path, or the number of an open file: 0 for standard input.
    """
    for one in inputs:
        if one is None or not Path(out).is_file():
            continue
        with suppress(OSError):  # opening the input will say why
            there = os.fstat(one) if isinstance(one, int) else Path(one).stat()
            if os.path.samestat(there, Path(out).stat()):
                must = "it is the input as well"
                raise ArgumentError(argument, str(out), must=must, fix="write to another file")


def check_regular(path: Path) -> None:
    """Raise if there is something at a path that is no regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise FileExistsError(errno.EEXIST, "It is a pipe, a socket or a device", str(path))


def _open_draft(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Open a new file beside `path`."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    return draft, open(draft, "xb", opener=opener)
