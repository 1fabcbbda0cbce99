"""What people have besides one table: a table or Rows for each stream, and sliding windows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import classfilter as cf
from conftest import rejected
from example_tables import columns


def of(*time: Any, classes: Any = ("walk", "sit"), **more: Any) -> cf.Rows:
    probs = np.full((len(time), len(classes)), 1 / len(classes))
    return cf.rows(time=time, probs=probs, classes=classes, **more)


def test_tables_and_files_by_name(tmp_path: Path) -> None:
    """Each is read by the same options; sources are numbered anew."""
    cells = columns(time=[0, 5000, 4000], label=["sit", None, "walk"])
    cf.write_table(pl.DataFrame(cells), tmp_path / "eve.csv")
    other = pl.DataFrame(cells | {"source": ["strong"] * 3}).drop("label")
    parts = {"ann": pd.DataFrame(cells), 7: other, "eve": str(tmp_path / "eve.csv")}
    rows = cf.rows(parts, unit="ms", sort=True)
    assert rows.streams == ("ann", 7, "eve")
    assert rows.stream.tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert [rows[name].time.tolist() for name in rows.streams] == [[0, 4, 5]] * 3
    assert rows.source_names.tolist() == [*cells["source"], *["strong"] * 3, *cells["source"]]
    assert rows.label is not None
    assert rows.label.tolist() == [1, -1, 0, -1, -1, -1, 1, -1, 0]  # unknown where there are none


def test_lists_keep_the_names_of_streams_where_these_differ() -> None:
    ann, bob = of(0, 5, stream=["ann"] * 2), of(0, 5, stream=["bob", "eve"])
    assert cf.rows([ann, bob]).streams == ("ann", "bob", "eve")
    assert cf.rows([ann, ann]).streams == (0, 1)
    assert cf.rows([ann, of(0)]).streams == (0, 1)
    with rejected("data"):
        cf.rows([ann, bob, of(0)])
    with rejected("data"):
        cf.rows({"x": bob})


def test_zones_of_several_streams() -> None:
    start = datetime(2024, 5, 1, 8)
    east, west = (start.replace(tzinfo=timezone(timedelta(hours=h))) for h in (2, -3))
    assert cf.rows({"a": of(east), "b": of(east)}).time_kind.zone_name(offsets=True) == "+02:00"
    assert cf.rows({"a": of(east), "b": of(west)}).time_kind.zone_name(offsets=True) == "UTC"


def windows(labels: Any, **more: Any) -> Any:
    """What pyannote gives: scores of windows that slide."""
    window = SimpleNamespace(start=1.0, step=0.5, duration=2.0)
    data = np.array([[0.9, 0.1], [0.4, 0.6]])
    return SimpleNamespace(data=data, labels=labels, sliding_window=window, **more)


def test_sliding_windows() -> None:
    """The times are the middles of the windows."""
    rows = cf.rows(windows(["speech", "noise"]))
    assert rows.time.tolist() == [2.0, 2.5]
    assert rows.probs.tolist() == [[0.9, 0.1], [0.4, 0.6]]
    assert rows.classes == ("speech", "noise")
    assert cf.rows(windows(None)).classes == ("0", "1")
    assert cf.rows(windows(None), classes=["a", "b"]).classes == ("a", "b")
    assert not cf.rows(windows(["ann", "bob"]), scores="independent").heads.is_exclusive
