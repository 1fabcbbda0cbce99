"""Metrics of several labels at once: of each label, and averages over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ArgumentError, RowError
from ..inputs import Heads, in_order, named_classes, truth_of_heads
from ..inputs import label_scores as read_scores
from ..support.html import block, table
from ..support.imports import public
from ..support.text import aligned
from ..support.types import Bools, Floats, is_number
from ..support.validation import text_names
from .results import mean_of_known, ratio

COLUMNS = ("", "known", "true", "predicted", "found", "F1", "precision", "recall", "AP")


@dataclass(frozen=True)
class LabelScores:
    """How well several labels are predicted; see `label_scores`.

    Those of all labels together are the micro averages; the macro averages are means over labels.

    Attributes
    ----------
    known : int
        How many entries have a truth; the others are left out.
    true, predicted, found : int
        How many of them are on by the truth, by the prediction, and by both.
    f1 : float
        ``2 found / (true + predicted)``; NaN where it is never on.
    precision : float
        ``found / predicted``; NaN where it is never predicted.
    recall : float
        ``found / true``; NaN where it is never true.
    accuracy : float
        The share of the known entries that are predicted as they are.
    average_precision : float
        ``sum_n (recall_n - recall_(n-1)) precision_n`` over all thresholds, the highest first: the
        area under precision over recall, in steps. NaN where it is never true.
    convention : str
        What was counted, in words.
    by_label : dict of str to LabelScores
        The scores of each label, in order; empty in the scores of a label.
    """

    known: int
    true: int
    predicted: int
    found: int
    average_precision: float
    convention: str
    by_label: Mapping[str, LabelScores] = field(default_factory=dict)

    @property
    def f1(self) -> float:
        """``2 found / (true + predicted)``."""
        return ratio(2 * self.found, self.true + self.predicted)

    @property
    def precision(self) -> float:
        """``found / predicted``."""
        return ratio(self.found, self.predicted)

    @property
    def recall(self) -> float:
        """``found / true``."""
        return ratio(self.found, self.true)

    @property
    def accuracy(self) -> float:
        """The share of the known entries that are predicted as they are."""
        return ratio(self.known - self.true - self.predicted + 2 * self.found, self.known)

    @property
    def macro_f1(self) -> float:
        """The mean of `f1` over the labels that are on, by truth or prediction."""
        return mean_of_known(scores.f1 for scores in self.by_label.values())

    @property
    def macro_precision(self) -> float:
        """The mean of `precision` over the labels that are predicted."""
        return mean_of_known(scores.precision for scores in self.by_label.values())

    @property
    def macro_recall(self) -> float:
        """The mean of `recall` over the labels that are true."""
        return mean_of_known(scores.recall for scores in self.by_label.values())

    @property
    def macro_average_precision(self) -> float:
        """The mean of `average_precision` over the labels that are true."""
        return mean_of_known(scores.average_precision for scores in self.by_label.values())

    def _rows(self) -> list[list[str]]:
        rows = [
            [
                name,
                *(str(n) for n in (s.known, s.true, s.predicted, s.found)),
                *(f"{x:.3f}" for x in (s.f1, s.precision, s.recall, s.average_precision)),
            ]
            for name, s in [("micro", self), *self.by_label.items()]
        ]
        if not self.by_label:
            return [["", *rows[0][1:]]]
        macro = (self.macro_f1, self.macro_precision, self.macro_recall)
        means = (*macro, self.macro_average_precision)
        return [rows[0], ["macro", "", "", "", "", *(f"{x:.3f}" for x in means)], *rows[1:]]

    def __str__(self) -> str:
        return "\n".join([aligned([COLUMNS, *self._rows()]), self.convention])

    def _repr_html_(self) -> str:
        return block(table(COLUMNS, self._rows()), self.convention)


def label_scores(
    true: Any, predicted: Any, *, labels: Sequence[Any] | None = None, threshold: float = 0.5
) -> LabelScores:
    """Score the predictions of several labels at once, each by itself and on average.

    Parameters
    ----------
    true : array_like (T, L), or dataframe
        1 where a label is true, 0 where not, -1 or NaN where that is not known. These entries are
        left out. Of one label, (T,) is enough.
    predicted : array_like (T, L), or dataframe
        The probability or score of each label, in [0, 1]; or whether it is predicted, as booleans.
    labels : sequence of L names, optional
        By default the names of the columns, or numbers. Columns with names are matched by them.
    threshold : float
        A label is predicted where its score is above it. Average precision uses all thresholds.

    Returns
    -------
    LabelScores
        Its own scores are those of all entries together, the micro averages.

    Examples
    --------
    >>> true = [[1, 0], [1, 1], [0, -1], [0, 0]]
    >>> scores = label_scores(true, [[0.9, 0.2], [0.4, 0.7], [0.1, 0.9], [0.3, 0.6]])
    >>> round(scores.f1, 3), round(scores.macro_f1, 3), scores.by_label["0"].recall
    (0.667, 0.667, 0.5)
    >>> print(label_scores(true, [[0.9, 0.2]] * 4, labels=["robin", "wren"]))
           known  true  predicted  found     F1  precision  recall     AP
    micro      7     3          4      2  0.571      0.500   0.667  0.476
    macro                                 0.333      0.500   0.500  0.417
    robin      4     2          4      2  0.667      0.500   1.000  0.500
    wren       3     1          0      0  0.000        nan   0.000  0.333
    On is above 0.5. Micro: all labels together. Macro: the mean over labels, without nan.
    """
    if not is_number(threshold) or not 0 <= threshold <= 1:
        raise ArgumentError("threshold", threshold, rule="it must lie in [0, 1]")
    given = labels if labels is not None else named_classes(true) or named_classes(predicted)
    shape = np.shape(true)
    names = text_names(given if given is not None else range(shape[1] if len(shape) > 1 else 1), 1)
    y = np.asarray(in_order(true, names))
    y = truth_of_heads(y[:, None] if y.ndim == 1 else y, Heads.of_labels(names), "true")
    s = read_scores(predicted, names, "predicted")
    if s.shape != y.shape:
        rule = f"true has {len(y)}: they must agree"
        raise ArgumentError("predicted", len(s), "has {} rows", rule)
    known = y >= 0
    if not known.any():
        raise ArgumentError("true", -1, "is {} in each entry", remedy="give 1 or 0 in some")
    lacks = known & np.isnan(s)
    if lacks.any():
        row, k = map(int, np.unravel_index(lacks.argmax(), s.shape))
        remedy = "give -1 as its truth to leave it out"
        raise RowError("predicted", float("nan"), remedy=remedy, row=row, entry=names[k])
    on = f"On is above {threshold:g}."
    by_label = {
        name: _scores(y[rows, k] == 1, s[rows, k], threshold, on)
        for k, (name, rows) in enumerate(zip(names, known.T, strict=True))
    }
    together = f"{on} Micro: all labels together. Macro: the mean over labels, without nan."
    micro = _scores(y[known] == 1, s[known], threshold, together)
    return LabelScores(**vars(micro) | {"by_label": by_label})


def _scores(true: Bools, scores: Floats, threshold: float, convention: str) -> LabelScores:
    on = scores > threshold
    counts = true.size, int(true.sum()), int(on.sum()), int((true & on).sum())
    return LabelScores(*counts, average_precision(true, scores), convention)


def average_precision(true: Bools, scores: Floats) -> float:
    """Return ``sum_n (recall_n - recall_(n-1)) precision_n`` over the distinct scores."""
    if not true.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), true.size - 1)
    found = np.cumsum(true[order])[last]
    return float((np.diff(found, prepend=0) * found / (last + 1)).sum() / found[-1])


public(LabelScores, module="classfilter.metrics")
