"""Calibration: how often the predicted class is the true one, by how probable it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._reliability import Reliability, reliability
from .._support.html import table
from .._support.types import Array, Ints
from ..chain._chain import Chain
from ..data._recording import Recording
from ._page_data import playable
from ._sections import section

MIN_ROWS = 20
"""Fewer rows in a bin are not shown: their share is chance."""
FILTERED, SMOOTHED = "filtered", "smoothed"


def calibration(
    recordings: Sequence[Recording],
    filtered: Sequence[Array],
    reference: str,
    labelled: bool,
    smoothed: Sequence[Array] | None = None,
) -> dict[str, Reliability]:
    """Return the reliability of the filter and of each source, by the labels or by the reference.

    With labels, that of the smoother too. Without, what the reference predicts takes their place,
    and what came just before that prediction is judged by it; the reference itself is then not
    judged, nor the smoother, which has seen the prediction.
    """
    parts: dict[str, list[tuple[Ints, Array]]] = {FILTERED: []}
    for i, (rec, P) in enumerate(zip(recordings, filtered, strict=True)):
        if labelled and rec.label is None:
            continue
        truth = rec.label if labelled else _predicted(rec, reference)
        assert truth is not None
        rows = np.flatnonzero(truth >= 0)
        rows = rows if labelled else rows[rows > 0]
        judged = rows if labelled else rows - 1
        parts[FILTERED].append((truth[rows], P[judged]))
        if labelled and smoothed is not None:
            parts.setdefault(SMOOTHED, []).append((truth[rows], smoothed[i][rows]))
        for name in rec.sources:
            if name == reference and not labelled:
                continue
            latest = np.where(rec.observed(name), np.arange(len(rec)), -1)
            latest = (latest if labelled else np.maximum.accumulate(latest))[judged]
            pair = truth[rows[latest >= 0]], rec.probs[latest[latest >= 0]]
            parts.setdefault(name, []).append(pair)
    pairs = {
        name: [np.concatenate(columns) for columns in zip(*several, strict=True)]
        for name, several in parts.items()
        if several
    }
    return {name: reliability(y, P) for name, (y, P) in pairs.items() if y.size}


def _predicted(rec: Recording, source: str) -> Ints:
    """Return the class that a source predicts in each row, -1 where it predicts none."""
    best: Ints = np.where(rec.observed(source), np.nan_to_num(rec.probs).argmax(axis=1), -1)
    return best


def calibration_section(
    recs: Sequence[Recording], tuned: Chain, reference: str, labelled: bool
) -> str:
    """Show how often what was called probable was right, by labels or by the reference."""
    smooths = labelled and playable(tuned.smoother) is tuned.smoother
    smoothed = [tuned.smooth(rec) for rec in recs] if smooths else None
    filtered = [tuned.run(rec) for rec in recs]
    found = calibration(recs, filtered, reference, labelled, smoothed)
    if not found:
        return section(
            "Calibration", f"There is nothing to judge: {reference!r} predicts too rarely."
        )
    if labelled:
        how = (
            "How often the predicted class is that of the label, by its probability. Where the "
            "share is below the probability, the source is overconfident; above it, "
            "underconfident. Smoothed rows use later predictions too."
        )
    else:
        how = (
            f"There are no labels. What {reference!r} predicts takes their place, and the "
            "estimate just before that prediction is judged by it. This is agreement, not "
            f"accuracy: {reference!r} errs too, and the class may have changed in between, so that "
            "the share of even a perfect estimate is below its probability."
        )
    edges = np.linspace(0, 1, len(next(iter(found.values())).rows) + 1)
    rows = [
        [f"{edges[i]:.0%} to {edges[i + 1]:.0%}", *(_share(curve, i) for curve in found.values())]
        for i in range(len(edges) - 1)
    ]
    rows = [row for row in rows if any(row[1:])]
    errors = ["calibration error", *(f"{curve.error:.1%}" for curve in found.values())]
    return section("Calibration", how, table(["probability", *found], [*rows, errors]))


def _share(curve: Reliability, i: int) -> str:
    """Return the share of a bin that is right; of few rows, nothing."""
    return f"{curve.accuracy[i]:.0%}" if curve.rows[i] >= MIN_ROWS else ""
