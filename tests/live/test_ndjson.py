"""Filtering NDJSON lines, in a process of its own and through pipes."""

import json
import os
import re
import sys
import threading
from tempfile import TemporaryFile
from typing import Any

import pytest

from classfilter.live import serve
from classfilter.live.pipes import CHUNK, MAX_LINE, lines
from classfilter.support.signals import Signals
from ndjson_lines import (
    VALID,
    as_line,
    child,
    pipe_maker,
    read_line,
    run,
    serve_here,
)


def test_a_result_comes_before_the_next_line_goes_in() -> None:
    with child() as process:
        for n in range(30):
            line = as_line(VALID | {"time": n})
            half = n % len(line)
            process.stdin.write(line[:half])
            process.stdin.write(line[half:])
            assert json.loads(read_line(process.stdout.fileno()))["time"] == n


@pytest.mark.skipif(sys.platform != "linux", reason="pipes of packets are Linux's")
def test_each_result_is_one_write() -> None:
    """A pipe of packets keeps writes apart."""
    results, sink = os.pipe2(os.O_DIRECT)
    source, feed = os.pipe()
    os.write(feed, b"".join(as_line(VALID | {"time": n}) for n in range(12)))
    os.close(feed)
    assert serve(pipe_maker(), source=source, sink=sink).filtered == 12
    for n in range(12):
        packet = os.read(results, CHUNK)
        assert packet.count(b"\n") == 1
        assert json.loads(packet)["time"] == n
    for fd in (source, sink, results):
        os.close(fd)


def test_the_text_of_a_line_does_not_change() -> None:
    heads = [
        '{"time": 0, "p_5%": 0.50, "p_\\u00e9\\"": 5e-1, "note": "é } %s {"',
        ' \t{"p_é\\"":1, "p_5%" :0.0 ,"time":"1970-01-01T01:00:05+01:00"',
        '{"time":6,"deep":{"time":[1,{}]},"p_5%":null,"p_é\\"":null ',
        f'{{"time":7,"long":"{"x" * 300_000}","p_5%":1,"p_é\\"":0',
        '{"time":8,"p_5%":0.3,"p_é\\"":0.7',
    ]
    tails = ["}", "}\r", "} \t ", "}", "}"]
    text = "\n".join(head + tail for head, tail in zip(heads, tails, strict=True))
    results, messages = run(text.encode())
    assert json.loads(messages)[:3] == [5, 5, 0]
    for head, tail, result in zip(heads, tails, results, strict=True):
        added = result.decode().removeprefix(head)
        end = tail + "\n"
        assert re.fullmatch(r',"f_5%":\S+,"f_\\u00e9\\"":\S+,"class":"\S+"', added[: -len(end)])
        assert added.endswith(end)
        assert {"f_5%", 'f_é"', "class"} < set(json.loads(result))


def test_a_sink_that_takes_only_part_of_a_line_gets_all_of_it() -> None:
    (source, feed), (results, sink) = os.pipe(), os.pipe()
    os.set_blocking(sink, False)
    written = bytearray()

    def collect() -> None:
        while chunk := os.read(results, 5000):
            written.extend(chunk)

    def write() -> None:
        for n in range(3):
            for part in (b'{"x": "', b"x" * 300_000, b'", ', as_line(VALID | {"n": n})[1:]):
                assert os.write(feed, part) == len(part)
        os.close(feed)

    threads = [threading.Thread(target=work) for work in (collect, write)]
    for thread in threads:
        thread.start()
    serve(pipe_maker(), source=source, sink=sink)
    os.close(sink)
    for thread in threads:
        thread.join()
    assert [json.loads(line)["n"] for line in written.splitlines()] == [0, 1, 2]
    os.close(source)
    os.close(results)


def test_a_line_without_end_takes_little_memory() -> None:
    with TemporaryFile() as file, Signals() as signals:
        file.write(b"x" * (5 * MAX_LINE) + b"\nnext\n")
        file.seek(0)
        read = [line for part in lines(file.fileno(), signals, lambda: None) for line in part]
    assert MAX_LINE < len(read[0]) <= MAX_LINE + 1 + CHUNK
    assert read[1:] == [b"next"]


INVALID: list[tuple[Any, str]] = [
    (b"hello", "b'hello' is not JSON: Expecting value"),
    (b"x" * (MAX_LINE + 1), "is longer than 1,048,576 bytes"),
    (b"[1, 2]", "is [1, 2]; it must be an object"),
    (VALID | {"time": True}, "time is True; give a finite number"),
    (VALID | {"time": -0.5}, "time is -0.5, before "),
    ({"time": 1, "p_walk": 0.5, "p_run": 0.5}, "'p_run' is none of the classes; give p_<class>"),
    (VALID | {"p_walk": 10**308, "p_sit": 0}, "'p_walk' is 1e+308; a probability must be finite"),
    (VALID | {"p_sit": 0.4}, "sum to 1.1; it must be within 0.05 of 1: if exactly one class is"),
    (VALID | {"source": "odd"}, "source is 'odd', which has no weight"),
    (VALID | {"stream": {}}, "stream is {}; it must be text or a number"),
    (VALID | {"class": "walk"}, "already has ['class']; drop or rename"),
]
"""One of each kind; tests/messages.txt has all."""


@pytest.mark.parametrize("first", [False, True])
def test_invalid_lines_are_rejected_by_number_and_the_rest_goes_on(first: bool) -> None:
    """Each comes between two valid ones; or all before the first valid one."""
    beta = {"default": 0.5, "7": 1.0}
    valid = [
        as_line(VALID | {"time": n / 4, "source": 7} | {"n": n}) for n in range(len(INVALID) + 1)
    ]
    invalid = [
        (line if isinstance(line, bytes) else as_line(line)[:-1], why) for line, why in INVALID
    ]
    if first:  # what is wrong only next to other lines is left out
        invalid = [(line, why) for line, why in invalid if not re.search("before|none of", why)]
        lines = [line + b"\n" for line, _ in invalid] + [b"\n", b" \r\n", *valid]
        places = list(range(1, len(invalid) + 1))
    else:
        late = [line.replace(b'"time": 0,', b'"time": 99,') for line, _ in invalid]
        pairs = [valid[i] + late[i] + b"\n" for i in range(len(invalid))]
        lines = b"".join([*pairs, valid[-1]]).splitlines(keepends=True)
        places = list(range(2, 2 * len(invalid) + 1, 2))
    results, messages = run(b"".join(lines), beta=beta)
    alone, _ = run(b"".join(valid), beta=beta)
    assert results == alone
    assert len(results) == len(valid)
    *errors, served = messages.splitlines()
    assert json.loads(served) == [len(lines), len(valid), len(invalid), 0, "end"]
    for error, place, (_, why) in zip(errors, places, invalid, strict=True):
        assert error.startswith(f"line {place}: ")
        assert why in error
        assert len(error) < 300


def test_labels_after_a_line_that_names_the_classes() -> None:
    out = serve_here([as_line(VALID), as_line({"time": 1, "prediction": "walk"})])
    assert json.loads(out[1])["class"] == "walk"
