"""A process that forks while other threads update a tracker and a bank: a child can use both."""

import os
import subprocess
import sys

import pytest

FORK = """
import os, signal, sys, threading
import classfilter as cf

inside, forking = threading.Event(), threading.Event()

class Waiting(cf.EmaFilter):
    '''Its first run ends only once the process forks.'''
    def run(self, probs, beta=1.0, dt=1.0):
        inside.set()
        forking.wait()
        return super().run(probs, beta, dt)

tracker, bank = cf.Tracker(Waiting(["a", "b"])), cf.Bank(Waiting(["a", "b"]), 1)
os.register_at_fork(before=forking.set)  # the last one registered is called first
rows = ["x", "y"], [5.0, 5.0], None, [[0.8, 0.2], [0.3, 0.7]]
threads = [
    threading.Thread(target=tracker.update_many, args=rows),
    threading.Thread(target=bank.update, args=([[0.8, 0.2]],)),
]
for thread in threads:
    thread.start()
    inside.wait()
    inside.clear()
child = os.fork()
if child == 0:
    signal.alarm(20)  # ends a child that waits for a lock that nobody will release
    assert tracker.streams == ["x", "y"], tracker.streams
    tracker.update("x", 6.0, None, [0.8, 0.2])
    bank.update([[0.8, 0.2]])
    tracker.update_many(["x", "z"], [7.0, 7.0], None, [[0.8, 0.2]] * 2)
    os._exit(0 if tracker.streams == ["x", "y", "z"] else 1)
_, status = os.waitpid(child, 0)
for thread in threads:
    thread.join()
tracker.update("x", 6.0, None, [0.8, 0.2])
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_can_use_a_tracker_that_was_in_use() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=False)
    assert done.returncode == 0
