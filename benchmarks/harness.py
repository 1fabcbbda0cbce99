"""The harness: time competitors in turn, take the minimum of each, print a table."""

import gc
import math
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Call = Callable[[], object]


def race(
    calls: Mapping[str, Call],
    seconds: float = 2.0,
    least: int = 5,
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, float]:
    """Time the calls in turn, over and over; return the minimum of each, in seconds.

    Parameters
    ----------
    calls : mapping of str to callable
        The competitors.
    seconds, least : float, int
        Go on for so long, and for so many rounds at least.
    clock : callable
        CPU time of this thread, which leaves out what other processes take; all that is timed
        with it must be single-threaded. For other work, ``time.perf_counter``.
    """
    best = dict.fromkeys(calls, math.inf)
    end, rounds = time.perf_counter() + seconds, 0
    gc.disable()
    try:
        while rounds < least or time.perf_counter() < end:
            for name, call in calls.items():
                start = clock()
                call()
                best[name] = min(best[name], clock() - start)
            rounds += 1
    finally:
        gc.enable()
    return best


def report(title: str, times: Mapping[str, float], goals: Mapping[str, str]) -> None:
    """Print a table of times in seconds, their ratios to the first, and the goals."""
    peer = next(iter(times.values()))
    print(f"\n{title:56}{'time':>10}{'ratio':>14}   goal")
    for name, seconds in times.items():
        row = f"  {name:54}{with_unit(seconds):>10}{as_ratio(seconds / peer):>14}   "
        print((row + goals.get(name, "")).rstrip(), flush=True)


def with_unit(seconds: float) -> str:
    """Return a time with its unit: 0.0123 is ``12.3 ms``."""
    unit, size = "ns", 1e-9
    for larger, larger_size in (("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if abs(seconds) >= larger_size:
            unit, size = larger, larger_size
    number = seconds / size
    digits = 0 if unit == "ns" or abs(number) >= 100 else 1 if abs(number) >= 10 else 2
    return f"{number:.{digits}f} {unit}"


def as_ratio(ratio: float) -> str:
    """Return a ratio, tiny ones as a fraction: 1e-3 is ``1 / 1,000``."""
    return f"{ratio:.2f}" if ratio >= 0.01 else f"1 / {1 / ratio:,.0f}"


def machine() -> str:
    """Return the processor's model and the system."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
