"""The adaptive policy: its formula, and the budget that it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Adaptive
from classfilter.simulate import Simulation
from policy_steps import BETA, random_steps, run_policy

# --- by hand ------------------------------------------------------------------------


class Formula:
    """The formula of `Adaptive` in plain Python, step by step."""

    def __init__(self, policy: Adaptive) -> None:
        self.policy = policy
        self.unit, self.weak_cost = 1.0, 0.0
        if policy.cost is not None:
            self.unit = policy.cost["strong"] - policy.cost["weak"]
            self.weak_cost = policy.cost["weak"]
        every = 12.0 if policy.cost is not None else 1 / policy.budget
        self.theta = math.log(0.3) + math.log(every) / 4
        self.threshold_offset = self.step = self.disagreement = self.residual = self.accrued = 0.0
        self.steps = 0

    def margin(self, probs: Any, since: float) -> float:
        """Return the query score less the threshold; infinite where a limit decides."""
        policy, uncertainty = self.policy, 1 - max(probs)
        if 1 <= self.steps < policy.min_gap:
            return -math.inf
        if self.steps == 0 or self.steps >= policy.max_gap:
            return math.inf
        if self.step > 0 and since >= policy.max_gap * self.step * (1 - 1e-6):
            return math.inf
        if self.step == 0:
            return -math.inf
        t = min(max(since / self.step, 1e-3), 1e6)
        left = uncertainty if self.steps == 1 else self.residual
        new = max(0.0, uncertainty - left * 6 / (6 + since / self.step))
        score = (
            math.log(policy.floor + new + policy.disagreement * self.disagreement) + math.log(t) / 4
        )
        return score - self.theta - self.threshold_offset

    def called(self, strong: bool, observation: Any, probs: Any, dt: float) -> None:
        policy = self.policy
        if self.steps:
            cost = policy.cost["strong" if strong else "weak"] if policy.cost else float(strong)
            time = min(dt, policy.max_gap * self.step) if self.step else dt
            allowed = policy.budget * time if policy.cost else policy.budget
            offset = self.threshold_offset + (cost - allowed) / self.unit / (1 + self.accrued)
            highest = (
                math.log(policy.floor + 1 + policy.disagreement) + math.log(policy.max_gap) / 4
            )
            low, high = math.log(policy.floor) - self.theta, highest - self.theta
            self.threshold_offset = min(max(offset, low), high)
            self.accrued = min(self.accrued + allowed / self.unit, policy.horizon - 1)
        if self.steps and dt > 0:
            slow, fast = self.step * 1.1, self.step / 1.1
            followed = slow if dt > slow else fast if dt < fast else self.step
            self.step = followed if self.step else dt
        if self.steps == 1:
            self.residual = 1 - max(probs)
        k = int(np.argmax(probs))
        self.disagreement = (
            0.0 if strong or math.isnan(observation[0]) else max(0.0, 1 - observation[k])
        )
        self.steps = 1 if strong else self.steps + (self.steps > 0)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"budget": 0.3, "min_gap": 1, "max_gap": 9, "disagreement": 1.0, "horizon": 3},
        {"budget": 0.4, "cost": {"weak": 1.0, "strong": 40.0}},
        {"budget": 9.0, "max_gap": 20, "cost": {"weak": 0.0, "strong": 3.0}, "floor": 0.2},
    ],
)
@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-9), (np.float32, 1e-3)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_formula(options: dict[str, Any], dtype: Any, close: float, seed: int) -> None:
    policy = Adaptive(**options, dtype=dtype)
    formula = Formula(policy)
    probs, observations, dt = (x.astype(dtype).astype(float) for x in random_steps(seed, 3000))
    since, decided = math.inf, 0
    for p, observation, step in zip(probs, observations, dt.tolist(), strict=True):
        since += step
        margin = formula.margin(p, since)
        source = policy.choose(p, {"strong": since})
        if abs(margin) > close:
            assert (source == "strong") == (margin > 0)
            decided += math.isfinite(margin)
        policy.called(source, observation, p, step)
        formula.called(source == "strong", observation, p, step)
        since = 0.0 if source == "strong" else since
        state = (
            formula.threshold_offset,
            formula.step,
            formula.steps,
            formula.disagreement,
            formula.residual,
            formula.accrued,
        )
        assert policy.state == pytest.approx(state, rel=close, abs=close)
        if dtype == np.float32:  # what is rounded differently stays small, but adds up
            formula.threshold_offset, formula.step, *_, formula.accrued = policy.state
    assert decided > 200


@pytest.mark.parametrize(
    ("observation", "probs", "disagreement"),
    [
        ([0.75, 0.25], [0.6, 0.4], 0.25),
        ([0.75, 0.25], [0.4, 0.6], 0.75),
        ([0.25, 0.75], [0.5, 0.5], 0.25),  # of two classes equally probable, the nearer
        ([math.nan, math.nan], [0.6, 0.4], 0.0),
    ],
)
def test_disagreement(observation: list[float], probs: list[float], disagreement: float) -> None:
    policy = Adaptive()
    policy.state = (1.0, 1.0, 3, 0.125, 0.0, 0.0)
    policy.called("weak", observation, probs, 1.0)
    assert policy.state.disagreement == disagreement
    assert policy.state.steps_since_strong == 4


# --- always -------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize(("budget", "step"), [(1.0, 5.0), (2.0, 5.0), (0.1, 60.0)])
@pytest.mark.parametrize("kind", ["calm", "frantic", "by turns"])
def test_budget_of_cost_is_kept(budget: float, step: float, kind: str) -> None:
    parts = STREAMS[kind]()
    cost = {"weak": 1.0, "strong": 40.0}
    f = cf.StickyFilter(parts[0].classes, stay=0.5 ** (1 / (40 * step)))
    policy = Adaptive(budget, max_gap=100, cost=cost)
    done = run_policy(joined(*parts, step=step), f, policy, beta=BETA)
    total = sum(cost[name] * done.calls[name] for name in cost)
    assert total / (len(done.probs) * step) == pytest.approx(budget, rel=0.05)


def joined(*parts: Simulation, step: float = 5.0) -> Simulation:
    """Concatenate streams, in equal steps."""
    probs = {name: np.concatenate([part.probs[name] for part in parts]) for name in BETA}
    truth = np.concatenate([part.truth for part in parts])
    return Simulation(np.arange(0.0, truth.size) * step, truth, parts[0].classes, probs)


STREAMS: dict[str, Callable[[], list[Simulation]]] = {
    "calm": lambda: [cf.simulate(dwell=14400, weak=0.95, strong=0.99, seed=1)],
    "frantic": lambda: [cf.simulate(dwell=15, weak=0.5, seed=2)],
    "usual": lambda: [cf.simulate("capture24", seed=3)],
    "calm, then frantic": lambda: [
        cf.simulate(dwell=7200, weak=0.95, hours=12.0, seed=4),
        cf.simulate(dwell=15, hours=12.0, seed=5),
    ],
    "frantic, then calm": lambda: [
        cf.simulate(dwell=15, hours=12.0, seed=6),
        cf.simulate(dwell=7200, weak=0.95, hours=12.0, seed=7),
    ],
    "by turns": lambda: [
        cf.simulate(dwell=(20, 3600)[i % 2], hours=1.0, seed=i) for i in range(24)
    ],
}


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("every", [6, 12, 24])
@pytest.mark.parametrize("kind", STREAMS)
def test_budget_is_kept_over_a_day(kind: str, every: int) -> None:
    parts = STREAMS[kind]()
    day = joined(*parts)
    for f in (
        cf.StickyFilter(parts[0].classes, stay=0.5 ** (1 / 200)),
        cf.DirichletFilter(parts[0].classes, half_life=60.0),
    ):
        calls = run_policy(day, f, Adaptive(1 / every), beta=BETA).calls
        assert calls["strong"] + calls["weak"] == day.time.size
        assert calls["strong"] == pytest.approx(day.time.size / every, rel=0.05)
