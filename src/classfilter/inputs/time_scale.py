"""Whether times fit: their unit by their magnitude, and their steps by a filter's half-life."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from ..errors import ArgumentError, Remedy
from ..support.types import Array, Floats, Ints
from .order import MIN_STEPS
from .times import per_second

LARGEST_SECONDS = 1e11
"""Larger numbers are hardly UNIX seconds, which reach it in the year 5138; milliseconds did so in
1973, and each further unit is a thousand times as large."""
UNITS = ("milliseconds", "microseconds", "nanoseconds")
_REMEDIES = (Remedy.UNIT_MS, Remedy.UNIT_US, Remedy.UNIT_NS)
ALONE = 10.0
"""So many half-lives later a thousandth of the past is left: each row stands alone."""
STILL_STEPS, STILL_RANGES = 1e4, 10.0
"""A half-life of so many steps, and of so many times the range of all times: nothing is forgotten,
and an average hardly changes."""
ROWS = 10_000


class OddRowsWarning(UserWarning):
    """Rows are likely not what was meant; `about` has the fields.

    Several streams as one, names that are alike, rows that stand twice; a unit of times, or a
    half-life, that does not fit.
    """

    def __init__(self, about: ArgumentError) -> None:
        super().__init__(about)
        self.about = about


class TimeScale:
    """Looks at times as they come, in one table or in several.

    Parameters
    ----------
    unit : str or None
        As it was given: with ``"s"``, numbers are right as they are.
    filter : Filter, optional
        Whose half-life the steps must fit.
    """

    def __init__(self, unit: str | None = None, filter: Any = None) -> None:  # noqa: A002
        self._as_they_are = unit == "s"
        self._factor = per_second(unit)
        self._half_life: float | None = getattr(filter, "_half_life", None)
        self._averages = getattr(filter, "_averages", False)
        self._rows = self._large = 0
        self._first_large: tuple[int, float] | None = None
        self._step: float | None = None
        self._low, self._high = np.inf, -np.inf

    def see(self, time: Floats, stream: Ints | None = None, numbers: bool = True) -> None:
        """Look at times in seconds; `stream` has the number of each row's stream."""
        if not len(time):
            return
        low, high = float(time.min()), float(time.max())
        self._low, self._high = min(low, self._low), max(high, self._high)
        if numbers and not self._as_they_are and max(-low, high) > LARGEST_SECONDS:
            large = np.abs(time) > LARGEST_SECONDS
            row = int(large.argmax())
            if self._first_large is None:
                self._first_large = self._rows + row, float(time[row]) * self._factor
            self._large += int(large.sum())
        self._rows += len(time)
        self._numbers = numbers
        if self._step is None and self._half_life is not None:
            codes = np.zeros(len(time), np.intp) if stream is None else stream
            self._step = first_step(time, codes)

    def finding(self) -> ArgumentError | None:
        """Return what seems to be wrong, and what to do; None if nothing does."""
        return self._magnitude() or self._steps()

    def warn(self) -> None:
        """Warn of what seems to be wrong, at the line that called the package."""
        about = self.finding()
        if about is not None:
            warn_caller(OddRowsWarning(about))

    def _magnitude(self) -> ArgumentError | None:
        if self._first_large is None:
            return None
        row, value = self._first_large
        power = int((np.log10(abs(value)) - 11) // 3)
        if power >= len(UNITS):
            return None
        problem = f"is {{}}, which looks like {UNITS[power]} since 1970"
        if self._large < self._rows:
            rule = f"{self._large:,} of {self._rows:,} rows do, the others do not"
            remedy = "give all times in one unit"
            return ArgumentError("time", value, problem, rule, remedy, row=row)
        hints = () if not self._step else (f"the {self._figures()}",)
        return ArgumentError("time", value, problem, remedy=_REMEDIES[power], hints=hints)

    def _figures(self) -> str:
        assert self._step is not None
        assert self._half_life is not None
        ratio = self._step / self._half_life
        many = f"{ratio:.3g} half-lives" if ratio > 0.1 else f"1/{1 / ratio:,.0f} of the half-life"
        return f"median step is {self._step:.6g}, {many} ({self._half_life:.6g})"

    def _steps(self) -> ArgumentError | None:
        if self._step is None or self._half_life is None:
            return None
        if self._step > ALONE * self._half_life:
            what = "each row stands alone and nothing is filtered"
        elif (
            self._averages
            and STILL_STEPS * self._step < self._half_life < np.inf
            and STILL_RANGES * (self._high - self._low) < self._half_life
        ):
            what = f"over all times, a range of {self._high - self._low:.6g}, nothing is forgotten"
        else:
            return None
        remedy = Remedy.HALF_LIFE_OR_UNIT if self._numbers else Remedy.HALF_LIFE
        return ArgumentError(
            "time", self._step, f"does not fit the filter: the {self._figures()}", what, remedy
        )


def first_step(time: Floats, stream: Ints) -> float | None:
    """Return the median time between successive rows of a stream, of the first rows; None of few.

    Of two in the middle, the smaller counts: where rows come in pairs, half of them are close.
    """
    count = ROWS
    while True:
        t, codes = time[:count], stream[:count]
        order: Array = np.lexsort((t, codes))
        with np.errstate(over="ignore"):
            steps = np.diff(t[order])[np.diff(codes[order]) == 0]
        steps = steps[steps > 0]
        if len(steps) >= MIN_STEPS:
            return float(np.percentile(steps, 50, method="lower"))
        if count >= len(time):
            return None
        count *= 10


def warn_caller(warning: Warning) -> None:
    """Warn at the line that called the package."""
    level, frame, inner = 1, sys._getframe(), ("classfilter.", "contextlib")
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(inner):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
