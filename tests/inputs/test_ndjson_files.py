"""Lines of NDJSON that Polars would read as something else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import classfilter as cf
from classfilter.inputs import files

F = cf.DirichletFilter(["a", "b"], half_life=60.0)


def line(stream: str, time: int = 0) -> str:
    return json.dumps({"time": time, "stream": stream, "p_a": 0.75, "p_b": 0.25})


def filtered(path: Path) -> Any:
    cf.filter_file(path, path.with_name("out.ndjson"), F)
    return cf.read_table(path)


@pytest.mark.parametrize("half", [r"\ud800", r"\uDBFF", r"\udc00", r"a\ud83d\ud83d\ude00"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("block", [7, 64, 1 << 20])
def test_half_a_character_is_refused(
    half: str, compressed: bool, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", block)
    text = "\n".join([line("ann"), line("😀", 1), line("HALF", 2).replace("HALF", half), ""])
    path = tmp_path / ("day.ndjson.gz" if compressed else "day.ndjson")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    for read in (filtered, cf.read_table):
        with pytest.raises(ValueError, match=r"day.ndjson.*, line 3: text has half of a character"):
            read(path)
    assert not (tmp_path / "out.ndjson").exists()


def test_whole_characters_are_read(tmp_path: Path) -> None:
    path = tmp_path / "day.ndjson"
    names = ["😀", "\\ud83d", "x"]  # a backslash and its letters are no character
    path.write_text("\n".join(line(name, i) for i, name in enumerate(names)) + "\n")
    assert filtered(path)["stream"].to_list() == names


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "day.ndjson"
    path.write_text('{"time":0,"p_a":0.9,"p_b":0.1,"p_a":0.1}\n')
    for read in (filtered, cf.read_table):
        with pytest.raises(ValueError, match="line 1: the key 'p_a' is there twice; name it once"):
            read(path)
    path.write_text('{"time":0,"p_a":0.9,"p_b":0.1,"more":{"p_a":1}}\n')
    assert cf.read_table(path)["p_a"].to_list() == [0.9]
