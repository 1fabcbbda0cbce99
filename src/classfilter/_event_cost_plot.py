"""How many events there are, by the cost of a change: what was chosen, and what else there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._support.plot_style import LEGEND_LINE, LINES, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .tuning._result import Tuned


def event_costs(tuned: Tuned, *, ax: Axes | None = None) -> Figure:
    """Draw how many events there would be against the cost of a change.

    Filtered rows, of live events, and smoothed rows have a line each. A point marks the cost that
    `tune` chose, with the cost and the number of events; it is hollow where a suggestion is not
    applied. A cross at a cost of 0 is the most probable class of each row. The dotted line is the
    number of events that a suggestion expects.

    Parameters
    ----------
    tuned : Tuned
        What `tune` returned, with `event_effect`: the recordings are those that it was tuned on.
        Without `event_duration` and labels, the suggestion is drawn.
    ax : matplotlib Axes, optional
        Where to draw; by default, on a new figure.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.

    Examples
    --------
    >>> import classfilter as cf
    >>> days = [cf.simulate("plain", hours=2.0, seed=i).recording() for i in range(2)]
    >>> tuned = cf.tune(days, "sticky", "strong", event_duration="10min")
    >>> figure = event_costs(tuned)
    >>> figure.axes[0].get_ylabel()
    'Events an hour'
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from .tuning._event_picture import LINEAR_PART, NO_COST, event_picture

    drawn = event_picture(tuned)
    axes = ax
    if axes is None:
        axes = Figure(figsize=(6.4, 4.0), dpi=200, layout="constrained").subplots()
    axes.set_xscale("symlog", linthresh=drawn.linear, linscale=LINEAR_PART)
    names: dict[str, Line2D] = {}
    colours = {}
    for (rows, curve), style in zip(drawn.curves.items(), (LINES[2], LINES[0]), strict=True):
        costs, events = zip(*curve, strict=True)
        colours[rows] = style["color"]
        (names[rows],) = axes.plot(costs, events, clip_on=False, **style)
        axes.plot(costs[0], events[0], "x", color=colours[rows], clip_on=False, zorder=4)
    key: dict[str, Any] = {"linestyle": "none", "color": "black"}
    look: dict[str, Any] = {"marker": "o", "markersize": 7, "zorder": 5, "clip_on": False}
    dearest = max(drawn.marks, key=lambda mark: mark.cost)
    for mark in drawn.marks:
        above = mark is dearest
        rightwards = above or mark.cost <= drawn.linear
        face = colours[mark.rows] if mark.applied else "white"
        axes.plot(mark.cost, mark.events, color=colours[mark.rows], markerfacecolor=face, **look)
        axes.annotate(
            f"{drawn.cost_in_words(mark.cost)}: {drawn.events_in_words(mark.events)}",
            (mark.cost, mark.events),
            xytext=(6 if rightwards else -6, 6 if above else -6),
            textcoords="offset points",
            ha="left" if rightwards else "right",
            va="bottom" if above else "top",
            fontsize=8,
            color=colours[mark.rows],
        )
        face = "black" if mark.applied else "white"
        names[mark.name] = Line2D([], [], marker="o", markerfacecolor=face, **key)
    names[NO_COST] = Line2D([], [], marker="x", **key)
    if drawn.expected is not None:
        name = f"to expect: {drawn.events_in_words(drawn.expected)} {drawn.unit}"
        names[name] = axes.axhline(drawn.expected, color="0.5", linewidth=0.9, linestyle=":")
    axes.set_xlim(0, max(curve[-1][0] for curve in drawn.curves.values()))
    axes.set_xticks(list(drawn.ticks), list(drawn.ticks.values()))
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(drawn.cost_title.capitalize())
    axes.set_ylabel(f"Events {drawn.unit}")
    axes.grid(axis="y", linewidth=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    titles = [name[0].upper() + name[1:] for name in names]
    lines = legend_above(axes, list(names.values()), titles)
    figure = axes.figure
    while not isinstance(figure, Figure):  # a part of a figure
        figure = figure.figure
    if ax is None:
        figure.set_figheight(figure.get_figheight() + lines * LEGEND_LINE)
    return figure


event_costs.__module__ = "classfilter.plot"
