"""The objective: the mean score of a candidate, and how certain a difference of two is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..support.types import Floats
from .candidates import Candidate, Runner
from .criterion import Criterion
from .passes import Passes

Progress = Callable[[float], None]
CAUTION = 1.5
"""Standard errors that a gain is reduced by: the rest can be counted on."""
SCREEN_ROWS = 100_000
"""Where there are more rows, many candidates are tried on some streams first."""
SCREENED = 8
"""How many of them are then tried on all streams."""


class Trial(NamedTuple):
    """A candidate and its score.

    Attributes
    ----------
    candidate : Candidate
        The settings.
    score : float
        The value of the objective; see `TuningRecord.criterion`.
    error : float
        Standard error of the score.
    """

    candidate: Candidate
    score: float
    error: float


class Gain(NamedTuple):
    """The difference of two scores, and its standard error."""

    gain: float
    error: float


class Objective:
    """The mean score of candidates by one criterion or two; remembers those that were tried.

    Parameters
    ----------
    runner : Runner
        Runs the candidates.
    criteria : sequence of Criterion
        The sum of the first and the last is maximised; by the last, rivals are compared, and what
        is said.
    """

    def __init__(self, runner: Runner, criteria: Sequence[Criterion]) -> None:
        self.runner, self.criteria = runner, criteria
        self._tried: dict[Candidate, list[Floats]] = {}
        self._samples: dict[int, Objective] = {}
        self.on_new: Callable[[], None] = lambda: None

    def mean(self, candidate: Candidate) -> float:
        """Return the mean score, by the first criterion and the last where there are several."""
        sums = self._sums(candidate)
        judged = [sums[0], sums[-1]] if len(sums) > 1 else sums
        return float(sum(total / count for total, count in (one.sum(axis=0) for one in judged)))

    def shown(self, candidate: Candidate) -> Gain:
        """Return the mean score by the last criterion, and its standard error."""
        return _mean_and_error(self._sums(candidate)[-1])

    def error(self, candidate: Candidate) -> float:
        """Return the standard error of the mean score."""
        return _mean_and_error(self._sums(candidate)[0]).error

    def gains(self, candidate: Candidate, other: Candidate) -> list[Gain]:
        """Return by how much a candidate is ahead of another, by each criterion."""
        pairs = zip(self._sums(candidate), self._sums(other), strict=True)
        return [
            _mean_and_error(np.stack([mine[:, 0] - its[:, 0], mine[:, 1]], axis=1))
            for mine, its in pairs
        ]

    def gain_over_streams(self, candidate: Candidate, other: Candidate) -> Gain:
        """Return by how much a candidate is ahead by the last criterion, the error over streams.

        Where there are few streams, `gains` counts parts of one as if they were independent. The
        larger error of the two is returned; of a single stream, that over its parts.
        """
        by_part = self.gains(candidate, other)[-1]
        stream = np.zeros(self.criteria[0].part.max() + 1, np.intp)
        stream[self.criteria[0].part] = self.runner.rows.stream
        mine, its = self._sums(candidate)[-1], self._sums(other)[-1]
        sums = np.zeros((stream.max() + 1, 2))
        np.add.at(sums, stream, np.stack([mine[:, 0] - its[:, 0], mine[:, 1]], axis=1))
        by_stream = _mean_and_error(sums)
        whole = by_stream.error if np.isfinite(by_stream.error) else 0.0
        return Gain(by_part.gain, max(by_part.error, whole))

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """Return the candidate of the highest mean, the first of several."""
        return self.top(candidates, 1)[0]

    def top(self, candidates: Sequence[Candidate], count: int) -> list[Candidate]:
        """Return the candidates of the highest means, the best first."""
        return sorted(self.shortlist(candidates), key=self.mean, reverse=True)[:count]

    def safest(self, candidates: Sequence[Candidate], base: Candidate) -> Candidate:
        """Return the candidate whose gain over a base can be counted on most.

        That is the gain less `CAUTION` standard errors. The base itself gains 0; it is returned
        where it is among the candidates and no gain can be counted on.
        """

        def certain_gain(candidate: Candidate) -> float:
            gain, error = self.gains(candidate, base)[0]
            return 0.0 if candidate == base else gain - CAUTION * error

        shortlist = [base] if base in candidates else []
        return max([*shortlist, *self.shortlist(candidates)], key=certain_gain)

    def shortlist(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Return the candidates; where there are many rows, those best on some streams."""
        few = self.sample(SCREEN_ROWS)
        if few is self or len(candidates) <= SCREENED:
            return candidates
        return sorted(candidates, key=few.mean, reverse=True)[:SCREENED]

    def table(self) -> list[Trial]:
        """Return all candidates that were tried, the best first; some on some streams only."""
        trials = {trial.candidate: trial for o in self._samples.values() for trial in o.table()}
        trials |= {c: Trial(c, *self.shown(c)) for c in self._tried}
        return sorted(trials.values(), key=lambda trial: -trial.score)

    def sample(self, max_rows: int) -> Objective:
        """Return the objective on some streams, of about so many rows in all."""
        rows, model = self.runner.rows, self.runner.model
        T = len(rows.source)
        if max_rows >= T:
            return self
        if max_rows in self._samples:
            return self._samples[max_rows]
        stride = -(-T // max_rows)
        kept = rows.stream % stride == 0
        if rows.streams < 2 * stride:  # few streams: the first rows of each
            length = np.bincount(rows.stream)[rows.stream]
            kept = np.arange(T) - rows.start < np.ceil(length / stride)
        some = rows.take(kept)
        runner = Runner(some, Passes(some), model, kept)
        sample = Objective(runner, [criterion.take(kept) for criterion in self.criteria])
        sample.on_new = lambda: self.on_new()
        self._samples[max_rows] = sample
        return sample

    def _sums(self, candidate: Candidate) -> list[Floats]:
        if candidate not in self._tried:
            predicted = self.runner.run(candidate)
            self._tried[candidate] = [criterion.sums(predicted) for criterion in self.criteria]
            self.on_new()
        return self._tried[candidate]


def _mean_and_error(sums: Floats) -> Gain:
    """Return the mean of scores in parts (parts, 2), and its standard error over the parts."""
    total, counts = sums[sums[:, 1] > 0].T
    mean = total.sum() / counts.sum()
    rest, n = total - counts * mean, len(counts)
    scatter = np.sqrt(n / (n - 1) * (rest**2).sum()) if n > 1 else np.inf
    return Gain(float(mean), float(scatter / counts.sum()))
