"""The rows of a tracker: their times, and what updates one of many states."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._support.types import Array, Floats, Ints
from .._timestamps import parse_timestamp, seconds
from .._validation import Factorized, RowError, factorize, probabilities
from ..filters._stream_runner import update_state
from ._grouping import group_and_sort

DEFAULT_SOURCE = "default"
UpdateStream = Callable[[Array, int, ArrayLike, float, float], Array]


def update_stream_of(filter: Any) -> UpdateStream:  # noqa: A002
    """Return what updates one of many states by a filter's settings: one call into C, if it can."""
    if hasattr(filter, "_update_stream"):

        def compiled(states: Array, slot: int, probs: ArrayLike, beta: float, dt: float) -> Array:
            one, time = states[slot : slot + 1], np.zeros(1)
            estimate: Array = filter._update_stream(one, time, 0, probs, beta, dt, None)
            return estimate

        return compiled

    def update(states: Array, slot: int, probs: ArrayLike, beta: float, dt: float) -> Array:
        estimate, states[slot] = update_state(filter, states[slot], probs, beta, dt)
        return estimate

    return update


def take_rows(
    streams: Sequence[Hashable] | Array,
    times: ArrayLike,
    sources: ArrayLike | str | None,
    probs: ArrayLike,
    classes: tuple[str, ...],
) -> tuple[list[Any], Floats, Factorized, Floats]:
    """Return the streams, times, sources and predictions of rows, checked."""
    names: list[Any] = streams.tolist() if hasattr(streams, "tolist") else list(streams)
    t = seconds(times)
    if sources is None or isinstance(sources, str):
        sources = [sources or DEFAULT_SOURCE] * len(names)
    cells = [DEFAULT_SOURCE if name is None else str(name) for name in np.asarray(sources, object)]
    source, rows = factorize(cells), probabilities(probs, classes)
    for label, count in {"times": len(t), "sources": len(cells), "probs": len(rows)}.items():
        if count != len(names):
            raise ValueError(f"{label} has {count} rows, streams {len(names)}; give one per row")
    return names, t, source, rows


def time_steps(t: Floats, codes: Ints, last: Floats, names: list[Any]) -> Floats:
    """Return the time of each row since the row of its stream before.

    `codes` are the streams of the rows, `last` the time of each stream's last row, NaN for a new
    one, and `names` the names of the rows' streams.
    """
    try:
        with np.errstate(over="ignore"):  # an infinite step is named by the filter
            order, grouped = group_and_sort(t, codes, last=last)
    except RowError as error:
        what, row = error.rest.partition(", that of")[0], error.row
        where = f"that of the row before it of stream {names[row]!r}"
        remedy = "give the rows of a stream in order of time"
        raise RowError("times", row, f"{what}, {where}; {remedy}") from None
    dt = np.empty(len(t))
    dt[order] = grouped
    return dt


def to_seconds(time: Any) -> float:
    """Return one time as a number; NaN if it is missing."""
    if isinstance(time, float):  # of NumPy
        return float(time)
    if isinstance(time, np.generic) and time.dtype.kind in "iufM":
        return math.nan if np.isnan(time) else float(seconds(np.array([time]))[0])
    try:
        at = parse_timestamp(time)
    except OverflowError:
        at = None
    if at is None:
        raise ValueError(
            f"time is {time!r}; give a number, a datetime, or ISO 8601 text with a zone"
        )
    return at
