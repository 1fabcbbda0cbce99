"""Scores that are not yet probabilities: logits, and percentages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, RowError
from ..support.types import Floats, is_number

SCORES = ("probabilities", "logits", "percent", "independent")
"""How the numbers of a table may be meant."""


def softmax(scores: ArrayLike, temperature: float = 1.0) -> Floats:
    r"""Return logits as class probabilities.

    .. math:: p_k = \frac{\exp(s_k / T)}{\sum_j \exp(s_j / T)}

    Parameters
    ----------
    scores : array_like (K,) or (T, K)
        The logits, one per class. A row of NaN, a missing observation, stays NaN.
    temperature : float, default 1
        More than 1 makes the probabilities more even: many networks are too sure of themselves.

    Returns
    -------
    ndarray of the same shape
        Each row sums to 1.

    Examples
    --------
    >>> softmax([2.0, 0.0, 1.0]).round(3)
    array([0.665, 0.09 , 0.245])
    >>> softmax([2.0, 0.0, 1.0], temperature=3.0).round(3)
    array([0.448, 0.23 , 0.321])
    """
    if not is_number(temperature) or not 0 < temperature < np.inf:
        raise ArgumentError("temperature", temperature, rule="it must be positive and finite")
    s = np.array(scores, np.float64)
    if s.ndim not in (1, 2) or s.shape[-1] < 2:
        raise ValueError(f"scores has shape {s.shape}; it must be (K,) or (T, K), one per class")
    highest = s.max(axis=-1, keepdims=True)
    missing = np.isnan(s).all(axis=-1, keepdims=True)
    invalid = ~(np.isfinite(highest) | missing)
    if invalid.any():
        row = int(invalid.argmax())
        rule = "it must hold finite numbers, or only NaN where nothing was observed"
        raise RowError("scores", s.reshape(-1, s.shape[-1])[row].tolist(), rule=rule, row=row)
    e: Floats = np.exp((s - highest) / temperature)
    e /= e.sum(axis=-1, keepdims=True)
    return e


def check_scores(scores: Any) -> str:
    """Return how the numbers of a table are meant, checked."""
    if scores not in SCORES:
        raise ArgumentError("scores", scores, rule=f"it must be one of {', '.join(SCORES)}")
    return str(scores)
