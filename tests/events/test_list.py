"""Lists of events: as tables of every kind, as text and HTML; their dates stay dates."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.events import date_text

MAY = 1_714_550_400.0  # 2024-05-01T08:00:00Z
NIGHT = [
    cf.Event("ann", "walk", 0.0, 60.5, 0.9),
    cf.Event("ann", "sit", 60.5, 90.0, None),
    cf.Event("bob", "walk", 10.0, 30.0, 0.75),
]
KINDS = ("polars", "pandas", "pyarrow")


def test_duration_of_a_provisional_event_is_none() -> None:
    assert cf.Event("ann", "walk", 3.0, 5.5, 0.9).duration == 2.5
    assert cf.Event("ann", "walk", 3.0, None, 0.9).duration is None


def test_it_is_a_list_and_its_parts_keep_the_kind_of_time() -> None:
    events = cf.Events(NIGHT, dates=True, zone="Europe/Berlin")
    assert events == NIGHT
    assert events[0] == NIGHT[0]
    assert (events[1:], events[1:].dates, events[1:].zone) == (NIGHT[1:], True, "Europe/Berlin")
    again = pickle.loads(pickle.dumps(events))
    assert (again, again.dates, again.zone) == (NIGHT, True, "Europe/Berlin")


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind(kind: str) -> None:
    df = cf.Events(NIGHT).to_table(kind)
    columns = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.Table}
    assert isinstance(df, columns[kind])
    rows = df.to_pylist() if kind == "pyarrow" else pl.DataFrame(df).to_dicts()
    assert list(rows[0]) == ["stream", "class", "start", "end", "duration", "probability"]
    assert rows[0] == {
        "stream": "ann",
        "class": "walk",
        "start": 0.0,
        "end": 60.5,
        "duration": 60.5,
        "probability": 0.9,
    }
    assert cf.Events.from_table(df) == NIGHT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
def test_dates_are_dates_in_tables(kind: str, zone: str | None) -> None:
    events = cf.Events(
        [
            cf.Event("ann", "walk", MAY, MAY + 60.25, 0.5),
            cf.Event("ann", "sit", MAY + 60.25, None, 0.5),
        ],
        dates=True,
        zone=zone,
    )
    df = events.to_table(kind)
    again = cf.Events.from_table(df)
    assert again == events
    assert again.dates
    in_polars = kind == "polars" and zone == "+05:30"
    assert again.zone == ("UTC" if in_polars else zone)
    first = (df["start"].to_list() if kind == "polars" else pd.Series(df["start"]).tolist())[0]
    if kind != "pyarrow":
        assert first.timestamp() == MAY or zone is None
        assert first.hour == {None: 8, "UTC": 8, "Europe/Berlin": 10}.get(
            zone, 8 if in_polars else 13
        )


@pytest.mark.parametrize("kind", KINDS)
def test_no_events(kind: str) -> None:
    df = cf.Events(dates=True).to_table(kind)
    assert cf.Events.from_table(df) == []
    assert repr(cf.Events()) == "0 events, 0 classes, 0 streams"
    assert "0 events" in cf.Events()._repr_html_()


def test_columns_are_renamed_others_ignored_and_duration_serves() -> None:
    df = pd.DataFrame({"onset": [1, 2], "duration": [2.5, 3.0], "what": ["a", "b"], "x": [0, 0]})
    events = cf.Events.from_table(df, columns={"start": "onset", "class": "what"})
    assert events == [(None, "a", 1.0, 3.5, None), (None, "b", 2.0, 5.0, None)]


def test_a_table_is_a_list_of_events() -> None:
    assert cf.Events.of(cf.Events(NIGHT).to_table("pyarrow")) == NIGHT


def test_text_has_the_first_events_and_the_number_of_all() -> None:
    lines = repr(cf.Events(NIGHT * 4)).split("\n")
    assert lines[0] == "12 events, 2 classes, 2 streams"
    assert lines[1].split() == ["stream", "class", "start", "end", "duration", "probability"]
    assert lines[2].split() == ["ann", "walk", "0", "60.5", "60.5", "0.9"]
    assert lines[-1] == "... 2 more"
    dates = repr(cf.Events([("a", "walk", MAY, MAY + 60, 0.5)], dates=True, zone="Europe/Berlin"))
    assert "2024-05-01T10:00:00+02:00  2024-05-01T10:01:00+02:00  60 " in dates


def test_html_is_escaped_and_has_the_total_time_of_each_class() -> None:
    html = cf.Events([*NIGHT, cf.Event("<b>", "a&b", 0.0, 1.0, 0.5)])._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a&amp;b" in html
    walk = '<td style="text-align:left">walk</td><td style="text-align:right">2</td>'
    assert walk + '<td style="text-align:right">80.5</td>' in html


@given(st.integers(-8 * 10**15, 8 * 10**15))  # beyond, floats have no microseconds
def test_dates_as_text_are_those_of_datetime(micros: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    moment = moment.astimezone(ZoneInfo("Asia/Kolkata"))
    text = date_text(moment.timestamp(), "Asia/Kolkata")
    assert pd.Timestamp(text) == pd.Timestamp(moment)


@pytest.mark.parametrize(
    ("start", "zone"),
    [
        ("2024-05-01T08:00:00Z", "UTC"),
        ("2024-05-01 08:00-0330", "-03:30"),
        ("2024-05-01T08:00:00.5+02", "+02:00"),
        ("2024-05-01T08:00:00", None),
        ("2024-05-01", None),
        (datetime(2024, 5, 1, tzinfo=ZoneInfo("Europe/Berlin")), "Europe/Berlin"),
        (datetime(2024, 5, 1, tzinfo=timezone(timedelta(hours=2))), "+02:00"),
        (datetime(2024, 5, 1), None),
    ],
)
def test_zones_of_dates(start: Any, zone: str | None) -> None:
    cells = pd.DataFrame({"class": ["a"], "start": [start], "end": [start]}, dtype=object)
    events = cf.Events.from_table(cells)
    assert (events.dates, events.zone) == (True, zone)
