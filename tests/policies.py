"""What tests of policies share: steps to choose at, and a loop that does as the policy says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classfilter.policy import Policy

Floats = NDArray[np.float64]
BETA = {"strong": 1.0, "weak": 0.1}
SURE, TORN = [1.0, 0.0], [0.5, 0.5]


def drive(policy: Policy, probs: Floats, answers: Floats, dt: Floats) -> list[str]:
    """Do as the policy says, step by step; probs (T, K) are the readings before each step."""
    last: dict[str, float] = {}
    now, chosen = 0.0, []
    for p, answer, step in zip(probs, answers, dt.tolist(), strict=True):
        now += step
        source = policy.choose(p, {name: now - then for name, then in last.items()})
        policy.called(source, answer, p, step)
        last[source] = now
        chosen.append(source)
    return chosen


def random_steps(seed: int, T: int, K: int = 3) -> tuple[Floats, Floats, Floats]:
    """Readings and answers from sure to torn, some missing; pauses, and steps without time."""
    rng = np.random.default_rng(seed)
    probs = np.array([rng.dirichlet(np.full(K, a)) for a in rng.choice([0.01, 0.3, 5.0], T)])
    answers = rng.dirichlet(np.full(K, 0.5), T)
    answers[rng.random(T) < 0.1] = np.nan
    return probs, answers, rng.choice([0.0, 5.0, 5.0, 5.0, 600.0], T)


def strong_gaps(chosen: list[str]) -> Any:
    """Steps from each strong call to the next."""
    return np.diff([step for step, source in enumerate(chosen) if source == "strong"])
