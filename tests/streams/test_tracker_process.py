"""A tracker in a process that forks, and saved by several threads at once."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

import classfilter as cf


def new_tracker() -> cf.Tracker:
    tracker = cf.Tracker(cf.DirichletFilter(["rest", "move"]))
    tracker.update("ann", 0.0, None, [0.5, 0.5])
    return tracker


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_can_use_what_another_thread_was_using() -> None:
    tracker, ended, interval = new_tracker(), Event(), sys.getswitchinterval()

    def update() -> None:
        time = 0.0
        while not ended.is_set():
            time += 1.0
            tracker.update_many(["ann"] * 50, [time] * 50, None, [[0.5, 0.5]] * 50)

    thread = Thread(target=update)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(30)  # it ends a child that waits for ever
                tracker.update("bob", 0.0, None, [0.5, 0.5])
                os._exit(len(tracker))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert tracker.streams == ["ann"]


def test_the_save_that_began_last_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker, under_way, may_end, fsync = new_tracker(), Event(), Event(), os.fsync

    def slow_at_first(fd: int) -> None:
        if not under_way.is_set():
            under_way.set()
            may_end.wait()
        fsync(fd)

    monkeypatch.setattr(os, "fsync", slow_at_first)
    first, last = (Thread(target=tracker.save, args=[tmp_path / "now.npz"]) for _ in range(2))
    first.start()
    under_way.wait()
    tracker.update("bob", 0.0, None, [0.5, 0.5])
    last.start()
    last.join(0.1)  # it would end here, before the first, if it did not wait
    may_end.set()
    first.join()
    last.join()
    assert cf.Tracker.load(tmp_path / "now.npz").streams == ["ann", "bob"]
