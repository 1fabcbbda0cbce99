"""The estimated model where the reference gives labels: how often it is right is estimated too.

Probabilities say how sure a prediction is, labels do not. Here the reference has a channel like the
other sources, and all of it is estimated by Baum-Welch: an error is what neither the rows before
and after nor the other sources confirm.
"""

from __future__ import annotations

import numpy as np

from .._support.types import Floats
from ..chain._channel import Channel
from ._model import (
    PRIOR_POWER,
    EstimatedModel,
    Transitions,
    channel_from_next,
    class_shares,
    mean_predictions,
    reference_streams,
    sticky,
    successive,
    tempered,
    transitions_from_counts,
)
from ._passes import Passes
from ._rows import JoinedRows

ROUNDS = 20
"""Of Baum-Welch."""
FIRST_RECALL = 0.8
"""How often the reference is right, in the first round."""


def has_labels(rows: JoinedRows) -> bool:
    """Return whether all predictions of the reference are one-hot rows."""
    return bool((rows.observed[rows.of_reference].max(axis=1) == 1).all())


def estimate_label_model(rows: JoinedRows, passes: Passes) -> tuple[JoinedRows, EstimatedModel]:
    """Estimate shares, transitions and the channels of all sources, the reference's too.

    The rows are returned with the predictions of the reference through its channel.
    """
    K, pairs = len(rows.classes), successive(rows)
    uniform = np.full(K, 1 / K)
    streams, shares = reference_streams(rows), class_shares(rows)
    counts = rows.probs[pairs.before].T @ rows.probs[pairs.after] + np.diag(shares)
    transitions = transitions_from_counts(counts, shares, pairs.interval, streams)
    matrices = [
        np.eye(K) * FIRST_RECALL + (1 - FIRST_RECALL) * shares,
        *(channel_from_next(rows, i, uniform).matrix for i in range(1, len(rows.sources))),
    ]
    for _ in range(ROUNDS):
        likelihoods = _likelihoods(rows, matrices)
        posterior, counts = _expectation(rows, passes, transitions, likelihoods)
        transitions = transitions_from_counts(counts, posterior.mean(axis=0), rows.step, streams)
        matrices = [
            mean_predictions(posterior[rows.source == i], rows.observed[rows.source == i])
            for i in range(len(rows.sources))
        ]
    shares = posterior.mean(axis=0)
    prior = tempered(shares, PRIOR_POWER)
    channel = {
        (name, "em"): Channel(matrix, prior)
        for name, matrix in zip(rows.sources, matrices, strict=True)
    }
    probs = rows.probs.copy()
    probs[rows.of_reference] = channel[rows.reference, "em"].apply(rows.observed[rows.of_reference])
    soft = rows._replace(probs=probs)
    for i, name in enumerate(rows.sources[1:], 1):
        channel[name, "near"] = channel_from_next(soft, i, prior)
    return soft, EstimatedModel(shares, prior, transitions, channel)


def _likelihoods(rows: JoinedRows, matrices: list[Floats]) -> Floats:
    """Return p(prediction | class), (T, K), up to a factor per row."""
    likelihoods = np.empty_like(rows.probs)
    for i, matrix in enumerate(matrices):
        own = rows.source == i
        likelihoods[own] = Channel(matrix).apply(rows.observed[own])
    return likelihoods


def _expectation(
    rows: JoinedRows, passes: Passes, transitions: Transitions, likelihoods: Floats
) -> tuple[Floats, Floats]:
    """Return the smoothed posterior (T, K), and expected counts of transitions over a step."""
    K = len(rows.classes)
    # A uniform prior, by which it divides: these are likelihoods already.
    uniform = np.full(K, 1 / K)
    filter_ = sticky(EstimatedModel(uniform, uniform, transitions, {}))
    weights = np.ones(len(likelihoods))
    forward = passes.forward(filter_, likelihoods, weights)
    backward = passes.backward(filter_, likelihoods, weights)
    posterior = forward * backward
    posterior /= posterior.sum(axis=1, keepdims=True)
    after = np.flatnonzero(~rows.first & (np.abs(rows.dt / rows.step - 1) < 0.2))
    over_step = filter_._transitions(rows.step)
    ahead = likelihoods[after] * backward[after]
    before = forward[after - 1]
    joint = np.einsum("ti,ij,tj->t", before, over_step, ahead)
    counts: Floats = over_step * ((before / joint[:, None]).T @ ahead)
    return posterior, counts
