"""Tables: three valid rows, and random streams interleaved."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import Filtered, filter_to, format_for
from classfilter.inputs import TableFile
from streams import random_stream

NAN = float("nan")
KINDS: dict[str, Any] = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}
BETA = {"weak": 0.25, "strong": 1.0}
CLASSES = ("walk", "sit", "sleep")
VALID = [0.2, 0.3, 0.5]
FILES = [".csv", ".parquet", ".ndjson", ".jsonl"]


def columns(**changed: Any) -> dict[str, Any]:
    """Three valid rows, except for the changed columns; None drops a column."""
    valid: dict[str, Any] = {
        "time": [0.0, 5.0, 5.0],
        "source": ["weak", "strong", "weak"],
        "p_walk": [0.7, 0.1, 0.5],
        "p_sit": [0.3, 0.9, 0.5],
    }
    return {name: cells for name, cells in (valid | changed).items() if cells is not None}


def bare(**changed: Any) -> dict[str, Any]:
    """The same, with columns that are named as the classes."""
    return {name.removeprefix("p_"): cells for name, cells in columns(**changed).items()}


def three(**changed: Any) -> cf.Rows:
    """Three valid rows, except for the changed arguments."""
    valid: dict[str, Any] = {
        "time": [0.0, 5.0, 5.0],
        "source": ["weak", "strong", "weak"],
        "probs": [VALID, [0.8, 0.1, 0.1], VALID],
        "classes": CLASSES,
    }
    return cf.rows(**valid | changed)


def walk_sit(**settings: Any) -> cf.DirichletFilter:
    return cf.DirichletFilter(["walk", "sit"], **settings)


def filter_parts(
    path: Path,
    out: Path,
    pipe: cf.Pipeline,
    lag: int | None = 0,
    sort: bool = False,
    **reading: Any,
) -> Filtered:
    """Filter a file as the command line does: with options of reading."""
    form = replace(format_for(pipe, **reading), sort=sort)
    with out.open("wb") as written:
        return filter_to(TableFile(path, form), written, out.suffix, pipe, lag=lag)


def column(df: Any, name: str) -> list[Any]:
    """The cells of a column."""
    if isinstance(df, pa.Table):
        return list(df[name].to_pylist())
    return list(df[name].to_list())


def names_of(df: Any) -> list[str]:
    return list(df.column_names if isinstance(df, pa.Table) else df.columns)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Streams of random rows, interleaved at random, with a column that no filter uses."""
    K = draw(st.integers(2, 4))
    parts = []
    for stream in range(draw(st.integers(1, 4))):
        T, seed = draw(st.integers(1, 6)), draw(st.integers(0, 2**32 - 1))
        data = random_stream(K, T, seed)
        rng = np.random.default_rng(seed)
        start = 1e3 * rng.random()  # no two streams start at the same time
        parts.append(
            [
                (f"stream {stream}", time, source, row)
                for time, source, row in zip(
                    (start + np.cumsum(data.dt)).tolist(),
                    rng.choice(list(BETA), T).tolist(),
                    data.probs.tolist(),
                    strict=True,
                )
            ]
        )
    turns = draw(st.permutations([i for i, part in enumerate(parts) for _ in part]))
    queues = [iter(part) for part in parts]
    rows = [next(queues[i]) for i in turns]
    cells: dict[str, Any] = {
        "note": [f"row {row}" for row in range(len(rows))],
        "stream": [row[0] for row in rows],
        "time": [row[1] for row in rows],
        "source": [row[2] for row in rows],
    }
    for k in range(K):
        cells[f"p_class {k}"] = [row[3][k] for row in rows]
    return cells
