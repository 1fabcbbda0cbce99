"""Live streams that are killed, stopped and restarted continue to the bit."""

import json
import os
import random
import re
import signal
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from classfilter import DirichletFilter
from classfilter import _checkpoint as checkpoint
from classfilter.streaming import Served, _streams, serve
from classfilter.streaming._pipes import CHUNK
from ndjson_lines import (
    BETA,
    VALID,
    as_line,
    child,
    many_rows,
    read_line,
    run,
    serve_here,
    wait_for,
)


def covered(state: Path, rows: list[Any]) -> set[int]:
    """Return the rows that a file has, derived from its content alone."""
    if not state.exists():
        return set()
    saved = {repr(s.id): (s.time, s.ties) for s in checkpoint.read(state).streams}
    numbers = set()
    for row in rows:
        at, ties = saved.get(repr(row.get("stream")), (-1.0, []))
        if row["time"] < at or (row["time"] == at and zlib.crc32(as_line(row)[:-1]) in ties):
            numbers.add(row["n"])
    return numbers


def killed_run(lines: bytes, state: Path, rng: random.Random) -> bytes:
    """Feed lines to a process, kill it at some moment, and return its results so far."""
    results = bytearray()
    before = state.stat().st_ino if state.exists() else None
    moment = rng.choice(["results", "draft", "saved"])
    size_at_kill = rng.randrange(40_000)
    for draft in state.parent.glob(".*.tmp"):  # of one that was killed
        draft.unlink()

    def reached() -> bool:
        if moment == "results":
            return len(results) > size_at_kill
        if moment == "draft":
            return any(state.parent.glob(".*.tmp"))
        return state.exists() and state.stat().st_ino != before

    with child(state=str(state), every=0.0, beta=BETA) as process:

        def feed() -> None:
            at = 0
            while at < len(lines) and process.poll() is None:
                size = rng.choice([1, 50, 700, 3000, 9000])
                with suppress(BrokenPipeError):
                    process.stdin.write(lines[at : at + size])
                at += size

        def collect() -> None:
            while chunk := process.stdout.read(CHUNK):
                results.extend(chunk)

        threads = [threading.Thread(target=feed), threading.Thread(target=collect)]
        for thread in threads:
            thread.start()
        wait_for(lambda: results or reached())
        end = time.monotonic() + 0.3
        while not reached() and time.monotonic() < end:
            time.sleep(1e-4)
        process.kill()
        for thread in threads:
            thread.join(20)
        assert not process.stderr.read()
    return bytes(results)


@pytest.mark.slow
def test_killed_at_any_moment_and_replayed_nothing_is_lost_or_filtered_twice(
    tmp_path: Path,
) -> None:
    rng = random.Random(5)
    rows = many_rows(5600, seed=3)
    lines = [as_line(row) for row in rows]
    whole, _ = run(b"".join(lines), beta=BETA)
    state = tmp_path / "state.json"
    done: set[int] = set()
    sizes = set()
    for stop in range(200, len(rows), 200):  # 27 kills, each with some lines that are new
        has = covered(state, rows)  # reads it, so it is never half-written
        assert has <= done, "the checkpoint is ahead of the results"
        results = killed_run(b"".join(lines[:stop]), state, rng).splitlines(keepends=True)
        numbers = [int(json.loads(line)["n"]) for line in results]
        assert [whole[n] for n in numbers] == results
        assert not has & set(numbers), "filtered again"
        done |= set(numbers)
        sizes.add(len(has))
    assert len(sizes) > 8, "hardly any checkpoint was written"
    has = covered(state, rows)
    rest, messages = run(b"".join(lines), beta=BETA, state=str(state))
    assert rest == [whole[n] for n in range(len(rows)) if n not in has]
    assert json.loads(messages)[3] == len(has)


def test_going_on_without_a_replay_is_as_if_never_stopped(tmp_path: Path) -> None:
    lines = [as_line(row) for row in many_rows(400, seed=9)]
    whole, _ = run(b"".join(lines), beta=BETA)
    state, results = tmp_path / "state.json", []
    for start, stop in ((0, 1), (1, 150), (150, 151), (151, 400)):
        part, messages = run(b"".join(lines[start:stop]), beta=BETA, state=str(state))
        assert json.loads(messages) == [stop - start, stop - start, 0, 0, "end"]
        results += part
    assert results == whole


@pytest.mark.parametrize(
    "limits", [{"expire_after": 30.0}, {"max_streams": 5}, {"expire_after": 60.0, "max_streams": 9}]
)
def test_streams_that_are_dropped_are_so_after_a_restart_too(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    rng = random.Random(4)
    state, lines = tmp_path / "state.json", []
    for n in range(600):
        name = f"s{rng.randrange(n // 20, n // 20 + 20)}"
        at = n + (1000 if name == "s25" else 0)  # one clock is wrong
        lines.append(as_line(VALID | {"time": at, "stream": name, "n": n}))
    whole = serve_here(lines, **limits)
    assert whole != serve_here(lines)
    parts = [serve_here(lines[i : i + 100], state=state, **limits) for i in range(0, 600, 100)]
    assert [line for part in parts for line in part] == whole
    left = len(checkpoint.read(state).streams)
    assert 2 <= left <= limits.get("max_streams", 40)
    assert serve_here(lines[-1:], state=state, **limits) == []  # it has that line
    serve_here([as_line(VALID | {"time": 0})], state=state, max_streams=2)
    assert len(checkpoint.read(state).streams) == 2


def test_a_file_without_expiry_goes_on_with_it(tmp_path: Path) -> None:
    state = tmp_path / "state.json"

    def line(name: str, at: float) -> bytes:
        return as_line(VALID | {"time": at, "stream": name})

    serve_here([line("b", 5.0), line("c", 12.0), line("a", 0.0)], state=state)
    serve_here([line("d", 13.0)], state=state, expire_after=10.0)
    assert [stream.id for stream in checkpoint.read(state).streams] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("names", "start"),
    [("abttctd", start) for start in range(5)] + [("abtttcd", start) for start in range(3)],
)
def test_lines_of_equal_time_are_recognized(tmp_path: Path, names: str, start: int) -> None:
    """Those named t are the same text: each counts as often as it came."""
    times = [1, 2, 2, 2, 2, 2, 3]
    lines = [as_line(VALID | {"time": t, "x": x}) for t, x in zip(times, names, strict=True)]
    whole, state = serve_here(lines), tmp_path / "state.json"
    assert serve_here(lines[:4], state=state) == whole[:4]
    assert serve_here(lines[start:], state=state) == whole[4:]


def test_time_may_not_go_back_after_the_replay(tmp_path: Path) -> None:
    def at(*times: float) -> bytes:
        return b"".join(as_line(VALID | {"time": t, "stream": s}) for t in times for s in (1, "1"))

    state = str(tmp_path / "state.json")
    run(at(1, 2, 3), state=state)
    results, messages = run(at(1, 0, 4, 3), state=state)
    assert [json.loads(line)["time"] for line in results] == [4, 4]
    *errors, served = messages.splitlines()
    assert [error.partition(";")[0] for error in errors] == [
        f"line {n}: time is 3.0, before 4.0, that of the last row of stream {name!r}"
        for n, name in ((7, 1), (8, "1"))
    ]
    assert json.loads(served) == [8, 2, 2, 4, "end"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_line_and_saves(tmp_path: Path, number: signal.Signals) -> None:
    rows = many_rows(40, seed=2)
    lines = [as_line(row) for row in rows]
    whole, _ = run(b"".join(lines), beta=BETA)
    state = tmp_path / "state.json"
    source, feed = os.pipe()
    with child(source, state=str(state), beta=BETA, grace=60.0) as process:
        os.write(feed, b"".join(lines[:10]) + lines[10][:30])
        results = [read_line(process.stdout.fileno()) for _ in range(10)]
        process.send_signal(number)
        os.write(feed, lines[10][30:] + lines[11])
        results.append(read_line(process.stdout.fileno()))
        assert process.wait(20) == 0
        assert not process.stdout.read()
        assert json.loads(process.stderr.read()) == [11, 11, 0, 0, "signal"]
    os.close(feed)
    assert os.read(source, CHUNK) == lines[11], "it is for the next process"
    os.close(source)
    assert covered(state, rows) == set(range(11))
    assert results + run(b"".join(lines[11:]), beta=BETA, state=str(state))[0] == whole


def test_a_signal_wakes_it_while_it_waits_and_half_a_line_is_rejected() -> None:
    with child() as process:
        process.stdin.write(as_line(VALID) + b'{"time": 1')
        read_line(process.stdout.fileno())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        error, served = process.stderr.read().decode().splitlines()
    assert error.startswith("line 2: b'{\"time\": 1' is not JSON")
    assert json.loads(served) == [2, 1, 1, 0, "signal"]


def test_it_saves_while_the_input_is_idle(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with child(state=str(state), every=0.05) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        wait_for(state.exists)
        assert [s.time for s in checkpoint.read(state).streams] == [0.0]


def test_it_goes_on_if_it_cannot_save(tmp_path: Path) -> None:
    state = tmp_path / "folder" / "state.json"
    state.parent.mkdir()
    with child(state=str(state), every=0.0) as process:
        process.stdin.write(as_line(VALID))
        wait_for(state.exists)
        state.unlink()
        wait_for(lambda: not any(state.parent.iterdir()))
        state.parent.rmdir()
        process.stdin.write(as_line(VALID))
        assert b"state.json was not saved, going on" in read_line(process.stderr.fileno())
        state.parent.mkdir()
        wait_for(state.exists)
        assert len(checkpoint.read(state).streams[0].ties) == 2


def test_nothing_is_saved_when_the_reader_is_gone(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with child(state=str(state)) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        process.stdout.close()
        process.stdin.write(as_line(VALID))
        assert process.wait(20) == 3
    assert not state.exists()


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
        ({"damage": lambda text: text[:-40]}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: b""}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: b"[1]"}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: b"\xff"}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: text.replace(b"1000000.0", b"1000001.0")}, "checksum is wrong"),
        ({"damage": lambda text: text.replace(b'n": 1', b'n": 2')}, "has version 2 of the format"),
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
    assert streams.wait() == checkpoint.SHARE * 0.5


def test_handlers_are_as_before_and_other_threads_have_none() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    served = []

    def work() -> None:
        source, sink = os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
        served.append(serve(DirichletFilter, source=source, sink=sink))
        os.close(source)
        os.close(sink)

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert served == [Served(0, 0, 0, 0, "end")] * 2
    assert before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert signal.set_wakeup_fd(-1) == -1
