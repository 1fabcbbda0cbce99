"""How often each class comes and what follows it, learnt from a classifier's own answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .generator import exponential, generator
from .recording import Recording

Floats = NDArray[np.float64]


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


def learn_transitions(recordings: Sequence[Recording], reference: str) -> Floats:
    r"""Return the transitions of one time unit (K, K), from a source's successive answers.

    With the soft counts :math:`C_{ij} = \sum_n s_{n,i} s_{n+1,j}` of answers about d apart, and P
    their rows normalised, the transitions of a time unit are :math:`P^{1/d}`, or those of the
    nearest process in continuous time. An unsure answer counts for several classes, so P holds the
    source's errors too, and leaves sooner than the class does.

    Examples
    --------
    >>> answers = np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1] * 50]
    >>> rec = Recording(np.arange(400.0) * 60, "strong", answers, ["rest", "move"])
    >>> learn_transitions([rec], "strong")[0, 0].round(4)
    np.float64(0.9942)
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
    except ValueError:  # it forgets within d: no process in continuous time has it
        rates = follow - np.eye(K)
    return exponential(rates / float(np.mean(np.concatenate(spans))))


def _answers(rec: Recording, source: str) -> tuple[Floats, Floats]:
    """Return the times and the answers of a source, each with the sum 1."""
    rows = (rec.source == source) & ~np.isnan(rec.probs).any(axis=1)
    s = rec.probs[rows]
    return rec.time[rows], s / s.sum(axis=1, keepdims=True)
