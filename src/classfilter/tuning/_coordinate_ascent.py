"""Coordinate ascent: the best candidate along one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._candidates import Candidate

Axis = Callable[[Candidate], list[Candidate]]
WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
ROUNDS = 6


def source_axis(name: str, ways: Sequence[bool] = (True, False)) -> Axis:
    """Return the axis of a source: its weights, with and without its channel."""
    return lambda candidate: [
        candidate.with_beta(name, weight)._replace(
            channel=candidate.channel | {name} if way else candidate.channel - {name}
        )
        for way in ways
        for weight in WEIGHTS
    ]


def coordinate_ascent(
    candidate: Candidate, axes: Sequence[Axis], score: Callable[[Candidate], float]
) -> Candidate:
    """Go to the best candidate along one axis after the other, until none is better."""
    best = score(candidate)
    for _ in range(ROUNDS):
        before = candidate
        for axis in axes:
            for other in axis(candidate):
                if (new := score(other)) > best:
                    best, candidate = new, other
        if candidate == before:
            break
    return candidate
