"""How good a class track is: right, calibrated, steady and quick.

Every function takes the true classes ``truth`` (T,) and a prediction: class probabilities (T, K)
or class indices (T,). Rows with ``truth < 0`` are unlabelled and left out. Of equal
probabilities the first wins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._metric_inputs import (
    increasing,
    labelled_pair,
    labelled_probs,
    predicted_classes,
    true_classes,
)
from ._typing import Floats, Ints


def accuracy(truth: ArrayLike, pred: ArrayLike) -> float:
    """Return the share of labelled rows whose class is right.

    Examples
    --------
    >>> accuracy([0, 1, 1, -1], [0, 1, 0, 0])
    0.6666666666666666
    """
    y, k = labelled_pair(truth, pred)
    return float(np.mean(y == k))


def confusion(truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None) -> Ints:
    """Count how often truth ``i`` was called ``j``.

    Parameters
    ----------
    truth, pred : array_like
        See the top of this module.
    n_classes : int, optional
        K, where `pred` holds indices and not every class occurs.

    Returns
    -------
    ndarray of int (K, K)
        Rows are true, columns are called.

    Examples
    --------
    >>> confusion([0, 0, 1], [0, 1, 1]).tolist()
    [[1, 1], [0, 1]]
    """
    y, k = labelled_pair(truth, pred)
    shape = np.shape(pred)
    seen = int(max(y.max(), k.max())) + 1
    K = n_classes or (shape[1] if len(shape) == 2 else seen)
    if seen > K:
        raise ValueError(f"class {seen - 1} occurs, but there are only {K} classes (0 to {K - 1})")
    return np.bincount(y * K + k, minlength=K * K).reshape(K, K)


def sensitivity(truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None) -> Floats:
    """Return ``TP / (TP + FN)`` of each class (K,); NaN for one that never is true. Also: recall.

    Examples
    --------
    >>> sensitivity([0, 0, 1], [0, 1, 1]).tolist()
    [0.5, 1.0]
    """
    c = confusion(truth, pred, n_classes)
    return _ratio(np.diag(c), c.sum(axis=1))


def precision(truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None) -> Floats:
    """Return ``TP / (TP + FP)`` of each class (K,); NaN for one that is never called.

    Examples
    --------
    >>> precision([0, 0, 1], [0, 1, 1]).tolist()
    [1.0, 0.5]
    """
    c = confusion(truth, pred, n_classes)
    return _ratio(np.diag(c), c.sum(axis=0))


def specificity(truth: ArrayLike, pred: ArrayLike, n_classes: int | None = None) -> Floats:
    """Return ``TN / (TN + FP)`` of each class (K,); NaN where every row is of that class.

    Examples
    --------
    >>> specificity([0, 0, 1], [0, 1, 1]).tolist()
    [1.0, 0.5]
    """
    c = confusion(truth, pred, n_classes)
    false_alarms = c.sum(axis=0) - np.diag(c)
    negatives = c.sum() - c.sum(axis=1)
    return _ratio(negatives - false_alarms, negatives)


def macro_f1(truth: ArrayLike, pred: ArrayLike) -> float:
    """Return the mean over classes of ``2 TP / (2 TP + FP + FN)``.

    The mean is over the classes that occur, as a truth or as an answer.

    Examples
    --------
    >>> macro_f1([0, 0, 1], [0, 1, 1])
    0.6666666666666666
    """
    c = confusion(truth, pred)
    f1 = _ratio(2 * np.diag(c), c.sum(axis=0) + c.sum(axis=1))
    return float(np.nanmean(f1))


def log_loss(truth: ArrayLike, probs: ArrayLike, floor: float = 1e-3) -> float:
    """Return the mean of ``-log p[truth]``, in nats.

    Parameters
    ----------
    truth : array_like of int (T,)
        True classes; negative is unlabelled.
    probs : array_like (T, K)
        Class probabilities; each row is scaled to the sum 1.
    floor : float
        Probabilities are raised to this first, because a zero would cost infinitely much. The
        default is the filters' own; near 0 the loss tells little but how often a zero was wrong.

    Examples
    --------
    >>> round(log_loss([0, 1], [[0.5, 0.5], [0.5, 0.5]]), 4)
    0.6931
    """
    if not 0 < floor < 1:
        raise ValueError(f"floor is {floor}; it must lie between 0 and 1")
    y, p = labelled_probs(truth, probs)
    p = np.maximum(p, floor)
    p = p / p.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(p[np.arange(y.size), y])))


def brier(truth: ArrayLike, probs: ArrayLike) -> float:
    """Return the mean of ``sum_k (p_k - [k = truth])^2``: 0 is perfect, 2 the worst.

    Examples
    --------
    >>> brier([0, 1], [[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    y, p = labelled_probs(truth, probs)
    hit = p[np.arange(y.size), y]
    return float(np.mean((p * p).sum(axis=1) - 2 * hit + 1))


def calibration_error(truth: ArrayLike, probs: ArrayLike, bins: int = 15) -> float:
    """Return the expected calibration error of the called class.

    With the rows sorted into equal bins of their confidence ``max_k p_k``, it is
    ``sum_b n_b / n |accuracy_b - mean confidence_b|``: 0 where 80 % sure means right in 80 %.

    Examples
    --------
    >>> round(calibration_error([0, 1], [[0.9, 0.1], [0.9, 0.1]]), 4)
    0.4
    """
    if bins < 1:
        raise ValueError(f"bins is {bins}; it must be 1 or more")
    y, p = labelled_probs(truth, probs)
    sure = p.max(axis=1)
    excess = (p.argmax(axis=1) == y) - sure
    at = np.clip(np.ceil(sure * bins).astype(np.intp) - 1, 0, bins - 1)
    return float(np.abs(np.bincount(at, excess, minlength=bins)).sum() / y.size)


def switches_per_hour(
    pred: ArrayLike,
    time: ArrayLike,
    truth: ArrayLike | None = None,
    max_gap: float | None = None,
) -> float:
    """Return how often the called class changes in an hour; of the truth, the true rate.

    Parameters
    ----------
    pred : array_like (T, K) or (T,)
        Probabilities or class indices. Rows with a negative index are left out.
    time : array_like (T,)
        Seconds, increasing.
    truth : array_like of int (T,), optional
        Leave out rows where this is negative, so that both rates are over the same rows.
    max_gap : float, optional
        Neighbours further apart than these seconds count neither as a change nor as time passed;
        ten times the median step. Rows left out break the stream in the same way.

    Returns
    -------
    float
        Changes an hour; NaN if no two rows are neighbours.

    Examples
    --------
    >>> switches_per_hour([0, 0, 1, 1, 0], [0, 900, 1800, 2700, 3600])
    2.0
    """
    switches, hours = count_switches(pred, time, truth, max_gap)
    return switches / hours if hours > 0 else float("nan")


def count_switches(
    pred: ArrayLike,
    time: ArrayLike,
    truth: ArrayLike | None = None,
    max_gap: float | None = None,
) -> tuple[float, float]:
    """Return how often the called class changes, and in how many hours; see `switches_per_hour`.

    Examples
    --------
    >>> count_switches([0, 0, 1, 1, 0], [0, 900, 1800, 2700, 3600])
    (2.0, 1.0)
    """
    k = predicted_classes(pred)
    t = increasing(time, k.size)
    keep = k >= 0
    if truth is not None:
        keep &= true_classes(truth, k.size) >= 0
    joined = _joined(t, keep, max_gap)
    hours = float(np.diff(t)[joined].sum()) / 3600
    return float((np.diff(k)[joined] != 0).sum()), hours


class Delay(NamedTuple):
    """Seconds from true changes to their detection; see `detection_delay`."""

    median: float
    mean: float
    missed: float
    changes: int


def detection_delay(
    truth: ArrayLike, pred: ArrayLike, time: ArrayLike, max_gap: float | None = None
) -> Delay:
    """Measure how long it takes until a change of the true class is seen.

    A true change opens a segment that lasts until the next change, gap, unlabelled row, or the
    end. Its delay is the time from its first row to the first row in it with the right class: 0 if
    that is right at once. A segment without a right row is *missed* and counts with its whole
    length, the least that the delay can be: a track does not get quicker by missing more. (A track
    that flickers is quick by chance: read the delay beside the switches.)

    Parameters
    ----------
    truth, pred : array_like
        See the top of this module.
    time : array_like (T,)
        Seconds, increasing.
    max_gap : float, optional
        Neighbours further apart than these seconds are a gap: no change is counted across it. Ten
        times the median step.

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
    k = predicted_classes(pred)
    y = true_classes(truth, k.size)
    t = increasing(time, y.size)
    joined = _joined(t, y >= 0, max_gap)
    cut = ~joined | (np.diff(y) != 0)  # a segment ends between these two rows
    first = np.concatenate([[0], np.flatnonzero(cut) + 1])
    last = np.concatenate([first[1:] - 1, [y.size - 1]])
    changed = np.zeros(first.size, dtype=bool)
    changed[1:] = joined[first[1:] - 1]
    if not changed.any():
        return Delay(float("nan"), float("nan"), float("nan"), 0)
    dt = np.diff(t)
    step = np.append(np.where(joined, dt, np.median(dt)), np.median(dt))  # a row's own duration
    right = np.flatnonzero(k == y)
    at = np.searchsorted(right, first)
    hit = np.append(right, y.size)[at]
    found = hit <= last
    delay = np.where(found, np.append(t, np.inf)[hit], t[last] + step[last]) - t[first]
    delay, found = delay[changed], found[changed]
    missed = float(1 - found.mean())
    return Delay(float(np.median(delay)), float(delay.mean()), missed, delay.size)


def summary(truth: ArrayLike, probs: ArrayLike, time: ArrayLike | None = None) -> dict[str, float]:
    """Return every measure that is one number.

    Parameters
    ----------
    truth : array_like of int (T,)
        True classes.
    probs : array_like (T, K) or (T,)
        Probabilities; or class indices, and then the measures of probabilities are left out.
    time : array_like (T,), optional
        Seconds; without it, the measures over time are left out.

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


def _joined(time: Floats, keep: NDArray[np.bool_], max_gap: float | None) -> NDArray[np.bool_]:
    """Say for each pair of neighbours (T - 1,) whether the stream runs on from one to the other."""
    dt = np.diff(time)
    if dt.size == 0:
        return np.zeros(0, dtype=bool)
    limit = 10 * float(np.median(dt)) if max_gap is None else max_gap
    joined: NDArray[np.bool_] = keep[1:] & keep[:-1] & (dt <= limit)
    return joined


def _ratio(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """Divide, with NaN for 0 / 0."""
    out: Floats = np.full(a.shape, np.nan)
    np.divide(a, b, out=out, where=b > 0)
    return out
