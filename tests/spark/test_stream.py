"""Live queries: the bits of tables, counted late rows, expiry, settings that may not change."""

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
    RESULTS,
    SETTINGS,
    assert_same_bits,
    expected,
    fleet,
    live_frame,
    run,
    split,
    write_parts,
)

F = cf.DirichletFilter(CLASSES, half_life=60.0)
STATUSES = ("ok", "late", "duplicate", "ahead", "invalid")


def counted(query: Any) -> dict[str, int]:
    """The rows by status, as the query's progress has them."""
    totals = dict.fromkeys(STATUSES, 0)
    for progress in query.recentProgress:
        for name, count in progress["observedMetrics"]["classfilter"].asDict().items():
            totals[name] += count
    return totals


def test_as_a_table_and_only_with_the_same_settings(spark: Any, tmp_path: Path) -> None:
    df = fleet(50, 1200)
    write_parts(split(df, 3), tmp_path / "in")
    live = live_frame(spark, tmp_path / "in")
    out, query = run(spark, tmp_path, cf.spark.filter_stream(live, F, beta=BETA, channel=CHANNEL))
    assert len(query.recentProgress) >= 3
    assert counted(query) == dict.fromkeys(STATUSES, 0) | {"ok": 1200}
    assert_same_bits(out.drop("status", "error"), expected(df, F))
    more = fleet(50, 1300)[1200:]
    write_parts([more], tmp_path / "in")
    changed = cf.spark.filter_stream(live, F, beta={**BETA, "weak": 0.3}, channel=CHANNEL)
    with pytest.raises(Exception, match=r"was written with other settings .* start a new checkp"):
        run(spark, tmp_path, changed)
    out, _ = run(spark, tmp_path, cf.spark.filter_stream(live, F, beta=BETA, channel=CHANNEL))
    both = pl.concat([df, more])
    assert_same_bits(out.drop("status", "error"), expected(both, F))


def row(number: int, at: float, stream: str, walk: float = 0.5) -> dict[str, Any]:
    p = {"p_walk": walk, "p_sit": 0.9 - walk, "p_sleep": 0.1}
    return {"row": number, "time": at, "stream": stream, "source": "weak", **p}


def test_late_rows_are_counted_and_silent_streams_expire(spark: Any, tmp_path: Path) -> None:
    parts = [
        [row(0, 0.0, "ann"), row(1, 30.0, "bob")],
        [row(2, 20.0, "bob"), row(3, 30.0, "bob"), row(4, 100.0, "bob")],  # late, duplicate
        [row(5, 110.0, "bob"), row(6, 115.0, "bob", walk=-1.0)],
        [
            row(7, 50.0, "ann"),
            row(8, 120.0, "bob"),
        ],  # late: dropped at a watermark of 100, of part 1
        [row(9, 130.0, "ann")],
    ]
    schema = fleet(1, 1).schema
    write_parts([pl.DataFrame(rows, schema=schema) for rows in parts], tmp_path / "in")
    live = live_frame(spark, tmp_path / "in")
    out, query = run(
        spark, tmp_path, cf.spark.filter_stream(
            live, F, beta=BETA, channel=CHANNEL, expire_after=80.0, invalid="quarantine"
        )
    )  # fmt: skip
    ok, late = "ok", "late"
    assert out["status"].to_list() == [
        ok, ok, late, "duplicate", ok, ok, "invalid", late, ok, ok,
    ]  # fmt: skip
    assert counted(query) == {
        "ok": 6, "late": 2, "duplicate": 1, "ahead": 0, "invalid": 1,
    }  # fmt: skip
    assert "before 110.0, the watermark" in out["error"][7]
    states = {p["batchId"]: p["stateOperators"][0]["numRowsTotal"] for p in query.recentProgress}
    assert states[1] == 2
    assert min(states.values()) == 1
    for name in ("ann", "bob"):
        rows = out.filter(stream=name, status="ok")
        if name == "ann":
            rows = rows[1:]  # it began again
        wanted = cf.filter_table(rows[list(schema)], F, beta=BETA, channel=CHANNEL)
        assert rows[RESULTS].equals(wanted[RESULTS])


def test_an_invalid_row_fails_the_query(spark: Any, tmp_path: Path) -> None:
    df = pl.DataFrame([row(0, 0.0, "ann", walk=-1.0)], schema=fleet(1, 1).schema)
    write_parts([df], tmp_path / "in")
    filtered = cf.spark.filter_stream(
        live_frame(spark, tmp_path / "in"), F, beta=BETA, channel=CHANNEL
    )
    match = r"row of stream 'ann', time 0\.0, source 'weak', class 'walk', is -1\.0"
    with pytest.raises(Exception, match=match):
        run(spark, tmp_path, filtered)


def test_what_is_wrong_is_said_before_anything_runs(spark: Any, tmp_path: Path) -> None:
    write_parts([fleet(2, 10)], tmp_path / "in")
    live = live_frame(spark, tmp_path / "in")

    def refuse(match: str, df: Any, **options: Any) -> None:
        with pytest.raises(ValueError, match=match):
            cf.spark.filter_stream(df, F, beta=BETA, **options)

    refuse("not a streaming DataFrame; use filter_frame", spark.createDataFrame([], live.schema))
    with pytest.raises(ValueError, match="a streaming DataFrame; use filter_stream"):
        cf.spark.filter_frame(live, F, beta=BETA)
    refuse("has no column stream", live.drop("stream"))
    refuse("expire_after is 0; it must be positive", live, expire_after=0)
    refuse("delay is -1; it must be finite and not", live, expire_after=1, delay=-1)
    refuse("delay is 5.0, but nothing expires", live, delay=5.0)
    timed = live.withColumn("time", live.time.cast("timestamp"))
    refuse("has a watermark on column time", timed.withWatermark("time", "1 minute"))
    name = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.unset(name)
    try:
        refuse("filter_stream needs that of RocksDB: spark.conf.set", live)
    finally:
        spark.conf.set(name, SETTINGS[name])
