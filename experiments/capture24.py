"""Capture-24: raw wrist accelerometer of 151 people, a day each, in its official layout.

`prepare` reads ``P001.csv.gz`` and so on, averages 100 Hz down to 20 Hz, and keeps the result as
memory maps: ``signal.npy``, ``label.npy`` and ``people.json``. The data are in the Oxford
University Research Archive, under the name "CAPTURE-24: Activity tracker dataset for human
activity recognition".
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .signals import PER_G, RATE, Signals

CLASSES = ("bicycling", "mixed", "sit-stand", "sleep", "vehicle", "walking")
DICTIONARY = "annotation-label-dictionary.csv"
COLUMN = "label:Willetts2018"
BIN = 1_000_000 // RATE
"""Microseconds of a sample."""
LONGEST_GAP = 24 * 3600 * RATE
"""Samples; a gap above a day is an error of the clock."""
COLUMNS = ("time", "x", "y", "z", "annotation")


def load(folder: Path) -> Signals:
    """Return what `prepare` kept, as memory maps."""
    path = folder / "people.json"
    if not path.exists():
        raise SystemExit(
            f"{path} is not there; python -m experiments.run capture24 --data DIR writes it"
        )
    index = json.loads(path.read_text())
    X = np.load(folder / "signal.npy", mmap_mode="c")  # PyTorch wants it writable; it stays as is
    y = np.load(folder / "label.npy", mmap_mode="c")
    return Signals(X, y, np.array(index["starts"]), tuple(index["names"]), CLASSES)


def prepare(data: Path, out: Path) -> Counter[str]:
    """Read every person of a folder in the official layout and keep them at 20 Hz.

    Parameters
    ----------
    data : Path
        With ``P001.csv.gz`` and so on, and ``annotation-label-dictionary.csv``.
    out : Path
        Where the result goes.

    Returns
    -------
    Counter
        As `person` counts, of all people.
    """
    files = sorted(data.glob("P[0-9]*.csv.gz"))
    if not files:
        raise SystemExit(f"{data} has no P001.csv.gz; give the folder of Capture-24's files")
    codes, parts, total = dictionary(data / DICTIONARY), {}, Counter[str]()
    for path in files:
        X, y, count = person(path, codes)
        parts[path.name.partition(".")[0]] = X, y
        total.update(count)
    signals = Signals.joined(parts, CLASSES)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "signal.npy", signals.X)
    np.save(out / "label.npy", signals.y)
    index = {"names": signals.names, "starts": signals.starts.tolist()}
    (out / "people.json").write_text(json.dumps(index))
    return total


def dictionary(path: Path) -> dict[str, int]:
    """Return the class of each annotation, by the labels of Willetts and others, 2018."""
    import polars as pl

    if not path.exists():
        raise SystemExit(f"{path} is not there; it is part of Capture-24")
    table = pl.read_csv(path, infer_schema=False)
    missing = {"annotation", COLUMN} - set(table.columns)
    if missing:
        raise SystemExit(f"{path} has no column {sorted(missing)}; it has {table.columns}")
    pairs = table.select("annotation", COLUMN).drop_nulls().rows()
    other = sorted({label for _, label in pairs} - set(CLASSES))
    if other:
        raise SystemExit(f"{path} has the labels {other} in {COLUMN}; known are {CLASSES}")
    return {annotation: CLASSES.index(label) for annotation, label in pairs}


def person(
    path: Path, codes: dict[str, int]
) -> tuple[NDArray[np.int16], NDArray[np.int8], dict[str, int]]:
    """Return a person's signal and labels at 20 Hz, and counts.

    A sample is the mean of the rows in its 50 ms, in thousandths of g; its label is that of the
    last of them. *Broken* rows have no time or number, or lie before others, and are left out.
    *Unknown* ones have an annotation that the dictionary does not name. The sample before stands
    for a *missing* one, without a label.
    """
    import polars as pl

    text = pl.read_csv(
        path,
        has_header=False,
        skip_rows=1,
        schema=dict.fromkeys(COLUMNS, pl.String),
        truncate_ragged_lines=True,
        ignore_errors=True,
    )
    time = pl.col("time").str.replace("T", " ", literal=True).str.slice(0, 26)
    moment = time.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    known = pl.col("annotation").replace_strict(codes, default=-1, return_dtype=pl.Int8)
    rows = text.select(
        (moment.to_physical() // BIN).alias("at"),
        *(pl.col(axis).cast(pl.Float64, strict=False) for axis in "xyz"),
        pl.when(pl.col("annotation").is_not_null()).then(known).otherwise(-1).alias("label"),
        (pl.col("annotation").is_not_null() & (known < 0)).alias("unknown"),
    ).filter(pl.col("at").is_not_null() & pl.all_horizontal(pl.col("x", "y", "z").is_finite()))
    if not rows.height:
        raise ValueError(f"{path} has no row that can be read; its columns are {COLUMNS}")
    means = rows.group_by("at", maintain_order=True).agg(
        pl.col("x", "y", "z").mean(), pl.last("label")
    )
    at = means["at"].to_numpy() - means["at"][0]
    ahead = np.diff(np.maximum.accumulate(at), prepend=-1) > 0  # a clock may go back
    signal, y, at = (
        means.select("x", "y", "z").to_numpy()[ahead],
        means["label"].to_numpy()[ahead],
        at[ahead],
    )
    longest = np.diff(at, prepend=0).max()
    if longest > LONGEST_GAP:
        raise ValueError(f"{path}: time jumps by {longest / RATE:g} s; mend or remove that file")
    samples = np.arange(at[-1] + 1)
    source = np.searchsorted(at, samples, "right") - 1  # the sample itself, or the one before
    top = np.iinfo(np.int16).max
    X = np.clip(np.rint(signal * PER_G), -top, top).astype(np.int16)
    measured = at[source] == samples
    count = {
        "rows": text.height,
        "broken": text.height - rows.height + int((~ahead).sum()),
        "unknown": int(rows["unknown"].sum()),
        "missing": int((~measured).sum()),
        "samples": len(samples),
    }
    return X[source], np.where(measured, y[source], -1).astype(np.int8), count
