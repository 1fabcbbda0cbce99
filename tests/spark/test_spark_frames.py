"""DataFrames filtered and smoothed by Spark: the bits of tables, however the rows lie."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import Parts
from classfilter.spark import batch
from classfilter.spark.schema import FrameFormat
from fleet_frames import (
    BETA,
    CHANNEL,
    CLASSES,
    ORDER,
    assert_same_bits,
    batches,
    by_row,
    expected,
    fleet,
)

pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
"""Random rows may have equal times, and missing ones stand twice."""

FILTERS: list[Any] = [
    cf.DirichletFilter(CLASSES, half_life=60.0),
    cf.DirichletFilter(CLASSES[::-1], half_life=20.0, estimate="mean", dtype=np.float32),
    cf.StickyFilter(CLASSES[1:] + CLASSES[:1], stay=0.99),
    cf.VoteFilter(CLASSES, 3),
]
LAGS = (None, 1, 4)


def test_a_thousand_streams(spark: Any) -> None:
    df = fleet(1000, 30_000)
    filtered = cf.spark.filter_frame(
        spark.createDataFrame(df.sample(fraction=1.0, shuffle=True, seed=0).to_arrow()),
        FILTERS[0], beta=BETA, channel=CHANNEL,
    )  # fmt: skip
    assert filtered.columns == [*df.columns, "f_walk", "f_sit", "f_sleep", "class"]
    assert_same_bits(by_row(filtered), expected(df, FILTERS[0]))


@settings(max_examples=8)
@given(
    filter=st.sampled_from(FILTERS),
    partitions=st.integers(1, 5),
    at_once=st.sampled_from([1, 3, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_partitioning(
    spark: Any, filter: Any, partitions: int, at_once: int, seed: int  # noqa: A002
) -> None:  # fmt: skip
    df = fleet(5, 60, seed)
    shuffled = df.sample(fraction=1.0, shuffle=True, seed=seed).to_arrow()
    conf = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(at_once),
    }
    before = {name: spark.conf.get(name) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        frame = spark.createDataFrame(shuffled).repartition(partitions)
        filtered = by_row(cf.spark.filter_frame(frame, filter, beta=BETA, channel=CHANNEL))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert_same_bits(filtered, expected(df, filter))


AT_ONCE = mock.patch.object(batch, "ROWS_OF_TABLE", 1)
"""Each batch is a table of its own."""


def work_of(filter: Any, lag: int | None = 0) -> batch.Work:  # noqa: A002
    from classfilter.engine import format_for

    table = format_for(filter)
    pipe = cf.Pipeline(filter, beta=BETA, channel=CHANNEL)
    form = FrameFormat(table, table.layout(fleet(1, 1).columns), pipe, "fail")
    return batch.Work(form, lag)


@given(
    filter=st.sampled_from(FILTERS),
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 1000), max_size=8),
)
def test_any_arrow_batches(filter: Any, seed: int, cuts: list[int]) -> None:  # noqa: A002
    """As in a worker, without Spark, and so with many more cuts."""
    df = fleet(4, 40, seed)
    with AT_ONCE:
        out = list(work_of(filter)(iter(batches(df, cuts))))
    filtered = pl.from_arrow(pa.Table.from_batches(out))
    assert isinstance(filtered, pl.DataFrame)
    assert_same_bits(filtered.sort("row"), expected(df, filter))


@given(
    filter=st.sampled_from(FILTERS[:3]),
    lag=st.sampled_from(LAGS),
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 1000), max_size=8),
)
def test_any_arrow_batches_smoothed(
    filter: Any, lag: int | None, seed: int, cuts: list[int]  # noqa: A002
) -> None:  # fmt: skip
    df = fleet(4, 40, seed)
    with AT_ONCE:
        out = list(work_of(filter, lag)(iter(batches(df, cuts))))
    smoothed = pl.from_arrow(pa.Table.from_batches(out))
    assert isinstance(smoothed, pl.DataFrame)
    wanted = cf.smooth_table(df.sort(ORDER), filter, beta=BETA, channel=CHANNEL, lag=lag).sort(
        "row"
    )
    assert_same_bits(smoothed.sort("row"), wanted)


@pytest.mark.parametrize("lag", LAGS)
def test_smoothed(spark: Any, lag: int | None) -> None:
    df = fleet(50, 2000)
    smoothed = cf.spark.filter_frame(
        spark.createDataFrame(df.to_arrow()), FILTERS[0], beta=BETA, channel=CHANNEL, lag=lag
    )
    wanted = cf.smooth_table(df.sort(ORDER), FILTERS[0], beta=BETA, channel=CHANNEL, lag=lag).sort(
        "row"
    )
    assert_same_bits(by_row(smoothed), wanted)


def test_a_worker_holds_the_state_of_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a giant stream, and of many, only a batch and one state are held."""
    held = []

    class Watched(Parts):
        def push(self, rows: Any, over: Any = ()) -> Any:
            held.append((len(self.engine), len(rows.time)))
            return super().push(rows, over)

    monkeypatch.setattr(batch, "Parts", Watched)
    parts = batches(fleet(50, 2000), list(range(0, 2000, 10)))
    with AT_ONCE:
        for _ in work_of(FILTERS[0])(iter(parts)):
            pass
    assert len(held) == 200
    assert max(streams for streams, _ in held) == 1
    assert max(rows for _, rows in held) == 10


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 30))
def test_small_batches_are_taken_together(sizes: list[int], least: int) -> None:
    rows = pa.table({"row": range(sum(sizes))})
    ends = np.cumsum(sizes).tolist()
    parts = [rows.slice(end - n, n).to_batches() for end, n in zip(ends, sizes, strict=True)]
    empty = pa.RecordBatch.from_pydict({"row": pa.array([], pa.int64())})
    given_batches = [batch for part in parts for batch in (part or [empty])]
    tables = list(batch.arrow_tables(iter(given_batches), least))
    assert [row for table in tables for row in table["row"].to_pylist()] == list(range(sum(sizes)))
    assert all(least <= len(table) < least + 9 for table in tables[:-1])
    assert all(0 < len(table) < least + 9 for table in tables)


def test_settings_from_a_file(spark: Any, tmp_path: Any) -> None:
    df = fleet(20, 500)
    channel = {name: c for name, c in CHANNEL.items() if c is not None}

    cf.Pipeline.of(FILTERS[0], beta=BETA, channel=channel).save(tmp_path / "fleet.json")
    filtered = cf.spark.filter_frame(
        spark.createDataFrame(df.to_arrow()), cf.load(tmp_path / "fleet.json")
    )
    assert_same_bits(by_row(filtered), expected(df, FILTERS[0]))


def test_other_columns_times_and_labels(spark: Any) -> None:
    """Names of columns, timestamps, labels with a confidence, nested columns, old results."""
    df = fleet(6, 200).with_columns(
        pl.from_epoch((pl.col("time") * 1e6).cast(pl.Int64), time_unit="us").alias("time")
    )
    table = df.select(
        "row", pl.col("time").alias("ts"), pl.col("stream").alias("who is"), "source",
        pl.struct("row", pl.col("source").alias("from")).alias("nested"),
        pl.col("row").mod(3).replace_strict({0: "walk", 1: None, 2: "sit"}).alias("prediction"),
        pl.lit(70.0).alias("confidence"),
    )  # fmt: skip
    columns = {"time": "ts", "stream": "who is"}
    options: dict[str, Any] = {"columns": columns, "scores": "percent"}
    frame = spark.createDataFrame(table.to_arrow())
    filtered = cf.spark.filter_frame(frame, FILTERS[0], beta=BETA, channel=CHANNEL, **options)
    again = cf.spark.filter_frame(filtered, FILTERS[0], beta=BETA, channel=CHANNEL, **options)
    order = ["who is", "ts", "source", "prediction"]
    rows = cf.rows(table.sort(order), classes=CLASSES, **options)
    wanted = cf.filter_table(rows, FILTERS[0], beta=BETA, channel=CHANNEL).sort("row")
    for result in (filtered, again):
        collected = by_row(result)
        assert collected.columns == wanted.columns
        assert collected["nested"].to_list() == wanted["nested"].to_list()
        assert_same_bits(collected[cf_columns := wanted.columns[-4:]], wanted[cf_columns])


def test_without_streams_all_rows_are_one(spark: Any) -> None:
    df = fleet(1, 100).drop("stream")
    filtered = cf.spark.filter_frame(
        spark.createDataFrame(df.to_arrow()).repartition(3), FILTERS[0], beta=BETA, channel=CHANNEL
    )
    wanted = cf.filter_table(df.sort(ORDER[1:]), FILTERS[0], beta=BETA, channel=CHANNEL).sort("row")
    assert_same_bits(by_row(filtered), wanted)


def test_what_is_wrong_with_the_columns_is_said_before_anything_runs(spark: Any) -> None:
    df = fleet(2, 10)
    frame = spark.createDataFrame(df.to_arrow())

    def refuse(match: str, frame: Any, error: type[Exception] = ValueError, **more: Any) -> None:
        with pytest.raises(error, match=match):
            cf.spark.filter_frame(frame, FILTERS[0], beta=BETA, channel=CHANNEL, **more)

    refuse("has no `time` column", frame.drop("time"))
    refuse("p_<class>", frame.drop("p_sit", "p_walk", "p_sleep"))
    text = frame.withColumn("time", frame.time.cast("string"))
    refuse("column time is string, not a time; cast it: .*to_timestamp", text, TypeError)
    text = frame.withColumn("p_sit", frame.p_sit.cast("string"))
    refuse('column p_sit is string, not a number; cast it: .*"double"', text, TypeError)
    refuse("already has the columns \\['class'\\]", frame.withColumn("class", frame.source))
    taken = frame.withColumn("status", frame.source)
    refuse("already has the columns \\['status'\\]", taken, invalid="quarantine")
    refuse("invalid is 'drop'; it must be one of fail, quarantine", frame, invalid="drop")
    with pytest.raises(ValueError, match="beta\\['weak'\\] is 2"):
        cf.spark.filter_frame(frame, FILTERS[0], beta={"weak": 2.0})
    with pytest.raises(ValueError, match="lag"):
        cf.spark.filter_frame(frame, FILTERS[0], beta=BETA, lag=-1)
    with pytest.raises(TypeError, match="VoteFilter"):
        cf.spark.filter_frame(frame, FILTERS[3], beta=BETA, lag=None)


def test_columns_named_as_the_classes(spark: Any) -> None:
    df = fleet(3, 40)
    bare = df.rename({f"p_{name}": name for name in CLASSES})
    filtered = cf.spark.filter_frame(
        spark.createDataFrame(bare.to_arrow()), FILTERS[0], beta=BETA, channel=CHANNEL
    )
    assert_same_bits(
        by_row(filtered), expected(df, FILTERS[0]).rename({f"p_{name}": name for name in CLASSES})
    )


def test_dataframes_of_another_kind_are_sent_to_what_takes_them(spark: Any) -> None:
    df = fleet(2, 40)
    frame, f = spark.createDataFrame(df.to_arrow()), FILTERS[0]
    calls: list[Any] = [cf.tune, cf.rows, lambda df: cf.events(df, f, cf.EventRule(5))]
    for call in calls:
        with pytest.raises(TypeError, match=r"of Spark; use classfilter\.spark: .*event_frame"):
            call(frame)
    with_rule: list[Any] = [cf.spark.event_frame, cf.spark.event_stream]
    for call in [cf.spark.filter_frame, cf.spark.filter_stream, *with_rule]:
        for other in (df, df.to_pandas(), df.to_arrow()):
            with pytest.raises(TypeError, match=r"not a DataFrame of Spark; use .*filter_table"):
                call(other, f, *[cf.EventRule(5)] * (call in with_rule))
