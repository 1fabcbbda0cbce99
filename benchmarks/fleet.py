"""A fleet on Spark: ``python -m benchmarks.fleet batch|streams|live [rows or streams] [steps]``.

`batch` filters a Parquet file (see `benchmarks.files`) by the command line and by `filter_frame` on
one core and on two, and takes the steps of the latter apart; or runs only the steps that are named,
on one core. The ratio is that of the processor time to the command line's. `streams` has ever more
streams in as many rows. `live` runs micro-batches through `filter_stream`: what a stream and a row
cost, the bytes of its state, and the time of a commit.

The times are those of jobs in a session that has run one already. Processor times are those of all
processes: the driver's Java and its Python workers.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import classfilter as cf

from .files import CLASSES, make, measure

BETA = {"weak": 0.1, "strong": 1.0}
OPTIONS = ["--beta", "weak=0.1", "--beta", "strong=1", "--half-life", "60s"]
STEPS = ("copy", "columns", "sort", "python", "wide", "filter", "events")
"""A copy; with as many columns more as results have, without Python; sorted by stream and time;
through Python and back, with the columns of the file, and with those of the results, which is what
Spark takes by itself; filtered; and events instead."""


def session(cores: int, **settings: Any) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    for name, value in {
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": 4 * cores,
        "spark.sql.streaming.stateStore.providerClass": provider,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings,
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def processor_time() -> float:
    """Return the processor time of all processes below this one, those that ended too (Linux)."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        pid = int(stat.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    own = resource.getrusage(resource.RUSAGE_SELF)
    ticks = sum(used[pid] for pid in below - {os.getpid()} if pid in used)
    return ticks / os.sysconf("SC_CLK_TCK") + own.ru_utime + own.ru_stime


def through(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def through_wider(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows with columns such as those of the results, which are there already."""
    for batch in batches:
        for name in CLASSES:
            batch = batch.append_column(f"f_{name}", batch[f"p_{name}"])
        yield batch.append_column("class", batch["source"])


def peak_memory(_: Iterator[Any]) -> Iterator[Any]:
    """Return the largest memory that a worker had, in kB."""
    import pyarrow as pa  # type: ignore[import-untyped]

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield pa.RecordBatch.from_pydict({"peak": [peak]})


def step_of(step: str, df: Any) -> Any:
    if step == "filter":
        return cf.spark.filter_frame(df, cf.DirichletFilter(CLASSES, half_life=60.0), beta=BETA)
    if step == "events":
        rule = cf.EventRule(change_cost=30.0)
        f = cf.DirichletFilter(CLASSES, half_life=60.0)
        return cf.spark.event_frame(df, f, rule, beta=BETA)
    if step == "copy":
        return df
    if step == "columns":
        results = {f"f_{name}": df[f"p_{name}"] * 0.37 for name in CLASSES}
        return df.withColumns({**results, "class": df["source"]})
    parts = df.repartition("stream").sortWithinPartitions("stream", "time", "source")
    if step == "sort":
        return parts
    if step == "python":
        return parts.mapInArrow(through, df.schema)
    return parts.mapInArrow(through_wider, step_of("filter", df).schema)


def run_batch(path: str, cores: str, *steps: str) -> None:
    """Print, for each step, seconds, processor seconds, and the peak memory of a worker."""
    spark = session(int(cores))
    out = f"{path}.out"
    warm = spark.read.parquet(path).limit(10_000)
    step_of("filter", warm).write.mode("overwrite").parquet(out)
    for step in steps:
        start, used = time.perf_counter(), processor_time()
        step_of(step, spark.read.parquet(path)).write.mode("overwrite").parquet(out)
        took, used = time.perf_counter() - start, processor_time() - used
        (row,) = spark.range(1).repartition(1).mapInArrow(peak_memory, "peak long").collect()
        print(json.dumps([step, took, used, row["peak"] * 1024]), flush=True)
    spark.stop()


def child(*arguments: str) -> list[Any]:
    """Run a part of this in a process of its own; return what it prints."""
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.fleet", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True,
    )  # fmt: skip
    lines = [line for line in process.stdout.splitlines() if line.startswith("[")]
    return [json.loads(line) for line in lines]


def print_row(title: str, rows: int, took: float, used: float, more: str = "") -> None:
    per_row = f"{used / rows * 1e6:.2f} µs"
    print(f"  {title:36}{took:8.1f} s{rows / took:13,.0f}/s{per_row:>14}{more}", flush=True)


def batch(rows: int = 20_000_000, *steps: str) -> None:
    """Print the throughput of one file, by the command line and by Spark."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "day.parquet"
        make(path, rows)
        print(f"load {os.getloadavg()[0]:.1f}; {rows:,} rows, 1000 streams, 6 classes")
        print(f"  {'':36}{'time':>10}{'rows':>15}{'processor':>14}{'ratio':>8}")
        command = [sys.executable, "-m", "classfilter", "filter", str(path)]
        usage = measure([*command, "-o", f"{name}/out.parquet", *OPTIONS])
        print_row(
            "classfilter filter, two threads", rows, usage.seconds, usage.processor, "    1.00"
        )
        runs = {"1": steps} if steps else {"1": STEPS, "2": ("filter",)}
        for cores, wanted in runs.items():
            for step, took, used, peak in child("run_batch", str(path), cores, *wanted):
                more = f"{used / usage.processor:8.2f}"
                more += f"  worker's peak {peak / 1e6:,.0f} MB" if step == "filter" else ""
                print_row(f"Spark, local[{cores}]: {step}", rows, took, used, more)


def streams(rows: int = 2_000_000) -> None:
    """Print the throughput of a table with ever more streams."""
    rng = np.random.default_rng(0)
    print(f"load {os.getloadavg()[0]:.1f}; {rows:,} rows, local[2]")
    for count in (1, 1_000, 10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "day.parquet"
            i, p = np.arange(rows), rng.dirichlet(np.full(6, 0.5), rows)
            pl.DataFrame(
                {
                    "time": 5.0 * (i // count),
                    "stream": np.char.add("s", (i % count).astype(str)),
                    "source": np.full(rows, "weak"),
                    **{f"p_{c}": p[:, k] for k, c in enumerate(CLASSES)},
                }
            ).write_parquet(path)
            ((_, took, used, peak),) = child("run_batch", str(path), "2", "filter")
        memory = f"  worker's peak {peak / 1e6:,.0f} MB"
        print_row(f"{count:,} streams", rows, took, used, memory)


def run_live(folder: str, cores: str, expire_after: str, changelog: str) -> None:
    """Print, for each micro-batch, what Spark measured of it, and the processor time of all."""
    store = "spark.sql.streaming.stateStore.rocksdb"
    settings = {"spark.sql.shuffle.partitions": cores,
                f"{store}.changelogCheckpointing.enabled": changelog}  # fmt: skip
    spark = session(int(cores), **settings)
    schema = spark.read.parquet(f"{folder}/in").schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    filtered = cf.spark.filter_stream(
        source.parquet(f"{folder}/in"), cf.DirichletFilter(CLASSES, half_life=60.0), beta=BETA,
        expire_after=float(expire_after) or None,
    )  # fmt: skip
    used: list[float] = []

    def write(df: Any, batch: int) -> None:
        before = processor_time()
        df.write.mode("append").parquet(f"{folder}/out")
        used.append(processor_time() - before)

    query = (
        filtered.writeStream.foreachBatch(write)
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for progress, processor in zip(query.recentProgress, used, strict=False):
        operator = progress["stateOperators"][0]
        more = operator["customMetrics"]
        print(json.dumps([
            progress["numInputRows"], progress["durationMs"]["addBatch"] / 1000, processor,
            operator["commitTimeMs"] / 1000, operator["numRowsTotal"],
            more["rocksdbSstFileSize"], operator["memoryUsedBytes"],
        ]), flush=True)  # fmt: skip
    spark.stop()


def write_live(folder: Path, count: int, rows: int, batches: int) -> None:
    """Write a file per micro-batch, with so many rows of each stream."""
    rng = np.random.default_rng(0)
    (folder / "in").mkdir()
    for batch in range(batches):
        i, p = np.arange(count * rows), rng.dirichlet(np.full(6, 0.5), count * rows)
        path = folder / f"in/{batch}.parquet"
        pl.DataFrame(
            {
                "time": 5.0 * (batch * rows + i // count),
                "stream": np.char.add("stream-", (i % count).astype(str)),
                "source": np.full(i.size, "weak"),
                **{f"p_{c}": p[:, k] for k, c in enumerate(CLASSES)},
            }
        ).write_parquet(path)
        os.utime(path, (1e9 + batch, 1e9 + batch))


def live(most: int = 100_000) -> None:
    """Print what micro-batches cost: few and many streams, one row of each and twelve."""
    print(f"load {os.getloadavg()[0]:.1f}; 6 classes; the last of four micro-batches")
    print(f"  {'':48}{'time':>8}{'processor':>11}{'per stream':>12}{'commit':>9}{'state':>17}")
    for count, rows, cores, expire_after, changelog in (
        (1_000, 1, "1", "0", "false"),
        (most // 10, 1, "1", "0", "false"),
        (most // 10, 1, "1", "0", "true"),
        (most // 10, 1, "1", "3600", "false"),
        (most // 10, 12, "1", "0", "false"),
        (most, 1, "1", "0", "false"),
    ):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_live(folder, count, rows, 4)
            measured = child("run_live", name, cores, expire_after, changelog)
        _, took, used, commit, states, size, _ = measured[3]
        title = f"{count:,} streams, {rows} rows each, local[{cores}]"
        title += ", expire" * (expire_after != "0") + ", changelog" * (changelog == "true")
        print(
            f"  {title:48}{took:6.1f} s{used:9.1f} s{used / count * 1e6:9.0f} µs"
            f"{commit:7.2f} s{size / max(states, 1):9.0f} B/stream",
            flush=True,
        )


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    commands: dict[str, Any] = {"batch": batch, "streams": streams, "live": live}
    if command in commands:
        commands[command](*(int(x) if x.isdigit() else x for x in arguments))
    else:  # of a process that one of them started
        {"run_batch": run_batch, "run_live": run_live}[command](*arguments)  # type: ignore[operator]
