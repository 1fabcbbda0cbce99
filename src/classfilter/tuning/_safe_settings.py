"""A chain of a candidate; and that of a safe one, where there is too little data to tune on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data._recording import Recording
from ._candidates import Candidate
from ._folds import MIN_PREDICTIONS, count_predictions, median_step
from ._model import EstimatedModel
from ._result import Tuned
from ._wish import Wish

SAFE_WEIGHT = 0.1
"""The weight of the other sources where there is too little data."""


def tuned_as(
    model: EstimatedModel,
    classes: tuple[str, ...],
    candidate: Candidate,
    reference: str,
    criterion: str,
    **more: Any,
) -> Tuned:
    """Return the chain of a candidate, with what is known of it."""
    channels, beta = candidate.channels(model), dict(candidate.beta)
    return Tuned(
        candidate.filter(model, classes),
        beta=beta,
        channel={name: channels.get(name) for name in beta},
        reference=reference,
        candidate=candidate,
        criterion=criterion,
        **more,
    )


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
