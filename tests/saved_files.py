"""Files of streams with some of their parts replaced, as damage or an attacker would."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import classfilter as cf
from classfilter.engine.store import check_sum

SEALS = (
    "UPDATE streams SET sum = check_sum(number, name, place, time, state)",
    'UPDATE events SET sum = check_sum(number, stream, class, start, "end", probability, forced)',
    "UPDATE meta SET value = (SELECT count(*) FROM streams) WHERE name = 'count'",
)


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
    """Run a statement on a file of streams, as any SQL tool can; all check sums are right then."""
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute(statement, values).fetchall()
        if not statement.startswith("SELECT"):
            db.create_function("check_sum", -1, check_sum)
            for seal in SEALS:
                with suppress(sqlite3.Error):  # the statement took what it is about
                    db.execute(seal)
            with suppress(sqlite3.Error):
                texts = db.execute("SELECT name, value FROM meta WHERE name != 'sum' ORDER BY name")
                values = (str(check_sum(*texts)),)
                db.execute("UPDATE meta SET value = ? WHERE name = 'sum'", values)
    return rows


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
