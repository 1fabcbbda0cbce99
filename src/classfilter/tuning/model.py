"""The estimated model: class shares, transitions and channels, from the predictions alone.

Streams are independent, rows are not. So shares and transitions are those of the streams and of
one more stream, in which all classes are alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..filters import StickyFilter, exponential, generator
from ..pipeline import Channel
from ..support.arrays import median_step
from ..support.types import Floats, Ints
from .passes import LOW_FLOOR, Passes
from .rows import JoinedRows

PRIOR_POWER = 0.5
"""The filter divides the reference's predictions by the shares to this power: the shares of the
data that the classifier was trained on are in them, and are not known."""
MAX_STAY = 0.99
"""Pseudo-counts stay with at most this probability."""
ROUNDS = 4
"""How often the channels are estimated from the smoothed posterior."""
SMOOTHED_SHARE = 0.5
"""Of the transition counts taken from the smoothed posterior, the rest from predictions."""
PSEUDO_STREAMS = 1.0
"""How many streams in which all classes are alike are added."""
MIN_AGREEMENT = 0.1
"""Of successive predictions of the reference, beyond chance; below it they judge nothing."""
MIN_RATE = 1e-6
"""Smallest rate, as a share of the highest: every class can be reached."""


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
        The confusions of each other source, by its name and how they were estimated: "near", from
        the reference's next prediction, or "em", from the smoothed posterior.
    """

    shares: Floats
    prior: Floats
    transitions: Transitions | None
    channel: dict[tuple[str, str], Channel]


def tempered(shares: Floats, power: float) -> Floats:
    """Return the shares to a power, normalised."""
    raised: Floats = shares**power / (shares**power).sum()
    return raised


def mean_shares(probs: Floats) -> Floats:
    """Return the share of each class (K,) in predictions (T, K), one of each class added."""
    shares: Floats = (probs.sum(axis=0) + 1) / (len(probs) + probs.shape[1])
    return shares


def class_shares(rows: JoinedRows) -> Floats:
    """Return the share of each class (K,) in the predictions of the reference."""
    shares, streams = mean_shares(rows.probs[rows.of_reference]), reference_streams(rows)
    smoothed: Floats = (streams * shares + PSEUDO_STREAMS / len(shares)) / (
        streams + PSEUDO_STREAMS
    )
    return smoothed


def reference_streams(rows: JoinedRows) -> int:
    """Return how many streams have predictions of the reference."""
    return int(np.unique(rows.stream[rows.of_reference]).size)


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


def transitions_from_counts(
    counts: Floats, shares: Floats, interval: float, streams: int
) -> Transitions:
    """Return the transitions from counts of what follows what after an interval."""
    K = len(shares)
    stay = min(float(np.trace(counts) / counts.sum()), MAX_STAY)
    matrix = counts + stay * np.eye(K) + (1 - stay) * shares
    matrix = streams * matrix / matrix.sum(axis=1, keepdims=True)
    matrix += PSEUDO_STREAMS * (stay * np.eye(K) + (1 - stay) / K)
    matrix /= matrix.sum(axis=1, keepdims=True)
    try:
        rates = generator(matrix)
    except ValueError:  # the process mixes within the interval
        rates = matrix - np.eye(K)
    highest = float(-np.diag(rates).min())
    rates = np.maximum(rates, MIN_RATE * highest / K)
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    # Where most classes change within the interval, a shorter one is exact to more digits.
    part = min(1.0, 1 / highest)
    return Transitions(exponential(rates * part), part * interval)


def mean_predictions(class_probs: Floats, predictions: Floats) -> Floats:
    """Return the mean prediction in each class, (K, K), with one of the average kind added."""
    counts = class_probs.T @ predictions + predictions.mean(axis=0)
    means: Floats = counts / counts.sum(axis=1, keepdims=True)
    return means


def estimate_model(rows: JoinedRows, passes: Passes) -> EstimatedModel:
    """Estimate shares, transitions and channels from the predictions of the reference."""
    shares, streams = class_shares(rows), reference_streams(rows)
    before, after, interval = successive(rows)
    predicted = rows.probs[before].T @ rows.probs[after]
    if not before.size:  # no two follow each other: as if each class stayed
        predicted = np.diag(shares)
    transitions = transitions_from_counts(predicted, shares, interval, streams)
    prior = tempered(shares, PRIOR_POWER)
    near = {name: channel_from_next(rows, i, prior) for i, name in enumerate(rows.sources) if i > 0}
    channel = {(name, "near"): c for name, c in near.items()}
    model = EstimatedModel(shares, prior, transitions, channel)
    if not near:
        return model
    em = near
    for _ in range(ROUNDS):
        posterior = _smoothed(rows, passes, model, em)
        em = {
            name: Channel(
                mean_predictions(posterior[rows.source == i], rows.probs[rows.source == i]), prior
            )
            for i, name in enumerate(rows.sources)
            if i > 0
        }
    posterior = _smoothed(rows, passes, model, em)
    smoothed = posterior[before].T @ posterior[after]
    if before.size:
        counts = SMOOTHED_SHARE * smoothed + (1 - SMOOTHED_SHARE) * predicted
        transitions = transitions_from_counts(counts, shares, interval, streams)
    channel |= {(name, "em"): c for name, c in em.items()}
    return EstimatedModel(shares, prior, transitions, channel)


def sticky(model: EstimatedModel, floor: float = LOW_FLOOR) -> StickyFilter:
    """Return the filter of the estimated transitions, its classes without names."""
    assert model.transitions is not None
    matrix, interval = model.transitions
    return StickyFilter(
        len(matrix), transitions=matrix, interval=interval, prior=model.prior, floor=floor
    )


def channel_from_next(rows: JoinedRows, source: int, prior: Floats) -> Channel:
    """Return a source's channel from its last prediction before each one of the reference."""
    own = np.flatnonzero(rows.source == source)
    later = np.flatnonzero(rows.of_reference & ~rows.first)
    last = np.searchsorted(own, later) - 1
    paired = last >= 0
    paired[paired] = rows.stream[own[last[paired]]] == rows.stream[later[paired]]
    if not paired.any():
        K = len(prior)
        return Channel(mean_predictions(np.full((len(own), K), 1 / K), rows.probs[own]), prior)
    return Channel(
        mean_predictions(rows.probs[later[paired]], rows.probs[own[last[paired]]]), prior
    )


def _smoothed(
    rows: JoinedRows, passes: Passes, model: EstimatedModel, channel: dict[str, Channel]
) -> Floats:
    """Return the smoothed posterior (T, K), all sources of weight 1 through their channels."""
    probs = rows.probs.copy()
    for i, name in enumerate(rows.sources):
        if i > 0:
            probs[rows.source == i] = channel[name].apply(rows.probs[rows.source == i])
    return passes.smooth(sticky(model), probs, np.ones(len(probs)))
