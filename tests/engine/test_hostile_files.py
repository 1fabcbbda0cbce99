"""Files of streams that somebody has made up: no number is believed, and no code runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.engine.health import FIELD
from classfilter.policy import Adaptive
from ndjson_lines import VALID, as_line, serve_here
from saved_files import meta_of, set_meta, sql

GOOD = [0.7, 0.3]


def saved(folder: Path, **options: Any) -> Path:
    """Return the file of a tracker with two streams."""
    beta = {"weak": 0.25, "strong": 1.0}
    tracker = cf.Tracker(cf.DirichletFilter(["walk", "sit"]), beta=beta, **options)
    for at, stream in enumerate(("ann", "bob", "ann")):
        tracker.update(stream, float(at), "weak", GOOD)
    tracker.save(folder / "file.db")
    return folder / "file.db"


def counts(path: Path, **fields: Any) -> None:
    sources = meta_of(path, "sources")
    for name, value in fields.items():
        sources["weak"][FIELD[name]] = value
    set_meta(path, sources=sources)


def call(path: Path, place: int, value: Any) -> None:
    """Change what a policy knows of a stream: its state, the estimate, or the last calls."""
    [[number, state], *_] = sql(path, "SELECT number, state FROM streams")
    first = 16 + 8 * 3
    size = int.from_bytes(state[first : first + 4], "little")
    calls = json.loads(state[first + 4 : first + 4 + size])
    calls[place] = value
    text = json.dumps(calls).encode()
    state = state[:first] + len(text).to_bytes(4, "little") + text
    sql(path, "UPDATE streams SET state = ? WHERE number = ?", state, number)


CHANGES: dict[str, Any] = {
    "a class before the first": lambda path: counts(path, run_class=-3),
    "a class between two": lambda path: counts(path, run_class=0.5),
    "a count that is infinite": lambda path: counts(path, rows=np.inf),
    "a time of text": lambda path: counts(path, time="noon"),
    "counts of too few": lambda path: set_meta(path, sources={"weak": [1.0]}),
    "a list of sources": lambda path: set_meta(path, sources=["weak", "strong"]),
    "a clock of text": lambda path: set_meta(path, clock="noon"),
    "a stray of text": lambda path: set_meta(path, strays=[["ann", "noon"]]),
    "a lag without a rule": lambda path: set_meta(path, lag=3),
    "a lag beyond all rows": lambda path: set_meta(path, lag=10**30),
    "a limit of text": lambda path: set_meta(path, max_streams="x"),
    "another digest": lambda path: set_meta(path, digest="0123456789abcdef"),
    "no settings": lambda path: sql(path, "DELETE FROM meta WHERE name = 'settings'"),
    "no kind": lambda path: sql(path, "DELETE FROM meta WHERE name = 'kind'"),
    "a filter of a number": lambda path: set_meta(path, settings={"filter": 3}),
    "a number for settings": lambda path: set_meta(path, settings=1),
    "deep settings": lambda path: sql(
        path, "UPDATE meta SET value = ? WHERE name = 'settings'", "[" * 100_000
    ),
    "no calls": lambda path: sql(path, "UPDATE streams SET state = substr(state, 1, 40)"),
    "an estimate of one class": lambda path: call(path, 1, [1.0]),
    "a call at no time": lambda path: call(path, 2, {"weak": None}),
    "a name that is no JSON": lambda path: sql(path, "UPDATE streams SET name = x'7b'"),
    "a name that is a mapping": lambda path: sql(
        path, "UPDATE streams SET name = ? WHERE number = 1", b"{}"
    ),
    "a table more": lambda path: sql(path, "CREATE TABLE more (x)"),
    "a trigger": lambda path: sql(
        path, "CREATE TRIGGER t AFTER INSERT ON streams BEGIN DELETE FROM events; END"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_no_tracker_has_is_refused(change: str, tmp_path: Path) -> None:
    """The core takes some of them as they are: one wrote beyond the memory of its array."""
    path = saved(tmp_path, policy=Adaptive(0.5))
    CHANGES[change](path)
    with pytest.raises(ValueError, match=r"^[^\n]*file\.db is damaged: [^\n]*$") as error:
        cf.Tracker.load(path)
    assert len(str(error.value)) < 1000


def test_a_source_that_disagrees_though_nobody_looked(tmp_path: Path) -> None:
    path = saved(tmp_path)
    counts(path, deficit=1e9, recent_judged=99, judged=0)
    assert "weak" in str(cf.Tracker.load(path).health())


def test_times_without_an_end_load_again(tmp_path: Path) -> None:
    """Sums of large steps are infinite after rows that are valid: the file is not damaged."""
    path = saved(tmp_path)
    counts(path, **dict.fromkeys(("span", "longest_gap", "time", "deficit"), np.inf))
    tracker = cf.Tracker.load(path)
    tracker.update("ann", 9.0, "weak", GOOD)
    tracker.save(path)
    assert "weak" in str(cf.Tracker.load(path).health())


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": ["walk", "sit", "walk"]},
        {"columns": ["walk"]},
        {"columns": [["walk", "sit"]]},
        {"line": "x"},
        {"lines": None},
        {"last_event": "x"},
    ],
)
def test_lines_of_a_file_that_is_made_up(fields: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "file"
    serve_here([as_line(VALID)], state=path)
    set_meta(path, **fields)
    with pytest.raises(ValueError, match=r"file is damaged: [^\n]*$"):
        serve_here([], state=path)
