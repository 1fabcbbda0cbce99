"""Tables that can be filtered, but are likely not what was meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from example_tables import walk_sit

ROWS = {"time": [0, 5], "p_walk": [0.9, 0.4], "p_sit": [0.1, 0.6]}
CHANNEL = cf.Channel([[9, 1], [2, 8]])


@pytest.mark.parametrize("by", ["filter_table", "smooth_table", "events", "filter_file"])
def test_channels_of_no_row_are_warned_of(by: str, tmp_path: Path) -> None:
    day, out = tmp_path / "day.csv", tmp_path / "out.csv"
    cf.write_table(pl.DataFrame(ROWS), day)
    calls: dict[str, Callable[..., Any]] = {
        "filter_table": lambda chain: cf.filter_table(pl.DataFrame(ROWS), chain),
        "smooth_table": lambda chain: cf.smooth_table(pl.DataFrame(ROWS), chain),
        "events": lambda chain: cf.events(pl.DataFrame(ROWS), chain, cf.EventRule(change_cost=1.0)),
        "filter_file": lambda chain: cf.filter_file(day, out, chain),
    }
    with pytest.warns(UserWarning, match=r"channel names \['net'\].*channel={'default': ...}"):
        calls[by](cf.Chain(walk_sit(), channel={"net": CHANNEL}))
    calls[by](cf.Chain(walk_sit(), channel={"default": CHANNEL}))
    calls[by](cf.Chain(walk_sit(), channel={"default": CHANNEL, "net": CHANNEL}))
    calls[by](cf.Chain(walk_sit(), channel={"net": None}))
    calls[by](cf.Chain(walk_sit(), beta={"default": 1.0, "net": 1.0}, channel={"net": CHANNEL}))


def test_a_table_without_rows_has_no_source() -> None:
    empty = pl.DataFrame(ROWS).head(0)
    assert not len(cf.filter_table(empty, cf.Chain(walk_sit(), channel={"net": CHANNEL})))
