"""Differences of two methods on the same streams, with intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..support.types import Array, Floats, Ints

LEAST_UNITS = 5
"""With fewer, a difference has no interval."""


class Difference(NamedTuple):
    """A method less another one, on the same streams.

    Attributes
    ----------
    value : float
        The difference.
    low, high : float
        Its 95 % interval; NaN where there is too little data for one.
    word : str
        "better", "level" or "worse", where the interval contains 0 "level", and empty where there
        is none; "best" of a method that is compared with itself.
    """

    value: float
    low: float
    high: float
    word: str


class Sums(NamedTuple):
    """Sums of each unit, (U, C); a measure is the mean over columns of one sum by the other.

    Units are streams, or blocks of them; errors of different units should not depend on each other.
    """

    over: Floats
    under: Floats

    @classmethod
    def zeros(cls, *shape: int) -> Sums:
        """Return sums of nothing."""
        return cls(np.zeros(shape), np.zeros(shape))

    def add(self, column: int, unit: Ints, over: Array, under: Array) -> None:
        """Add what belongs to units, in one column."""
        for total, values in zip(self, (over, under), strict=True):
            total[:, column] += np.bincount(unit, values, len(total))

    def value(self) -> float:
        """Return the measure over all units."""
        return float(_ratio(self.over.sum(axis=0), self.under.sum(axis=0)))

    def without_each(self) -> Floats:
        """Return the measure without each unit, (U,)."""
        return _ratio(self.over.sum(axis=0) - self.over, self.under.sum(axis=0) - self.under)


def _ratio(over: Floats, under: Floats) -> Floats:
    """Return the mean over the last axis of ratios that are known."""
    is_defined = under > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(is_defined, over / under, 0)
        mean: Floats = ratios.sum(axis=-1) / is_defined.sum(axis=-1)
    return mean


def paired(measured: Sums, best: Sums, low_is_good: bool = False) -> Difference:
    """Return the difference of two measures with its interval, by leaving out each unit once.

    With equal units it is the interval of Student's paired t-test.

    Examples
    --------
    >>> right = np.array([[7.0], [8.0], [9.0], [8.0], [7.0]])
    >>> rows = np.full((5, 1), 10.0)
    >>> paired(Sums(right, rows), Sums(right + 1, rows)).word
    'worse'
    """
    if measured is best:
        return Difference(0.0, 0.0, 0.0, "best")
    value = measured.value() - best.value()
    units = (measured.under + best.under).any(axis=1)
    n, half = int(units.sum()), math.nan
    if n >= LEAST_UNITS:
        without = (measured.without_each() - best.without_each())[units]
        half = student(n - 1) * math.sqrt((n - 1) * float(without.var()))
    low, high = value - half, value + half
    word = "level" if low <= 0 <= high else "better" if (value > 0) != low_is_good else "worse"
    return Difference(value, low, high, "" if math.isnan(low) else word)


def student(df: int) -> float:
    """Return the 97.5 % quantile of Student's t, by the expansion of Cornish and Fisher.

    Examples
    --------
    >>> [round(student(df), 2) for df in (4, 15, 1000)]
    [2.77, 2.13, 1.96]
    """
    z = 1.959963984540054
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / df + second / df**2 + third / df**3
