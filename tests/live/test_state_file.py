"""The file of states: when it is written, by whom, and what is not read."""

import os
import re
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from classfilter import DirichletFilter, Tracker
from classfilter._support.atomic import atomic_write, try_lock
from classfilter.live import Served, _state_file, _streams, serve
from classfilter.live._checkpoint import SHARE
from ndjson_lines import (
    VALID,
    as_line,
    child,
    read_line,
    saved_streams,
    serve_here,
    wait_for,
)


def test_it_saves_while_the_input_is_idle(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with child(state=str(state), every=0.05) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        wait_for(state.exists)
        assert [s.time for s in saved_streams(state)] == [0.0]


def test_it_goes_on_if_it_cannot_save(tmp_path: Path) -> None:
    state = tmp_path / "folder" / "state.json"
    state.parent.mkdir()
    with child(state=str(state), every=0.0) as process:
        process.stdin.write(as_line(VALID))
        wait_for(state.exists)
        shutil.rmtree(state.parent)
        process.stdin.write(as_line(VALID))
        assert b"state.json was not saved, going on" in read_line(process.stderr.fileno())
        state.parent.mkdir()
        wait_for(state.exists)
        assert len(saved_streams(state)[0].ties) == 2


def test_nothing_is_saved_when_the_reader_is_gone(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with child(state=str(state)) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        process.stdout.close()
        process.stdin.write(as_line(VALID))
        assert process.wait(20) == 3
    assert not state.exists()


def flipped(content: bytes, share: float) -> bytes:
    """Return a file with one bit changed."""
    at = int(share * len(content))
    return content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            {"options": {"gamma": 0.8}},
            "was written with gamma 0.9, but the filter has 0.8; give the",
        ),
        ({"options": {"dtype": "float32"}}, "was written with dtype 'float64', but the filter has"),
        (
            {"options": {"prior": [1.0, 2.0]}},
            "was written with prior [1.0, 1.0], but the filter has",
        ),
        ({"classes": ["sit", "walk"]}, "was written with classes ['walk', 'sit'], but the filter"),
        ({"classes": ["sit", "run"]}, "was written with classes ['walk', 'sit'], but the filter"),
        ({"line": {"time": 1, "p_a": 1, "p_b": 0}}, "classes ['walk', 'sit'], but the first line"),
        ({"damage": lambda text: text[:-40]}, "is damaged, or no state of streams; move the file"),
        ({"damage": lambda text: b""}, "is damaged, or no state of streams; move the file"),
        ({"damage": lambda text: b"[1]"}, "is damaged, or no state of streams; move the file"),
        ({"damage": lambda text: b"\xff"}, "is damaged, or no state of streams; move the file"),
        ({"damage": lambda text: flipped(text, 0.2)}, "is damaged, or no state of streams; move"),
        ({"damage": lambda text: flipped(text, 0.5)}, "is damaged, or no state of streams; move"),
    ],
)
def test_a_file_that_does_not_fit_is_rejected(tmp_path: Path, arguments: Any, why: str) -> None:
    state = tmp_path / "state.json"
    source, sink = tmp_path / "in", os.open(os.devnull, os.O_WRONLY)

    def run_here(row: Any, classes: Any = None, options: Any = None) -> Served:
        source.write_bytes(as_line(row))
        fd = os.open(source, os.O_RDONLY)
        try:
            return serve(
                lambda names: DirichletFilter(classes or names, **(options or {})),
                source=fd,
                sink=sink,
                state=state,
            )
        finally:
            os.close(fd)

    run_here(VALID)
    damage = arguments.pop("damage", lambda text: text)
    state.write_bytes(damage(state.read_bytes()))
    before = state.read_bytes()
    with pytest.raises(ValueError, match=re.escape(why)) as error:
        run_here(arguments.pop("line", VALID), **arguments)
    assert str(state) in str(error.value)
    assert state.read_bytes() == before
    os.close(sink)


def test_a_file_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="make its folder first"):
        serve(DirichletFilter, state=tmp_path / "none" / "state.json")
    with pytest.raises(ValueError, match="every is -1"):
        serve(DirichletFilter, every=-1)


def test_long_checkpoints_are_far_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]

    def slow_write(*_: object) -> None:
        now[0] += 0.5

    monkeypatch.setattr(_streams, "write", slow_write)
    monkeypatch.setattr(_streams, "time", SimpleNamespace(monotonic=lambda: now[0]))
    streams = _streams.LiveStreams(DirichletFilter(2), ("a", "b"), tmp_path / "state.json", 0.25)
    assert streams.wait() is None
    streams.update("ann", 0.0, b"", [0.5, 0.5], 1.0)
    assert streams.wait() == 0.25
    now[0] += 1.0
    assert streams.wait() == 0.0
    streams.save()
    assert streams.wait() is None
    streams.update("ann", 0.0, b"", [0.5, 0.5], 1.0)
    assert streams.wait() == SHARE * 0.5


def packed(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


CRAFTED: list[tuple[dict[str, Any], str]] = [
    ({"version": 7}, "has version 7 of the format, but this reads version 1"),
    ({"version": "x"}, "is damaged"),
    ({"version": [1, 2]}, "is damaged"),
    ({"settings": "[" * 100_000}, "is damaged"),
    ({"settings": "filter = 3"}, "is damaged"),
    (
        {"settings": 'classes = ["walk", "sit"]\nfilter = "mean"\n[options]\nx = 1'},
        "is damaged",
    ),
    ({"more": "[]"}, "is damaged"),
    ({"more": "{"}, "is damaged"),
    ({"more": '{"beta": 9, "calls": 3}'}, "is damaged"),
    ({"streams": packed("[" * 100_000 + "]" * 100_000)}, "is damaged"),
    ({"streams": packed('["a", "b"]')}, "is damaged"),
    ({"streams": packed("7")}, "is damaged"),
    ({"streams": packed('[{"a": 1}]')}, "is damaged"),
    ({"streams": '["a"]'}, "is damaged"),
    ({"times": [[0.0]]}, "is damaged"),
    ({"times": [np.nan]}, "is damaged"),
    ({"times": ["0"]}, "is damaged"),
    ({"seen": [0.0, 0.0]}, "is damaged"),
    ({"states": [[np.nan, 1.0, 1.0]]}, "is damaged"),
    ({"states": [[1.0, 1.0]]}, "is damaged"),
    ({"states": [[1.0, -5.0, 1.0]]}, "is damaged"),
    ({"states": 7.0}, "is damaged"),
    ({"states": np.zeros((0, 3))}, "is damaged"),
    ({"columns": ["walk"]}, "is damaged: the data has the classes"),
    ({"columns": [["walk", "sit"]]}, "is damaged"),
    ({"line": "x"}, "is damaged"),
    ({"line": [1, 2]}, "is damaged"),
    ({"ties": [7]}, "is damaged"),
    ({"ties": np.zeros(2, np.uint32)}, "is damaged"),
    ({"tie_slots": np.array([5]), "more_ties": np.zeros(1, np.uint32)}, "is damaged"),
    ({"tie_slots": np.array([-1]), "more_ties": np.zeros(1, np.uint32)}, "is damaged"),
    ({"tie_slots": np.array([0])}, "is damaged"),
    ({"jump_slots": np.array([1]), "jumps": np.zeros(1)}, "is damaged"),
    ({"jumps": np.zeros(1)}, "is damaged"),
]


@pytest.mark.parametrize(("changes", "why"), CRAFTED)
def test_a_crafted_file_is_rejected_in_one_line(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    state = tmp_path / "state"
    serve_here([as_line(VALID)], state=state)
    with np.load(state) as content:
        arrays = dict(content) | changes
    with state.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=why) as error:
        serve_here([as_line(VALID | {"time": 1})], state=state)
    assert str(state) in str(error.value)
    assert len(str(error.value)) < 1000
    assert "\n" not in str(error.value)


def test_a_file_that_runs_code_is_not_read(tmp_path: Path) -> None:
    state = tmp_path / "state"
    serve_here([as_line(VALID)], state=state)
    with np.load(state) as content:
        arrays = dict(content) | {"columns": np.array(["walk", {}], object)}
    with state.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="is damaged, or no state of streams"):
        serve_here([], state=state)


def test_only_the_owner_can_read_it_and_its_mode_stays(tmp_path: Path) -> None:
    state = tmp_path / "state"
    before = os.umask(0)
    try:
        serve_here([as_line(VALID)], state=state)
        assert stat.S_IMODE(state.stat().st_mode) == 0o600
        state.chmod(0o640)
        serve_here([as_line(VALID | {"time": 1})], state=state)
        assert stat.S_IMODE(state.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with child(state=str(state)) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        with pytest.raises(ValueError, match="state is in use by another process; end that, or"):
            serve_here([as_line(VALID)], state=state)
        process.kill()
        process.wait()
        serve_here([as_line(VALID)], state=state)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_lock_that_its_last_user_just_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps nobody out: there must be another one."""
    removed: list[int] = []

    def lock_late(fd: int) -> bool | None:
        if not removed:
            (tmp_path / ".state.lock").unlink()
        removed.append(fd)
        return try_lock(fd)

    monkeypatch.setattr(_state_file, "try_lock", lock_late)
    with _state_file.locked(tmp_path / "state"):
        assert len(removed) == 2
        with (
            pytest.raises(ValueError, match="in use by another process"),
            _state_file.locked(tmp_path / "state"),
        ):
            pass


def test_drafts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """But neither one that is being written, nor files of others."""
    state = tmp_path / "state[1]"
    left = tmp_path / ".state[1].0123abcd.tmp"
    others = [tmp_path / ".state1.0123abcd.tmp", tmp_path / ".state[1].long-name.tmp"]
    for path in (left, *others):
        path.touch()
    with atomic_write(state) as file:
        serve_here([as_line(VALID)], state=state)
        file.write(state.read_bytes())
    assert not left.exists()
    assert all(path.exists() for path in others)
    assert len(saved_streams(state)) == 1
    Tracker(DirichletFilter(2)).save(tmp_path / "tracker")
    (tmp_path / ".tracker.0123abcd.tmp").touch()
    Tracker(DirichletFilter(2)).save(tmp_path / "tracker")
    assert not (tmp_path / ".tracker.0123abcd.tmp").exists()
