"""Files of streams that somebody has made up: they take no memory, and no number is believed."""

from __future__ import annotations

import json
import struct
import tracemalloc
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine.health import FIELD
from classfilter.policy import Adaptive
from ndjson_lines import VALID, as_line, serve_here
from saved_files import replace_parts

GOOD = [0.7, 0.3]
MEGABYTE = 1 << 20


def saved(folder: Path, **options: Any) -> Path:
    """Return the file of a tracker with two streams."""
    beta = {"weak": 0.25, "strong": 1.0}
    tracker = cf.Tracker(cf.DirichletFilter(["walk", "sit"]), beta=beta, **options)
    for at, stream in enumerate(("ann", "bob", "ann")):
        tracker.update(stream, float(at), "weak", GOOD)
    tracker.save(folder / "file.npz")
    return folder / "file.npz"


def header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """Return the header of an array, without its numbers."""
    file = BytesIO()
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


def with_member(path: Path, name: str, data: bytes, **how: Any) -> None:
    """Write a file anew, with other bytes in place of an array."""
    with ZipFile(path) as file:
        parts = {part: file.read(part) for part in file.namelist()} | {name: data}
    with ZipFile(path, "w") as file:
        for part, content in parts.items():
            file.writestr(part, content, **(how if part == name else {}))


def of_many_names(path: Path) -> None:
    """Let a thousand names of the directory mean one array of a megabyte."""
    with_member(path, "x.npy", header((MEGABYTE // 8,)) + bytes(MEGABYTE))
    data = path.read_bytes()
    end = data.rindex(b"PK\5\6")
    size, start = struct.unpack("<II", data[end + 12 : end + 20])
    entry = data[data.rindex(b"PK\1\2") : end]
    count = 1000
    total = struct.pack("<HHII", count, count, count * len(entry), start)
    assert size
    path.write_bytes(data[:start] + entry * count + data[end : end + 8] + total + b"\0\0")


CLAIMS: dict[str, Any] = {
    "zeros that are packed": lambda path: with_member(
        path, "states.npy", header((2, MEGABYTE)) + bytes(16 * MEGABYTE), compress_type=ZIP_DEFLATED
    ),
    "more than the file has": lambda path: with_member(path, "states.npy", header((2, 1 << 27))),
    "numbers without bytes": lambda path: with_member(
        path, "version.npy", header((1 << 27,), "|S0")
    ),
    "one array by many names": of_many_names,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_memory_is_taken_for_what_a_file_only_claims(claim: str, tmp_path: Path) -> None:
    path = saved(tmp_path)
    CLAIMS[claim](path)
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"file\.npz is damaged, or no saved tracker: "
        ) as told:
            cf.Tracker.load(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert any(f"{name}.npy takes" in str(told.value) for name in ("states", "version", "x"))
    assert str(told.value).endswith("; take an earlier copy")


def counts(path: Path, **fields: Any) -> dict[str, Any]:
    with np.load(path) as file:
        sources = json.loads(str(file["meta"]))["sources"]
    for name, value in fields.items():
        sources["weak"][FIELD[name]] = value
    return meta(path, sources=sources)


def meta(path: Path, **fields: Any) -> dict[str, Any]:
    with np.load(path) as file:
        return {"meta": json.dumps(json.loads(str(file["meta"])) | fields)}


def call(path: Path, place: int, value: Any) -> dict[str, Any]:
    """Change what a policy knows of a stream: its state, the estimate, or the last calls."""
    with np.load(path) as file:
        calls = json.loads(str(file["meta"]))["calls"]
    calls[0][place] = value
    return meta(path, calls=calls)


CHANGES: dict[str, Any] = {
    "a class before the first": lambda path: counts(path, run_class=-3),
    "a class between two": lambda path: counts(path, run_class=0.5),
    "a count that is infinite": lambda path: counts(path, rows=np.inf),
    "a time of text": lambda path: counts(path, time="noon"),
    "counts of too few": lambda path: meta(path, sources={"weak": [1.0]}),
    "a list of sources": lambda path: meta(path, sources=["weak", "strong"]),
    "a clock of text": lambda path: meta(path, clock="noon"),
    "a stray of text": lambda path: meta(path, strays=[["ann", "noon"]]),
    "a lag without a rule": lambda path: meta(path, lag=3),
    "a lag beyond all rows": lambda path: meta(path, lag=10**30),
    "no calls": lambda path: meta(path, calls=[]),
    "an estimate of one class": lambda path: call(path, 1, [1.0]),
    "a call at no time": lambda path: call(path, 2, {"weak": None}),
    "a list for names and values": lambda _: {"meta": "[]"},
    "a number for settings": lambda _: {"settings": "1"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_numbers_that_no_tracker_has_are_refused(change: str, tmp_path: Path) -> None:
    """The core takes some of them as they are: one wrote beyond the memory of its array."""
    path = saved(tmp_path, policy=Adaptive(0.5))
    replace_parts(path, **CHANGES[change](path))
    with pytest.raises(ValueError, match=r"file\.npz is damaged: .*; take an earlier copy"):
        cf.Tracker.load(path)


def test_a_bank_refuses_settings_that_are_none(tmp_path: Path) -> None:
    bank = cf.Bank(cf.StickyFilter(["walk", "sit"]), 3)
    bank.save(tmp_path / "file.npz")
    replace_parts(tmp_path / "file.npz", settings="1", digest="x")
    with pytest.raises(ValueError, match=r"file\.npz is damaged"):
        bank.load(tmp_path / "file.npz")


def test_a_source_that_disagrees_though_nobody_looked(tmp_path: Path) -> None:
    path = saved(tmp_path)
    replace_parts(path, **counts(path, deficit=1e9, recent_judged=99, judged=0))
    assert "weak" in str(cf.Tracker.load(path).health())


def test_times_without_an_end_load_again(tmp_path: Path) -> None:
    """Sums of large steps are infinite after rows that are valid: the file is not damaged."""
    path = saved(tmp_path)
    endless = dict.fromkeys(("span", "longest_gap", "time", "deficit"), np.inf)
    replace_parts(path, **counts(path, **endless))
    tracker = cf.Tracker.load(path)
    tracker.update("ann", 9.0, "weak", GOOD)
    tracker.save(path)
    assert "weak" in str(cf.Tracker.load(path).health())


@pytest.mark.parametrize(
    "change",
    [
        {"ties": np.array([1e300, 2.0])},
        {"more_ties": np.array(["x"]), "tie_slots": np.zeros(1, int)},
    ],
)
def test_checksums_that_are_none(change: dict[str, Any], tmp_path: Path) -> None:
    lines, path = [as_line(VALID | {"stream": n}) for n in (0, 1)], tmp_path / "file"
    serve_here(lines, state=path)
    replace_parts(path, **change)
    with pytest.raises(ValueError, match="file is damaged: the checksums"):
        serve_here(lines, state=path, errors=StringIO())


def test_a_class_of_lines_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    serve_here([as_line(VALID)], state=path)
    replace_parts(path, **meta(path, columns=["walk", "sit", "walk"]))
    with pytest.raises(ValueError, match="file is damaged: a class is there twice"):
        serve_here([], state=path, errors=StringIO())
