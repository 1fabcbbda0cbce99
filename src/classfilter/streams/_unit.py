"""The unit of the times that a tracker gets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._errors import ArgumentError
from .._support.types import NUMBER, Floats
from .._time_scale import LARGEST_SECONDS, TimeScale
from .._timestamps import parse_timestamp, per_second, seconds


class TimeUnit:
    """Turns times into seconds, and warns, once, if streams begin with times of another unit.

    Parameters
    ----------
    name : {"s", "ms", "us", "ns"}, optional
        What numbers count; None leaves them as they are.

    Attributes
    ----------
    as_it_is : type or None
        A time of this type needs no conversion.
    """

    def __init__(self, name: str | None) -> None:
        self.name, self._factor = name, per_second(name)
        self.as_it_is = float if self._factor == 1 else None
        self.warned = False

    def seconds(self, time: Any) -> float:
        """Return one time as a number; NaN if it is missing."""
        try:
            if isinstance(time, NUMBER) and not isinstance(time, bool):
                return float(time) / self._factor
            if isinstance(time, np.generic) and time.dtype.kind in "mM":
                return math.nan if np.isnat(time) else float(seconds(np.array([time]))[0])
            at = parse_timestamp(time, self._factor)
        except OverflowError:
            at = None
        if at is None:
            remedy = "give a number, a datetime, or ISO 8601 text with a zone"
            raise ArgumentError("time", time, remedy=remedy)
        return at

    def look_at(self, time: Any, at: float) -> None:
        """Look at the time of a row that begins a stream, as it was given and in seconds."""
        if LARGEST_SECONDS < abs(at) < math.inf and isinstance(time, NUMBER):
            self.look(np.array([at]))

    def look(self, times: Floats) -> None:
        """Look at numbers with which streams begin."""
        if not self.warned:
            scale = TimeScale(self.name)
            scale.see(times)
            self.warned = scale.finding() is not None
            scale.warn()
