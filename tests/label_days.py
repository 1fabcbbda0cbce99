"""Labelled streams of several labels at once, to tune and to compare on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import classfilter as cf
from classfilter import Rows

STEP = 5.0
EVERY = 4
"""Rows of the weak source from one prediction of the strong one to the next."""


def truth_of(rng: np.random.Generator, rows: int, on: float, off: float) -> NDArray[np.intp]:
    """Return a label that is on and off for geometric times, of these means in rows."""
    lengths = rng.geometric(1 / np.tile([off, on], rows))
    states = np.repeat(np.tile([0, 1], rows), lengths)
    return states[:rows]


def label_day(
    seed: int,
    rows: int = 500,
    lengths: Sequence[tuple[float, float]] = ((12, 18), (16, 16), (10, 20)),
    sources: Sequence[str] = ("weak", "strong"),
    labelled: bool = True,
) -> Rows:
    """Return a stream whose labels are on and off for these mean times in rows.

    The weak source has a score of each label in each row; the strong one, more certain, in some.
    """
    rng = np.random.default_rng(seed)
    truth = np.stack([truth_of(rng, rows, on, off) for on, off in lengths], axis=1)
    time, at = STEP * np.arange(rows), np.arange(0, rows, EVERY)
    parts = [(time, truth, 1.0, 1.3)]
    if "strong" in sources:
        parts.append((time[at], truth[at], 2.5, 1.0))
    scores = [
        1 / (1 + np.exp(-(mean * (2 * y - 1) + scatter * rng.normal(size=y.shape))))
        for _, y, mean, scatter in parts
    ]
    return cf.rows(
        time=np.concatenate([part[0] for part in parts]),
        source=np.repeat(["weak", "strong"][: len(parts)], [len(part[0]) for part in parts]),
        probs=np.concatenate(scores),
        classes=[f"bird{k}" for k in range(len(lengths))],
        label=np.concatenate([part[1] for part in parts]) if labelled else None,
        scores="independent",
        sort=True,
    )


def with_labels(rec: Rows, **columns: NDArray[np.float64]) -> Rows:
    """Return a recording with more labels, whose scores are given and whose truth is unknown."""
    more = np.stack(list(columns.values()), axis=1)
    truth = rec.label
    if truth is not None:
        truth = np.concatenate([truth, np.full(more.shape, -1)], axis=1)
    scores, names = np.concatenate([rec.probs, more], axis=1), [*rec.classes, *columns]
    return cf.rows(
        time=rec.time,
        source=rec.source_names,
        probs=scores,
        classes=names,
        label=truth,
        scores="independent",
    )
