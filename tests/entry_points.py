"""Each entry point as a function of a case; its differences say which part of one it gets."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import classfilter as cf
from classfilter.live import serve
from differences import part
from expected_rows import Result, Taken, expected
from hostile_rows import BETA, CHANNEL, CLASSES, Case, Expire, Restart, Row

PIPE: dict[str, Any] = {"beta": BETA, "channel": CHANNEL}


Run = Callable[[Case, Path], Result]
"""Of a case and an empty folder."""


def tracker_update(case: Case, folder: Path) -> Result:
    tracker = cf.Tracker(case.fresh(), **PIPE, **case.limits)
    steps: list[Any] = []
    for step in case.steps:
        if isinstance(step, Restart):
            tracker = restarted(tracker, folder)
        elif isinstance(step, Expire):
            steps.append(tracker.expire(step.now))
        else:
            try:
                estimate = tracker.update(step.stream, step.time, step.source, step.probs)
                steps.append(Taken(estimate.tobytes(), tracker.label(step.stream)))
            except ValueError:
                steps.append(None)
    return Result(steps, tracker.streams)


def tracker_update_many(case: Case, folder: Path) -> Result:
    tracker = cf.Tracker(case.fresh(), **PIPE, **case.limits)
    steps: list[Any] = []
    waiting: list[Row] = []

    def call(rows: list[Row]) -> Iterable[Taken]:
        streams, times = [row.stream for row in rows], [row.time for row in rows]
        sources: Any = [row.source for row in rows]
        probs = [row.probs for row in rows]
        estimates = tracker.update_many(streams, times, sources, probs)
        return [Taken(estimate.tobytes()) for estimate in estimates]

    def end_call() -> None:
        steps.extend(without_named_rows(call, waiting))
        waiting.clear()

    number = 0
    for step in case.steps:
        if isinstance(step, Row):
            waiting.append(step)
            number += 1
        if not isinstance(step, Row) or number % case.calls == 0:
            end_call()
        if isinstance(step, Restart):
            tracker = restarted(tracker, folder)
        elif isinstance(step, Expire):
            steps.append(tracker.expire(step.now))
    end_call()
    return Result(steps, tracker.streams)


def restarted(tracker: cf.Tracker, folder: Path) -> cf.Tracker:
    tracker.save(folder / "tracker")
    return cf.Tracker.load(folder / "tracker")


def without_named_rows(
    call: Callable[[list[Row]], Iterable[Taken]], rows: Sequence[Row]
) -> list[Taken | None]:
    """Call with all rows; while an error names one, call again without it: that is refused."""
    left = dict(enumerate(rows))
    while left:
        try:
            taken = dict(zip(left, call([*left.values()]), strict=True))
            return [taken.get(number) for number in range(len(rows))]
        except ValueError as error:
            del left[list(left)[error.row]]  # type: ignore[attr-defined]
    return [None] * len(rows)


def table_columns(case: Case, rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the columns of a table: None where a cell is missing."""
    columns: dict[str, list[Any]] = {
        "time": [None if math.isnan(row.time) else row.time for row in rows],
        "stream": [row.stream for row in rows],
        "source": [row.source for row in rows],
    }
    for name in case.columns:
        k = CLASSES.index(name)
        cells = [math.nan if isinstance(row.probs, str) else row.probs[k] for row in rows]
        columns[f"p_{name}"] = [None if math.isnan(cell) else cell for cell in cells]
    labels = [row.probs if isinstance(row.probs, str) else None for row in rows]
    if any(isinstance(row.probs, str) for row in case.rows):
        columns["prediction"] = labels
    return columns


def table_results(case: Case, table: Iterable[Mapping[Any, Any]]) -> list[Taken]:
    """Return the results of rows by the names of their columns."""
    dtype = case.fresh().probs.dtype
    return [
        Taken(np.array([float(row[f"f_{c}"]) for c in CLASSES], dtype).tobytes(), row["class"])
        for row in table
    ]


def filter_table(case: Case, folder: Path) -> Result:
    def call(rows: list[Row]) -> list[Taken]:
        columns = table_columns(case, rows)
        numbers = [name for name in columns if name == "time" or name.startswith("p_")]
        df = pd.DataFrame({name: pd.Series(cells, dtype="float64" if name in numbers else object)
                           for name, cells in columns.items()})  # fmt: skip
        return table_results(case, cf.filter_table(df, case.fresh(), **PIPE).to_dict("records"))

    return Result(without_named_rows(call, case.rows))


def filter_file(ending: str) -> Run:
    """Return the entry point of one kind of file."""

    def run(case: Case, folder: Path) -> Result:
        path, out = folder / f"in.{ending}", folder / f"out.{ending}"

        def call(rows: list[Row]) -> list[Taken]:
            write(path, table_columns(case, rows))
            cf.filter_file(path, out, case.fresh(), **PIPE)
            return table_results(case, read(out))

        return Result(without_named_rows(call, case.rows))

    return run


def write(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    if path.suffix == ".parquet":
        kinds = {name: pl.Float64 for name in columns if name == "time" or name[:2] == "p_"}
        texts = {name: pl.String for name in columns if name not in kinds}
        pl.DataFrame(columns, schema_overrides={**kinds, **texts}).write_parquet(path)
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*columns])
            writer.writeheader()
            writer.writerows(rows)


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pl.read_parquet(path).to_dicts()
    with path.open(newline="") as file:
        return (
            [json.loads(x) for x in file] if path.suffix == ".ndjson" else [*csv.DictReader(file)]
        )


def as_line(case: Case, number: int, row: Row) -> dict[str, Any]:
    """Return a row as an object of NDJSON; without a source, or a class by name, keys are left out.

    The number tells lines apart that are the same otherwise.
    """
    line: dict[str, Any] = {"n": number, "time": None if math.isnan(row.time) else row.time}
    line["stream"] = row.stream
    if row.source is not None:
        line["source"] = row.source
    if isinstance(row.probs, str):
        return {**line, "prediction": row.probs}
    cells = {f"p_{name}": row.probs[CLASSES.index(name)] for name in case.columns}
    return {**line, **{key: None if math.isnan(p) else p for key, p in cells.items()}}


def lines(*, state: bool = False, line_number: str | None = None) -> Run:
    """Return the entry point of lines: `Restart` ends the program, and it starts again."""

    def run(case: Case, folder: Path) -> Result:
        more: dict[str, Any] = {"line_number": line_number}
        if state:
            more["state"] = folder / "state"
        steps: list[Taken | None] = []
        for rows in runs(case, state):
            numbered = enumerate(rows, len(steps))
            sent = [as_line(case, number, row) for number, row in numbered]
            steps += serve_lines(case, sent, **more)
        return Result(steps)

    return run


def runs(case: Case, restarts: bool) -> list[list[Row]]:
    """Return the rows between restarts."""
    parts: list[list[Row]] = [[]]
    for step in case.steps:
        if isinstance(step, Row):
            parts[-1].append(step)
        elif restarts:
            parts.append([])
    return parts


def serve_lines(case: Case, sent: list[dict[str, Any]], **more: Any) -> list[Taken | None]:
    messages = io.StringIO()
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write("".join(json.dumps(line) + "\n" for line in sent).encode())
        source.seek(0)
        served = serve(
            lambda names: cf.Pipeline(case.fresh(), **PIPE),
            source=source.fileno(),
            sink=sink.fileno(),
            errors=messages,
            every=1000.0,
            **more,
            **case.limits,
        )
        sink.seek(0)
        results = {row["n"]: row for row in map(json.loads, sink)}
    rejected = {int(number) for number in re.findall(r"(?m)^line (\d+): ", messages.getvalue())}
    refused = {place for place, line in enumerate(sent, 1) if line["n"] not in results}
    assert rejected <= refused, "a line was rejected, and has a result"
    assert len(refused) == served.rejected + served.skipped, "a line vanished without a message"
    taken = dict(zip(results, table_results(case, results.values()), strict=True))
    return [taken.get(line["n"]) for line in sent]


class Scripted:
    """A policy that calls the source of the next row."""

    source: str = "default"
    state = ()

    def choose(self, probs: Any, since: Any) -> str:
        return self.source

    def called(self, source: str, observation: Any, probs: Any, dt: float) -> None: ...

    def reset(self) -> None: ...

    def copy(self) -> Scripted:
        return self


def cascade(case: Case, folder: Path) -> Result:
    """One live loop for each stream; each source returns the prediction of the next row."""
    loops: dict[Any, cf.Cascade] = {}
    policy = Scripted()
    output: list[Any] = []

    def new_loop() -> cf.Cascade:
        sources: dict[str, Any] = {name: lambda window: output[-1] for name in BETA}
        return cf.Cascade(case.fresh(), sources, policy=policy, **PIPE)

    steps: list[Any] = []
    for step in case.steps:
        if isinstance(step, Restart):
            for stream, loop in loops.items():
                loop.save(folder / "cascade")
                loops[stream] = new_loop()
                loops[stream].load(folder / "cascade")
        elif isinstance(step, Row):
            loop = loops.setdefault(step.stream, new_loop())
            policy.source = step.source or "default"
            output.append(step.probs)
            try:
                result = loop.step([0.0], time=step.time)
                steps.append(Taken(result.probs.tobytes(), result.label))
            except ValueError:
                steps.append(None)
    return Result(steps)


ENTRY_POINTS: dict[str, list[Run]] = {
    "Tracker.update": [tracker_update],
    "Tracker.update_many": [tracker_update_many],
    "filter_table": [filter_table],
    "filter_file": [filter_file(ending) for ending in ("csv", "ndjson", "parquet")],
    "stream": [lines()],
    "stream --state": [lines(state=True)],
    "stream --line-number": [lines(state=True, line_number="n")],
    "Cascade": [cascade],
}
"""Those that need nothing else; by the names of `differences.OF`."""


def disagreement(name: str, case: Case) -> str | None:
    """Return where an entry point differs from the rules and plain filters; None if nowhere."""
    applies = part(case, name)
    wanted = expected(applies)
    for run in ENTRY_POINTS[name]:
        with TemporaryDirectory() as folder:
            try:
                same(run(applies, Path(folder)), wanted)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
    return None


def no_disagreement(differ: Mapping[str, str | None]) -> None:
    """Fail, and say who differs and where, if anybody does."""
    lines = [f"{name}: {why}" for name, why in differ.items() if why]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def same(result: Result, wanted: Result) -> None:
    """Compare to the bit; a class and streams that are not said are not compared."""
    assert len(result.steps) == len(wanted.steps), f"{len(result.steps)} steps"
    for number, (got, right) in enumerate(zip(result.steps, wanted.steps, strict=True)):
        if isinstance(got, Taken) and isinstance(right, Taken) and got.label is None:
            right = Taken(right.estimate)
        assert got == right, f"step {number}: {shown(got)}, but should be {shown(right)}"
    if result.streams is not None and wanted.streams is not None:
        streams = f"{result.streams} at the end, but should be {wanted.streams}"
        assert result.streams == wanted.streams, streams


def shown(step: Any) -> str:
    """Return a result as text; an estimate in numbers, although bits are compared."""
    if not isinstance(step, Taken):
        return "refused" if step is None else f"forgot {step}"
    single = len(step.estimate) == 4 * len(CLASSES)
    return f"{np.frombuffer(step.estimate, 'f4' if single else 'f8').tolist()} {step.label or ''}"
