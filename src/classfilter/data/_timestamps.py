"""Times: parsed to UNIX seconds, and rows grouped by stream in order of time."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Floats, Ints
from .._validation import RowError, first_text, require_1d
from ..filters._stream_runner import stable_argsort

_ISO = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d+))?)? ?(?:([Zz])|([+-]\d\d):?(\d\d)?)"


def seconds(time: ArrayLike) -> Floats:
    """Return times as numbers; datetimes and ISO 8601 text as UNIX seconds."""
    column = np.asarray(time)
    require_1d("time", column)
    t: Floats
    if column.dtype.kind in "iuf":
        t = column.astype(np.float64)
    elif column.dtype.kind == "M":
        with np.errstate(invalid="ignore"):  # of NaT
            whole, fraction = np.divmod(column - np.datetime64(0, "s"), np.timedelta64(1, "s"))
        t = whole + fraction / np.timedelta64(1, "s")
    else:
        cells = column.tolist()
        parsed = [parse_timestamp(cell) for cell in cells]
        if None in parsed:
            row = first_text(cells, [row for row, x in enumerate(parsed) if x is None])
            rest = f" is {cells[row]!r}; give a number, a datetime, or ISO 8601 text with a zone, "
            raise RowError("time", row, f"{rest}such as 2024-05-01T08:00:00Z")
        t = np.array(parsed, dtype=np.float64)
    invalid = ~np.isfinite(t)
    if invalid.any():
        row = int(invalid.argmax())
        raise RowError("time", row, f" is {t[row]}; it must be finite: leave the row out")
    return t


def parse_timestamp(cell: Any) -> float | None:
    """Return one time as a number; NaN for a missing one, None for what is not a time."""
    if cell is None or cell != cell:  # NaN and NaT
        return math.nan
    if isinstance(cell, datetime):
        zoned = cell if cell.tzinfo else cell.replace(tzinfo=timezone.utc)
        return zoned.timestamp()
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return float(cell)
    match = re.fullmatch(_ISO, cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return None
    day, minute, second, fraction, utc, hours, minutes = match.groups()
    zone = "+00:00" if utc else f"{hours}:{minutes or '00'}"
    try:
        whole = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}{zone}").timestamp()
    except ValueError:
        return None
    return whole + float(f"0.{fraction or 0}")


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
