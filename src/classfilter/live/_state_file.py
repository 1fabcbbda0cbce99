"""The file of live streams: a tracker's file, and which lines it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._support.atomic import remove_drafts, try_lock
from .._support.types import Array, Floats
from .._validation import class_order
from ..streams import _file as _tracker_file
from ..streams._file import Saved

REMEDY = "move the file away to start from the beginning"


class SavedLines(NamedTuple):
    """Which lines a file has.

    Attributes
    ----------
    columns : tuple of str
        The classes, in the order of the lines.
    line : int
        The number of the last line, where lines are numbered; otherwise -1.
    ties : ndarray of uint32 (N,)
        The CRC-32 of a row of each stream, at the time of the stream's last row.
    tie_slots, more_ties : ndarray of int64, of uint32 (M,)
        Where several rows have that time: the stream of each other one, and its CRC-32.
    jump_slots, jumps : ndarray of int64, of float64 (J,)
        Where the last row was rejected, since it was too far ahead: the stream, and its time.
    """

    columns: tuple[str, ...]
    line: int
    ties: Array
    tie_slots: Array
    more_ties: Array
    jump_slots: Array
    jumps: Floats


def write(path: Path, saved: Saved, lines: SavedLines) -> None:
    """Write a file; it appears complete or not at all, and only its owner can read it."""
    _tracker_file.write(path, saved, lines._asdict() | {"columns": np.array(lines.columns)})


def read(path: Path) -> tuple[Saved, SavedLines]:
    """Read a file, or raise and say what is wrong with it."""
    saved, more = _tracker_file.read(path, f"no state of streams; {REMEDY}")
    count = len(saved.names)
    try:
        columns = tuple(map(str, more["columns"].tolist()))
        class_order(saved.filter, columns)
        arrays = (
            _checked(more["ties"], np.uint32, count),
            _checked_slots(more["tie_slots"], count),
            _checked(more["more_ties"], np.uint32, more["tie_slots"].size),
            _checked_slots(more["jump_slots"], count),
            _checked(more["jumps"], np.float64, more["jump_slots"].size),
        )
        lines = SavedLines(columns, int(more["line"]), *arrays)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is damaged: {error}; {REMEDY}") from None
    return saved, lines


def _checked(array: Any, dtype: Any, count: int) -> Array:
    if array.dtype != dtype or array.shape != (count,):
        raise ValueError(f"it has {array.dtype} of shape {array.shape} for {count} streams")
    checked: Array = array
    return checked


def _checked_slots(slots: Any, count: int) -> Array:
    if slots.size and not 0 <= slots.min() <= slots.max() < count:
        raise ValueError(f"it names stream {slots.max()} of {count}")
    return _checked(slots, np.int64, slots.size)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time use a state file, and remove drafts of those that were killed."""
    lock = path.resolve().with_name(f".{path.name}.lock")
    while True:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        if try_lock(fd) is False:
            os.close(fd)
            raise ValueError(f"{path} is in use by another process; end that, or give another file")
        if os.fstat(fd).st_nlink:
            break
        os.close(fd)  # its last user has just removed it
    try:
        remove_drafts(path)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(fd)
