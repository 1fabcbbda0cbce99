"""Numbers of another unit in Spark, where only the workers see the rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import classfilter as cf
from classfilter.engine import format_for
from classfilter.pipeline import Pipeline
from classfilter.spark import batch, rows, stream
from classfilter.spark.schema import TIME, FrameFormat

STEP = 5.0 * np.arange(12)
PROBS = np.random.default_rng(0).dirichlet([1.0, 1.0], 12)
COLUMNS = {"stream": ["ann"] * 12, "p_walk": PROBS[:, 0], "p_sit": PROBS[:, 1]}
F = cf.DirichletFilter(["walk", "sit"], half_life="1min")


def form(unit: str | None) -> FrameFormat:
    table = format_for(F, unit=unit)
    return FrameFormat(table, table.layout(["time", *COLUMNS]), Pipeline(F), "fail")


def batches(time: Any) -> Any:
    return iter(pa.table({"time": time, **COLUMNS}).to_batches(max_chunksize=4))


@pytest.fixture(autouse=True)
def new_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_WARNED", set())


@pytest.mark.parametrize(
    "work", [lambda form: batch.Work(form, 0), lambda form: stream._Check(form, None)]
)
def test_a_worker_warns_once(work: Any) -> None:
    ms = 1000 * (1.7e9 + STEP)
    with pytest.warns(UserWarning, match='looks like milliseconds since 1970; give unit="ms"') as w:
        list(work(form(None))(batches(ms)))
    assert len(w) == 1
    list(work(form(None))(batches(ms + 1e6)))  # it has been said
    for unit in ("ms", "s"):
        list(work(form(unit))(batches(ms)))


def test_a_unit_gives_the_bits_of_seconds() -> None:
    ms = pa.Table.from_batches(batch.Work(form("ms"), 0)(batches(1000 * STEP)))
    s = pa.Table.from_batches(batch.Work(form(None), 0)(batches(STEP)))
    assert ms["f_walk"].to_pylist() == s["f_walk"].to_pylist()
    assert ms["time"].to_pylist() == (1000 * STEP).tolist()
    checked = pa.Table.from_batches(stream._Check(form("ms"), None)(batches(1000 * STEP)))
    assert checked[TIME].to_pylist() == STEP.tolist()  # so that a watermark is right


def test_timestamps_give_no_warning() -> None:
    late = np.array(["9000-01-01"] * 12, "M8[us]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(batch.Work(form(None), 0)(batches(pa.array(late, pa.timestamp("us", "UTC")))))
