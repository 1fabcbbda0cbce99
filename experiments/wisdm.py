"""WISDM, smartwatch: raw wrist accelerometer of 51 people, two minutes of each activity.

As recorded, the activities follow one another in a fixed order, twelve minutes in all: short for a
filter that remembers minutes, and an order that a model could learn. So a longer, more lifelike
stream is chained from each person's own pieces. This module needs NumPy alone.
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .signals import RATE, Signals

LETTERS = {
    "A": "walking",
    "B": "jogging",
    "C": "stairs",
    "D": "sitting",
    "E": "standing",
    "M": "kicking",
}
CLASSES = tuple(LETTERS.values())
SHORTEST, LONGEST = 15.0, 900.0
"""Seconds that an activity of a chained stream lasts."""
STRETCH = 30.0, 90.0
"""Seconds of the recorded piece that come in a row."""


def load(data: Path) -> Signals:
    """Read ``wisdm_watch.npz``: ``<person>_X``, thousandths of g, and ``<person>_y``, letters."""
    path = data / "wisdm_watch.npz"
    if not path.exists():
        raise SystemExit(f"{path} is not there; --data names the folder with wisdm_watch.npz")
    with np.load(path, allow_pickle=False) as file:
        names = [key[:-2] for key in file.files if key.endswith("_y")]
        code = np.full(128, -1, np.int8)
        for i, letter in enumerate(LETTERS):
            code[ord(letter)] = i
        parts = {}
        for name in names:
            letters = np.ascontiguousarray(file[f"{name}_y"].astype("<U1")).view(np.uint32)
            parts[name] = (file[f"{name}_X"].astype(np.int16), code[letters])
    return Signals.joined(parts, CLASSES)


def chained(signals: Signals, seconds: float, seed: int) -> Signals:
    """Pipeline each person's pieces into a new stream: random activities, offsets and durations.

    The next activity is any other that the person has, each as likely. It lasts a time that is
    log-uniform from 15 s to 15 min, and is made of stretches of 30 to 90 s from anywhere in the
    recorded piece: samples are used more than once, but do not repeat with a fixed period.

    Parameters
    ----------
    signals : Signals
        As recorded.
    seconds : float
        Length of each person's stream.
    seed : int
        Equal seeds give equal streams, whoever else is there.
    """
    parts = {}
    for name in signals.names:
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        parts[name] = _pipe(*signals.part(name), round(seconds * RATE), rng)
    return Signals.joined(parts, signals.classes)


def _pipe(
    X: NDArray[np.int16], y: NDArray[np.int8], length: int, rng: np.random.Generator
) -> tuple[NDArray[np.int16], NDArray[np.int8]]:
    """Return a stream of one person."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(y)) + 1, [len(y)]])
    pieces = [slice(a, b) for a, b in pairwise(edges) if y[a] >= 0]
    rows: list[NDArray[np.int64]] = []
    last, total = -1, 0
    while total < length:
        others = sorted({int(y[piece.start]) for piece in pieces} - {last})
        last = int(rng.choice(others)) if others else last
        piece = pieces[rng.choice([i for i, p in enumerate(pieces) if y[p.start] == last])]
        dwell = round(RATE * SHORTEST * (LONGEST / SHORTEST) ** rng.random())
        end = min(total + dwell, length)
        while total < end:
            n = min(round(RATE * rng.uniform(*STRETCH)), piece.stop - piece.start, end - total)
            rows.append(rng.integers(piece.start, piece.stop - n, endpoint=True) + np.arange(n))
            total += n
    index = np.concatenate(rows)
    return X[index], y[index]
