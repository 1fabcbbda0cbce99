"""The model that runs: what `estimate` found, as the parts of a sticky filter and its channels.

A source that gives probabilities takes its word or goes through a channel, its mean prediction in
each class; the candidates differ in what says the class. A label goes through its confusions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..filters import StickyFilter, exponential, generator
from ..pipeline import Channel
from ..support.arrays import median_step
from ..support.types import Floats, Ints
from .estimate import (
    LEAST,
    MAX_COUNT,
    Estimate,
    Timeline,
    agreements,
    beyond_chance,
    estimate,
    passes,
)
from .passes import LOW_FLOOR
from .rows import LABEL_RELIABILITY, JoinedRows

PRIOR_POWER = 0.5
"""The filter divides predictions by the mean prediction to this power: the shares of the data that
the classifier was trained on are in them, and are not known."""
PSEUDO_STREAMS = 4.0
"""How many streams in which all classes are alike are added before a model runs: sounds from one
stream lose 14 points to the rule Hold without them, and 6 with them."""
MIN_AGREEMENT = 0.1
"""Of successive predictions of the reference, beyond chance; below it they judge nothing."""
MIN_RATE = 1e-6
"""Smallest rate, as a share of the highest: every class can be reached."""
WAYS = ("posterior", "best", "later")
"""What the channel of a source rests on: its mean prediction by the classes of all sources; what
predicts best the classes of the best source alone, so that errors do not confirm themselves; or its
mean prediction by the next one of the best source, where calls are rarer than changes."""
REGRESSION_ROUNDS = 40
LABELS_WAY = "labels"
TIED_WAY = "tied"
"""A channel of one number, how often the source is right, for what must not lose much."""
USUALLY_RIGHT = 0.3
"""How far sources are taken to be right beyond chance, at least on average, in such channels."""


class Transitions(NamedTuple):
    """The transition probabilities over a time interval.

    Attributes
    ----------
    matrix : ndarray (K, K)
        Probability of each class (column) a time `interval` after each class (row).
    interval : float
        In time units.
    """

    matrix: Floats
    interval: float


class EstimatedModel(NamedTuple):
    """What is estimated from the predictions, without labels.

    Attributes
    ----------
    shares : ndarray (K,)
        The share of each class.
    prior : ndarray (K,)
        The prior of the sticky filter, by which predictions are divided.
    transitions : Transitions or None
        None where nothing is estimated from the reference.
    channel : dict of (str, str) to Channel
        The channel of a source, by its name and one of `WAYS`, or "labels".
    line : Timeline or None
        The rows in steps of time.
    found : Estimate or None
        What the model was made of.
    """

    shares: Floats
    prior: Floats
    transitions: Transitions | None
    channel: dict[tuple[str, str], Channel]
    line: Timeline | None = None
    found: Estimate | None = None

    @property
    def rates(self) -> Floats:
        """The rates of change, (K, K), a time unit."""
        assert self.transitions is not None
        return rates_of(self.transitions.matrix) / self.transitions.interval


def tempered(shares: Floats, power: float) -> Floats:
    """Return the shares to a power, normalised."""
    raised: Floats = shares**power / (shares**power).sum()
    return raised


def mean_shares(probs: Floats) -> Floats:
    """Return the share of each class (K,) in predictions (T, K), one of each class added."""
    shares: Floats = (probs.sum(axis=0) + 1) / (len(probs) + probs.shape[1])
    return shares


def successive(rows: JoinedRows) -> tuple[Ints, Ints, float]:
    """Return the successive predictions of the reference that are about as far apart as usual.

    They are the rows of the earlier and of the later ones, (N,) each, and the mean time between.
    """
    at, time = np.flatnonzero(rows.of_reference), rows.time
    before, after = at[:-1], at[1:]
    apart = time[after] - time[before]
    same = (rows.stream[before] == rows.stream[after]) & (apart > 0)
    if not same.any():
        return at[:0], at[:0], rows.step
    usual = median_step(apart[same])
    near = same & (apart > usual / 2) & (apart < 2 * usual)
    return before[near], after[near], float(apart[near].mean())


def agreement(rows: JoinedRows) -> float:
    """Return how often successive predictions of the reference agree, beyond chance.

    It is Cohen's kappa: 1 where they always agree, 0 where no more than by chance.
    """
    before, after, _ = successive(rows)
    predicted = rows.probs.argmax(axis=1)
    counts = np.bincount(predicted[rows.of_reference])
    chance = float(((counts / counts.sum()) ** 2).sum())
    if chance == 1 or not before.size:
        return 1.0
    same = float((predicted[before] == predicted[after]).mean())
    return (same - chance) / (1 - chance)


def rates_of(matrix: Floats) -> Floats:
    """Return the rates of transitions (K, K), by which every class can be reached."""
    K = len(matrix)
    try:
        rates = generator(matrix)
    except ValueError:  # the process mixes within the interval
        rates = matrix - np.eye(K)
    highest = float(-np.diag(rates).min())
    rates = np.maximum(rates, MIN_RATE * highest / K)
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return rates


def estimate_model(
    rows: JoinedRows, named: bool = True, power: float = PRIOR_POWER
) -> EstimatedModel:
    """Estimate shares, transitions and channels; the reference is the first source.

    `named` says whether it anchors the classes, or the slow sources do; `power` is that of the
    mean prediction in the filter's prior.
    """
    line = Timeline(rows)
    return model_of(rows, line, estimate(rows, line, 0 if named else None), power)


def model_of(
    rows: JoinedRows, line: Timeline, found: Estimate, power: float = PRIOR_POWER
) -> EstimatedModel:
    """Return the model that runs, of an estimate."""
    K, n = len(rows.classes), rows.streams
    shares = (n * found.shares + PSEUDO_STREAMS / K) / (n + PSEUDO_STREAMS)
    stay = float(found.posterior.mean(axis=0) @ np.diag(found.transitions))
    alike = stay * np.eye(K) + (1 - stay) / K
    rates = rates_of((n * found.transitions + PSEUDO_STREAMS * alike) / (n + PSEUDO_STREAMS))
    # Where most classes change within a step, a shorter one is exact to more digits.
    part = min(1.0, 1 / float(-np.diag(rates).min()))
    transitions = Transitions(exponential(rates * part), part * line.tau)
    prior = tempered(mean_shares(rows.observed[rows.of_reference]), power)
    alone = by_best(rows, line, found)
    channel, right = {}, right_by_others(agreements(rows))
    for i, name in enumerate(rows.sources):
        own = np.flatnonzero(rows.source == i)
        channel[name, TIED_WAY] = Channel(right[i] * np.eye(K) + (1 - right[i]) / K, prior)
        if name in rows.label_sources:
            channel[name, LABELS_WAY] = of_labels(found.confusion[i], found.shares, prior)
            continue
        probs = rows.observed[own]
        if not i and len(rows.sources) > 1:
            continue  # the reference takes its word
        channel[name, "posterior"] = Channel(shrunken_means(found.posterior[own], probs), prior)
        told = alone if i else found.posterior
        channel[name, "best"] = of_likelihoods(regression(probs, told[own], found.shares), prior)
        if i:
            calls, last = last_before(rows, own)
            by_calls = shrunken_means(rows.observed[calls], rows.observed[last])
            channel[name, "later"] = Channel(by_calls, prior)
    return EstimatedModel(shares, prior, transitions, channel, line, found)


def right_by_others(agreement: Floats) -> Floats:
    """Return how far each source is right beyond chance, by how far others agree with it.

    Of sources whose errors are independent, two agree as far as one is right times the other.
    """
    S = len(agreement)
    others = np.maximum(agreement * (1 - np.eye(S)), 0.0)
    scale = (others.sum() * (S - 1) / S) ** 0.5
    right = np.maximum(others.sum(axis=1) / max(scale, LEAST), LEAST)
    right *= max(1.0, USUALLY_RIGHT / float(right.mean()))
    return np.asarray(np.minimum(right, LABEL_RELIABILITY))


def of_labels(confusion: Floats, shares: Floats, prior: Floats) -> Channel:
    """Return the channel of labels: p(class | label) / shares, times the filter's prior."""
    return of_likelihoods(confusion.T / shares[:, None], prior)


def of_likelihoods(likelihoods: Floats, prior: Floats) -> Channel:
    """Return the channel of likelihoods (K, K), whose rows it normalises; its prior undoes that."""
    return Channel(likelihoods, prior * likelihoods.sum(axis=1))


def regression(probs: Floats, classes: Floats, shares: Floats) -> Floats:
    r"""Return likelihoods L (K, K) for which predictions w best tell the classes q, each (T, K).

    It is the softmax regression :math:`q_k \propto \pi_k \exp \sum_j w_j \log L_{kj}`,
    which is what a channel does, with pseudo-rows as for `confusions`. Each round maximises a bound
    whose curvature is that of least squares.
    """
    K = len(shares)
    counts = np.eye(K)[probs.argmax(axis=1)].T @ classes
    right = beyond_chance(counts)
    shrunk = right * np.eye(K) + (1 - right) * shares
    c = max(min(MAX_COUNT, len(probs) / (2 * K)), LOW_FLOOR)
    x, weight = (
        np.vstack([probs, np.eye(K)]),
        np.append(np.ones(len(probs)), np.full(K, c))[:, None],
    )
    q = np.vstack([classes, shrunk])
    logs, curvature = np.log(shrunk / shares), np.linalg.inv((weight * x).T @ x)
    for _ in range(REGRESSION_ROUNDS):
        p = shares * np.exp(x @ logs)
        p /= p.sum(axis=1, keepdims=True)
        logs += 2 * curvature @ ((weight * x).T @ (q - p))
    likelihoods: Floats = np.exp(logs - logs.max()).T
    return likelihoods


def shrunken_means(classes: Floats, predictions: Floats) -> Floats:
    """Return the mean prediction in each class, (K, K), shrunk to one that is right as often."""
    K = predictions.shape[1]
    counts = classes.T @ predictions
    right, mean = beyond_chance(counts), mean_shares(predictions)
    c = max(min(MAX_COUNT, len(predictions) / (2 * K)), LOW_FLOOR)
    means = counts + c * (right * np.eye(K) + (1 - right) * mean)
    means /= means.sum(axis=1, keepdims=True)
    return np.asarray(means)


def by_best(rows: JoinedRows, line: Timeline, found: Estimate) -> Floats:
    """Return the posterior of the class in each row (T, K) by the reference alone."""
    return passes(line, found.shares, found.transitions, of_best(rows, found)).smoothed


def of_best(rows: JoinedRows, found: Estimate) -> Floats:
    """Return the likelihood of the reference's predictions (T, K), 1 in rows of other sources."""
    own, K = rows.of_reference, len(rows.classes)
    said = rows.observed[own].argmax(axis=1)
    often = np.bincount(said, minlength=K) + LOW_FLOOR
    means = (found.confusion[0] * often[:, None]).T
    means /= means.sum(axis=1, keepdims=True)  # p(label | class)
    out = np.ones((len(own), K))
    probs = np.eye(K)[said] if rows.reference in rows.label_sources else rows.observed[own]
    out[own] = probs @ means.T
    return out


def last_before(rows: JoinedRows, own: Ints) -> tuple[Ints, Ints]:
    """Return the rows of the reference that a row of a source precedes, and that row, (N,) each."""
    calls = np.flatnonzero(rows.of_reference)
    last = np.searchsorted(own, calls) - 1
    paired = last >= 0
    paired[paired] = rows.stream[own[last[paired]]] == rows.stream[calls[paired]]
    return calls[paired], own[last[paired]]


def sticky(model: EstimatedModel, floor: float = LOW_FLOOR) -> StickyFilter:
    """Return the filter of the estimated transitions, its classes without names."""
    assert model.transitions is not None
    matrix, interval = model.transitions
    return StickyFilter(
        len(matrix), transitions=matrix, interval=interval, prior=model.prior, floor=floor
    )
