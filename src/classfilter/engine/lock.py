"""The lock of streams: one thread at a time, and no thread again before its own call has ended."""

from __future__ import annotations

import os
from threading import RLock, local
from typing import Any
from weakref import WeakSet

_LOCKS: WeakSet[Any] = WeakSet()
_HELD = local()


def new_lock() -> Any:
    """Return a lock to be taken by ``with free(lock)``; a forked child finds it free."""
    lock = RLock()  # it knows its thread, and `with` takes it without a frame of Python
    _LOCKS.add(lock)
    return lock


def free(lock: Any) -> Any:
    """Return the lock, or raise where this thread has it: what it guards is half done."""
    if lock._is_owned():
        raise in_a_call()
    return lock


def in_a_call() -> RuntimeError:
    """Return the error of a call from within another one."""
    return RuntimeError(
        "this thread is in the middle of another call, which a signal's handler or a function that "
        "it calls cannot interrupt with a call of its own; take a note there, and call afterwards"
    )


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
