"""Figures of rows, of what filters make of them, and of how reliable they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..events import Events
from ..inputs import seconds
from ..metrics import Reliability
from ..support.types import Floats, Ints
from .style import (
    COLOURS,
    LEGEND,
    LEGEND_LINE,
    LINES,
    NO_ZONE,
    TimeAxis,
    Zone,
    band,
    event_bars,
    legend_above,
    row_bars,
    time_axis,
    typical_step,
    zone_of_times,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..compare import Comparison
    from ..inputs import Rows
    from ..tuning import OperatingCurve

LANE_HEIGHT = 0.32
"""Of a figure, in inches."""
_HALF, _SPACE = 0.42, 0.35


def _lanes_height(rows: Mapping[str, Any], labels: Sequence[str]) -> float:
    """Return the height of a figure of lanes, in inches."""
    return 0.9 + LANE_HEIGHT * len(labels) * (len(rows) + _SPACE)


def _draw_lanes(
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
        for j, (name, values) in enumerate(rows.items()):
            y = i * (len(rows) + _SPACE) + j
            ticks.append(y)
            names.append(label if len(rows) == 1 else f"{label}: {name}")
            p = None if isinstance(values, Events) else _column(values, t, name, len(labels), i)
            if p is None:
                start, end, k = event_bars(t, values, labels)
                start, end, pale = start[k == i], end[k == i], 1.0
            else:
                on = np.where(np.isnan(p), -1, p > 0.5).astype(np.intp)
                start, end, k = row_bars(t, on)
                start, end, pale = start[k == 1], end[k == 1], 1.0 if _is_truth(values) else 0.3
            spans = np.column_stack([axis.x(start), axis.x(end) - axis.x(start)])
            if len(spans):
                place = (y - _HALF, 2 * _HALF)
                axes.broken_barh(spans.tolist(), place, color=colour, alpha=pale, linewidth=0)
            if p is not None and not _is_truth(values):
                _area(axes, axis, t, p, y + _HALF, colour)
    axes.set_yticks(ticks, names)
    axes.set_ylim(ticks[-1] + 0.6, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _held(axis: TimeAxis, t: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return places and values of rows that last until the next; NaN in a gap."""
    step = typical_step(t)
    gap = np.flatnonzero(np.diff(t) > 10 * step)
    x = axis.x(np.append(np.insert(t, gap + 1, t[gap] + step), t[-1] + step))
    held = np.insert(values, gap + 1, np.nan, axis=0)
    return x, np.concatenate([held, held[-1:]])


def _area(axes: Axes, axis: TimeAxis, t: Floats, p: Floats, base: float, colour: str) -> None:
    """Draw a probability as an area above a line; a row lasts until the next."""
    x, held = _held(axis, t, p)
    top = base - 2 * _HALF * held
    axes.fill_between(x, base, top, step="post", color=colour, linewidth=0)
    axes.plot(x[[0, -1]], [base, base], color="0.8", linewidth=0.6)


def _is_truth(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "biu"


def _column(values: Any, t: Floats, name: str, labels: int, i: int) -> Floats:
    """Return what a label has of (T, L), NaN where it is not known."""
    a = np.asarray(values)
    if a.shape != (len(t), labels):
        must = f"it must be ({len(t)}, {labels}), one row per time and one column per label"
        raise ArgumentError(name, a.shape, problem="has shape {}", must=must)
    column = a[:, i].astype(np.float64)
    return np.where(column < 0, np.nan, column)


def reliability(
    curves: Mapping[str, Reliability], *, min_rows: int = 20, ax: Axes | None = None
) -> Figure:
    """Draw a reliability diagram: the share of rows that is right, by their probability.

    On the dotted diagonal, 80 % of the rows whose class had 80 % are right. Below it the
    probabilities are too high, above it too low. A bar below has how many rows there are.

    Parameters
    ----------
    curves : mapping of str to Reliability
        By name, what `metrics.reliability` returns. The legend has their calibration errors.
    min_rows : int
        Bins with fewer rows are left out: their share is chance.
    ax : matplotlib Axes, optional
        Where to draw, without the bars; by default, on a new figure.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.

    Examples
    --------
    >>> import numpy as np
    >>> from classfilter import metrics
    >>> truth, probs = np.repeat([0, 1], [80, 20]), np.tile([0.7, 0.3], (100, 1))
    >>> figure = reliability({"filtered": metrics.reliability(truth, probs)})
    >>> figure.axes[0].get_legend().get_texts()[0].get_text()
    'filtered: calibration error 10.0 %'
    """
    from matplotlib.figure import Figure

    if not curves:
        raise ArgumentError("curves", curves, must="there is nothing to draw", fix="give one")
    below = None
    if ax is None:
        figure = Figure(figsize=(5.0, 6.4), dpi=200, layout="constrained")
        ax, below = figure.subplots(2, 1, height_ratios=(4, 1), sharex=True)
    ax.plot([0, 100], [0, 100], color="0.5", linewidth=0.9, linestyle=":")
    for i, (name, curve) in enumerate(curves.items()):
        style = LINES[(i + 2) % len(LINES)]  # the first line is solid
        drawn = curve.rows >= max(1, min_rows)
        title = f"{name}: calibration error {100 * curve.error:.1f} %"
        x, y = 100 * curve.confidence[drawn], 100 * curve.accuracy[drawn]
        ax.plot(x, y, marker="o", markersize=4, label=title, **style)
        if below is not None:
            width = 100 / len(curve.rows)
            left = [width * (b + i / len(curves)) for b in range(len(curve.rows))]
            share = 100 * curve.rows / curve.rows.sum()
            colour = style["color"]
            below.bar(left, share, width / len(curves), align="edge", color=colour)
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 100)
    ax.set_ylabel("Rows that are right, %")
    last = ax if below is None else below
    last.set_xlabel("Probability of the predicted class, %")
    for axes in (ax, last):
        axes.spines[["top", "right"]].set_visible(False)
    if below is not None:
        below.set_ylabel("Rows, %")
        below.set_yscale("log")
        below.set_ylim(0.1, 100)
        below.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    handles, names = ax.get_legend_handles_labels()
    ax.legend(handles, names, **LEGEND)
    return _figure_of(ax)


reliability.__module__ = "classfilter.plot"


def probabilities(
    time: ArrayLike,
    truth: ArrayLike,
    raw: ArrayLike,
    methods: Mapping[str, ArrayLike],
    *,
    strong: ArrayLike | None = None,
    zone: Zone = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the probability of the true class over time: the ideal is a line at 1.

    Parameters
    ----------
    time : array_like (T,)
        Seconds or dates, increasing.
    truth : array_like of int (T,)
        True classes; rows with a negative one stay empty.
    raw : array_like (T, K)
        The classifiers' outputs, drawn as dots.
    methods : mapping of str to array_like (T, K)
        Estimates by name, drawn as lines in this order.
    strong : array_like of bool (T,), optional
        Where the strong classifier was called: a vertical grid line and a larger dot.
    zone : str or tzinfo, optional
        Draw dates in this time zone, such as "Europe/Berlin"; times are UNIX seconds then. By
        default, dates where `time` has them, and else seconds, minutes or hours.
    ax : matplotlib Axes, optional
        Where to draw; by default, on a new figure.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.

    Examples
    --------
    >>> figure = probabilities([0, 5], [0, 1], [[0.9, 0.1]] * 2, {"Mean": [[0.8, 0.2]] * 2})
    >>> len(figure.axes[0].lines)
    2
    """
    t, y = _stream(time, truth, "truth")
    called = np.zeros(t.size, dtype=bool) if strong is None else np.asarray(strong, dtype=bool)
    if called.shape != t.shape:
        raise ValueError(f"strong has shape {called.shape}; it must be {t.shape} like time")
    axes, axis = _axes(ax, height=3.4), time_axis(t, zone_of_times(time, zone))
    x = axis.x(t)
    p = _true_class_probs("raw", raw, y)
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": "black", "zorder": 3}
    axes.plot(x[~called], p[~called], label="Raw", markersize=2.2, **dots)
    if called.any():
        full = axes.get_xaxis_transform()  # from the bottom to the top, whatever the limits
        axes.vlines(x[called], 0, 1, transform=full, color="0.82", linewidth=0.8, zorder=0)
        axes.plot(x[called], p[called], label="Raw, strong call (grid)", markersize=5.0, **dots)
    cut = np.flatnonzero(np.diff(t) > 10 * typical_step(t)) + 1  # a NaN here interrupts the line
    for i, (name, probs) in enumerate(methods.items()):
        p = np.insert(_true_class_probs(name, probs, y), cut, np.nan)
        axes.plot(np.insert(x, cut, x[cut]), p, label=name, zorder=4, **LINES[i % len(LINES)])
    axes.set_ylabel("Probability of the true class")
    axes.set_ylim(-0.03, 1.03)
    handles, names = axes.get_legend_handles_labels()
    return _finish(axes, axis, t, handles, names, ax is None)


def timeline(
    time: ArrayLike,
    truth: ArrayLike | None,
    methods: Mapping[str, ArrayLike | Events],
    classes: Sequence[str],
    *,
    scores: str = "probabilities",
    zone: Zone = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the class over time as coloured bands: the truth, then one row per method.

    Several labels at once have lanes of their own, since they overlap: a band where a label is on,
    more probable than not, and its probability as an area in it.

    Parameters
    ----------
    time : array_like (T,)
        Seconds or dates, increasing. A row lasts until the next; over a gap of more than ten median
        steps the bands are interrupted.
    truth : array_like of int (T,) or None
        True classes, drawn on top; negative is left empty. Of several labels at once, (T, L): 1, 0,
        or -1 where that is not known.
    methods : mapping of str to array_like (T, K) or (T,), or to Events
        Probabilities, class indices or events by name, drawn downwards in this order.
    classes : sequence of str
        Names of the K classes, or of the labels. The legend shows the classes that occur.
    scores : {"probabilities", "independent"}
        ``"independent"`` for several labels at once; that is so, too, where `truth` is (T, L).
    zone : str or tzinfo, optional
        Draw dates in this time zone, such as "Europe/Berlin"; times are UNIX seconds then. By
        default, dates where `time` has them, and else seconds, minutes or hours.
    ax : matplotlib Axes, optional
        Where to draw; by default, on a new figure.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.

    Examples
    --------
    >>> figure = timeline([0, 5, 10], [0, 0, 1], {"Raw": [0, 1, 1]}, ["rest", "move"])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['Truth', 'Raw']
    """
    from matplotlib.patches import Patch

    rows: dict[str, Any] = {} if truth is None else {"Truth": truth}
    rows.update(methods)
    if not rows:
        raise ValueError("there is nothing to draw: give truth or methods")
    if scores not in ("probabilities", "independent"):
        raise ArgumentError("scores", scores, must='it must be "probabilities" or "independent"')
    t, bars = _increasing_times(time), {}
    axis = time_axis(t, zone_of_times(time, zone))
    if scores == "independent" or (truth is not None and np.ndim(truth) == 2):
        axes = _axes(ax, _lanes_height(rows, classes))
        _draw_lanes(axes, axis, t, rows, classes)
        return _finish(axes, axis, t, [], [], ax is None)
    for name, drawn in rows.items():
        if isinstance(drawn, Events):
            bars[name] = event_bars(t, drawn, classes)
            continue
        a = np.asarray(drawn)
        _, k = _stream(time, a.argmax(axis=1) if a.ndim == 2 else a, name)
        if k.max() >= len(classes):
            raise ValueError(f"{name} has class {k.max()}, but classes has {len(classes)} names")
        bars[name] = row_bars(t, k)
    axes = _axes(ax, height=0.9 + 0.4 * len(rows))
    for row, (start, end, k) in enumerate(bars.values()):
        spans = np.column_stack([axis.x(start), axis.x(end) - axis.x(start)])
        for c in np.unique(k[k >= 0]):
            axes.broken_barh(spans[k == c].tolist(), (row - 0.4, 0.8), **band(c))
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    shown = [int(c) for c in np.unique(np.concatenate([k for *_, k in bars.values()])) if c >= 0]
    names = [classes[c] for c in shown]
    return _finish(axes, axis, t, [Patch(**band(c)) for c in shown], names, ax is None)


def overview(
    rec: Rows,
    probs: ArrayLike,
    *,
    rows: slice = slice(None),
    strong: str | None = None,
    zone: Zone = None,
) -> Figure:
    """Draw a recording: the classes over time, and the probabilities, raw and filtered.

    Parameters
    ----------
    rec : Rows
        Where several rows have one time, the last of them is drawn.
    probs : array_like (T, K)
        Its filtered probabilities.
    rows : slice, optional
        Which rows to draw; all by default.
    strong : str, optional
        The source whose rows are marked.
    zone : str or tzinfo, optional
        Draw dates in this time zone, such as "Europe/Berlin". By default, that of the recording,
        if its times were dates, and else seconds, minutes or hours from its first
        row.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.

    Examples
    --------
    >>> import classfilter as cf
    >>> p = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]
    >>> rec = cf.rows(time=[0, 5, 10], source="weak", probs=p, classes=["rest", "move"])
    >>> figure = overview(rec, cf.Pipeline(cf.DirichletFilter(rec.classes)).run(rec))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['', 'Raw', 'Filtered']
    """
    from matplotlib.figure import Figure

    P = np.asarray(probs, dtype=np.float64)
    if P.shape != rec.probs.shape:
        raise ValueError(f"probs has shape {P.shape}; it must be {rec.probs.shape} like rec.probs")
    if not len(rec):
        raise ValueError("there is nothing to draw: the recording has no rows")
    last = np.flatnonzero(np.diff(rec.time, append=np.inf) > 0)
    last = np.intersect1d(last, np.arange(len(rec))[rows])
    if zone is None and rec.time_kind.kind == "date":
        zone = rec.time_kind.zone or NO_ZONE
    start = rec.time[0] if zone is None else 0.0
    t, raw, P = (rec.time - start)[last], rec.probs[last], P[last]
    axis = time_axis(t, zone_of_times(t, zone))
    called = np.isin(rec.time[last], rec.time[rec.of_source(strong or "")])
    truth = None if rec.label is None else rec.label[last]
    if not rec.heads.is_exclusive:
        lanes: dict[str, Any] = {"raw": raw, "filtered": P}
        if truth is not None:
            on = np.nan_to_num(rec.heads.certain(truth), nan=-1)
            lanes = {"truth": on.astype(np.intp), **lanes}
        return _overview_of_labels(rec, axis, t, lanes, called, strong)
    figure = Figure(figsize=(9.0, 6.0), dpi=200, layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, height_ratios=(2, 3, 3), sharex=True)
    predicted = np.where(np.isnan(raw[:, 0]), -1, np.nan_to_num(raw).argmax(axis=1))
    timeline(t, truth, {"Raw": predicted, "Filtered": P}, rec.classes, zone=zone, ax=top)
    for axes, name, p in ((middle, "Raw", raw), (bottom, "Filtered", P)):
        _stacked(axes, axis, t, p)
        axes.set_ylabel(name)
        axes.label_outer()
    top.set_xlabel("")
    if called.any():
        x = axis.x(t[called])
        above = {"transform": middle.get_xaxis_transform(), "clip_on": False}
        middle.plot(x, np.full(x.size, 1.03), "kv", markersize=3.5, **above)
        middle.set_title(
            f"Probabilities; a mark is a call of {strong}", fontsize=9, loc="left", pad=10
        )
    axis.draw(bottom)
    return figure


def comparison(result: Comparison) -> Figure:
    """Draw one row per method: its accuracy, and whether it differs from the best.

    Parameters
    ----------
    result : Comparison
        Of `compare`; multi-label, macro-F1 is drawn, and without labels the agreement.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.
    """
    from matplotlib.figure import Figure

    from ..compare import MEASURES

    labelled = any("accuracy" in row.differences for row in result.rows)
    key = ("macro_f1" if result.labels else "accuracy") if labelled else "agreement"
    rows = [row for row in result.rows if key in row.differences]
    best = next(getattr(row, key) for row in rows if row.differences[key].word == "best")
    figure = Figure(figsize=(7.5, 0.32 * len(rows) + 1.0), dpi=200, layout="constrained")
    axes = figure.subplots()
    for y, row in enumerate(rows):
        difference = row.differences[key]
        colour, mark = (COLOURS[5], "s") if row.smoothed else (COLOURS[0], "o")
        ends = [100 * (best + end) for end in (difference.low, difference.high)]
        axes.plot(ends, [y, y], color=colour, linewidth=1.2)
        face = colour if difference.word in ("best", "level") else "white"
        value = 100 * getattr(row, key)
        axes.plot(value, y, mark, color=colour, markerfacecolor=face, markersize=6)
    axes.axvline(100 * best, color="0.7", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row.differences[key].word == "best" else "normal")
    axes.invert_yaxis()
    axes.set_xlabel(
        f"{MEASURES[key].capitalize()}; lines: 95 % intervals of the difference to the best; "
        "filled: level with it"
    )
    axes.grid(axis="x", linewidth=0.4)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    return figure


def operating_curve(curve: OperatingCurve) -> Figure:
    """Draw the share of events that rules find in time against their false events per day.

    Parameters
    ----------
    curve : OperatingCurve
        ``pipe.tuning.operating``, of `tune` with `max_false_events_per_day`.

    Returns
    -------
    matplotlib Figure
        To be saved by the caller.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), dpi=200, layout="constrained")
    axes = figure.subplots()
    rates = [point.false_per_day for point in curve.points]
    sensitivities = [100 * point.sensitivity for point in curve.points]
    axes.plot(rates, sensitivities, "o-", color=COLOURS[0], markerfacecolor="white", label="rules")
    for point, mark, label in ((curve.chosen, "o", "chosen"), (curve.left_out, "x", "left out")):
        if point is not None:
            at = point.false_per_day, 100 * point.sensitivity
            axes.plot(*at, mark, color=COLOURS[5], markersize=8, label=label)
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 100)
    when = "" if np.isinf(curve.within) else f" within {curve.within:g} s"
    axes.set_xlabel("False events per day")
    axes.set_ylabel(f"Events found{when} (%)")
    axes.legend(frameon=False)
    axes.grid(linewidth=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _overview_of_labels(
    rec: Rows, axis: TimeAxis, t: Floats, rows: Mapping[str, Any], called: Any, strong: Any
) -> Figure:
    """Draw a recording of several labels at once: the truth, the scores, and the probabilities."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, _lanes_height(rows, rec.classes)), dpi=200, layout="constrained")
    axes = figure.subplots()
    _draw_lanes(axes, axis, t, rows, rec.classes)
    _finish(axes, axis, t, [], [], grows=False)
    if called.any():
        x = axis.x(t[called])
        axes.plot(x, np.full(x.size, -0.75), "kv", markersize=3.5, clip_on=False)
        axes.set_title(f"A mark is a call of {strong}", fontsize=9, loc="left", pad=10)
    return figure


def _stacked(axes: Axes, axis: TimeAxis, t: Floats, p: Floats) -> None:
    """Draw the probabilities of the classes stacked; a row lasts until the next."""
    x, held = _held(axis, t, p)
    edges = np.cumsum(held, axis=1)
    below = np.zeros(len(edges))
    for c, above in enumerate(edges.T):
        axes.fill_between(x, below, above, step="post", **band(c))
        below = above
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)


def _increasing_times(time: ArrayLike) -> Floats:
    t = seconds(time)
    if t.size < 1 or np.any(np.diff(t) <= 0):
        raise ValueError(f"time has shape {t.shape}; it must be (T,), and increasing")
    return t


def _stream(time: ArrayLike, labels: ArrayLike, name: str) -> tuple[Floats, Ints]:
    t, k = _increasing_times(time), np.asarray(labels)
    if k.shape != t.shape:
        hint = "; timeline draws multi-label data" if k.ndim == 2 else ""
        raise ValueError(f"{name} has shape {k.shape}; it must be {t.shape} like time{hint}")
    return t, k.astype(np.intp)


def _true_class_probs(name: str, probs: ArrayLike, y: Ints) -> Floats:
    """Return the probability of the true class (T,); NaN in unlabelled rows."""
    p = np.asarray(probs, dtype=np.float64)
    if p.ndim != 2 or len(p) != y.size or p.shape[1] <= y.max():
        raise ValueError(f"{name} has shape {p.shape}; it must be ({y.size}, K), K > {y.max()}")
    return np.where(y >= 0, p[np.arange(y.size), y], np.nan)


def _axes(ax: Axes | None, height: float) -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(9.0, height), layout="constrained").subplots() if ax is None else ax


def _figure_of(axes: Axes) -> Figure:
    from matplotlib.figure import Figure

    figure = axes.figure
    while not isinstance(figure, Figure):  # a part of a figure
        figure = figure.figure
    return figure


def _finish(
    axes: Axes, axis: TimeAxis, t: Floats, handles: Sequence[Any], names: Sequence[str], grows: bool
) -> Figure:
    """Label the time axis, put the legend above the data, remove the frame.

    A figure of our own grows with its legend.
    """
    axes.set_xlim(*axis.x(np.array([t[0], t[-1] + typical_step(t)])))
    axis.draw(axes)
    axes.spines[["top", "right"]].set_visible(False)
    lines = legend_above(axes, handles, names) if handles else 1
    figure = _figure_of(axes)
    if grows:
        figure.set_figheight(figure.get_figheight() + (lines - 1) * LEGEND_LINE)
    return figure
