"""The result of scoring events, with the convention in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..support.html import block, table
from ..support.imports import public
from ..support.text import aligned

COLUMNS = (
    *("", "true", "predicted", "found", "false"),
    *("F1", "precision", "recall", "false/h", "delay"),
)


@dataclass(frozen=True)
class EventScores:
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

    true: int
    predicted: int
    found: int
    false: int
    delay: float
    hours: float
    convention: str
    by_class: Mapping[str, EventScores] = field(default_factory=dict)

    @property
    def missed(self) -> int:
        """How many true events were not found."""
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
    def false_per_hour(self) -> float:
        """``false / hours``."""
        return ratio(self.false, self.hours)

    @property
    def macro_f1(self) -> float:
        """The mean of `f1` over the classes that occur, as true or as predicted events."""
        return mean_of_known(scores.f1 for scores in self.by_class.values())

    @property
    def macro_precision(self) -> float:
        """The mean of `precision` over the classes that are predicted."""
        return mean_of_known(scores.precision for scores in self.by_class.values())

    @property
    def macro_recall(self) -> float:
        """The mean of `recall` over the classes with true events."""
        return mean_of_known(scores.recall for scores in self.by_class.values())

    def _rows(self) -> list[list[str]]:
        named = [("all", self), *self.by_class.items()]
        rows = [
            [
                name,
                *(str(n) for n in (s.true, s.predicted, s.found, s.false)),
                *(f"{x:.3f}" for x in (s.f1, s.precision, s.recall)),
                *(f"{x:.3g}" for x in (s.false_per_hour, s.delay)),
            ]
            for name, s in named
        ]
        if self.by_class:
            means = (self.macro_f1, self.macro_precision, self.macro_recall)
            rows.insert(1, ["macro", "", "", "", "", *(f"{x:.3f}" for x in means), "", ""])
        return rows

    def __str__(self) -> str:
        return "\n".join([aligned([COLUMNS, *self._rows()]), self.convention])

    def _repr_html_(self) -> str:
        return block(table(COLUMNS, self._rows()), self.convention)


def ratio(a: float, b: float) -> float:
    """Divide, with NaN for 0 / 0."""
    return a / b if b > 0 else math.nan


def mean_of_known(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN where there are none."""
    known = [x for x in values if not math.isnan(x)]
    return math.fsum(known) / len(known) if known else math.nan


public(EventScores, module="classfilter.metrics")
