"""The promise of docs/events.md: live events are those of `cf.events`, however the rows come."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.live import serve
from classfilter.live._streams import resume
from entry_points import restarted
from live_event_cases import BETA, CLASSES, Events, Row, ended, random_live, take, update_many

Chunks = list[list[Row]]
seeds = st.integers(0, 2**32 - 1)
lags = st.sampled_from([None, 1, 5])


def case(seed: int, lag: int | None) -> tuple[cf.Chain, list[Row]]:
    """Return a chain with a rule, and rows of several streams whose names are text."""
    live = random_live(seed)
    rows = [row._replace(stream=str(row.stream)) for row in live.rows]
    if lag is None:
        return live.chain, rows
    rule = live.chain.rule
    smoother = cf.Chain(cf.StickyFilter(CLASSES, half_life=4.0), beta=BETA, rule=rule)
    return cf.Chain(live.chain.filter(), beta=BETA, smoother=smoother, rule=rule), rows


def offline(chain: cf.Chain, rows: list[Row], lag: int | None) -> Events:
    """Return the events of one table of all rows."""
    columns: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(Row._fields)}
    columns |= {f"p_{name}": [row.probs[k] for row in rows] for k, name in enumerate(CLASSES)}
    del columns["probs"]
    how: dict[str, Any] = {} if lag is None else {"smooth": True, "lag": lag}
    found: Events = {}
    take(found, cf.Events.from_table(cf.events(pl.DataFrame(columns), chain, **how)))
    return found


def by_tracker(chain: cf.Chain, chunks: Chunks, lag: int | None, folder: Path) -> Events:
    """Give a tracker rows by one call or by several; after each chunk, it is saved and loaded."""
    tracker = cf.Tracker(chain, events=True, lag=lag)
    found: Events = {}
    for number, rows in enumerate(chunks):
        if number % 2:
            update_many(tracker, rows)
        for row in rows if number % 2 == 0 else ():
            tracker.update(*row)
            take(found, tracker.pop_events())
        tracker = restarted(tracker, folder)
    return ended(tracker, found)


def by_lines(chain: cf.Chain, chunks: Chunks, lag: int | None, folder: Path) -> Events:
    """Give the lines of each chunk to another process of ``stream --events``, with one state."""
    state, file = folder / "state", folder / "events"
    numbers = iter(range(sum(map(len, chunks))))
    for rows in chunks:
        with TemporaryFile() as source, TemporaryFile() as sink:
            source.write(b"".join(as_line(next(numbers), row) for row in rows))
            source.seek(0)
            serve(
                lambda names: chain, source=source.fileno(), sink=sink.fileno(), state=state,
                errors=io.StringIO(), events=file, lag=lag, line_number="n",
            )  # fmt: skip
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    keys = ("stream", "class", "start", "end", "probability")
    found: Events = {}
    take(found, (cf.Event(*(line[key] for key in keys)) for line in lines))
    return ended(resume(lambda names: chain, state, lag=lag).tracker, found)


def as_line(number: int, row: Row) -> bytes:
    line = {"n": number, "time": row.time, "stream": row.stream, "source": row.source}
    probs = zip(CLASSES, row.probs, strict=True)
    line |= {f"p_{name}": None if math.isnan(p) else p for name, p in probs}
    return json.dumps(line).encode() + b"\n"


def cut(rows: list[Row], cuts: list[int]) -> Iterator[list[Row]]:
    ends = [0, *sorted(cuts), len(rows)]
    return (rows[a:b] for a, b in pairwise(ends) if b > a)


@pytest.mark.parametrize("live", [by_tracker, by_lines])
@given(seed=seeds, lag=lags, cuts=st.lists(st.integers(0, 120), max_size=6))
def test_live_events_are_those_of_the_whole_table(
    live: Callable[[cf.Chain, Chunks, int | None, Path], Events],
    seed: int,
    lag: int | None,
    cuts: list[int],
) -> None:
    """To the bit, in any chunking, with a restart after each chunk."""
    chain, rows = case(seed, lag)
    with TemporaryDirectory() as folder:
        found = live(chain, [*cut(rows, cuts)], lag, Path(folder))
    assert found == offline(chain, rows, lag)
