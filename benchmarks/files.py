"""A large file: ``python -m benchmarks.files [rows]``.

Makes a table of 1000 interleaved streams, 6 classes and two sources, as Parquet and as CSV; filters
each with the command line; and compares with Polars reading and writing it as it is. The processor
time of both cores together tells how much of it is the filter's own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import classfilter as cf

STREAMS, ROUNDS = 1000, 4
CLASSES = [f"c{k}" for k in range(6)]
COPY = """
import sys, polars as pl
path, out = sys.argv[1:]
if path.endswith("csv"):
    pl.scan_csv(path).sink_csv(out)
else:
    pl.scan_parquet(path).sink_parquet(out)
"""
#: Runs a command and prints the largest memory that it had, in kB, and its processor time.
USAGE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_maxrss, usage.ru_utime + usage.ru_stime)
"""


class Usage(NamedTuple):
    """Seconds by the clock and of all processors, and the largest memory in bytes."""

    seconds: float
    processor: float
    peak: int


def make(path: Path, rows: int, part: int = 500_000) -> None:
    """Write the table to a Parquet file part by part."""
    folder = path.parent / "parts"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for start in range(0, rows, part):
        i = np.arange(start, min(start + part, rows))
        step = i // STREAMS
        p = rng.dirichlet(np.full(6, 0.5), i.size)
        pl.DataFrame(
            {
                "time": 5.0 * step,
                "stream": np.char.add("s", (i % STREAMS).astype(str)),
                "source": np.where(step % 12 == 0, "strong", "weak"),
                **{f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)},
            }
        ).write_parquet(folder / f"{start:012}.parquet")
    pl.scan_parquet(folder / "*.parquet").sink_parquet(path, maintain_order=True)


def measure(command: list[str]) -> Usage:
    """Return what a command needs."""
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-c", USAGE, *command], capture_output=True, check=True
    )
    seconds = time.perf_counter() - start
    peak, processor = process.stdout.split()
    return Usage(seconds, float(processor), 1024 * int(peak))


def filter_alone(path: Path, steps: int = 200) -> float:
    """Return the processor time of a row in the filter, without tables and files, on one core."""
    columns = [f"p_{name}" for name in CLASSES]
    df = pl.scan_parquet(path).head(steps * STREAMS).select(columns).collect()
    blocks = df.to_numpy().reshape(-1, STREAMS, len(CLASSES))
    bank = cf.Bank(cf.DirichletFilter(CLASSES, half_life=60.0), STREAMS)
    start = time.process_time()
    for step, probs in enumerate(blocks):
        bank.update(probs, 1.0 if step % 12 == 0 else 0.1, 5.0, threads=1)
    return (time.process_time() - start) / len(df)


def equal_to_each_stream_alone(path: Path, out: Path, streams: range) -> bool:
    """Compare some streams of the result with the filter's own `run`, to the bit."""
    names = [f"s{k}" for k in streams]
    scan = pl.scan_parquet if out.suffix == ".parquet" else pl.scan_csv
    df = scan(out).filter(pl.col("stream").is_in(names)).collect()
    for name in names:
        stream = df.filter(pl.col("stream") == name)
        f = cf.DirichletFilter(CLASSES, half_life=60.0)
        beta = np.where(stream["source"].to_numpy() == "strong", 1.0, 0.1)
        dt = np.diff(stream["time"].to_numpy(), prepend=stream["time"][0])
        P = f.run(stream.select([f"p_{c}" for c in CLASSES]).to_numpy(), beta, dt)
        if not np.array_equal(P, stream.select([f"f_{c}" for c in CLASSES]).to_numpy()):
            return False
    return True


def main(rows: int = 20_000_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet, csv = folder / "day.parquet", folder / "day.csv"
        make(parquet, rows)
        pl.scan_parquet(parquet).sink_csv(csv)
        print(f"{rows:,} rows, {STREAMS} streams, {len(CLASSES)} classes, two sources")
        alone = filter_alone(parquet) if rows >= STREAMS else 0.0
        print(f"the filter alone: {alone * 1e9:.0f} ns of a processor per row")
        print(
            f"{'':30}{'time':>8}{'rows per second':>16}{'peak memory':>14}{'ratio':>8}"
            f"{'processor per row':>19}"
        )
        options = ["--beta", "weak=0.1", "--beta", "strong=1", "--half-life", "60s"]
        single = cf.DirichletFilter(CLASSES, half_life=60.0, dtype=np.float32)
        cf.Pipeline(single, beta={"weak": 0.1, "strong": 1.0}).save(folder / "single.json")
        for path in (parquet, csv):
            out = folder / f"out{path.suffix}"
            into = [str(path), "-o", str(out)]
            command = [sys.executable, "-m", "classfilter", "filter", *into]
            commands = {
                "Polars, a copy": [sys.executable, "-c", COPY, str(path), str(out)],
                "filter, float32": [*command, "--config", str(folder / "single.json")],
                "filter": [*command, *options],
            }
            rounds = [{n: measure(c) for n, c in commands.items()} for _ in range(ROUNDS)]
            best = {name: min(usages[name] for usages in rounds) for name in commands}
            copied = best["Polars, a copy"]
            for title, usage in best.items():
                print(
                    f"{path.suffix[1:] + ': ' + title:30}{usage.seconds:6.1f} s"
                    f"{rows / usage.seconds:16,.0f}{usage.peak / 1e6:11,.0f} MB"
                    f"{usage.seconds / copied.seconds:8.1f}"
                    f"{usage.processor / rows * 1e9:16,.0f} ns"
                )
            same = equal_to_each_stream_alone(path, out, range(0, STREAMS, 100))
            print(f"{'':4}ten streams equal to run() on each alone, to the bit: {same}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
