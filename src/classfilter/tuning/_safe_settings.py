"""A chain of a candidate; and that of a safe one, where there is too little data to tune on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._predictions import at_reliability
from ..chain._channel import Channel
from ..data._recording import Recording
from ._candidates import Candidate, rule
from ._folds import MIN_PREDICTIONS, count_predictions, median_step
from ._model import EstimatedModel
from ._result import Tuned
from ._rows import LABEL_RELIABILITY
from ._thinning import thin


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


def untuned(
    recordings: Sequence[Recording], reference: str, every: int | None, limited: bool
) -> Tuned:
    """Return the last prediction of the reference, or of the only source, with a warning.

    What smooths is nearly that, too: it has no memory of the only source, and among several that
    of the reference's last call and of its next one.
    """
    called = thin(recordings, reference, every).recordings
    count = count_predictions(called, reference)
    sources = tuple(
        dict.fromkeys([reference, *(name for rec in recordings for name in rec.sources)])
    )
    more = f"record {MIN_PREDICTIONS - count} more"
    if count >= MIN_PREDICTIONS:
        more = "record longer streams, so that later predictions can judge"
    why = (
        f"there are {count} predictions of {reference!r}; tuning needs at least "
        f"{MIN_PREDICTIONS} at the rate at which it will be called: {more}. Until then, the safe "
        f"settings are the last prediction of {reference!r}, unfiltered"
        f"{', and the limits were not looked at' * limited}."
    )
    warnings.warn(why, stacklevel=4)
    step, K = median_step(called), len(recordings[0].classes)
    model = EstimatedModel(np.full(K, 1 / K), np.full(K, 1 / K), None, {})
    held = rule("hold" if len(sources) > 1 else "raw", sources, step)
    alone = tuple((name, float(name == reference)) for name in sources)
    memory = step / 30
    if len(sources) > 1:
        memory = median_step([rec._take(rec.source == reference) for rec in called])
    classes = recordings[0].classes
    smoother = tuned_as(model, classes, Candidate("stay", alone, memory), reference, "nothing")
    known: Any = {"explanation": why, "smoother": smoother}
    return tuned_as(model, classes, held, reference, "nothing", **known)
