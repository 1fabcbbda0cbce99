"""Times: dates, text and numbers, exact to the bit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classfilter.inputs import seconds

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))


OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m)))


def exact(moment: datetime) -> float:
    """UNIX seconds of an aware datetime, rounded once: a ratio of two integers."""
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed // timedelta(microseconds=1)) / 10**6


@given(MOMENTS, OFFSETS)
def test_dates_become_unix_seconds(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=zone)
    utc = moment.replace(tzinfo=UTC)
    forms: list[tuple[Any, float]] = [
        ([aware], exact(aware)),
        ([moment], exact(utc)),  # no zone: UTC
        ([aware.isoformat()], exact(aware)),
        ([aware.isoformat(" ")], exact(aware)),
        ([moment.isoformat() + "Z"], exact(utc)),
        ([aware.strftime("%Y-%m-%dT%H:%M:%S.%f%z").rjust(31, "0")], exact(aware)),  # +0130
        (np.array([moment], "datetime64[us]"), exact(utc)),
        (pl.Series([moment]), exact(utc)),
        (pd.Series([aware]), exact(aware)),
    ]
    for form, expected in forms:
        assert abs(float(seconds(form)[0]) - expected) <= 3e-16 * abs(expected) + 1e-15, form


def test_the_unit_of_a_date_does_not_change_its_bits() -> None:
    """Nanoseconds of today do not fit into a double; half a second more or less is seen."""
    rng = np.random.default_rng(0)
    us = rng.integers(1_600_000_000_000_000, 1_900_000_000_000_000, 1000)
    dates = us.astype("datetime64[us]")
    expected = [value / 10**6 for value in us.tolist()]
    assert seconds(dates).tolist() == expected
    assert seconds(dates.astype("datetime64[ns]")).tolist() == expected
    text = [f"{date}Z" for date in dates.astype("datetime64[ns]").astype(str)]
    assert seconds(text).tolist() == expected
    day = np.array(["2024-05-01", "1960-01-01"], "datetime64[D]")
    assert seconds(day).tolist() == [1714521600.0, -315619200.0]
    assert seconds(["2024-05-01T00:00+00", "2024-05-01 00:00:00,25 z"]).tolist() == [
        1714521600.0,
        1714521600.25,
    ]


@pytest.mark.parametrize(
    "parse",
    [
        lambda text: pd.to_datetime(text, utc=True).tz_localize(None),
        lambda text: pl.Series(text).str.to_datetime(time_zone="UTC"),
    ],
)
def test_text_is_parsed_as_by_other_libraries(parse: Any) -> None:
    text = ["2024-03-31T01:59:59.125+01:00", "2024-03-31T03:00:00.5+02:00"]
    assert seconds(text).tolist() == seconds(np.asarray(parse(text))).tolist()
    assert np.diff(seconds(text)).tolist() == [1.375]


def test_numbers_do_not_change() -> None:
    assert seconds([3, 1, 2]).tolist() == [3.0, 1.0, 2.0]
    assert seconds(np.array([0.1], np.float32)).tolist() == [float(np.float32(0.1))]
    assert seconds([1, 2.5, 10**9]).tolist() == [1, 2.5, 1e9]
