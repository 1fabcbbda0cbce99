"""The n-th call to a file fails, for every n: the old file stays, and a second try succeeds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

import classfilter as cf
from classfilter.embedded import export
from faults import MODES, Faults

CLASSES = ("a", "b")
ROWS = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]


class Operation(NamedTuple):
    """Writes the first or the second version of a file, and reads which one is there."""

    write: Callable[[Path, int], Any]
    read: Callable[[Path], int]
    name: str = "file"


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
    _pipe(tmp_path / "file", 1)
    with Faults(tmp_path) as faults:
        _pipe(tmp_path / "file", 2)
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
