"""Labelled streams for FilteredClassifier, and their estimates from a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import classfilter as cf

CLASSES = ("rest", "walk", "run")


class Data:
    """Streams with classes that last, in a shuffled order of rows."""

    def __init__(self, streams: int = 4, seed: int = 0, runs: int = 4, length: int = 12) -> None:
        rng = np.random.default_rng(seed)
        truth = np.concatenate(
            [np.repeat(rng.permutation(runs) % 3, length) for _ in range(streams)]
        )
        T = runs * length
        self.X: NDArray[np.float64] = np.eye(3)[truth] + rng.normal(size=(truth.size, 3))
        self.y = np.array(CLASSES)[truth]
        self.groups = np.repeat([f"stream {i}" for i in range(streams)], T)
        self.times = np.tile(np.arange(T) * 5.0, streams) + rng.uniform(0, 4, truth.size)

    def shuffled(self, seed: int = 1) -> Data:
        order = np.random.default_rng(seed).permutation(len(self.y))
        new = Data.__new__(Data)
        for name, column in vars(self).items():
            setattr(new, name, column[order])
        return new


def by_hand(
    f: Any,
    probs: NDArray[np.float64],
    groups: Any = None,
    times: Any = None,
    lag: int | None = 0,
    beta: float = 1.0,
) -> NDArray[np.float64]:
    """Filter each group with a loop of updates, in order of time."""
    n = len(probs)
    groups = np.zeros(n) if groups is None else groups
    filtered = np.empty_like(probs)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        if times is not None:
            rows = rows[np.argsort(times[rows], kind="stable")]
        dt = np.ones(len(rows)) if times is None else np.diff(times[rows], prepend=np.nan)
        dt[0] = 0.0
        if lag == 0:
            f.reset()
            for row, step in zip(rows, dt, strict=True):
                filtered[row] = f.update(probs[row], beta, step)
        else:
            f.reset()
            filtered[rows] = cf.smooth(f, probs[rows], dt=dt, lag=lag)
    return filtered
