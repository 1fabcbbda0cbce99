"""NDJSON lines, processes that filter them, and the expected results."""

import io
import json
import math
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from classfilter import DirichletFilter, EventRule, Pipeline
from classfilter.inputs import TableFormat
from classfilter.live import serve
from saved_files import meta_of, sql
from streams import random_stream

DRIVER = """
import json, signal, sys
from pathlib import Path
from classfilter import Pipeline, DirichletFilter, EventRule
from classfilter.live import pipes, serve
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
arguments = json.loads(sys.argv[1])
pipes.GRACE = arguments.get("grace", pipes.GRACE)
state, events = arguments.get("state"), arguments.get("events")
def make_chain(names):
    rule = EventRule(**arguments["rule"]) if events else None
    return Pipeline(DirichletFilter(names), beta=arguments.get("beta", 1.0), rule=rule)
try:
    served = serve(
        make_chain,
        state=Path(state) if state else None,
        every=arguments["every"],
        events=Path(events) if events else None,
        **arguments.get("more", {}),
    )
except ValueError as error:
    sys.exit(f"ValueError: {error}")
except BrokenPipeError:
    sys.exit(3)
except pipes.ReaderBlocked:
    sys.exit(4)
print(json.dumps(served), file=sys.stderr)
"""
CLASSES = ("walk", "sit", "sleep")
BETA = {"weak": 0.25, "strong": 1.0, "default": 0.5}
VALID = {"time": 0, "p_walk": 0.7, "p_sit": 0.3}


def command(every: float = 1000.0, **arguments: Any) -> list[str]:
    return [sys.executable, "-c", DRIVER, json.dumps(arguments | {"every": every})]


def pipe_maker(make_filter: Any = DirichletFilter, **options: Any) -> Callable[[Any], Pipeline]:
    """Return what makes a pipeline of the classes of lines, with weights and channels."""
    return lambda names: Pipeline(make_filter(names), **options)


def run(lines: bytes, state: str | None = None, **arguments: Any) -> tuple[list[bytes], str]:
    """Return the results and the messages for all lines at once: `child` without a process."""
    messages, events = io.StringIO(), arguments.get("events")
    rule = EventRule(**arguments["rule"]) if events else None
    make_pipe = pipe_maker(beta=arguments.get("beta", 1.0), rule=rule)
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write(lines)
        source.seek(0)
        try:
            served = serve(
                make_pipe,
                source=source.fileno(),
                sink=sink.fileno(),
                errors=messages,
                state=Path(state) if state else None,
                every=1000.0,
                events=Path(events) if events else None,
                **formed(**arguments.get("more", {})),
            )
            print(json.dumps(served), file=messages)
        except ValueError as error:
            print(f"ValueError: {error}", file=messages)
        sink.seek(0)
        return sink.readlines(), messages.getvalue()


@contextmanager
def child(stdin: int = subprocess.PIPE, **arguments: Any) -> Iterator[Any]:
    with subprocess.Popen(
        command(**arguments),
        bufsize=0,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def formed(
    classes: Any = None,
    columns: Any = None,
    scores: str = "probabilities",
    unit: str | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    """Return arguments of `serve` with what is known of the lines as their form."""
    return arguments | {"form": TableFormat.of(classes, columns, scores, unit)}


def serve_here(
    lines: list[bytes],
    make_filter: Any = DirichletFilter,
    beta: Any = 1.0,
    channel: Any = None,
    **arguments: Any,
) -> list[bytes]:
    """Return the results, without a process of its own."""
    make_pipe = pipe_maker(make_filter, beta=beta, channel=channel)
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write(b"".join(lines))
        source.seek(0)
        serve(make_pipe, source=source.fileno(), sink=sink.fileno(), **formed(**arguments))
        sink.seek(0)
        return sink.readlines()


def saved_times(state: Path) -> dict[Any, float]:
    """Return the streams of a file of states, and the times of their last lines."""
    return dict(sql(state, "SELECT name, time FROM streams ORDER BY place"))


def counts(messages: str) -> list[Any]:
    """Return what a process says at its end: the fields of `Served`."""
    fields: list[Any] = json.loads(messages.splitlines()[-1])
    return fields


def read_line(fd: int, seconds: float = 20.0) -> bytes:
    """Return one line, as soon as it is there."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([fd], [], [], seconds)[0], f"no result, only {line!r}"
        byte = os.read(fd, 1)
        assert byte, f"no result, only {line!r}, and the end"
        line += byte
    return line


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.002)


def as_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def many_rows(T: int, seed: int, names: tuple[Any, ...] = ("1", 7, "ann", None)) -> list[Any]:
    """Return rows of interleaved streams, with equal times, pauses and missing observations."""
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


def lines_taken(state: Path) -> int:
    """Return how many lines a file of states has."""
    made = state.exists() and sql(state, "SELECT name FROM sqlite_master")
    return int(meta_of(state, "lines")) if made else 0
