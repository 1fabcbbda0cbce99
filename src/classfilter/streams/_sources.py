"""The sources of a tracker: the weight of each, and the channel that corrects it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._support.types import Floats, Weights
from .._validation import check_weight
from ..chain._channel import Channels, correct_source

MAX_SOURCES = 1000
"""Of one weight for all: so many sources are remembered, whatever names come."""


class Sources:
    """The weights and the channels of sources.

    Parameters
    ----------
    beta : mapping of str to float, or float
        The weight of each source, or one for all.
    channel : mapping of str to Channel or None
        Corrects the predictions of a source.

    Attributes
    ----------
    weights : dict of str to float
        Those of the sources met so far, or of all that `beta` names.
    """

    def __init__(self, beta: Weights, channel: Channels) -> None:
        self.channel = {name: c for name, c in channel.items() if c is not None}
        self.weights: dict[str, float] = {}
        if isinstance(beta, Mapping):
            self.weights = {str(n): check_weight("beta", w, str(n)) for n, w in beta.items()}
            self.beta: Weights = dict(self.weights)
        else:
            self.beta = check_weight("beta", beta)

    def resolve(self, source: Any) -> tuple[str, float]:
        """Return the name and the weight of a source that is not among the weights as it is."""
        name = str(source)
        if not isinstance(self.beta, Mapping):
            if len(self.weights) < MAX_SOURCES:
                self.weights[name] = self.beta
            return name, self.beta
        if name not in self.weights:
            raise ValueError(
                f"source is {name!r}, which has no weight; beta names {list(self.weights)}: add "
                "it there"
            )
        return name, self.weights[name]

    def correct(self, source: str, probs: ArrayLike, like: Floats) -> Floats:
        """Return a prediction of a source, corrected by its channel; `like` is an estimate."""
        row = np.asarray(probs, like.dtype)
        _core.check_row(like.size, row, 1.0, 0.0)
        corrected: Floats = correct_source(self.channel, source, row[None])[0]
        return corrected
