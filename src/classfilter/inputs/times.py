"""Times as numbers, what they were before, and whether their unit and their steps fit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, Fix, RowError
from ..support.arrays import as_plain
from ..support.types import Array, Duration, Floats, is_number

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_OFFSET_OF_ANY = re.compile(r"(?:UTC)?([+-]\d\d):?(\d\d)?")
_ZONE_OF_TEXT = re.compile(r"\d\d:\d\d.*?([Zz]|[+-]\d\d(?::?\d\d)?)\s*")
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d")


def require_1d(name: str, column: NDArray[Any]) -> None:
    """Raise unless a column has one dimension."""
    if column.ndim != 1:
        raise ValueError(f"{name} has {column.ndim} dimensions; it must have 1: one entry per row")


def first_text(cells: Sequence[Any], rows: Sequence[int]) -> int:
    """Return the first of the rows whose cell is not even the text of a number."""
    for row in rows:
        try:
            float(cells[row])
        except (TypeError, ValueError):
            return row
    return rows[0]


class TimeKind(NamedTuple):
    """What times were: numbers, dates or spans of time.

    Attributes
    ----------
    kind : {"number", "date", "span"}
        Datetimes and text of them are dates, timedeltas are spans.
    zone : tzinfo or None
        Of dates; None where they have none.

    Examples
    --------
    >>> TimeKind.of_cells(["2024-05-01T08:00:00+02:00"]).text(1714543200.0)
    '2024-05-01 08:00:00+02:00'
    """

    kind: str = "number"
    zone: tzinfo | None = None

    @classmethod
    def of_cells(cls, cells: Sequence[Any]) -> TimeKind:
        """Return the kind of cells that are times, by the first; of several zones, UTC."""
        first = next(iter(cells), None)
        if isinstance(first, timedelta):
            return cls("span")
        if isinstance(first, date):
            zones = {str(zone): zone for zone in (getattr(cell, "tzinfo", None) for cell in cells)}
        elif isinstance(first, str) and _DATE.match(first):
            matches = (_ZONE_OF_TEXT.search(str(cell)) for cell in cells)
            texts = {None if match is None else match[1] for match in matches}
            zones = {str(text): None if text is None else named_zone(text) for text in texts}
        else:
            text = isinstance(first, str) and not re.fullmatch(r"\s*[-+.\deE]+\s*", first)
            return cls("span" if text else "number")
        return cls("date", zones.popitem()[1] if len(zones) == 1 else UTC)

    @property
    def is_number(self) -> bool:
        """Whether they were numbers, in a unit that nothing says."""
        return self.kind == "number"

    def text(self, time: float) -> str:
        """Return a time in words: a date in its own zone."""
        if self.kind != "date":
            return f"{time:.10g}"
        try:
            at = datetime.fromtimestamp(time, self.zone or UTC)
        except (OverflowError, ValueError, OSError):
            return f"{time:.10g}"
        shown = at if self.zone else at.replace(tzinfo=None)
        return shown.isoformat(" ", "seconds")

    def given_back(self, time: Floats) -> Array:
        """Return times as numbers, or as datetimes or timedeltas of NumPy, to the microsecond."""
        if self.is_number:
            return time
        whole, fraction = np.divmod(time, 1.0)
        us = whole.astype(np.int64) * 1_000_000 + np.rint(fraction * 1e6).astype(np.int64)
        return us.astype("datetime64[us]" if self.kind == "date" else "timedelta64[us]")

    def zone_name(self, offsets: bool = False) -> str | None:
        """Return the name of the zone in the IANA database; None where there is no zone.

        With `offsets`, a fixed offset is written as ``+02:00``. Without, whole hours have a name
        there, and of other offsets the name is UTC.
        """
        if self.zone is None:
            return None
        name = getattr(self.zone, "key", None) or getattr(self.zone, "zone", None)
        offset = self.zone.utcoffset(None)
        if name is not None or not offset:
            return str(name or "UTC")
        minutes = offset // timedelta(minutes=1)
        if offsets:
            return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        hours, rest = divmod(minutes, 60)
        return "UTC" if rest or not -14 <= -hours <= 12 else f"Etc/GMT{-hours:+d}"


def named_zone(name: str) -> tzinfo:
    """Return the zone of a name, or of an offset such as ``+02:00``; UTC if it is not known."""
    match = _OFFSET_OF_ANY.fullmatch(name)
    zone = find_zone(name if match is None else f"{match[1]}:{match[2] or '00'}")
    return zone or UTC


def find_zone(name: str) -> tzinfo | None:
    """Return the zone ``"Europe/Berlin"`` or ``"+02:00"``; None if it is not known."""
    match = _OFFSET.fullmatch(name)
    try:
        if match is None:
            return UTC if name == "UTC" else ZoneInfo(name)
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    except (KeyError, ValueError, OSError):
        return None


def common_kind(kinds: Sequence[TimeKind]) -> TimeKind:
    """Return what the times of several streams were together: dates of several zones are in UTC."""
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) == 1:
        return distinct[0]
    if {kind.kind for kind in distinct} != {"date"}:
        return TimeKind()
    zones = {kind.zone_name(offsets=True) for kind in distinct}
    return distinct[0] if len(zones) == 1 else distinct[0]._replace(zone=UTC)


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

_TIME_FORMAT = ("say how they are written: ", Fix("time_format", "%d.%m.%Y %H:%M:%S"))


def per_second(unit: str | None) -> float:
    """Return how many of a unit a second has; 1 for None, which leaves numbers as they are."""
    if unit is not None and (not isinstance(unit, str) or unit not in PER_SECOND):
        raise ArgumentError("unit", unit, must=f"it must be one of {', '.join(PER_SECOND)}")
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
            raise RowError("time", cells[row], fix=_TIME_FORMAT if other else REMEDY, row=row)
        t, kind = np.array(parsed, dtype=np.float64), TimeKind.of_cells(cells)
    invalid = ~np.isfinite(t)
    if invalid.any():
        row = int(invalid.argmax())
        at = float(t[row])
        raise RowError("time", at, must="it must be finite", fix="leave the row out", row=row)
    return t, kind


def _by_format(cell: Any, time_format: str, row: int) -> Any:
    """Return the text of a date as a datetime; what is no text stays as it is."""
    if not isinstance(cell, str) or not cell.strip():
        return cell
    if not isinstance(time_format, str):
        must = "it must be text, as for datetime.strptime"
        raise ArgumentError("time_format", time_format, must=must)
    try:
        return datetime.strptime(cell.strip(), time_format)
    except ValueError:
        must = f"it must be written as time_format says, {time_format!r}"
        raise RowError("time", cell, must=must, row=row) from None


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
        fix = "give a number, a timedelta, or text such as 500ms, 60s, 5m or 2h"
        raise ArgumentError(
            argument, value, must="it must be a duration", fix=fix, entry=entry
        ) from None


def positive_duration(argument: str, value: Duration | Any) -> float:
    """Return a duration as a number, if it is positive and finite."""
    number = duration(argument, value)
    if not 0 < number < math.inf:
        raise ArgumentError(argument, value, must="it must be positive and finite")
    return number


def parse_timestamp(cell: Any, factor: float = 1.0) -> float | None:
    """Return one time as a number; NaN for a missing one, None for what is not a time.

    Numbers are divided by a factor: how many of their unit a second has.
    """
    if cell is None or cell != cell:  # NaN and NaT
        return math.nan
    if isinstance(cell, timedelta):
        return _span_seconds(cell)
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime.combine(cell, time())
    if isinstance(cell, datetime):
        return _span_seconds((cell if cell.tzinfo else cell.replace(tzinfo=UTC)) - _EPOCH)
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
    return whole + float(f"0.{fraction}")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _span_seconds(span: timedelta) -> float:
    """Return a timedelta in seconds, rounded as `read_times` does it for those of a column."""
    ns = 1000 * span.microseconds + getattr(span, "nanoseconds", 0)  # pandas has them
    return float(span.days * 86400 + span.seconds) + ns / 1e9


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
