"""Many live streams, against a dict of filters: ``python -m benchmarks.tracker``.

The rows of N streams come in turn, one at a time or a thousand at once, K = 6. The peer is a dict
of filters written by hand, with the time of each stream's last row: what one writes without
`Tracker`. It checks no time, drops no stream, and has no lock.
"""

import itertools
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import classfilter as cf

from .cases import example_stream
from .harness import machine, race, report

CLASSES = 6
ROWS = 1000
BETA = {"weak": 0.5, "strong": 1.0}


class Rows:
    """Rows of streams in turn, a thousand at a call; each time round, time goes on."""

    def __init__(self, streams: int) -> None:
        probs, strong = example_stream(ROWS, CLASSES)
        self.probs, self.sources = probs, ["strong" if s else "weak" for s in strong]
        self.names = [f"stream {i}" for i in range(streams)]
        self._numbers = itertools.count()

    def next(self) -> tuple[list[str], list[float]]:
        """Return the streams and times of the next rows."""
        numbers = list(itertools.islice(self._numbers, ROWS))
        count = len(self.names)
        return [self.names[i % count] for i in numbers], [5.0 * (i // count) for i in numbers]


def filters_by_hand(fresh: Any, rows: Rows) -> Callable[[], None]:
    """Return a loop over a dict of filters."""
    filters: dict[str, Any] = {}
    times: dict[str, float] = {}

    def work() -> None:
        for name, t, source, p in zip(*rows.next(), rows.sources, rows.probs, strict=True):
            f = filters.get(name)
            if f is None:
                f = filters[name] = fresh.copy()
                times[name] = t
            f.update(p, BETA[source], t - times[name])
            times[name] = t

    return work


def one_filter(fresh: Any, rows: Rows) -> Callable[[], None]:
    """Return a loop over `update` of a single filter."""
    f = fresh.copy()

    def work() -> None:
        for _, _, source, p in zip(*rows.next(), rows.sources, rows.probs, strict=True):
            f.update(p, BETA[source], 5.0)

    return work


def tracked(tracker: cf.Tracker, rows: Rows, batch: bool) -> Callable[[], None]:
    """Return a loop over `update` of a tracker, or one call of `update_many`."""

    def work() -> None:
        names, times = rows.next()
        if batch:
            tracker.update_many(names, times, rows.sources, rows.probs)
        else:
            for row in zip(names, times, rows.sources, rows.probs, strict=True):
                tracker.update(*row)

    return work


def speed(streams: int) -> None:
    fresh = cf.DirichletFilter(CLASSES, half_life=60.0)
    limits: dict[str, Any] = {"expire_after": 1e9, "max_streams": 10**9}
    work = {
        "DirichletFilter.update": one_filter(fresh, Rows(streams)),
        "a dict of filters": filters_by_hand(fresh, Rows(streams)),
        "Tracker.update": tracked(cf.Tracker(fresh, beta=BETA), Rows(streams), False),
        "Tracker.update, streams may expire": tracked(
            cf.Tracker(fresh, beta=BETA, **limits), Rows(streams), False
        ),
        "Tracker.update, events": tracked(
            cf.Tracker(fresh, beta=BETA, events=cf.EventRule("30s")), Rows(streams), False
        ),
        "Tracker.update_many, 1000 rows": tracked(
            cf.Tracker(fresh, beta=BETA), Rows(streams), True
        ),
    }
    for call in work.values():  # all streams begin before the clock does
        for _ in range(-(-streams // ROWS)):
            call()
    times = {name: best / ROWS for name, best in race(work).items()}
    rates = {f"{name}, {1 / t:,.0f}/s": t for name, t in times.items()}
    goals = {
        name: f"{times['DirichletFilter.update'] * 1e6 + 2:.1f} µs"
        for name in rates
        if name.startswith("Tracker.update,")
    }
    report(f"{streams:,} streams in turn, K = {CLASSES}, per row", rates, goals)


def lag(streams: int) -> None:
    """Print what a row costs whose events are decided twelve rows later."""
    sticky = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 60))

    def tracker(**options: Any) -> cf.Tracker:
        return cf.Tracker(sticky, beta=BETA, events=cf.EventRule("30s"), **options)

    work = {
        "Tracker.update, events": tracked(tracker(), Rows(streams), False),
        "Tracker.update, events, lag=12": tracked(tracker(lag=12), Rows(streams), False),
        "Tracker.update_many, lag=12": tracked(tracker(lag=12), Rows(streams), True),
    }
    for call in work.values():  # all streams are longer than the lag before the clock begins
        for _ in range(-(-14 * streams // ROWS)):
            call()
    times = {name: best / ROWS for name, best in race(work).items()}
    goals = {"Tracker.update, events, lag=12": "30 µs"}
    report(f"{streams:,} streams in turn, sticky, K = {CLASSES}, per row", times, goals)


def memory(streams: int) -> None:
    """Print how many bytes a stream takes; its name is not counted."""
    fresh = cf.DirichletFilter(CLASSES, half_life=60.0)
    print(f"\nMemory per stream, {streams:,} streams, K = {CLASSES}")
    makers: dict[str, Callable[[Rows], Callable[[], None]]] = {
        "a dict of filters": lambda rows: filters_by_hand(fresh, rows),
        "Tracker": lambda rows: tracked(cf.Tracker(fresh, beta=BETA), rows, False),
        "Tracker, events": lambda rows: tracked(
            cf.Tracker(fresh, beta=BETA, events=cf.EventRule("30s")), rows, False
        ),
        "Tracker, streams may expire": lambda rows: tracked(
            cf.Tracker(fresh, beta=BETA, expire_after=1e9), rows, False
        ),
    }
    for name, make in makers.items():
        rows = Rows(streams)
        tracemalloc.start()
        work = make(rows)
        for _ in range(-(-streams // ROWS)):
            work()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        print(f"  {name:54}{size / streams:>8,.0f} bytes", flush=True)


def main(*streams: int) -> None:
    for count in streams or (1, 1000, 100_000):
        speed(count)
    for count in (1, 1000):
        lag(count)
    memory(10_000)


if __name__ == "__main__":
    print(machine())
    main(*map(int, sys.argv[1:]))
