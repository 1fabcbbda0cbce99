"""Files: round trips, and writes that are complete or leave the old file."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import classfilter as cf
from classfilter import read_table, write_table
from classfilter.inputs import Heads, TableFormat, result_columns
from classfilter.support import atomic
from classfilter.support.atomic import atomic_write, syncing
from example_tables import FILES, KINDS, columns, tables, walk_sit


@pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("suffix", FILES)
@given(cells=tables(), label=st.lists(st.sampled_from([-1, 0, 1]), min_size=24, max_size=24))
def test_files_round_trip(
    suffix: str, cells: dict[str, Any], label: list[int], tmp_path: Path
) -> None:
    classes = [name[2:] for name in cells if name.startswith("p_")]
    known = [None if k < 0 else classes[k] for k in label[: len(cells["time"])]]
    df = pl.DataFrame(cells | {"label": known})
    path = tmp_path / f"day{suffix}"
    write_table(df, path)
    again = read_table(path)
    assert again.columns == df.columns
    expected, result = cf.rows(df).by_stream(), cf.rows(again).by_stream()
    assert list(result) == list(expected)
    for stream, rec in expected.items():
        assert result[stream].classes == rec.classes
        for name in ("time", "source_names", "probs", "label"):
            np.testing.assert_array_equal(getattr(result[stream], name), getattr(rec, name))


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_dataframe_can_be_written(kind: str, suffix: str, tmp_path: Path) -> None:
    df = KINDS[kind](columns())
    write_table(df, tmp_path / f"day{suffix.upper()}")
    again = read_table(str(tmp_path / f"day{suffix.upper()}"))
    assert again.to_dict(as_series=False) == columns()


def test_other_libraries_read_the_files(tmp_path: Path) -> None:
    for suffix in FILES:
        write_table(pl.DataFrame(columns()), tmp_path / f"day{suffix}")
    as_pandas = pd.DataFrame(columns())
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "day.csv"), as_pandas)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "day.parquet"), as_pandas)
    for suffix in (".ndjson", ".jsonl"):
        lines = pd.read_json(tmp_path / f"day{suffix}", lines=True, dtype={"time": float})
        pd.testing.assert_frame_equal(lines, as_pandas)


def test_names_in_csv_are_text(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,stream,source,label,p_1,p_2\n0,007,1,1,0.5,0.5\n1,007,1,,0.5,0.5\n")
    ((stream, rec),) = cf.rows(read_table(path)).by_stream().items()
    assert (stream, rec.sources) == ("007", ("1",))
    assert rec.label is not None
    assert rec.label.tolist() == [0, -1]


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_many_columns_take_a_time_in_proportion() -> None:
    K = 500
    classes = tuple(Name(i) for i in range(K))[::-1]
    names: list[str] = [Name("time"), *(Name(f"p_{i}") for i in range(K))]
    Name.compared = 0
    assert TableFormat(Heads.exclusive(classes)).layout(names).classes == tuple(
        str(i) for i in range(K)
    )
    assert len(result_columns(names, Heads.exclusive(classes))) == K + 1
    order = Heads.exclusive(classes).order_in(tuple(map(str, range(K))))
    assert order.tolist() == [*range(K)][::-1]
    assert Name.compared < 20 * K


def test_missing_observations_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,p_a,p_b\n0,,\n1,NaN,\n2,0.5,0.5\n")
    rec = cf.rows(read_table(path))
    assert np.isnan(rec.probs).all(axis=1).tolist() == [True, True, False]
    path.write_text("time,p_a,p_b\n0,,\n")
    assert np.isnan(cf.rows(read_table(path)).probs).all()


def test_nan_in_a_text_file_is_missing(tmp_path: Path) -> None:
    """Written as text by others; it does not turn the other numbers of the column into text."""
    path = tmp_path / "day.csv"
    path.write_text("time,p_walk,p_sit\n0,0.9,0.1\n5,0.4,0.6\n9,nan,NaN\n")
    assert cf.rows(path).observed().tolist() == [True, True, False]
    expected = cf.filter_table(path, walk_sit())["class"].to_list()
    cf.filter_file(path, tmp_path / "out.csv", walk_sit())
    assert cf.read_table(tmp_path / "out.csv")["class"].to_list() == expected


def test_a_name_with_brackets_is_not_a_pattern(tmp_path: Path) -> None:
    for name in ("day[1].csv", "day*.csv"):
        write_table(pl.DataFrame(columns()), tmp_path / name)
        assert len(read_table(tmp_path / name)) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["day*.csv", "day[1].csv"]


class StopError(Exception):
    pass


@pytest.mark.parametrize("suffix", FILES)
def test_a_failed_write_changes_nothing(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"day{suffix}"
    path.write_text("old")

    def fail(df: pl.DataFrame | pl.LazyFrame, file: Any, **_: Any) -> None:
        file.write(b"half")
        assert path.read_text() == "old"  # while the new one is written
        raise StopError

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fail)
    for name in ("sink_csv", "sink_ndjson"):
        monkeypatch.setattr(pl.LazyFrame, name, fail)
    with pytest.raises(StopError):
        write_table(pl.DataFrame(columns()), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_atomic_write(tmp_path: Path) -> None:
    target, link = tmp_path / "deep" / "file", tmp_path / "link"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
        assert target.read_text() == "old"
        assert len(list(target.parent.iterdir())) == 2  # in the same folder
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [p.name for p in target.parent.iterdir()] == ["file"]
    plain = tmp_path / "plain"
    plain.write_text("")
    with atomic_write(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode
    with (
        pytest.raises(FileNotFoundError, match="nowhere"),
        atomic_write(tmp_path / "nowhere" / "f"),
    ):
        pass


def test_a_file_goes_to_the_disk_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = Event()
    monkeypatch.setattr(atomic, "SYNC_SECONDS", 1e-3)
    monkeypatch.setattr(os, "fsync", lambda fd: synced.set())
    with atomic_write(tmp_path / "file") as file, syncing(file):
        file.write(b"new")
        assert synced.wait(60)
    assert (tmp_path / "file").read_bytes() == b"new"
    read, write = os.pipe()
    synced.clear()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb") as pipe, syncing(pipe):
        assert not synced.wait(0.05)  # there is no disk behind it


def test_an_error_of_the_disk_counts_although_the_last_sync_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, failed = tmp_path / "file", Event()
    path.write_text("old")

    def fail_once(fd: int) -> None:
        if not failed.is_set():
            failed.set()
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(atomic, "SYNC_SECONDS", 1e-3)
    monkeypatch.setattr(os, "fsync", fail_once)

    def write() -> None:
        with atomic_write(path) as file, syncing(file):
            file.write(b"new")
            assert failed.wait(60)

    with pytest.raises(OSError, match=r"Input/output error.*file"):
        write()
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1
