"""What a policy knows of one stream of a tracker."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ..inputs import Heads, Rows, pairs
from ..pipeline import from_builtin, to_builtin
from ..policy import Adaptive, Policy
from ..support.types import Array, Bools, Floats, Ints
from .store import finite


class Sight:
    """What a policy sees: estimates as they are or, with one uncertainty, the least certain head.

    Parameters
    ----------
    policy : Policy or None
    heads : Heads
    """

    __slots__ = ("_heads", "_one")

    def __init__(self, policy: Policy | None, heads: Heads) -> None:
        self._heads = heads
        self._one = isinstance(policy, Adaptive) and not heads.is_exclusive

    def of_estimate(self, estimate: Array) -> Array:
        """Return the estimate, (C,), that a policy chooses by."""
        return least_certain(self._heads.stacked(estimate)) if self._one else estimate

    def of_call(self, row: Array, estimate: Array) -> tuple[Array, Array]:
        """Return a row, (C,) or (H, K), and the estimate before it, as a policy takes note."""
        if not self._one:
            return row, estimate
        observation = row if row.ndim == 2 else self._heads.stacked(row.astype(estimate.dtype))
        stack = self._heads.stacked(estimate)
        return most_contradicted(observation, stack), least_certain(stack)


def least_certain(stack: Array) -> Floats:
    """Return probabilities of heads, (H, K), as those of two classes, of which the first leads.

    The uncertainty of the two is the largest of all heads.

    Examples
    --------
    >>> least_certain(np.array([[0.125, 0.875], [0.75, 0.25], [1.0, 0.0]])).tolist()
    [0.75, 0.25]
    """
    return pairs(_but_for(stack, stack.argmax(axis=1)).max())


def most_contradicted(observed: Array, stack: Array) -> Floats:
    """Return an observation of heads, (H, K), as that of the two classes of `least_certain`.

    The disagreement of the two is the largest of all heads that were observed.

    Examples
    --------
    >>> estimate = np.array([[0.125, 0.875], [0.9, 0.1], [0.5, 0.5]])
    >>> observed = np.array([[0.25, 0.75], [0.5, 0.5], [np.nan, np.nan]])
    >>> most_contradicted(observed, estimate).tolist()
    [0.5, 0.5]
    """
    against = _but_for(observed, stack.argmax(axis=1))
    disagreements = against[~np.isnan(against)]
    return pairs(disagreements.max()) if disagreements.size else np.full(2, np.nan)


def _but_for(stack: Array, classes: Ints) -> Array:
    """Return the sum of each head's probabilities but for that of a class, (H,)."""
    rest = stack.copy()
    np.put_along_axis(rest, classes[:, None], 0, axis=1)
    total: Array = rest.sum(axis=1)
    return total


class Calls:
    """The policy of one stream, the last estimate, and when each source was called last.

    Parameters
    ----------
    policy : Policy
        Copied; its state counts.
    estimate : ndarray (K,)
        That of the filter before any call.
    heads : Heads
        Of several, a policy with one uncertainty sees the least certain one.
    """

    __slots__ = ("estimate", "last", "policy", "sight")

    def __init__(self, policy: Policy, estimate: Array, heads: Heads) -> None:
        self.policy, self.estimate, self.sight = policy.copy(), estimate, Sight(policy, heads)
        self.last: dict[str, float] = {}

    def copy(self) -> Calls:
        """Return an independent copy."""
        new = copy(self)
        new.policy, new.last = self.policy.copy(), dict(self.last)
        return new

    def note(self, source: str, at: float, observation: Any, estimate: Array, dt: float) -> None:
        """Take note of a call, and of the estimate after it."""
        row, before = self.sight.of_call(np.asarray(observation), self.estimate)
        self.policy.called(source, row, before, dt)
        self.estimate = estimate.copy()  # the caller may change its own, or have it in a batch
        self.last[source] = at

    def next_source(self, at: float) -> str:
        """Return the source that the policy chooses."""
        since = {name: at - last for name, last in self.last.items()}
        return self.policy.choose(self.sight.of_estimate(self.estimate), since)

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
