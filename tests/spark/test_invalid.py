"""Invalid rows: the job fails with the row named, or they are set apart; the others stay right."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import format_for
from classfilter.spark import batch
from classfilter.spark.rows import check_rows
from classfilter.spark.schema import FrameFormat
from fleet_frames import BETA, CHANNEL, CLASSES, RESULTS, assert_same_bits, by_row, expected, fleet

F = cf.DirichletFilter(CLASSES, half_life=60.0)
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "negative": ({"p_walk": -0.5, "p_sit": 1.0, "p_sleep": 0.5}, "class 'walk', is -0.5"),
    "partly null": ({"p_walk": None, "p_sit": 0.5, "p_sleep": 0.5}, "class 'walk', is nan"),
    "sum": ({"p_walk": 0.9, "p_sit": 0.9, "p_sleep": 0.0}, "sums to 1.8"),
    "unknown source": ({"source": "other"}, "source in the row of .*'other', which has no weight"),
    "no source": ({"source": None}, "source in the row of .* is None; it must be a name"),
    "no stream": ({"stream": None}, "stream in the row of stream None, .* every row needs one"),
    "no time": ({"time": None}, "time in the row of .* it must be finite"),
    "time": ({"time": float("inf")}, "time in the row of .* is inf; it must be finite"),
}


def spoil(df: pl.DataFrame, row: int, wrong: dict[str, Any]) -> pl.DataFrame:
    """Change cells of a row."""
    return df.with_columns(
        pl.when(pl.col("row") == row).then(pl.lit(cell)).otherwise(pl.col(name)).alias(name)
        for name, cell in wrong.items()
    )


def form(invalid: str) -> FrameFormat:
    table = format_for(F)
    pipe = cf.Pipeline(F, beta=BETA, channel=CHANNEL)
    return FrameFormat(table, table.layout(fleet(1, 1).columns), pipe, invalid)


@pytest.mark.parametrize("kind", WRONG)
def test_an_invalid_row_is_named(kind: str) -> None:
    df = fleet(3, 20)
    wrong, message = WRONG[kind]
    table = spoil(df, 11, wrong).to_arrow()
    with pytest.raises(ValueError, match=message) as error:
        check_rows(table, form("fail"))
    name, time = table["stream"][11].as_py(), table["time"][11].as_py()
    assert f"the row of stream {name!r}, time {time!r}, source " in str(error.value)
    assert str(error.value).endswith('correct it, or give invalid="quarantine"')


@given(st.lists(st.tuples(st.integers(0, 39), st.sampled_from(sorted(WRONG))), max_size=12))
def test_all_invalid_rows_are_set_apart(spoiled: list[tuple[int, str]]) -> None:
    df = fleet(3, 40).with_columns(pl.col("p_walk", "p_sit", "p_sleep").fill_null(1 / 3))
    rows = dict(spoiled)
    for row, kind in rows.items():
        df = spoil(df, row, WRONG[kind][0])
    checked = check_rows(df.to_arrow(), form("quarantine"))
    assert {row for row, ok in enumerate(checked.valid) if not ok} == set(rows)
    assert {row for row, error in enumerate(checked.errors) if error is not None} == set(rows)
    assert len(checked.rows.time) == 40 - len(rows)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_invalid_rows_hold_up_no_smoothing(size: int) -> None:
    """A stream may end in invalid rows, with other streams behind it in the same batch."""
    df = fleet(3, 40).sort("stream", "time", "source")
    end = df["stream"].to_list().count("s0")
    invalid = df["row"].to_list()[end - 4 : end]
    for row in invalid:
        df = spoil(df, row, WRONG["negative"][0])
    parts = df.to_arrow().combine_chunks().to_batches(max_chunksize=size)
    out = list(batch.Work(form("quarantine"), 2)(iter(parts)))
    smoothed = pl.concat([pl.DataFrame(batch) for batch in out])
    assert smoothed["row"].to_list() == df["row"].to_list()
    ok = smoothed.filter(status="ok").drop("status", "error")
    valid = df.filter(~pl.col("row").is_in(invalid))
    assert_same_bits(ok, cf.smooth_table(valid, F, beta=BETA, channel=CHANNEL, lag=2))


def test_the_job_fails(spark: Any) -> None:
    df = spoil(fleet(3, 20), 11, WRONG["negative"][0])
    filtered = cf.spark.filter_frame(
        spark.createDataFrame(df.to_arrow()), F, beta=BETA, channel=CHANNEL
    )
    with pytest.raises(Exception, match=r"class 'walk', is -0\.5"):
        filtered.toArrow()


@pytest.mark.parametrize("lag", [0, None, 2])
def test_invalid_rows_are_quarantined(spark: Any, lag: int | None) -> None:
    good, df = fleet(3, 60), fleet(3, 60)
    rows = dict(zip((2, 3, 11, 30, 31, 32, 33, 59), WRONG, strict=True))
    for row, kind in rows.items():
        df = spoil(df, row, WRONG[kind][0])
    frame = spark.createDataFrame(df.to_arrow())
    at_once = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(at_once)
    spark.conf.set(at_once, "4")  # whole batches are invalid, too
    try:
        result = cf.spark.filter_frame(
            frame, F, beta=BETA, channel=CHANNEL, lag=lag, invalid="quarantine"
        )
        collected = by_row(result)
    finally:
        spark.conf.set(at_once, before)
    bad = collected.filter(status="invalid")
    assert bad["row"].to_list() == list(rows)
    assert bad.select(pl.col(RESULTS).is_null().all()).row(0) == (True,) * 4
    assert bad["error"].str.contains("in the row of stream").all()
    valid = good.filter(~pl.col("row").is_in(list(rows)))
    if lag == 0:
        wanted = expected(valid, F)
    else:
        order = ["stream", "time", "source"]
        wanted = cf.smooth_table(valid.sort(order), F, beta=BETA, channel=CHANNEL, lag=lag).sort(
            "row"
        )
    ok = collected.filter(status="ok")
    assert ok["error"].null_count() == len(ok)
    assert_same_bits(ok.drop("status", "error"), wanted)
