"""The n-th call to a file fails, for every n: the old file stays, and a second try succeeds."""

from __future__ import annotations

import io
import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, cast
from unittest import mock

import pytest

import classfilter as cf
from classfilter.embedded import export
from classfilter.live import pipes, serve
from faults import MODES, Faults
from ndjson_lines import as_line, many_rows, run

CLASSES = ("a", "b")
ROWS = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
MORE = [mode for mode in MODES if mode != "once"]


class Operation(NamedTuple):
    """Writes the first or the second version of a file, and reads which one is there."""

    write: Callable[[Path, int], Any]
    read: Callable[[Path], int]
    name: str = "file"


def _tracker(path: Path, version: int) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), events=cf.EventRule(0.5))
    for t in range(version):
        tracker.update("x", float(t), None, ROWS[t])
    tracker.save(path)


def _bank(path: Path, version: int) -> None:
    bank = cf.Bank(cf.DirichletFilter(CLASSES), 2)
    bank.update([ROWS[version - 1]] * 2)
    bank.save(path)


def _read_bank(path: Path) -> int:
    bank = cf.Bank(cf.DirichletFilter(CLASSES), 2)
    bank.load(path)
    return 1 if bank.update([[math.nan] * 2] * 2)[0, 0] > 0.5 else 2


def _cascade() -> cf.Cascade:
    return cf.Cascade(cf.DirichletFilter(CLASSES), {"only": lambda window: window})


def _save_cascade(path: Path, version: int) -> None:
    cascade = _cascade()
    cascade.step(ROWS[version - 1])
    cascade.save(path)


def _read_cascade(path: Path) -> int:
    cascade = _cascade()
    cascade.load(path)
    return 1 if cascade.filter.probs[0] > 0.5 else 2


def _events(path: Path, version: int) -> None:
    cf.write_events([cf.Event("x", "a", 0.0, float(version), 0.5)], path, "csv")


def _table(path: Path, version: int) -> None:
    source = path.parent / "in.csv"
    lines = [f"{t},{p},{q}" for t, (p, q) in enumerate(ROWS[:version])]
    source.write_text("\n".join(["time,p_a,p_b", *lines, ""]))
    cf.filter_file(source, path, cf.DirichletFilter(CLASSES))


def _pipe(path: Path, version: int) -> None:
    cf.Pipeline(cf.StickyFilter(CLASSES), beta=version / 4).save(path)


OPERATIONS = {
    "Tracker.save": Operation(_tracker, lambda path: int(cf.Tracker.load(path).time("x")) + 1),
    "Bank.save": Operation(_bank, _read_bank),
    "Cascade.save": Operation(_save_cascade, _read_cascade),
    "write_events": Operation(_events, lambda path: int(cf.read_events(path, "csv")[0].end or 0)),
    "filter_file": Operation(_table, lambda path: len(cf.read_table(path)), "out.csv"),
    "Pipeline.save": Operation(_pipe, lambda path: round(4 * cast(float, cf.load(path).beta))),
}


def faulty(
    folder: Path, mode: str, do: Callable[[], Any], step: int = 1
) -> Iterator[tuple[Faults, OSError | None]]:
    """Do something with ever later faults, until it is done without one; give each error."""
    n = 1
    while True:
        error = None
        with Faults(folder, n, mode) as faults:
            try:
                do()
            except OSError as raised:
                error = raised
        if not faults.raised:
            assert error is None
            assert n > 3, "hardly a call was counted"
            return
        yield faults, error
        n += step


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_file_is_whole_whatever_fails(tmp_path: Path, name: str, mode: str) -> None:
    operation = OPERATIONS[name]
    path = tmp_path / operation.name
    operation.write(path, 1)
    old = path.read_bytes()
    for faults, error in faulty(tmp_path, mode, lambda: operation.write(path, 2)):
        assert error is not None, faults.calls
        assert error.filename == str(path), faults.calls
        assert error.errno == MODES[mode][0]
        there = operation.read(path)
        assert there == 1, faults.calls
        if mode != "broken":  # there, what was begun cannot be removed either
            assert not list(tmp_path.glob(".*")), faults.calls
        operation.write(path, 2)  # a second try
        assert operation.read(path) == 2
        path.write_bytes(old)
    assert operation.read(path) == 2


def test_a_fault_at_the_last_moment_leaves_the_old_file(tmp_path: Path) -> None:
    _tracker(tmp_path / "file", 1)
    with Faults(tmp_path) as faults:
        _tracker(tmp_path / "file", 2)
    kinds = [kind for kind, _ in faults.calls]
    assert kinds[0] == "open"
    assert kinds[-3:] == ["fsync", "close", "replace"]


@pytest.mark.parametrize("mode", ["once", "full"])
def test_an_export_is_completed_by_a_second_try(tmp_path: Path, mode: str) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        paths = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    old, new = (cf.StickyFilter(CLASSES, stay=stay) for stay in (0.9, 0.99))
    for f, folder in ((old, "old"), (new, "new")):
        export(f, tmp_path / folder)
    before, after = files(tmp_path / "old"), files(tmp_path / "new")
    out = tmp_path / "out"
    shutil.copytree(tmp_path / "old", out)
    for faults, error in faulty(tmp_path, mode, lambda: export(new, out), step=149):
        assert error is not None
        assert Path(error.filename).is_relative_to(out), faults.calls[-1]
        there = files(out)
        assert there.keys() == before.keys() | after.keys()
        assert all(text in (before[name], after[name]) for name, text in there.items())
        export(new, out)
        assert files(out) == after
        shutil.rmtree(out)
        shutil.copytree(tmp_path / "old", out)


LINES = [as_line(row) for row in many_rows(40, 5)]
RULE = {"change_cost": 0.5, "min_duration": 1.0}


def stream(folder: Path, lines: list[bytes]) -> str:
    """Filter lines in a few batches, and save after each."""
    messages = io.StringIO()
    few = mock.patch.object(pipes, "CHUNK", 3000)
    with few, TemporaryFile() as source, TemporaryFile() as sink:
        source.write(b"".join(lines))
        source.seek(0)
        serve(
            lambda names: cf.Pipeline(
                cf.DirichletFilter(names),
                beta={"weak": 0.25, "strong": 1.0, "default": 0.5},
                rule=cf.EventRule(**RULE),  # type: ignore[arg-type]
            ),
            source=source.fileno(),
            sink=sink.fileno(),
            errors=messages,
            state=folder / "state",
            every=0.0,
            events=folder / "events",
        )
    return messages.getvalue()


@pytest.mark.parametrize("mode", ["once", *(pytest.param(m, marks=pytest.mark.slow) for m in MORE)])
def test_a_stream_has_each_event_once(tmp_path: Path, mode: str) -> None:
    (tmp_path / "whole").mkdir()
    stream(tmp_path / "whole", LINES)
    wanted = (tmp_path / "whole" / "events").read_bytes()
    assert wanted.count(b"\n") >= 3
    folder = tmp_path / "faulty"
    folder.mkdir()

    stream(folder, LINES[:15])
    start = {name: (folder / name).read_bytes() for name in ("state", "events")}
    for faults, error in faulty(folder, mode, lambda: stream(folder, LINES)):
        if error is not None:
            assert Path(error.filename).parent == folder, faults.calls[-1]
        if mode != "broken":
            assert not list(folder.glob(".*.tmp")), faults.calls
        stream(folder, LINES)  # a second try, with all lines again
        assert (folder / "events").read_bytes() == wanted, faults.calls
        assert not list(folder.glob(".*")), faults.calls
        for name, data in start.items():
            (folder / name).write_bytes(data)
    assert (folder / "events").read_bytes() == wanted


def test_events_are_on_the_disk_before_the_state_that_counts_them(tmp_path: Path) -> None:
    with Faults(tmp_path) as faults:
        stream(tmp_path, LINES)
    events = [i for i, call in enumerate(faults.calls) if call == ("write", "events")]
    synced = [i for i, call in enumerate(faults.calls) if call == ("fsync", "events")]
    saved = [i for i, (kind, name) in enumerate(faults.calls) if kind == "replace"]
    assert events
    assert saved
    for i in saved:
        last = max((e for e in events if e < i), default=None)
        assert last is None or any(last < s < i for s in synced)


def test_a_state_that_cannot_be_saved_is_said_by_name(tmp_path: Path) -> None:
    rows = b"".join(LINES)
    with Faults(tmp_path, 3, "full"):
        try:
            _, messages = run(rows, state=str(tmp_path / "state"))
        except OSError as error:
            messages = str(error)
    assert str(tmp_path / "state") in messages
    assert json.dumps("No space left on device").strip('"') in messages
