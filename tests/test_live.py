"""Live streams, in a process of their own and through pipes."""

import json
import math
import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pytest

from classfilter import DirichletFilter, Recording, checkpoint
from classfilter.live import CHUNK, LONGEST, Served, _lines, _Signals, serve
from streams import random_stream

DRIVER = """
import json, signal, sys
from pathlib import Path
from classfilter import DirichletFilter
from classfilter.live import serve
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
given = json.loads(sys.argv[1])
state = given.get("state")
def make(names):
    return DirichletFilter(given.get("classes", names), **given.get("options", {}))
try:
    served = serve(
        make, given.get("beta", 1.0), state=Path(state) if state else None, every=given["every"]
    )
except ValueError as error:
    sys.exit(f"ValueError: {error}")
except BrokenPipeError:
    sys.exit(3)
print(json.dumps(served), file=sys.stderr)
"""
CLASSES = ("walk", "sit", "sleep")
BETA = {"weak": 0.25, "strong": 1.0, "default": 0.5}
GOOD = {"time": 0, "p_walk": 0.7, "p_sit": 0.3}


def command(every: float = 1000.0, **given: Any) -> list[str]:
    return [sys.executable, "-c", DRIVER, json.dumps(given | {"every": every})]


def run(lines: bytes, **given: Any) -> tuple[list[bytes], str]:
    """The answers and what was told, of a process that gets all lines at once."""
    done = subprocess.run(command(**given), input=lines, capture_output=True, timeout=60)
    return done.stdout.splitlines(keepends=True), done.stderr.decode()


@contextmanager
def child(stdin: int = subprocess.PIPE, **given: Any) -> Iterator[Any]:
    with subprocess.Popen(
        command(**given),
        bufsize=0,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def serve_here(lines: list[bytes], **given: Any) -> list[bytes]:
    """The answers, without a process of its own."""
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write(b"".join(lines))
        source.seek(0)
        serve(DirichletFilter, source=source.fileno(), sink=sink.fileno(), **given)
        sink.seek(0)
        return sink.readlines()


def read_line(fd: int, seconds: float = 20.0) -> bytes:
    """One line, as soon as it is there."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([fd], [], [], seconds)[0], f"no answer, only {line!r}"
        byte = os.read(fd, 1)
        assert byte, f"no answer, only {line!r}, and the end"
        line += byte
    return line


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.002)


def as_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def many_rows(T: int, seed: int, names: tuple[Any, ...] = ("1", 1, "ann", None)) -> list[Any]:
    """Rows of interleaved streams, with equal times, pauses and missing observations."""
    rng = random.Random(seed)
    streams = {name: random_stream(len(CLASSES), T, seed + i) for i, name in enumerate(names)}
    at, count = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
    rows = []
    for n in range(T):
        name = rng.choice(names)
        row = count[name]
        count[name] += 1
        at[name] += float(streams[name].dt[row])
        source = rng.choice([*BETA])
        probs = streams[name].probs[row].tolist()
        rows.append(
            {"n": n, "time": at[name]}
            | ({} if name is None else {"stream": name})
            | ({} if source == "default" else {"source": source})
            | {f"p_{c}": None if math.isnan(p) else p for c, p in zip(CLASSES, probs, strict=True)}
        )
    return rows


def expected(rows: list[Any], fresh: DirichletFilter) -> list[list[float]]:
    """The filtered probabilities of all rows, from a recording of each stream."""
    parts: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        parts.setdefault(repr(row.get("stream")), []).append(i)
    found: list[list[float]] = [[]] * len(rows)
    for part in parts.values():
        rec = Recording(
            [rows[i]["time"] for i in part],
            [rows[i].get("source", "default") for i in part],
            [[rows[i][f"p_{name}"] for name in CLASSES] for i in part],
            CLASSES,
        )
        for i, p in zip(part, rec.run(fresh, BETA).tolist(), strict=True):
            found[i] = p
    return found


@pytest.mark.parametrize(
    "options",
    [{"gamma": 0.9}, {"half_life": 7.0, "estimate": "mean", "anchor": 0.3, "dtype": "float32"}],
)
@pytest.mark.parametrize("classes", [CLASSES, CLASSES[::-1]])
def test_answers_are_those_of_a_recording_of_each_stream(options: Any, classes: Any) -> None:
    rows = many_rows(600, seed=1)
    answers, told = run(
        b"".join(map(as_line, rows)), beta=BETA, options=options, classes=list(classes)
    )
    assert json.loads(told) == [600, 600, 0, 0, "end"]
    filtered = expected(rows, DirichletFilter(classes, **options))
    for row, p, answer in zip(rows, filtered, answers, strict=True):
        named = {f"f_{name}": p[k] for k, name in enumerate(CLASSES)}
        found = json.loads(answer)
        assert found == {**row, **named, "class": CLASSES[int(np.argmax(p))]}
        assert list(found)[-4:] == [*named, "class"]
        assert answer.startswith(as_line(row)[:-2])


def test_an_answer_comes_before_the_next_line_goes_in() -> None:
    with child() as process:
        for n in range(30):
            line = as_line(GOOD | {"time": n})
            half = n % len(line)
            process.stdin.write(line[:half])
            process.stdin.write(line[half:])
            assert json.loads(read_line(process.stdout.fileno()))["time"] == n


@pytest.mark.skipif(sys.platform != "linux", reason="pipes of packets are Linux's")
def test_each_answer_is_one_write() -> None:
    """A pipe of packets keeps writes apart."""
    answers, sink = os.pipe2(os.O_DIRECT)
    source, feed = os.pipe()
    os.write(feed, b"".join(as_line(GOOD | {"time": n}) for n in range(12)))
    os.close(feed)
    assert serve(DirichletFilter, source=source, sink=sink).answered == 12
    for n in range(12):
        packet = os.read(answers, CHUNK)
        assert packet.count(b"\n") == 1
        assert json.loads(packet)["time"] == n
    for fd in (source, sink, answers):
        os.close(fd)


def test_the_text_of_a_line_is_kept() -> None:
    heads = [
        '{"time": 0, "p_5%": 0.50, "p_\\u00e9\\"": 5e-1, "note": "é } %s {"',
        ' \t{"p_é\\"":1, "p_5%" :0.0 ,"time":"1970-01-01T01:00:05+01:00"',
        '{"time":6,"deep":{"time":[1,{}]},"p_5%":null,"p_é\\"":null ',
        f'{{"time":7,"long":"{"x" * 300_000}","p_5%":1,"p_é\\"":0',
        '{"time":8,"p_5%":0.3,"p_é\\"":0.7',
    ]
    tails = ["}", "}\r", "} \t ", "}", "}"]
    text = "\n".join(head + tail for head, tail in zip(heads, tails, strict=True))
    answers, told = run(text.encode())
    assert json.loads(told)[:3] == [5, 5, 0]
    for head, tail, answer in zip(heads, tails, answers, strict=True):
        added = answer.decode().removeprefix(head)
        end = tail + "\n"
        assert re.fullmatch(r',"f_5%":\S+,"f_\\u00e9\\"":\S+,"class":"\S+"', added[: -len(end)])
        assert added.endswith(end)
        assert {"f_5%", 'f_é"', "class"} < set(json.loads(answer))


def test_a_sink_that_takes_only_part_of_a_line_gets_all_of_it() -> None:
    (source, feed), (answers, sink) = os.pipe(), os.pipe()
    os.set_blocking(sink, False)
    found = bytearray()

    def collect() -> None:
        while chunk := os.read(answers, 5000):
            found.extend(chunk)

    def write() -> None:
        for n in range(3):
            for part in (b'{"x": "', b"x" * 300_000, b'", ', as_line(GOOD | {"n": n})[1:]):
                assert os.write(feed, part) == len(part)
        os.close(feed)

    threads = [threading.Thread(target=work) for work in (collect, write)]
    for thread in threads:
        thread.start()
    serve(DirichletFilter, source=source, sink=sink)
    os.close(sink)
    for thread in threads:
        thread.join()
    assert [json.loads(line)["n"] for line in found.splitlines()] == [0, 1, 2]
    os.close(source)
    os.close(answers)


def test_a_line_without_end_takes_little_memory() -> None:
    with TemporaryFile() as file, _Signals() as signals:
        file.write(b"x" * (5 * LONGEST) + b"\nnext\n")
        file.seek(0)
        found = [line for part in _lines(file.fileno(), signals, lambda: None) for line in part]
    assert LONGEST < len(found[0]) <= LONGEST + 1 + CHUNK
    assert found[1:] == [b"next"]


BAD: list[tuple[Any, str]] = [
    (b'{"time": 1, "p_walk": 0.7', "is not JSON: Expecting ',' delimiter"),
    (b"hello", "b'hello' is not JSON: Expecting value"),
    (b'{"time": 1} {"time": 2}', "is not JSON: Extra data"),
    (b'{"time": 1, "p_walk": NaN, "p_sit": NaN}', "NaN is not a JSON number, write null"),
    (b'{"time": -Infinity, "p_walk": 0.5, "p_sit": 0.5}', "-Infinity is not a JSON number"),
    (b'{"time": 1, "time": 2, "p_walk": 0.5, "p_sit": 0.5}', "the key 'time' is there twice"),
    (b'{"time": 1, "\xff": 1}', "is not JSON: 'utf-8' codec can't decode"),
    (b"[" * 100_000, "is not JSON: maximum recursion depth"),
    (b'{"time": ' + b"9" * 5000 + b"}", "is not JSON: Exceeds the limit"),
    (b"x" * (LONGEST + 1), "is longer than 1,048,576 bytes"),
    (b'{"x": "' + b"x" * (3 * LONGEST) + b'"}', "is longer than 1,048,576 bytes"),
    (b"[1, 2]", "is [1, 2]; it must be an object"),
    (b"null", "is None; it must be an object"),
    ({"p_walk": 0.7, "p_sit": 0.3}, "time is missing"),
    (GOOD | {"time": None}, "time is None; give a finite number"),
    (GOOD | {"time": True}, "time is True; give a finite number"),
    (GOOD | {"time": "2024-05-01T08:00:00"}, "ISO 8601 text with a zone"),
    (GOOD | {"time": 10**400}, "give a finite number"),
    (b'{"time": 1e999, "p_walk": 0.5, "p_sit": 0.5}', "time is inf; it must be finite"),
    (GOOD | {"time": -0.5}, "time is -0.5, before "),
    ({"time": 1, "p_walk": 1.0}, "has 1 keys p_<class>"),
    ({"time": 1, "p_walk": 0.5, "p_run": 0.5}, "'p_run' is none of the classes; give p_<class>"),
    ({"time": 1, "p_walk": 0.5, "p_sit": 0.5, "p_run": 0}, "'p_run' is none of the classes"),
    ({"time": 1, "p_sit": 0.5, "p_walk": -0.1}, "'p_walk' is -0.1; a probability must be finite"),
    (GOOD | {"p_walk": "0.7"}, "'p_walk' is '0.7'; it must be a number"),
    (GOOD | {"p_walk": True, "p_sit": False}, "'p_walk' is True; it must be a number"),
    (GOOD | {"p_walk": [0.7]}, "'p_walk' is [0.7]; it must be a number"),
    (GOOD | {"p_walk": 10**400}, "a probability must be finite"),
    (GOOD | {"p_walk": 1e308, "p_sit": 1e308}, "sum to inf; it must be within 0.05 of 1"),
    (GOOD | {"p_walk": 10**308, "p_sit": 10**308}, "sum to inf; it must be within 0.05 of 1"),
    (GOOD | {"p_sit": None}, "'p_sit' is null, but others are not"),
    (GOOD | {"p_sit": 0.4}, "sum to 1.1; it must be within 0.05 of 1: normalise them"),
    (GOOD | {"source": "odd"}, "source is 'odd', which has no weight; beta names ['default', '7']"),
    (GOOD | {"source": None}, "source is None; it must be a name"),
    (GOOD | {"source": ["weak"]}, "source is ['weak']; it must be a name"),
    (GOOD | {"stream": None}, "stream is None; it must be text or a whole number"),
    (GOOD | {"stream": 1.0}, "stream is 1.0; it must be text or a whole number"),
    (GOOD | {"stream": True}, "stream is True; it must be text or a whole number"),
    (GOOD | {"stream": {}}, "stream is {}; it must be text or a whole number"),
    (GOOD | {"class": "walk"}, "already has ['class']; drop or rename"),
    (GOOD | {"f_sit": 0.5}, "already has ['f_sit']; drop or rename"),
]


@pytest.mark.parametrize("first", [False, True])
def test_bad_lines_are_refused_by_number_and_the_rest_goes_on(first: bool) -> None:
    """After the first good line each comes between two good ones; or all before it."""
    beta = {"default": 0.5, "7": 1.0}
    good = [as_line(GOOD | {"time": n / 4, "source": 7} | {"n": n}) for n in range(len(BAD) + 1)]
    bad = [(line if isinstance(line, bytes) else as_line(line)[:-1], why) for line, why in BAD]
    if first:  # what is wrong only next to other lines is left out
        bad = [(line, why) for line, why in bad if not re.search("before|none of", why)]
        lines = [line + b"\n" for line, _ in bad] + [b"\n", b" \r\n", *good]
        places = list(range(1, len(bad) + 1))
    else:
        late = [line.replace(b'"time": 0,', b'"time": 99,') for line, _ in bad]
        pairs = [good[i] + late[i] + b"\n" for i in range(len(bad))]
        lines = b"".join([*pairs, good[-1]]).splitlines(keepends=True)
        places = list(range(2, 2 * len(bad) + 1, 2))
    answers, told = run(b"".join(lines), beta=beta)
    alone, _ = run(b"".join(good), beta=beta)
    assert answers == alone
    assert len(answers) == len(good)
    *errors, served = told.splitlines()
    assert json.loads(served) == [len(lines), len(good), len(bad), 0, "end"]
    for error, place, (_, why) in zip(errors, places, bad, strict=True):
        if "time is inf" in why and first:
            why = "time is inf; give a finite number"
        assert error.startswith(f"line {place}: ")
        assert why in error
        assert len(error) < 250


def test_a_source_that_is_missing_needs_a_weight_too() -> None:
    answers, told = run(as_line(GOOD), beta={"weak": 1.0})
    assert not answers
    assert "source is missing, which means 'default', which has no weight" in told


# ---- the checkpoint ----


def covered(state: Path, rows: list[Any]) -> set[int]:
    """The rows that a file has, worked out from its contents alone."""
    if not state.exists():
        return set()
    kept = {repr(s.id): (s.time, s.ties) for s in checkpoint.read(state).streams}
    found = set()
    for row in rows:
        at, ties = kept.get(repr(row.get("stream")), (-1.0, []))
        if row["time"] < at or (row["time"] == at and zlib.crc32(as_line(row)[:-1]) in ties):
            found.add(row["n"])
    return found


def killed_run(lines: bytes, state: Path, rng: random.Random) -> bytes:
    """Feed lines to a process, kill it at some moment, and return what it had answered."""
    answers = bytearray()
    before = state.stat().st_ino if state.exists() else None
    moment = rng.choice(["answers", "draft", "saved"])
    wanted = rng.randrange(40_000)
    for draft in state.parent.glob(".*.tmp"):  # of one that was killed
        draft.unlink()

    def reached() -> bool:
        if moment == "answers":
            return len(answers) > wanted
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
                answers.extend(chunk)

        threads = [threading.Thread(target=feed), threading.Thread(target=collect)]
        for thread in threads:
            thread.start()
        wait_for(lambda: answers or reached())
        end = time.monotonic() + 0.3
        while not reached() and time.monotonic() < end:
            time.sleep(1e-4)
        process.kill()
        for thread in threads:
            thread.join(20)
        assert not process.stderr.read()
    return bytes(answers)


def test_killed_at_any_moment_and_replayed_nothing_is_lost_or_answered_twice(
    tmp_path: Path,
) -> None:
    rng = random.Random(5)
    rows = many_rows(5600, seed=3)
    lines = [as_line(row) for row in rows]
    whole, _ = run(b"".join(lines), beta=BETA)
    state = tmp_path / "state.json"
    answered: set[int] = set()
    sizes = set()
    for stop in range(200, len(rows), 200):  # 27 kills, each with some lines that are new
        has = covered(state, rows)  # reads it, so it is never half-written
        assert has <= answered, "the checkpoint is ahead of the answers"
        found = killed_run(b"".join(lines[:stop]), state, rng).splitlines(keepends=True)
        numbers = [int(json.loads(line)["n"]) for line in found]
        assert [whole[n] for n in numbers] == found
        assert not has & set(numbers), "answered again"
        answered |= set(numbers)
        sizes.add(len(has))
    assert len(sizes) > 8, "hardly any checkpoint was written"
    has = covered(state, rows)
    rest, told = run(b"".join(lines), beta=BETA, state=str(state))
    assert rest == [whole[n] for n in range(len(rows)) if n not in has]
    assert json.loads(told)[3] == len(has)


def test_going_on_without_a_replay_is_as_if_never_stopped(tmp_path: Path) -> None:
    lines = [as_line(row) for row in many_rows(400, seed=9)]
    whole, _ = run(b"".join(lines), beta=BETA)
    state, found = tmp_path / "state.json", []
    for start, stop in ((0, 1), (1, 150), (150, 151), (151, 400)):
        answers, told = run(b"".join(lines[start:stop]), beta=BETA, state=str(state))
        assert json.loads(told) == [stop - start, stop - start, 0, 0, "end"]
        found += answers
    assert found == whole


@pytest.mark.parametrize(
    ("names", "start"),
    [("abttctd", start) for start in range(5)] + [("abtttcd", start) for start in range(3)],
)
def test_lines_of_equal_time_are_known_again(tmp_path: Path, names: str, start: int) -> None:
    """Those named t are twins: they count as often as they came."""
    times = [1, 2, 2, 2, 2, 2, 3]
    lines = [as_line(GOOD | {"time": t, "x": x}) for t, x in zip(times, names, strict=True)]
    whole, state = serve_here(lines), tmp_path / "state.json"
    assert serve_here(lines[:4], state=state) == whole[:4]
    assert serve_here(lines[start:], state=state) == whole[4:]


def test_time_may_not_go_back_after_the_replay(tmp_path: Path) -> None:
    def at(*times: float) -> bytes:
        return b"".join(as_line(GOOD | {"time": t, "stream": s}) for t in times for s in (1, "1"))

    given = {"state": str(tmp_path / "state.json")}
    run(at(1, 2, 3), **given)
    answers, told = run(at(1, 0, 4, 3), **given)
    assert [json.loads(line)["time"] for line in answers] == [4, 4]
    *errors, served = told.splitlines()
    assert [error.partition(";")[0] for error in errors] == [
        f"line {n}: time is 3.0, before 4.0, that of the stream's last line" for n in (7, 8)
    ]
    assert json.loads(served) == [8, 2, 2, 4, "end"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_line_and_saves(tmp_path: Path, number: signal.Signals) -> None:
    rows = many_rows(40, seed=2)
    lines = [as_line(row) for row in rows]
    whole, _ = run(b"".join(lines), beta=BETA)
    state = tmp_path / "state.json"
    source, feed = os.pipe()
    with child(source, state=str(state), beta=BETA) as process:
        os.write(feed, b"".join(lines[:10]) + lines[10][:30])
        found = [read_line(process.stdout.fileno()) for _ in range(10)]
        process.send_signal(number)
        time.sleep(0.05)
        os.write(feed, lines[10][30:] + lines[11])
        found.append(read_line(process.stdout.fileno()))
        assert process.wait(20) == 0
        assert not process.stdout.read()
        assert json.loads(process.stderr.read()) == [11, 11, 0, 0, "signal"]
    os.close(feed)
    assert os.read(source, CHUNK) == lines[11], "it is for the next process"
    os.close(source)
    assert covered(state, rows) == set(range(11))
    assert found + run(b"".join(lines[11:]), beta=BETA, state=str(state))[0] == whole


def test_a_signal_wakes_it_while_it_waits_and_half_a_line_is_told() -> None:
    with child() as process:
        process.stdin.write(as_line(GOOD) + b'{"time": 1')
        read_line(process.stdout.fileno())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        error, served = process.stderr.read().decode().splitlines()
    assert error.startswith("line 2: b'{\"time\": 1' is not JSON")
    assert json.loads(served) == [2, 1, 1, 0, "signal"]


def test_it_saves_while_the_input_is_idle(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with child(state=str(state), every=0.05) as process:
        process.stdin.write(as_line(GOOD))
        read_line(process.stdout.fileno())
        wait_for(state.exists)
        assert [s.time for s in checkpoint.read(state).streams] == [0.0]


def test_it_goes_on_where_it_cannot_save(tmp_path: Path) -> None:
    state = tmp_path / "folder" / "state.json"
    state.parent.mkdir()
    with child(state=str(state), every=0.0) as process:
        process.stdin.write(as_line(GOOD))
        wait_for(state.exists)
        state.unlink()
        wait_for(lambda: not any(state.parent.iterdir()))
        state.parent.rmdir()
        process.stdin.write(as_line(GOOD))
        assert b"state.json was not saved, going on" in read_line(process.stderr.fileno())
        state.parent.mkdir()
        wait_for(state.exists)
        assert len(checkpoint.read(state).streams[0].ties) == 2


def test_nothing_is_saved_when_the_reader_is_gone(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with child(state=str(state)) as process:
        process.stdin.write(as_line(GOOD))
        read_line(process.stdout.fileno())
        process.stdout.close()
        process.stdin.write(as_line(GOOD))
        assert process.wait(20) == 3
    assert not state.exists()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"options": {"gamma": 0.8}}, "was made with gamma 0.9, but the filter has 0.8; give the"),
        ({"options": {"dtype": "float32"}}, "was made with dtype 'float64', but the filter has"),
        ({"options": {"prior": [1.0, 2.0]}}, "was made with prior [1.0, 1.0], but the filter has"),
        ({"classes": ["sit", "walk"]}, "was made with classes ['walk', 'sit'], but the filter"),
        ({"classes": ["sit", "run"]}, "was made with classes ['walk', 'sit'], but the filter"),
        ({"line": {"time": 1, "p_a": 1, "p_b": 0}}, "classes ['walk', 'sit'], but the first line"),
        ({"damage": lambda text: text[:-40]}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: b""}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: b"[1]"}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: b"\xff"}, "is damaged, or no checkpoint; move the file away"),
        ({"damage": lambda text: text.replace(b"1000000.0", b"1000001.0")}, "check sum is wrong"),
        ({"damage": lambda text: text.replace(b'n": 1', b'n": 2')}, "has version 2 of the format"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, given: Any, why: str) -> None:
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

    run_here(GOOD)
    damage = given.pop("damage", lambda text: text)
    state.write_bytes(damage(state.read_bytes()))
    before = state.read_bytes()
    with pytest.raises(ValueError, match=re.escape(why)) as error:
        run_here(given.pop("line", GOOD), **given)
    assert str(state) in str(error.value)
    assert state.read_bytes() == before
    os.close(sink)


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="make its folder first"):
        serve(DirichletFilter, state=tmp_path / "none" / "state.json")
    with pytest.raises(ValueError, match="every is -1"):
        serve(DirichletFilter, every=-1)


def test_long_checkpoints_are_far_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "write", lambda *_: time.sleep(0.05))
    streams = checkpoint.Streams(DirichletFilter(2), ("a", "b"), tmp_path / "state.json", 0.1)
    assert streams.wait() is None
    streams.update("ann", 0.0, b"", [0.5, 0.5], 1.0)
    assert 0 < (streams.wait() or 0) <= 0.1
    streams.save()
    assert streams.wait() is None
    streams.update("ann", 0.0, b"", [0.5, 0.5], 1.0)
    assert 1.3 < (streams.wait() or 0) < 10


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
