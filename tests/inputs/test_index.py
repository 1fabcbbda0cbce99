"""The index of a pandas dataframe as its time, its stream and its source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import classfilter as cf

ROWS = 12
PROBS = np.random.default_rng(0).dirichlet([1.0, 1.0], ROWS)
DATES = pd.date_range("2024-03-31 01:59:30", periods=ROWS, freq="5s", tz="Europe/Berlin")
NAMES = {"time": "when", "stream": "who"}
F = cf.DirichletFilter(["walk", "sit"], half_life="1min")


def table(index: Any) -> pd.DataFrame:
    return pd.DataFrame(PROBS, index=index, columns=["p_walk", "p_sit"])


def expected(time: Any = DATES, **more: Any) -> list[float]:
    df = pd.DataFrame({"time": time, "p_walk": PROBS[:, 0], "p_sit": PROBS[:, 1], **more})
    return list(cf.filter_table(df, F)["f_walk"])


@pytest.mark.parametrize(
    ("index", "columns", "time"),
    [
        (DATES, {}, DATES),
        (DATES.rename("when"), {}, DATES),
        (DATES.rename("when"), {"time": "when"}, DATES),
        (DATES.tz_localize(None), {}, DATES.tz_localize(None)),
        (pd.to_timedelta(5.0 * np.arange(ROWS), "s"), {}, 5.0 * np.arange(ROWS)),
        (pd.Index(5.0 * np.arange(ROWS), name="time"), {}, 5.0 * np.arange(ROWS)),
        (pd.Index(5.0 * np.arange(ROWS), name="ts"), {"time": "ts"}, 5.0 * np.arange(ROWS)),
        (pd.Index(DATES.astype(str), name="time"), {}, DATES),
    ],
)
def test_an_index_of_times(index: Any, columns: dict[str, str], time: Any) -> None:
    df = table(index)
    out = cf.filter_table(cf.rows(df, columns=columns), F)
    assert out["f_walk"].tolist() == expected(time)
    pd.testing.assert_index_equal(out.index, df.index)
    pd.testing.assert_frame_equal(out[df.columns], df)
    smoothed = cf.smooth_table(cf.rows(df, columns=columns), F, lag=0)
    assert smoothed["f_walk"].tolist() == expected(time)
    (rec,) = cf.rows(df, columns=columns).by_stream().values()
    assert cf.Pipeline.of(F).run(rec)[:, 0].tolist() == expected(time)
    assert len(cf.rows(df, columns=columns)) == ROWS


@pytest.mark.parametrize("levels", [["when", "who"], ["who", "when"]])
def test_levels_of_an_index(levels: list[str]) -> None:
    who = ["ann", "bob"] * (ROWS // 2)
    index = pd.MultiIndex.from_frame(pd.DataFrame({"when": DATES, "who": who})[levels])
    out = cf.filter_table(cf.rows(table(index), columns=NAMES), F)
    assert out["f_walk"].tolist() == expected(stream=who)
    pd.testing.assert_index_equal(out.index, index)
    assert list(cf.rows(table(index), columns=NAMES).by_stream()) == ["ann", "bob"]
    by_kind = table(index.set_names("stream", level="who"))  # the only level of dates is the time
    assert cf.filter_table(by_kind, F)["f_walk"].tolist() == expected(stream=who)


def test_a_source_in_the_index() -> None:
    source = ["weak", "strong"] * (ROWS // 2)
    index = pd.MultiIndex.from_arrays([source, DATES], names=["source", "time"])
    out = cf.filter_table(table(index), F, beta={"weak": 0.1, "strong": 1.0})
    df = table(None).assign(time=DATES, source=source)
    same = cf.filter_table(df, F, beta={"weak": 0.1, "strong": 1.0})
    assert out["f_walk"].tolist() == same["f_walk"].tolist()


def test_a_column_goes_before_the_index() -> None:
    time = 5.0 * np.arange(ROWS)
    for index in (DATES, DATES.rename("time"), pd.Index(time[::-1], name="time")):
        out = cf.filter_table(table(index).assign(time=time), F)
        assert out["f_walk"].tolist() == expected(time)


def test_rows_of_one_time_keep_their_places() -> None:
    index = DATES.repeat(2)[:ROWS]
    out = cf.filter_table(table(index), F)
    assert out["f_walk"].tolist() == expected(index)
    pd.testing.assert_index_equal(out.index, index)
