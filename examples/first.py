"""The data and the pictures of the README's examples: ``python -m examples.first``.

It writes two tables of simulated predictions in the columns that every table has:
``examples/one_classifier.csv`` and, with a weak and a strong classifier,
``examples/predictions.csv``. And three pictures: ``docs/first.png``, a stream of the first table
before and after the filter, and its events; ``docs/events.png``, a stream of the second one, with
events at three costs; ``docs/demo.png``, the paper's figure on a simulated day.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import classfilter as cf
from classfilter import demo
from classfilter.simulate import Simulation

ROOT = Path(__file__).parents[1]
ONE = ROOT / "examples/one_classifier.csv"
TABLE = ROOT / "examples/predictions.csv"
FIRST = ROOT / "docs/first.png"
EVENTS = ROOT / "docs/events.png"
PAPER = ROOT / "docs/demo.png"
STREAMS = {"ann": 0, "bob": 1, "cas": 2, "dee": 3}
"""Names and seeds."""
STREAM, MINUTES = "ann", slice(40, 80)
"""What the pictures show."""
DURATION = "5min"
"""How long an event usually lasts, which the README tells `tune`."""
COSTS = (5, 20, 60)
"""Seconds."""


def write_one_classifier(path: Path) -> None:
    """Write 90 minutes of four people: one classifier, every 5 s."""
    tables = []
    for seed in STREAMS.values():
        day = _day(seed, weak=0.75, error_time=30.0)
        rec = cf.rows(
            time=day.time,
            source="weak",
            probs=day.probs["weak"],
            classes=day.classes,
            label=day.truth,
        )
        tables.append(rec.to_table().drop("source"))
    _write(tables, path)


def write_predictions(path: Path) -> None:
    """Write 90 minutes of four people: a weak classifier every 5 s, a strong one every minute."""
    days = [_day(seed, weak=0.65, error_time=60.0) for seed in STREAMS.values()]
    _write([day.rows().to_table() for day in days], path)


def draw_first(table: Path, path: Path) -> None:
    """Tune on all streams of one classifier, and draw one of them before and after."""
    recordings = cf.rows(cf.read_table(table)).by_stream()
    tuned = cf.tune(recordings, event_duration=DURATION)
    rec = recordings[STREAM]
    write_timeline(path, rec, tuned, ("Predicted", "Filtered"), {"Events": cf.events(rec, tuned)})


def draw_events(table: Path, path: Path) -> None:
    """Tune on all streams of two classifiers, and draw one of them with events by cost."""
    recordings = cf.rows(cf.read_table(table)).by_stream()
    tuned = cf.tune(recordings, reference="strong")
    rec = recordings[STREAM]
    events = {f"Events, {cost} s": cf.events(rec, tuned, cf.EventRule(cost)) for cost in COSTS}
    write_timeline(path, rec, tuned, ("Raw", "Filtered"), events)


def draw_paper(path: Path) -> None:
    """Draw 15 minutes of a day: the probability of the true class, and the class of each method."""
    from matplotlib.figure import Figure

    day = cf.simulate("capture24", seed=0)
    methods = demo.estimates(day, demo.tune_on_other_days())
    part = demo.flickering(methods["Raw"], day.truth, rows=15 * 12)
    shown = {name: p[part] for name, p in methods.items()}
    time, truth = day.time[part], day.truth[part]
    figure = Figure(figsize=(9.0, 6.6), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2.6), sharex=True)
    lines = {name: shown[name] for name in ("Simple", "Single", "Multiple")}
    strong = day.mixed()[0][part] == "strong"
    cf.plot.probabilities(time, truth, shown["Raw"], lines, strong=strong, ax=top)
    cf.plot.timeline(time, truth, shown, day.classes, ax=bottom)
    top.set_xlabel("")
    figure.savefig(path, dpi=150)


def write_timeline(
    path: Path, rec: cf.Rows, tuned: cf.Pipeline, rows: tuple[str, str], events: dict[str, Any]
) -> None:
    """Draw the labels of a stream, its rows before and after the filter, and lanes of events."""
    before, after = rows
    part = slice(MINUTES.start * 12, MINUTES.stop * 12)
    lanes: dict[str, Any] = {before: rec.probs[part], after: tuned.run(rec)[part], **events}
    truth = None if rec.label is None else rec.label[part]
    figure = cf.plot.timeline(rec.time[part], truth, lanes, rec.classes)
    figure.set_size_inches(9.0, 1.0 + 0.4 * (1 + len(lanes)))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _day(seed: int, weak: float, error_time: float) -> Simulation:
    return cf.simulate(
        classes=["sit", "walk", "cycle", "run"], hours=1.5, seed=seed,
        weak=weak, strong=0.9, error_time=error_time, shared=0.3,
    )  # fmt: skip


def _write(tables: list[Any], path: Path) -> None:
    import polars as pl

    for name, table in zip(STREAMS, tables, strict=True):
        table.insert_column(1, pl.Series("stream", [name] * table.height))
    cf.write_table(pl.concat(tables).with_columns(pl.col("^p_.*$").round(3)), path)


if __name__ == "__main__":
    write_one_classifier(ONE)
    write_predictions(TABLE)
    draw_first(ONE, FIRST)
    draw_events(TABLE, EVENTS)
    draw_paper(PAPER)
    print(*(path.relative_to(ROOT) for path in (ONE, TABLE, FIRST, EVENTS, PAPER)), sep=", ")
