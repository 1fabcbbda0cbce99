"""Figures of results: a comparison of filters, and what strong calls are worth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._support.html import COLOURS
from ._support.plot_style import legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .evaluation._comparison import Comparison
    from .evaluation._policy_curve import PolicyCurve


def comparison(result: Comparison) -> Figure:
    """Draw one row per method: its accuracy with the interval; smoothers look different.

    Parameters
    ----------
    result : Comparison
        Of `compare`; without labels, how well later predictions fit is drawn.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.
    """
    from matplotlib.figure import Figure

    from .evaluation._comparison import TITLES

    key = next(iter(result.rows[0].measures))
    best = [is_best for _, is_best in result.cells(key)]
    figure = Figure(figsize=(7.5, 0.32 * len(result.rows) + 1.0), dpi=200, layout="constrained")
    axes = figure.subplots()
    for y, row in enumerate(result.rows):
        scale = 1 if key == "agreement" else 100
        value, low, high = (scale * x for x in row.measures[key])
        colour, mark = (COLOURS[5], "s") if row.smoothed else (COLOURS[0], "o")
        axes.plot([low, high], [y, y], color=colour, linewidth=1.2)
        face = colour if best[y] else "white"
        axes.plot(value, y, mark, color=colour, markerfacecolor=face, markersize=6)
    names = [row.name + " *" * row.smoothed for row in result.rows]
    axes.set_yticks(range(len(names)), names)
    for label, is_best in zip(axes.get_yticklabels(), best, strict=True):
        label.set_fontweight("bold" if is_best else "normal")
    axes.invert_yaxis()
    axes.set_xlabel(
        f"{TITLES[key].capitalize()}; lines: 95 % intervals; * smoothed: uses later rows too"
    )
    axes.grid(axis="x", linewidth=0.4)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    return figure


def policy_curve(curve: PolicyCurve, *, ax: Axes | None = None) -> Figure:
    """Draw accuracy against strong calls per hour, periodic and adaptive; events and delay too.

    Parameters
    ----------
    curve : PolicyCurve
        Of `classfilter.policy_curve`.
    ax : matplotlib Axes, optional
        Where to draw the accuracy. By default, on a new figure, with the F1 of events and the delay
        beside it where they are known.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.
    """
    from matplotlib.figure import Figure

    measures = ["accuracy"]
    if ax is None:
        points = [*curve.periodic, *curve.adaptive]
        for field in ("event_f1", "delay"):
            if any(math.isfinite(getattr(point, field)) for point in points):
                measures.append(field)
        size = (6.0 if len(measures) == 1 else 4.4 * len(measures), 3.8)
        panels = Figure(figsize=size, dpi=200, layout="constrained").subplots(
            1, len(measures), squeeze=False
        )[0]
    else:
        panels = [ax]
    for field, axes in zip(measures, panels, strict=True):
        _policy_panel(curve, field, axes)
    figure = panels[0].figure
    assert isinstance(figure, Figure)
    return figure


def _policy_panel(curve: PolicyCurve, field: str, ax: Axes) -> None:
    """Draw one measure of a policy curve."""
    accuracy = "Accuracy, %" if curve.labelled else "Agreement with the strong classifier, %"
    title, scale = {
        "accuracy": (accuracy, 100.0),
        "event_f1": ("F1 of events, %", 100.0),
        "delay": ("Median delay after a true change", 1.0),
    }[field]
    for name, points, mark, colour in (
        ("Periodic", curve.periodic, "s--", COLOURS[1]),
        ("Adaptive", curve.adaptive, "o-", COLOURS[0]),
    ):
        calls, values = zip(*((p.calls, scale * getattr(p, field)) for p in points), strict=True)
        ax.plot(calls, values, mark, color=colour, markersize=4.5, label=name)
    if field == "accuracy":
        ax.axhline(100 * curve.strong_accuracy, color="0.5", linewidth=0.9, linestyle=":")
        ax.annotate(
            "strong alone,\nevery step",
            (1.02, 100 * curve.strong_accuracy),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
            color="0.35",
        )
    ax.set_xscale("log")
    ticks: list[float] = []
    for point in curve.periodic:
        if not ticks or point.calls > 1.15 * ticks[-1]:  # or the labels would overlap
            ticks.append(point.calls)
    ax.set_xticks(ticks, [f"{calls:.3g}" for calls in ticks], fontsize=8)
    ax.minorticks_off()
    ax.set_xlabel("Strong calls per hour")
    ax.set_ylabel(title)
    if field == "delay":
        ax.set_ylim(bottom=0)
    ax.grid(axis="y", linewidth=0.4)
    ax.spines[["top", "right"]].set_visible(False)
    legend_above(ax, *ax.get_legend_handles_labels())


comparison.__module__ = policy_curve.__module__ = "classfilter.plot"
