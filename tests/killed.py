"""kill -9 at random points: ``python tests/killed.py 200``.

Half of the points are in ``classfilter stream --state --events``, half in `Tracker.save`. After
each, the file is read: it must have all that it had before, and what it has must be right to the
bit. The input goes on after the lines that the file has or, where they are numbered, from some line
before. At the end, the events must be there, each with a number of its own; a line with a number
that was there before must be the same.
"""

from __future__ import annotations

import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import classfilter as cf
from classfilter.live.pipes import CHUNK
from ndjson_lines import BETA, CLASSES, as_line, child, lines_taken, many_rows, run, wait_for
from saved_files import meta_of

LINES_BETWEEN = 200
RULE = {"change_cost": 0.5, "min_duration": 1.0}
ROWS_BETWEEN = 20


class Kills(NamedTuple):
    """What became of the lines or rows.

    Attributes
    ----------
    points : int
        How often a process was killed.
    states : int
        In how many of them the file had changed.
    rows, lost, wrong : int
        All lines or rows; those without a result, or not in the file although they were saved; and
        those with another result or state than without a kill. Events count, too.
    """

    points: int
    states: int
    rows: int
    lost: int
    wrong: int


def kill(process: Any, state: Path, rng: random.Random, output: bytearray) -> None:
    """Kill a process after some output, or once its log has grown, or after a commit.

    Where there is no file yet, wait for one, or every kill on a slow machine might come too early.
    """
    log = state.with_name(f"{state.name}-wal")

    def size() -> int:
        try:
            return log.stat().st_size
        except FileNotFoundError:
            return 0

    before, start = tells_apart(state), size()
    kind = rng.randrange(3) if before else 2
    amount, more = rng.randrange(40_000), rng.randrange(1, 200_000)

    def reached() -> bool:
        if kind == 0:
            return len(output) > amount
        if kind == 1:
            return size() > start + more
        return tells_apart(state) != before

    wait_for(lambda: output or reached(), 60.0)
    end = time.monotonic() + (60.0 if kind == 2 else rng.uniform(0.0, 0.3))
    while not reached() and time.monotonic() < end:
        time.sleep(1e-4)
    process.kill()


def tells_apart(state: Path) -> str:
    """Return what tells two versions of a file apart, and "" where there is none."""
    with suppress(sqlite3.Error, LookupError):
        return str(meta_of(state, "token")) if state.exists() else ""
    return ""


def killed_stream(lines: bytes, state: Path, rng: random.Random, options: Any) -> bytes:
    """Feed lines to a process, kill it at some moment, and return its results so far."""
    results = bytearray()
    with child(state=str(state), every=0.0, **options) as process:

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
        kill(process, state, rng, results)
        for thread in threads:
            thread.join(20)
    return bytes(results)


def kill_streams(points: int, folder: Path, seed: int, numbered: bool = False) -> Kills:
    """Kill `classfilter stream`; with numbers, go on after the last line that the file has."""
    rng, found = random.Random(seed), folder / "events"
    more = {"line_number": "n"} if numbered else {}
    options = {"beta": BETA, "more": more, "events": str(found), "rule": RULE}
    rows = many_rows((points + 1) * LINES_BETWEEN, seed)
    lines = [as_line(row) for row in rows]
    whole = run(b"".join(lines), beta=BETA)[0]
    state, sizes, wrong = folder / "state", set(), 0
    got: dict[int, bytes] = {}
    for point in range(points + 1):
        has = meta_of(state, "line") + 1 if numbered and tells_apart(state) else lines_taken(state)
        wrong += sum(n not in got for n in range(has))  # ahead of the results
        start = rng.choice([0, max(0, has - 50), has]) if numbered else has
        text = b"".join(lines[start : (point + 1) * LINES_BETWEEN])
        if point < points:
            results = killed_stream(text, state, rng, options)
        else:
            results = b"".join(run(text, state=str(state), **options)[0])
        for line in results.splitlines(keepends=True):
            if line.endswith(b"\n"):
                n = json.loads(line)["n"]
                wrong += line != whole[n] or n < has
                got[n] = line
        sizes.add(has)
    assert [path.name for path in folder.iterdir() if path.name.startswith("state")] == ["state"]
    events: dict[int, Any] = {}
    for line in found.read_bytes().splitlines():
        event = json.loads(line)
        wrong += events.setdefault(event["event"], event) != event
    wanted = confirmed(rows)
    assert len(wanted) > points
    wrong += sum(events.get(event["event"], event) != event for event in wanted)
    wrong += len(events.keys() - {event["event"] for event in wanted})
    lost = len(rows) - len(got) + sum(event["event"] not in events for event in wanted)
    return Kills(points, len(sizes) - 1, len(rows), lost, wrong)


def confirmed(rows: list[Any]) -> list[dict[str, Any]]:
    """Return the event lines of all rows, from a tracker."""
    pipe = cf.Pipeline(cf.DirichletFilter(CLASSES), beta=BETA, rule=cf.EventRule(**RULE))  # type: ignore[arg-type]
    tracker, events = cf.Tracker(pipe, events=True), []
    for row in rows:
        probs = [math.nan if row[f"p_{name}"] is None else row[f"p_{name}"] for name in CLASSES]
        stream = str(row["stream"]) if "stream" in row else None
        tracker.update(stream, row["time"], row.get("source", "default"), probs)
        events += tracker.pop_events()
    return [
        {"event": i}
        | ({} if event.stream is None else {"stream": event.stream})
        | {"class": event.label, "start": event.start, "end": event.end}
        | {"duration": event.duration, "probability": event.probability}
        for i, event in enumerate(events, 1)
    ]


SAVER = """
import sys
import classfilter as cf
sys.path.insert(0, sys.argv[2])
from killed import ROWS_BETWEEN, new_tracker, observe
from pathlib import Path
path = Path(sys.argv[1])
tracker = cf.Tracker.load(path) if path.exists() else new_tracker()
n = int(tracker.time("clock")) + 1 if len(tracker) else 0
while True:
    for _ in range(ROWS_BETWEEN):
        observe(tracker, n)
        n += 1
    tracker.save(path)
    print(n, flush=True)
"""


def new_tracker() -> cf.Tracker:
    rule = cf.EventRule(1.0, max_delay=50.0)
    f = cf.DirichletFilter(3, half_life=20.0)
    return cf.Tracker(f, beta=0.5, expire_after=200.0, events=rule)


def observe(tracker: cf.Tracker, n: int) -> None:
    """Observe row n: one of many streams, and the clock, whose time is the number of the row."""
    p = np.random.default_rng(n).dirichlet(np.ones(3))
    tracker.update_many([f"s{n % 97}", "clock"], [float(n)] * 2, None, [p, p[::-1]])


def kill_savers(points: int, folder: Path, seed: int) -> Kills:
    """Kill processes that save a tracker again and again."""
    rng, path = random.Random(seed), folder / "tracker"
    expected, rows, acknowledged, lost, wrong = new_tracker(), 0, 0, 0, 0
    events: list[cf.Event] = []
    sizes = set()
    for _ in range(points):
        said = bytearray()
        with subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path), str(Path(__file__).parent)],
            stdout=subprocess.PIPE,
        ) as process:

            def collect(process: Any = process, said: bytearray = said) -> None:
                while chunk := os.read(process.stdout.fileno(), CHUNK):
                    said.extend(chunk)

            thread = threading.Thread(target=collect)
            thread.start()
            kill(process, path, rng, said)
            thread.join(20)
        acknowledged = max(acknowledged, *map(int, said.split(b"\n")[:-1]), 0)
        tracker = cf.Tracker.load(path) if path.exists() else new_tracker()
        has = int(tracker.time("clock")) + 1 if len(tracker) else 0
        lost += max(0, acknowledged - has)
        while rows < has:
            observe(expected, rows)
            rows += 1
        events += expected.pop_events()
        same = sorted(tracker.pop_events()) == sorted(events)
        same &= tracker.streams == expected.streams and all(
            np.array_equal(tracker.probs(s), expected.probs(s)) for s in tracker.streams
        )
        wrong += not (same and rows == has)
        sizes.add(has)
    new_tracker().save(path)
    assert [one.name for one in folder.iterdir()] == ["tracker"]
    return Kills(points, len(sizes) - 1, rows, lost, wrong)


def main(points: int = 200, seed: int = 0) -> int:
    """Print a line for each kind of process; return how many lines or rows were lost or wrong."""
    share = points // 4
    failed = 0
    kinds: dict[str, Callable[[Path], Kills]] = {
        "stream --state --events": lambda folder: kill_streams(share, folder, seed),
        "stream --state --events, numbered lines": lambda f: kill_streams(
            share, f, seed + 1, numbered=True
        ),
        "Tracker.save": lambda folder: kill_savers(points - 2 * share, folder, seed + 2),
    }
    for name, run_kind in kinds.items():
        with TemporaryDirectory() as folder:
            result = run_kind(Path(folder))
        print(
            f"{name}: killed {result.points} times, {result.states} times with a new file; "
            f"{result.rows:,} rows, {result.lost} lost, {result.wrong} wrong",
            flush=True,
        )
        failed += result.lost + result.wrong
    return failed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
