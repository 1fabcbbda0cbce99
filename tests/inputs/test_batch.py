"""Files in parts: equal to each stream by itself, in little memory, complete or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from classfilter import filter_file
from classfilter.engine import filter_to
from classfilter.inputs import TableFile, files
from conftest import rejected
from example_tables import FILES

BETA = {"weak": 0.1, "strong": 1.0}
CLASSES = ["walk", "sit", "sleep"]


def new_filter() -> cf.DirichletFilter:
    return cf.DirichletFilter(CLASSES, half_life=60.0)


def day(rows: int, streams: int = 7) -> pl.DataFrame:
    """Interleaved streams of unequal length, two sources, some rows missing, some times equal."""
    rng = np.random.default_rng(rows)
    p = rng.dirichlet(np.ones(3), rows)
    p[rng.random(rows) < 0.05] = np.nan
    stream = rng.integers(streams, size=rows) ** 2 // streams
    return pl.DataFrame(
        {
            "note": [f"row {i}" for i in range(rows)],
            "time": rng.integers(0, 3, rows).cumsum() * 2.5,
            "stream": [f"s{k}" for k in stream],
            "source": np.where(rng.random(rows) < 0.1, "strong", "weak"),
            **{f"p_{name}": p[:, k] for k, name in enumerate(CLASSES)},
        }
    ).with_columns(pl.col("^p_.*$").fill_nan(None))


def expected(df: pl.DataFrame, fresh: cf.Filter | None = None) -> np.ndarray:
    """Filter each stream alone, row by row, without tables."""
    P = np.empty((len(df), 3))
    fresh = fresh or new_filter()
    filters: dict[str, cf.Filter] = {}
    last: dict[str, float] = {}
    probs = df.select([f"p_{name}" for name in CLASSES]).fill_null(np.nan).to_numpy()
    for i, (t, name, source) in enumerate(df.select("time", "stream", "source").iter_rows()):
        f = filters.setdefault(name, fresh.copy())
        P[i] = f.update(probs[i], BETA[source], t - last.get(name, t))
        last[name] = t
    return P


@pytest.mark.covering(2)
@pytest.mark.parametrize("at_once", [1, 10, 64, 10_000])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.usefixtures("short_parts")
def test_parts_equal_each_stream_alone(
    suffix: str, threads: int, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = day(300, 40) if at_once > 1 else day(30)
    path, out = tmp_path / f"day{suffix}", tmp_path / f"out{suffix}"
    cf.write_table(df, path)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", at_once)
    seen: list[int] = []
    done = filter_file(path, out, new_filter(), beta=BETA, threads=threads, progress=seen.append)
    assert done == (len(df), df["stream"].n_unique())
    assert seen[-1] == len(df)
    assert len(seen) >= (3 if at_once < 100 and suffix == ".parquet" else 1)
    result = cf.read_table(out)
    P = result.select([f"f_{name}" for name in CLASSES]).to_numpy()
    np.testing.assert_array_equal(P, expected(df))
    assert result["class"].to_list() == [CLASSES[k] for k in P.argmax(axis=1)]
    assert result["note"].to_list() == df["note"].to_list()


def test_cells_of_a_csv_file_do_not_change(tmp_path: Path) -> None:
    path, out = tmp_path / "day.csv", tmp_path / "out.csv"
    path.write_text("time,id,p_walk,p_sit,p_sleep\n 7,007,1,0,0\n08,1e3,0.50,.25,.25\n")
    filter_file(path, out, new_filter())
    lines = [line.split(",") for line in out.read_text().splitlines()]
    assert [line[:5] for line in lines[1:]] == [
        [" 7", "007", "1", "0", "0"],
        ["08", "1e3", "0.50", ".25", ".25"],
    ]


@pytest.mark.parametrize("suffix", FILES)
def test_errors_name_the_row_of_the_file(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 4)
    df = day(12).with_columns(pl.col("^p_.*$").fill_null(1 / 3))
    df[7, "p_walk"] = -0.5
    path, out = tmp_path / f"day{suffix}", tmp_path / f"out{suffix}"
    out.write_text("old")
    cf.write_table(df, path)
    line = {".csv": 9, ".parquet": None}.get(suffix, 8)
    with rejected("probs", row=7, entry="walk", line=line):
        filter_file(path, out, new_filter(), beta=BETA)
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, out.name])


def test_a_time_that_goes_back_from_part_to_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 2)
    path = tmp_path / "day.parquet"
    rows = {"time": [0.0, 5.0, 4.0], **{f"p_{name}": [1 / 3] * 3 for name in CLASSES}}
    cf.write_table(pl.DataFrame(rows), path)
    with rejected("time", row=2):
        filter_file(path, tmp_path / "out.parquet", new_filter())


def test_a_file_without_rows(tmp_path: Path) -> None:
    path, out = tmp_path / "day.csv", tmp_path / "out.csv"
    path.write_text("time,p_walk,p_sit,p_sleep\n")
    assert filter_file(path, out, new_filter()) == (0, 0)
    assert out.read_text() == "time,p_walk,p_sit,p_sleep,f_walk,f_sit,f_sleep,class\n"
    assert TableFile(path).classes == tuple(CLASSES)
    assert TableFile(path).rows == 0


@pytest.mark.parametrize("suffix", FILES)
def test_a_file_is_scanned_once(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars keeps the schema and the metadata with a scan; another scan would read them again."""
    scans: list[str] = []

    def count(name: str) -> None:
        scan = getattr(pl, name)

        def counted(*args: Any, **options: Any) -> Any:
            if options.get("separator") != "\x01":  # its lines, not its cells
                scans.append(name)
            return scan(*args, **options)

        monkeypatch.setattr(pl, name, counted)

    for name in ("scan_csv", "scan_parquet", "scan_ndjson"):
        count(name)
    path, out = tmp_path / f"day{suffix}", tmp_path / f"out{suffix}"
    cf.write_table(day(50), path)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 10)
    file = TableFile(path)
    assert (file.columns[:2], file.classes, file.rows) == (["note", "time"], tuple(CLASSES), 50)
    with out.open("wb") as written:
        filter_to(file, written, suffix, cf.Pipeline(new_filter(), beta=BETA))
    assert len(scans) == 1
    filter_file(path, out, new_filter(), beta=BETA)
    assert len(scans) == 2


@pytest.mark.parametrize(
    ("group", "lengths"),
    [(40, [80, 80, 80, 60]), (100, [100, 100, 100]), (150, [150, 150]), (300, [100, 100, 100])],
)
def test_parts_are_whole_row_groups(
    group: int, lengths: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless a row group has more than twice the rows that a part should have."""
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 100)
    df = day(300)
    df.write_parquet(tmp_path / "day.parquet", row_group_size=group)
    parts = list(TableFile(tmp_path / "day.parquet").parts())
    assert [len(part) for part in parts] == lengths
    assert pl.concat(parts).equals(df)


@pytest.mark.parametrize("suffix", FILES)
def test_a_name_with_brackets_is_not_a_pattern(suffix: str, tmp_path: Path) -> None:
    for stem in ("day1", "day[1]", "day*"):
        cf.write_table(day(20), tmp_path / f"{stem}{suffix}")
    for stem in ("day[1]", "day*"):
        out = tmp_path / f"out{suffix}"
        assert filter_file(tmp_path / f"{stem}{suffix}", out, new_filter(), beta=BETA).rows == 20


PEAK = """
import resource, sys, classfilter as cf
f = cf.DirichletFilter(["walk", "sit", "sleep"], half_life=60.0)
cf.filter_file(sys.argv[1], sys.argv[2], f, beta={"weak": 0.1, "strong": 1.0})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Four times the rows need far less than the memory of these rows."""
    small = pl.concat([day(100_000, 3)] * 4)
    small = small.with_columns(time=pl.Series(np.arange(len(small), dtype=np.float64)))
    large = pl.concat([small] * 4)
    large = large.with_columns(time=pl.Series(np.arange(len(large), dtype=np.float64)))
    peaks = []
    for df in (small, large):
        df.write_parquet(tmp_path / "day.parquet", row_group_size=50_000)
        files = [str(tmp_path / name) for name in ("day.parquet", "out.parquet")]
        command = [sys.executable, "-c", PEAK, *files]
        peaks.append(1024 * int(subprocess.run(command, capture_output=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 0.5 * (large.estimated_size() - small.estimated_size()), peaks
