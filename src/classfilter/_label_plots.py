"""Figures of several labels at once: lanes that may be on at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import ArgumentError
from ._events._list import Events
from ._support.plot_style import COLOURS, TimeAxis, event_bars, row_bars, typical_step
from ._support.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANE_HEIGHT = 0.32
"""Of a figure, in inches."""
_HALF, _SPACE = 0.42, 0.35


def lanes_height(rows: Mapping[str, Any], labels: Sequence[str]) -> float:
    """Return the height of a figure of lanes, in inches."""
    return 0.9 + LANE_HEIGHT * len(labels) * (len(rows) + _SPACE)


def draw_lanes(
    axes: Axes, axis: TimeAxis, t: Floats, rows: Mapping[str, Any], labels: Sequence[str]
) -> None:
    """Draw a lane for each label and each row: where it is on as a band, its probability as area.

    Parameters
    ----------
    axes, axis, t
        Where to draw, and the times, (T,).
    rows : mapping of str to array_like (T, L) or Events
        The truth, 1 or 0 and -1 where it is not known; probabilities; or events, by name.
    labels : sequence of str
        Their names.
    """
    names, ticks = [], []
    for i, label in enumerate(labels):
        colour = COLOURS[i % len(COLOURS)]
        for j, (name, given) in enumerate(rows.items()):
            y = i * (len(rows) + _SPACE) + j
            ticks.append(y)
            names.append(label if len(rows) == 1 else f"{label}: {name}")
            p = None if isinstance(given, Events) else _column(given, t, name, len(labels), i)
            if p is None:
                start, end, k = event_bars(t, given, labels)
                start, end, pale = start[k == i], end[k == i], 1.0
            else:
                on = np.where(np.isnan(p), -1, p > 0.5).astype(np.intp)
                start, end, k = row_bars(t, on)
                start, end, pale = start[k == 1], end[k == 1], 1.0 if _is_truth(given) else 0.3
            spans = np.column_stack([axis.x(start), axis.x(end) - axis.x(start)])
            if len(spans):
                where = (y - _HALF, 2 * _HALF)
                axes.broken_barh(spans.tolist(), where, color=colour, alpha=pale, linewidth=0)
            if p is not None and not _is_truth(given):
                _area(axes, axis, t, p, y + _HALF, colour)
    axes.set_yticks(ticks, names)
    axes.set_ylim(ticks[-1] + 0.6, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _area(axes: Axes, axis: TimeAxis, t: Floats, p: Floats, base: float, colour: str) -> None:
    """Draw a probability as an area above a line; a row lasts until the next."""
    step = typical_step(t)
    gap = np.flatnonzero(np.diff(t) > 10 * step)
    x = axis.x(np.append(np.insert(t, gap + 1, t[gap] + step), t[-1] + step))
    filled = np.insert(p, gap + 1, np.nan)
    top = base - 2 * _HALF * np.append(filled, filled[-1])
    axes.fill_between(x, base, top, step="post", color=colour, linewidth=0)
    axes.plot(axis.x(np.array([t[0], t[-1] + step])), [base, base], color="0.8", linewidth=0.6)


def _is_truth(given: Any) -> bool:
    return np.asarray(given).dtype.kind in "biu"


def _column(given: Any, t: Floats, name: str, labels: int, i: int) -> Floats:
    """Return what a label has of (T, L), NaN where it is not known."""
    a = np.asarray(given)
    if a.shape != (len(t), labels):
        rule = f"it must be ({len(t)}, {labels}), one row per time and one column per label"
        raise ArgumentError(name, a.shape, "has shape {}", rule)
    column = a[:, i].astype(np.float64)
    return np.where(column < 0, np.nan, column)
