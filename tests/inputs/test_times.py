"""Times of any kind give the same seconds, in dataframes, arrays, text and files."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from classfilter.inputs import duration, seconds
from conftest import rejected
from example_tables import KINDS, columns, walk_sit

DAY = 86400.0
START = 1704067200.0  # 2024-01-01T00:00:00Z, by `date -d 2024-01-01T00:00:00Z +%s`
UTC = UTC
NAIVE = [datetime(2024, 1, 1, 0, 0, s) for s in (0, 1, 3)]
SECONDS = [START, START + 1, START + 3]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (NAIVE, SECONDS),
        ([at.replace(tzinfo=UTC) for at in NAIVE], SECONDS),
        ([f"{at:%Y-%m-%d %H:%M:%S}" for at in NAIVE], SECONDS),
        ([f"{at:%Y-%m-%dT%H:%M:%S}" for at in NAIVE], SECONDS),
        ([f"{at:%Y-%m-%dT%H:%M:%S}Z" for at in NAIVE], SECONDS),
        ([f"{at:%Y-%m-%dT%H:%M:%S}-01:00" for at in NAIVE], [t + 3600 for t in SECONDS]),
        ([date(2024, 1, d) for d in (1, 2, 4)], [START, START + DAY, START + 3 * DAY]),
        ([f"2024-01-0{d}" for d in (1, 2, 4)], [START, START + DAY, START + 3 * DAY]),
        ([timedelta(seconds=s) for s in (0, 1.5, DAY)], [0, 1.5, DAY]),
        (["0 days 00:00:00", "0 days 00:00:01.500000", "1 days 00:00:00"], [0, 1.5, DAY]),
        (["PT0S", "PT1.5S", "P1D"], [0, 1.5, DAY]),
        (["0", " 1.5", "2e3 "], [0, 1.5, 2000]),
        (["-1 days +23:59:59", "PT1H", "P1DT2H3M4S"], [-1, 3600, DAY + 7384]),
    ],
)
def test_lists_and_columns_of_any_library(times: Any, expected: list[float]) -> None:
    assert seconds(times).tolist() == expected
    for df in (pd.DataFrame(columns(time=times)), pl.DataFrame(columns(time=times))):
        assert cf.rows(df).time.tolist() == expected


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson"])
def test_columns_of_pandas_and_their_files(zone: str | None, suffix: str, tmp_path: Path) -> None:
    """As a dataframe, in a file of Polars, and in a CSV file of pandas."""
    times = pd.to_datetime(NAIVE).tz_localize("UTC").tz_convert(zone)
    df, path = pd.DataFrame(columns(time=times)), tmp_path / f"in{suffix}"
    assert cf.rows(df).time.tolist() == SECONDS
    if suffix == ".csv":
        df.to_csv(path, index=False)
    else:
        cf.write_table(df, path)
    assert cf.rows(cf.read_table(path)).time.tolist() == SECONDS
    f = walk_sit(half_life=2.0)
    cf.filter_file(path, tmp_path / "out.parquet", f)
    expected = cf.Pipeline.of(f).run(cf.rows(df))[:, 0]
    out = cf.read_table(tmp_path / "out.parquet")
    np.testing.assert_allclose(out["f_walk"].to_numpy(), expected, rtol=1e-14)


def test_timedeltas_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    times = [timedelta(seconds=s) for s in (0, 1.5, DAY)]
    pd.DataFrame(columns(time=times)).to_csv(path, index=False)
    assert cf.rows(cf.read_table(path)).time.tolist() == [0, 1.5, DAY]


def test_arrays_of_numpy() -> None:
    times = np.array([0, 1500, 86_400_000], "timedelta64[ms]")
    assert seconds(times).tolist() == [0, 1.5, DAY]
    assert seconds(np.array(["2024-01-01"], "datetime64[D]")).tolist() == [START]


@pytest.mark.parametrize("text", ["", " ", "P", "PT", "P1DT", "12:30:00", "2 days ago"])
def test_other_text_is_no_time(text: str) -> None:
    with rejected("time"):
        seconds(["2024-01-01", text])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (30, 30.0),
        (np.float32(0.5), 0.5),
        ("30", 30.0),
        (" 500 ms ", 0.5),
        ("1.5min", 90.0),
        ("5m", 300.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        (timedelta(minutes=2), 120.0),
        (np.timedelta64(1500, "ms"), 1.5),
    ],
)
def test_a_duration_is_a_number_of_seconds(value: object, expected: float) -> None:
    assert duration("half_life", value) == expected


@pytest.mark.parametrize("value", ["", "60sec", "1:30", "s", True, None, [1], "1e", "5 weeks"])
def test_what_is_no_duration_is_refused(value: object) -> None:
    with rejected("half_life") as caught:
        duration("half_life", value)
    assert caught.value.argument == "half_life"
    assert caught.value.value == value


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_dates_by_a_format(kind: str) -> None:
    """What is no text stays what it is; spaces around do not matter."""
    text = ["01.05.2024 08:00:00", " 01.05.2024 08:00:05", "02.05.2024 08:00:00 "]
    df = KINDS[kind](columns(time=text))
    how: Any = {"time_format": "%d.%m.%Y %H:%M:%S"}
    rows = cf.rows(df, **how)
    start = datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert rows.time.tolist() == [start.timestamp() + s for s in (0, 5, DAY)]
    assert (rows.time_kind.kind, rows.time_kind.zone) == ("date", None)
    arrays = cf.rows(time=text, probs=rows.probs, classes=2, **how)
    assert arrays.time.tolist() == rows.time.tolist()
    assert cf.rows(KINDS[kind](columns(time=[0, 5, 6])), **how).time.tolist() == [0, 5, 6]
    cells: Any = [start, text[1]]
    mixed = cf.rows(time=cells, probs=rows.probs[:2], classes=2, **how)
    assert mixed.dt.tolist() == [0, 5]
    zoned = cf.rows(time=["1/5/24 +0200"], probs=[[1, 0]], classes=2, time_format="%d/%m/%y %z")
    assert zoned.time_kind.text(zoned.time[0]) == "2024-05-01 00:00:00+02:00"
