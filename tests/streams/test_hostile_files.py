"""Files of streams that somebody has made up: they take no memory, and no number is believed."""

from __future__ import annotations

import struct
import tracemalloc
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

import classfilter as cf

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
