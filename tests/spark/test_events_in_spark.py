"""Events of DataFrames: those of tables, to the bit, however the rows lie."""

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
from classfilter.engine import format_for
from classfilter.spark import batch
from classfilter.spark.events import _Events
from classfilter.spark.schema import FrameFormat
from fleet_frames import BETA, CHANNEL, CLASSES, ORDER, assert_same_bits, batches, fleet

pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
"""Random rows may have equal times, and missing ones stand twice."""

RULE = cf.EventRule(2.0, min_duration={"walk": 3.0}, merge_gap=1.0, max_gap=8.0)
SINGLE = cf.DirichletFilter(CLASSES[::-1], half_life=3.0, estimate="mean", dtype=np.float32)
STICKY = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 5))
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "filtered": (cf.DirichletFilter(CLASSES, half_life=5.0), RULE, {}),
    "single": (SINGLE, cf.EventRule(1.0, ignore="sit"), {}),
    "smoothed": (STICKY, RULE, {"smooth": True}),
    "lag": (STICKY, RULE, {"smooth": True, "lag": 3}),
    "thresholds": (STICKY, cf.ThresholdRule(0.5, min_duration=1.0), {}),
}
LABELS = ("robin", "wren")
BIRDS = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.5 ** (1 / 5)))


def in_order(events: Any) -> pl.DataFrame:
    """Return events in an order of their own."""
    df = pl.DataFrame(events)
    return df.sort("stream", "start", "class") if "stream" in df.columns else df.sort("start")


def frame(spark: Any, df: pl.DataFrame, seed: int = 0) -> Any:
    """Return rows in any order as a DataFrame of Spark."""
    return spark.createDataFrame(df.sample(fraction=1.0, shuffle=True, seed=seed).to_arrow())


def same_events(found: Any, df: Any, *how: Any, **options: Any) -> None:
    """Compare the events of Spark with those of the rows in order, to the bit."""
    wanted = in_order(cf.events(df, *how, **options))
    got = in_order(found.toArrow())
    assert_same_bits(got, wanted)


@pytest.mark.parametrize("kind", CASES)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 1000), max_size=8))
def test_any_arrow_batches(kind: str, seed: int, cuts: list[int]) -> None:
    """As in a worker, without Spark, and so with many more cuts."""
    df = fleet(4, 60, seed)
    filter, rule, how = CASES[kind]  # noqa: A001
    table, pipe = format_for(filter), cf.Pipeline(filter, beta=BETA, channel=CHANNEL)
    form = FrameFormat(table, table.layout(df.columns), pipe, "fail")
    lag = how.get("lag") if how else 0
    with mock.patch.object(batch, "ROWS_OF_TABLE", 1):  # so that each batch is a table of its own
        out = list(_Events(form, rule, lag, None)(iter(batches(df, cuts))))
    wanted = cf.events(df.sort(ORDER), pipe, rule, **how)
    if len(wanted) or out:
        assert_same_bits(in_order(pa.Table.from_batches(out)), in_order(wanted))


@pytest.mark.parametrize("kind", CASES)
@settings(max_examples=4)
@given(
    partitions=st.integers(1, 5),
    at_once=st.sampled_from([1, 7, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_partitioning(spark: Any, kind: str, partitions: int, at_once: int, seed: int) -> None:
    df = fleet(5, 120, seed)
    filter, rule, how = CASES[kind]  # noqa: A001
    how = {**how, "beta": BETA, "channel": CHANNEL}
    conf = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(at_once),
    }
    before = {name: spark.conf.get(name) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        rows = frame(spark, df, seed).repartition(partitions)
        same_events(cf.spark.event_frame(rows, filter, rule, **how), df.sort(ORDER), filter, rule,
                    **how)  # fmt: skip
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_a_frame_that_was_filtered_before(spark: Any) -> None:
    """Also where a source predicts twice at a time: the order is that of the filter."""
    df = fleet(3, 200).with_columns((pl.col("time") / 5).floor())
    f, rule, _ = CASES["filtered"]
    options: dict[str, Any] = {"beta": BETA, "channel": CHANNEL}
    assert df.select("stream", "time", "source").is_duplicated().any()
    filtered = cf.spark.filter_frame(frame(spark, df), f, **options)
    same_events(cf.spark.event_frame(filtered, rule), df.sort(ORDER), f, rule, **options)
    given_rows = df.drop_nulls()
    taken = cf.spark.event_frame(frame(spark, given_rows), rule)
    same_events(taken, given_rows.sort(ORDER), rule)


def as_dates(df: pl.DataFrame) -> pl.DataFrame:
    at = pl.from_epoch((pl.col("time") * 1e6).cast(pl.Int64), time_unit="us")
    return df.with_columns(at.dt.replace_time_zone("UTC").alias("time"))


def test_times_and_streams_come_out_as_they_came_in(spark: Any) -> None:
    f, rule, _ = CASES["filtered"]
    options: dict[str, Any] = {"beta": BETA, "channel": CHANNEL}
    df = fleet(5, 300)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        dated = frame(spark, as_dates(df))
        found = cf.spark.event_frame(dated, f, rule, **options)
        assert dict(found.dtypes)["start"] == dict(found.dtypes)["end"] == "timestamp"
        wanted = cf.events(as_dates(df).sort(ORDER), f, rule, **options)
        got = in_order(found.toArrow())
        utc = pl.col("start", "end").dt.convert_time_zone("UTC")
        assert_same_bits(got.with_columns(utc), in_order(wanted))
        local = dated.withColumn("time", dated.time.cast("timestamp_ntz"))
        found = cf.spark.event_frame(local, f, rule, **options)
        assert dict(found.dtypes)["start"] == "timestamp_ntz"
        shown = pl.col("time").dt.convert_time_zone("Asia/Kolkata").dt.replace_time_zone(None)
        same_events(found, as_dates(df).with_columns(shown).sort(ORDER), f, rule, **options)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    whole = df.with_columns(
        (pl.col("time") * 1000).cast(pl.Int64), pl.col("stream").str.slice(1).cast(pl.Int16)
    )
    found = cf.spark.event_frame(frame(spark, whole), f, rule, unit="ms", **options)
    assert found.dtypes[:3] == [("stream", "smallint"), ("class", "string"), ("start", "double")]
    same_events(found, cf.rows(whole.sort(ORDER), unit="ms"), f, rule, **options)
    alone = df.drop("stream")
    found = cf.spark.event_frame(frame(spark, alone), f, rule, **options)
    assert found.columns == ["class", "start", "end", "duration", "probability"]
    same_events(found, alone.sort(ORDER[1:]), f, rule, **options)


def test_several_labels_overlap(spark: Any) -> None:
    rng = np.random.default_rng(0)
    df = pl.DataFrame(
        {
            "time": np.arange(200.0) // 2,
            "stream": np.where(np.arange(200) % 2, "a", "b"),
            **{f"p_{name}": rng.random(200) for name in LABELS},
        }
    )
    rule = cf.EventRule(1.0, min_duration={"wren": 2.0})
    for lag in (0, 2, None):
        how: dict[str, Any] = {} if lag == 0 else {"smooth": True, "lag": lag}
        found = cf.spark.event_frame(frame(spark, df), BIRDS, rule, **how)
        same_events(found, df.sort("stream", "time"), BIRDS, rule, **how)
    filtered = cf.spark.filter_frame(frame(spark, df), BIRDS)
    same_events(cf.spark.event_frame(filtered, rule), df.sort("stream", "time"), BIRDS, rule)


def test_invalid_rows_come_out_beside_the_events(spark: Any) -> None:
    f, rule, _ = CASES["filtered"]
    df = fleet(3, 100).with_columns(
        pl.when(pl.col("row") == 40).then(-1.0).otherwise(pl.col("p_walk")).alias("p_walk"),
        pl.when(pl.col("row") == 50).then(None).otherwise(pl.col("time")).alias("time"),
    )
    wrong = df.filter(pl.col("row").is_in([40, 50])).fill_null(0.2)
    df = df.filter(
        ~pl.col("row").is_in([40, 50]) | (pl.col("p_walk") < 0) | pl.col("time").is_null()
    )
    with pytest.raises(Exception, match="in the row of stream"):
        cf.spark.event_frame(frame(spark, df), f, rule, beta=BETA).collect()
    found = cf.spark.event_frame(frame(spark, df), f, rule, beta=BETA, invalid="quarantine")
    assert found.columns[-2:] == ["status", "error"]
    out = in_order(found.toArrow())
    refused = out.filter(status="invalid").sort("start")
    assert refused["start"].to_list() == [None, wrong.filter(row=40)["time"][0]]
    assert refused["class"].null_count() == refused["end"].null_count() == 2
    assert "class 'walk', is -1.0" in refused["error"][1]
    assert out.filter(status="ok")["error"].null_count() == len(out) - 2
    valid = df.filter(~pl.col("row").is_in([40, 50]))
    wanted = in_order(cf.events(valid.sort(ORDER), f, rule, beta=BETA))
    assert_same_bits(out.filter(status="ok").drop("status", "error"), wanted)


def test_what_is_wrong_is_said_before_anything_runs(spark: Any) -> None:
    rows = frame(spark, fleet(2, 10))
    f, rule, _ = CASES["filtered"]

    def refuse(match: str, *how: Any, error: type[Exception] = ValueError, **more: Any) -> None:
        with pytest.raises(error, match=match):
            cf.spark.event_frame(*how, **more)

    refuse("rule is None, and the pipeline has none", rows, f)
    refuse("lag is 3, without smooth=True", rows, f, rule, lag=3)
    refuse("min_duration names 'fly'", rows, f, cf.EventRule(1.0, min_duration={"fly": 1.0}))
    refuse("filter is a rule", rows, rule, beta=BETA, error=TypeError)
    refuse("invalid is 'drop'", rows, rule, invalid="drop")
    named = rows.select("time", "stream", rows.source.alias("prediction"))
    refuse("prediction only, which does not say what all classes are", named, rule)
    live = spark.readStream.format("rate").load()
    refuse("a streaming DataFrame; use event_stream", live, rule)
