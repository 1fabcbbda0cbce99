"""Times as numbers: dates, and text in ISO 8601, as UNIX seconds; durations in seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, Remedy, RowError
from ..support.arrays import as_plain
from ..support.types import Duration, Floats, is_number
from ..support.validation import first_text, require_1d
from .time_kind import TimeKind

_OTHER_DATE = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b")
"""A date whose order of day, month and year only a format can tell."""
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:([T ]\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)[.,](\d+))? ?([Zz]|[+-]\d\d:?(?:\d\d)?)?)?"
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SPAN = re.compile(  # as pandas and as Polars write them
    r"(-)?(?:(\d+) days?,? ?)?(?:([+-])?(\d+):(\d\d):(\d\d(?:\.\d+)?))?"
    r"|(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""The seconds of each unit that the text of a duration may have."""
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of each unit of numbers a second has."""
_DURATION = re.compile(r"([0-9.eE+-]+?)\s*(ms|s|min|m|h|d|)")
REMEDY = (
    "give a number, a datetime, a timedelta, or ISO 8601 text such as 2024-05-01T08:00:00Z (UTC "
    "without a zone)"
)


def per_second(unit: str | None) -> float:
    """Return how many of a unit a second has; 1 for None, which leaves numbers as they are."""
    if unit is not None and (not isinstance(unit, str) or unit not in PER_SECOND):
        raise ArgumentError("unit", unit, rule=f"it must be one of {', '.join(PER_SECOND)}")
    return PER_SECOND[unit or "s"]


def seconds(time: ArrayLike, unit: str | None = None) -> Floats:
    """Return times as numbers; datetimes, dates and ISO 8601 text as UNIX seconds.

    Without a zone they are in UTC. Timedeltas become seconds. Numbers of a unit become seconds too.

    Examples
    --------
    >>> seconds([1500, 2000], unit="ms"), seconds(["1970-01-02"], unit="ms")
    (array([1.5, 2. ]), array([86400.]))
    """
    return read_times(time, unit)[0]


def read_times(
    time: ArrayLike, unit: str | None = None, time_format: str | None = None
) -> tuple[Floats, TimeKind]:
    """Return times as `seconds` does, and what they were; text of dates by a format, if given."""
    if isinstance(time, np.ma.MaskedArray):
        time = as_plain(time)
    column, factor = np.asarray(time), per_second(unit)
    require_1d("time", column)
    t: Floats
    kind = TimeKind()
    if column.dtype.kind in "iuf":
        t = column.astype(np.float64) / factor
    elif column.dtype.kind in "mM":
        zero = np.timedelta64(0, "s") if column.dtype.kind == "m" else np.datetime64(0, "s")
        with np.errstate(invalid="ignore"):  # of NaT
            whole, fraction = np.divmod(column - zero, np.timedelta64(1, "s"))
        t = whole + fraction / np.timedelta64(1, "s")
        kind = TimeKind("span" if column.dtype.kind == "m" else "date")
    else:
        cells = column.tolist()
        if time_format is not None:
            cells = [_by_format(cell, time_format, row) for row, cell in enumerate(cells)]
        parsed = [parse_timestamp(cell, factor) for cell in cells]
        if None in parsed:
            row = first_text(cells, [row for row, x in enumerate(parsed) if x is None])
            other = isinstance(cells[row], str) and _OTHER_DATE.match(cells[row])
            raise RowError(
                "time", cells[row], remedy=Remedy.TIME_FORMAT if other else REMEDY, row=row
            )
        t, kind = np.array(parsed, dtype=np.float64), TimeKind.of_cells(cells)
    invalid = ~np.isfinite(t)
    if invalid.any():
        row = int(invalid.argmax())
        at = float(t[row])
        raise RowError("time", at, "is {}", "it must be finite", "leave the row out", row)
    return t, kind


def _by_format(cell: Any, time_format: str, row: int) -> Any:
    """Return the text of a date as a datetime; what is no text stays as it is."""
    if not isinstance(cell, str) or not cell.strip():
        return cell
    if not isinstance(time_format, str):
        rule = "it must be text, as for datetime.strptime"
        raise ArgumentError("time_format", time_format, rule=rule)
    try:
        return datetime.strptime(cell.strip(), time_format)
    except ValueError:
        rule = f"it must be written as time_format says, {time_format!r}"
        raise RowError("time", cell, rule=rule, row=row) from None


def duration(argument: str, value: Duration | Any, entry: str | None = None) -> float:
    """Return how long something lasts as a number: ``"30s"``, a timedelta, or a number as it is.

    Parameters
    ----------
    argument : str
        Its name, for an error.
    value : float, str, timedelta or numpy.timedelta64
        A number, also as text, is in the unit of the times; all else becomes seconds.
    entry : str, optional
        The key, where the argument is a mapping.

    Examples
    --------
    >>> duration("half_life", "1.5min"), duration("half_life", timedelta(hours=1))
    (90.0, 3600.0)
    """
    if isinstance(value, (timedelta, np.timedelta64)):
        return float(np.timedelta64(value) / np.timedelta64(1, "s"))
    if is_number(value):
        try:
            return float(value)
        except OverflowError:  # a whole number beyond all floats
            return math.inf
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        return float(match[1]) * UNITS.get(match[2], 1.0)  # type: ignore[index]
    except (TypeError, ValueError):
        remedy = "give a number, a timedelta, or text such as 500ms, 60s, 5m or 2h"
        raise ArgumentError(
            argument, value, rule="it must be a duration", remedy=remedy, entry=entry
        ) from None


def positive_duration(argument: str, value: Duration | Any) -> float:
    """Return a duration as a number, if it is positive and finite."""
    number = duration(argument, value)
    if not 0 < number < math.inf:
        raise ArgumentError(argument, value, rule="it must be positive and finite")
    return number


def parse_timestamp(cell: Any, factor: float = 1.0) -> float | None:
    """Return one time as a number; NaN for a missing one, None for what is not a time.

    Numbers are divided by a factor: how many of their unit a second has.
    """
    if cell is None or cell != cell:  # NaN and NaT
        return math.nan
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime.combine(cell, time())
    if isinstance(cell, datetime):
        zoned = cell if cell.tzinfo else cell.replace(tzinfo=UTC)
        return zoned.timestamp()
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        try:
            return float(cell) / factor
        except OverflowError:  # an integer beyond all floats
            return math.inf if cell > 0 else -math.inf
    if not isinstance(cell, str) or not cell.strip():
        return None
    if _NUMBER.fullmatch(cell.strip()):  # as in a CSV file
        return float(cell) / factor
    match = _ISO.fullmatch(cell.strip())
    if match is None:
        return _parse_span(cell.strip())
    day, clock, fraction, zone = match.groups()  # it has other forms, and fewer digits
    try:
        at = f"{day}{clock or 'T00:00'}{(zone or 'Z').upper().rstrip(':')}"
        whole = datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None
    if fraction is None:
        return whole
    if whole >= 0:
        return float(f"{whole:.0f}.{fraction}")  # rounded once, so that what was written comes back
    digits = fraction[:400]  # the shortest text of a double has no more
    return float(Fraction(int(whole) * 10 ** len(digits) + int(digits), 10 ** len(digits)))


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
