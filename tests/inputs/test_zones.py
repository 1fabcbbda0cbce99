"""Rows give their times back as what they were, and shows them in their own zone."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.inputs import TimeKind
from classfilter.report.page_data import page_data
from classfilter.tuning import thin

KINDS = ("polars", "pandas", "pyarrow")
ZONES = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"]
BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2024, 3, 31, 1, 59, 58, 250_000)  # two seconds later, clocks go on an hour
INDIA = timezone(timedelta(hours=5, minutes=30))


def dates(zone: Any) -> list[datetime]:
    utc = START.replace(tzinfo=UTC)
    moments = [utc + timedelta(seconds=s) for s in (-3600, -3598, 0)]
    return [at.astimezone(zone) if zone else at.replace(tzinfo=None) for at in moments]


def rows_at(time: Any, **options: Any) -> cf.Rows:
    return cf.rows(
        time=time,
        source="weak",
        probs=[[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]],
        classes=["a", "b"],
        **options,
    )


def times(df: Any) -> list[Any]:
    """Return the column of times as Python has it."""
    if isinstance(df, pd.DataFrame):
        return [x if isinstance(x, float) else x.to_pytimedelta() if isinstance(x, pd.Timedelta)
                else x.to_pydatetime() for x in df["time"]]  # fmt: skip
    cells: list[Any] = df["time"].to_pylist() if isinstance(df, pa.Table) else df["time"].to_list()
    return cells


def zone_of(df: Any) -> str | None:
    if isinstance(df, pd.DataFrame):
        zone = df["time"].dt.tz
        return None if zone is None else str(zone)
    if isinstance(df, pa.Table):
        name: str | None = df.schema.field("time").type.tz
        return name
    return df["time"].dtype.time_zone  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zone", [None, *ZONES])
def test_dates_of_any_library_come_back(kind: str, zone: str | None) -> None:
    moments = dates(ZoneInfo(zone) if zone else None)
    polars = pl.DataFrame({"time": pl.Series(moments, dtype=pl.Datetime("us", zone))})
    polars = polars.with_columns(p_a=pl.Series([0.9, 0.2, 0.7]), p_b=pl.Series([0.1, 0.8, 0.3]))
    for df in (polars, polars.to_pandas(), polars.to_arrow()):
        rec = cf.rows(df)
        back = rec.to_table(kind)
        assert times(back) == moments
        assert zone_of(back) == zone
        again = cf.rows(back)
        assert again.time.tolist() == rec.time.tolist()
        assert again.to_table().equals(rec.to_table())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([0, 5, 7], [0.0, 5.0, 7.0]),
        (["0", "5", "7.5"], [0.0, 5.0, 7.5]),
        (np.array([0, 1500, 2000], "m8[ms]"), [timedelta(seconds=s) for s in (0, 1.5, 2)]),
        (["PT0S", "PT1.5S", "PT2S"], [timedelta(seconds=s) for s in (0, 1.5, 2)]),
        (np.array(dates(None), "M8[us]"), dates(None)),
        ([at.isoformat() for at in dates(None)], dates(None)),
        ([at.isoformat() + "Z" for at in dates(None)], dates(UTC)),
        ([date(2024, 5, d) for d in (1, 2, 3)], [datetime(2024, 5, d) for d in (1, 2, 3)]),
        ([at.isoformat() for at in dates(BERLIN)], dates(UTC)),  # two offsets
        (dates(timezone(timedelta(hours=2))), dates(UTC)),
        (dates(INDIA), dates(UTC)),
    ],
)
def test_other_times_come_back(given_: Any, expected: list[Any], kind: str) -> None:
    back = times(rows_at(given_).to_table(kind))
    assert back == expected
    assert [getattr(at, "tzinfo", None) is None for at in back] == [
        getattr(at, "tzinfo", None) is None for at in expected
    ]


@pytest.mark.parametrize(
    ("zone", "names"),
    [
        (timezone(timedelta(hours=2)), ["Etc/GMT-2", "UTC+02:00", "+02:00"]),
        (INDIA, ["UTC", "UTC+05:30", "+05:30"]),
    ],
)
def test_fixed_offsets(zone: timezone, names: list[str]) -> None:
    """Polars has no zone for half an hour: there it is UTC, the same moments."""
    rec = rows_at([at.isoformat() for at in dates(zone)])
    assert [zone_of(rec.to_table(kind)) for kind in KINDS] == names
    assert rec.time_kind.text(rec.time[0]) == dates(zone)[0].isoformat(" ", "seconds")


def test_a_unit_gives_seconds_back() -> None:
    rec = rows_at([0, 1500, 2000], unit="ms")
    assert rec.to_table()["time"].to_list() == rec.time.tolist() == [0.0, 1.5, 2.0]


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)), st.sampled_from([None, *ZONES]))
def test_every_microsecond_comes_back(moment: datetime, name: str | None) -> None:
    zone = ZoneInfo(name) if name else None
    at: Any = moment.replace(tzinfo=UTC).astimezone(zone) if zone else moment
    rec = cf.rows(time=[at], source="weak", probs=[[0.9, 0.1]], classes=2)
    (back,) = times(rec.to_table())
    assert back == at
    assert back.utcoffset() == at.utcoffset()
    shown = at.isoformat(" ", "seconds")
    assert rec.time_kind.text(rec.time[0]) == shown


def parts(rec: cf.Rows) -> list[cf.Rows]:
    return [
        rec.take(slice(0, 2)),
        copy.copy(rec),
        copy.deepcopy(rec),
        pickle.loads(pickle.dumps(rec)),
        *thin([rec], "weak", 2).recordings,
    ]


def test_every_part_keeps_the_zone() -> None:
    rec = rows_at(dates(BERLIN))
    for part in parts(rec):
        assert part.time_kind == TimeKind("date", BERLIN)
    assert all(part.time_kind == TimeKind() for part in parts(rows_at([0, 5, 7])))


def test_what_is_shown() -> None:
    rec = rows_at(dates(BERLIN))
    span = "2024-03-31 01:59:58+01:00 to 2024-03-31 03:59:58+02:00"
    assert repr(rec).startswith(f"Rows(3 rows, {span}, classes ['a', 'b'], ")
    html = rec._repr_html_()
    assert f"3 rows, times {span}<" in html
    naive = rows_at(dates(None))
    assert "3 rows, 2024-03-31 00:59:58 to 2024-03-31 01:59:58, " in repr(naive)
    assert repr(rows_at([0, 5, 7])).startswith("Rows(3 rows, classes ")
    assert "times 0 to 7<" in rows_at([0, 5, 7])._repr_html_()


@pytest.mark.parametrize(
    ("time", "label"),
    [
        (dates(BERLIN), "Time (Europe/Berlin)"),
        (dates(None), "Time (no zone)"),
        ([0, 5, 7], "Time (s)"),
    ],
)
def test_a_picture_is_in_the_zone_of_the_rows(time: Any, label: str) -> None:
    rec = rows_at(time)
    assert cf.plot.overview(rec, rec.probs).axes[-1].get_xlabel() == label
    kolkata = cf.plot.overview(rec, rec.probs, zone="Asia/Kolkata").axes[-1]
    assert kolkata.get_xlabel() == "Time (Asia/Kolkata)"


@pytest.mark.parametrize(
    ("time", "zone"),
    [
        (dates(BERLIN), "Europe/Berlin"),
        (dates(timezone(timedelta(hours=-3))), "-03:00"),
        (dates(None), ""),
        ([0, 5, 7], None),
        ([1.7e9, 1.7e9 + 5, 1.7e9 + 7], "UTC"),
        (np.array([0, 5, 7], "m8[s]"), None),
    ],
)
def test_a_report_has_the_zone_of_the_rows(time: Any, zone: str | None) -> None:
    tuned = cf.Pipeline(cf.DirichletFilter(["a", "b"]), beta={"weak": 1.0})
    assert page_data([("all", rows_at(time))], tuned)["zone"] == zone
