"""The file of states: when it is written, by whom, and what is not read."""

import io
import os
import shutil
import stat
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from classfilter import DirichletFilter, Pipeline
from classfilter.engine import store
from classfilter.live import description, streams
from ndjson_lines import (
    VALID,
    as_line,
    child,
    lines_taken,
    read_line,
    saved_times,
    serve_here,
    wait_for,
)
from saved_files import meta_of


def test_it_saves_while_the_input_is_idle(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with child(state=str(state), every=0.05) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        wait_for(lambda: lines_taken(state) == 1)
        assert saved_times(state) == {None: 0.0}


def test_it_goes_on_if_it_cannot_save(tmp_path: Path) -> None:
    state = tmp_path / "folder" / "state"
    state.parent.mkdir()
    with child(state=str(state), every=0.0) as process:
        process.stdin.write(as_line(VALID))
        wait_for(lambda: lines_taken(state) == 1)
        shutil.rmtree(state.parent)
        process.stdin.write(as_line(VALID))
        assert b"state was not saved, going on" in read_line(process.stderr.fileno())
        state.parent.mkdir()
        wait_for(lambda: lines_taken(state) == 2)


def test_nothing_is_saved_when_the_reader_is_gone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with child(state=str(state)) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        process.stdout.close()
        process.stdin.write(as_line(VALID))
        assert process.wait(20) == 3
    assert lines_taken(state) == 0


def test_long_saves_are_far_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, write = [100.0], store.StoreFile.write

    def slow_write(*given: Any) -> Any:
        now[0] += 0.5
        return write(*given)

    monkeypatch.setattr(store.StoreFile, "write", slow_write)
    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with store.StoreFile(tmp_path / "state", "lines") as file:
        live = streams.LiveStreams(Pipeline(DirichletFilter(2)), ("a", "b"), file, 0.25)
        assert live.wait() is None
        live.taken += 1
        assert live.wait() == 0.25
        now[0] += 1.0
        assert live.wait() == 0.0
        live.save()
        assert live.wait() in (0.0, streams.LOOK)
        live.save()
        assert live.wait() is None
        live.taken += 1
        assert live.wait() == streams.SHARE * 0.5
        live.close()


def test_lines_do_not_wait_for_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets what was there when the save began."""
    written, write = Event(), store.StoreFile.write

    def slow_write(*given: Any) -> Any:
        assert written.wait(60)
        return write(*given)

    monkeypatch.setattr(store.StoreFile, "write", slow_write)
    state = tmp_path / "state"
    file = store.StoreFile(state, "lines", stay=True)
    live = streams.LiveStreams(Pipeline(DirichletFilter(2)), ("a", "b"), file)
    for number, save in ((1, live.save), (2, live.save_all)):
        live.tracker.update("ann", float(number), None, [0.9, 0.1])
        live.taken += 1
        if number == 2:
            assert live.wait() == streams.LOOK
            written.set()
            live.save()
            assert (lines_taken(state), saved_times(state)) == (1, {"ann": 1.0})
        save()
    assert (lines_taken(state), saved_times(state)) == (2, {"ann": 2.0})
    live.close()


def test_only_the_owner_can_read_it_and_its_mode_stays(tmp_path: Path) -> None:
    state = tmp_path / "state"
    before = os.umask(0)
    try:
        serve_here([as_line(VALID)], state=state)
        assert stat.S_IMODE(state.stat().st_mode) == 0o600
        state.chmod(0o640)
        serve_here([as_line(VALID | {"time": 1})], state=state, errors=io.StringIO())
        assert stat.S_IMODE(state.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def is_in_use(path: Path) -> bool:
    try:
        store.StoreFile(path, "lines").close()
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("link", [False, True])
def test_one_process_at_a_time(tmp_path: Path, link: bool) -> None:
    """It is told at once, and after a kill the next one goes on."""
    state, other = tmp_path / "state", tmp_path / "link"
    other.symlink_to("state")
    with child(state=str(state), every=0.0) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        wait_for(lambda: lines_taken(state) == 1)
        wait_for(lambda: is_in_use(other if link else state))  # it lets go for an instant
        with pytest.raises(ValueError, match="is in use by another process; end that, or"):
            serve_here([as_line(VALID)], state=other if link else state)
        process.kill()
        process.wait()
        serve_here([as_line(VALID | {"time": 1})], state=other, errors=io.StringIO())
    assert lines_taken(state) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"state", "link"}


def test_nothing_is_left_where_there_is_nothing_to_save(tmp_path: Path) -> None:
    serve_here([b"no JSON\n"], state=tmp_path / "state", errors=io.StringIO())
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    """Halves of characters; a terminal would show both as one."""
    state = tmp_path / "state"
    names = ["\ud800", "\ud801", "?"]
    serve_here([as_line(VALID | {"stream": name}) for name in names], state=state)
    serve_here(
        [as_line(VALID | {"stream": name, "time": 7.0}) for name in names[1:]],
        state=state,
        errors=io.StringIO(),
    )
    times = {line.split("\t")[0].strip(): line for line in description(state).splitlines()[3:]}
    assert [line.split("\t")[1] for line in times.values()] == ["0.0", "7.0", "7.0"]
    assert list(times) == ["\\ud800", "\\ud801", "?"]


def test_lines_are_counted_whatever_they_are(tmp_path: Path) -> None:
    state, valid = tmp_path / "state", as_line(VALID)
    serve_here([b"no JSON\n", valid, b"\n", valid], state=state, errors=io.StringIO())
    assert lines_taken(state) == 4
    serve_here([as_line(VALID | {"time": -1}), valid], state=state, errors=io.StringIO())
    assert lines_taken(state) == 6
    assert meta_of(state, "line") == -1
