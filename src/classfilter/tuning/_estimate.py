"""Estimates the model from recordings: shares, transitions and channels, without labels."""

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
"""How often the channels are model anew from hindsight."""
USUAL_WEIGHT = 0.7
"""The weight of sources with a channel, where it is not yet known."""


def estimate_model(recordings: Sequence[Recording], reference: str) -> EstimatedModel:
    """Learn what the answers of a source tell of the classes and of the other sources.

    The channels are learnt from the reference's nearest answers first, and then from hindsight,
    which knows better what was at the time of each answer.
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
    """Return the channel of each source, from what hindsight says at the time of its answers."""
    others = list(model.channel)
    weights = ((model.reference, 1.0), *((name, USUAL_WEIGHT) for name in others))
    candidate = Candidate("transitions", 1.0, weights, frozenset(others))
    made = candidate.filter(model)
    truths = [Runner(rec, model).smooth(candidate, made) for rec in recordings]
    found = {}
    for name in others:
        rows = [rec.source == name for rec in recordings]
        said = np.concatenate([rec.probs[its] for rec, its in zip(recordings, rows, strict=True)])
        true = np.concatenate([truth[its] for truth, its in zip(truths, rows, strict=True)])
        found[name] = Channel.fit(said, true)
    return found


def _tempered(shares: Floats) -> Floats:
    root = np.sqrt(shares)
    tempered: Floats = root / root.sum()
    return tempered
