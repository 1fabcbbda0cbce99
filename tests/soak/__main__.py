"""``python -m tests.soak [--seconds N] [--seed S]``: `stream --events --state` in a rough life.

For three fifths of the time, a process gets lines at random sizes, with garbage and wrong clocks
between them, and ends by SIGKILL, SIGTERM, a full disk or the end of its input, after a random
number of lines; some readers of its results are slow. The next one goes on after the last line that
the state has. In the rest of the time one process runs on, and its memory is read. At the end the
file of events, of which a line with the same number counts once, is compared with
`classfilter.events` of all valid rows at once.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .lines import CLASSES, MAX_JUMP, NUMBERED, PIPE, chunk_lines, last_lines, wanted

ALLOWED = 4 << 20
"""Bytes that memory may grow after warm-up: allocators keep a little in reserve."""
ENDS = {"killed": 60, "terminated": 15, "full disk": 15, "end of input": 10}
"""How often, in percent, a process ends in which way."""


class Soaked(NamedTuple):
    """What became of the lines.

    Attributes
    ----------
    ends : Counter
        How many processes ended in which way.
    lines, events : int
        Valid and invalid lines with a number, and the events of the valid ones.
    lost, twice, wrong : int
        Events that are not in the file, there more than once, or others.
    grown : int
        Bytes that the memory of the last process grew after a quarter of its lines.
    resident : int
        The memory of the last process at its end.
    """

    ends: Counter[str]
    lines: int
    events: int
    lost: int
    twice: int
    wrong: int
    grown: int
    resident: int


class Life:
    """The files of a soak, and the processes that use them one after the other."""

    def __init__(self, folder: Path, seed: int, pause: float) -> None:
        self.folder, self.seed, self.pause = folder, seed, pause
        self.rng = random.Random(seed)
        self.state, self.events = folder / "state", folder / "events"
        self.ends: Counter[str] = Counter()
        self.furthest = 0
        PIPE.save(folder / "pipeline.json")

    def position(self) -> int:
        """Return the number of the line that the state lacks first."""
        if not self.state.exists():
            return 0
        with contextlib.closing(sqlite3.connect(self.state)) as db:
            if not db.execute("SELECT name FROM sqlite_master").fetchall():
                return 0
            [[line]] = db.execute("SELECT value FROM meta WHERE name = 'line'")
        return int(line) + 1

    def lines(self) -> Iterator[bytes]:
        """Give the lines after those that the state has, without an end."""
        start = self.position()
        chunk = start // NUMBERED
        while True:
            for number, line in chunk_lines(chunk, self.seed):
                if number < 0 or number >= start:
                    yield line
            chunk += 1
            self.furthest = max(self.furthest, chunk)
            time.sleep(self.pause)

    def start(self, room: int | None = None) -> Any:
        """Start a process; with `room`, no file may grow beyond so many bytes."""
        command = [sys.executable, "-m", "classfilter", "stream", "--config", "pipeline.json"]
        command += ["--classes", ",".join(CLASSES), "--state", "state", "--events", "events"]
        command += ["--every", "0.05s", "--line-number", "n", "--max-jump", f"{MAX_JUMP:.0f}s"]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room or 0, room or 0))

        with (self.folder / "messages").open("wb") as messages:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                preexec_fn=None if room is None else limit,
            )

    def feed(self, process: Any, lines: Iterator[bytes], enough: Callable[[int], bool]) -> int:
        """Write lines in pieces of any size until there are enough, or nobody reads them."""
        count, pending = 0, b""
        while not enough(count):
            pending += next(lines)
            count += 1
            if len(pending) < self.rng.choice([1, 500, 5000, 50_000]):
                continue
            try:
                process.stdin.write(pending)
            except BrokenPipeError:
                return count
            pending = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(pending)
        return count

    def read(self, process: Any, slow: bool) -> threading.Thread:
        """Read all results in a thread; a slow reader takes little at a time."""

        def drain() -> None:
            while os.read(process.stdout.fileno(), 4096 if slow else 1 << 20):
                if slow:
                    time.sleep(2e-4)

        thread = threading.Thread(target=drain)
        thread.start()
        return thread

    def live(self, way: str) -> None:
        """Let one process live, until it ends in a way of ENDS."""
        files = [*self.folder.glob("events"), *self.folder.glob("state*")]
        size = max((path.stat().st_size for path in files), default=0)
        room = size + self.rng.randrange(40_000) if way == "full disk" else None
        process, amount = self.start(room), self.rng.randrange(500, 20_000)
        with process:
            reader = self.read(process, slow=self.rng.random() < 0.2)
            self.feed(process, self.lines(), lambda count: count >= amount)
            if way == "killed":
                process.kill()
            elif way == "terminated":
                process.terminate()
            process.stdin.close()
            process.wait()
            reader.join()
        self.ends[way] += 1
        messages = (self.folder / "messages").read_text(errors="replace")
        expected = {"killed": (-9,), "full disk": (0, 1, 3)}.get(way, (0, 3))
        if process.returncode not in expected or "Traceback" in messages:
            raise AssertionError(f"{way}: ended with {process.returncode}\n{messages[-2000:]}")
        if process.returncode == 1 and "events" not in messages and "state" not in messages:
            raise AssertionError(f"the message does not name the file\n{messages[-2000:]}")

    def last(self, enough: Callable[[int], bool], warm: Callable[[int], bool]) -> tuple[int, int]:
        """Let the last process run on to its end; return its memory when warm, and at the end."""
        process = self.start()
        with process:
            reader, lines = self.read(process, slow=False), self.lines()
            self.feed(process, lines, warm)
            before = resident(process.pid)
            self.feed(process, lines, enough)
            chunk, rest = self.furthest + 1, []
            for line in lines:  # to the end of a chunk
                if self.furthest >= chunk:
                    break
                rest.append(line)
            process.stdin.write(b"".join(rest) + b"".join(last_lines(chunk)))
            after = resident(process.pid)
            process.stdin.close()
            process.wait()
            reader.join()
        self.furthest = chunk
        return before, after


def any_way(rng: random.Random) -> str:
    """Draw a way to end, as often as ENDS says."""
    return rng.choices(list(ENDS), list(ENDS.values()))[0]


def resident(pid: int) -> int:
    """Return the memory of a process, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def soak(life: Life, ways: Iterable[str], count: Any) -> Soaked:
    """Let a process end in each of the ways, then live the last; compare the events."""
    for way in ways:
        life.live(way)
    before, after = life.last(*count)
    events = wanted(life.furthest, life.seed)
    found: dict[str, list[Any]] = {name: [] for name in events}
    numbers: dict[int, str] = {}
    wrong = 0
    for line in life.events.read_text().splitlines():
        e = json.loads(line)
        if e["event"] in numbers:
            wrong += numbers[e["event"]] != line
            continue
        numbers[e["event"]] = line
        found[e["stream"]].append((e["class"], e["start"], e["end"], e["probability"]))
    lost = twice = 0
    for name, expected in events.items():
        there, due = Counter(found[name]), Counter(expected)
        lost += sum((due - there).values())
        twice += sum(n - 1 for n in there.values())
        wrong += sum(e not in due for e in there)
    wrong += sum(number != i for i, number in enumerate(numbers, 1))
    total = sum(map(len, events.values()))
    lines = life.furthest * NUMBERED
    return Soaked(life.ends, lines, total, lost, twice, wrong, after - before, after)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.monotonic()

    def until(share: float) -> Callable[[int], bool]:
        return lambda count: time.monotonic() - start >= share * given.seconds

    with TemporaryDirectory() as folder:
        life = Life(Path(folder), given.seed, pause=0.05)
        soaked = soak(
            life,
            iter(lambda: None if until(0.6)(0) else any_way(life.rng), None),
            (until(0.95), lambda count: count >= 20_000 and until(0.7)(count)),
        )
    ends = ", ".join(f"{count} {way}" for way, count in soaked.ends.items())
    print(f"{sum(soaked.ends.values())} processes ended: {ends}")
    print(
        f"{soaked.lines:,} lines, {soaked.events:,} events: {soaked.lost} lost, {soaked.twice} "
        f"twice, {soaked.wrong} wrong"
    )
    print(
        f"memory of the last process: {soaked.resident / 2**20:.1f} MiB at its end, "
        f"{soaked.grown / 2**20:+.1f} MiB after warm-up (the limit is {ALLOWED >> 20} MiB)"
    )
    return int(bool(soaked.lost or soaked.twice or soaked.wrong or soaked.grown > ALLOWED))


if __name__ == "__main__":
    sys.exit(main())
