r"""The criterion: how well later predictions fit the classes that a filter predicts.

A filter's class is right if what the reference predicts afterwards is likely in that class. For
each row, :math:`b_k = p(\text{later predictions} | k)` says so, scaled to a mean of 1 over the
classes by their shares. The score of a row is :math:`\log(b_k + 0.01)` of the predicted class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..filters import StickyFilter
from ..support.types import Bools, Floats, Ints
from .memory import Memory
from .model import EstimatedModel, sticky, tempered
from .passes import LOW_FLOOR, Passes
from .rows import JoinedRows, parts

SCORE_FLOOR = 0.01
"""The least that a predicted class may fit."""
FUTURE = "future predictions"
LABELS = "labels"


class Criterion(NamedTuple):
    """What each class would score in each row.

    Attributes
    ----------
    name : {"future predictions", "labels"}
        What the scores rest on.
    scores : ndarray (T, K)
        The score of each class.
    judged : ndarray (T,)
        The rows that count.
    part : ndarray (T,)
        The part of each row, for standard errors.
    """

    name: str
    scores: Floats
    judged: Bools
    part: Ints

    def of(self, predicted: Ints) -> Floats:
        """Return the scores of the predicted classes in the rows that count."""
        rows = np.flatnonzero(self.judged)
        scores: Floats = self.scores[rows, predicted[rows]]
        return scores

    def sums(self, predicted: Ints) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        part = self.part[self.judged]
        total = np.bincount(part, self.of(predicted), minlength=self.part.max() + 1)
        return np.stack([total, np.bincount(part, minlength=total.size)], axis=1)

    def take(self, kept: Bools) -> Criterion:
        """Return the criterion for some rows."""
        _, part = np.unique(self.part[kept], return_inverse=True)
        return Criterion(self.name, self.scores[kept], self.judged[kept], part)


def by_labels(rows: JoinedRows) -> Criterion:
    """Return the criterion that a predicted class is the label: 1 or 0."""
    scores = np.eye(len(rows.classes))[np.maximum(rows.label, 0)]
    return Criterion(LABELS, scores, np.asarray(rows.label >= 0), parts(rows))


def by_target(rows: JoinedRows, target: Floats, judged: Bools | None = None) -> Criterion:
    """Return the criterion of a target (T, K)."""
    judged = np.ones(len(target), bool) if judged is None else judged
    return Criterion(FUTURE, np.log(target + SCORE_FLOOR), judged, parts(rows))


def future_target(rows: JoinedRows, passes: Passes, model: EstimatedModel) -> Floats:
    """Return p(later predictions of the reference | class), (T, K), scaled."""
    message = passes.backward(sticky(model), rows.probs, rows.of_reference.astype(float))
    return _scaled(message, model.shares)


def target_after_next(rows: JoinedRows, model: EstimatedModel, target: Floats) -> Floats:
    """Return the target without each row's next prediction of the reference.

    That one may share the errors of the one before.
    """
    T, calls, time = len(target), np.flatnonzero(rows.of_reference), rows.time
    following = np.searchsorted(calls, np.arange(T), side="right")
    known = following < len(calls)
    known[known] = rows.stream[calls[following[known]]] == rows.stream[known]
    call = calls[following[known]]
    steps = (time[call] - time[known]) / rows.step
    grid = np.where(steps > 0, np.exp(np.round(np.log(np.maximum(steps, 1e-9)) * 50) / 50), 0.0)
    later, propagated = target[call], np.ones((len(call), target.shape[1]))
    filter_ = sticky(model)
    for apart in np.unique(grid):
        some = grid == apart
        propagated[some] = later[some] @ filter_._transitions(apart * rows.step).T
    result = np.ones_like(target)
    result[known] = propagated
    return _scaled(result, model.shares)


def later_target(
    rows: JoinedRows, passes: Passes, shares: Floats, memory: Memory
) -> tuple[Floats, Bools]:
    """Return p(predictions beyond the gap | class), (T, K), scaled, and where there are any.

    All rows count as one source, whose errors have faded beyond the gap.
    """
    prior = tempered(shares, 0.5)
    stay = float(np.exp(-1 / (memory.classes * rows.step)))
    filter_ = StickyFilter(len(prior), stay, prior=prior, floor=LOW_FLOOR)
    T = len(rows.source)
    message = _scaled(passes.backward(filter_, rows.probs, np.full(T, memory.news)), prior)
    at = np.arange(T)
    later = np.minimum(at + memory.gap, T - 1)
    last = np.append(rows.first[1:], True)
    judged = (at + memory.gap < T) & (rows.stream[later] == rows.stream) & ~last[later]
    time = rows.time
    kept = stay ** (time[later] - time)
    target: Floats = kept[:, None] * message[later] + (1 - kept)[:, None]
    return target, judged


def _scaled(message: Floats, shares: Floats) -> Floats:
    scaled: Floats = message / (message @ shares)[:, None]
    return scaled
