"""SIGTERM and SIGINT end it after a line, and lose nothing."""

import fcntl
import json
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from classfilter.live import Served, serve
from classfilter.live.pipes import CHUNK
from ndjson_lines import (
    BETA,
    VALID,
    as_line,
    child,
    counts,
    lines_taken,
    many_rows,
    pipe_maker,
    read_line,
    run,
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_line_and_saves(tmp_path: Path, number: signal.Signals) -> None:
    rows = many_rows(40, seed=2)
    lines = [as_line(row) for row in rows]
    whole, _ = run(b"".join(lines), beta=BETA)
    state = tmp_path / "state"
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
    assert lines_taken(state) == 11
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


def test_handlers_are_as_before_and_other_threads_have_none() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    served = []

    def work() -> None:
        source, sink = os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
        served.append(serve(pipe_maker(), source=source, sink=sink))
        os.close(source)
        os.close(sink)

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert served == [Served(0, 0, 0, 0, "end")] * 2
    assert before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert signal.set_wakeup_fd(-1) == -1


def test_a_line_without_end_does_not_keep_it_from_ending() -> None:
    with child(grace=0.3) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        stop = threading.Event()

        def feed() -> None:
            with suppress(BrokenPipeError):
                while not stop.is_set():
                    process.stdin.write(b"x" * 5000)

        thread = threading.Thread(target=feed)
        thread.start()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        stop.set()
        thread.join(20)
        assert counts(process.stderr.read().decode())[4] == "signal"


def test_a_reader_that_does_not_read_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    """What it has not read is not in the file: the lines may come again."""
    state = tmp_path / "state"
    with child(state=str(state), grace=0.3) as process:
        process.stdin.write(as_line(VALID))
        read_line(process.stdout.fileno())
        fcntl.fcntl(process.stdin, fcntl.F_SETFL, os.O_NONBLOCK)
        line, blocked = as_line(VALID | {"time": 1, "x": "x" * 3000}), 0
        while blocked < 5:  # until neither pipe takes more
            try:
                written = os.write(process.stdin.fileno(), line)
                assert written == len(line)
                blocked = 0
            except BlockingIOError:
                blocked += 1
                time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 4
        assert lines_taken(state) == 0
