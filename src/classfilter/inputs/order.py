"""The order of rows: those of each stream together, in order of time, and their steps."""

from __future__ import annotations

import numpy as np

from ..errors import Remedy, RowError
from ..support.arrays import MIN_STEPS, median_step, stable_argsort
from ..support.types import Floats, Ints
from .times import TimeKind

LONGEST_STEP = 1e30
"""The largest time between two rows that a filter takes."""

NUMBERS = TimeKind()


def grouped(
    time: Floats,
    stream: Ints,
    sort: bool = False,
    last: Floats | None = None,
    kind: TimeKind = NUMBERS,
) -> tuple[Ints, Floats]:
    """Return the rows grouped by stream, in order of time, and their time since the row before.

    `last` is the time of each stream's row before the first one here, NaN where there is none.
    `kind` is what the times were, as errors show them.
    """
    order: Ints = np.lexsort((time, stream)) if sort else stable_argsort(stream)
    t, which = time[order], stream[order]
    before = np.concatenate([t[:1], t[:-1]])
    first = np.flatnonzero(np.diff(which, prepend=-1))
    before[first] = t[first]
    if last is not None:
        known = first[~np.isnan(last[which[first]])]
        before[known] = last[which[known]]
    with np.errstate(over="ignore"):
        dt: Floats = t - before
    wrong = (dt < 0) | (dt > LONGEST_STEP)
    if np.any(wrong):
        at = min(np.flatnonzero(wrong), key=lambda i: order[i])
        raise _order_error(float(t[at]), float(before[at]), int(order[at]), kind)
    return order, dt


def _order_error(time: float, before: float, row: int, kind: TimeKind) -> RowError:
    """Return the error of a row whose time is not after that of the row before it."""
    back = time < before
    shown, other = "{}", repr(before)
    if kind.text(time) != kind.text(before) and kind.kind == "date":
        shown, other = kind.text(time), kind.text(before)
    hints: tuple[str, ...] = ()
    if kind.kind == "date" and kind.zone is None and 0 < before - time <= 3600:
        hints = ("if clocks were set back then, give dates with their offset, such as +02:00",)
    return RowError(
        "time",
        time,
        f"is {shown}, {'before' if back else 'too long after'} {other}, that of the row before it",
        remedy=Remedy.SORT if back else "leave the row out",
        row=row,
        hints=hints,
    )


def group_starts(stream: Ints) -> Ints:
    """Return the rows, grouped by stream, where a new stream starts; not the first."""
    return np.flatnonzero(np.diff(stream)) + 1


def usual_step(time: Floats, stream: Ints, source: Ints) -> float:
    """Return the usual time from row to row: the least of the sources' median steps in a stream.

    So two classifiers of one frame, with stamps 50 ms apart, have the step of the frames.
    """
    order = np.lexsort((time, source, stream))
    apart, own = np.diff(time[order]), source[order][1:]
    forward = (np.diff(stream[order]) == 0) & (np.diff(source[order]) == 0) & (apart > 0)
    steps = [apart[forward & (own == i)] for i in np.unique(own)]
    enough = [one for one in steps if len(one) >= MIN_STEPS]
    return min((median_step(one) for one in enough or steps if len(one)), default=1.0)
