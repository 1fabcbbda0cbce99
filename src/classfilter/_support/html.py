"""Results as HTML for notebooks: tables, and small pictures in SVG. All text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from .types import Floats, Ints

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's, which the colour-blind can distinguish, neighbours far apart."""
MAX_BINS = 600
"""How many parts of a timeline are told apart."""
WIDTH, MARGIN = 640, 130
"""Of the data of a picture, and of the names beside it."""
LANE = 7
"""The height of a band."""


class Markup(str):
    """Text that is HTML already."""


def markup(value: Any) -> Markup:
    """Return a value as HTML; what is not HTML already is text, and its markup is escaped."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def block(*parts: Any) -> str:
    """Return parts below each other; of a text, each line is a line."""
    lines = [part if isinstance(part, Markup) else lines_of(part) for part in parts]
    return f"<div>{''.join(f'<div>{line}</div>' for line in lines if line)}</div>"


def lines_of(text: str) -> Markup:
    """Return the lines of a text."""
    return Markup("<br/>".join(markup(line) for line in text.split("\n")))


def bold(value: Any) -> Markup:
    """Return a value in bold type."""
    return Markup(f"<b>{markup(value)}</b>")


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Markup:
    """Return a table; the first column is aligned to the left, the others to the right."""

    def line(cells: Sequence[Any], tag: str) -> str:
        style = ["left", *["right"] * (len(cells) - 1)]
        return "".join(
            f'<{tag} style="text-align:{side}">{markup(cell)}</{tag}>'
            for side, cell in zip(style, cells, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return Markup(
        f"<table><thead><tr>{line(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
    )


def svg(width: float, height: float, title: str, parts: Iterable[str]) -> Markup:
    """Return a picture; `title` describes it to those who do not see it."""
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="11" '
        f'fill="currentColor">{"".join(parts)}</svg>'
    )


def words(x: float, y: float, value: Any, anchor: str = "start", limit: int = 20) -> str:
    """Return text in a picture; of a long one the beginning, and all of it under the pointer."""
    text = str(value)
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    full = f"<title>{markup(text)}</title>" if short != text else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{markup(short)}{full}</text>'


def recording(
    time: Floats,
    lanes: Sequence[tuple[str, Ints]],
    classes: Sequence[str],
    as_text: Callable[[float], str] = "{:.10g}".format,
) -> str:
    """Return how often each class is in each lane, and the lanes as a timeline.

    Of several labels at once, a lane is (T, L): 1 where a label is on, 0 where it is off.
    """
    of = "label" if any(labels.ndim == 2 for _, labels in lanes) else "class"
    counts = [
        (labels == 1).sum(axis=0)
        if labels.ndim == 2
        else np.bincount(labels[labels >= 0], minlength=len(classes))
        for _, labels in lanes
    ]
    rows = [[name, *(count[k] for count in counts)] for k, name in enumerate(classes)]
    names = [name for name, _ in lanes]
    span = f", times {as_text(time[0])} to {as_text(time[-1])}" if time.size else ""
    return block(
        f"{time.size} rows{span}",
        table([of, *names], rows),
        timeline(time, [labels for _, labels in lanes], classes, as_text),
        f"Lanes in each {of}, from the top: {', '.join(names)}." if time.size else "",
    )


def timeline(
    time: Floats,
    lanes: Sequence[Ints],
    classes: Sequence[str],
    as_text: Callable[[float], str] = "{:.10g}".format,
) -> Markup:
    """Return a picture with one row per class, and in it one lane for each of `lanes`.

    Parameters
    ----------
    time : ndarray (T,)
        Not going back.
    lanes : sequence of ndarray of int (T,) or (T, K)
        The class at each time, -1 where there is none; or which labels are on, 1, off, 0, or not
        known, -1.
    classes : sequence of str
        Names of the K classes, from the top.
    as_text : callable
        Returns a time in words.
    """
    if not time.size:
        return Markup()
    dt = np.diff(time)
    step = float(np.median(dt[dt > 0])) if (dt > 0).any() else 1.0
    bins = int(np.clip(np.rint((time[-1] - time[0]) / step) + 1, 1, MAX_BINS))
    place = (time - time[0]) / (time[-1] - time[0] + step) * bins
    # A row on an edge belongs after it, also where rounding has it just before.
    bin_of = np.minimum((place + 1e-6).astype(np.intp), bins - 1)
    scale, height = WIDTH / bins, LANE * len(lanes) + 8
    parts = []
    for k, name in enumerate(classes):
        middle = (k + 0.5) * height
        parts.append(words(MARGIN - 6, middle + 4, name, "end"))
        parts.append(
            f'<path d="M{MARGIN} {(k + 1) * height}h{WIDTH}" stroke="currentColor" opacity=".2"/>'
        )
    for lane, labels in enumerate(lanes):
        if labels.ndim == 2:
            is_there = [most_frequent(bin_of, of, bins, 2) == 1 for of in labels.T]
        else:
            shown = most_frequent(bin_of, labels, bins, len(classes))
            is_there = [shown == k for k in range(len(classes))]
        for k, where in enumerate(is_there):
            if not where.any():
                continue
            edges = np.diff(where.astype(np.int8), prepend=0, append=0)
            y = k * height + 4 + LANE * (lane + 0.5)
            path = "".join(
                f"M{MARGIN + scale * a:.1f} {y:.1f}h{scale * (b - a):.1f}"
                for a, b in zip(np.flatnonzero(edges > 0), np.flatnonzero(edges < 0), strict=True)
            )
            colour = COLOURS[lane % len(COLOURS)]
            parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{LANE - 1}"/>')
    bottom = len(classes) * height
    parts.append(words(MARGIN, bottom + 14, as_text(time[0]), limit=30))
    parts.append(words(MARGIN + WIDTH, bottom + 14, as_text(time[-1]), "end", limit=30))
    return svg(MARGIN + WIDTH + 4, bottom + 18, "The classes over time", parts)


def most_frequent(bin_of: Ints, labels: Ints, bins: int, K: int) -> Ints:
    """Return the class that is most frequent in each bin, -1 where there is none."""
    known = labels >= 0
    counts = np.bincount(bin_of[known] * K + labels[known], minlength=bins * K).reshape(bins, K)
    shown: Ints = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    return shown


def interval(value: float, low: float, high: float, start: float, end: float) -> Markup:
    """Return a mark at a value and a line from low to high, on a scale from start to end."""
    if not np.isfinite(value):
        return Markup()

    def x(at: float) -> float:
        return 5 + 110 * (at - start) / (end - start) if end > start else 60

    line = ""
    if np.isfinite(low) and np.isfinite(high):
        line = f'<path d="M{x(low):.1f} 7H{x(high):.1f}" stroke="{COLOURS[0]}"/>'
    mark = f'<circle cx="{x(value):.1f}" cy="7" r="3.5" fill="{COLOURS[0]}"/>'
    return svg(120, 14, f"{value:.3g}", [line, mark])


def curves(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    level: tuple[str, float],
    titles: tuple[str, str],
) -> Markup:
    """Return a picture of curves, their names at their ends, over the logarithm of x.

    Parameters
    ----------
    lines : mapping of str to sequence of (x, y)
        Each curve, with x > 0.
    level : (str, float)
        A horizontal line and its name.
    titles : (str, str)
        Of the two axes.
    """
    width, height, left, top = 380, 200, 52, 22
    points = [point for line in lines.values() for point in line if np.all(np.isfinite(point))]
    if not points:
        return Markup()
    xs = np.log([x for x, _ in points])
    ys = [y for _, y in points] + ([level[1]] if np.isfinite(level[1]) else [])
    (x0, x1), (y0, y1) = (min(xs), max(xs)), (min(ys), max(ys))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (np.log(x) - x0) / (x1 - x0) if x1 > x0 else 0.5
        up = (y - y0) / (y1 - y0) if y1 > y0 else 0.5
        return left + 8 + across * (width - 16), top + (1 - up) * height

    parts = [
        f'<path d="M{left} {top - 6}V{top + height + 6}H{left + width}" stroke="currentColor" '
        'fill="none" opacity=".5"/>',
        words(left, 11, titles[1], limit=60),
        words(left + width, top + height + 34, titles[0], "end", limit=60),
    ]
    names: list[tuple[float, str]] = []
    for y in (y0, y1):
        parts.append(words(left - 5, at(np.exp(x0), y)[1] + 4, f"{y:.3g}", "end"))
    for log_x in (x0, x1):
        x, _ = at(np.exp(log_x), y0)
        parts.append(words(x, top + height + 20, f"{np.exp(log_x):.3g}", "middle"))
    if np.isfinite(level[1]):
        _, y = at(np.exp(x0), level[1])
        parts.append(
            f'<path d="M{left} {y:.1f}h{width}" stroke="currentColor" stroke-dasharray="1 3"/>'
        )
        names.append((y, level[0]))
    for i, (name, line) in enumerate(lines.items()):
        places = [at(x, y) for x, y in line if np.isfinite(x) and np.isfinite(y)]
        if not places:
            continue
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dashes = f' stroke-dasharray="{6 - i} {3 * i}"' if i else ""
        colour = COLOURS[i % len(COLOURS)]
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        names.append((places[-1][1], name))
    lowest = -np.inf
    for y, name in sorted(names):
        lowest = max(y, lowest + 13)  # or they would overlap
        parts.append(words(left + width + 8, lowest + 4, name, limit=40))
    return svg(left + width + 190, top + height + 42, f"{titles[1]} over {titles[0]}", parts)
