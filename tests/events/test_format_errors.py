"""Files and lists that are no events: an error with the place and what to do, and no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import classfilter as cf
from classfilter.events import FORMATS
from conftest import rejected

GOOD = cf.Event("ann", "walk", 0.0, 1.0, 0.5)


def test_overlaps_can_be_allowed(tmp_path: Path) -> None:
    both = [GOOD, GOOD._replace(start=0.5, end=2.0)]
    path = tmp_path / "night.rttm"
    with rejected("start", cf.RowError, row=1):
        cf.write_events(both, path)
    assert not path.exists()
    cf.write_events(both, path, overlaps=True)
    with rejected("start", cf.RowError, row=1, line=2):
        cf.read_events(path)
    assert cf.read_events(path, overlaps=True) == both


def test_events_that_touch_are_no_overlap(tmp_path: Path) -> None:
    rows = [(None, "a", 1.0, 2.0), (None, "a", 0.0, 1.0), ("s", "a", 0.5, 1.5)]
    cf.write_events(rows, tmp_path / "x.csv")
    assert len(cf.read_events(tmp_path / "x.csv")) == 3


@pytest.mark.parametrize("name", FORMATS)
def test_no_events_are_a_file_too(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"night.{name}"
    options: dict[str, Any] = {"duration": 1} if name == "textgrid" else {}
    cf.write_events([], path, **options)
    assert path.exists()
    if FORMATS[name].read:
        assert cf.read_events(path) == []
