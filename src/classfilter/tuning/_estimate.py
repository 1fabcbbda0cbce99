"""Estimation of the model from recordings: shares, transitions and channels, without labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._channel import Channel
from .._typing import Floats
from ..data._recording import Recording
from ..filters._sticky import StickyFilter
from ._candidates import Candidate, Runner
from ._model import EstimatedModel, class_shares, estimate_transitions

SMOOTHING_ROUNDS = 2
"""How often the channels are estimated again from the smoothed posterior."""
DEFAULT_WEIGHT = 0.7
"""The weight of sources with a channel, where it is not known yet."""


def estimate_model(recordings: Sequence[Recording], reference: str) -> EstimatedModel:
    """Estimate class shares, transitions and channels from the predictions of the reference.

    The channels are estimated from the nearest predictions of the reference first, and then from
    the smoothed posterior, which knows the class at the time of each prediction better.
    """
    others = dict.fromkeys(name for rec in recordings for name in rec.sources if name != reference)
    classes, prior = recordings[0].classes, _tempered(class_shares(recordings, reference))
    try:
        transitions = estimate_transitions(recordings, reference)
        matrix, interval = transitions
        StickyFilter(classes, transitions=matrix, interval=interval, prior=prior)
    except ValueError:  # no process in continuous time has them
        transitions = None
    channel = {name: Channel.between(recordings, name, reference) for name in others}
    model = EstimatedModel(classes, reference, prior, transitions, channel)
    for _ in range(SMOOTHING_ROUNDS if others and transitions is not None else 0):
        model = model._replace(channel=_channels_from_smoothing(recordings, model))
    return model


def _channels_from_smoothing(
    recordings: Sequence[Recording], model: EstimatedModel
) -> dict[str, Channel]:
    """Return the channel of each source, from the smoothed posterior at the times of its rows."""
    others = list(model.channel)
    weights = ((model.reference, 1.0), *((name, DEFAULT_WEIGHT) for name in others))
    candidate = Candidate("transitions", 1.0, weights, frozenset(others))
    filter_ = candidate.filter(model)
    posteriors = [Runner(rec, model).smooth(candidate, filter_) for rec in recordings]
    channels = {}
    for name in others:
        masks = [rec.source == name for rec in recordings]
        probs = [rec.probs[mask] for rec, mask in zip(recordings, masks, strict=True)]
        truth = [p[mask] for p, mask in zip(posteriors, masks, strict=True)]
        channels[name] = Channel.fit(np.concatenate(probs), np.concatenate(truth))
    return channels


def _tempered(shares: Floats) -> Floats:
    root = np.sqrt(shares)
    tempered: Floats = root / root.sum()
    return tempered
