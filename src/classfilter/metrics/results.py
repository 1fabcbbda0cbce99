"""Scores from counts of what was found, as a table, with the convention in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from ..support.html import block, table
from ..support.text import aligned


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How much was found: the counts, and the scores that follow from them.

    Attributes
    ----------
    true, predicted : int
        How many there are by the truth, and by the prediction.
    found, false : int
        How many true ones were found, and how many predicted ones are false.
    convention : str
        What was counted, in words.
    by_class : dict of str to the same
        Those of each class; empty in those of a class.
    """

    COLUMNS: ClassVar[tuple[str, ...]]
    WHOLE: ClassVar[str]
    true: int
    predicted: int
    found: int
    false: int
    convention: str
    by_class: Mapping[str, Self] = field(default_factory=dict)

    @property
    def missed(self) -> int:
        """How many true ones were not found."""
        return self.true - self.found

    @property
    def f1(self) -> float:
        """``2 found / (2 found + false + missed)``."""
        return ratio(2 * self.found, 2 * self.found + self.false + self.missed)

    @property
    def precision(self) -> float:
        """``found / (found + false)``."""
        return ratio(self.found, self.found + self.false)

    @property
    def recall(self) -> float:
        """``found / (found + missed)``."""
        return ratio(self.found, self.true)

    @property
    def macro_f1(self) -> float:
        """The mean of `f1` over the classes that occur, as true or as predicted ones."""
        return self._mean("f1")

    @property
    def macro_precision(self) -> float:
        """The mean of `precision` over the classes that are predicted."""
        return self._mean("precision")

    @property
    def macro_recall(self) -> float:
        """The mean of `recall` over the classes that are true."""
        return self._mean("recall")

    def _mean(self, score: str) -> float:
        return mean_of_known(getattr(scores, score) for scores in self.by_class.values())

    def _cells(self) -> list[str]:
        """Return the cells of the table beside counts and shares, and of the means."""
        raise NotImplementedError

    def _counts(self) -> list[int]:
        return [self.true, self.predicted, self.found, self.false]

    def _rows(self) -> list[list[str]]:
        named: list[tuple[str, Any]] = [(self.WHOLE, self), *self.by_class.items()]
        rows = [
            [name, *map(str, s._counts()), *_shares(s.f1, s.precision, s.recall), *s._cells()]
            for name, s in named
        ]
        if self.by_class:
            means = _shares(self.macro_f1, self.macro_precision, self.macro_recall)
            rows.insert(1, ["macro", "", "", "", "", *means, *self._macro_cells()])
        return rows

    def _macro_cells(self) -> list[str]:
        return [""] * len(self._cells())

    def __str__(self) -> str:
        return "\n".join([aligned([self.COLUMNS, *self._rows()]), self.convention])

    def _repr_html_(self) -> str:
        return block(table(self.COLUMNS, self._rows()), self.convention)


def _shares(*shares: float) -> list[str]:
    return [f"{x:.3f}" for x in shares]


@dataclass(frozen=True, kw_only=True)
class EventScores(Counts):
    """How well predicted events fit true ones; see `event_scores`.

    Attributes
    ----------
    f1 : float
        ``2 found / (2 found + false + missed)``; NaN where there is no event at all.
    precision : float
        ``found / (found + false)``; NaN where nothing is predicted.
    recall : float
        ``found / (found + missed)``; NaN where there is no true event.
    true, predicted : int
        How many events there are, after those that the convention merges or splits.
    found, missed : int
        How many true events were found, and how many not.
    false : int
        How many predicted events are false.
    false_per_hour : float
        ``false / hours``.
    delay : float
        The median, over the true events that were found, of the start of what found them less
        their own; in the unit of the times. NaN where none was found.
    hours : float
        The time that false events are counted over; NaN where it is not known.
    convention : str
        How events were matched, and where the hours are from.
    by_class : dict of str to EventScores
        The scores of each class, in sorted order; empty in the scores of a class.
    """

    COLUMNS = (
        *("", "true", "predicted", "found", "false"),
        *("F1", "precision", "recall", "false/h", "delay"),
    )
    WHOLE = "all"
    delay: float
    hours: float

    @property
    def false_per_hour(self) -> float:
        """``false / hours``."""
        return ratio(self.false, self.hours)

    def _cells(self) -> list[str]:
        return [f"{x:.3g}" for x in (self.false_per_hour, self.delay)]


def ratio(a: float, b: float) -> float:
    """Divide, with NaN for 0 / 0."""
    return a / b if b > 0 else math.nan


def mean_of_known(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN where there are none."""
    finite = [x for x in values if not math.isnan(x)]
    return math.fsum(finite) / len(finite) if finite else math.nan
