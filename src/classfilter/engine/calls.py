"""What a policy knows of one stream of a tracker."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ..inputs import Rows, pairs
from ..pipeline import from_builtin, to_builtin
from ..policy import Adaptive, Policy
from ..support.types import Array, Bools, Floats
from .store import finite


def sees_one_label(independent: bool, policy: Policy | None) -> bool:
    """Return whether a policy has one uncertainty; others get the labels as they are."""
    return independent and isinstance(policy, Adaptive)


def least_certain(probs: Array) -> Floats:
    """Return probabilities of labels, (L,), as those of two classes, of which the first leads.

    The uncertainty of the two is the largest of all labels.

    Examples
    --------
    >>> least_certain(np.array([0.875, 0.25, 0.0])).tolist()
    [0.75, 0.25]
    """
    return pairs(np.minimum(probs, 1 - probs).max())


def most_contradicted(observed: Array, probs: Array) -> Floats:
    """Return observed scores, (L,) or pairs (L, 2), as those of the two classes of `least_certain`.

    The disagreement of the two is the largest of all labels that were observed.

    Examples
    --------
    >>> most_contradicted(np.array([0.75, 0.5, np.nan]), np.array([0.9, 0.1, 0.5])).tolist()
    [0.5, 0.5]
    """
    both = observed if observed.ndim == 2 else pairs(observed)
    against = np.where(probs > 0.5, both[:, 0], both[:, 1])
    seen = against[~np.isnan(against)]
    return pairs(seen.max()) if seen.size else np.full(2, np.nan)


class Calls:
    """The policy of one stream, the last estimate, and when each source was called last.

    Parameters
    ----------
    policy : Policy
        Copied; its state counts.
    estimate : ndarray (K,)
        That of the filter before any call.
    independent : bool
        Whether the classes are labels: a policy with one uncertainty sees the least certain one.
    """

    __slots__ = ("by_label", "estimate", "last", "policy")

    def __init__(self, policy: Policy, estimate: Array, independent: bool = False) -> None:
        self.policy, self.estimate = policy.copy(), estimate
        self.by_label = sees_one_label(independent, policy)
        self.last: dict[str, float] = {}

    def copy(self) -> Calls:
        """Return an independent copy."""
        new = copy(self)
        new.policy, new.last = self.policy.copy(), dict(self.last)
        return new

    def note(self, source: str, at: float, observation: Any, estimate: Array, dt: float) -> None:
        """Take note of a call, and of the estimate after it."""
        row, before = np.asarray(observation), self.estimate
        if self.by_label:
            row, before = most_contradicted(row, before), least_certain(before)
        self.policy.called(source, row, before, dt)
        self.estimate = estimate.copy()  # the caller may change its own, or have it in a batch
        self.last[source] = at

    def next_source(self, at: float) -> str:
        """Return the source that the policy chooses."""
        since = {name: at - last for name, last in self.last.items()}
        seen = least_certain(self.estimate) if self.by_label else self.estimate
        return self.policy.choose(seen, since)

    def saved(self) -> tuple[Any, list[float], dict[str, float]]:
        """Return all of it, for a file."""
        return to_builtin(self.policy.state), self.estimate.tolist(), dict(self.last)

    def restored(self, saved: tuple[Any, list[float], dict[str, float]]) -> Calls:
        """Return what `saved` returned, on a new one."""
        state, estimate, last = saved
        new = self.copy()
        new.policy.state = from_builtin(state, self.policy.state)
        new.estimate = np.array(estimate, self.estimate.dtype)
        if new.estimate.shape != self.estimate.shape or not np.isfinite(new.estimate).all():
            raise ValueError(f"the estimate of a stream is {estimate!r}")
        new.last = {str(source): finite(at) for source, at in dict(last).items()}
        return new


def calls_after(
    before: list[Any],
    new: Callable[[], Calls],
    rows: Rows,
    observed: Array,
    *,
    estimates: Array,
    dt: Floats,
    begins: Bools,
) -> Array:
    """Return what the policy knows of each stream after many rows; `before` stays as it is."""
    after = np.full(len(before), None, object)
    called = [rows.sources[code] for code in rows.source.tolist()]
    steps, anew = dt.tolist(), begins.tolist()
    for row, (i, at) in enumerate(zip(rows.stream.tolist(), rows.time.tolist(), strict=True)):
        if anew[row]:
            after[i] = new()
        elif after[i] is None:
            after[i] = before[i].copy()
        after[i].note(called[row], at, observed[row], estimates[row], steps[row])
    return after
