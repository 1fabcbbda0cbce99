"""Threads on one tracker with events, and on one bank, with sanitizers.

``python tests/engine/sanitized.py [SECONDS] [thread]`` builds the extension with
AddressSanitizer and UBSan, or with ThreadSanitizer, into a folder of its own, runs eight threads on
each for half of the time, and says how many calls there were. It does not end with 0 where a
result is not a distribution, a state was torn, a call failed, or a sanitizer had anything to say.
It needs gcc. In a free-threaded Python the GIL stays off; with ThreadSanitizer that one must be
configured ``--with-thread-sanitizer``, or the locks of its own are not seen, and ``TSAN_OPTIONS``
names the suppressions in its ``Tools/tsan``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import classfilter as cf

sys.path.insert(0, str(Path(__file__).parents[1]))  # it is a program, not a test
from source import copy_source

SANITIZERS = {
    "address": ("-fsanitize=address,undefined -fno-sanitize-recover=undefined", "asan ubsan"),
    "thread": ("-fsanitize=thread", "tsan"),
}
THREADS = 8
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
Array = NDArray[Any]
Job = Callable[[int], object]
K = 6


def build(folder: Path, sanitizer: str) -> dict[str, str]:
    """Build a copy of the package with a sanitizer; return the environment to run it in."""
    flags, names = SANITIZERS[sanitizer]
    package = copy_source(folder / "source")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    # One target: clones compile long, and the loader chooses one before ThreadSanitizer is there.
    environment = {**os.environ, "CFLAGS": f"-O1 -g -DCF_ONE_TARGET {flags}"}
    subprocess.run(command, cwd=package, env=environment, check=True)
    libraries = [
        subprocess.check_output(["gcc", f"-print-file-name=lib{name}.so"], text=True).strip()
        for name in names.split()
    ]
    return {
        **os.environ,
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "TSAN_OPTIONS": f"halt_on_error=1 {os.environ.get('TSAN_OPTIONS', '')}",
        **({} if FREE_THREADED else {"PYTHONMALLOC": "malloc"}),  # it has an allocator of its own
        "PYTHONPATH": str(package / "src"),
    }


def hammer(jobs: list[Job], seconds: float) -> int:
    """Call each job over and over in a thread of its own; return how many calls there were."""
    assert len(jobs) == THREADS
    end, counts = time.monotonic() + seconds, [0] * THREADS
    errors: list[BaseException] = []

    def work(i: int) -> None:
        try:
            while time.monotonic() < end:
                jobs[i](counts[i])
                counts[i] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts)


def distributions(probs: Array) -> None:
    assert np.all(probs >= 0)
    np.testing.assert_allclose(probs.sum(axis=-1), 1.0, rtol=1e-6)


def tracker_jobs(tracker: Any, probs: Array, own: list[Array], path: Path) -> list[Job]:
    def shared(n: int) -> None:
        distributions(tracker.update(n % 500, float(n // 500), "weak", probs[n % 5000]))

    def alone(n: int) -> None:  # three rows of a new stream: nobody else touches it
        rows = [tracker.update(("own", n), float(t), None, probs[t]) for t in range(3)]
        if len(own) < 1000:
            own.append(np.array(rows))

    def many(n: int) -> None:
        names = [f"{threading.get_ident()} {n % 7} {j % 150}" for j in range(300)]
        distributions(tracker.update_many(names, [float(n)] * 300, "weak", probs[:300]))

    def drop(n: int) -> None:
        for name in tracker.streams[:3]:
            with suppress(KeyError):  # another thread was first
                distributions(tracker.probs(name))
                tracker.drop([name] if isinstance(name, str) else [])

    def save(n: int) -> None:
        tracker.save(path)
        type(tracker).load(path)

    def fetch(n: int) -> None:
        for event in tracker.pop_events():
            assert event.start < event.end
        with suppress(KeyError):
            event = tracker.current(n % 500)
            assert event is None or event.end is None

    return [shared, alone, many, many, drop, fetch, save, lambda n: tracker.streams]


def bank_jobs(bank: Any, probs: Array) -> list[Job]:
    def resize(n: int) -> None:
        bank.add(50)
        bank.drop(range(2950, 3000))

    def some(n: int) -> None:
        distributions(bank.update(probs[:500], rows=range(n % 9, n % 9 + 500)))

    def run(n: int) -> None:
        distributions(bank.run(probs, rows=np.arange(5000) % 900))

    def read(n: int) -> None:
        distributions(bank.filter(n % 900).probs)

    return [resize, resize, some, some, run, run, read, lambda n: bank.reset([n % 900])]


def run(seconds: float) -> None:
    from classfilter import _core

    assert "source" in Path(_core.__file__).parts, _core.__file__
    assert not (FREE_THREADED and sys._is_gil_enabled())  # type: ignore[attr-defined]
    sys.setswitchinterval(1e-5)
    probs = np.random.default_rng(0).dirichlet(np.ones(K), 5000)
    total = 0
    for make in (cf.DirichletFilter, cf.StickyFilter):
        own: list[Array] = []
        with tempfile.TemporaryDirectory() as folder:
            rule = cf.EventRule(0.3, min_duration=2.0, merge_gap=1.0, max_delay=50.0)
            tracker = cf.Tracker(make(K), expire_after=1e6, max_streams=4000, events=rule)
            jobs = tracker_jobs(tracker, probs, own, Path(folder) / "tracker.npz")
            total += hammer(jobs, seconds / 4)
        total += hammer(bank_jobs(cf.Bank(make(K), 3000), probs), seconds / 4)
        f = make(K)
        expected = [f.update(probs[t], 1.0, float(t > 0)) for t in range(3)]
        for rows in own:
            np.testing.assert_array_equal(rows, expected)
    print(f"{total:,} calls in {THREADS} threads for {seconds:g} s: nothing torn, nothing reported")


def main(seconds: str = "60", sanitizer: str = "address") -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = build(Path(folder), sanitizer)
        # ThreadSanitizer needs addresses where it expects them
        still = ["setarch", "--addr-no-randomize"] if sanitizer == "thread" else []
        command = [*still, sys.executable, __file__, "--run", seconds]
        return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(float(sys.argv[2]))
    else:
        sys.exit(main(*sys.argv[1:]))
