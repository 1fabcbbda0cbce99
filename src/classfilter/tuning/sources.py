"""Which source is right, how often, and which is of no use: facts that need no labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..inputs import Rows
from ..support.types import Floats, Ints
from .estimate import Timeline, estimate
from .model import MIN_AGREEMENT, EstimatedModel
from .rows import JoinedRows, concatenate

JUDGED_ROWS = 40
"""Predictions that a verdict on a source needs."""
STUCK_ON = 0.5
"""A source that only ever says one class is stuck if the others say it in less than this share."""
NEAR_CHANCE = 0.1
COPIES = 0.995
"""Two sources that say the same at this share of their common times are one."""


class SourceFacts(NamedTuple):
    """What can be said of a source without labels.

    Attributes
    ----------
    name : str
        The source.
    rows : int
        Its predictions.
    accuracy : float
        The estimated share of them that is right.
    beyond_chance : float
        The same beyond chance: 0 where it guesses, 1 where it is always right.
    confuses : tuple of (str, str, float)
        What it confuses most: the class, what it says instead, and in which share of the time.
    redundancy : float
        How often the source most like it says the same at the same time; NaN where none does.
    weight : float
        In the filter.
    verdict : str
        What is wrong with it, in words; empty where nothing is.
    """

    name: str
    rows: int
    accuracy: float
    beyond_chance: float
    confuses: tuple[str, str, float]
    redundancy: float
    weight: float
    verdict: str


def facts_of_sources(
    rows: JoinedRows, model: EstimatedModel, beta: dict[str, float]
) -> tuple[SourceFacts, ...]:
    """Return what can be said of each source, the best first."""
    assert model.line is not None
    assert model.found is not None
    found, K = model.found, len(rows.classes)
    said = rows.observed.argmax(axis=1)
    alike, twin = _alike(rows, model.line, said)
    facts = []
    for i, name in enumerate(rows.sources):
        own = rows.source == i
        counts = np.eye(K)[said[own]].T @ found.posterior[own]
        wrong = counts / np.maximum(counts.sum(axis=0), 1.0)
        np.fill_diagonal(wrong, 0.0)
        j, k = np.unravel_index(wrong.argmax(), wrong.shape)
        right, verdict = float(found.agreement[i]), ""
        if own.sum() >= JUDGED_ROWS and len(set(said[own].tolist())) == 1 and right < NEAR_CHANCE:
            verdict = f"stuck on {rows.classes[int(said[own][0])]!r}"
        elif own.sum() >= JUDGED_ROWS and right < NEAR_CHANCE:
            verdict = "near chance"
        elif alike[i] >= COPIES:
            verdict = f"copies {rows.sources[twin[i]]!r}"
        facts.append(
            SourceFacts(
                name=name,
                rows=int(own.sum()),
                accuracy=float(np.trace(counts) / own.sum()),
                beyond_chance=right,
                confuses=(rows.classes[int(k)], rows.classes[int(j)], float(wrong[j, k])),
                redundancy=float(alike[i]),
                weight=beta.get(name, 1.0),
                verdict=verdict,
            )
        )
    return tuple(sorted(facts, key=lambda one: -one.beyond_chance))


def _alike(rows: JoinedRows, line: Timeline, said: Ints) -> tuple[Floats, Ints]:
    """Return how often the source most like each says the same at a time, and which it is."""
    S = len(rows.sources)
    at = rows.stream * (int(line.number.max()) + 1) + line.number
    table = np.full((S, int(at.max()) + 1), -1, np.int32) if at.max() < 10**7 else None
    best, twin = np.full(S, np.nan), np.zeros(S, np.intp)
    if table is None:
        return best, twin
    table[rows.source, at] = said
    for i in range(S):
        for j in range(S):
            both = (table[i] >= 0) & (table[j] >= 0)
            if i != j and both.sum() >= JUDGED_ROWS:
                same = float((table[i] == table[j])[both].mean())
                if not best[i] >= same:
                    best[i], twin[i] = same, j
    return best, twin


def stuck_sources(recordings: Sequence[Rows]) -> dict[str, str]:
    """Return the sources that only ever say one class, though others mostly do not; and the class.

    Others count where their successive predictions agree beyond chance: then a class lasts in them.
    """
    names = list(dict.fromkeys(n for rec in recordings for n in rec.sources))
    said = {
        name: [rec.probs[rec.observed(name)].argmax(axis=1) for rec in recordings] for name in names
    }
    counts = {name: np.bincount(np.concatenate(one), minlength=2) for name, one in said.items()}
    constant = {
        name: int(count.argmax())
        for name, count in counts.items()
        if count.sum() >= JUDGED_ROWS and count.max() == count.sum()
    }
    lasting = [n for n in names if n not in constant and _lasts(said[n]) >= MIN_AGREEMENT]
    return {
        name: recordings[0].classes[k]
        for name, k in constant.items()
        if any(_share_of(counts[other], k) < STUCK_ON for other in lasting)
    }


def _share_of(counts: Ints, k: int) -> float:
    return float(counts[k] / counts.sum()) if k < len(counts) else 0.0


def _lasts(streams: Sequence[Ints]) -> float:
    """Return how often successive classes agree beyond chance."""
    everything = np.concatenate(streams)
    pairs = [(one[:-1] == one[1:]) for one in streams]
    same = np.concatenate(pairs)
    if not same.size:
        return 0.0
    chance = float(((np.bincount(everything) / everything.size) ** 2).sum())
    return 0.0 if chance == 1 else (float(same.mean()) - chance) / (1 - chance)


def most_accurate(recordings: Sequence[Rows]) -> str:
    """Return the source that is right most often, by a fit of all."""
    rows = concatenate(recordings, "")
    return rows.sources[int(estimate(rows, Timeline(rows)).agreement.argmax())]


def warning_of_contradiction(rows: JoinedRows, model: EstimatedModel) -> str:
    """Say that the other sources contradict the named reference; nothing where they do not."""
    line = model.line
    assert line is not None
    if len(rows.sources) < 3 and line.slow[0]:
        return ""  # nothing but the reference could say so
    free = estimate(rows, line).agreement
    best = int(free.argmax())
    if free[0] >= free[best] / 2:
        return ""
    return (
        f"the other sources contradict {rows.reference!r}: without it as reference, it seems right "
        f"in {free[0]:.0%} beyond chance, and {rows.sources[best]!r} in {free[best]:.0%}. Leave "
        "reference out, or check the source."
    )
