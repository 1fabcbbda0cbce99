"""Files: what is written is read again, and nothing is lost on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classfilter._atomic import atomic_write
from classfilter.data._files import read_table, write_table
from classfilter.data._recording import Recording, recordings
from example_tables import FILES, KINDS, columns, tables


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("ending", FILES)
@given(cells=tables(), label=st.lists(st.sampled_from([-1, 0, 1]), min_size=24, max_size=24))
def test_files_round_trip(
    ending: str, cells: dict[str, Any], label: list[int], tmp_path: Path
) -> None:
    classes = [name[2:] for name in cells if name.startswith("p_")]
    known = [None if k < 0 else classes[k] for k in label[: len(cells["time"])]]
    df = pl.DataFrame(cells | {"label": known})
    path = tmp_path / f"day{ending}"
    write_table(df, path)
    again = read_table(path)
    assert again.columns == df.columns
    want, found = recordings(df), recordings(again)
    assert list(found) == list(want)
    for stream, rec in want.items():
        assert found[stream].classes == rec.classes
        for name in ("time", "source", "probs", "label"):
            np.testing.assert_array_equal(getattr(found[stream], name), getattr(rec, name))


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_dataframe_can_be_written(kind: str, ending: str, tmp_path: Path) -> None:
    df = KINDS[kind](columns())
    write_table(df, tmp_path / f"day{ending.upper()}")
    again = read_table(str(tmp_path / f"day{ending.upper()}"))
    assert again.to_dict(as_series=False) == columns()


def test_files_are_what_they_are_called(tmp_path: Path) -> None:
    for ending in FILES:
        write_table(pl.DataFrame(columns()), tmp_path / f"day{ending}")
    as_pandas = pd.DataFrame(columns())
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "day.csv"), as_pandas)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "day.parquet"), as_pandas)
    for ending in (".ndjson", ".jsonl"):
        lines = pd.read_json(tmp_path / f"day{ending}", lines=True, dtype={"time": float})
        pd.testing.assert_frame_equal(lines, as_pandas)


def test_names_in_csv_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,stream,source,label,p_1,p_2\n0,007,1,1,0.5,0.5\n1,007,1,,0.5,0.5\n")
    ((stream, rec),) = recordings(read_table(path)).items()
    assert (stream, rec.sources) == ("007", ("1",))
    assert rec.label is not None
    assert rec.label.tolist() == [0, -1]


def test_text_far_down_a_csv_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,p_a,p_b\n" + "0,0.5,0.5\n" * 500 + "0,oops,0.5\n")
    with pytest.raises(ValueError, match="column p_a in row 500 is 'oops'"):
        recordings(read_table(path))


def test_missing_observations_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,p_a,p_b\n0,,\n1,NaN,\n2,0.5,0.5\n")
    rec = Recording.from_table(read_table(path))
    assert np.isnan(rec.probs).all(axis=1).tolist() == [True, True, False]
    path.write_text("time,p_a,p_b\n0,,\n")
    assert np.isnan(Recording.from_table(read_table(path)).probs).all()


@pytest.mark.parametrize(("ending", "data"), [(".csv", b""), (".parquet", b"x"), (".ndjson", b"{")])
def test_files_that_cannot_be_read(ending: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"day{ending}"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"day{ending} cannot be read as {ending}: "):
        read_table(path)


def test_a_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    for name in ("day[1].csv", "day*.csv"):
        write_table(pl.DataFrame(columns()), tmp_path / name)
        assert len(read_table(tmp_path / name)) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["day*.csv", "day[1].csv"]


class StopError(Exception):
    pass


@pytest.mark.parametrize("ending", FILES)
def test_a_write_that_fails_leaves_all_as_it_was(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"day{ending}"
    path.write_text("old")

    def fail(df: pl.DataFrame, file: Any) -> None:
        file.write(b"half")
        assert path.read_text() == "old"  # while the new one is under way
        raise StopError

    for name in ("write_csv", "write_parquet", "write_ndjson"):
        monkeypatch.setattr(pl.DataFrame, name, fail)
    with pytest.raises(StopError):
        write_table(pl.DataFrame(columns()), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_replacing(tmp_path: Path) -> None:
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
    with atomic_write(tmp_path / "made"):
        pass
    assert (tmp_path / "made").stat().st_mode == plain.stat().st_mode
    with (
        pytest.raises(FileNotFoundError, match="nowhere"),
        atomic_write(tmp_path / "nowhere" / "f"),
    ):
        pass
