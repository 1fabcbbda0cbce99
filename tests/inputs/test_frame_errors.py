"""Invalid tables: an error names the row, the value and the remedy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from classfilter import filter_table, read_table, write_table
from example_tables import BETA, KINDS, NAN, columns, walk_sit

INTERLEAVED = {
    "stream": ["a", "b", "a", "b", "b"],
    "time": [9.0, 0.0, 10.0, 5.0, 4.0],
    "source": ["weak", "weak", "strong", "strong", "weak"],
    "p_walk": [0.5, 0.5, 0.5, 0.5, 0.5],
    "p_sit": [0.5, 0.5, 0.5, 0.5, 0.5],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (columns(time=None), r"has no column time; it has \['source', 'p_walk', 'p_sit'\]"),
        (columns(p_walk=None), r"two or more columns p_<class>.* has \['time', 'source', 'p_sit'"),
        (columns(time=[0, 5, None]), "time in row 2 is nan"),
        (columns(time=["0", "5", "noon"]), "time in row 2 is 'noon'"),
        (columns(time=[0, 5, 4]), r"time in row 2 is 4\.0, before 5\.0"),
        (
            columns(p_sit=[0.3, None, 0.5]),
            "probs in row 1, class 'sit', is nan while other entries",
        ),
        (columns(p_sit=["0.3", "n/a", "0.5"]), "column p_sit in row 1 is 'n/a'; .* numbers"),
        (columns(p_sit=["0.3", "0.9", "0.5"]), "column p_sit in row 0 is '0.3'; .* numbers"),
        (columns(p_sit=[True, False, True]), "column p_sit in row 0 is True; .* numbers"),
        (columns(p_sit=[0.3, 0.9, 0.7]), r"probs in row 2 sums to 1\.2"),
        (columns(p_sit=[0.3, -0.9, 0.5]), r"probs in row 1, class 'sit', is -0\.9"),
        (columns(source=["weak", None, "weak"]), "source in row 1 is None"),
        (columns(stream=["a", "a", None]), "stream in row 2 is None; every row needs one"),
        (columns(stream=[1.5, 2.5, NAN]), "stream in row 2 is (nan|None); every row needs one"),
        (
            INTERLEAVED | {"time": [9.0, 1.0, 10.0, 0.0, 0.0], "stream": ["a", "b", "a", "b", "a"]},
            r"time in row 3 is 0\.0, before 1\.0",  # the first such row
        ),
        (INTERLEAVED, r"time in row 4 is 4\.0, before 5\.0, .*sort=True"),
    ],
)
def test_errors_name_the_row_of_the_table(kind: str, cells: Any, message: str) -> None:
    df = KINDS[kind](cells)
    with pytest.raises(ValueError, match=message):
        filter_table(df, walk_sit(), beta=BETA)
    with pytest.raises(ValueError, match=message):
        cf.rows(df)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: filter_table(
                pl.DataFrame(
                    INTERLEAVED
                    | {"time": [0, 0, 1, 1, 2], "source": ["weak"] * 3 + ["other", "new"]}
                ),
                walk_sit(),
                beta=BETA,
            ),
            ValueError,
            r"source in row 3 is 'other', which has no weight; beta names \['weak', 'strong'\]",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns()), cf.DirichletFilter(["walk", "run"])),
            ValueError,
            r"the data has the classes \['walk', 'sit'\], but the filter has \['walk', 'run'\]",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns()), cf.DirichletFilter(3)),
            ValueError,
            r"the data has the classes \['walk', 'sit'\], but the filter has \['0', '1', '2'\]",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns(f_sit=[0] * 3)), walk_sit(), beta=BETA),
            ValueError,
            r"already has the columns \['f_sit'\]; drop or rename them",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns(**{"class": ["sit"] * 3})), walk_sit()),
            ValueError,
            r"already has the columns \['class'\]; drop or rename them",
        ),
        (
            lambda: cf.rows(pl.DataFrame(columns(label=["sit", "run", None]))),
            ValueError,
            "label in row 1 is 'run'",
        ),
        (
            lambda: filter_table(pl.LazyFrame(columns()), walk_sit()),
            TypeError,
            r"polars\..*LazyFrame; give a dataframe of pandas, Polars or PyArrow .*collect",
        ),
        (lambda: cf.rows([1, 2]), ValueError, "data has 1 as part 0; each part is one stream: a "),
        (lambda: cf.rows(1), TypeError, r"the table is a builtins\.int; give a dataframe"),
        (
            lambda: cf.write_table("day.csv", "day.parquet"),
            TypeError,
            r"the table is 'day\.csv'; read the file first: classfilter\.read_table",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns()), "walk.toml"),  # type: ignore[arg-type]
            TypeError,
            r"filter is 'walk\.toml'; read the file first: classfilter\.load",
        ),
        (
            lambda: cf.rows(time=[0], source=np.array([None]), probs=[[0.5, 0.5]], classes=2),
            ValueError,
            "source in row 0 is None; it must be a name: fill it in",
        ),
        (
            lambda: cf.rows(pd.DataFrame([[0] * 3], columns=["time", "p_a", "p_a"])),
            ValueError,
            "unique column names",
        ),
        (
            lambda: cf.rows(time=[0], source="a", probs=[[0.5, 0.5]], classes=2).to_table("excel"),
            ValueError,
            "kind is 'excel'; it must be one of polars, pandas, pyarrow",
        ),
        (lambda: read_table("day.xlsx"), ValueError, r"day\.xlsx ends in '\.xlsx'; .* \.csv, "),
        (lambda: write_table(pl.DataFrame(), "day"), ValueError, "day ends in ''"),
        (lambda: read_table("nowhere.csv"), FileNotFoundError, r"nowhere\.csv"),
        (lambda: write_table([1], "day.csv"), TypeError, "builtins.list"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["narwhals", "polars"])
def test_a_missing_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    rec = cf.rows(time=[0], source="a", probs=[[0.5, 0.5]], classes=2)
    with pytest.raises(ImportError, match=rf"needs {name}.*pip install 'classfilter\[tables\]'"):
        rec.to_table()


@pytest.mark.parametrize("module", ["inputs", "pipeline", "filters"])
def test_imports_are_light(module: str) -> None:
    heavy = "{'narwhals', 'polars', 'pandas', 'pyarrow', 'tomllib'}"
    code = f"import sys, classfilter.{module}; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.strip() == "[]"
