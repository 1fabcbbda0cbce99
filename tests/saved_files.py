"""Files of streams with some of their parts replaced, as damage or an attacker would."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import classfilter as cf


def loaded(text: str) -> Any:
    """Load the settings that a file would have."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "walk.json"
        path.write_text(text, "utf-8")
        return cf.load(path)


def file_of(pipe: cf.Pipeline) -> str:
    """Return what is saved."""
    with TemporaryDirectory() as folder:
        pipe.save(Path(folder) / "walk.json")
        return (Path(folder) / "walk.json").read_text("utf-8")


def replace_parts(path: Path, **parts: Any) -> None:
    """Write a file anew, with other arrays in place of some."""
    with np.load(path) as file:
        arrays = dict(file) | parts
    with path.open("wb") as out:
        np.savez(out, **arrays)


def flipped(content: bytes, at: int) -> bytes:
    """Return a file with one bit changed."""
    return content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :]
