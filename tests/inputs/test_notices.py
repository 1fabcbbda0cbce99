"""Tables that can be filtered, but are likely not what was meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter.inputs import OddRowsWarning
from example_tables import walk_sit

ROWS = {"time": [0, 5], "p_walk": [0.9, 0.4], "p_sit": [0.1, 0.6]}
CHANNEL = cf.Channel([[9, 1], [2, 8]])


@pytest.mark.parametrize("by", ["filter_table", "smooth_table", "events", "filter_file"])
def test_channels_of_no_row_are_warned_of(by: str, tmp_path: Path) -> None:
    day, out = tmp_path / "day.csv", tmp_path / "out.csv"
    cf.write_table(pl.DataFrame(ROWS), day)
    calls: dict[str, Callable[..., Any]] = {
        "filter_table": lambda pipe: cf.filter_table(pl.DataFrame(ROWS), pipe),
        "smooth_table": lambda pipe: cf.smooth_table(pl.DataFrame(ROWS), pipe),
        "events": lambda pipe: cf.events(pl.DataFrame(ROWS), pipe, cf.EventRule(change_cost=1.0)),
        "filter_file": lambda pipe: cf.filter_file(day, out, pipe),
    }
    with pytest.warns(UserWarning, match=r"channel names \['net'\].*a channel for 'default'"):
        calls[by](cf.Pipeline(walk_sit(), channel={"net": CHANNEL}))
    calls[by](cf.Pipeline(walk_sit(), channel={"default": CHANNEL}))
    calls[by](cf.Pipeline(walk_sit(), channel={"default": CHANNEL, "net": CHANNEL}))
    calls[by](cf.Pipeline(walk_sit(), channel={"net": None}))
    calls[by](cf.Pipeline(walk_sit(), beta={"default": 1.0, "net": 1.0}, channel={"net": CHANNEL}))


def test_a_table_without_rows_has_no_source() -> None:
    empty = pl.DataFrame(ROWS).head(0)
    assert not len(cf.filter_table(empty, cf.Pipeline(walk_sit(), channel={"net": CHANNEL})))


def table(rows: int = 4, **cells: Any) -> pl.DataFrame:
    """Rows of changing probabilities; without `time`, five seconds apart."""
    p = np.random.default_rng(0).random(rows)
    time = {} if "time" in cells else {"time": 5.0 * np.arange(rows)}
    return pl.DataFrame(time | cells | {"p_walk": p, "p_sit": 1 - p})


def test_rows_that_stand_twice() -> None:
    df = table(stream=["a", "b", "a", "b"])
    with pytest.warns(OddRowsWarning, match="the table has 4 rows with the same stream, time, sou"):
        cf.rows(pl.concat([df, df]), sort=True)
    cf.rows(df)
    cf.rows(table(time=[0, 0, 5, 5]))  # at one time, but with other probabilities
    both = pl.concat([df.with_columns(source=pl.lit(name)) for name in ("x", "y")])
    cf.rows(both, sort=True)
    cf.rows(pl.concat([df.with_columns(stream=pl.lit(name)) for name in ("x", "y")]))
