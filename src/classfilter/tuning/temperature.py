r"""The temperature that makes probabilities honest: :math:`p^{1/T}`, normalised.

Found by log-loss, which is convex in 1 / T. With labels, these are the target. Without, and where
several sources are joined, the target is what the best source itself predicts: how far the filtered
row after it must be heated to agree best. Of one source, later predictions have a say, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..filters import RawFilter
from ..inputs import Rows
from ..pipeline import Pipeline, has_temperature, tempered
from ..support.types import Array, Floats, Ints
from .criterion import Criterion
from .rows import JoinedRows

OF_FILTERED, OF_SMOOTHED = 1.2, 1.7
"""Temperatures of filtered and of smoothed rows, times the root of that by which filtered rows
agree best with the best source. Chosen among 31 statistics on 20 real sets, each left out once."""
LABELS_FILTERED, LABELS_SMOOTHED = 1.3, 2.0
"""The same where the best source gives labels, which do not say how sure they are."""
FORETOLD = np.geomspace(0.7, 5.0, 41)
"""Temperatures of one source that are tried on later predictions. Where a class lasts shorter than
the time for which these look away, they ask for less than labels do: for 0.2 on wisdm."""
LOWEST, HIGHEST = 0.1, 10.0
FLOOR = 1e-6
"""Smaller probabilities count as this: or else one sure error would outweigh thousands of rows."""
MAX_ROWS = 40_000
"""Where there are more, every n-th suffices for one number."""
PRECISION = 1e-6


class Temperature(NamedTuple):
    """A temperature that was found by log-loss.

    Attributes
    ----------
    value : float
        The temperature, from 0.1 to 10.
    error : float
        Its standard error, over streams or parts of them; NaN where nothing varies.
    before, after : float
        The log-loss at temperature 1, and at this one.
    """

    value: float
    error: float
    before: float
    after: float


def find_temperature(probs: Floats, target: Floats, parts: Ints | None = None) -> Temperature:
    r"""Return the temperature of probabilities (T, K) with the least log-loss.

    The loss is the mean of :math:`-\sum_k y_k \log q_k` with the target y (T, K) and
    :math:`q \propto p^\tau`, where :math:`\tau = 1 / T`. Its derivative is the mean of
    :math:`E_q[\log p] - \sum_k y_k \log p_k`, and its second one that of the variance of log p
    under q. The standard error is the sandwich's over `parts` (T,): that of sums over whole parts.

    Examples
    --------
    >>> p = np.tile([0.9, 0.1], (100, 1))
    >>> y = np.repeat(np.eye(2), [75, 25], axis=0)
    >>> found = find_temperature(p, y, np.arange(100))
    >>> round(found.value, 3)  # 0.9 to the power 1 / 2 is to 0.1 to the power 1 / 2 as 3 to 1
    2.0
    """
    logs = np.log(np.maximum(probs, FLOOR))
    expected = (target * logs).sum(axis=1)

    def slopes(tau: float) -> tuple[Floats, float]:
        q = np.exp(tau * (logs - logs.max(axis=1, keepdims=True)))
        q /= q.sum(axis=1, keepdims=True)
        mean = (q * logs).sum(axis=1)
        return mean - expected, float((q * logs**2).sum() - mean @ mean)

    def loss(tau: float) -> float:
        top = logs.max(axis=1)
        total = np.log(np.exp(tau * (logs - top[:, None])).sum(axis=1)) + tau * top
        return float(np.mean(total - tau * expected))

    low, high = 1 / HIGHEST, 1 / LOWEST
    tau = min(max(1.0, low), high)
    slope, curvature = slopes(tau)
    for _ in range(60):  # Newton's method, kept between bounds that close in on the least loss
        low, high = (tau, high) if slope.sum() < 0 else (low, tau)
        step = slope.sum() / curvature if curvature > 0 else np.inf
        new = tau - step if low < tau - step < high else (low + high) / 2
        done = abs(new - tau) < PRECISION * tau
        tau = new
        slope, curvature = slopes(tau)
        if done:
            break
    error = np.nan
    if parts is not None and curvature > 0:
        sums = np.bincount(parts, slope)
        n = np.unique(parts).size
        spread = n / (n - 1) * float(sums @ sums) if n > 1 else np.nan
        error = float(np.sqrt(spread) / curvature / tau**2)
    return Temperature(float(1 / tau), error, loss(1.0), loss(tau))


def with_temperatures(
    tuned: Pipeline,
    recordings: Sequence[Rows],
    rows: JoinedRows,
    criterion: Criterion,
    best: str | None,
) -> Pipeline:
    """Return what was tuned with its temperatures, found without labels.

    Where several sources are joined, the `best` one says how far rows are to be heated. Where all
    count as one source, their own and later predictions do, by the criterion.
    """
    smoother = tuned.smoothing
    filtered = smoothed = None
    if best is not None:
        filtered, smoothed = _of_several(tuned, recordings, best)
        filtered = filtered if has_temperature(tuned.filter) else None
        smoothed = smoothed if has_temperature(smoother.filter) else None
        return tempered(tuned, filtered, smoothed)

    def of_one(run: Callable[[Rows], Array]) -> float:
        probs = np.concatenate([run(rec)[rec.observed()] for rec in recordings])
        return _of_one_source(probs.astype(np.float64), rows.observed, criterion)

    if isinstance(tuned.filter, RawFilter):
        return tuned  # what smooths leaves rows as they are, too
    if has_temperature(tuned.filter):
        filtered = of_one(tuned.run)
    if has_temperature(smoother.filter):
        smoothed = of_one(tuned.smooth)
    return tempered(tuned, filtered, smoothed) if filtered or smoothed else tuned


def _of_several(tuned: Pipeline, recordings: Sequence[Rows], best: str) -> tuple[float, float]:
    """Return the temperatures of filtered and of smoothed rows."""
    calls = [rec.observed(best) for rec in recordings]
    said = np.concatenate([rec.probs[own] for rec, own in zip(recordings, calls, strict=True)])
    if (said.max(axis=1) == 1).all():
        return LABELS_FILTERED, LABELS_SMOOTHED
    # What runs may be a simple rule, which has no temperature: then that of what smooths.
    run = tuned.run if has_temperature(tuned.filter) else tuned.smoothing.run
    after = [run(rec)[own] for rec, own in zip(recordings, calls, strict=True)]
    some = slice(None, None, max(1, len(said) // MAX_ROWS))
    target = said[some] / said[some].sum(axis=1, keepdims=True)
    root = find_temperature(np.concatenate(after)[some], target).value ** 0.5
    return round(OF_FILTERED * root, 2), round(OF_SMOOTHED * root, 2)


def _of_one_source(probs: Floats, said: Floats, criterion: Criterion) -> float:
    """Return the temperature of filtered or smoothed rows (T, K) of one source.

    It is between that in which later predictions are most likely, which is too low where they
    share errors, and that which agrees best with the rows as they were `said`, which is too high.
    """
    some = slice(None, None, max(1, len(probs) // MAX_ROWS))
    own = find_temperature(probs[some], said[some]).value
    judged = np.flatnonzero(criterion.judged)[some]
    foretold = most_likely_temperature(probs[judged], criterion.likelihood[judged])
    return round(math.sqrt(own * foretold), 2)


def most_likely_temperature(probs: Floats, likelihood: Floats) -> float:
    """Return the temperature of probabilities (T, K) in which later predictions are most likely."""
    logs = np.log(np.maximum(probs, FLOOR))

    def score(temperature: float) -> float:
        p = np.exp((logs - logs.max(axis=1, keepdims=True)) / temperature)
        p /= p.sum(axis=1, keepdims=True)
        return float(np.log((p * likelihood).sum(axis=1)).mean())

    return float(max(FORETOLD, key=score))
