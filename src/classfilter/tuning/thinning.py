"""Recordings as they will be: the reference at the rate at which it will be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..inputs import Rows
from ..policy import Adaptive, Periodic, Policy

DEFAULT_EVERY = 12
"""Steps from one call of the reference to the next, where nothing is known."""
DENSE = 0.5
"""A recording is dense where the reference is at more than this share of the others' times."""


class Thinned(NamedTuple):
    """Recordings with the reference at the rate at which it will be called.

    Attributes
    ----------
    recordings : list of Rows
        Some predictions of the reference may be left out.
    every : float
        Mean steps from one prediction of the reference to the next.
    thinned : bool
        Whether any were left out.
    assumed : bool
        Whether the rate was assumed, because none was given.
    """

    recordings: list[Rows]
    every: float
    thinned: bool
    assumed: bool


def steps_between_calls(
    every: int | None, budget: float | None, policy: Policy | None, step: float
) -> int | None:
    """Return the steps from one call of the reference to the next; None where none are given.

    Examples
    --------
    >>> steps_between_calls(None, 0.1, None, 5.0), steps_between_calls(None, None, Periodic(6), 5.0)
    (10, 6)
    """
    options = {"every": every, "budget": budget, "policy": policy}
    rates = [name for name, value in options.items() if value is not None]
    if len(rates) > 1:
        raise ValueError(f"{rates[0]} and {rates[1]} are both given; give one of them")
    if every is not None:
        if isinstance(every, bool) or every != int(every) or every < 1:
            raise ValueError(f"every is {every!r}; it counts steps and must be 1 or more")
        return int(every)
    if budget is not None:
        if not 0 < budget <= 1:
            raise ValueError(f"budget is {budget!r}; it is a share of the steps, above 0, up to 1")
        return max(1, round(1 / budget))
    if policy is None:
        return None
    share = _share_of_calls(policy, step)
    return max(1, round(1 / share))


def _share_of_calls(policy: Policy, step: float) -> float:
    """Return the share of the steps at which a policy calls the strong source."""
    if isinstance(policy, Periodic):
        return 1 / policy.every if policy.every else min(1.0, step / (policy.seconds or step))
    if isinstance(policy, Adaptive):
        if policy.cost is None:
            return policy.budget
        weak, strong = policy.cost[policy.weak], policy.cost[policy.strong]
        return float(np.clip((policy.budget * step - weak) / (strong - weak), 1e-3, 1.0))
    raise TypeError(
        f"policy is a {type(policy).__name__}, whose rate is not known; give every instead"
    )


def thin(recordings: Sequence[Rows], reference: str, every: int | None) -> Thinned:
    """Leave out predictions of the reference, where there are more than there will be.

    Every n-th of each stream stays, from the first on. Where another source predicts at the same
    time, its row goes: one source is called at a time.

    Parameters
    ----------
    recordings : sequence of Rows
        One per stream.
    reference : str
        The reference.
    every : int, optional
        Steps from one call of it to the next. By default `DEFAULT_EVERY` where the recordings are
        dense, and as they are where not.
    """
    dense, spacing = _density(recordings, reference)
    assumed = every is None and dense > DENSE
    wanted = DEFAULT_EVERY if assumed else every
    nth = 1 if wanted is None else max(1, round(wanted / spacing))
    if nth == 1:
        return Thinned(list(recordings), spacing, False, False)
    return Thinned(
        [_every_nth(rec, reference, nth) for rec in recordings], spacing * nth, True, assumed
    )


def _density(recordings: Sequence[Rows], reference: str) -> tuple[float, float]:
    """Return the share of the others' times that the reference has, and its steps per call."""
    shared = others = steps = calls = 0
    for rec in recordings:
        of_reference = rec.observed(reference)
        if not of_reference.any():
            continue
        mine = np.unique(rec.time[of_reference])
        theirs = np.unique(rec.time[rec.observed() & ~of_reference])
        shared += int(np.isin(theirs, mine).sum())
        others += theirs.size
        steps += int(np.unique(rec.time).size)
        calls += mine.size
    return (shared / others if others else 0.0), (steps / calls if calls else 1.0)


def _every_nth(rec: Rows, reference: str, nth: int) -> Rows:
    of_reference = rec.observed(reference)
    calls = np.flatnonzero(of_reference)
    kept = rec.time[calls[::nth]]
    stays = np.where(rec.of_source(reference), False, ~np.isin(rec.time, kept))
    stays[calls[::nth]] = True
    return rec.take(stays)
