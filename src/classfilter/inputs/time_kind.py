"""What times were before they became seconds, so that they can be shown and given back as such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from ..support.types import Array, Floats

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_OFFSET_OF_ANY = re.compile(r"(?:UTC)?([+-]\d\d):?(\d\d)?")
_ZONE_OF_TEXT = re.compile(r"\d\d:\d\d.*?([Zz]|[+-]\d\d(?::?\d\d)?)\s*")
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d")


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
            found = (_ZONE_OF_TEXT.search(str(cell)) for cell in cells)
            texts = {None if match is None else match[1] for match in found}
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
    found = find_zone(name if match is None else f"{match[1]}:{match[2] or '00'}")
    return found or UTC


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
