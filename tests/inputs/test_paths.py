"""Every function that takes a table takes the path of one, and errors name the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from conftest import rejected
from source import ROOT

TABLE = ROOT / "examples/one_classifier.csv"
RULE = cf.EventRule("15s")
F = cf.StickyFilter(["sit", "walk", "cycle", "run"], stay=0.5 ** (1 / 600))
PIPE = cf.Pipeline(F, rule=RULE)

CALLS: dict[str, Callable[[Any], Any]] = {
    "recordings": lambda data: {
        name: rec.to_table() for name, rec in cf.rows(data).by_stream().items()
    },
    "tune": lambda data: cf.tune(data, "sticky", event_duration="5min").settings,
    "compare": lambda data: str(cf.compare(data)),
    "filter_table": lambda data: cf.filter_table(data, F),
    "smooth_table": lambda data: cf.smooth_table(data, F),
    "Pipeline.calibrated": lambda data: PIPE.calibrated(data).settings,
    "events": lambda data: cf.events(data, PIPE),
    "events of rows": lambda data: cf.events(data, RULE),
    "Pipeline.events": PIPE.events,
    "label_events": cf.label_events,
}


def text(result: Any) -> str:
    frames = list(result.values()) if isinstance(result, dict) else [result]
    return "".join(f.write_csv() if isinstance(f, pl.DataFrame) else repr(f) for f in frames)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return cf.read_table(TABLE)


@pytest.mark.parametrize("name", CALLS)
def test_a_path_is_a_table(name: str, table: pl.DataFrame) -> None:
    expected = text(CALLS[name](table))
    assert len(expected) > 100
    assert text(CALLS[name](TABLE)) == expected
    assert text(CALLS[name](str(TABLE))) == expected


def test_the_columns_of_a_file_may_have_other_names(tmp_path: Path) -> None:
    """Names of streams stay text: 007 is not 7."""
    day = tmp_path / "day.csv"
    day.write_text("ts,who,p_a,p_b\n0,007,0.9,0.1\n5,007,0.2,0.8\n")
    columns = {"time": "ts", "stream": "who"}
    assert list(cf.rows(day, columns=columns).by_stream()) == ["007"]
    f = cf.RawFilter(["a", "b"])
    found = cf.events(cf.rows(day, columns=columns), f, cf.EventRule(0))
    assert found["stream"].to_list() == ["007", "007"]


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_file(name: str, tmp_path: Path) -> None:
    missing, broken = tmp_path / "missing.csv", tmp_path / "broken.csv"
    with pytest.raises(FileNotFoundError, match=r"missing.csv"):
        CALLS[name](missing)
    broken.write_text("time,p_sit,p_walk,p_cycle,p_run\n0,0.7,0.1,0.1,0.1\n5,0.7,0.1,x,0.1\n")
    with rejected("column p_cycle") as caught:
        CALLS[name](broken)
    assert caught.value.file == str(broken)
    with pytest.raises(ValueError, match=r"table\.xyz"):
        CALLS[name]("table.xyz")
