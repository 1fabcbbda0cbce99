"""Calibration: how often the predicted class is the true one, by how probable it was."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..support.types import Floats, Ints
from .arguments import ClassNames, labelled_probs

BINS = 15
"""Of equal width, as most papers on calibration have them."""


class Reliability(NamedTuple):
    """The rows in each bin of confidence, the probability of their predicted class; B bins.

    Attributes
    ----------
    rows : ndarray of int (B,)
        How many labelled rows are in the bin.
    confidence, accuracy : ndarray (B,)
        Their mean confidence, and the share whose predicted class is the true one; NaN where there
        are no rows.
    error : float
        The expected calibration error of all rows, as `calibration_error` returns it.
    """

    rows: Ints
    confidence: Floats
    accuracy: Floats
    error: float


def reliability(
    truth: ArrayLike, probs: ArrayLike, bins: int = BINS, *, classes: ClassNames = None
) -> Reliability:
    """Return how often the predicted class is the true one, by its probability.

    The rows are sorted into bins of equal width by their confidence ``max_k p_k``; the last bin has
    those above ``1 - 1 / bins``. `plot.reliability` draws the result.

    Examples
    --------
    >>> table = reliability([0, 1, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], bins=2)
    >>> table.rows.tolist(), table.accuracy.tolist(), round(table.error, 3)
    ([0, 4], [nan, 0.75], 0.025)
    """
    if bins < 1:
        raise ArgumentError("bins", bins, rule="it must be 1 or more")
    y, p = labelled_probs(truth, probs, classes)
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    bin_of = np.clip(np.ceil(confidence * bins).astype(np.intp) - 1, 0, bins - 1)
    rows = np.bincount(bin_of, minlength=bins)
    sums = [np.bincount(bin_of, values, minlength=bins) for values in (confidence, correct)]
    error = float(np.abs(np.bincount(bin_of, correct - confidence, minlength=bins)).sum() / y.size)
    with np.errstate(invalid="ignore"):
        return Reliability(rows, sums[0] / rows, sums[1] / rows, error)


def calibration_error(
    truth: ArrayLike, probs: ArrayLike, bins: int = BINS, *, classes: ClassNames = None
) -> float:
    """Return the expected calibration error of the predicted class.

    With the rows sorted into equal bins of their confidence ``max_k p_k``, it is
    ``sum_b n_b / n |accuracy_b - mean confidence_b|``: 0 where 80 % of the predictions with a
    confidence of 80 % are correct, and so on. `reliability` has the bins.

    Examples
    --------
    >>> round(calibration_error([0, 1], [[0.9, 0.1], [0.9, 0.1]]), 4)
    0.4
    """
    return reliability(truth, probs, bins, classes=classes).error


Reliability.__module__ = reliability.__module__ = calibration_error.__module__ = (
    "classfilter.metrics"
)
