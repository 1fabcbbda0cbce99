"""Smoothing of tables and files: ``python -m benchmarks.smoothing [ROWS]``.

Rows of several streams in turn, one of each every five seconds, K = 6, weight 0.5; the sticky
filter and the Dirichlet filter, smoothed by all later rows or by the next twelve. Processor time,
the least of three runs.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import classfilter as cf

from .harness import machine

CLASSES = 6
LAG = 12


def table(rows: int, streams: int) -> pl.DataFrame:
    p = np.random.default_rng(0).dirichlet(np.ones(CLASSES), rows)
    cells: dict[str, Any] = {"time": 5.0 * (np.arange(rows) // streams)}
    cells["stream"] = [f"stream {i % streams}" for i in range(rows)]
    return pl.DataFrame(cells | {f"p_{k}": p[:, k] for k in range(CLASSES)})


def least(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main(rows: int = 200_000) -> None:
    matrix = np.full((CLASSES, CLASSES), 0.02) + np.eye(CLASSES) * 0.88
    filters: dict[str, cf.Filter] = {
        "stay": cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 60)),
        "transitions": cf.StickyFilter(CLASSES, transitions=matrix),
        "dirichlet": cf.DirichletFilter(CLASSES, half_life=60.0),
    }
    print(f"{rows:,} rows, K = {CLASSES}; rows per second of processor time; goal: 200,000")
    for streams in (10, 1000, 20_000):
        df = table(rows, streams)
        with TemporaryDirectory() as folder:
            path, out = Path(folder, "in.parquet"), Path(folder, "out.parquet")
            df.write_parquet(path)
            for name, f in filters.items():
                work: dict[str, Callable[[], Any]] = {
                    "smooth_table": partial(cf.smooth_table, df, f, beta=0.5),
                    f"smooth_table, lag {LAG}": partial(cf.smooth_table, df, f, beta=0.5, lag=LAG),
                    f"filter_file, lag {LAG}": partial(
                        cf.filter_file, path, out, f, beta=0.5, lag=LAG
                    ),
                }
                for what, run in work.items():
                    rate = rows / least(run)
                    place = f"{streams:,} streams, {name}"
                    print(f"  {place:28} {what:22} {rate:>10,.0f}", flush=True)


if __name__ == "__main__":
    print(machine())
    main(*map(int, sys.argv[1:]))
