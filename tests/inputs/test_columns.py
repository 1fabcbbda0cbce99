"""Columns of other names, and columns that look like classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from conftest import rejected
from example_tables import BETA, FILES, KINDS, column, columns, filter_parts, names_of, walk_sit

NAMES = {
    "time": "ts",
    "stream": "user",
    "source": "model",
    "label": "y",
    "p_walk": "walk_prob",
    "p_sit": "sit",
}


def table() -> dict[str, Any]:
    return columns(stream=["007", "8", "007"], label=["sit", None, "walk"])


def renamed() -> dict[str, Any]:
    """The table with other names, and one of its names for something else."""
    return {NAMES[name]: cells for name, cells in table().items()} | {"time": ["a", "b", "c"]}


@pytest.mark.parametrize("kind", KINDS)
def test_dataframes(kind: str) -> None:
    df, plain = KINDS[kind](renamed()), KINDS[kind](table())
    for function in (cf.filter_table, cf.smooth_table):
        out = function(cf.rows(df, columns=NAMES), walk_sit(), beta=BETA)
        assert names_of(out) == [*renamed(), "f_walk", "f_sit", "class"]
        assert column(out, "f_walk") == column(function(plain, walk_sit(), beta=BETA), "f_walk")
    streams, expected = cf.rows(df, columns=NAMES).by_stream(), cf.rows(plain).by_stream()
    assert list(streams) == ["007", "8"]
    for name, rows in streams.items():
        for attribute in ("time", "source_names", "probs", "label"):
            got, wanted = getattr(rows, attribute), getattr(expected[name], attribute)
            assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("lag", [0, 1, None])
def test_files(suffix: str, lag: int | None, tmp_path: Path) -> None:
    day, out = tmp_path / f"day{suffix}", tmp_path / "out.parquet"
    cf.write_table(pl.DataFrame(renamed()), day)
    filter_parts(day, out, cf.Pipeline(walk_sit(), beta=BETA), lag, columns=NAMES)
    expected = cf.smooth_table(pl.DataFrame(table()), walk_sit(), beta=BETA, lag=lag)
    assert cf.read_table(out)["f_walk"].to_list() == expected["f_walk"].to_list()
    assert cf.read_table(day, columns=NAMES)["user"].to_list() == ["007", "8", "007"]


def test_a_column_of_labels_by_another_name() -> None:
    df = pd.DataFrame(columns() | {"said": ["walk", "sit", "sit"]})
    rec = cf.rows(df, columns={"prediction": "said"}, classes=["walk", "sit"])
    assert rec.probs.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_a_column_that_is_no_class_of_the_filter_stays_out() -> None:
    df = pd.DataFrame(columns() | {"p_value": [0.01, 0.2, 0.7]})
    out = cf.filter_table(df, walk_sit())
    assert (
        out["f_sit"].tolist()
        == cf.filter_table(pd.DataFrame(columns()), walk_sit())["f_sit"].tolist()
    )
    assert cf.rows(df, classes=["sit", "walk"]).classes == ("walk", "sit")
    with rejected("probs"):
        cf.rows(df).by_stream()


def test_a_column_with_another_meaning_is_no_class() -> None:
    df = pd.DataFrame(columns(source=None, p_model=["weak", "strong", "weak"]))
    rec = cf.rows(df, columns={"source": "p_model"})
    assert rec.classes == ("walk", "sit")
    assert rec.sources == ("weak", "strong")


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_replaced_when_a_table_is_filtered_again(kind: str) -> None:
    once = cf.filter_table(KINDS[kind](columns()), walk_sit(half_life=1.0))
    again = cf.filter_table(once, walk_sit(half_life=100.0))
    fresh = cf.filter_table(KINDS[kind](columns()), walk_sit(half_life=100.0))
    assert names_of(again) == names_of(fresh)
    assert column(again, "f_walk") == column(fresh, "f_walk") != column(once, "f_walk")
    assert column(again, "class") == column(fresh, "class")


def test_labels_in_other_letters() -> None:
    df = pl.DataFrame(table()).rename({"label": "Label"})
    assert "f_walk" in cf.filter_table(df, walk_sit()).columns  # it reads no labels
    assert cf.rows(df, columns={"label": "Label"}).by_stream()["007"].label is not None


def test_scores_of_some_classes_beside_labels() -> None:
    cells = {"time": [0, 1], "p_walk": [0.9, None], "prediction": [None, "sit"]}
    df = pl.DataFrame(cells)
    both = df.with_columns(p_sit=1 - pl.col("p_walk"))
    assert cf.filter_table(both, walk_sit())["class"][0] == "walk"
    labels = cf.rows(df, columns={"prediction": "prediction"}, classes=["walk", "sit"])
    alone = cf.filter_table(labels, walk_sit())
    assert alone["f_walk"][0] == 0.5
    value = df.rename({"p_walk": "p_value"})  # of no class
    assert cf.filter_table(value, walk_sit())["f_walk"].to_list() == alone["f_walk"].to_list()
