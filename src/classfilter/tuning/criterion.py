r"""The criterion: how well later predictions fit the classes that a filter predicts.

A filter's class is right if what the reference predicts afterwards is likely in that class. For
each row, :math:`b_k = p(\text{later predictions} | k)` says so, scaled to a mean of 1 over the
classes by their shares. The score of a row is :math:`\log(b_k + 0.01)` of the predicted class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..filters import StickyFilter, exponential
from ..support.types import Bools, Floats, Ints
from .estimate import label_likelihoods, passes
from .memory import Memory
from .model import EstimatedModel, of_best, rates_of, tempered
from .passes import LOW_FLOOR, Passes
from .rows import JoinedRows, parts

SCORE_FLOOR = 0.01
"""The least that a predicted class may fit."""
LEAST_FIT = 1e-9
STEPS_LATER = 5
"""Steps after which later predictions judge, where all sources are equally fast: errors last."""
FUTURE = "future predictions"
LABELS = "labels"


class Criterion(NamedTuple):
    """What each class would score in each row.

    Attributes
    ----------
    name : {"future predictions", "labels"}
        What the scores rest on.
    scores : ndarray (T, K)
        The score of each class; of whole rows, how likely later rows are in it.
    judged : ndarray (T,)
        The rows that count.
    part : ndarray (T,)
        The part of each row, for standard errors.
    of_rows : bool
        Whether whole filtered rows are scored, not only their most probable class.
    """

    name: str
    scores: Floats
    judged: Bools
    part: Ints
    of_rows: bool = False

    @property
    def likelihood(self) -> Floats:
        """How likely what judges is in each class, (T, K), up to a factor."""
        whole = self.of_rows or self.name == LABELS
        return self.scores if whole else np.exp(self.scores) - SCORE_FLOOR

    def of(self, filtered: Floats) -> Floats:
        """Return the scores of filtered rows (T, K) where they count."""
        rows = np.flatnonzero(self.judged)
        scores: Floats = self.scores[rows]
        if self.of_rows:
            return np.asarray(np.log(np.maximum((filtered[rows] * scores).sum(axis=1), LEAST_FIT)))
        best: Floats = scores[np.arange(len(rows)), filtered[rows].argmax(axis=1)]
        return best

    def sums(self, filtered: Floats) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        part = self.part[self.judged]
        total = np.bincount(part, self.of(filtered), minlength=self.part.max() + 1)
        return np.stack([total, np.bincount(part, minlength=total.size)], axis=1)

    def take(self, kept: Bools) -> Criterion:
        """Return the criterion for some rows."""
        _, part = np.unique(self.part[kept], return_inverse=True)
        return self._replace(scores=self.scores[kept], judged=self.judged[kept], part=part)


def by_labels(rows: JoinedRows) -> Criterion:
    """Return the criterion that a predicted class is the label: 1 or 0."""
    scores = np.eye(len(rows.classes))[np.maximum(rows.label, 0)]
    return Criterion(LABELS, scores, np.asarray(rows.label >= 0), parts(rows))


def by_target(rows: JoinedRows, target: Floats, judged: Bools | None = None) -> Criterion:
    """Return the criterion of a target (T, K)."""
    judged = np.ones(len(target), bool) if judged is None else judged
    return Criterion(FUTURE, np.log(target + SCORE_FLOOR), judged, parts(rows))


def by_rows(rows: JoinedRows, target: Floats) -> Criterion:
    """Return the criterion of whole filtered rows, for a target (T, K)."""
    return Criterion(FUTURE, target, np.ones(len(target), bool), parts(rows), of_rows=True)


def by_future(rows: JoinedRows, model: EstimatedModel, best_judges: bool) -> list[Criterion]:
    """Return the criteria of several sources, by all of which the guard decides.

    The first and the last are maximised: whole rows, and their most probable classes. Rows alone
    choose slow filters, classes alone fast ones; by labels, the sum is best on four real sets.

    The best source judges where it is slow and can; or else all from some steps later on, and all
    others without it, since a filter may follow its errors.
    """
    assert model.line is not None
    if model.line.slow[0] and best_judges:
        target = future_target(rows, model)
        return [by_rows(rows, target), by_target(rows, target)]
    target, others = target_of_all(rows, model), target_of_all(rows, model, without_best=True)
    guards = [others] + [future_target(rows, model)] * bool(model.line.slow[0])
    return [by_rows(rows, target), *(by_rows(rows, one) for one in guards), by_target(rows, target)]


def future_target(rows: JoinedRows, model: EstimatedModel) -> Floats:
    """Return p(later predictions of the reference | class), (T, K), scaled."""
    line, found = model.line, model.found
    assert line is not None
    assert found is not None
    own = passes(line, found.shares, found.transitions, of_best(rows, found))
    return _scaled(own.message, found.shares)


def target_of_all(rows: JoinedRows, model: EstimatedModel, without_best: bool = False) -> Floats:
    """Return p(predictions of all sources from some steps later on | class), (T, K), scaled."""
    line, found = model.line, model.found
    assert line is not None
    assert found is not None
    T = len(rows.source)
    cell = rows.source * len(rows.classes) + rows.observed.argmax(axis=1)
    weight = line.interval / line.interval.max()
    if without_best:
        weight[0] = 0.0
    said = label_likelihoods(found.confusion, found.shares, weight)[cell]
    message = found.message
    if without_best:
        message = passes(line, found.shares, found.transitions, said).message
    message = message * said
    # The first row of the stream that is at least so many steps later.
    number = line.number + rows.stream * (int(line.number.max()) + STEPS_LATER + 1)
    later = np.searchsorted(number, number + STEPS_LATER)
    known = later < T
    known[known] = rows.stream[later[known]] == rows.stream[known]
    apart = line.number[later[known]] - line.number[known]
    target = np.ones_like(message)
    rates = rates_of(found.transitions)
    rows_known = np.flatnonzero(known)
    for steps in np.unique(apart):
        some = apart == steps
        target[rows_known[some]] = message[later[known][some]] @ exponential(rates * steps).T
    return _scaled(target, found.shares)


def later_target(
    rows: JoinedRows, runs: Passes, shares: Floats, memory: Memory
) -> tuple[Floats, Bools]:
    """Return p(predictions beyond the gap | class), (T, K), scaled, and where there are any.

    All rows count as one source, whose errors have faded beyond the gap.
    """
    prior = tempered(shares, 0.5)
    stay = float(np.exp(-1 / (memory.classes * rows.step)))
    filter_ = StickyFilter(len(prior), stay, prior=prior, floor=LOW_FLOOR)
    T = len(rows.source)
    message = _scaled(runs.backward(filter_, rows.probs, np.full(T, memory.news)), prior)
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
