"""Steps for policies, and loops that follow a policy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import classfilter as cf
from classfilter.policy import Policy
from classfilter.simulate import Simulation

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


class PolicyRun(NamedTuple):
    """The estimate and the source of each step, and how often each source was called."""

    probs: Floats
    source: list[str]
    calls: dict[str, int]


def run_policy(
    day: Simulation, f: cf.Filter | cf.Pipeline, policy: Policy, **settings: Any
) -> PolicyRun:
    """Run a cascade over a day on which both classifiers could be called at each step."""
    sources = {name: lambda at, rows=rows: rows[at[0]] for name, rows in day.probs.items()}
    cascade = cf.Cascade(f, sources, policy=policy, **settings)
    steps = [cascade.step([n], time=t) for n, t in enumerate(day.time.tolist())]
    called = [step.called[0] for step in steps]
    return PolicyRun(np.array([step.probs for step in steps]), called, cascade.calls)


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
