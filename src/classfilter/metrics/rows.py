"""Metrics of class estimates: accuracy, calibration, stability and delay.

`event_scores` and `edit_score` take events, and `label_scores` several labels at once. The others
take the true classes ``truth`` (T,) and a prediction: class probabilities (T, K) or classes (T,).
Classes are indices, with -1 where unknown, or names, with None. The names of columns and indices
are ``classes``; by default, where all are names, those that occur, sorted. Rows without a true
class are left out. Of several equal probabilities the first counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from ..support.arrays import median_step
from ..support.types import Floats, Ints
from .arguments import (
    ClassNames,
    increasing,
    joined_rows,
    labelled_pair,
    labelled_probs,
    predicted_classes,
    true_classes,
    without_names,
)

BINS = 15
"""Of equal width, as most papers on calibration have them."""


def accuracy(truth: ArrayLike, pred: ArrayLike, *, classes: ClassNames = None) -> float:
    """Return the share of labelled rows whose predicted class is the true one.

    Examples
    --------
    >>> accuracy([0, 1, 1, -1], [0, 1, 0, 0])
    0.6666666666666666
    >>> accuracy(["walk", "sit"], [[0.8, 0.2], [0.6, 0.4]], classes=["walk", "sit"])
    0.5
    """
    y, k, _ = labelled_pair(truth, pred, classes)
    return float(np.mean(y == k))


def confusion(
    truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None, *, classes: ClassNames = None
) -> Ints:
    """Count how often class ``i`` was predicted as ``j``.

    Parameters
    ----------
    truth, pred, classes
        See the top of this module.
    n_classes : int, optional
        K, where `pred` holds indices and not every class occurs.

    Returns
    -------
    ndarray of int (K, K)
        Rows are true classes, columns predicted ones.

    Examples
    --------
    >>> confusion([0, 0, 1], [0, 1, 1]).tolist()
    [[1, 1], [0, 1]]
    """
    y, k, K_of_pred = labelled_pair(truth, pred, classes)
    if n_classes and K_of_pred not in (None, n_classes):
        raise ValueError(
            f"n_classes is {n_classes}, but there are {K_of_pred} classes; leave it out"
        )
    least = int(max(y.max(), k.max())) + 1
    K = n_classes or K_of_pred or least
    if least > K:
        raise ValueError(f"class {least - 1} occurs, but there are only {K} classes (0 to {K - 1})")
    return np.bincount(y * K + k, minlength=K * K).reshape(K, K)


def sensitivity(
    truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None, *, classes: ClassNames = None
) -> Floats:
    """Return ``TP / (TP + FN)`` of each class (K,); NaN for one that never occurs. Also: recall.

    Examples
    --------
    >>> sensitivity([0, 0, 1], [0, 1, 1]).tolist()
    [0.5, 1.0]
    """
    c = confusion(truth, pred, n_classes, classes=classes)
    return _ratio(np.diag(c), c.sum(axis=1))


def precision(
    truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None, *, classes: ClassNames = None
) -> Floats:
    """Return ``TP / (TP + FP)`` of each class (K,); NaN for one that is never predicted.

    Examples
    --------
    >>> precision([0, 0, 1], [0, 1, 1]).tolist()
    [1.0, 0.5]
    """
    c = confusion(truth, pred, n_classes, classes=classes)
    return _ratio(np.diag(c), c.sum(axis=0))


def specificity(
    truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None, *, classes: ClassNames = None
) -> Floats:
    """Return ``TN / (TN + FP)`` of each class (K,); NaN where every row is of that class.

    Examples
    --------
    >>> specificity([0, 0, 1], [0, 1, 1]).tolist()
    [1.0, 0.5]
    """
    c = confusion(truth, pred, n_classes, classes=classes)
    false_alarms = c.sum(axis=0) - np.diag(c)
    negatives = c.sum() - c.sum(axis=1)
    return _ratio(negatives - false_alarms, negatives)


def macro_f1(truth: ArrayLike, pred: ArrayLike, *, classes: ClassNames = None) -> float:
    """Return the mean over classes of ``2 TP / (2 TP + FP + FN)``.

    The mean is over the classes that occur, as true or as predicted ones.

    Examples
    --------
    >>> macro_f1([0, 0, 1], [0, 1, 1])
    0.6666666666666666
    """
    c = confusion(truth, pred, classes=classes)
    f1 = _ratio(2 * np.diag(c), c.sum(axis=0) + c.sum(axis=1))
    return float(np.nanmean(f1))


def log_loss(
    truth: ArrayLike, probs: ArrayLike, floor: float = 1e-3, *, classes: ClassNames = None
) -> float:
    """Return the mean of ``-log p[truth]``, in nats.

    Parameters
    ----------
    truth : array_like (T,)
        True classes.
    probs : array_like (T, K)
        Class probabilities; each row is scaled to the sum 1.
    floor : float
        Probabilities are raised to this first, because a zero would cost infinitely much. The
        default is that of the filters; near 0 the loss mostly counts how often a zero was wrong.
    classes : iterable of K names, optional
        See the top of this module.

    Examples
    --------
    >>> round(log_loss([0, 1], [[0.5, 0.5], [0.5, 0.5]]), 4)
    0.6931
    """
    if not 0 < floor < 1:
        raise ValueError(f"floor is {floor}; it must lie between 0 and 1")
    y, p = labelled_probs(truth, probs, classes)
    p = np.maximum(p, floor)
    p = p / p.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(p[np.arange(y.size), y])))


def brier(truth: ArrayLike, probs: ArrayLike, *, classes: ClassNames = None) -> float:
    """Return the mean of ``sum_k (p_k - [k = truth])^2``: 0 is perfect, 2 the worst.

    Examples
    --------
    >>> brier([0, 1], [[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    y, p = labelled_probs(truth, probs, classes)
    hit = p[np.arange(y.size), y]
    return float(np.mean((p * p).sum(axis=1) - 2 * hit + 1))


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
        raise ArgumentError("bins", bins, must="it must be 1 or more")
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


def switches_per_hour(
    pred: ArrayLike,
    time: ArrayLike,
    truth: ArrayLike | None = None,
    max_gap: float | None = None,
    *,
    classes: ClassNames = None,
) -> float:
    """Return how often the predicted class changes per hour.

    Parameters
    ----------
    pred : array_like (T, K) or (T,)
        Probabilities or classes. Rows without a class are left out.
    time : array_like (T,)
        Seconds, increasing.
    truth : array_like (T,), optional
        Leave out rows without a true class, so that both rates are over the same rows.
    max_gap : float, optional
        Neighbouring rows further apart than these seconds count neither as a change nor as time;
        ten times the median step by default. Rows left out interrupt the stream in the same way.
    classes : iterable of K names, optional
        See the top of this module.

    Returns
    -------
    float
        Changes per hour; NaN if no two rows are neighbours.

    Examples
    --------
    >>> switches_per_hour([0, 0, 1, 1, 0], [0, 900, 1800, 2700, 3600])
    2.0
    """
    switches, hours = count_switches(pred, time, truth, max_gap, classes=classes)
    return switches / hours if hours > 0 else float("nan")


def count_switches(
    pred: ArrayLike,
    time: ArrayLike,
    truth: ArrayLike | None = None,
    max_gap: float | None = None,
    *,
    classes: ClassNames = None,
) -> tuple[float, float]:
    """Return how often the predicted class changes, and the hours; see `switches_per_hour`.

    Examples
    --------
    >>> count_switches([0, 0, 1, 1, 0], [0, 900, 1800, 2700, 3600])
    (2.0, 1.0)
    """
    y, p, _ = without_names(truth, pred, classes)
    k = predicted_classes(p)
    t = increasing(time, k.size)
    keep = k >= 0
    if y is not None:
        keep &= true_classes(y, k.size) >= 0
    joined = joined_rows(t, keep, max_gap)
    hours = float(np.diff(t)[joined].sum()) / 3600
    return float((np.diff(k)[joined] != 0).sum()), hours


class Delay(NamedTuple):
    """Seconds from true changes to their detection; see `detection_delay`."""

    median: float
    mean: float
    missed: float
    changes: int


def detection_delay(
    truth: ArrayLike,
    pred: ArrayLike,
    time: ArrayLike,
    max_gap: float | None = None,
    *,
    classes: ClassNames = None,
) -> Delay:
    """Measure how long it takes until a change of the true class is detected.

    A true change begins a segment that lasts until the next change, gap, unlabelled row, or the
    end. Its delay is the time from its first row to the first row in it that is predicted
    correctly. A segment without such a row is *missed* and counts with its whole length, the least
    that the delay can be: missing more does not reduce the delay. (An estimate that flickers is
    fast by chance: compare the delay together with the switches.)

    Parameters
    ----------
    truth, pred, classes
        See the top of this module.
    time : array_like (T,)
        Seconds, increasing.
    max_gap : float, optional
        Neighbouring rows further apart than these seconds are a gap: no change is counted across
        it. Ten times the median step by default.

    Returns
    -------
    Delay
        ``median`` and ``mean`` in seconds, ``missed`` as a share of all changes, and the number of
        ``changes``; the first three are NaN where there is no change.

    Examples
    --------
    >>> detection_delay([0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1], [0, 5, 10, 15, 20, 25])
    Delay(median=5.0, mean=5.0, missed=0.5, changes=2)
    """
    true, p, _ = without_names(truth, pred, classes)
    k = predicted_classes(p)
    y = true_classes(true, k.size)
    t = increasing(time, y.size)
    joined = joined_rows(t, y >= 0, max_gap)
    cut = ~joined | (np.diff(y) != 0)  # a segment ends between these two rows
    first = np.concatenate([[0], np.flatnonzero(cut) + 1])
    last = np.concatenate([first[1:] - 1, [y.size - 1]])
    changed = np.zeros(first.size, dtype=bool)
    changed[1:] = joined[first[1:] - 1]
    if not changed.any():
        return Delay(float("nan"), float("nan"), float("nan"), 0)
    dt = np.diff(t)
    usual = median_step(dt)
    step = np.append(np.where(joined, dt, usual), usual)  # a row's own duration
    correct = np.flatnonzero(k == y)
    hit = np.append(correct, y.size)[np.searchsorted(correct, first)]
    detected = hit <= last
    delay = np.where(detected, np.append(t, np.inf)[hit], t[last] + step[last]) - t[first]
    delay, detected = delay[changed], detected[changed]
    missed = float(1 - detected.mean())
    return Delay(float(np.median(delay)), float(delay.mean()), missed, delay.size)


def summary(
    truth: ArrayLike, probs: ArrayLike, time: ArrayLike | None = None, *, classes: ClassNames = None
) -> dict[str, float]:
    """Return every metric that is one number.

    Parameters
    ----------
    truth : array_like (T,)
        True classes.
    probs : array_like (T, K) or (T,)
        Probabilities; or classes, and then the metrics of probabilities are left out.
    time : array_like (T,), optional
        Seconds; without it, the metrics over time are left out.
    classes : iterable of K names, optional
        See the top of this module.

    Returns
    -------
    dict of str to float
        ``accuracy``, ``macro_f1``; ``log_loss``, ``brier``, ``calibration_error``;
        ``switches_per_hour``, ``true_switches_per_hour``, ``delay_median``, ``delay_mean``
        (seconds) and ``missed``.

    Examples
    --------
    >>> s = summary([0, 0, 1, 1], [[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    >>> s["accuracy"], round(s["brier"], 3), len(s)
    (1.0, 0.15, 5)
    """
    truth, probs, _ = without_names(truth, probs, classes, "probs")
    result = {"accuracy": accuracy(truth, probs), "macro_f1": macro_f1(truth, probs)}
    if np.ndim(probs) == 2:
        result["log_loss"] = log_loss(truth, probs)
        result["brier"] = brier(truth, probs)
        result["calibration_error"] = calibration_error(truth, probs)
    if time is not None:
        delay = detection_delay(truth, probs, time)
        result["switches_per_hour"] = switches_per_hour(probs, time, truth)
        result["true_switches_per_hour"] = switches_per_hour(truth, time)
        result["delay_median"] = delay.median
        result["delay_mean"] = delay.mean
        result["missed"] = delay.missed
    return result


def _ratio(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """Divide, with NaN for 0 / 0."""
    out: Floats = np.full(a.shape, np.nan)
    np.divide(a, b, out=out, where=b > 0)
    return out
