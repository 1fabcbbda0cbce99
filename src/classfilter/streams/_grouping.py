"""Rows grouped by stream, in order of time."""

from __future__ import annotations

import numpy as np

from .._support.types import Floats, Ints
from .._validation import RowError
from ..filters._stream_runner import stable_argsort


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
    dt: Floats = t - before
    if np.any(dt < 0):
        at = min(np.flatnonzero(dt < 0), key=lambda i: order[i])
        raise RowError(
            "time",
            int(order[at]),
            f" is {t[at]}, before {before[at]}, that of the row before it; put the rows "
            "in order of time, or give sort=True",
        )
    return order, dt
