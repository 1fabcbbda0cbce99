"""Calibration: how often the predicted class is the true one, by how probable it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._reliability import Reliability, reliability
from .._support.html import COLOURS, Markup, svg, words
from .._support.types import Array, Ints
from ..data._recording import Recording

MIN_ROWS = 20
"""Fewer rows in a bin are not drawn: their share is chance."""
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


def diagram(curves: Mapping[str, Reliability], title: str) -> Markup:
    """Return the curves as a picture: on the diagonal, 80 % of what had 80 % is right."""
    left, top, size = 48, 12, 240

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * size, top + (1 - y) * size

    parts = [
        f'<path d="M{left} {top}V{top + size}H{left + size}" stroke="currentColor" fill="none" '
        'opacity=".5"/>',
        f'<path d="M{left} {top + size}L{left + size} {top}" stroke="currentColor" '
        'stroke-dasharray="1 3"/>',
        words(left + size / 2, top + size + 32, "probability of the predicted class", "middle", 60),
        words(left + 6, top + 10, title, limit=60),
    ]
    for tick in (0.0, 0.5, 1.0):
        x, y = at(tick, tick)
        parts.append(words(x, top + size + 16, f"{tick:.0%}", "middle"))
        parts.append(words(left - 5, y + 4, f"{tick:.0%}", "end"))
    names = []
    for i, (name, curve) in enumerate(curves.items()):
        drawn = curve.rows >= MIN_ROWS
        pairs = zip(curve.confidence[drawn], curve.accuracy[drawn], strict=True)
        places = [at(x, y) for x, y in pairs]
        if not places:
            continue
        colour, dashes = (
            COLOURS[i % len(COLOURS)],
            f' stroke-dasharray="{6 - i % 5} {3 * i}"' * (i > 0),
        )
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        names.append((places[-1][1], name, colour))
    lowest = -np.inf
    for y, name, colour in sorted(names):
        lowest = max(y, lowest + 14)  # or they would overlap
        x = left + size + 10
        parts.append(f'<circle cx="{x}" cy="{lowest:.1f}" r="4" fill="{colour}"/>')
        parts.append(words(x + 8, lowest + 4, name))
    return svg(left + size + 170, top + size + 40, "Calibration", parts)
