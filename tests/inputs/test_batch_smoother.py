"""Smoothing of tables and files: each stream as by itself, whatever the order and the parts."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter.engine import Parts
from classfilter.inputs import files, read_rows
from conftest import Run, rejected
from example_tables import KINDS, column

CLASSES = ["walk", "sit", "sleep"]
BETA = {"weak": 0.25, "strong": 1.0}
CHANNEL = {"weak": cf.Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]]), "strong": None}
SMOOTHERS: list[Any] = [
    cf.DirichletFilter(CLASSES, half_life=60.0),
    cf.DirichletFilter(CLASSES[::-1], half_life=20.0, estimate="mean", dtype=np.float32),
    cf.StickyFilter(CLASSES[1:] + CLASSES[:1], stay=0.99, temperature=1.4),
]
ORDERS = [["time"], ["stream", "time"], ["time", "stream"]]


def day(rows: int = 120, by: list[str] = ORDERS[0]) -> pl.DataFrame:
    """Streams of very unequal length, one of a single row; two sources, some rows missing."""
    rng = np.random.default_rng(rows)
    p = rng.dirichlet(np.ones(3), rows)
    p[rng.random(rows) < 0.05] = np.nan
    stream = np.minimum(rng.geometric(0.4, size=rows), 5)
    stream[rows // 2] = 6
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "time": rng.integers(0, 3, rows).cumsum() * 2.5,
            "stream": [f"s{k}" for k in stream],
            "source": np.where(rng.random(rows) < 0.2, "strong", "weak"),
            **{f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)},
        }
    ).sort(by, maintain_order=True)


def expected(df: pl.DataFrame, f: Any, lag: int | None) -> np.ndarray:
    """Correct, weigh and smooth each stream alone, without tables."""
    P = np.empty((len(df), 3))
    channel = CHANNEL["weak"]
    assert channel is not None
    for name in df["stream"].unique():
        rows = np.flatnonzero((df["stream"] == name).to_numpy())
        stream = df[rows]
        s = stream.select([f"p_{c}" for c in f.classes]).to_numpy().copy()
        weak = (stream["source"] == "weak").to_numpy()
        s[weak] = channel.apply(s[weak].astype(f.dtype))
        dt = np.diff(stream["time"].to_numpy(), prepend=stream["time"][0])
        smoothed = cf.smooth(f, s, np.where(weak, 0.25, 1.0), dt, lag=lag)
        P[rows] = smoothed[:, [f.classes.index(c) for c in CLASSES]]
    return P


def results(df: Any) -> np.ndarray:
    return np.array([column(df, f"f_{name}") for name in CLASSES]).T


@pytest.mark.covering(2)
@pytest.mark.parametrize("f", SMOOTHERS)
@pytest.mark.parametrize("lag", [None, 0, 1, 6, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_table(kind: str, lag: int | None, f: Any) -> None:
    df = day()
    out = cf.smooth_table(
        KINDS[kind](df.to_dict(as_series=False)), f, beta=BETA, channel=CHANNEL, lag=lag
    )
    P = results(out)
    np.testing.assert_array_equal(P, expected(df, f, lag))
    assert column(out, "class") == [CLASSES[k] for k in P.argmax(axis=1)]
    assert column(out, "row") == df["row"].to_list()


def test_rows_in_any_order_of_time() -> None:
    df = day().with_columns(time=pl.arange(0, 120) * 5.0)
    f = SMOOTHERS[0]
    shuffled = df.sample(fraction=1.0, shuffle=True, seed=1)
    out = cf.smooth_table(cf.rows(shuffled, sort=True), f, beta=BETA, channel=CHANNEL, lag=4).sort(
        "time"
    )
    np.testing.assert_array_equal(results(out), expected(df, f, 4))
    with rejected("time"):
        cf.smooth_table(shuffled, f, beta=BETA)


@pytest.mark.covering(2)
@pytest.mark.parametrize("f", SMOOTHERS)
@pytest.mark.parametrize("by", ORDERS)
@pytest.mark.parametrize("at_once", [1, 13, 10_000])
@pytest.mark.parametrize("lag", [None, 1, 6, 1000])
def test_a_file_in_parts(
    lag: int | None,
    at_once: int,
    by: list[str],
    f: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    df = day(120 if at_once > 1 else 40, by)
    path, out = tmp_path / "day.parquet", tmp_path / "out.parquet"
    cf.write_table(df, path)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", at_once)
    done = cf.filter_file(path, out, f, beta=BETA, channel=CHANNEL, lag=lag)
    assert done == (len(df), df["stream"].n_unique())
    result = cf.read_table(out)
    np.testing.assert_array_equal(results(result), expected(df, f, lag))
    assert result["row"].to_list() == df["row"].to_list()


def test_a_file_without_streams_or_without_rows(tmp_path: Path) -> None:
    path, out = tmp_path / "day.csv", tmp_path / "out.csv"
    df = day(30).with_columns(stream=pl.lit("one"))
    cf.write_table(df.drop("stream").with_columns(pl.col("^p_.*$").fill_nan(None)), path)
    assert cf.filter_file(path, out, SMOOTHERS[0], beta=BETA, channel=CHANNEL, lag=3) == (30, 1)
    np.testing.assert_array_equal(results(cf.read_table(out)), expected(df, SMOOTHERS[0], 3))
    path.write_text("time,p_walk,p_sit,p_sleep\n")
    assert cf.filter_file(path, out, SMOOTHERS[0], lag=3) == (0, 0)
    assert out.read_text() == "time,p_walk,p_sit,p_sleep,f_walk,f_sit,f_sleep,class\n"


@pytest.mark.parametrize("by", [["stream", "time"], ["time", "stream"]])
def test_tables_are_held_no_longer_than_the_lag(by: list[str]) -> None:
    """Streams one after the other, or row by row in turn: a stream that has ended holds nothing."""
    lag, streams, at_once = 3, 5, 20
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    cells = {"stream": np.arange(200) % streams, "time": np.arange(200) // streams * 5.0}
    df = pl.DataFrame(cells | {f"p_{c}": p[:, k] for k, c in enumerate(CLASSES)}).sort(by)
    parts, left = Parts(cf.Pipeline(SMOOTHERS[0]), lag), dict.fromkeys(range(streams), 40)
    complete = 0
    for i, part in enumerate(df.iter_slices(at_once), 1):
        for stream in part["stream"]:
            left[stream] -= 1
        complete += len(parts.push(read_rows(part), [k for k in left if not left[k]]))
        assert i - 1 <= complete <= i
    assert complete == 10


@pytest.mark.parametrize("f", SMOOTHERS)
def test_streams_that_ended_take_no_room(f: Any) -> None:
    """Streams one after the other, in tables of 13 rows: no more than two are in a table."""
    df = day(400).with_columns(stream=pl.format("s{}", pl.arange(0, 400) // 10))
    P, tables = expected(df, f, 3), list(df.iter_slices(13))
    parts = Parts(cf.Pipeline(f, beta=BETA, channel=CHANNEL), 3)
    smoothed: list[np.ndarray] = []
    for table, later in zip_longest(tables, tables[1:]):
        unfinished = [] if later is None else [later["stream"][0]]
        smoothed += parts.push(read_rows(table), set(table["stream"]) - set(unfinished))
        assert len(parts.engine) <= 1
    columns = [CLASSES.index(name) for name in f.classes]
    np.testing.assert_array_equal(np.concatenate(smoothed), P[:, columns])


def test_a_tuned_filter_has_its_weights_and_channels(tmp_path: Path, run: Run) -> None:
    df = day()
    cf.write_table(df, "day.parquet")
    f = cf.DirichletFilter(CLASSES, half_life=60.0)
    cf.Pipeline.of(f, beta=BETA, channel=CHANNEL).save("walk.json")
    tuned = cf.load("walk.json")
    for lag, options in ((None, ["--smooth"]), (5, ["--lag", "5"])):
        P = expected(df, f, lag)
        np.testing.assert_array_equal(results(cf.smooth_table(df, tuned, lag=lag)), P)
        cf.filter_file("day.parquet", "out.parquet", tuned, lag=lag)
        np.testing.assert_array_equal(results(cf.read_table("out.parquet")), P)
        arguments = ["filter", "day.parquet", "-o", "again.parquet", "--config", "walk.json"]
        assert run(*arguments, "--quiet", *options) == (0, "", "")
        np.testing.assert_array_equal(results(cf.read_table("again.parquet")), P)
    code, _, err = run(*arguments, "--smooth", "--lag", "5")
    assert code == 2
    assert "--smooth and --lag are both given" in err


@pytest.mark.parametrize("lag", [None, 3])
def test_an_invalid_row_leaves_no_file(
    lag: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 20)
    path, out = tmp_path / "day.parquet", tmp_path / "out.parquet"
    for column_name, value, argument in (
        ("p_walk", -0.5, "probs"),
        ("time", -1.0, "time"),
        ("stream", None, "stream"),
        ("source", "other", "source"),
    ):
        df = day().with_columns(pl.col("^p_.*$").fill_nan(1 / 3))
        df[110, column_name] = value
        cf.write_table(df, path)
        with rejected(argument, row=110):
            cf.filter_file(path, out, SMOOTHERS[0], beta=BETA, lag=lag)
        assert [p.name for p in tmp_path.iterdir()] == ["day.parquet"]
