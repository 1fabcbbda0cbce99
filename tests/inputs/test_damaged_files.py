"""Damaged files of tables: a ValueError that names the file, whatever is wrong with it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from classfilter.inputs import TableInput, reading
from example_tables import KINDS, columns, walk_sit

SUFFIXES = (".csv", ".ndjson", ".csv.gz", ".ndjson.gz", ".csv.zst")


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return a file that was cut off, or has some other bytes."""
    if rng.random() < 0.3:
        return content[: rng.randrange(len(content))]
    new = bytearray(content)
    for _ in range(rng.choice([1, 2, 8])):
        new[rng.randrange(len(new))] = rng.randrange(256)
    return bytes(new)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage_is_a_value_error(suffix: str, tmp_path: Path) -> None:
    path, rng, refused = tmp_path / f"day{suffix}", random.Random(suffix), 0
    cf.write_table(pl.DataFrame(columns(stream=["a", "a", "b"])), path)
    content = path.read_bytes()
    calls: list[Any] = [
        lambda: cf.rows(cf.read_table(path)).by_stream(),
        lambda: cf.filter_file(path, tmp_path / "out.csv", walk_sit()),
    ]
    for n in range(100):
        path.write_bytes(damaged(content, rng))
        try:
            calls[n % 2]()
        except ValueError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("cut", [5, 15, 40])
def test_a_compressed_file_that_was_cut_off(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "day.csv.gz"
    cf.write_table(pl.DataFrame(columns()), path)
    path.write_bytes(path.read_bytes()[:cut])
    for call in (cf.read_table, lambda p: cf.filter_file(p, tmp_path / "o.csv", walk_sit())):
        with pytest.raises(ValueError, match=rf"^{re.escape(str(path))} cannot be read as \.csv: "):
            call(path)
    assert [p.name for p in tmp_path.iterdir()] == ["day.csv.gz"]


def test_a_file_that_polars_gives_up_on() -> None:
    """It panics in places where a Parquet file is damaged; that is no Exception."""
    told = r"^day\.parquet cannot be read as \.parquet: left == right$"
    with pytest.raises(ValueError, match=told), reading(TableInput.of("day.parquet")):
        raise pl.exceptions.PanicException("left == right\nof a length")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["stream", "source", "label", "prediction"])
def test_a_column_of_lists(name: str, kind: str) -> None:
    cells = columns() | {"p_walk": [None] * 3, "p_sit": [None] * 3, name: [[1], [2], [3]]}
    with pytest.raises(cf.RowError, match="column"):
        cf.rows(KINDS[kind](cells)).by_stream()


@pytest.mark.parametrize("suffix", [".ndjson", ".csv", ".tsv.gz"])
def test_a_column_of_bytes(suffix: str, tmp_path: Path) -> None:
    """Polars would panic, or refuse it in words of its own."""
    rows = {"time": [0, 1], "p_a": [0.75, 0.25], "p_b": [0.25, 0.75], "x": [b"a", b"b"]}
    pl.DataFrame(rows).write_parquet(tmp_path / "day.parquet")
    f, out = cf.DirichletFilter(["a", "b"]), tmp_path / f"out{suffix}"
    for write in (
        lambda: cf.filter_file(tmp_path / "day.parquet", out, f),
        lambda: cf.write_table(pl.DataFrame(rows), out),
    ):
        with pytest.raises(ValueError, match="column x holds bytes, which text cannot; drop it"):
            write()
    assert not out.exists()
    cf.filter_file(tmp_path / "day.parquet", tmp_path / "out.parquet", f)
    assert cf.read_table(tmp_path / "out.parquet")["x"].to_list() == [b"a", b"b"]
