"""Several labels at once, through every entry point: the bits of each label's own filter."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.inputs import TableFormat
from classfilter.live import serve
from entry_points import Scripted

# Some random rows stand twice.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")

LABELS = ("robin", "wren", "tit")
CHANNEL = cf.Channel([[0.8, 0.2], [0.3, 0.7]])
OTHER = cf.Channel([[0.9, 0.1], [0.4, 0.6]])
BETA: Any = {"far": {"robin": 0.25, "wren": 0.75, "tit": 0.0}, "near": 1.0}
PLAIN = cf.StickyFilter(2, stay=0.5 ** (1 / 8))
PIPES = {
    "all of it, in single precision": cf.Pipeline(
        cf.MultiLabelFilter(
            LABELS,
            {
                "robin": cf.StickyFilter(2, stay=0.5 ** (1 / 8), temperature=1.4, dtype=np.float32),
                "wren": cf.DirichletFilter(2, half_life=4.0, dtype=np.float32),
                "tit": cf.DirichletFilter(2, half_life=4.0, estimate="mean", dtype=np.float32),
            },
        ),
        beta=BETA,
        channel={"far": {"robin": CHANNEL, "wren": None, "tit": OTHER}},
    ),
    "plain": cf.Pipeline(cf.MultiLabelFilter(LABELS, PLAIN)),
    "weights": cf.Pipeline(cf.MultiLabelFilter(LABELS, PLAIN), beta=BETA),
}


class Row(NamedTuple):
    """A row: NaN is a label that was not observed."""

    stream: str
    time: float
    source: str
    scores: list[float]


Estimates = list[list[float]]
Entry = Callable[[list[Row], cf.Pipeline, Path], tuple[Estimates, Any]]
"""Returns the estimates of rows, and the labels that are on in each, or None."""


def some_rows(seed: int, count: int = 24, ties: bool = True) -> list[Row]:
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((count, 3)) < 0.2, rng.integers(0, 2, (count, 3)), rng.random())
    scores = np.where(rng.random((count, 3)) < 0.6, rng.random((count, 3)), scores)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    scores[rng.random(count) < 0.1] = np.nan
    steps = rng.choice([0.0, 1.0, 3.5, 7.0] if ties else [1.0, 3.5], count)
    names, sources = rng.choice(["a", "b"], count), rng.choice(["near", "far"], count)
    cells = zip(names, steps.cumsum(), sources, scores, strict=True)
    return [Row(str(n), float(t), str(s), row.tolist()) for n, t, s, row in cells]


def by_stream(rows: list[Row]) -> Iterator[tuple[str, list[int]]]:
    for name in sorted({row.stream for row in rows}):
        yield name, [i for i, row in enumerate(rows) if row.stream == name]


def lanes(rows: list[Row], pipe: cf.Pipeline) -> Estimates:
    """Return what is right: each label through its pipeline of two classes, off and on."""
    found = [[np.nan] * len(LABELS) for _ in rows]
    for k, label in enumerate(LABELS):
        tracker = cf.Tracker(pipe.head(label))
        for i, row in enumerate(rows):
            s = np.array(row.scores[k], pipe.filter.dtype)
            two = [float(1 - s), float(s)]
            found[i][k] = float(tracker.update(row.stream, row.time, row.source, two)[1])
    return found


def update(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    filters = {name: pipe.filter for name, _ in by_stream(rows)}
    last: dict[str, float] = {}
    found, on = [], []
    for row in rows:
        seen = pipe.observe(row.source, row.scores)
        dt = row.time - last.get(row.stream, row.time)
        last[row.stream] = row.time
        f = filters[row.stream]
        found.append(f.update(seen.probs, seen.beta, dt).tolist())
        on.append(list(f.label))
    return found, on


def run_of_rows(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    found: Estimates = [[]] * len(rows)
    for _, mine in by_stream(rows):
        columns = zip(*(rows[i][1:] for i in mine), strict=True)
        time, source, scores = map(list, columns)
        rec = cf.rows(time=time, source=source, probs=scores, classes=LABELS, scores="independent")
        for i, estimate in zip(mine, pipe.run(rec).tolist(), strict=True):
            found[i] = estimate
    return found, None


def bank(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    names = [name for name, _ in by_stream(rows)]
    states: Any = cf.Bank(pipe, streams=len(names))
    last: dict[str, float] = {}
    found = []
    for row in rows:
        dt = row.time - last.get(row.stream, row.time)
        last[row.stream] = row.time
        which = [names.index(row.stream)]
        estimates = states.update([row.scores], dt=dt, rows=which, source=row.source)
        found.append(estimates[0].tolist())
    return found, None


def tracker_update(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    tracker = cf.Tracker(pipe)
    found, on = [], []
    for i, row in enumerate(rows):
        if i == len(rows) // 2:
            tracker.save(folder / "tracker")
            tracker = cf.Tracker.load(folder / "tracker")
        found.append(tracker.update(row.stream, row.time, row.source, row.scores).tolist())
        on.append(list(tracker.label(row.stream)))
    return found, on


def tracker_update_many(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    tracker, found = cf.Tracker(pipe), []
    for part in (rows[:7], rows[7:]):
        found += tracker.update_many(*(list(x) for x in zip(*part, strict=True))).tolist()
    return found, None


def table(rows: list[Row]) -> pl.DataFrame:
    cells = np.array([row.scores for row in rows])
    scores = {f"p_{n}": pl.Series(cells[:, k]).fill_nan(None) for k, n in enumerate(LABELS)}
    keys = {"row": range(len(rows)), "time": [row.time for row in rows]}
    names = {"stream": [row.stream for row in rows], "source": [row.source for row in rows]}
    return pl.DataFrame({**keys, **names, **scores})


def results(df: Any) -> tuple[Estimates, Any]:
    found = [[float(row[f"f_{name}"]) for name in LABELS] for row in df]
    on = [row["labels"] for row in df]
    return found, [(x.split(",") if x else []) if isinstance(x or "", str) else x for x in on]


def filter_table(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    return results(cf.filter_table(cf.rows(table(rows), scores="independent"), pipe).to_dicts())


def filter_file(ending: str) -> Entry:
    def run(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
        path, out = folder / f"in.{ending}", folder / f"out.{ending}"
        cf.write_table(table(rows), path)
        cf.filter_file(path, out, pipe)
        if ending == "parquet":
            return results(pl.read_parquet(out).to_dicts())
        if ending == "ndjson":
            return results([json.loads(line) for line in out.read_text().splitlines()])
        return results(pl.read_csv(out, infer_schema=False).to_dicts())

    return run


def lines(*, state: bool) -> Entry:
    """Return the entry point of lines; with a file of states, it ends and goes on."""

    def run(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
        sent = [
            {k: v for k, v in row.items() if v is not None or k.startswith("p_")}
            for row in table(rows).to_dicts()
        ]
        half = len(sent) // 2
        out: list[Any] = []
        for part in (sent[:half], sent[half:]) if state else (sent,):
            messages = io.StringIO()
            with TemporaryFile() as source, TemporaryFile() as sink:
                source.write("".join(json.dumps(row) + "\n" for row in part).encode())
                source.seek(0)
                serve(
                    lambda _: pipe, TableFormat.of(None, scores="independent"),
                    source=source.fileno(), sink=sink.fileno(), errors=messages, every=1000.0,
                    state=folder / "state" if state else None,
                )  # fmt: skip
                sink.seek(0)
                out += map(json.loads, sink)
            assert not re.search("^line ", messages.getvalue(), re.MULTILINE)
        return results(out)

    return run


def cascade(rows: list[Row], pipe: cf.Pipeline, folder: Path) -> tuple[Estimates, Any]:
    policy, output = Scripted(), [rows[0].scores]
    sources: dict[str, Any] = {name: lambda window: output[-1] for name in ("near", "far")}
    loops = {name: cf.Cascade(pipe, sources, policy=policy) for name, _ in by_stream(rows)}
    found, on = [], []
    for row in rows:
        policy.source = row.source
        output.append(row.scores)
        step = loops[row.stream].step([0.0], time=row.time)
        found.append(step.probs.tolist())
        on.append(list(step.label))
    return found, on


ENTRY_POINTS: dict[str, Entry] = {
    "update": update,
    "run": run_of_rows,
    "Bank.update": bank,
    "Tracker.update": tracker_update,
    "Tracker.update_many": tracker_update_many,
    "filter_table": filter_table,
    **{f"filter_file, {x}": filter_file(x) for x in ("csv", "ndjson", "parquet")},
    "stream": lines(state=False),
    "stream --state": lines(state=True),
    "Cascade": cascade,
}


def check(rows: list[Row], pipe: cf.Pipeline, got: tuple[Estimates, Any]) -> None:
    estimates, on = got
    wanted = lanes(rows, pipe)
    dtype = pipe.filter.dtype
    assert np.array(estimates).astype(dtype).tobytes() == np.array(wanted, dtype).tobytes()
    if on is not None:
        assert on == [[n for n, p in zip(LABELS, row, strict=True) if p > 0.5] for row in wanted]


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ENTRY_POINTS)
@pytest.mark.parametrize("kind", PIPES)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_entry_point_has_the_bits_of_each_label(name: str, kind: str, seed: int) -> None:
    rows = some_rows(seed)
    with TemporaryDirectory() as folder:
        check(rows, PIPES[kind], ENTRY_POINTS[name](rows, PIPES[kind], Path(folder)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PIPES)
def test_spark_too(kind: str, spark: Any) -> None:
    rows = some_rows(5, 200, ties=False)
    frame = spark.createDataFrame(table(rows).to_arrow())
    out = pl.from_arrow(cf.spark.filter_frame(frame, PIPES[kind]).toArrow())
    assert isinstance(out, pl.DataFrame)
    check(rows, PIPES[kind], results(out.sort("row").to_dicts()))
