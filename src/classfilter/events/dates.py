"""The times of events as they were given, numbers or dates: as text, and back."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from ..errors import ArgumentError
from ..inputs import REMEDY, find_zone, parse_timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*?([Zz]|[+-]\d\d(?::?\d\d)?)?")
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def exact(x: float) -> Decimal:
    """Return the shortest decimal that is read as this float.

    Sums and differences of such decimals have 28 digits, so that they are read as the same floats.
    """
    return Decimal(repr(float(x)))


def microseconds(x: float | None) -> int | None:
    """Return UNIX seconds as whole microseconds, the nearest ones.

    Examples
    --------
    >>> microseconds(1714543200.1), microseconds(None)
    (1714543200100000, None)
    """
    return None if x is None else round(exact(x) * 10**6)


def plain(x: Any) -> str:
    """Return a `Decimal` as text without an exponent, which not every reader knows.

    Examples
    --------
    >>> plain(exact(1e-7)), plain(exact(0.3) - exact(0.1))
    ('0.0000001', '0.2')
    """
    return f"{x:f}"


def check_zone(zone: str | None) -> tzinfo:
    """Return a zone by its name, ``"Europe/Berlin"`` or ``"+02:00"``; UTC for None."""
    tz = UTC if zone is None else find_zone(zone)
    if tz is None:
        must = 'it must be a time zone such as "Europe/Berlin" or "+02:00"'
        raise ArgumentError("zone", zone, must=must)
    return tz


def date_text(x: float, zone: str | None) -> str:
    """Return UNIX seconds in ISO 8601; without a zone, as in UTC and without an offset.

    Examples
    --------
    >>> date_text(1714550400.25, "Europe/Berlin"), date_text(0.0, None)
    ('2024-05-01T10:00:00.25+02:00', '1970-01-01T00:00:00')
    >>> date_text(-1e-200, None)
    '1970-01-01T00:00:00'
    """
    number = exact(x)
    whole = number.to_integral_value(ROUND_FLOOR)
    if number - whole == 1:  # so little before a second that 28 digits do not tell
        number = whole = whole + 1
    try:
        moment = (_EPOCH + timedelta(seconds=int(whole))).astimezone(check_zone(zone))
    except OverflowError:
        raise ArgumentError("time", x, must="a date must lie in the years 1 to 9999") from None
    if len(moment.isoformat()) > 25:  # local mean time, before there were zones: +05:21:10
        moment = moment.astimezone(UTC)
    text = moment.isoformat()
    fraction = plain(number - whole).partition(".")[2].rstrip("0")
    return text[:19] + f".{fraction}" * bool(fraction) + text[19:] * (zone is not None)


def time_text(x: float, dates: bool, zone: str | None) -> str:
    """Return a time for people to read."""
    return date_text(x, zone) if dates else f"{x:.10g}"


def zone_of(cell: Any) -> str | None:
    """Return the zone that a date or its text names; None where it names none."""
    if isinstance(cell, datetime):
        if cell.tzinfo is None:
            return None
        name = getattr(cell.tzinfo, "key", None) or str(cell.tzinfo)
        offset = cell.strftime("%z")
        return name if name == "UTC" or "/" in name else f"{offset[:3]}:{offset[3:5]}"
    match = _ISO_ZONE.fullmatch(cell.strip()) if isinstance(cell, str) else None
    suffix = match[1] if match else None
    if suffix is None or suffix in "Zz":
        return "UTC" if suffix else None
    digits = suffix.replace(":", "").ljust(5, "0")
    return "UTC" if digits[1:] == "0000" else f"{digits[:3]}:{digits[3:]}"


def is_date(cell: Any) -> bool:
    """Return whether a time is a date, or its text."""
    if isinstance(cell, str):
        return bool(_ISO_DAY.match(cell.strip()))
    return isinstance(cell, date)


def common_zone(zones: list[str | None]) -> str | None:
    """Return the zone of all dates; UTC, where they differ."""
    different = set(zones)
    return different.pop() if len(different) == 1 else "UTC" if different else None


def to_seconds(argument: str, cell: Any) -> float:
    """Return a time, of whatever kind, as a number."""
    value = parse_timestamp(cell)
    if value is None or not math.isfinite(value):
        raise ArgumentError(argument, cell, fix=REMEDY)
    return value
