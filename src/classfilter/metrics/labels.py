"""Metrics of several labels at once: of each label, and averages over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, RowError
from ..inputs import Heads, in_order, named_classes, truth_of_heads
from ..inputs import label_scores as read_scores
from ..support.types import Bools, Floats, is_number
from ..support.validation import text_names
from .results import Counts, ratio


@dataclass(frozen=True, kw_only=True)
class LabelScores(Counts):
    """How well several labels are predicted; see `label_scores`.

    Those of all labels together are the micro averages; the macro averages are means over labels.

    Attributes
    ----------
    known : int
        How many entries have a truth; the others are left out.
    true, predicted, found : int
        How many of them are on by the truth, by the prediction, and by both.
    false, missed : int
        How many are on by the prediction only, and by the truth only.
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
    by_class : dict of str to LabelScores
        The scores of each label, in order; empty in the scores of a label.
    """

    COLUMNS = ("", "known", "true", "predicted", "found", "F1", "precision", "recall", "AP")
    WHOLE = "micro"
    known: int
    average_precision: float

    @property
    def accuracy(self) -> float:
        """The share of the known entries that are predicted as they are."""
        return ratio(self.known - self.false - self.missed, self.known)

    @property
    def macro_average_precision(self) -> float:
        """The mean of `average_precision` over the labels that are true."""
        return self._mean("average_precision")

    def _counts(self) -> list[int]:
        return [self.known, self.true, self.predicted, self.found]

    def _cells(self) -> list[str]:
        return [f"{self.average_precision:.3f}"]

    def _macro_cells(self) -> list[str]:
        return [f"{self.macro_average_precision:.3f}"]


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
    >>> round(scores.f1, 3), round(scores.macro_f1, 3), scores.by_class["0"].recall
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
        raise ArgumentError("threshold", threshold, must="it must lie in [0, 1]")
    columns = labels if labels is not None else named_classes(true) or named_classes(predicted)
    shape = np.shape(true)
    names = text_names(
        columns if columns is not None else range(shape[1] if len(shape) > 1 else 1), 1
    )
    y = np.asarray(in_order(true, names))
    y = truth_of_heads(y[:, None] if y.ndim == 1 else y, Heads.of_labels(names), "true")
    s = read_scores(predicted, names, "predicted")
    if s.shape != y.shape:
        must = f"true has {len(y)}: they must agree"
        raise ArgumentError("predicted", len(s), problem="has {} rows", must=must)
    is_known = y >= 0
    if not is_known.any():
        raise ArgumentError("true", -1, problem="is {} in each entry", fix="give 1 or 0 in some")
    lacks = is_known & np.isnan(s)
    if lacks.any():
        row, k = map(int, np.unravel_index(lacks.argmax(), s.shape))
        fix = "give -1 as its truth to leave it out"
        raise RowError("predicted", float("nan"), fix=fix, row=row, entry=names[k])
    on = f"On is above {threshold:g}."
    by_class = {
        name: _scores(y[rows, k] == 1, s[rows, k], threshold, on)
        for k, (name, rows) in enumerate(zip(names, is_known.T, strict=True))
    }
    together = f"{on} Micro: all labels together. Macro: the mean over labels, without nan."
    return _scores(y[is_known] == 1, s[is_known], threshold, together, by_class)


def _scores(
    true: Bools, scores: Floats, threshold: float, convention: str, by_class: Any = None
) -> LabelScores:
    on = scores > threshold
    return LabelScores(
        known=true.size,
        true=int(true.sum()),
        predicted=int(on.sum()),
        found=int((true & on).sum()),
        false=int((on & ~true).sum()),
        average_precision=average_precision(true, scores),
        convention=convention,
        by_class=by_class or {},
    )


def average_precision(true: Bools, scores: Floats) -> float:
    """Return ``sum_n (recall_n - recall_(n-1)) precision_n`` over the distinct scores."""
    if not true.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), true.size - 1)
    true_above = np.cumsum(true[order])[last]
    return float((np.diff(true_above, prepend=0) * true_above / (last + 1)).sum() / true_above[-1])
