"""The objective: how good a candidate is on two folds, each with the model of the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Floats
from .._validation import one_hot
from ..data._recording import Recording
from ..filters._base import Filter
from ._candidates import Candidate, FilterOutput, Runner
from ._coordinate_ascent import coordinate_ascent, source_axis
from ._model import EstimatedModel

Progress = Callable[[float], None]
PARTS = 4
"""Least number of parts of a fold, whose scatter gives the standard error of a score."""
MIN_PROB = 1e-4
"""Smaller probabilities count as this one."""


class Trial(NamedTuple):
    """A candidate and its score.

    Attributes
    ----------
    candidate : Candidate
        The settings.
    score : float
        The value of the objective; see `Tuned.criterion`.
    error : float
        Standard error of the score.
    """

    candidate: Candidate
    score: float
    error: float


class Fold:
    """Some streams, scored with a model estimated on others.

    Parameters
    ----------
    recordings : sequence of Recording
        The streams.
    model : EstimatedModel
        Estimated on the other streams.
    criterion : {"smoothed posterior", "next prediction", "labels"}
        What is scored; see `Tuned.criterion`.
    step : float
        The median time from row to row.
    """

    def __init__(
        self, recordings: Sequence[Recording], model: EstimatedModel, criterion: str, step: float
    ) -> None:
        self.model, self._criterion, self._step = model, criterion, step
        self._runners = [Runner(rec, model) for rec in recordings]
        self._filters: dict[Candidate, Filter] = {}
        self._cuts = math.ceil(PARTS / len(recordings))
        self._pseudo_labels: list[Floats] = []
        if criterion == "labels":
            self._pseudo_labels = [_labels(rec) for rec in recordings]
        elif criterion == "smoothed posterior":
            self._smooth()

    @property
    def pseudo_labels(self) -> list[Floats]:
        """The probabilities that take the place of the truth of each recording, (T, K)."""
        return self._pseudo_labels

    def score(self, candidate: Candidate) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        outputs = self._outputs(candidate)
        if self._criterion == "next prediction":
            return self._next_prediction(outputs)
        return self._agreement(outputs)

    def _outputs(self, candidate: Candidate) -> list[FilterOutput]:
        filter_ = self._filter(candidate)
        return [runner.run(candidate, filter_) for runner in self._runners]

    def _filter(self, candidate: Candidate) -> Filter:
        """Return the candidate's filter; one for all candidates that differ in weights only."""
        options = candidate._replace(beta=(), channel=frozenset())
        if options not in self._filters:  # the rates of a transition matrix take long
            self._filters[options] = candidate.filter(self.model)
        return self._filters[options]

    def _next_prediction(self, outputs: Sequence[FilterOutput]) -> Floats:
        """Score the probabilities just before each prediction of the reference by it."""
        scores = [
            (runner.reference_probs * np.log(np.maximum(output.before, MIN_PROB))).sum(axis=1)
            for runner, output in zip(self._runners, outputs, strict=True)
        ]
        return self._sums(scores)

    def _agreement(self, outputs: Sequence[FilterOutput]) -> Floats:
        """Score the predicted class by its probability in the truth or the pseudo-labels."""
        scores = []
        for truth, output in zip(self._pseudo_labels, outputs, strict=True):
            score = truth[np.arange(len(truth)), output.after.argmax(axis=1)]
            scores.append(score[~np.isnan(score)])
        return self._sums(scores)

    def _sums(self, scores: Sequence[Floats]) -> Floats:
        parts = [part for score in scores for part in np.array_split(score, self._cuts)]
        return np.array([(part.sum(), part.size) for part in parts])

    def _smooth(self) -> None:
        """Smooth, with weights chosen by the next predictions, then by the smoothed posterior."""
        others = list(self.model.channel)
        candidate = Candidate(
            "stay" if self.model.transitions is None else "transitions",
            8 * self._step,
            ((self.model.reference, 1.0), *((name, 0.5) for name in others)),
            frozenset(others),
        )
        for criterion in (self._next_prediction, self._agreement):
            candidate = coordinate_ascent(
                candidate,
                [source_axis(name) for name in others],
                lambda c, criterion=criterion: mean(criterion(self._outputs(c))),  # type: ignore[misc]
            )
            filter_ = self._filter(candidate)
            self._pseudo_labels = [runner.smooth(candidate, filter_) for runner in self._runners]


class Objective:
    """The score over all folds; remembers the candidates that were tried."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        self._folds = folds
        self._tried: dict[Candidate, Floats] = {}

    @property
    def knows_transitions(self) -> bool:
        """Whether transitions could be estimated on every fold."""
        return all(fold.model.transitions is not None for fold in self._folds)

    def scores(self, candidate: Candidate) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        if candidate not in self._tried:
            self._tried[candidate] = np.concatenate([fold.score(candidate) for fold in self._folds])
        return self._tried[candidate]

    def mean(self, candidate: Candidate) -> float:
        """Return the mean score."""
        return mean(self.scores(candidate))

    def error(self, candidate: Candidate, other: Candidate | None = None) -> float:
        """Return the standard error of a score, or of its difference from another's."""
        sums, counts = self.scores(candidate).T
        if other is not None:
            sums = sums - self.scores(other)[:, 0]
        rest = sums - counts * sums.sum() / counts.sum()
        n = len(rest)
        return float(np.sqrt(n / (n - 1) * (rest**2).sum()) / counts.sum())

    def table(self) -> list[Trial]:
        """Return all candidates that were tried, the best first."""
        trials = [Trial(c, self.mean(c), self.error(c)) for c in self._tried]
        return sorted(trials, key=lambda trial: -trial.score)


def mean(scores: Floats) -> float:
    """Return the mean of scores in parts."""
    total, count = scores.sum(axis=0)
    return float(total / count)


def _labels(rec: Recording) -> Floats:
    """Return the labels as probabilities, (T, K); NaN where unknown."""
    label = np.full(len(rec), -1) if rec.label is None else rec.label
    return one_hot(label, len(rec.classes))
