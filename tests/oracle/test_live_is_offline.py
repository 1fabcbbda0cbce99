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
from classfilter.engine import StoreFile
from classfilter.live import serve
from classfilter.live.streams import resume
from entry_points import restarted
from label_event_cases import random_labels
from live_event_cases import Events, Row, ended, random_live, take, update_many

# Some random rows stand twice, or have steps that do not fit the filter.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")

Chunks = list[list[Row]]
seeds = st.integers(0, 2**32 - 1)
lags = st.sampled_from([None, 1, 5])


def case(seed: int, labels: bool, lag: int | None) -> tuple[cf.Pipeline, list[Row]]:
    """Return a pipeline with a rule, and rows of several streams whose names are text."""
    live = random_labels(seed, 120) if labels else random_live(seed)
    rows = [row._replace(stream=str(row.stream)) for row in live.rows]
    if lag is None:
        return live.pipe, rows
    two, names, rule = cf.StickyFilter(2, stay=0.5 ** (1 / 4)), live.pipe.classes, live.pipe.rule
    f = cf.MultiLabelFilter(names, two) if labels else cf.StickyFilter(names, stay=0.5 ** (1 / 4))
    smoother = cf.Pipeline(f, beta=live.pipe.beta, rule=rule)
    return cf.Pipeline(live.pipe.filter, beta=smoother.beta, smoother=smoother, rule=rule), rows


def offline(pipe: cf.Pipeline, rows: list[Row], lag: int | None) -> Events:
    """Return the events of one table of all rows."""
    columns: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(Row._fields)}
    names = enumerate(pipe.classes)
    columns |= {f"p_{name}": [row.probs[k] for row in rows] for k, name in names}
    del columns["probs"]
    how: dict[str, Any] = {} if lag is None else {"smooth": True, "lag": lag}
    found: Events = {}
    take(found, cf.Events.from_table(cf.events(pl.DataFrame(columns), pipe, **how)))
    return found


def by_tracker(pipe: cf.Pipeline, chunks: Chunks, lag: int | None, folder: Path) -> Events:
    """Give a tracker rows by one call or by several; after each chunk, it is saved and loaded."""
    tracker = cf.Tracker(pipe, events=True, lag=lag)
    found: Events = {}
    for number, rows in enumerate(chunks):
        if number % 2:
            update_many(tracker, rows)
        for row in rows if number % 2 == 0 else ():
            tracker.update(*row)
            take(found, tracker.pop_events())
        tracker = restarted(tracker, folder)
    return ended(tracker, found)


def by_lines(pipe: cf.Pipeline, chunks: Chunks, lag: int | None, folder: Path) -> Events:
    """Give the lines of each chunk to another process of ``stream --events``, with one state."""
    state, file = folder / "state", folder / "events"
    numbers = iter(range(sum(map(len, chunks))))
    for rows in chunks:
        with TemporaryFile() as source, TemporaryFile() as sink:
            source.write(b"".join(as_line(pipe, next(numbers), row) for row in rows))
            source.seek(0)
            serve(
                lambda names: pipe, source=source.fileno(), sink=sink.fileno(), state=state,
                errors=io.StringIO(), events=file, lag=lag, line_number="n",
            )  # fmt: skip
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    keys = ("stream", "class", "start", "end", "probability")
    found: Events = {}
    take(found, (cf.Event(*(line[key] for key in keys)) for line in lines))
    return ended(
        resume(lambda names: pipe, StoreFile(state, "lines", write=False), lag=lag).tracker, found
    )


def as_line(pipe: cf.Pipeline, number: int, row: Row) -> bytes:
    line = {"n": number, "time": row.time, "stream": row.stream, "source": row.source}
    probs = zip(pipe.classes, row.probs, strict=True)
    line |= {f"p_{name}": None if math.isnan(p) else p for name, p in probs}
    return json.dumps(line).encode() + b"\n"


def cut(rows: list[Row], cuts: list[int]) -> Iterator[list[Row]]:
    ends = [0, *sorted(cuts), len(rows)]
    return (rows[a:b] for a, b in pairwise(ends) if b > a)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("live", [by_tracker, by_lines])
@given(seed=seeds, lag=lags, cuts=st.lists(st.integers(0, 120), max_size=6))
def test_live_events_are_those_of_the_whole_table(
    live: Callable[[cf.Pipeline, Chunks, int | None, Path], Events],
    labels: bool,
    seed: int,
    lag: int | None,
    cuts: list[int],
) -> None:
    """To the bit, in any chunking, with a restart after each chunk."""
    pipe, rows = case(seed, labels, lag)
    with TemporaryDirectory() as folder:
        found = live(pipe, [*cut(rows, cuts)], lag, Path(folder))
    wanted = offline(pipe, rows, lag)
    if labels:  # offline they come by their start, live by their end
        found, wanted = ({k: sorted(x) for k, x in several.items()} for several in (found, wanted))
    assert found == wanted
