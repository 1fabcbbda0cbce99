"""The model of several sources: classes, transitions and what each source confuses, by EM.

Time runs in whole steps of the fastest source, so that transitions are powers of one matrix. What
counts is the most probable class of each prediction: how sure a source is, its errors share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _core
from ..support.arrays import median_step
from ..support.types import Bools, Floats, Ints
from .rows import JoinedRows

ROUNDS = 15
FIRST_ROUNDS = 2
"""In these, only slow sources have weight, or the named reference: they anchor the classes."""
SLOW = 2.0
"""Steps from one prediction of a slow source to its next, at least."""
START_RIGHT, START_STAY = 0.8, 0.95
MAX_COUNT = 100.0
"""Pseudo-counts of a row of confusions; 20 lose a rare class in one of four simulations."""
LEAST, MOST = 0.05, 0.98
"""What the estimated accuracy of a source, beyond chance, is clipped to."""
LONGEST_POWER = 64
"""Longer times between rows, in steps, are rounded to a few percent."""


class Timeline:
    """The rows in whole steps of time.

    Attributes
    ----------
    tau : float
        The step, in time units: the median time between a source's own rows, of the fastest.
    interval : ndarray (S,)
        The median steps between the rows of each source.
    kind : ndarray (T,)
        Which of `steps` each row is after the one before; -1 at the first row of a stream.
    steps : ndarray (N,)
        The numbers of steps that occur.
    """

    def __init__(self, rows: JoinedRows) -> None:
        time = rows.time
        self.interval = np.array([own_interval(rows, time, s) for s in range(len(rows.sources))])
        known = np.isfinite(self.interval)
        self.tau = float(self.interval[known].min()) if known.any() else rows.step
        self.interval = np.where(known, self.interval / self.tau, 1.0)
        number = np.floor((time - time[rows.start]) / self.tau + 0.5).astype(np.intp)
        apart = np.where(rows.first, 0, np.diff(number, prepend=0))
        rounded = np.exp(np.round(np.log(np.maximum(apart, 1)) * 20) / 20).astype(np.intp)
        apart = np.where(apart > LONGEST_POWER, rounded, apart)
        self.steps, kind = np.unique(apart, return_inverse=True)
        self.number = number
        self.kind: Ints = np.where(rows.first, -1, kind)

    @property
    def slow(self) -> Bools:
        """Which sources are slow, (S,)."""
        return np.asarray(self.interval >= SLOW)


def own_interval(rows: JoinedRows, time: Floats, source: int) -> float:
    """Return the median time between the rows of a source; NaN where no two follow each other."""
    own = np.flatnonzero(rows.source == source)
    apart = np.diff(time[own])[rows.stream[own][1:] == rows.stream[own][:-1]]
    return median_step(apart) if (apart > 0).any() else np.nan


class Estimate(NamedTuple):
    """What EM finds.

    Attributes
    ----------
    shares : ndarray (K,)
        Of the classes.
    transitions : ndarray (K, K)
        Over one step.
    confusion : ndarray (S, K, K)
        The probability of each class (column) where a source predicts a class (row).
    agreement : ndarray (S,)
        How far each source is right beyond chance, 0.05 to 0.98.
    posterior : ndarray (T, K)
        Of the class in each row, by all rows of its stream.
    message : ndarray (T, K)
        How likely the rows after each one are in each class, up to a factor.
    """

    shares: Floats
    transitions: Floats
    confusion: Floats
    agreement: Floats
    posterior: Floats
    message: Floats


def powers(transitions: Floats, steps: Ints) -> Floats:
    """Return the transitions over some numbers of steps, (N, K, K)."""
    return np.array([np.linalg.matrix_power(transitions, int(n)) for n in steps])


class Posteriors(NamedTuple):
    """Filtered rows, the messages of later rows, and what both say, each (T, K)."""

    filtered: Floats
    message: Floats
    smoothed: Floats


def passes(line: Timeline, start: Floats, transitions: Floats, likelihood: Floats) -> Posteriors:
    """Return the forward and the backward pass."""
    of = powers(transitions, line.steps)
    before = _core.hmm_pass(start, of, line.kind, likelihood, False)
    after = _core.hmm_pass(start, of, line.kind, likelihood, True)
    both = before * after
    both /= both.sum(axis=1, keepdims=True)
    return Posteriors(before, after, both)


def confusions(counts: Floats, shares: Floats, most: float = MAX_COUNT) -> tuple[Floats, float]:
    """Return p(class | predicted class), (K, K), and the agreement beyond chance.

    The counts (K, K) of predicted classes (rows) are shrunk to a source that is right as often as
    this one in each class. So a rare class keeps its own place.
    """
    K = len(shares)
    right = beyond_chance(counts)
    c = min(most, counts.sum() / (2 * K))
    matrix = counts + max(c, 1e-6) * (right * np.eye(K) + (1 - right) * shares)
    return matrix / matrix.sum(axis=1, keepdims=True), right


def beyond_chance(counts: Floats) -> float:
    """Return how often the two sides of a table of counts agree beyond chance, 0.05 to 0.98."""
    return float(np.clip(kappa(counts), LEAST, MOST))


def agreements(rows: JoinedRows) -> Floats:
    """Return how far sources agree beyond chance, (S, S): each with itself a row later, and others.

    Each row is compared with the last one of the other source, and the other way round; the
    larger agreement counts.
    """
    S, K = len(rows.sources), len(rows.classes)
    said = rows.observed.argmax(axis=1)
    own = [np.flatnonzero(rows.source == i) for i in range(S)]
    out = np.zeros((S, S))
    for i in range(S):
        for j in range(S):
            last = np.searchsorted(own[j], own[i]) - 1
            paired = last >= 0
            paired[paired] = rows.stream[own[j][last[paired]]] == rows.stream[own[i][paired]]
            here, there = said[own[i][paired]], said[own[j][last[paired]]]
            counts = np.bincount(here * K + there, minlength=K * K).reshape(K, K)
            out[i, j] = kappa(counts)
    return np.maximum(out, out.T)


def kappa(counts: Floats | Ints) -> float:
    """Return how often the two sides of a table of counts agree beyond chance; 0 where none is."""
    total = float(counts.sum())
    if not total:
        return 0.0
    chance = float(counts.sum(axis=0) @ counts.sum(axis=1)) / total**2
    return (float(np.trace(counts)) / total - chance) / max(1 - chance, 1e-9)


def estimate(rows: JoinedRows, line: Timeline, reference: int | None = None) -> Estimate:
    """Estimate the model by EM on the most probable class of each prediction.

    Every source has an equal say per unit of time. In the first rounds only some have: the named
    `reference` or the slow sources, by which the classes keep their meaning.
    """
    S, K, n = len(rows.sources), len(rows.classes), rows.streams
    # With one source, nothing else says that a class is there whose share is taken for too large.
    known = n if S > 1 else len(rows.source)
    cell = rows.source * K + rows.observed.argmax(axis=1)
    weight = line.interval / line.interval.max()
    anchors = line.slow if reference is None else np.arange(S) == reference
    anchored = np.where(anchors, weight, 0.0) if anchors.any() else weight
    pi, A = np.full(K, 1 / K), START_STAY * np.eye(K) + (1 - START_STAY) / K
    R = np.tile(START_RIGHT * np.eye(K) + (1 - START_RIGHT) * pi, (S, 1, 1))
    agreed = np.full(S, START_RIGHT)
    for done in range(ROUNDS):
        said = label_likelihoods(R, pi, anchored if done < FIRST_ROUNDS else weight)[cell]
        before, after, gamma = passes(line, pi, A, said)
        counts = np.stack([np.bincount(cell, g, minlength=S * K) for g in gamma.T], axis=1)
        pairs = _transitions_between(line, A, before, after * said)
        pi = (known * gamma.mean(axis=0) + 1 / K) / (known + 1)
        A = shrunken_transitions(pairs, pi, n)
        shrunken = [confusions(one.astype(float), pi) for one in counts.reshape(S, K, K)]
        R = np.stack([matrix for matrix, _ in shrunken])
        agreed = np.array([right for _, right in shrunken])
    _, message, gamma = passes(line, pi, A, label_likelihoods(R, pi, weight)[cell])
    return Estimate(pi, A, R, agreed, gamma, message)


def label_likelihoods(R: Floats, shares: Floats, weight: Floats) -> Floats:
    """Return the likelihood of each label of each source, (S * K, K)."""
    return ((R / shares) ** weight[:, None, None]).reshape(-1, len(shares))


def shrunken_transitions(pairs: Floats, shares: Floats, streams: int) -> Floats:
    """Return the transitions over a step from counts, shrunk to a class that stays as it does."""
    K = len(shares)
    stay = float(np.trace(pairs) / max(pairs.sum(), 1e-9)) if pairs.any() else START_STAY
    counts = pairs + stay * np.eye(K) + (1 - stay) * shares
    counts /= counts.sum(axis=1, keepdims=True)
    A: Floats = (streams * counts + stay * np.eye(K) + (1 - stay) / K) / (streams + 1)
    return A


def _transitions_between(line: Timeline, A: Floats, before: Floats, after: Floats) -> Floats:
    """Return how often each class follows each within one step, (K, K).

    `after` is what a row and all later ones say. Over n steps, the expected number of transitions
    is the sum over the steps between; long gaps say nothing.
    """
    K = len(A)
    total = np.zeros((K, K))
    for kind, n in enumerate(line.steps):
        if not 1 <= n <= LONGEST_POWER:
            continue
        at = np.flatnonzero(line.kind == kind)
        if not at.size:
            continue
        of = [np.linalg.matrix_power(A, m) for m in range(n + 1)]
        norm = ((before[at - 1] @ of[n]) * after[at]).sum(axis=1)
        W = before[at - 1].T @ (after[at] / np.maximum(norm, 1e-300)[:, None])
        total += A * sum(of[m].T @ W @ of[n - 1 - m].T for m in range(n))
    return total
