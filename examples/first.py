"""The data and the pictures of the README's first example: ``python -m examples.first``.

It writes ``examples/predictions.csv``, simulated predictions in the columns that every table has;
``docs/first.png``, one stream before and after the filter, and its events; and ``docs/events.png``,
the same with events at three costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import classfilter as cf

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "examples/predictions.csv"
FIRST = ROOT / "docs/first.png"
EVENTS = ROOT / "docs/events.png"
STREAMS = {"ann": 0, "bob": 1, "cas": 2, "dee": 3}
"""Names and seeds."""
STREAM, MINUTES = "ann", slice(40, 80)
"""What the pictures show."""
COST = 20
"""Seconds: that of the README."""
COSTS = (5, COST, 60)


def write_predictions(path: Path) -> None:
    """Write 90 minutes of four people: a weak classifier every 5 s, a strong one every minute."""
    import polars as pl

    tables = []
    for name, seed in STREAMS.items():
        day = cf.simulate(
            classes=["sit", "walk", "cycle", "run"], hours=1.5, seed=seed,
            weak=0.65, strong=0.9, error_time=60.0, shared=0.3,
        )  # fmt: skip
        table = day.recording().to_table()
        tables.append(table.insert_column(1, pl.Series("stream", [name] * table.height)))
    rounded = pl.concat(tables).with_columns(pl.col("^p_.*$").round(3))
    cf.write_table(rounded, path)


def draw(table: Path, first: Path, events: Path) -> None:
    """Tune on all streams, and draw one of them: raw, filtered, and as events."""
    recordings = cf.recordings(cf.read_table(table))
    tuned = cf.tune(recordings, reference="strong")
    rec = recordings[STREAM]
    write_timeline(first, rec, tuned, ("Before", "After"), {"Events": COST})
    lanes = {f"Events, {cost} s": cost for cost in COSTS}
    write_timeline(events, rec, tuned, ("Raw", "Filtered"), lanes)


def write_timeline(
    path: Path, rec: cf.Recording, tuned: cf.Tuned, rows: tuple[str, str], costs: dict[str, int]
) -> None:
    """Draw the labels of a stream, its rows before and after the filter, and events by cost."""
    before, after = rows
    part = slice(MINUTES.start * 12, MINUTES.stop * 12)
    lanes: dict[str, Any] = {before: rec.probs[part], after: tuned.run(rec)[part]}
    lanes |= {name: cf.events(rec, tuned, cf.EventRule(cost)) for name, cost in costs.items()}
    truth = None if rec.label is None else rec.label[part]
    figure = cf.plot.timeline(rec.time[part], truth, lanes, rec.classes)
    figure.set_size_inches(9.0, 1.0 + 0.4 * (1 + len(lanes)))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    write_predictions(TABLE)
    draw(TABLE, FIRST, EVENTS)
    print(*(path.relative_to(ROOT) for path in (TABLE, FIRST, EVENTS)), sep=", ")
