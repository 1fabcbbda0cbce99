"""Columns named as the classes, without ``p_``, and names of columns given the other way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from example_tables import BETA, FILES, KINDS, bare, column, columns, names_of, walk_sit
from ndjson_lines import run

CLASSES = ["walk", "sit"]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_named_as_the_classes(kind: str) -> None:
    df, plain = KINDS[kind](bare()), KINDS[kind](columns())
    for function in (cf.filter_table, cf.smooth_table):
        for f in (walk_sit(), cf.DirichletFilter(["sit", "walk"])):  # in any order
            out = function(df, f, beta=BETA)
            assert names_of(out) == [*bare(), "f_walk", "f_sit", "class"]
            assert column(out, "f_walk") == column(function(plain, f, beta=BETA), "f_walk")
    rec, expected = cf.rows(df, classes=CLASSES), cf.rows(plain)
    assert rec.classes == expected.classes
    assert rec.probs.tolist() == expected.probs.tolist()


@pytest.mark.parametrize("suffix", FILES)
def test_files_with_columns_named_as_the_classes(suffix: str, tmp_path: Path) -> None:
    day, out = tmp_path / f"day{suffix}", tmp_path / "out.parquet"
    cf.write_table(pl.DataFrame(bare(p_value=["?"] * 3)), day)
    cf.filter_file(day, out, walk_sit(), beta=BETA)
    expected = cf.filter_table(pl.DataFrame(columns()), walk_sit(), beta=BETA)
    assert cf.read_table(out)["f_walk"].to_list() == expected["f_walk"].to_list()


def test_prefixed_columns_come_first() -> None:
    """A column of the same name as a class is not looked at where ``p_<class>`` is there."""
    out = cf.filter_table(pd.DataFrame(columns(walk=["?"] * 3, sit=[7] * 3)), walk_sit())
    assert (
        out["f_walk"].tolist()
        == cf.filter_table(pd.DataFrame(columns()), walk_sit())["f_walk"].tolist()
    )


def test_which_of_two_predictions_can_be_said() -> None:
    df = pd.DataFrame(bare(prediction=["sit"] * 3))
    how: Any = {"prediction": "prediction"}
    assert (
        cf.filter_table(cf.rows(df, columns=how, classes=["walk", "sit"]), walk_sit())[
            "class"
        ].tolist()
        == ["sit"] * 3
    )
    how = {"p_walk": "walk", "p_sit": "sit"}
    assert cf.filter_table(cf.rows(df, columns=how), walk_sit())["class"].tolist() == [
        "walk",
        "sit",
        "sit",
    ]


OTHERS = {"when": "time", "model": "source", "walking": "p_walk", "sitting": "p_sit"}
"""From the names in the table to those here, as pandas and Polars rename."""


@pytest.mark.parametrize("kind", KINDS)
def test_names_from_theirs_to_ours(kind: str, tmp_path: Path) -> None:
    theirs = {here: name for name, here in OTHERS.items()}
    cells = {theirs[name]: values for name, values in columns().items()}
    df, plain = KINDS[kind](cells), KINDS[kind](columns())
    out = cf.filter_table(cf.rows(df, columns=OTHERS), walk_sit(), beta=BETA)
    assert column(out, "f_walk") == column(cf.filter_table(plain, walk_sit(), beta=BETA), "f_walk")
    assert names_of(out)[:4] == [*OTHERS]
    assert pd.DataFrame(cells).rename(columns=OTHERS).columns.tolist() == [*columns()]
    day = tmp_path / "day.csv"
    cf.write_table(df, day)
    assert cf.read_table(day, columns={"when": "label"})["when"].to_list() == ["0.0", "5.0", "5.0"]


def lines(*rows: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The results of lines, and the messages."""
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    results, messages = run(text, more={"classes": tuple(CLASSES)})
    return [json.loads(line) for line in results], messages


def test_keys_of_lines_named_as_the_classes() -> None:
    rows: list[dict[str, Any]] = [
        {"time": 0, "walk": 0.9, "sit": 0.1},
        {"time": 1, "prediction": "sit"},
        {"time": 2, "sit": 0.6, "walk": 0.4},
    ]
    plain = [{f"p_{k}" if k in CLASSES else k: v for k, v in row.items()} for row in rows]
    results, _ = lines(*rows)
    expected, _ = lines(*plain)
    assert [row["f_walk"] for row in results] == [row["f_walk"] for row in expected]
    assert len(results) == 3
