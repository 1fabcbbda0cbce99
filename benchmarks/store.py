"""Saving many streams, and lines while they are saved: ``python -m benchmarks.store [STREAMS]``.

First a tracker with events: a save of all streams, one of a thousand that changed, and a load. Then
``classfilter stream --state`` with events, which has that many streams and gets lines of any of
them: how long each result takes, while states are saved every second. The goals are those of
100,000 streams.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import classfilter as cf

from .harness import machine

CLASSES = ("a", "b", "c", "d", "e", "f")
CHANGED, SAVES = 1000, 9
RATE, SECONDS = 1000, 20
PIPE = cf.Pipeline(cf.DirichletFilter(CLASSES, half_life="30s"), rule=cf.EventRule("30s"))


def timed(call: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def say(what: str, seconds: float, goal: float) -> None:
    """Print a time and its goal."""
    print(f"  {what:40} {1e3 * seconds:8.1f} ms (goal {1e3 * goal:.0f} ms)", flush=True)


def tracker(count: int, path: Path) -> None:
    """Save and load a tracker."""
    rng = np.random.default_rng(0)
    names = [f"stream{i:07}" for i in range(count)]
    live = cf.Tracker(PIPE, events=True, expire_after="1h")
    for at in range(6):
        live.update_many(names, 5.0 * at, None, rng.dirichlet(np.ones(6), count))
    all_of_them = timed(lambda: live.save(path))
    some = []
    for n in range(SAVES):
        chosen = rng.choice(names, CHANGED, replace=False)
        live.update_many(chosen, 30.0 + 5 * n, None, rng.dirichlet(np.ones(6), CHANGED))
        some.append(timed(lambda: live.save(path)))
    print(f"{count:,} streams with events, K = 6; {path.stat().st_size / 1e6:.0f} MB")
    say("saved, all", all_of_them, 1.0)
    say(f"saved, {CHANGED:,} that changed, median of {SAVES}", float(np.median(some)), 0.05)
    say("loaded", timed(lambda: cf.Tracker.load(path)), 1.0)


def lines(count: int, folder: Path) -> None:
    """Time each result of a process that has its streams already."""
    rng = np.random.default_rng(1)
    command = [
        sys.executable,
        "-m",
        "classfilter",
        "stream",
        "--half-life=30s",
        "--change-cost=30s",
    ]
    command += ["--state", "state", "--events", "events", "--every", "1s"]
    sent: list[float] = []
    got: list[float] = []
    with subprocess.Popen(
        command, cwd=folder, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        feed, results = process.stdin.fileno(), process.stdout.fileno()

        def read() -> None:
            while chunk := os.read(results, 1 << 20):
                got.extend([time.perf_counter()] * chunk.count(b"\n"))

        reader = threading.Thread(target=read)
        reader.start()

        def line(stream: int, at: float) -> bytes:
            probs = ",".join(
                f'"p_{k}":{p:.3f}' for k, p in zip(CLASSES, np.eye(6)[stream % 6], strict=True)
            )
            return f'{{"time":{at},"stream":"stream{stream:07}",{probs}}}\n'.encode()

        for at in (0.0, 5.0):
            for first in range(0, count, 1000):
                rest = memoryview(
                    b"".join(line(i, at) for i in range(first, min(count, first + 1000)))
                )
                while rest:
                    rest = rest[os.write(feed, rest) :]
        while len(got) < 2 * count:
            time.sleep(0.1)
        time.sleep(3.0)
        start = time.perf_counter()
        for n in range(RATE * SECONDS):
            time.sleep(max(0.0, start + n / RATE - time.perf_counter()))
            sent.append(time.perf_counter())
            os.write(feed, line(int(rng.integers(count)), 10.0 + n / RATE))
        process.stdin.close()
        reader.join()
    latency = np.array(got[2 * count :]) - np.array(sent)
    print(f"classfilter stream --state --events, {count:,} streams, {RATE:,} lines a second")
    say("latency of a result, median", float(np.median(latency)), 0.001)
    say("latency of a result, 99th percentile", float(np.percentile(latency, 99)), 0.05)


def main(count: int = 100_000) -> None:
    print(machine())
    with TemporaryDirectory() as folder:
        tracker(count, Path(folder, "tracker"))
        lines(count, Path(folder))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
