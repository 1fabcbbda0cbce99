"""One engine: however rows come, estimates and events are those of one table, to the bit."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import StoreFile
from classfilter.inputs import TableFormat
from classfilter.live import serve
from classfilter.live.streams import resume
from entry_points import restarted
from label_event_cases import random_labels, random_lagged_labels
from live_event_cases import BETA, Live, Row, random_lagged, random_live

# Some random rows stand twice, some streams have no prediction, and some steps fit no filter.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")

HEADS = {"activity": ["walk", "sit", "run"], "robin": None}
KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "numbers": ("float64", float),
    "dates": ("datetime64[us]", lambda cell: cell.item()),
    "spans": ("timedelta64[us]", lambda cell: cell.item()),
    "nanoseconds": ("datetime64[ns]", pd.Timestamp),
}
"""How times are given: a column, and one of its cells."""


def random_heads(seed: int, rows: int, **limits: Any) -> Live:
    """Return rows of a head of three classes and one of a label, in single precision."""
    rng = np.random.default_rng(seed)
    activity = cf.StickyFilter(3, stay=0.5 ** (1 / 4), dtype="float32")
    robin = cf.DirichletFilter(2, half_life=4.0, dtype="float32")
    f = cf.MultiLabelFilter(HEADS, {"activity": activity, "robin": robin})
    rule = cf.EventRule(0.5, min_duration=float(rng.choice([0.0, 2.0])), pad=(1.0, 0.0))
    live = random_live(seed, rows, **limits)
    probs = np.column_stack([rng.dirichlet([0.5] * 3, rows), rng.random(rows)])
    probs[rng.random(rows) < 0.2, :3] = np.nan
    probs[rng.random(rows) < 0.2, 3] = np.nan
    sure = rng.random(rows) < 0.2  # of which the filter takes its floor
    probs[sure] = np.column_stack(
        [np.eye(3)[rng.integers(3, size=rows)], rng.integers(2, size=rows)]
    )[sure]
    taken = zip(live.rows, probs.tolist(), strict=True)
    return Live(
        cf.Pipeline(f, beta=BETA, rule=rule), [r._replace(probs=p) for r, p in taken], limits
    )


def random_lagged_heads(seed: int, rows: int, **limits: Any) -> Live:
    """Return the same, smoothed; weights are small, so that events span predictions of 0."""
    live, rng = random_heads(seed, rows, **limits), np.random.default_rng(seed)
    beta: Any = {"weak": {"activity": 0.3, "robin": 0.6}, "strong": 0.4}
    channel: Any = {"activity": cf.Channel(np.eye(3) * 6 + 1), "robin": None}
    channels = {"weak": channel} if rng.random() < 0.5 else None
    pipe = cf.Pipeline(live.pipe.filter, beta=beta, channel=channels, rule=live.pipe.rule)
    return live._replace(pipe=pipe, lag=int(rng.choice([1, 3, 12])))


class Case(NamedTuple):
    """Rows in order of time, as they are given: the times as a column, each cell as it is live."""

    live: Live
    time: Any
    rows: list[Row]
    parts: list[str]
    """The stream of each row, and how often it has begun anew."""
    cuts: list[int]

    def column(self, name: str) -> list[Any]:
        return [getattr(row, name) for row in self.rows]

    @property
    def chunks(self) -> list[slice]:
        return [slice(*ends) for ends in pairwise([0, *sorted(self.cuts), len(self.rows)])]

    def frame(self) -> pl.DataFrame:
        probs = self.column("probs")
        columns = {"time": self.time, "stream": self.parts, "source": self.column("source")}
        if any(isinstance(p, str) for p in probs):
            return pl.DataFrame({**columns, "prediction": probs})
        cells = np.array([[math.nan] * len(self.names) if p is None else p for p in probs])
        scores = {f"p_{name}": pl.Series(cells[:, k]) for k, name in enumerate(self.names)}
        return pl.DataFrame(columns | {k: p.fill_nan(None) for k, p in scores.items()})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.live.pipe.heads.shown))


@st.composite
def cases(draw: st.DrawFn, kind: str) -> Case:
    make = draw(
        st.sampled_from(
            [
                random_live,
                random_lagged,
                random_labels,
                random_lagged_labels,
                random_heads,
                random_lagged_heads,
            ]
        )
    )
    limits = draw(st.sampled_from([{}, {"expire_after": 4.5}]))
    live = make(draw(st.integers(0, 2**32 - 1)), 40, **limits)
    dtype, cell = KINDS[kind]
    unit = 1 if kind == "nanoseconds" else 1000  # no step is a whole number of anything
    ns = np.array([round(row.time * 0.9987654321e9) // unit * unit for row in live.rows])
    time = ns / 1e9 if kind == "numbers" else ns.astype(dtype.replace("us", "ns")).astype(dtype)
    seconds = cf.rows(time=time, probs=[[0.5, 0.5]] * len(ns), classes=2).time.tolist()
    last: dict[str, float] = {}
    begun: dict[str, int] = {}
    rows, parts = [], []
    for row, at, given_time in zip(live.rows, seconds, time, strict=True):
        stream = str(row.stream)
        anew = at - last.get(stream, -math.inf) > limits.get("expire_after", math.inf)
        begun[stream] = begun.get(stream, 0) + (anew and stream in last)
        last[stream] = at
        parts.append(f"{stream}/{begun[stream]}")
        rows.append(row._replace(stream=stream, time=cell(given_time)))
    cuts = draw(st.lists(st.integers(0, len(rows)), max_size=4))
    return Case(live, time, rows, parts, cuts)


Events = list[tuple[Any, ...]]


def sorted_events(events: Any) -> Events:
    return sorted((e.stream.split("/")[0], *e[1:]) for e in events)


def numbers(table: Any, case: Case) -> bytes:
    dtype = case.live.pipe.filter.probs.dtype
    columns = [np.asarray(table[f"f_{name}"], np.float64) for name in case.names]
    return np.column_stack(columns).astype(dtype).tobytes()


def by_table(case: Case) -> tuple[bytes, Events]:
    """Return the estimates, and the events, of one table: each part of a stream is one there."""
    pipe, lag = case.live.pipe, case.live.lag
    how: dict[str, Any] = {} if lag is None else {"smooth": True, "lag": lag}
    scores = "probabilities" if pipe.heads.is_exclusive else "independent"
    classes: Any = HEADS if "robin" in pipe.heads.names[1:] else pipe.classes
    rows = cf.rows(
        time=case.time, stream=case.parts, source=case.column("source"),
        probs=case.column("probs"), classes=classes, scores=scores,
    )  # fmt: skip
    estimates = numbers(cf.filter_table(case.frame(), pipe), case)
    return estimates, sorted_events(cf.events(rows, pipe, **how))


def by_update(case: Case, folder: Path) -> tuple[bytes, Events]:
    """Give a tracker one row after the other; it is saved and loaded between chunks."""
    tracker, found, estimates = case.live.tracker(), list[Any](), []
    for chunk in case.chunks:
        for row in case.rows[chunk]:
            estimates.append(tracker.update(*row))
            found += tracker.pop_events()
        tracker = restarted(tracker, folder)
    tracker.drop(tracker.streams)
    return b"".join(p.tobytes() for p in estimates), sorted_events([*found, *tracker.pop_events()])


def by_update_many(case: Case, folder: Path) -> tuple[bytes, Events]:
    """Give a tracker whole chunks, as columns."""
    tracker, estimates = case.live.tracker(), []
    sources, probs = case.column("source"), case.column("probs")
    for chunk in case.chunks:
        streams = case.column("stream")[chunk]
        given_rows = streams, case.time[chunk], sources[chunk], probs[chunk]
        estimates.append(tracker.update_many(*given_rows))
        tracker = restarted(tracker, folder)
    tracker.drop(tracker.streams)
    return b"".join(P.tobytes() for P in estimates), sorted_events(tracker.pop_events())


def by_file(case: Case, folder: Path) -> tuple[bytes, None]:
    """Filter a file; smoothed, it has the bits of the table, too."""
    pipe, lag, path, out = (
        case.live.pipe,
        case.live.lag,
        folder / "a.parquet",
        folder / "b.parquet",
    )
    case.frame().write_parquet(path, row_group_size=7)
    if lag is not None:
        cf.filter_file(path, folder / "c.parquet", pipe, lag=lag)
        smooth = cf.smooth_table(case.frame(), pipe, lag=lag)
        assert numbers(pl.read_parquet(folder / "c.parquet"), case) == numbers(smooth, case)
    cf.filter_file(path, out, pipe)
    return numbers(pl.read_parquet(out), case), None


def by_lines(case: Case, folder: Path) -> tuple[bytes, Events]:
    """Give the lines of each chunk to another process of ``stream --events``, with one state."""
    pipe, state, file = case.live.pipe, folder / "state", folder / "events"
    if pipe.rule is None:
        pipe = replace(pipe, rule=pipe.smoothing.rule)
    out: list[dict[str, Any]] = []
    lines = case.frame().with_columns(
        stream=pl.Series(case.column("stream")), time=pl.Series([float(t) for t in case.time])
    )
    for chunk in case.chunks:
        with TemporaryFile() as source, TemporaryFile() as sink:
            source.write(lines[chunk].with_row_index("n", chunk.start).write_ndjson().encode())
            source.seek(0)
            serve(
                lambda names: pipe, TableFormat(pipe.heads), source=source.fileno(),
                sink=sink.fileno(), state=state, errors=io.StringIO(), events=file,
                lag=case.live.lag, line_number="n", **case.live.limits,
            )  # fmt: skip
            sink.seek(0)
            out += map(json.loads, sink)
    keys = ("stream", "class", "start", "end", "probability")
    told = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    found = [cf.Event(*(line[key] for key in keys)) for line in told]
    if state.exists():
        there = StoreFile(state, "lines", write=False)
        tracker = resume(lambda _: pipe, there, lag=case.live.lag, **case.live.limits).tracker
        tracker.drop(tracker.streams)
        found += tracker.pop_events()
    table = {f"f_{name}": [line[f"f_{name}"] for line in out] for name in case.names}
    return numbers(table, case), sorted_events(found)


WAYS: dict[str, Callable[[Case, Path], tuple[bytes, Events | None]]] = {
    "update": by_update,
    "update_many": by_update_many,
    "filter_file": by_file,
    "lines": by_lines,
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_same_bits(name: str, kind: str, data: st.DataObject) -> None:
    case = data.draw(cases("numbers" if name == "lines" else kind))
    with TemporaryDirectory() as folder:
        estimates, events = WAYS[name](case, Path(folder))
    wanted, wanted_events = by_table(case)
    assert estimates == wanted
    assert events is None or events == wanted_events


def test_a_score_of_0_in_single_precision() -> None:
    """The floor that takes its place has the same bits, live and in the table."""
    f = cf.MultiLabelFilter(["a", "b"], cf.StickyFilter(2, stay=0.5 ** (1 / 3), dtype="float32"))
    pipe = cf.Pipeline(f, beta={"w": 0.25, "s": 1.0}, rule=cf.EventRule(0.3))
    columns: dict[str, Any] = {"time": [1.0, 2.0, 3.0], "source": ["w", "w", "s"]}
    columns |= {"probs": [[0.7, 0.3], [0.7, 0.0], [0.9, 1.0]]}
    tracker = cf.Tracker(pipe, events=True, lag=2)
    tracker.update_many(["x"] * 3, *columns.values())
    tracker.drop(["x"])
    rows = cf.rows(**columns, stream=["x"] * 3, classes=["a", "b"], scores="independent")
    wanted = cf.events(rows, pipe, smooth=True, lag=2)
    assert sorted(tracker.pop_events()) == sorted(wanted)
