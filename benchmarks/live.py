"""Lines through a pipe, against a loop that only parses: ``python -m benchmarks.live [LINES]``.

Both are separate processes, get the same lines, and write each result at once. The peer does
``json.loads`` on each line and writes it back: the least that any program that reads JSON does.
"""

import os
import resource
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np

from .cases import example_stream
from .harness import machine, report

OURS = """
from classfilter import Pipeline, DirichletFilter
from classfilter.live import serve
beta = {"weak": 0.1, "strong": 1.0}
serve(lambda names: Pipeline(DirichletFilter(names, half_life=60), beta=beta))
"""
PEER = """
import json, os, sys
for line in sys.stdin.buffer:
    json.loads(line)
    os.write(1, line)
"""
CLASSES = ("sleep", "sit", "stand", "walk", "run", "bike")
STREAMS = 10
BLOCK = 10_000


class Result(NamedTuple):
    """Seconds per line by the wall clock and by CPU time, and the latency of single lines."""

    wall: float
    cpu: float
    latency: list[float]


def lines(count: int) -> list[bytes]:
    """Return lines of ten streams in turn, in blocks."""
    probs, strong = example_stream(BLOCK, len(CLASSES))
    tails = [
        f'"source":"{"strong" if s else "weak"}",'
        + ",".join(f'"p_{name}":{x:.6f}' for name, x in zip(CLASSES, p, strict=True))
        + "}\n"
        for p, s in zip(probs, strong, strict=True)
    ]
    blocks = []
    for start in range(0, count, BLOCK):
        part = range(start, min(start + BLOCK, count))
        text = "".join(
            f'{{"time":{5.0 * (i // STREAMS)},"stream":"s{i % STREAMS}",{tails[i - start]}'
            for i in part
        )
        blocks.append(text.encode())
    return blocks


def measure(program: str, blocks: list[bytes], pings: int) -> Result:
    """Time the lines one by one for a while, then the others as fast as they go."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        [sys.executable, "-c", program], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        feed, results = process.stdin.fileno(), process.stdout.fileno()
        first, *others = blocks
        single = first.splitlines(keepends=True)
        latency = []
        for line in single[:pings]:
            start = time.perf_counter()
            os.write(feed, line)
            while not os.read(results, 1 << 16).endswith(b"\n"):
                pass
            latency.append(time.perf_counter() - start)

        def write() -> None:
            for block in (b"".join(single[pings:]), *others):
                rest = memoryview(block)
                while rest:
                    rest = rest[os.write(feed, rest) :]

        count = sum(block.count(b"\n") for block in blocks) - pings
        remaining = count
        writer = threading.Thread(target=write)
        start = time.perf_counter()
        writer.start()
        while remaining:
            remaining -= os.read(results, 1 << 20).count(b"\n")
        elapsed = time.perf_counter() - start
        writer.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Result(elapsed / count, used / (count + pings), latency[pings // 10 :])


def main(count: int = 1_000_000) -> None:
    print(machine())
    blocks = lines(count)
    programs = {"json.loads, write back": PEER, "classfilter stream": OURS}
    results = {name: measure(code, blocks, pings=5000) for name, code in programs.items()}
    goal = {"classfilter stream": "50,000 lines/s: 20 µs"}
    wall = {f"{name}, {1 / r.wall:,.0f} lines/s": r.wall for name, r in results.items()}
    goals = {name: text for name in wall for own, text in goal.items() if name.startswith(own)}
    report(f"{count:,} lines through a pipe, K = 6, per line, wall clock", wall, goals)
    report("  CPU time, start included", {n: r.cpu for n, r in results.items()}, goal)
    for share, title in ((50, "median"), (99, "99th percentile")):
        times = {n: float(np.percentile(r.latency, share)) for n, r in results.items()}
        report(f"Latency of one line, {title}", times, {})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
