"""A chain of a candidate; and that of a safe one, where there is too little data to tune on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._predictions import at_reliability
from ..chain._channel import Channel
from ..data._recording import Recording
from ._candidates import Candidate
from ._folds import MIN_PREDICTIONS, count_predictions, median_step
from ._model import EstimatedModel
from ._result import Tuned
from ._rows import LABEL_RELIABILITY
from ._wish import Wish

SAFE_WEIGHT = 0.1
"""The weight of the other sources where there is too little data."""


def tuned_as(
    model: EstimatedModel,
    classes: tuple[str, ...],
    candidate: Candidate,
    reference: str,
    criterion: str,
    label_sources: Sequence[str] = (),
    **more: Any,
) -> Tuned:
    """Return the chain of a candidate, with what is known of it."""
    channels: dict[str, Channel | None] = dict.fromkeys(dict(candidate.beta))
    channels |= candidate.channels(model)
    channels |= {name: for_labels(channels.get(name), len(classes)) for name in label_sources}
    return Tuned(
        candidate.filter(model, classes),
        beta=dict(candidate.beta),
        channel=channels,
        reference=reference,
        candidate=candidate,
        criterion=criterion,
        **more,
    )


def for_labels(channel: Channel | None, classes: int) -> Channel:
    """Return the channel that makes of a label what another makes of its probabilities.

    So what runs is what was tuned, wherever it runs. A label is a one-hot row, of which a channel
    takes a column of its matrix; the prior undoes that it normalises the rows.
    """
    probs = at_reliability(np.eye(classes), np.ones(classes, bool), LABEL_RELIABILITY)
    if channel is None:
        return Channel(probs)
    likelihoods = Channel(channel.matrix).apply(probs).T
    return Channel(likelihoods, channel.prior * likelihoods.sum(axis=1))


def untuned(recordings: Sequence[Recording], reference: str, kind: str, wish: Wish) -> Tuned:
    """Return safe settings, with a warning."""
    count = count_predictions(recordings, reference)
    why = (
        f"there are {count} predictions of {reference!r}; tuning needs at least {MIN_PREDICTIONS} "
        "at the rate at which it will be called: these are safe settings"
        f"{', and the wish was not looked at' * bool(wish)}. Record for longer."
    )
    warnings.warn(why, stacklevel=4)
    sources = dict.fromkeys([reference, *(name for rec in recordings for name in rec.sources)])
    candidate = Candidate(
        "stay" if kind == "sticky" else "dirichlet",
        tuple((name, 1.0 if name == reference else SAFE_WEIGHT) for name in sources),
        8 * median_step(recordings),
    )
    K = len(recordings[0].classes)
    model = EstimatedModel(np.full(K, 1 / K), np.full(K, 1 / K), None, {})
    return tuned_as(model, recordings[0].classes, candidate, reference, "nothing", explanation=why)
