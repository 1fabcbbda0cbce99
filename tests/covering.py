"""Few cases of a grid that hold every value of each parameter, or every pair of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations


def covering(cases: Sequence[Mapping[str, int]], strength: int) -> set[int]:
    """Return which cases to keep: each time the one that adds most, until all is there.

    A case has a number for the value of each parameter.

    >>> square = [{"row": i, "column": j} for i in range(3) for j in range(3)]
    >>> sorted(covering(square, 1))  # a diagonal
    [0, 4, 8]
    >>> len(covering(square, 2))
    9
    """
    parts = [set(combinations(sorted(c.items()), min(strength, len(c)))) for c in cases]
    left = set().union(*parts)
    kept = set()
    while left:
        best = max(range(len(cases)), key=lambda i: len(parts[i] & left))
        kept.add(best)
        left -= parts[best]
    return kept
