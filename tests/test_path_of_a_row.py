"""The path of a row in CONTRIBUTING.md: it names the files that a trace of the calls meets."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import classfilter as cf

ROOT = Path(__file__).parents[1]
PACKAGE = Path(cf.__file__).parent
ROWS = 41
"""A number that nothing else has."""


def met(call: Callable[[], Any]) -> tuple[set[str], set[str]]:
    """Return the files whose functions have rows as a call goes on, and all others that it runs."""
    files: dict[str, bool] = {}

    def has_rows(value: Any) -> bool:
        if isinstance(value, tuple):
            return any(map(has_rows, value))
        return getattr(value, "shape", ())[:1] == (ROWS,)

    def note(frame: Any, event: str, result: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "return" and path.is_relative_to(PACKAGE):
            name = path.relative_to(PACKAGE).as_posix()
            rows = any(map(has_rows, (result, *frame.f_locals.values())))
            files[name] = files.get(name, False) or rows

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    with_rows = {name for name, rows in files.items() if rows}
    return with_rows, files.keys() - with_rows


def documented(title: str) -> set[str]:
    """Return the files of Python in the line, or lines, of the page that begin with a title."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    (lines,) = re.findall(rf"^    {title} .*(?:\n     .*)*", page, re.MULTILINE)
    return set(re.findall(r"[\w/]+\.py", lines))


def test_the_files_that_have_rows(tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), ROWS)
    columns = {"time": np.arange(ROWS) * 5.0, "stream": ["ann", "bob"] * 20 + ["ann"]}
    columns |= {"source": ["weak"] * ROWS} | {f"p_{k}": p[:, k] for k in range(3)}
    df = pl.DataFrame(columns)
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    df.write_parquet(path)
    channel = {"weak": cf.Channel(np.eye(3) + 1)}
    chain = cf.Chain(cf.DirichletFilter(3), beta={"weak": 0.5}, channel=channel)
    calls: dict[str, Callable[[], Any]] = {
        "filter_table": lambda: cf.filter_table(df, chain),
        "filter_file": lambda: cf.filter_file(path, out, chain),
    }
    settings: set[str] = set()
    for name, call in calls.items():
        call()  # modules load at the first call
        with_rows, others = met(call)
        assert with_rows == documented(name)
        settings |= others
    assert settings == documented("no rows")
