"""The data and the picture of the README's first example: ``python -m examples.first``.

It writes ``examples/predictions.csv``, simulated predictions in the columns that every table has,
and ``docs/first.png``, the predicted classes of one stream before and after the filter.
"""

from __future__ import annotations

from pathlib import Path

import classfilter as cf

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "examples/predictions.csv"
PICTURE = ROOT / "docs/first.png"
STREAMS = {"ann": 0, "bob": 1, "cas": 2, "dee": 3}
"""Names and seeds."""
MINUTES = slice(20, 60)
"""The minutes that the picture shows."""


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


def draw(table: Path, picture: Path) -> None:
    """Tune on all streams, and draw one of them before and after the filter."""
    recordings = cf.recordings(cf.read_table(table))
    tuned = cf.tune(recordings, reference="strong")
    rec = recordings["dee"]
    part = slice(MINUTES.start * 12, MINUTES.stop * 12)
    lanes = {"Before": rec.probs[part], "After": tuned.run(rec)[part]}
    truth = None if rec.label is None else rec.label[part]
    figure = cf.plot.timeline(rec.time[part], truth, lanes, rec.classes)
    figure.set_size_inches(9.0, 2.2)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    write_predictions(TABLE)
    draw(TABLE, PICTURE)
    print(f"{TABLE.relative_to(ROOT)}, {PICTURE.relative_to(ROOT)}")
