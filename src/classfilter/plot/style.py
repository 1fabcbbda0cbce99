"""How figures look: colours, hatching, dashes, legends beside the data, and the axis of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..inputs import find_zone as zone_of_name
from ..support.arrays import median_step
from ..support.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's, which the colour-blind can distinguish, neighbours far apart."""
#: Each class has its own, so that prints in grey tell it from others.
HATCHES = (
    "", "////", "....", "\\\\\\\\", "----", "xxxx", "||||", "oo",
    "++++", "//..", "\\\\..", "--..", "||..", "xx..", "**", "++oo",
)  # fmt: skip
LINES: tuple[dict[str, Any], ...] = (
    {"color": "#E69F00", "linestyle": (0, (5, 2)), "linewidth": 1.6},
    {"color": "#009E73", "linestyle": (0, (6, 1.5, 1, 1.5)), "linewidth": 1.6},
    {"color": "#0072B2", "linestyle": "-", "linewidth": 2.2},
    {"color": "#CC79A7", "linestyle": (0, (1, 1)), "linewidth": 1.8},
    {"color": "#D55E00", "linestyle": (0, (8, 2, 1, 2, 1, 2)), "linewidth": 1.6},
)
DARK = ("#0072B2", "#009E73", "#D55E00")
"""Colours on which white hatching is seen; on the others it is black."""
LEGEND: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "frameon": False, "borderaxespad": 0.0,
    "handlelength": 2.4,
}  # fmt: skip
"""A legend above the data."""
LEGEND_KEY = 54
"""The width of a legend's key and the space around it, in points."""
LEGEND_LINE = 0.22
"""The height of a line of a legend, in inches."""

Zone = str | tzinfo | None
NO_ZONE = timezone(timedelta(0), "no zone")
"""Draws dates without a zone as they are."""


def band(c: int) -> dict[str, Any]:
    """Return colour and hatching of class c.

    The hatching alone tells the first 16 classes apart, both together the first 128.
    """
    colour = COLOURS[c % len(COLOURS)]
    hatch = HATCHES[(c + c // len(HATCHES)) % len(HATCHES)]
    edge = (1.0, 1.0, 1.0, 0.6) if colour in DARK else (0.0, 0.0, 0.0, 0.45)
    return {"facecolor": colour, "hatch": hatch, "edgecolor": edge, "linewidth": 0.0}


def legend_above(axes: Axes, handles: Sequence[Any], names: Sequence[str]) -> int:
    """Put the legend above the data, in as many columns as fit the width; return its lines."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(size=rcParams["legend.fontsize"])
    widths = [TextPath((0, 0), name, prop=font).get_extents().width for name in names]
    points = axes.bbox.width / axes.figure.dpi * 72
    columns = min(len(names), 6)
    while columns > 1 and _width(widths, columns) > points:
        columns -= 1
    axes.legend(handles, names, ncols=columns, **LEGEND)
    return -(-len(names) // max(columns, 1))


def _width(widths: Sequence[float], columns: int) -> float:
    """Return the width of a legend of names in columns, in points."""
    parts = np.array_split(np.array(widths), columns)
    return float(sum(part.max() + LEGEND_KEY for part in parts))


AXIS_UNITS = {1.0: "s", 60.0: "min", 3600.0: "h"}
"""Seconds in one unit of an axis, and its name."""


class TimeAxis(NamedTuple):
    """The axis of time: seconds, minutes or hours, or dates.

    Attributes
    ----------
    unit : float
        Seconds in one unit of the axis.
    zone : tzinfo or None
        Of the dates; None where the axis counts seconds, minutes or hours.
    """

    unit: float
    zone: tzinfo | None

    def x(self, t: Floats) -> Floats:
        """Return the places of times in seconds."""
        if self.zone is None:
            return t / self.unit
        from matplotlib.dates import date2num

        epoch = float(date2num(np.datetime64(0, "s")))  # type: ignore[no-untyped-call]
        return t / self.unit + epoch

    def draw(self, axes: Axes) -> None:
        """Label the axis."""
        if self.zone is None:
            axes.set_xlabel(f"Time ({AXIS_UNITS[self.unit]})")
            return
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(tz=self.zone)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator, tz=self.zone)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(formatter)
        axes.set_xlabel(f"Time ({self.zone})")


def time_axis(t: Floats, zone: tzinfo | None) -> TimeAxis:
    """Return the axis of times in seconds: dates in a zone, or the unit in which it reads well.

    Examples
    --------
    >>> time_axis(np.array([0.0, 600.0]), None)
    TimeAxis(unit=60.0, zone=None)
    """
    if zone is not None:
        return TimeAxis(86400.0, zone)
    span = t[-1] - t[0]
    return TimeAxis(1.0 if span <= 60 else 60.0 if span <= 7200 else 3600.0, None)


def zone_of_times(time: ArrayLike, zone: Zone) -> tzinfo | None:
    """Return the zone that is given, or else that of the dates in `time`; None of numbers."""
    if isinstance(zone, str):
        named = zone_of_name(zone)
        if named is not None:
            return named
    elif isinstance(zone, tzinfo):
        return zone
    if zone is not None:
        must = 'it must be a time zone such as "Europe/Berlin"'
        raise ArgumentError("zone", zone, must=must)
    column = np.asarray(time)
    if column.dtype.kind in "iuf" or not column.size:
        return None
    first = column.reshape(-1)[0]
    return (isinstance(first, datetime) and first.tzinfo) or UTC


def typical_step(t: Floats) -> float:
    """Return the median step; a step ten times as long is a gap."""
    return median_step(np.diff(t))


def row_bars(t: Floats, k: Ints) -> tuple[Floats, Floats, Ints]:
    """Return start, end and class of the stretches of equal class; a row lasts until the next."""
    step = np.append(np.diff(t), typical_step(t))
    step[step > 10 * typical_step(t)] = typical_step(t)  # the last row before a gap
    joined = (np.diff(k) == 0) & (np.diff(t) <= 10 * typical_step(t))
    first = np.concatenate([[0], np.flatnonzero(~joined) + 1])
    last = np.append(first[1:] - 1, t.size - 1)
    return t[first], t[last] + step[last], k[first]


def event_bars(
    t: Floats, events: Iterable[Any], classes: Sequence[str]
) -> tuple[Floats, Floats, Ints]:
    """Return start, end and class of events, cut to the time that is drawn."""
    low, high = t[0], t[-1] + typical_step(t)
    streams = list(dict.fromkeys(e.stream for e in events))
    if len(streams) > 1:
        raise ValueError(f"the events are of the streams {streams}; give those of one")
    shown = [e for e in events if e.start < high and (e.end is None or e.end > low)]
    for event in shown:
        if event.label not in classes:
            raise ValueError(f"an event has the class {event.label!r}; classes is {list(classes)}")
    start = np.array([max(e.start, low) for e in shown])
    end = np.array([high if e.end is None else min(e.end, high) for e in shown])
    return start, end, np.array([list(classes).index(e.label) for e in shown], np.intp)
