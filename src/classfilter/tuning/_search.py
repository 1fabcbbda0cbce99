"""The search for the candidate that the objective likes best, family by family."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._candidates import Candidate
from ._coordinate_ascent import WEIGHTS, Axis, coordinate_ascent, source_axis
from ._objective import Objective

HALF_LIVES = (1, 2, 4, 8, 16, 32, 64, 128)
"""In median steps."""
FLOORS = (1e-4, 1e-3, 1e-2)
ANCHORS = (0.0, 0.1, 1.0)
STAGES = 3
"""Of a search: coarse, fine, and what is rarely needed."""


def search(
    objective: Objective,
    family: str,
    reference: str,
    others: Sequence[str],
    step: float,
    channel: bool | None,
    tell: Callable[[], None],
) -> Candidate:
    """Return the best setting of a family: a coarse search, then a fine one.

    Parameters
    ----------
    objective : Objective
        Who decides.
    family : str
        One of `FAMILIES`.
    reference : str
        The source whose weight stays 1, unless it is the only one.
    others : sequence of str
        The other sources.
    step : float
        The usual time from row to row.
    channel : bool, optional
        Whether the others go through their channels; both are tried unless given.
    tell : callable
        Called after each of the `STAGES`.
    """
    only = [] if others or family == "dirichlet" else [reference]
    ways = (True, False) if channel is None else (channel,)
    coarse: list[Axis] = [source_axis(name, ways) for name in others]
    coarse += [_weight_axis(name) for name in only]
    fine = [_nearby_axis(name) for name in (*others, *only)]
    if family != "transitions":
        coarse.insert(0, lambda s: [s._replace(half_life=n * step) for n in HALF_LIVES])
        near = (0.5**0.5, 2**0.5)
        fine.insert(0, lambda s: [s._replace(half_life=s.half_life * f) for f in near])
    starts = []
    for way in ways:
        weights = ((reference, 1.0), *((name, 0.5 if way else 0.1) for name in others))
        start = Candidate(family, 8 * step, weights, frozenset(others if way else ()))
        starts.append(coordinate_ascent(start, coarse, objective.mean))
    tell()
    best = coordinate_ascent(max(starts, key=objective.mean), fine, objective.mean)
    tell()
    # Rarely needed, so only where it is clear that they help.
    more = [best._replace(floor=floor) for floor in FLOORS]
    more += [best._replace(anchor=anchor) for anchor in ANCHORS if family == "dirichlet"]
    better = max(more, key=objective.mean)
    gain = objective.mean(better) - objective.mean(best)
    tell()
    return better if better != best and gain > 2 * objective.error(better, best) else best


def best_half_life(
    objective: Objective, beta: tuple[tuple[str, float], ...], step: float
) -> Candidate:
    """Return a Dirichlet filter with given weights and the memory that suits them best."""
    given = Candidate("dirichlet", 8 * step, beta, frozenset())
    return max((given._replace(half_life=n * step) for n in HALF_LIVES), key=objective.mean)


def _weight_axis(name: str) -> Axis:
    return lambda candidate: [candidate.with_beta(name, weight) for weight in WEIGHTS[1:]]


def _nearby_axis(name: str) -> Axis:
    def nearby(candidate: Candidate) -> list[Candidate]:
        weight = dict(candidate.beta)[name]
        return [candidate.with_beta(name, min(1.0, weight * f)) for f in (0.75, 1.3)]

    return nearby
