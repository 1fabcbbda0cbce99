"""Judges of settings, and the search for the setting that they like best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Floats
from .._validation import one_hot
from ..data._recording import Recording
from ._candidates import Candidate, FilterOutput, Runner
from ._coordinate_ascent import coordinate_ascent, source_axis
from ._model import EstimatedModel

Progress = Callable[[float], None]
PARTS = 4
"""Least number of parts of a half whose scatter tells how sure a score is."""
LEAST = 1e-4
"""A prediction of less counts as so much."""


class Trial(NamedTuple):
    """A setting that was tried.

    Attributes
    ----------
    candidate : Candidate
        What was tried.
    score : float
        How well it did; see `Tuned.criterion`.
    error : float
        Standard error of the score.
    """

    candidate: Candidate
    score: float
    error: float


class Fold:
    """Some streams, judged by what others taught.

    Parameters
    ----------
    recordings : sequence of Recording
        The streams.
    model : EstimatedModel
        What the others taught.
    judge : {"hindsight", "next answer", "labels"}
        What decides; see `Tuned.criterion`.
    step : float
        The usual time from row to row.
    """

    def __init__(
        self, recordings: Sequence[Recording], model: EstimatedModel, judge: str, step: float
    ) -> None:
        self.model, self._judge, self._step = model, judge, step
        self._runners = [Runner(rec, model) for rec in recordings]
        self._cuts = math.ceil(PARTS / len(recordings))
        self._truth: list[Floats] = []
        if judge == "labels":
            self._truth = [_labels(rec) for rec in recordings]
        elif judge == "hindsight":
            self._smooth()

    @property
    def pseudo_labels(self) -> list[Floats]:
        """What stands for the truth of each recording, (T, K)."""
        return self._truth

    def score(self, candidate: Candidate) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        outputs = self._outputs(candidate)
        next_answer = self._judge == "next answer"
        return self._next_answer(outputs) if next_answer else self._agreement(outputs)

    def _outputs(self, candidate: Candidate) -> list[FilterOutput]:
        made = candidate.filter(self.model)
        return [runner.run(candidate, made) for runner in self._runners]

    def _next_answer(self, outputs: Sequence[FilterOutput]) -> Floats:
        """How much the state just before each answer of the reference gave to that answer."""
        scores = [
            (runner.answers * np.log(np.maximum(output.before, LEAST))).sum(axis=1)
            for runner, output in zip(self._runners, outputs, strict=True)
        ]
        return self._sums(scores)

    def _agreement(self, outputs: Sequence[FilterOutput]) -> Floats:
        """How much the truth, or what stands for it, gives to the class that is called."""
        scores = []
        for truth, output in zip(self._truth, outputs, strict=True):
            given = truth[np.arange(len(truth)), output.after.argmax(axis=1)]
            scores.append(given[~np.isnan(given)])
        return self._sums(scores)

    def _sums(self, scores: Sequence[Floats]) -> Floats:
        parts = [part for one in scores for part in np.array_split(one, self._cuts)]
        return np.array([(part.sum(), part.size) for part in parts])

    def _smooth(self) -> None:
        """Smooth; the weights are chosen by the next answers, and then by hindsight itself."""
        others = list(self.model.channel)
        candidate = Candidate(
            "stay" if self.model.transitions is None else "transitions",
            8 * self._step,
            ((self.model.reference, 1.0), *((name, 0.5) for name in others)),
            frozenset(others),
        )
        for judge in (self._next_answer, self._agreement):
            candidate = coordinate_ascent(
                candidate,
                [source_axis(name) for name in others],
                lambda found, judge=judge: mean(judge(self._outputs(found))),  # type: ignore[misc]
            )
            made = candidate.filter(self.model)
            self._truth = [runner.smooth(candidate, made) for runner in self._runners]


class Objective:
    """All streams, each half judged by what the other taught; remembers what was tried."""

    def __init__(self, folds: Sequence[Fold]) -> None:
        self._halves = folds
        self._tried: dict[Candidate, Floats] = {}

    @property
    def knows_transitions(self) -> bool:
        """Whether transitions could be model."""
        return all(half.model.transitions is not None for half in self._halves)

    def scores(self, candidate: Candidate) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        if candidate not in self._tried:
            self._tried[candidate] = np.concatenate(
                [half.score(candidate) for half in self._halves]
            )
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
        """Return all that was tried, the best first."""
        trials = [Trial(s, self.mean(s), self.error(s)) for s in self._tried]
        return sorted(trials, key=lambda trial: -trial.score)


def mean(scores: Floats) -> float:
    """Return the mean of scores in parts."""
    total, count = scores.sum(axis=0)
    return float(total / count)


def _labels(rec: Recording) -> Floats:
    """Return the labels as probabilities, (T, K); NaN where unknown."""
    label = np.full(len(rec), -1) if rec.label is None else rec.label
    return one_hot(label, len(rec.classes))
