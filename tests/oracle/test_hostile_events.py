"""Hostile rows: trackers, tables and lines find the same events in what all of them take."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pandas as pd
import pytest

import classfilter as cf
from classfilter.engine import StoreFile
from classfilter.inputs import Heads
from classfilter.live import serve
from classfilter.live.streams import resume
from differences import part
from entry_points import PIPE, as_line, restarted, runs, table_columns, without_named_rows
from expected_rows import Taken, expected
from hostile_rows import CASES, CLASSES, MISSING, Case, Expire, Restart, Row

# Some rows have wrong clocks, and some are in milliseconds.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")

RULE = cf.EventRule(0.05, min_duration={"sit": 0.5}, max_gap=20.0, merge_gap=3.0, pad=(1.0, 0.5))
Found = list[cf.Event]


def pipe(case: Case) -> cf.Pipeline:
    return cf.Pipeline(case.fresh(), **PIPE, rule=RULE)


def wanted(case: Case) -> Found:
    """Return the events of what the rules for rows and plain filters make of a case."""
    result = expected(case)
    core = RULE.compiled(Heads.exclusive(CLASSES), case.fresh().probs.dtype)
    steps = [step for step in case.steps if not isinstance(step, Restart)]
    events = []
    for rows in result.parts or ():
        estimates = b"".join(result.steps[i].estimate for i in rows)
        probs = np.frombuffer(estimates, case.fresh().probs.dtype).reshape(-1, len(CLASSES))
        taken: list[Any] = [steps[i] for i in rows]
        stream, times = taken[0], np.array([row.time for row in taken])
        predicted = np.array([row.probs != MISSING for row in taken])
        probs = np.where(np.logical_or.accumulate(predicted)[:, None], probs, np.nan)
        state, *confirmed = core.run(core.start(), times, probs)
        for columns in (confirmed, core.finish(state)):
            events += [
                cf.Event(stream.stream, CLASSES[k], *rest)
                for k, *rest in zip(*(column.tolist() for column in columns[:4]), strict=True)
            ]
    return events


def finished(tracker: cf.Tracker) -> Found:
    tracker.drop(tracker.streams)
    return tracker.pop_events()


def tracker_update(case: Case, folder: Path) -> Found:
    tracker, events = cf.Tracker(pipe(case), events=True, **case.limits), []
    for number, step in enumerate(case.steps):
        if isinstance(step, Restart):
            tracker = restarted(tracker, folder)
        elif isinstance(step, Expire):
            tracker.expire(step.now)
        else:
            with suppress(ValueError):
                tracker.update(step.stream, step.time, step.source, step.probs)
            if number % 3 == 0:
                events += tracker.pop_events()
    return events + finished(tracker)


def tracker_update_many(case: Case, folder: Path) -> Found:
    tracker = cf.Tracker(pipe(case), events=True, **case.limits)
    waiting: list[Row] = []

    def call(rows: list[Row]) -> Iterable[Taken]:
        streams, times, sources, probs = zip(
            *((row.stream, row.time, row.source, row.probs) for row in rows), strict=True
        )
        tracker.update_many(list(streams), list(times), list(sources), list(probs))
        return [Taken(b"")] * len(rows)

    number = 0
    for step in case.steps:
        if isinstance(step, Row):
            waiting.append(step)
            number += 1
        if not isinstance(step, Row) or number % case.calls == 0:
            without_named_rows(call, waiting)
            waiting.clear()
        if isinstance(step, Restart):
            tracker = restarted(tracker, folder)
        elif isinstance(step, Expire):
            tracker.expire(step.now)
    without_named_rows(call, waiting)
    return finished(tracker)


def table(case: Case, folder: Path) -> Found:
    found: Found = []

    def call(rows: list[Row]) -> Iterable[Taken]:
        columns = table_columns(case, rows)
        numbers = [name for name in columns if name == "time" or name.startswith("p_")]
        df = pd.DataFrame(
            {
                name: pd.Series(cells, dtype="float64" if name in numbers else object)
                for name, cells in columns.items()
            }
        )
        found[:] = cf.Events.from_table(cf.events(df, pipe(case)))
        return [Taken(b"")] * len(rows)

    without_named_rows(call, case.rows)
    return found


def lines(state: bool, **options: Any) -> Callable[[Case, Path], Found]:
    """Return the entry point of lines; with a state, what it holds at the end is finished."""

    def run(case: Case, folder: Path) -> Found:
        path, file = folder / "state", folder / "events"
        number = 0
        for rows in runs(case, state):
            sent = [as_line(case, n, row) for n, row in enumerate(rows, number)]
            number += len(rows)
            with TemporaryFile() as source, TemporaryFile() as sink:
                source.write("".join(json.dumps(line) + "\n" for line in sent).encode())
                source.seek(0)
                serve(
                    lambda names: pipe(case),
                    source=source.fileno(),
                    sink=sink.fileno(),
                    errors=io.StringIO(),
                    every=1000.0,
                    state=path if state else None,
                    events=file,
                    **options,
                    **case.limits,
                )
        found = [json.loads(line) for line in file.read_text().splitlines()]
        assert [event["event"] for event in found] == list(range(1, len(found) + 1))
        keys = ("stream", "class", "start", "end", "probability")
        events = [cf.Event(*(event[key] for key in keys)) for event in found]
        if path.exists():
            events += finished(
                resume(
                    lambda names: pipe(case), StoreFile(path, "lines", write=False), **case.limits
                ).tracker
            )
        return events

    return run


ENTRY_POINTS: dict[str, Callable[[Case, Path], Found]] = {
    "Tracker.update": tracker_update,
    "Tracker.update_many": tracker_update_many,
    "filter_table": table,
    "stream": lines(state=False),
    "stream --state": lines(state=True),
    "stream --line-number": lines(state=True, line_number="n"),
}


def by_stream(events: Found) -> dict[Any, Found]:
    return {name: [e for e in events if e.stream == name] for name in {e.stream for e in events}}


SLOW = ("filter_table", "stream", "stream --line-number")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ENTRY_POINTS],
)
def test_all_find_the_same_events(name: str, tmp_path: Path) -> None:
    count = 0
    for i, case in enumerate(CASES):
        applies, folder = part(case, name), tmp_path / str(i)
        folder.mkdir()
        events = wanted(applies)
        assert by_stream(ENTRY_POINTS[name](applies, folder)) == by_stream(events), case.name
        count += len(events)
    assert count > 100
