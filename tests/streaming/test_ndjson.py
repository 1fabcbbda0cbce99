"""Live streams, in a process of their own and through pipes."""

import io
import json
import os
import re
import sys
import threading
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pytest

from classfilter import Channel, DirichletFilter
from classfilter._signals import Signals
from classfilter.streaming._ndjson import serve
from classfilter.streaming._pipes import CHUNK, LONGEST, lines
from serving import (
    BETA,
    CLASSES,
    GOOD,
    as_line,
    child,
    expected,
    many_rows,
    read_line,
    run,
    serve_here,
)


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [CLASSES, CLASSES[::-1]])
def test_a_channel_puts_a_source_right(classes: Any, dtype: Any) -> None:
    """To the bit as in a recording, of a source with a name, a number or none."""
    channel = {
        "weak": Channel([[6, 3, 1], [2, 7, 1], [3, 3, 4]], prior=[2, 1, 1]),
        "default": Channel([[4, 3, 3], [2, 7, 1], [3, 3, 4]]),
    }
    rows, fresh = many_rows(300, seed=2), DirichletFilter(classes, gamma=0.9, dtype=dtype)
    answers = serve_here([*map(as_line, rows)], made=lambda _: fresh, beta=BETA, channel=channel)
    found = [[json.loads(line)[f"f_{name}"] for name in CLASSES] for line in answers]
    assert found == expected(rows, fresh, channel)
    assert found != expected(rows, fresh)
    numbers, names = (
        serve_here(
            [as_line(GOOD | {"source": source})],
            beta={"7": 1.0},
            channel={"7": Channel([[1, 9], [9, 1]])},
        )
        for source in (7, "7")
    )
    assert numbers[0].replace(b": 7,", b': "7",') == names[0]
    assert json.loads(numbers[0])["class"] == "sit"  # what it says of walking, it says sitting


def test_a_channel_that_does_not_fit() -> None:
    told = io.StringIO()
    channel = {"default": Channel(np.eye(3))}
    assert serve_here([as_line(GOOD)] * 2, channel=channel, errors=told) == []
    for number, line in enumerate(told.getvalue().splitlines(), 1):
        assert re.match(rf"line {number}: channel\['default'\] does not fit .* 3 classes", line)
    assert told.getvalue().count("\n") == 2
    lines = [as_line(GOOD | {"p_walk": p}) for p in (0.7, -0.3, 0.1)]
    fits = {"default": Channel(np.eye(2))}
    assert len(serve_here(lines, channel=fits, errors=told)) == 1
    assert "line 2: 'p_walk' is -0.3; a probability must be finite" in told.getvalue()
    assert "line 3: the p_<class> sum to 0.4" in told.getvalue()


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
    with TemporaryFile() as file, Signals() as signals:
        file.write(b"x" * (5 * LONGEST) + b"\nnext\n")
        file.seek(0)
        found = [line for part in lines(file.fileno(), signals, lambda: None) for line in part]
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
