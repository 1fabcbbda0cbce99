"""Many stream names in ``classfilter stream --state``: ``python -m benchmarks.streams 1000000``.

Memory per stream (K = 6, with a name of 11 characters), the file, and the processor time to save
and to restart. The goals are 300 bytes, and 10 s for a million streams.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from .harness import machine

PROBS = {"a": 0.5, "b": 0.1, "c": 0.1, "d": 0.1, "e": 0.1, "f": 0.1}
LINE = '{"time": 0, "stream": "user%07d"' + "".join(f', "p_{k}": {p}' for k, p in PROBS.items())
SERVE = """
import os, sys, time
from pathlib import Path
from classfilter import Pipeline, DirichletFilter
from classfilter.live import serve
from classfilter.live.streams import LiveStreams
from benchmarks.streams import resident

state, limits = Path(sys.argv[1]), eval(sys.argv[2])
source, sink = os.open(sys.argv[3], os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
os.set_blocking(source, True)
held, saves, save = [], [], LiveStreams.save_all
def timed(streams, before):
    if streams.wait() is None:
        return
    held.append(resident())
    start = time.process_time()
    save(streams, before)
    saves.append(time.process_time() - start)
    held.append(resident())
LiveStreams.save_all = timed
before, start = resident(), time.process_time()
make_pipe = lambda classes: Pipeline(DirichletFilter(classes))
serve(make_pipe, source=source, sink=sink, state=state, every=1e9, **limits)
held = held or [before] * 2
print(held[-2] - before, held[-1] - before, sum(saves), time.process_time() - start)
"""


def resident() -> int:
    """Return the memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def serve(state: Path, limits: dict[str, float], lines: Path) -> list[float]:
    command = [sys.executable, "-c", SERVE, str(state), repr(limits), str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main(count: int = 1_000_000) -> None:
    print(f"{count:,} streams, K = 6; memory as the system sees it")
    with TemporaryDirectory() as folder:
        lines, empty = Path(folder, "lines"), Path(folder, "empty")
        with lines.open("w") as file:
            file.writelines(f"{LINE % i}}}\n" for i in range(count))
        empty.touch()
        for name, limits in (("no limit", {}), ("--expire-after", {"expire_after": 1e9})):
            state = Path(folder, f"state {len(limits)}")
            memory, saving, save, _ = serve(state, limits, lines)
            *_, restart = serve(state, limits, empty)
            sizes = [memory, saving, state.stat().st_size]
            per_stream = [f"{size / count:.0f}" for size in sizes]
            print(
                f"  {name:16} bytes per stream: {per_stream[0]}, once saved {per_stream[1]}, "
                f"in the file {per_stream[2]}; processor time: saved in {save:.1f} s, "
                f"restarted in {restart:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    print(machine())
    main(*map(int, sys.argv[1:]))
