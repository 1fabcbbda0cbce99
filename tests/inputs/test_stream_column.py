"""Tables whose streams stand in a column of another name: nothing is mixed without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from conftest import rejected
from example_tables import walk_sit

ROWS = {"p_walk": [0.9, 0.2, 0.8, 0.1], "p_sit": [0.1, 0.8, 0.2, 0.9]}
IN_TURN = {"time": [0, 0, 5, 5], "Machine": ["A", "B", "A", "B"], "unit": [7, 7, 7, 7]}
BLOCKS = {"time": [0, 5, 0, 5], "Machine": ["A", "A", "B", "B"], "number": [1, 2, 3, 4]}


def test_in_files(tmp_path: Path) -> None:
    day, out = tmp_path / "day.csv", tmp_path / "out.csv"
    for lag in (0, 1, None):
        cf.write_table(pl.DataFrame(IN_TURN | ROWS), day)
        with pytest.warns(UserWarning, match="2 rows .* 'Machine' may be one"):
            cf.filter_file(day, out, walk_sit(), lag=lag)
        cf.write_table(pl.DataFrame(BLOCKS | ROWS), day)
        with rejected("time", cf.RowError) as caught:
            cf.filter_file(day, out, walk_sit(), lag=lag)
        assert caught.value.line == 4


@pytest.mark.parametrize("others", [{}, {"name": list("abcd")}, {"name": list("aabb")}])
def test_no_column_that_may_be_one(others: dict[str, Any]) -> None:
    """Without a column that tells them apart, several rows at one time are of one stream."""
    cf.filter_table(pl.DataFrame({"time": [0, 0, 5, 5], **others, **ROWS}), walk_sit())
    back = pl.DataFrame({"time": [5, 0, 5, 0], **others, **ROWS})
    with rejected("time", cf.RowError):
        cf.filter_table(back, walk_sit())
