"""How often each class comes and what follows it, learnt from a classifier's own answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._channel import Channel
from .._typing import Floats
from ..data._recording import Recording
from ..filters._ctmc import exponential, generator


def class_shares(recordings: Sequence[Recording], reference: str) -> Floats:
    """Return the share of each class (K,) in a source's answers, one answer added for all.

    Examples
    --------
    >>> rec = Recording([0, 1], "strong", [[0.75, 0.25], [0.75, 0.25]], ["rest", "move"])
    >>> class_shares([rec], "strong").round(3)
    array([0.667, 0.333])
    """
    total = sum((_answers(rec, reference)[1].sum(axis=0) for rec in recordings), np.zeros(1))
    shares: Floats = total + 1 / len(recordings[0].classes)
    normalised: Floats = shares / shares.sum()
    return normalised


class Transitions(NamedTuple):
    """What follows each class.

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
    r"""Return what follows each class, from a source's successive answers.

    These are the soft counts :math:`C_{ij} = \sum_n s_{n,i} s_{n+1,j}` of answers a usual time
    apart, with an answer of the average kind added to each row, which is then normalised. An unsure
    answer counts for several classes, so the source's errors are in it too, and it leaves sooner
    than the class does. What no process in continuous time has, such as a fixed order of classes,
    becomes a near process: negative rates are left out.

    Examples
    --------
    >>> answers = np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1] * 50]
    >>> rec = Recording(np.arange(400.0) * 60, "strong", answers, ["rest", "move"])
    >>> found = estimate_transitions([rec], "strong")
    >>> found.matrix[0].round(2), found.interval
    (array([0.75, 0.25]), 60.0)
    """
    pairs = [_answers(rec, reference) for rec in recordings]
    apart = np.concatenate([np.diff(time) for time, _ in pairs])
    apart = apart[apart > 0]
    if not apart.size:
        raise ValueError(f"no two answers of {reference!r} follow each other; record for longer")
    usual = float(np.median(apart))
    K = len(recordings[0].classes)
    counts, spans = np.zeros((K, K)), []
    for time, s in pairs:
        dt = np.diff(time)
        near = (dt > usual / 2) & (dt < usual * 2)
        counts += s[:-1][near].T @ s[1:][near]
        spans.append(dt[near])
    follow = counts + class_shares(recordings, reference)
    follow /= follow.sum(axis=1, keepdims=True)
    try:
        rates = generator(follow)
    except ValueError:  # it forgets within the interval
        rates = follow - np.eye(K)
    return Transitions(exponential(rates), float(np.mean(np.concatenate(spans))))


def repeated(recordings: Sequence[Recording], reference: str) -> float:
    """Return the share of a source's answers whose class is that of the answer before; or NaN.

    Examples
    --------
    >>> rec = Recording([0, 1, 2], "strong", [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], 2)
    >>> repeated([rec], "strong")
    0.5
    """
    called = [_answers(rec, reference)[1].argmax(axis=1) for rec in recordings]
    same = np.concatenate([k[1:] == k[:-1] for k in called])
    return float(same.mean()) if same.size else float("nan")


def _answers(rec: Recording, source: str) -> tuple[Floats, Floats]:
    """Return the times and the answers of a source, each with the sum 1."""
    rows = rec.observed(source)
    s = rec.probs[rows]
    return rec.time[rows], s / s.sum(axis=1, keepdims=True)


class EstimatedModel(NamedTuple):
    """What the answers of a reference classifier tell, without labels.

    Attributes
    ----------
    classes : tuple of str
        The K classes.
    reference : str
        The source that was learnt from.
    prior : ndarray (K,)
        How often each class comes: the square root of the shares, normalised. Answers hold the
        shares of the data that a classifier was trained on, which are not known.
    transitions : Transitions, optional
        What follows each class; None where that cannot be learnt.
    channel : dict of str to Channel
        The confusions of each other source.
    """

    classes: tuple[str, ...]
    reference: str
    prior: Floats
    transitions: Transitions | None
    channel: dict[str, Channel]
