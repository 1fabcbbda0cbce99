"""Invalid tables: an error names the row, the value and the remedy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import classfilter as cf
from classfilter import filter_table
from conftest import rejected
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
    ("cells", "argument", "row"),
    [
        (columns(time=None), "the table", None),
        (columns(p_walk=None), "the table", None),
        (columns(time=[0, 5, None]), "time", 2),
        (columns(time=["0", "5", "noon"]), "time", 2),
        (columns(time=[0, 5, 4]), "time", 2),
        (columns(p_sit=[0.3, None, 0.5]), "probs", 1),
        (columns(p_sit=["0.3", "n/a", "0.5"]), "column p_sit", 1),
        (columns(p_sit=["0.3", "0.9", "0.5"]), "column p_sit", 0),
        (columns(p_sit=[True, False, True]), "column p_sit", 0),
        (columns(p_sit=[0.3, 0.9, 0.7]), "probs", 2),
        (columns(p_sit=[0.3, -0.9, 0.5]), "probs", 1),
        (columns(source=["weak", None, "weak"]), "source", 1),
        (columns(stream=["a", "a", None]), "stream", 2),
        (columns(stream=[1.5, 2.5, NAN]), "stream", 2),
        (
            INTERLEAVED | {"time": [9.0, 1.0, 10.0, 0.0, 0.0], "stream": ["a", "b", "a", "b", "a"]},
            "time",
            3,  # the first such row
        ),
        (INTERLEAVED, "time", 4),
    ],
)
def test_errors_name_the_row_of_the_table(
    kind: str, cells: Any, argument: str, row: int | None
) -> None:
    df = KINDS[kind](cells)
    with rejected(argument, row=row):
        filter_table(df, walk_sit(), beta=BETA)
    with rejected(argument, row=row):
        cf.rows(df)


@pytest.mark.parametrize("name", ["narwhals", "polars"])
def test_a_missing_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    rec = cf.rows(time=[0], source="a", probs=[[0.5, 0.5]], classes=2)
    with pytest.raises(ImportError, match=rf"needs {name}.*pip install 'classfilter\[tables\]'"):
        rec.to_table()


@pytest.mark.parametrize("module", ["inputs", "pipeline", "filters"])
def test_imports_are_light(module: str) -> None:
    heavy = "{'narwhals', 'polars', 'pandas', 'pyarrow'}"
    code = f"import sys, classfilter.{module}; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.strip() == "[]"
