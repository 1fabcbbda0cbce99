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

from classfilter import Channel, DirichletFilter, Pipeline, Tracker
from classfilter.engine import store
from classfilter.live import serve, streams
from classfilter.support import atomic
from classfilter.support.atomic import atomic_write, try_lock
from ndjson_lines import (
    VALID,
    as_line,
    child,
    pipe_maker,
    read_line,
    saved_streams,
    serve_here,
    wait_for,
)
from saved_files import replace_parts


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


def of(*classes: str, **options: Any) -> dict[str, Any]:
    """Return the argument that makes another filter than that of the lines."""
    return {"make_filter": lambda names: DirichletFilter(classes or names, **options)}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (of(gamma=0.8), "was written with gamma 0.9, but here it is 0.8; give the same, or move"),
        (of(dtype="float32"), "was written with dtype 'float64', but here it is 'float32'; give"),
        (of(prior=[1.0, 2.0]), "was written with prior [1.0, 1.0], but here it is [1.0, 2.0];"),
        (of("sit", "walk"), "was written with classes ['walk', 'sit'], but here it is ['sit', "),
        ({"beta": 0.5}, "was written with beta None, but here it is 0.5; give the same, or move"),
        ({"beta": {"default": 0.5}}, "was written with beta None, but here it is {'default': 0.5}"),
        (
            {"channel": {"default": Channel([[3, 1], [1, 3]])}},
            "was written with channel None, but here it is {'default': {'matrix': [[0.75, 0.25], ",
        ),
        ({"line": {"time": 1, "p_a": 1, "p_b": 0}}, "classes ['walk', 'sit'], but the first line"),
    ],
)
def test_a_file_that_does_not_fit_is_rejected(tmp_path: Path, arguments: Any, why: str) -> None:
    state = tmp_path / "state"
    serve_here([as_line(VALID)], state=state)
    before, row = state.read_bytes(), arguments.pop("line", VALID | {"time": 1})
    with pytest.raises(ValueError, match=re.escape(why)) as error:
        serve_here([as_line(row)], state=state, **arguments)
    assert str(error.value).startswith(str(state))
    assert state.read_bytes() == before


def test_a_file_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="make its folder first"):
        serve(pipe_maker(), state=tmp_path / "none" / "state.json")
    with pytest.raises(ValueError, match="every is -1"):
        serve(pipe_maker(), every=-1)


def test_long_checkpoints_are_far_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]

    def slow_write(*_: object) -> None:
        now[0] += 0.5

    monkeypatch.setattr(store, "write", slow_write)
    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: now[0]))
    live = streams.LiveStreams(Pipeline(DirichletFilter(2)), ("a", "b"), tmp_path, 0.25)
    assert live.wait() is None
    live.update("ann", 0.0, b"", None, [0.5, 0.5])
    assert live.wait() == 0.25
    now[0] += 1.0
    assert live.wait() == 0.0
    live.save()
    assert live.wait() is None
    live.update("ann", 0.0, b"", None, [0.5, 0.5])
    assert live.wait() == streams.SHARE * 0.5


def packed(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


CRAFTED: list[dict[str, Any]] = [
    {"kind": 3},
    {"digest": "0123456789abcdef"},
    {"settings": "[" * 100_000},
    {"settings": '{"filter": 3}'},
    {"settings": '{"classes": ["walk", "sit"], "filter": "mean", "options": {"x": 1}}'},
    {"meta": "[]"},
    {"meta": "{"},
    {"meta": '{"columns": ["walk", "sit"], "line": "x"}'},
    {"meta": '{"columns": ["walk"]}'},
    {"meta": '{"columns": [["walk", "sit"]]}'},
    {"streams": packed("[" * 100_000 + "]" * 100_000)},
    {"streams": packed('["a", "b"]')},
    {"streams": packed("7")},
    {"streams": packed('[{"a": 1}]')},
    {"streams": '["a"]'},
    {"times": [[0.0]]},
    {"times": [np.inf]},
    {"times": ["0"]},
    {"seen": [0.0, 0.0]},
    {"jumps": np.zeros(0)},
    {"states": [[np.nan, 1.0, 1.0]]},
    {"states": [[1.0, 1.0]]},
    {"states": [[1.0, -5.0, 1.0]]},
    {"states": 7.0},
    {"states": np.zeros((0, 3))},
    {"ties": 7},
    {"ties": np.zeros(2, np.uint32)},
    {"tie_slots": np.array([5]), "more_ties": np.zeros(1, np.uint32)},
    {"tie_slots": np.array([-1]), "more_ties": np.zeros(1, np.uint32)},
    {"tie_slots": np.array([0])},
    {"ties": np.array(["walk", {}], object)},  # reading it would run code
]


@pytest.mark.parametrize("changes", CRAFTED)
def test_a_crafted_file_is_rejected_in_one_line(tmp_path: Path, changes: dict[str, Any]) -> None:
    state = tmp_path / "state"
    serve_here([as_line(VALID)], state=state)
    replace_parts(state, **changes)
    with pytest.raises(ValueError, match=r"is damaged|is no state of streams, but") as error:
        serve_here([as_line(VALID | {"time": 1})], state=state)
    assert str(state) in str(error.value)
    assert len(str(error.value)) < 1000
    assert "\n" not in str(error.value)


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

    monkeypatch.setattr(atomic, "try_lock", lock_late)
    with streams.locked(tmp_path / "state"):
        assert len(removed) == 2
        refused = pytest.raises(ValueError, match="in use by another process")
        with refused, streams.locked(tmp_path / "state"):
            pass


def test_two_links_to_a_file_have_one_lock(tmp_path: Path) -> None:
    links = [tmp_path / "a.state", tmp_path / "b.state"]
    for link in links:
        link.symlink_to("real.state")
    refused = pytest.raises(ValueError, match=r"b\.state is in use by another process")
    with streams.locked(links[0]), refused, streams.locked(links[1]):
        pass
    serve_here([as_line(VALID)], state=links[1])
    assert [stream.time for stream in saved_streams(tmp_path / "real.state")] == [0.0]


def test_drafts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """But neither one that is being written, nor files of others, nor a pipe."""
    state = tmp_path / "state[1]"
    left = tmp_path / ".state[1].0123abcd.tmp"
    pipe, others = tmp_path / ".state[1].89abcdef.tmp", [".state1.0123abcd.tmp", ".state[1].x.tmp"]
    for path in (left, *(tmp_path / name for name in others)):
        path.touch()
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)  # or opening it for reading would wait for ever
    with atomic_write(state) as file:
        serve_here([as_line(VALID)], state=state)
        file.write(state.read_bytes())
    assert not left.exists()
    os.close(writer)
    assert all((tmp_path / name).exists() for name in (*others, pipe.name))
    assert len(saved_streams(state)) == 1
    Tracker(DirichletFilter(2)).save(tmp_path / "tracker")
    (tmp_path / ".tracker.0123abcd.tmp").touch()
    Tracker(DirichletFilter(2)).save(tmp_path / "tracker")
    assert not (tmp_path / ".tracker.0123abcd.tmp").exists()
