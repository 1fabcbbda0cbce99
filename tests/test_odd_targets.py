"""What is written where there is no regular file: refused at once, and all stays as it was."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
from conftest import Run
from ndjson_lines import VALID, as_line

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
WALK = cf.DirichletFilter(["walk", "sit"])


def tracker() -> cf.Tracker:
    tracker = cf.Tracker(WALK)
    tracker.update("ann", 0.0, None, [0.7, 0.3])
    return tracker


def cascade() -> cf.Cascade:
    return cf.Cascade(WALK, {"net": lambda window: [0.7, 0.3]})


TABLE = pl.DataFrame([VALID])
WRITE: dict[str, Callable[[Path], Any]] = {
    "tracker.npz": lambda path: tracker().save(path),
    "bank.npz": lambda path: cf.Bank(WALK, 2).save(path),
    "cascade.npz": lambda path: cascade().save(path),
    "walk.json": lambda path: cf.Pipeline(WALK).save(path),
    "events.csv": lambda path: cf.write_events([cf.Event("ann", "walk", 0.0, 1.0, 0.5)], path),
    "table.csv": lambda path: cf.write_table(TABLE, path),
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to(path.with_name("pipe"))


def bound_socket(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        place = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            server.bind(path.name)
        finally:
            os.chdir(place)


def folder(path: Path) -> None:
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


ODD = [pipe, link_to_a_pipe, bound_socket, folder, link_to_itself]


def listed(path: Path) -> dict[str, int]:
    return {p.name: stat.S_IFMT(p.lstat().st_mode) for p in path.iterdir()}


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("odd", ODD)
def test_it_is_refused_and_stays(odd: Callable[[Path], None], name: str, tmp_path: Path) -> None:
    odd(tmp_path / name)
    before = listed(tmp_path)
    with pytest.raises(OSError, match=name if "link_to_a" not in odd.__name__ else "pipe"):
        WRITE[name](tmp_path / name)
    assert listed(tmp_path) == before


@pytest.mark.parametrize("odd", ODD)
def test_a_state_of_lines_is_refused_at_the_start(run: Run, odd: Callable[[Path], None]) -> None:
    odd(Path("now").absolute())
    before = listed(Path())
    code, out, err = run("stream", "--gamma", "0.9", "--state", "now", stdin=as_line(VALID))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("classfilter: now: ")
    assert listed(Path()) == before


@pytest.mark.parametrize("odd", [pipe, link_to_a_pipe])
def test_a_pipe_is_no_saved_file(odd: Callable[[Path], None], tmp_path: Path) -> None:
    """Opening it would wait for a writer."""
    odd(tmp_path / "file")
    for load in (cf.Tracker.load, cf.Bank(WALK, 1).load, cascade().load):
        with pytest.raises(ValueError, match="file is damaged, or"):
            load(tmp_path / "file")


@pytest.mark.parametrize("name", WRITE)
def test_drafts_that_are_none_are_left_alone(name: str, tmp_path: Path) -> None:
    pipe(tmp_path / f".{name}.aaaaaaaa.tmp")
    (tmp_path / f".{name}.bbbbbbbb.tmp").mkdir()
    (tmp_path / "other").write_text("other")
    (tmp_path / f".{name}.cccccccc.tmp").symlink_to(tmp_path / "other")
    before = listed(tmp_path)
    WRITE[name](tmp_path / name)
    assert listed(tmp_path) == before | {name: stat.S_IFREG}
    assert (tmp_path / "other").read_text() == "other"


@pytest.mark.parametrize("name", [name for name in WRITE if name.endswith(".npz")])
def test_only_the_owner_can_read_states(name: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        WRITE[name](tmp_path / name)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
