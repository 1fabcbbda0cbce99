"""Time the version here and another one in turns: ``python -m benchmarks.versions OTHER/src``.

Each version runs in a process of its own. They take turns, so that a busy machine slows both down;
the least of many times counts, over several processes of each, since where the memory of one lies
makes a difference too. It is processor time, that of all threads.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import classfilter as cf

from .harness import machine

PROCESSES, ROUNDS = 4, 8
CLASSES, STREAMS, ROWS = 6, 1000, 400
Work = Callable[[], object]


def predictions(rows: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(CLASSES), rows)


def cases(folder: Path) -> dict[str, Work]:
    """Return the work that is measured; it must run with both versions."""
    import polars as pl

    names = [f"c{k}" for k in range(CLASSES)]
    f = cf.DirichletFilter(names, half_life=60.0)
    beta, channel = {"weak": 0.5}, {"weak": cf.Channel(np.eye(CLASSES) * 8 + 1)}
    count = STREAMS * ROWS
    p = predictions(count)
    who, when = np.tile(np.arange(STREAMS), ROWS), np.repeat(np.arange(ROWS) * 5.0, STREAMS)
    by_time = pl.DataFrame({"time": when, "stream": who.astype(str), "source": "weak"})
    by_time = by_time.with_columns(pl.Series(f"p_{n}", p[:, k]) for k, n in enumerate(names))
    by_stream = by_time.sort("stream", "time", maintain_order=True)
    by_time.write_parquet(folder / "in.parquet")
    by_time.write_csv(folder / "in.csv")
    one_row = p[0].tolist()
    rule = cf.EventRule(change_cost=30.0)
    labels = cf.MultiLabelFilter(names[:5], cf.StickyFilter(2, stay=0.5 ** (1 / 60)))

    def updates(tracker: cf.Tracker, probs: list[float] = one_row) -> Work:
        at = 0.0

        def work() -> None:
            nonlocal at
            for _ in range(20_000):
                at += 5.0
                tracker.update("ann", at, "weak", probs)

        return work

    def with_lag() -> Work:
        tracker = cf.Tracker(cf.StickyFilter(names, stay=0.5 ** (1 / 60)), events=rule, lag=12)
        some, at = p[:2000].tolist(), 0.0

        def work() -> None:
            nonlocal at
            for probs in some:
                at += 5.0
                tracker.update("ann", at, None, probs)

        return work

    def many(tracker: cf.Tracker) -> Work:
        start = 0.0

        def work() -> None:
            nonlocal start
            for i in range(0, 20 * STREAMS, STREAMS):
                rows = slice(i, i + STREAMS)
                tracker.update_many(who[rows], when[rows] + start, "weak", p[rows])
            start += when[-1] + 5.0

        return work

    def file(suffix: str) -> Work:
        source, out = folder / f"in{suffix}", folder / f"out{suffix}"
        return lambda: cf.filter_file(source, out, f, beta=beta)

    return {
        "Tracker.update": updates(cf.Tracker(f, beta=beta)),
        "Tracker.update, channel": updates(cf.Tracker(f, beta=beta, channel=channel)),
        "Tracker.update, expire_after": updates(cf.Tracker(f, beta=beta, expire_after=1e9)),
        "Tracker.update, 5 labels": updates(cf.Tracker(labels), p[0, :5].tolist()),
        "Tracker.update, 5 labels, events": updates(
            cf.Tracker(labels, events=rule), p[0, :5].tolist()
        ),
        "Tracker.update, lag of 12": with_lag(),
        "Tracker.update_many": many(cf.Tracker(f, beta=beta)),
        "Tracker.update_many, expire_after": many(cf.Tracker(f, beta=beta, expire_after=1e9)),
        "filter_table, by time": lambda: cf.filter_table(by_time, f, beta=beta),
        "filter_table, by stream": lambda: cf.filter_table(by_stream, f, beta=beta),
        "filter_table, channel": lambda: cf.filter_table(by_time, f, beta=beta, channel=channel),
        "events": lambda: cf.events(by_time, f, rule, beta=beta),
        "filter_file, Parquet": file(".parquet"),
        "filter_file, CSV": file(".csv"),
    }


def serve() -> None:
    """Do each piece of work that is asked for, by name, and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        work = cases(Path(folder))
        print("\t".join(work), flush=True)
        for name in sys.stdin:
            start = time.process_time()
            work[name.rstrip("\n")]()
            print(time.process_time() - start, flush=True)


def ask(process: subprocess.Popen[str], work: str = "") -> str:
    """Ask a process for a piece of work; return its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    if work:
        print(work, file=process.stdin, flush=True)
    return process.stdout.readline().rstrip("\n")


def race(sources: dict[str, str], least: dict[str, dict[str, float]]) -> None:
    """Let new processes of both versions take turns; lower the least times by their own."""
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.versions"],
            env=os.environ | {"PYTHONPATH": source},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, source in sources.items()
    }
    offers = [ask(process).split("\t") for process in processes.values()]
    for work in offers[0]:
        times = least.setdefault(work, dict.fromkeys(sources, math.inf))
        for _ in range(ROUNDS):
            for name, process in processes.items():
                times[name] = min(times[name], float(ask(process, work)))
    for process in processes.values():
        process.terminate()


def main(other: str) -> None:
    """Print the times of both versions, and their ratio."""
    print(machine())
    least: dict[str, dict[str, float]] = {}
    for _ in range(PROCESSES):
        race({"this": str(Path(cf.__file__).parents[1]), "other": other}, least)
    for work, times in least.items():
        both = "  ".join(f"{name} {1e3 * took:8.2f} ms" for name, took in times.items())
        print(f"{work:34}  {both}  ratio {times['this'] / times['other']:.2f}")


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) > 1 else serve()
