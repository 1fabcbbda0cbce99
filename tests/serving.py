"""Lines for a live stream, and the processes that answer them."""

import json
import math
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any

from classfilter import Channel, DirichletFilter, Recording
from classfilter.streaming._ndjson import serve
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


def serve_here(lines: list[bytes], made: Any = DirichletFilter, **given: Any) -> list[bytes]:
    """The answers, without a process of its own."""
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write(b"".join(lines))
        source.seek(0)
        serve(made, source=source.fileno(), sink=sink.fileno(), **given)
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


def expected(
    rows: list[Any], fresh: DirichletFilter, channel: dict[str, Channel] | None = None
) -> list[list[float]]:
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
        for i, p in zip(part, rec.run(fresh, BETA, channel).tolist(), strict=True):
            found[i] = p
    return found
