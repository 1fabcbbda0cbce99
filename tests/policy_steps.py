"""Steps for policies, and a loop that follows a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classfilter.policy import Policy

Floats = NDArray[np.float64]
BETA = {"strong": 1.0, "weak": 0.1}
SURE, TORN = [1.0, 0.0], [0.5, 0.5]


def drive(policy: Policy, probs: Floats, observations: Floats, dt: Floats) -> list[str]:
    """Call what the policy chooses, step by step; probs (T, K) are the estimates before each."""
    last: dict[str, float] = {}
    now, chosen = 0.0, []
    for p, row, step in zip(probs, observations, dt.tolist(), strict=True):
        now += step
        source = policy.choose(p, {name: now - time for name, time in last.items()})
        policy.called(source, row, p, step)
        last[source] = now
        chosen.append(source)
    return chosen


def random_steps(seed: int, T: int, K: int = 3) -> tuple[Floats, Floats, Floats]:
    """Return estimates, observations (some missing) and dt, with pauses and steps without time."""
    rng = np.random.default_rng(seed)
    probs = np.array([rng.dirichlet(np.full(K, a)) for a in rng.choice([0.01, 0.3, 5.0], T)])
    observations = rng.dirichlet(np.full(K, 0.5), T)
    observations[rng.random(T) < 0.1] = np.nan
    return probs, observations, rng.choice([0.0, 5.0, 5.0, 5.0, 600.0], T)


def strong_gaps(chosen: list[str]) -> Any:
    """Return the steps from each strong call to the next."""
    return np.diff([step for step, source in enumerate(chosen) if source == "strong"])
