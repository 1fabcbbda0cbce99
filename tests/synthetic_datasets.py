"""A few synthetic people in the layout of each data set, for the tests of the experiments."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LETTERS = "ABCDEM"
ANNOTATIONS = {
    "7030 sleeping;MET 0.95": "sleep",
    "home;sitting;9060 sitting, reading;MET 1.3": "sit-stand",
    "walking;MET 3.5": "walking",
    "1010 bicycling;MET 8.0": "bicycling",
}


def activity(kind: int, n: int, rng: np.random.Generator, rate: int = 20) -> Floats:
    """Return n samples, in g: each kind has its own posture and its own shaking."""
    posture = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]])[kind]
    shake = 0.1 + 0.2 * kind
    phase = 2 * np.pi * (0.5 + 0.4 * kind) * np.arange(n) / rate + rng.uniform(0, 6)
    samples: Floats = posture + shake * np.sin(phase)[:, None] + 0.3 * rng.normal(size=(n, 3))
    return samples


def wisdm(folder: Path, people: int = 6, seconds: int = 40) -> Path:
    rng = np.random.default_rng(0)
    arrays = {}
    for i in range(people):
        n = 20 * seconds
        X = np.concatenate([activity(k, n, rng) for k in range(6)])
        arrays[f"{1600 + i}_X"] = np.rint(1000 * X).astype(np.int16)
        arrays[f"{1600 + i}_y"] = np.repeat(list(LETTERS), n)
    np.savez(folder / "wisdm_watch.npz", **arrays)
    return folder


def extrasensory(folder: Path, people: int = 6, rows: int = 240) -> Path:
    rng = np.random.default_rng(0)
    classes = np.array(["lying", "sitting", "walking"])
    arrays = {"classes": classes, "cols": np.array(["raw_acc:a", "raw_acc:b", "gyro:a", "gyro:b"])}
    for i in range(people):
        y = np.repeat(rng.integers(3, size=rows // 20), 20)
        X = np.eye(3)[y] @ rng.normal(size=(3, 4)) * 0.2 + rng.normal(size=(rows, 4))
        X[:, 2] += 3 * y
        X[rng.random(rows) < 0.05, 3] = np.nan
        arrays[f"person{i}_X"] = X.astype(np.float32)
        arrays[f"person{i}_y"] = np.where(rng.random(rows) < 0.1, -1, y).astype(np.int8)
        arrays[f"person{i}_t"] = 1_400_000_000 + 60 * np.arange(rows)
    np.savez(folder / "extrasensory30.npz", **arrays)  # type: ignore[arg-type]
    return folder


def dictionary(folder: Path) -> None:
    """Write the dictionary of annotations; one of them holds a comma."""
    lines = ["annotation,label:Walmsley2020,label:Willetts2018"]
    lines += [f'"{annotation}",other,{label}' for annotation, label in ANNOTATIONS.items()]
    (folder / "annotation-label-dictionary.csv").write_text("\n".join(lines) + "\n")


def capture24(folder: Path, people: int = 4, seconds: int = 60) -> Path:
    """Write a minute of each of four activities at 100 Hz, the last ten seconds unlabelled."""
    rng = np.random.default_rng(1)
    dictionary(folder)
    for i in range(people):
        X = np.concatenate([activity(k, 100 * seconds, rng, 100) for k in range(4)])
        start = np.datetime64("2016-11-13T02:18:00")
        stamps = start + 10_000 * np.arange(len(X)).astype("m8[us]")
        annotations = np.repeat([f'"{text}"' for text in ANNOTATIONS], 100 * seconds).tolist()
        annotations[-1000:] = [""] * 1000
        lines = ["time,x,y,z,annotation"]
        for stamp, (x, y, z), text in zip(stamps.astype(str), X, annotations, strict=True):
            lines.append(f"{stamp.replace('T', ' ')},{x:.6f},{y:.6f},{z:.6f},{text}")
        with gzip.open(folder / f"P{i + 1:03}.csv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    return folder
