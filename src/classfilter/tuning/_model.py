"""The estimated model: class shares and transitions, from a classifier's own predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._channel import Channel
from .._typing import Floats
from ..data._recording import Recording
from ..filters._ctmc import exponential, generator


def class_shares(recordings: Sequence[Recording], reference: str) -> Floats:
    """Return the share of each class (K,) in a source's predictions, with one pseudo-count.

    Examples
    --------
    >>> rec = Recording([0, 1], "strong", [[0.75, 0.25], [0.75, 0.25]], ["rest", "move"])
    >>> class_shares([rec], "strong").round(3)
    array([0.667, 0.333])
    """
    total = sum((_predictions(rec, reference)[1].sum(axis=0) for rec in recordings), np.zeros(1))
    shares: Floats = total + 1 / len(recordings[0].classes)
    normalised: Floats = shares / shares.sum()
    return normalised


class Transitions(NamedTuple):
    """The transition probabilities over a time interval.

    Attributes
    ----------
    matrix : ndarray (K, K)
        Probability of each class (column) a time `interval` after each class (row).
    interval : float
        In time units.
    """

    matrix: Floats
    interval: float


def estimate_transitions(recordings: Sequence[Recording], reference: str) -> Transitions:
    r"""Estimate the transitions from a source's successive predictions.

    These are the soft counts :math:`C_{ij} = \sum_n s_{n,i} s_{n+1,j}` of predictions about the
    median interval apart, with the class shares added to each row, which is then normalised. An
    uncertain prediction counts for several classes, so the source's errors are included, and the
    estimate leaves a class sooner than the class ends. A matrix that no process in continuous time
    has, such as a fixed order of classes, becomes a near one: negative rates are left out.

    Examples
    --------
    >>> probs = np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1] * 50]
    >>> rec = Recording(np.arange(400.0) * 60, "strong", probs, ["rest", "move"])
    >>> matrix, interval = estimate_transitions([rec], "strong")
    >>> matrix[0].round(2), interval
    (array([0.75, 0.25]), 60.0)
    """
    pairs = [_predictions(rec, reference) for rec in recordings]
    apart = np.concatenate([np.diff(time) for time, _ in pairs])
    apart = apart[apart > 0]
    if not apart.size:
        raise ValueError(
            f"no two predictions of {reference!r} follow each other; record for longer"
        )
    median = float(np.median(apart))
    K = len(recordings[0].classes)
    counts, spans = np.zeros((K, K)), []
    for time, s in pairs:
        dt = np.diff(time)
        near = (dt > median / 2) & (dt < median * 2)
        counts += s[:-1][near].T @ s[1:][near]
        spans.append(dt[near])
    matrix = counts + class_shares(recordings, reference)
    matrix /= matrix.sum(axis=1, keepdims=True)
    try:
        rates = generator(matrix)
    except ValueError:  # the process mixes within the interval
        rates = matrix - np.eye(K)
    return Transitions(exponential(rates), float(np.mean(np.concatenate(spans))))


def repeated(recordings: Sequence[Recording], reference: str) -> float:
    """Return the share of a source's predictions whose class is that of the one before; or NaN.

    Examples
    --------
    >>> rec = Recording([0, 1, 2], "strong", [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], 2)
    >>> repeated([rec], "strong")
    0.5
    """
    predicted = [_predictions(rec, reference)[1].argmax(axis=1) for rec in recordings]
    same = np.concatenate([k[1:] == k[:-1] for k in predicted])
    return float(same.mean()) if same.size else float("nan")


def _predictions(rec: Recording, source: str) -> tuple[Floats, Floats]:
    """Return the times and the predictions of a source, each with the sum 1."""
    rows = rec.observed(source)
    s = rec.probs[rows]
    return rec.time[rows], s / s.sum(axis=1, keepdims=True)


class EstimatedModel(NamedTuple):
    """What is estimated from the predictions of a reference classifier, without labels.

    Attributes
    ----------
    classes : tuple of str
        The K classes.
    reference : str
        The source that it was estimated from.
    prior : ndarray (K,)
        The square root of the class shares, normalised. Predictions include the shares of the data
        that a classifier was trained on, which are not known.
    transitions : Transitions, optional
        None where they cannot be estimated.
    channel : dict of str to Channel
        The confusions of each other source.
    """

    classes: tuple[str, ...]
    reference: str
    prior: Floats
    transitions: Transitions | None
    channel: dict[str, Channel]
