"""Times as numbers: dates, and text in ISO 8601, as UNIX seconds."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._errors import RowError
from ._support.types import Floats
from ._validation import first_text, require_1d

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d+))?)? ?(?:[Zz]|([+-]\d\d):?(\d\d)?)?)?"
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SPAN = re.compile(  # as pandas and as Polars write them
    r"(-)?(?:(\d+) days?,? ?)?(?:([+-])?(\d+):(\d\d):(\d\d(?:\.\d+)?))?"
    r"|(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
REMEDY = (
    "give a number, a datetime, a timedelta, or ISO 8601 text such as 2024-05-01T08:00:00Z (UTC "
    "without a zone)"
)


def seconds(time: ArrayLike) -> Floats:
    """Return times as numbers; datetimes, dates and ISO 8601 text as UNIX seconds.

    Without a zone they are in UTC. Timedeltas become seconds.
    """
    column = np.asarray(time)
    require_1d("time", column)
    t: Floats
    if column.dtype.kind in "iuf":
        t = column.astype(np.float64)
    elif column.dtype.kind in "mM":
        zero = np.timedelta64(0, "s") if column.dtype.kind == "m" else np.datetime64(0, "s")
        with np.errstate(invalid="ignore"):  # of NaT
            whole, fraction = np.divmod(column - zero, np.timedelta64(1, "s"))
        t = whole + fraction / np.timedelta64(1, "s")
    else:
        cells = column.tolist()
        parsed = [parse_timestamp(cell) for cell in cells]
        if None in parsed:
            row = first_text(cells, [row for row, x in enumerate(parsed) if x is None])
            raise RowError("time", cells[row], remedy=REMEDY, row=row)
        t = np.array(parsed, dtype=np.float64)
    invalid = ~np.isfinite(t)
    if invalid.any():
        row = int(invalid.argmax())
        at = float(t[row])
        raise RowError("time", at, "is {}", "it must be finite", "leave the row out", row)
    return t


def parse_timestamp(cell: Any) -> float | None:
    """Return one time as a number; NaN for a missing one, None for what is not a time."""
    if cell is None or cell != cell:  # NaN and NaT
        return math.nan
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime.combine(cell, time())
    if isinstance(cell, datetime):
        zoned = cell if cell.tzinfo else cell.replace(tzinfo=timezone.utc)
        return zoned.timestamp()
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return float(cell)
    if not isinstance(cell, str) or not cell.strip():
        return None
    if _NUMBER.fullmatch(cell.strip()):  # as in a CSV file
        return float(cell)
    match = _ISO.fullmatch(cell.strip())
    if match is None:
        return _parse_span(cell.strip())
    day, minute, second, fraction, hours, minutes = match.groups()
    zone = f"{hours}:{minutes or '00'}" if hours else "+00:00"
    try:
        at = f"{day}T{minute or '00:00'}{second or ':00'}{zone}"
        whole = datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None
    return whole + float(f"0.{fraction or 0}")


def _parse_span(text: str) -> float | None:
    """Return the text of a timedelta in seconds, None for other text.

    Examples
    --------
    >>> _parse_span("1 days 00:00:02.500000"), _parse_span("P1DT2.5S"), _parse_span("2")
    (86402.5, 86402.5, None)
    """
    match = _SPAN.fullmatch(text)
    if match is None:
        return None
    minus, days, sign, *clock, minus_iso, iso_days, hours, minutes, secs = match.groups()
    if text.lstrip("-").startswith("P"):
        parts = [float(part or 0) for part in (iso_days, hours, minutes, secs)]
        total = ((parts[0] * 24 + parts[1]) * 60 + parts[2]) * 60 + parts[3]
        return None if text.endswith(("P", "T")) else -total if minus_iso else total
    if days is None:  # a time of day alone says nothing about the day
        return None
    h, m, s = (float(part or 0) for part in clock)
    within = (h * 60 + m) * 60 + s
    # As pandas writes it, only the days are negative: -1 days +23:59:59 is -1 s.
    return (-1 if minus else 1) * float(days) * 86400 + (-within if sign == "-" else within)
