"""Memory over many lines: ``python tests/endless.py 10000000``.

``classfilter stream --state`` gets streams that come and go, sources, labels, missing and invalid
lines. Its memory is read at twenty places; after the first two it must not grow.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PLACES = 20
ALLOWED = 4 << 20
"""Bytes that memory may grow: allocators keep a little in reserve."""
OPTIONS = ("--half-life", "60s", "--expire-after", "500s", "--classes", "a,b,c", "--every", "5s")
BODIES = (
    '"p_a":0.7,"p_b":0.2,"p_c":0.1',
    '"p_a":0.1,"p_b":0.3,"p_c":0.6,"source":"weak"',
    '"p_a":null,"p_b":null,"p_c":null',
    '"prediction":"b","confidence":0.8',
    '"p_a":0.7,"p_b":0.2',  # invalid
    '"p_a":0.5,"p_b":0.4,"p_c":0.1,"note":"x{n}"',
)


def line(n: int) -> str:
    """Return line n: of one of 50 streams, others every 1000 lines."""
    body = BODIES[n * 7 % len(BODIES)].replace("{n}", str(n % 1000))
    return f'{{"time":{n // 50},"stream":"s{n // 1000 * 25 + n * 13 % 50}",{body}}}\n'


def resident(pid: int) -> int:
    """Return the memory of a process, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory(count: int, folder: Path) -> list[int]:
    """Return the memory at each place."""
    command = [sys.executable, "-m", "classfilter", "stream", *OPTIONS, "--state", "state"]
    held = []
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        results = process.stdout.fileno()

        def read() -> None:
            while os.read(results, 1 << 20):
                pass

        reader = threading.Thread(target=read)
        reader.start()
        numbers: Any = iter(range(count))
        for _ in range(PLACES):
            for _ in range(count // PLACES // 1000):
                process.stdin.write("".join(map(line, islice(numbers, 1000))).encode())
            process.stdin.flush()
            held.append(resident(process.pid))
        process.stdin.close()
        reader.join()
        assert process.wait() == 3  # with rejected lines
    return held


def main(count: int = 10_000_000) -> int:
    """Print the memory at each place; return by how much it has grown."""
    with TemporaryDirectory() as folder:
        held = memory(count, Path(folder))
    print(f"{count:,} lines; MB: {', '.join(f'{size / 1e6:.1f}' for size in held)}")
    return max(held[2:]) - max(held[:2])


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > ALLOWED)
