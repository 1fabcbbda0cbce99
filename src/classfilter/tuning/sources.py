"""Which source is right, how often, and which is of no use: facts that need no labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..inputs import Rows
from ..support.types import Floats, Ints
from .estimate import Timeline, agreements, estimate
from .model import MIN_AGREEMENT, EstimatedModel
from .rows import JoinedRows, concatenate

JUDGED_ROWS = 40
"""Predictions that a verdict on a source needs."""
STUCK_ON = 0.5
"""A source that only ever says one class is stuck if the others say it in less than this share."""
NEAR_CHANCE = 0.1
SURE = 3.0
"""Standard errors of an agreement, below which it may be chance."""
CONTRADICT = 0.2
"""Two sources contradict each other if they agree less than this share of what each does with
itself a row later."""
IN_COMMON = 0.4
"""Or if the classes that they say have less than this in common."""
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


def useless_sources(recordings: Sequence[Rows], equal: bool) -> dict[str, str]:
    """Return the sources that tell nothing, and why: stuck on a class, or as good as shuffled.

    A source is stuck if it only ever says one class, though others, whose classes last, mostly do
    not. Of equally fast ones, one is as good as shuffled if neither its own successive predictions
    nor those of others agree with it beyond chance, though classes last in others.
    """
    rows = concatenate(recordings, "")
    said = rows.observed.argmax(axis=1)
    counts = np.array(
        [
            np.bincount(said[rows.source == i], minlength=len(rows.classes))
            for i in range(len(rows.sources))
        ]
    )
    total = counts.sum(axis=1)
    agreed = agreements(rows)
    constant = (total >= JUDGED_ROWS) & (counts.max(axis=1) == total)
    least = np.minimum(MIN_AGREEMENT, SURE / total**0.5)
    lasting = ~constant & (np.diag(agreed) >= least)
    found = {}
    for i, name in enumerate(rows.sources):
        k = int(counts[i].argmax())
        if constant[i] and any(counts[j, k] < STUCK_ON * total[j] for j in np.flatnonzero(lasting)):
            found[name] = (
                f"says {rows.classes[k]!r} in every row, while others mostly do not: it seems stuck"
            )
        enough = total[i] >= (SURE / NEAR_CHANCE) ** 2 and not constant[i] and lasting.any()
        if equal and enough and agreed[i].max() < SURE / total[i] ** 0.5:
            found[name] = (
                "agrees hardly more than by chance with itself from row to row and with all other "
                "sources: its rows may be shuffled"
            )
    return found


class Contradiction(NamedTuple):
    """Two sources that contradict each other, in words, and whether that leaves the best alone."""

    text: str
    best_alone: bool


def contradiction(rows: JoinedRows) -> Contradiction | None:
    """Return two sources that contradict each other; None where all get on.

    Classes last in both, but they agree far less than sources whose errors are independent; or they
    hardly have a class in common. The best is alone if no more sources get on with it than
    contradict it.
    """
    agreed, S, K = agreements(rows), len(rows.sources), len(rows.classes)
    own, cell = np.diag(agreed), rows.source * K + rows.observed.argmax(axis=1)
    share = np.bincount(cell, minlength=S * K).reshape(S, K) + 1.0
    share /= share.sum(axis=1, keepdims=True)
    common = np.minimum(share[:, None], share).sum(axis=2)
    last = np.minimum(own[:, None], own) >= MIN_AGREEMENT
    against = last & (agreed < CONTRADICT * np.sqrt(np.maximum(np.outer(own, own), 0.0)))
    against |= common < IN_COMMON
    if not against.any():
        return None
    i, j = (int(one) for one in np.argwhere(against)[0])
    text = (
        f"sources {rows.sources[i]!r} and {rows.sources[j]!r} contradict each other: they agree "
        "hardly more than by chance. The errors of one last, or its classes are in another order"
    )
    return Contradiction(text, bool(2 * against[0].sum() >= (last[0] | against[0])[1:].sum()))


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
