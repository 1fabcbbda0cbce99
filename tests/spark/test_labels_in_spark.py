"""Several labels at once in Spark: each label is filtered by itself, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import format_for
from classfilter.spark import batch
from classfilter.spark.schema import FrameFormat
from fleet_frames import batches, by_row, run, split, write_parts

pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
LABELS = ("robin", "wren")
ORDER = ["stream", "time", "source", "p_robin", "p_wren"]
CHANNEL = cf.Channel([[0.8, 0.2], [0.3, 0.7]])
PIPES = {
    "plain": cf.Pipeline(cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.5 ** (1 / 5)))),
    "by label": cf.Pipeline(
        cf.MultiLabelFilter(LABELS[::-1], cf.DirichletFilter(2, half_life=5.0, dtype=np.float32)),
        beta={"near": 1.0, "far": {"robin": 0.25, "wren": 0.75}},
        channel={"far": {"robin": CHANNEL, "wren": None}},
    ),
}


def birds(streams: int, rows: int, seed: int = 0) -> pl.DataFrame:
    """Return independent scores of several streams, in order of time, some of them missing."""
    rng = np.random.default_rng(seed)
    # float32 has all of them, so that 1 - score is the same number in either precision
    scores = rng.integers(0, 257, (rows, 2)) / 256
    cells = {
        f"p_{name}": pl.Series(
            [None if missing else p for missing, p in
             zip(rng.random(rows) < 0.2, scores[:, k].tolist(), strict=True)], dtype=pl.Float64
        )
        for k, name in enumerate(LABELS)
    }  # fmt: skip
    return pl.DataFrame(
        {
            "row": np.arange(rows),
            "time": rng.choice([0.0, 1.0, 2.5], rows).cumsum(),
            "stream": [f"s{k}" for k in rng.integers(0, streams, rows)],
            "source": rng.choice(["near", "far"], rows),
            **cells,
        }
    )


def by_heads(df: pl.DataFrame, pipe: cf.Pipeline, lag: int | None = 0) -> dict[str, list[float]]:
    """Return the results of each label by its own pipeline of two classes."""
    found = {}
    for label in LABELS:
        p = pl.col(f"p_{label}")
        kept = df.sort(ORDER).select("row", "time", "stream", "source")
        two = kept.with_columns(
            **{f"p_not {label}": df.sort(ORDER).select(1 - p).to_series()},
            **{f"p_{label}": df.sort(ORDER).select(p).to_series()},
        )
        results = cf.smooth_table(two, pipe.head(label), lag=lag)
        assert isinstance(results, pl.DataFrame)
        found[label] = results.sort("row")[f"f_{label}"].to_list()
    return found


def check(out: pl.DataFrame, df: pl.DataFrame, pipe: cf.Pipeline, lag: int | None = 0) -> None:
    heads = by_heads(df, pipe, lag)
    assert {name: out[f"f_{name}"].to_list() for name in LABELS} == heads
    names = [str(name) for name in pipe.classes]
    on = [",".join(n for n in names if heads[n][row] > 0.5) for row in range(len(df))]
    assert out["labels"].to_list() == on


@pytest.mark.parametrize("kind", PIPES)
@pytest.mark.parametrize("lag", [0, 2, None])
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 1000), max_size=5))
def test_any_arrow_batches(kind: str, lag: int | None, seed: int, cuts: list[int]) -> None:
    """As in a worker, without Spark."""
    df, pipe = birds(3, 30, seed), PIPES[kind]
    table = format_for(pipe)
    form = FrameFormat(table, table.layout(df.columns), pipe, "fail")
    with mock.patch.object(batch, "ROWS_OF_TABLE", 1):  # so that each batch is a table of its own
        parts = list(batch.Work(form, lag)(iter(batches(df, cuts, ORDER))))
    out = pl.from_arrow(pa.Table.from_batches(parts))
    assert isinstance(out, pl.DataFrame)
    check(out.sort("row"), df, pipe, lag)


def test_frames(spark: Any) -> None:
    df, pipe = birds(20, 400), PIPES["by label"]
    frame = spark.createDataFrame(df.sample(fraction=1.0, shuffle=True, seed=0).to_arrow())
    filtered = cf.spark.filter_frame(frame, pipe, scores="independent")
    assert filtered.columns == [*df.columns, "f_robin", "f_wren", "labels"]
    assert dict(filtered.dtypes)["labels"] == "string"
    check(by_row(filtered), df, pipe)


@pytest.mark.slow
def test_a_query_that_is_started_again(spark: Any, tmp_path: Path) -> None:
    df, pipe = birds(20, 400), PIPES["by label"]
    schema = spark.createDataFrame(df.to_arrow()).schema
    parts = split(df.unique(["stream", "time", "source"], keep="first").sort("row"), 4)
    write_parts(parts[:2], tmp_path / "in")
    live = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    source = live.parquet(str(tmp_path / "in"))
    run(spark, tmp_path, cf.spark.filter_stream(source, pipe))
    write_parts(parts[2:], tmp_path / "in")
    out, _ = run(spark, tmp_path, cf.spark.filter_stream(source, pipe))
    assert out["status"].unique().to_list() == ["ok"]
    check(out, pl.concat(parts), pipe)


@pytest.mark.slow
def test_invalid_scores_are_set_apart(spark: Any) -> None:
    df = birds(2, 20).with_columns(p_wren=pl.Series([1.5] + [0.25] * 19))
    frame = spark.createDataFrame(df.to_arrow())
    out = by_row(cf.spark.filter_frame(frame, PIPES["plain"], invalid="quarantine"))
    assert out["status"].to_list() == ["invalid"] + ["ok"] * 19
    assert "class 'wren', is 1.5; it must lie in [0, 1]" in out["error"][0]
    assert out[0, "labels"] is None
    check(out[1:], df[1:].with_columns(row=pl.col("row") - 1), PIPES["plain"])


HEADS: dict[str, Any] = {"activity": ["sit", "walk", "run"], "robin": None}


def activities(rows: int = 200) -> pl.DataFrame:
    """Return predictions of an activity and of a label, of several streams."""
    df = birds(5, rows).drop("p_wren").unique(["stream", "time"], maintain_order=True)
    columns = [f"p_activity:{name}" for name in HEADS["activity"]]
    probs = np.random.default_rng(1).dirichlet(np.ones(3), len(df))
    return df.with_columns(pl.from_numpy(probs, columns))


def test_heads_of_several_classes(spark: Any) -> None:
    df = activities()
    parts = {"activity": cf.StickyFilter(3, stay=0.5 ** (1 / 5)), "robin": cf.DirichletFilter(2)}
    pipe = cf.Pipeline(
        cf.MultiLabelFilter(HEADS, parts), beta={"near": 1.0, "far": {"activity": 0.25, "robin": 1}}
    )
    expected = cf.filter_table(df.sort("stream", "time"), pipe)
    assert isinstance(expected, pl.DataFrame)
    assert expected.columns[-2:] == ["activity", "labels"]
    frame = spark.createDataFrame(df.sample(fraction=1.0, shuffle=True, seed=0).to_arrow())
    filtered = cf.spark.filter_frame(frame, pipe)
    assert filtered.columns == expected.columns
    assert by_row(filtered).equals(expected.sort("row"))
    rule = cf.EventRule(change_cost=2.0)
    events = pl.from_arrow(cf.spark.event_frame(frame, pipe, rule).toArrow())
    assert isinstance(events, pl.DataFrame)
    whole = cf.events(df.sort("stream", "time"), pipe, rule)
    order = ["stream", "start", "class"]
    assert events.sort(order).equals(whole.sort(order))
    again = pl.from_arrow(cf.spark.event_frame(filtered, rule).toArrow())
    assert isinstance(again, pl.DataFrame)
    assert again.sort(order).equals(cf.events(expected, rule).sort(order))


@pytest.mark.slow
def test_a_query_of_heads_of_several_classes(spark: Any, tmp_path: Path) -> None:
    df = activities()
    f = {"activity": cf.StickyFilter(3, stay=0.5 ** (1 / 5)), "robin": cf.DirichletFilter(2)}
    pipe = cf.Pipeline(cf.MultiLabelFilter(HEADS, f))
    schema = spark.createDataFrame(df.to_arrow()).schema
    write_parts(split(df.sort("row"), 3), tmp_path / "in")
    source = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    out, _ = run(spark, tmp_path, cf.spark.filter_stream(source, pipe))
    expected = cf.filter_table(df.sort("row"), pipe)
    assert isinstance(expected, pl.DataFrame)
    assert out.sort("row").drop("status", "error").equals(expected)
