"""What the bound of the Dirichlet filter's memory changes: ``python -m experiments.lock``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import classfilter as cf

WEIGHTS = (1.0, 0.5, 0.1)
GAMMA = 0.9


def predictions_until_change(K: int, beta: float, bounded: bool) -> int:
    """Return how many one-hot predictions turn a filter that saw two other classes alternate.

    The 1000 pairs before them have the weight 0.5.
    """
    f = cf.DirichletFilter(K, GAMMA, bounded=bounded)
    rows = np.eye(K)
    f.run(np.tile(rows[:2], (1000, 1)), 0.5)
    new = f.classes.index(f.label) ^ 1 if K == 2 else K - 1
    for count in range(1, 10_000):
        f.update(rows[new], beta)
        if f.label == new:
            return count
    return 10_000


def patterns(K: int, seed: int = 0) -> list[NDArray[np.float64]]:
    """Return long streams of one-hot predictions: one class, two in turn, all, random ones."""
    rng, rows = np.random.default_rng(seed), np.eye(K)
    mostly = np.where(rng.random(2000) < 0.85, 0, rng.integers(K, size=2000))
    return [
        np.tile(rows[:1], (2000, 1)),
        np.tile(rows[:2], (1000, 1)),
        np.tile(np.repeat(rows[:2], 5, axis=0), (200, 1)),
        np.tile(rows, (2000 // K, 1)),
        rows[rng.integers(K, size=2000)],
        rows[mostly],
    ]


def longest_delay(K: int, beta: float, bounded: bool, gamma: float = GAMMA) -> float:
    """Return the most half-lives until a new class is predicted, over long streams before it."""
    half_life, longest = np.log(0.5) / np.log(gamma), 0
    for rows in patterns(K):
        before = cf.DirichletFilter(K, gamma, bounded=bounded)
        before.run(rows, beta)
        for new in set(range(K)) - {before.classes.index(before.label)}:
            P = before.copy().run(np.tile(np.eye(K)[new], (3000, 1)), beta)
            longest = max(longest, int((P.argmax(axis=1) != new).sum()) + 1)
    return float(longest / half_life)


def sharp_stream(
    K: int, gap: float, rows: int = 20_000, stay: int = 200
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return classes, and predictions that are right 85 % of the time, by `gap` in their logits."""
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(K, size=rows // stay), stay)
    wrong = (truth + rng.integers(1, K, size=rows)) % K
    said = np.where(rng.random(rows) < 0.85, truth, wrong)
    logits = rng.normal(size=(rows, K))
    logits[np.arange(rows), said] += gap
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    return truth, probs / probs.sum(axis=1, keepdims=True)


def accuracy(K: int, gap: float, beta: float, bounded: bool) -> float:
    """Return the filter's accuracy on a sharp stream."""
    truth, probs = sharp_stream(K, gap)
    P = cf.DirichletFilter(K, GAMMA, bounded=bounded).run(probs, beta)
    return cf.metrics.accuracy(truth, P)


def main() -> None:
    """Print both tables."""
    heads = "  ".join(f"{f'weight {w}':>12}" for w in WEIGHTS)
    tables: list[tuple[str, Callable[[int, float, bool], str]]] = [
        ("predictions until a change is seen", lambda *a: str(predictions_until_change(*a))),
        ("most half-lives until a change is seen", lambda *a: f"{longest_delay(*a):.1f}"),
        ("accuracy, logit gap 3", lambda K, *a: f"{accuracy(K, 3.0, *a):.1%}"),
        ("accuracy, logit gap 9", lambda K, *a: f"{accuracy(K, 9.0, *a):.1%}"),
    ]
    for title, values in tables:
        print(f"{title}\n   K  bounded  {heads}")
        for K in (2, 5, 20) if title.startswith("accuracy") else (2, 6, 20):
            for bounded in (False, True):
                cells = "  ".join(f"{values(K, w, bounded):>12}" for w in WEIGHTS)
                print(f"{K:4}  {bounded!s:>7}  {cells}")
        print()


if __name__ == "__main__":
    main()
