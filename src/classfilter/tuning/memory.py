"""How long the errors of a classifier last, and how long a class does, without labels.

Errors and classes both make successive predictions alike, and errors do so for a shorter time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..support.types import Floats
from .rows import JoinedRows

LAGS = 40
"""About so many lags, on a logarithmic scale."""
MIN_PAIRS = 30
"""Pairs of predictions that a lag needs."""
FAST_TIME = 1 / 5
"""Errors must die away at least so much faster than the class, or they cannot be told apart."""
FAST_SHARE = 0.05
"""And they must have at least this share of the autocovariance."""
FADED = 0.1
"""Errors have faded where their part is below this share of the class's."""
MIN_SIGNAL = 0.65
"""The slow component must explain at least this share of what the predictions' confidence implies.
Otherwise the fast one is not errors: some classes last much shorter than others."""
TOO_CERTAIN = 0.95
"""Predictions of a higher mean probability do not tell how far they can be trusted."""
MIN_SLOW_SHARE = 1 / 5
"""And of certain predictions, at least this share of the autocovariance. This and the two limits
that follow were chosen on simulated labels, in which a class lasts 4 to 3000 rows on average."""
LESS_SLOW = 1 / 2
"""A class is short if its slow share is below this part of that of the classes that last."""
MOST_ROWS = 1 / 2
"""If more rows than this are of short classes, the fast component of certain predictions is not
errors."""
MIN_GAP = 1 / 20
"""The gap to later predictions that judge, at least this share of the class's time."""


class Memory(NamedTuple):
    """How long errors and classes last, in median steps.

    Attributes
    ----------
    errors : float
        Time constant of the errors; 0 where none is seen.
    share : float
        Share of the errors' variance that lasts; the rest is new in each row.
    classes : float
        Time constant of the class.
    gap : int
        JoinedRows after which the errors have faded and the class has not.
    news : float
        How much of a row is news, (1 - r) / (1 + r) with r the correlation of neighbouring errors.
    """

    errors: float
    share: float
    classes: float
    gap: int
    news: float


def estimate_memory(rows: JoinedRows, shares: Floats) -> Memory:
    """Tell errors from classes by the autocovariance of the predictions of all rows."""
    lags, by_class = autocovariances(rows, shares)
    if not lags.size:
        return Memory(0.0, 0.0, 1.0, 1, 1.0)
    fast, fast_weight, slow, slow_weight = two_exponentials(lags, by_class.sum(axis=1))
    total = fast_weight + slow_weight
    seen = 0 < fast < FAST_TIME * slow and slow_weight > 0 and fast_weight > FAST_SHARE * total
    honest = rows.probs.max(axis=1).mean() < TOO_CERTAIN
    if seen and honest:
        mostly_short = slow_weight < MIN_SIGNAL * class_covariance(rows.probs, shares)
    elif seen:
        short = rows_of_short_classes(lags, by_class, (fast, slow), shares)
        mostly_short = slow_weight < MIN_SLOW_SHARE * total or short > MOST_ROWS
    if seen and mostly_short:
        seen, slow = False, fast
    min_gap = max(1, round(MIN_GAP * slow))
    if not seen:
        return Memory(0.0, 0.0, slow, min_gap, 1.0)
    lag = np.arange(1, int(20 * fast) + 2)
    faded = fast_weight * np.exp(-lag / fast) < FADED * slow_weight * np.exp(-lag / slow)
    gap = int(lag[faded.argmax()]) if faded.any() else int(lag[-1])
    r = float(np.exp(-1 / fast))
    variance = float(((rows.probs - shares) ** 2).sum(axis=1).mean())
    share = min(1.0, fast_weight / max(variance - slow_weight, fast_weight))
    return Memory(fast, share, slow, max(gap, min_gap), (1 - r) / (1 + r))


def rows_of_short_classes(
    lags: Floats, by_class: Floats, times: tuple[float, float], shares: Floats
) -> float:
    """Return the share of rows that are of classes with far less slow covariance than others.

    Errors leave every class the slow covariance that its share of the time implies. A class that
    lasts as short as the fast component has nearly none.

    Parameters
    ----------
    lags, by_class : ndarray (L,), (L, K)
        See `autocovariances`.
    times : tuple of float
        The time constants of the fast and of the slow component.
    shares : ndarray (K,)
        Of the classes.

    Examples
    --------
    >>> lags = np.arange(1.0, 100.0)
    >>> fast, slow = np.exp(-lags / 5), np.exp(-lags / 200)
    >>> by_class = np.stack([0.1 * fast + 0.2 * slow, 0.2 * fast + 0.02 * slow], axis=1)
    >>> rows_of_short_classes(lags, by_class, (5.0, 200.0), np.array([0.4, 0.6]))
    0.6
    """
    curves = np.exp(-lags[:, None] / np.array(times))
    fast, slow = np.maximum(np.linalg.lstsq(curves, by_class, rcond=None)[0], 0.0)
    total = np.maximum(fast + slow, np.finfo(float).tiny)
    slow_share = slow / total
    of_lasting = slow @ slow_share / max(slow.sum(), np.finfo(float).tiny)
    return float(shares[slow_share < LESS_SLOW * of_lasting].sum())


def class_covariance(probs: Floats, shares: Floats) -> float:
    r"""Return the covariance of predictions in one class, if they are right as often as they say.

    Then the mean prediction in class k is :math:`m_k = E[s_k s] / \pi_k`, and the covariance is
    :math:`\sum_k \pi_k |m_k - \pi|^2`.
    """
    means = mean_predictions_by_class(probs, shares)
    return float(shares @ ((means - shares) ** 2).sum(axis=1))


def mean_predictions_by_class(probs: Floats, shares: Floats) -> Floats:
    """Return the mean prediction in each class (K, K), if they are right as often as they say."""
    means: Floats = probs.T @ probs / len(probs) / shares[:, None]
    return means


def autocovariance(
    rows: JoinedRows, shares: Floats, tried: Sequence[int] | None = None
) -> tuple[Floats, Floats]:
    """Return lags, and the autocovariance of the predictions at each: the sum over classes."""
    lags, by_class = autocovariances(rows, shares, tried)
    return lags, by_class.sum(axis=1)


def autocovariances(
    rows: JoinedRows, shares: Floats, tried: Sequence[int] | None = None
) -> tuple[Floats, Floats]:
    r"""Return lags (L,), and the autocovariance of the predictions of each class, (L, K).

    It is the mean over t of :math:`(s_{t,k} - \pi_k)(s_{t+l,k} - \pi_k)`, over pairs of one
    stream that are about l median steps apart. By default, lags go up to a quarter of the median
    stream. A lag with too few pairs is left out.
    """
    x, steps = rows.probs - shares, rows.time / rows.step
    if tried is None:
        longest = np.median(np.bincount(rows.stream))
        grid = np.geomspace(1, max(8, longest // 4), LAGS)
        tried = np.unique(np.round(grid).astype(int)).tolist()
    lags, values = [], []
    for lag in tried:
        near = steps[lag:] - steps[:-lag] < 1.5 * lag + 0.5
        pairs = np.flatnonzero((rows.stream[lag:] == rows.stream[:-lag]) & near)
        if pairs.size >= MIN_PAIRS:
            lags.append(lag)
            values.append(np.einsum("tk,tk->k", x[pairs + lag], x[pairs]) / pairs.size)
    return np.array(lags, float), np.array(values).reshape(len(lags), x.shape[1])


def two_exponentials(lags: Floats, values: Floats) -> tuple[float, float, float, float]:
    """Fit the sum of two decaying exponentials with weights that are not negative.

    Returns
    -------
    tuple of float
        The time constant and the weight of the fast one, and of the slow one; the fast weight is 0
        where one exponential fits best.
    """
    times = np.geomspace(0.3, 2.0 * lags[-1], 60)
    curves = np.exp(-lags / times[:, None])
    gram, projection, total = curves @ curves.T, curves @ values, values @ values
    weight = np.maximum(projection / np.diag(gram), 0)
    losses = total - 2 * weight * projection + weight**2 * np.diag(gram)
    one = int(losses.argmin())
    i, j = np.triu_indices(len(times), 4)  # at least a factor apart
    determinant = gram[i, i] * gram[j, j] - gram[i, j] ** 2
    fast = (projection[i] * gram[j, j] - projection[j] * gram[i, j]) / determinant
    slow = (projection[j] * gram[i, i] - projection[i] * gram[i, j]) / determinant
    pair_losses = total - fast * projection[i] - slow * projection[j]
    pair_losses = np.where((fast > 0) & (slow > 0), pair_losses, np.inf)
    two = int(pair_losses.argmin())
    if losses[one] <= pair_losses[two]:
        return 0.0, 0.0, float(times[one]), float(weight[one])
    return float(times[i[two]]), float(fast[two]), float(times[j[two]]), float(slow[two])
