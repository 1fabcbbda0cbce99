"""Capture-24: raw wrist accelerometer of 151 people, a day each, in its official layout.

``python -m experiments.capture24 DIR --out CACHE`` reads ``P001.csv.gz`` and so on, a person and a
few megabytes at a time, averages 100 Hz down to 20 Hz, and keeps the result as memory maps:
``signal.npy``, ``label.npy`` and ``people.json``. The data are in the Oxford University Research
Archive, under the name "CAPTURE-24: Activity tracker dataset for human activity recognition".
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .signals import PER_G, RATE, Signals

if TYPE_CHECKING:
    import polars as pl

CLASSES = ("bicycling", "mixed", "sit-stand", "sleep", "vehicle", "walking")
DICTIONARY = "annotation-label-dictionary.csv"
COLUMN = "label:Willetts2018"
CHUNK = 1 << 25
"""Bytes of text that are read at a time."""
BIN = 1_000_000 // RATE
"""Microseconds of a sample."""
LONGEST_GAP = 24 * 3600 * RATE
"""Samples; a gap above a day is an error of the clock."""


@dataclass
class Count:
    """Counts of the rows and samples in the file of one person.

    Attributes
    ----------
    rows : int
        Rows of text.
    broken : int
        Of them, rows without a time or a number, and samples that lie before others; left out.
    unknown : int
        Rows whose annotation the dictionary does not name; kept without a label.
    missing : int
        Samples at 20 Hz that no row fell into; the sample before stands for them, without a label.
    samples : int
        Samples at 20 Hz.
    """

    rows: int = 0
    broken: int = 0
    unknown: int = 0
    missing: int = 0
    samples: int = 0


def load(folder: Path) -> Signals:
    """Return what `prepare` kept, as memory maps."""
    path = folder / "people.json"
    if not path.exists():
        raise SystemExit(
            f"{path} is not there; first run python -m experiments.capture24 DIR --out {folder}"
        )
    index = json.loads(path.read_text())
    X = np.load(folder / "signal.npy", mmap_mode="c")  # PyTorch wants it writable; it stays as is
    y = np.load(folder / "label.npy", mmap_mode="c")
    return Signals(X, y, np.array(index["starts"]), tuple(index["names"]), CLASSES)


def prepare(data: Path, out: Path) -> dict[str, Count]:
    """Read every person of a folder in the official layout and keep them at 20 Hz.

    Parameters
    ----------
    data : Path
        With ``P001.csv.gz`` and so on, and ``annotation-label-dictionary.csv``.
    out : Path
        Where the result goes. People that are there already are not read again.
    """
    files = sorted(data.glob("P[0-9]*.csv.gz"))
    if not files:
        raise SystemExit(f"{data} has no P001.csv.gz; give the folder of Capture-24's files")
    codes = dictionary(data / DICTIONARY)
    parts = out / "people"
    parts.mkdir(parents=True, exist_ok=True)
    for path in files:
        name = path.name.partition(".")[0]
        if not (parts / f"{name}.json").exists():
            X, y, count = person(path, codes)
            np.save(parts / f"{name}-X.npy", X)
            np.save(parts / f"{name}-y.npy", y)
            (parts / f"{name}.json").write_text(json.dumps(asdict(count)))  # last: it is complete
    names = [path.name.partition(".")[0] for path in files]
    counts = {n: Count(**json.loads((parts / f"{n}.json").read_text())) for n in names}
    starts = np.concatenate([[0], np.cumsum([c.samples for c in counts.values()])])
    for column, dtype, shape in (("X", np.int16, (3,)), ("y", np.int8, ())):
        path = out / {"X": "signal.npy", "y": "label.npy"}[column]
        merged = np.lib.format.open_memmap(path, "w+", dtype, (int(starts[-1]), *shape))
        for name, start in zip(names, starts, strict=False):
            part = np.load(parts / f"{name}-{column}.npy", mmap_mode="r")
            merged[start : start + len(part)] = part
        merged.flush()
    index = {"names": names, "starts": starts.tolist()}
    (out / "people.json").write_text(json.dumps(index))
    return counts


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
    path: Path, codes: dict[str, int], chunk: int = CHUNK
) -> tuple[NDArray[np.int16], NDArray[np.int8], Count]:
    """Return a person's signal and labels at 20 Hz, and the counts.

    A sample is the mean of the rows in its 50 ms, in thousandths of g; its label is that of the
    last of them.
    """
    count = Count()
    pieces: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int8]]] = []
    left: pl.DataFrame | None = None
    with gzip.open(path, "rb") as file:
        for text in _chunks(file, chunk):
            rows = _rows(text, codes, count)
            left, done = _cut(rows if left is None else left.vstack(rows))
            pieces.append(_means(done))
    if left is not None:
        pieces.append(_means(left))
    at = np.concatenate([p[0] for p in pieces] or [np.zeros(0, np.int64)])
    if not len(at):
        raise ValueError(
            f"{path} has no row that can be read; its columns are time,x,y,z,annotation"
        )
    return *_filled(path, at - at[0], pieces, count), count


def _chunks(file: BinaryIO | gzip.GzipFile, size: int) -> Iterator[bytes]:
    """Yield whole lines, about `size` bytes at a time, without the header."""
    file.readline()
    rest = b""
    while data := file.read(size):
        lines, newline, rest_now = (rest + data).rpartition(b"\n")
        rest = rest_now
        if newline:
            yield lines
    if rest.strip():
        yield rest


def _rows(text: bytes, codes: dict[str, int], count: Count) -> pl.DataFrame:
    """Return the valid rows: the number of the 50 ms, the signal, and the class."""
    import polars as pl

    names = ("time", "x", "y", "z", "annotation")
    table = pl.read_csv(
        text, has_header=False, schema=dict.fromkeys(names, pl.String),
        truncate_ragged_lines=True, ignore_errors=True,
    )  # fmt: skip
    count.rows += table.height
    time = pl.col("time").str.replace("T", " ", literal=True).str.slice(0, 26)
    known = pl.col("annotation").replace_strict(codes, default=-1, return_dtype=pl.Int8)
    table = table.select(
        (
            time.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False).to_physical()
            // BIN
        ).alias("at"),
        *(pl.col(axis).cast(pl.Float64, strict=False) for axis in "xyz"),
        pl.when(pl.col("annotation").is_null())
        .then(pl.lit(-1, pl.Int8))
        .otherwise(known)
        .alias("label"),
        (pl.col("annotation").is_not_null() & (known < 0)).alias("unknown"),
    )
    valid = table.filter(
        pl.col("at").is_not_null() & pl.all_horizontal(pl.col(a).is_finite() for a in "xyz")
    )
    count.broken += table.height - valid.height
    count.unknown += int(valid["unknown"].sum())
    return valid.drop("unknown")


def _cut(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of the last sample, which may go on in the next chunk, and the others."""
    import polars as pl

    if not rows.height:
        return rows, rows
    last = rows["at"][-1]
    return rows.filter(pl.col("at") == last), rows.filter(pl.col("at") != last)


def _means(
    rows: pl.DataFrame,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int8]]:
    """Return the number, the mean and the last class of each sample."""
    import polars as pl

    means = rows.group_by("at", maintain_order=True).agg(
        pl.col("x", "y", "z").mean(), pl.last("label")
    )
    signal = means.select("x", "y", "z").to_numpy().astype(np.float64).reshape(-1, 3)
    return (
        means["at"].to_numpy().astype(np.int64),
        signal,
        means["label"].to_numpy().astype(np.int8),
    )


def _filled(
    path: Path,
    at: NDArray[np.int64],
    pieces: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int8]]],
    count: Count,
) -> tuple[NDArray[np.int16], NDArray[np.int8]]:
    """Put each sample at its time, and the sample before where there is none."""
    signal, y = (np.concatenate([p[i] for p in pieces]) for i in (1, 2))
    ahead = np.diff(np.maximum.accumulate(at), prepend=-1) > 0  # a clock may go back
    count.broken += int((~ahead).sum())
    at, signal, y = at[ahead], signal[ahead], y[ahead]
    longest = np.diff(at, prepend=0).max()
    if longest > LONGEST_GAP:
        raise ValueError(f"{path}: time jumps by {longest / RATE:g} s; mend or remove that file")
    n = int(at[-1]) + 1
    source = np.zeros(n, np.int64)
    source[at] = np.arange(len(at))
    source = np.maximum.accumulate(source)
    measured = np.zeros(n, bool)
    measured[at] = True
    count.samples, count.missing = n, int(n - measured.sum())
    top = np.iinfo(np.int16).max
    X = np.clip(np.rint(signal * PER_G), -top, top).astype(np.int16)
    return X[source], np.where(measured, y[source], -1).astype(np.int8)


def main(arguments: list[str] | None = None) -> None:
    """Prepare a folder; print the counts and the speed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(arguments)
    size = sum(path.stat().st_size for path in args.data.glob("P[0-9]*.csv.gz")) / 1e6
    start = time.perf_counter()
    counts = prepare(args.data, args.out)
    took = time.perf_counter() - start
    total = {key: sum(getattr(c, key) for c in counts.values()) for key in asdict(Count())}
    print(f"{len(counts)} people; " + ", ".join(f"{v} {k}" for k, v in total.items()))
    speed = f"{size / took:.1f} MB and {total['rows'] / took:.0f} rows per second"
    print(f"{size:.1f} MB of gzip in {took:.1f} s: {speed}")


if __name__ == "__main__":
    main()
