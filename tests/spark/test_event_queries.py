"""Live queries for events: those of tables, restarts, expiry, refused rows, times as they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from fleet_frames import (
    BETA,
    CHANNEL,
    CLASSES,
    ORDER,
    assert_same_bits,
    fleet,
    live_frame,
    run_query,
    split,
    write_parts,
)

F = cf.DirichletFilter(CLASSES, half_life=5.0)
RULE = cf.EventRule(2.0, min_duration={"walk": 3.0}, max_gap=8.0)
OPTIONS: dict[str, Any] = {"beta": BETA, "channel": CHANNEL}


def run(spark: Any, folder: Path, df: Any) -> tuple[pl.DataFrame, dict[str, int]]:
    """Run a query over all files; return all that came out so far, in order, and what it counts."""
    query = run_query(df, folder)
    totals: dict[str, int] = {}
    for progress in query.recentProgress:
        for name, count in progress["observedMetrics"]["classfilter"].asDict().items():
            totals[name] = totals.get(name, 0) + count
    out = pl.from_arrow(spark.read.parquet(str(folder / "out")).toArrow())
    assert isinstance(out, pl.DataFrame)
    return out.sort("stream", "start", "class"), totals


def offline(df: pl.DataFrame, **how: Any) -> pl.DataFrame:
    events: pl.DataFrame = cf.events(df.sort(ORDER), F, RULE, **OPTIONS, **how)
    return events.sort("stream", "start", "class")


def ending(df: pl.DataFrame) -> list[pl.DataFrame]:
    """Return two micro-batches that let the watermark pass the end of all streams."""
    last = float(df["time"].to_numpy().max())
    stop = df[:1].with_columns(stream=pl.lit("clock"), row=pl.col("row") + 10_000)
    return [stop.with_columns(time=pl.lit(last + at)) for at in (10_000.0, 10_001.0)]


@pytest.mark.parametrize("lag", [None, 3])
def test_as_a_table_with_a_restart(spark: Any, tmp_path: Path, lag: int | None) -> None:
    # Rows of a stream at one time in two micro-batches would stay in the order in which they come.
    df = fleet(12, 900).unique(["stream", "time"], keep="first").sort("row")
    parts = [*split(df, 4), *ending(df)]
    write_parts(parts[:2], tmp_path / "in")
    live = cf.spark.event_stream(
        live_frame(spark, tmp_path / "in"), F, RULE, lag=lag, expire_after=5_000.0, **OPTIONS
    )
    assert live.columns[-2:] == ["status", "error"]
    first, _ = run(spark, tmp_path, live)
    assert len(first) > 0
    write_parts(parts[2:], tmp_path / "in")
    out, totals = run(spark, tmp_path, live)
    how: dict[str, Any] = {} if lag is None else {"smooth": True, "lag": lag}
    assert out["status"].unique().to_list() == ["ok"]
    found = out.filter(pl.col("stream") != "clock").drop("status", "error")
    assert_same_bits(found, offline(df, **how))
    refused = dict.fromkeys(("late", "duplicate", "ahead", "invalid"), 0)
    rows = sum(map(len, parts[2:]))
    assert totals == {"ok": rows, **refused, "events": len(out) - len(first)}
    changed = cf.spark.event_stream(
        live_frame(spark, tmp_path / "in"), F, cf.EventRule(3.0), lag=lag, expire_after=5_000.0,
        **OPTIONS,
    )  # fmt: skip
    write_parts([fleet(12, 950)[900:].with_columns(pl.col("time") + 20_000)], tmp_path / "in")
    with pytest.raises(Exception, match=r"was written with other settings .* start a new checkp"):
        run(spark, tmp_path, changed)


def row(number: int, at: float, stream: str, walk: float = 0.9) -> dict[str, Any]:
    p = {"p_walk": walk, "p_sit": 0.9 - walk, "p_sleep": 0.1}
    return {"row": number, "time": at, "stream": stream, "source": "strong", **p}


def test_refused_rows_are_counted_and_come_out(spark: Any, tmp_path: Path) -> None:
    parts = [
        [row(0, 0.0, "ann"), row(1, 30.0, "bob")],
        [row(2, 20.0, "bob"), row(3, 30.0, "bob"), row(4, 100.0, "bob")],  # late, duplicate
        [row(5, 110.0, "bob"), row(6, 115.0, "bob", walk=-1.0)],
        [row(7, 50.0, "ann"), row(8, 120.0, "bob")],  # late: dropped at a watermark of 100
    ]
    schema = fleet(1, 1).schema
    write_parts([pl.DataFrame(rows, schema=schema) for rows in parts], tmp_path / "in")
    out, totals = run(
        spark, tmp_path, cf.spark.event_stream(
            live_frame(spark, tmp_path / "in"), F, cf.EventRule(1.0), beta=BETA,
            expire_after=80.0, invalid="quarantine",
        ),
    )  # fmt: skip
    refused = out.filter(pl.col("status") != "ok")
    shown = refused.select("stream", "start", "status").rows()
    assert shown == [
        ("ann", 50.0, "late"),
        ("bob", 20.0, "late"),
        ("bob", 30.0, "duplicate"),
        ("bob", 115.0, "invalid"),
    ]
    assert refused["class"].null_count() == refused["probability"].null_count() == 4
    assert "before 110.0, the watermark" in refused["error"][0]
    counts = {"ok": 5, "late": 2, "duplicate": 1, "ahead": 0, "invalid": 1}
    assert {name: totals[name] for name in counts} == counts
    assert totals["events"] == len(out) - 4


def test_dates_stay_dates(spark: Any, tmp_path: Path) -> None:
    df = fleet(4, 300).unique(["stream", "time"], keep="first").sort("row")
    rule = cf.EventRule(0.5)
    at = pl.from_epoch((pl.col("time") * 1e6).cast(pl.Int64), time_unit="us")
    dated = df.with_columns(at.dt.replace_time_zone("UTC").alias("time"))
    write_parts(split(dated, 3), tmp_path / "in")
    schema = spark.createDataFrame(dated.to_arrow()).schema
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    zoned = rows.parquet(str(tmp_path / "in"))
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    try:
        for kind in ("timestamp", "timestamp_ntz"):
            folder = tmp_path / kind
            live = zoned.withColumn("time", zoned.time.cast(kind))
            events = cf.spark.event_stream(live, F, rule, **OPTIONS)
            assert dict(events.dtypes)["start"] == dict(events.dtypes)["end"] == kind
            out, _ = run(spark, folder, events)
            local = pl.col("time").dt.convert_time_zone("America/St_Johns")
            time = local.dt.replace_time_zone(None) if kind == "timestamp_ntz" else pl.col("time")
            rows_in = dated.with_columns(time).sort(ORDER)
            wanted = cf.events(rows_in, F, rule, **OPTIONS).sort("stream", "start", "class")
            if kind == "timestamp":
                out = out.with_columns(pl.col("start", "end").dt.convert_time_zone("UTC"))
            # What the last rows have not confirmed is not there.
            confirmed = wanted.join(out, on=["stream", "start", "class"], how="semi")
            assert 10 < len(out) < len(wanted)
            assert_same_bits(out.drop("status", "error"), confirmed)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_what_is_wrong_is_said_before_anything_runs(spark: Any, tmp_path: Path) -> None:
    write_parts([fleet(2, 10)], tmp_path / "in")
    live = live_frame(spark, tmp_path / "in")

    def refuse(match: str, *how: Any, **options: Any) -> None:
        with pytest.raises((ValueError, TypeError), match=match):
            cf.spark.event_stream(*how, **options)

    refuse("not a streaming DataFrame; use event_frame", spark.range(1).selectExpr(
        "1.0 time", "'a' stream", "0.5 p_walk", "0.25 p_sit", "0.25 p_sleep"), F, RULE)  # fmt: skip
    refuse("rule is None, and the pipeline has none", live, F)
    refuse("live events need a filter or a pipeline", live, RULE)
    refuse("live events need an EventRule", live, F, cf.ThresholdRule(0.5))
    refuse("lag is 0; it must be 1 row or more", live, F, RULE, lag=0)
    refuse("VoteFilter", live, cf.VoteFilter(CLASSES, 3), RULE, lag=2)
    refuse("has no column stream", live.drop("stream"), F, RULE)
    refuse("delay is 5.0, but nothing expires", live, F, RULE, delay=5.0)
    refuse("names 'fly'", live, F, cf.EventRule(1.0, ignore="fly"))
