"""A fleet on Spark: ``python -m examples.fleet [folder]``.

It tunes on a sample of the streams of ``examples/predictions.csv``, filters all of them, and then
once more as files that come one after the other. For real data, change where the DataFrames come
from and where they go; `docs/fleet.md` has the rest. Needs ``pip install 'classfilter[spark]'``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import classfilter as cf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = Path(__file__).parent / "predictions.csv"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session() -> SparkSession:
    """Start Spark on this machine; on a cluster, spark-submit says where."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.sql.shuffle.partitions": "2",  # two or three per core
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.ui.showConsoleProgress": "false",
    }
    return SparkSession.builder.config(map=settings).getOrCreate()


def accuracy(filtered: DataFrame) -> float:
    """Return the share of the rows whose class is the true one."""
    row = filtered.selectExpr("avg(if(class = label, 1, 0)) as accuracy").first()
    assert row is not None
    return float(row["accuracy"])


def live(df: DataFrame, tuned: cf.Pipeline, folder: Path) -> DataFrame:
    """Filter files as they come, to Parquet; return the results."""
    spark = df.sparkSession
    df.repartition(3).sortWithinPartitions("time").write.parquet(str(folder / "in"))
    source = spark.readStream.schema(df.schema).option("maxFilesPerTrigger", 3)
    filtered = cf.spark.filter_stream(
        source.parquet(str(folder / "in")), tuned, expire_after=3600.0, invalid="quarantine"
    )
    query = (
        filtered.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)  # or processingTime="1 minute", and never an end
        .start(str(folder / "out"), format="parquet")
    )
    query.awaitTermination()
    return spark.read.parquet(str(folder / "out"))


def main(folder: Path) -> None:
    """Tune, filter, and filter again as files come."""
    spark = session()
    df = spark.read.csv(str(TABLE), header=True, inferSchema=True)
    some = [row.stream for row in df.select("stream").distinct().sort("stream").take(3)]
    sample = df.where(df.stream.isin(some)).orderBy("stream", "time").toArrow()
    tuned = cf.tune(sample, reference="strong")
    tuned.save(folder / "fleet.json")
    filtered = cf.spark.filter_frame(df, cf.load(folder / "fleet.json"))
    smoothed = cf.spark.filter_frame(df, tuned, lag=12)
    print(f"{df.count()} rows of {df.select('stream').distinct().count()} streams")
    print(f"filtered: accuracy {accuracy(filtered):.1%}; smoothed: {accuracy(smoothed):.1%}")
    results = live(df, tuned, folder)
    for row in results.groupBy("status").count().collect():
        print(f"live: {row['count']} rows {row['status']}")
    print(f"live: accuracy {accuracy(results):.1%}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as name:
            main(Path(name))
