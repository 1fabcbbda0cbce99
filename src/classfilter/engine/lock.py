"""Locks that a forked child finds free, with what they guard whole."""

from __future__ import annotations

import os
from threading import RLock, local
from typing import Any
from weakref import WeakSet

_LOCKS: WeakSet[Any] = WeakSet()
_HELD = local()


def new_lock() -> Any:
    """Return a lock that the same thread can take again, and that a forked child finds free."""
    lock = RLock()  # a signal's handler may use what it guards, too
    _LOCKS.add(lock)
    return lock


def _before_fork() -> None:
    """Wait for all locks: what they guard is whole in the child, and no other thread has one."""
    _HELD.locks = list(_LOCKS)
    for lock in _HELD.locks:
        lock.acquire()


def _after_fork() -> None:
    for lock in _HELD.locks:
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
