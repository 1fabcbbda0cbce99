"""Files of streams with some of their parts replaced, as damage or an attacker would."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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


def sql(path: Path, statement: str, *values: Any) -> list[Any]:
    """Run a statement on a file of streams, as any SQL tool can."""
    with closing(sqlite3.connect(path)) as db, db:
        return db.execute(statement, values).fetchall()


def meta_of(path: Path, name: str) -> Any:
    """Return what a file of streams says besides streams and events."""
    [[text]] = sql(path, "SELECT value FROM meta WHERE name = ?", name)
    return json.loads(text)


def set_meta(path: Path, **fields: Any) -> None:
    """Let a file of streams say something else."""
    for name, value in fields.items():
        sql(path, "UPDATE meta SET value = ? WHERE name = ?", json.dumps(value), name)


def flipped(content: bytes, at: int) -> bytes:
    """Return a file with one bit changed."""
    return content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :]
