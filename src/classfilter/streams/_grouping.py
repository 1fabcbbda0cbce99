"""Rows grouped by stream, in order of time."""

from __future__ import annotations

import numpy as np

from .._errors import Remedy, RowError
from .._support.types import Floats, Ints
from ..filters._stream_runner import stable_argsort

LONGEST_STEP = 1e30
"""The largest time between two rows that a filter takes."""


def group_and_sort(
    time: Floats, stream: Ints, sort: bool = False, last: Floats | None = None
) -> tuple[Ints, Floats]:
    """Return the rows grouped by stream, in order of time, and their time since the row before.

    `last` is the time of each stream's row before the first one here, NaN where there is none.
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
        back = dt[at] < 0
        where = "before" if back else "too long after"
        raise RowError(
            "time",
            float(t[at]),
            f"is {{}}, {where} {before[at]}, that of the row before it",
            remedy=Remedy.SORT if back else "leave the row out",
            row=int(order[at]),
        )
    return order, dt
