"""A fleet's rows, a Spark session for small ones, and what their results should be."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import classfilter as cf

os.environ["PYSPARK_PYTHON"] = sys.executable

CLASSES = ["walk", "sit", "sleep"]
BETA = {"band": 0.6, "strong": 1.0, "weak": 0.25}
CHANNEL = {"weak": cf.Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]]), "strong": None}
ORDER = ["stream", "time", "source", "p_walk", "p_sit", "p_sleep"]
"""What `filter_frame` sorts by; as in Spark, null comes first."""
RESULTS = ["f_walk", "f_sit", "f_sleep", "class"]
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # short programs
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(master: str = "local[2]") -> Any:
    """Start Spark."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


def fleet(streams: int, rows: int, seed: int = 0) -> pl.DataFrame:
    """Streams of unequal length and irregular times, three sources, a tenth of the rows missing.

    Sources may predict at the same time. The rows are in order of time.
    """
    rng = np.random.default_rng(seed)
    name = rng.zipf(1.3, rows) % streams
    name[:streams] = np.arange(streams)[:rows]
    p = rng.dirichlet(np.full(3, 0.5), rows)
    cells: list[Any] = [[None] * 3 if missing else row for missing, row in
                        zip(rng.random(rows) < 0.1, p.tolist(), strict=True)]  # fmt: skip
    columns = zip(*cells, strict=True)
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "time": np.round(rng.exponential(0.05 * streams, rows), 1).cumsum(),
            "stream": [f"s{k}" for k in name],
            "source": rng.choice(list(BETA), rows, p=[0.2, 0.1, 0.7]),
            **{f"p_{c}": pl.Series(v, dtype=pl.Float64)
               for c, v in zip(CLASSES, columns, strict=True)},
        }
    )  # fmt: skip


def expected(df: pl.DataFrame, filter: Any, **options: Any) -> pl.DataFrame:  # noqa: A002
    """Filter a table as one, in the order that Spark's rows are taken in."""
    rows: pl.DataFrame = cf.filter_table(
        df.sort(ORDER), filter, beta=BETA, channel=CHANNEL, **options
    )
    return rows.sort("row")


def by_row(df: Any) -> pl.DataFrame:
    """Collect a Spark DataFrame, in the order of its column ``row``."""
    collected = pl.from_arrow(df.toArrow())
    assert isinstance(collected, pl.DataFrame)
    return collected.sort("row")


def assert_same_bits(df: pl.DataFrame, other: pl.DataFrame) -> None:
    """Compare two tables: names, types, and every number to the bit."""
    assert df.schema == other.schema
    for name in df.columns:
        if df.schema[name].is_float():
            assert df[name].is_null().equals(other[name].is_null())
            assert df[name].to_numpy().tobytes() == other[name].to_numpy().tobytes(), name
        else:
            assert df[name].equals(other[name]), name


def batches(df: pl.DataFrame, cuts: list[int], order: list[str] = ORDER) -> list[Any]:
    """The rows in Spark's order, as Arrow batches that end at the cuts."""
    table = df.sort(order).to_arrow()
    ends = sorted({*(cut % len(df) for cut in cuts), 0, len(df)})
    parts = [table.slice(i, j - i).combine_chunks() for i, j in pairwise(ends)]
    return [batch for part in parts for batch in part.to_batches()]


def run_query(df: Any, folder: Path) -> Any:
    """Run a query over all files that are there."""
    query = (
        df.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"), format="parquet")
    )
    query.awaitTermination()
    return query


def run(spark: Any, folder: Path, df: Any) -> tuple[pl.DataFrame, Any]:
    """Run a query over all files that are there; return all its output so far, and the query."""
    query = run_query(df, folder)
    return by_row(spark.read.parquet(str(folder / "out"))), query


def split(df: pl.DataFrame, parts: int) -> list[pl.DataFrame]:
    """Cut a table into parts."""
    return [df[rows.tolist()] for rows in np.array_split(np.arange(len(df)), parts)]


def write_parts(parts: list[pl.DataFrame], folder: Path) -> None:
    """Add tables as files to a folder; a file source reads them in this order."""
    folder.mkdir(exist_ok=True)
    first = len(list(folder.iterdir()))
    for i, df in enumerate(parts, first):
        path = folder / f"{i:03}.parquet"
        df.write_parquet(path)
        os.utime(path, (1e9 + i, 1e9 + i))


def live_frame(spark: Any, folder: Path) -> Any:
    """Return the files of a folder as a streaming DataFrame, one in each micro-batch."""
    schema = spark.createDataFrame(fleet(1, 1).to_arrow()).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
