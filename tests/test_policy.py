"""Policies: what all of them share, the periodic one, and errors."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classfilter.policy import Adaptive, Periodic, Policy
from policy_steps import SURE, TORN, drive, random_steps, strong_gaps
from streams import at_most

SEEDS = st.integers(0, 2**32 - 1)
POLICIES: list[Callable[[], Policy]] = [
    lambda: Periodic(every=5),
    lambda: Periodic(seconds=20),
    lambda: Adaptive(budget=1 / 5),
    lambda: Adaptive(budget=0.3, min_gap=1, max_gap=9, disagreement=1.0, horizon=3),
    lambda: Adaptive(budget=0.25, cost={"weak": 0.5, "strong": 6.0}, dtype=np.float32),
]


# --- periodic ---------------------------------------------------------------------------------


def test_periodic_counts_steps() -> None:
    chosen = drive(Periodic(every=3), np.full((7, 2), 0.5), np.full((7, 2), 0.5), np.ones(7))
    assert [name[0] for name in chosen] == list("swwswws")
    assert Periodic().every == 12


@pytest.mark.parametrize(
    ("step", "seconds", "steps"), [(5.0, 60.0, 12), (0.1, 0.7, 7), (7.0, 60.0, 9)]
)
def test_periodic_counts_seconds(step: float, seconds: float, steps: int) -> None:
    same = np.full((300, 2), 0.5)
    chosen = drive(Periodic(seconds=seconds), same, same, np.full(300, step))
    assert chosen[0] == "strong"
    assert set(strong_gaps(chosen)) == {steps}


@pytest.mark.parametrize("make_policy", POLICIES)
def test_a_strong_call_that_was_not_made_is_chosen_again(make_policy: Callable[[], Policy]) -> None:
    policy = make_policy()
    for _ in range(3):
        assert policy.choose(TORN, {"weak": 1.0}) == "strong"
        policy.called("weak", TORN, TORN, 1.0)


# --- every policy -----------------------------------------------------------------------------


@pytest.mark.parametrize("make_policy", POLICIES)
@given(SEEDS, st.integers(0, 60))
@at_most(20)
def test_a_restored_policy_continues(
    make_policy: Callable[[], Policy], seed: int, cut: int
) -> None:
    probs, observations, _ = random_steps(seed, 60)
    whole, first, second = make_policy(), make_policy(), make_policy()
    last = [math.inf]

    def step(policy: Policy, t: int) -> str:
        since = {"strong": last[0]}
        before = policy.state
        source = policy.choose(probs[t], since)
        assert policy.choose(probs[t], since) == source
        assert policy.state == before  # choosing changes nothing
        policy.called(source, observations[t], probs[t], 5.0)
        return source

    for t in range(60):
        if t == cut:
            second.state = json.loads(json.dumps(first.state))  # numbers only
            assert second.state == first.state
        part = first if t < cut else second
        expected = step(whole, t)
        assert step(part, t) == expected
        last[0] = 5.0 if expected == "strong" else last[0] + 5.0
    assert (second if cut < 60 else first).state == whole.state


@pytest.mark.parametrize("make_policy", POLICIES)
def test_reset_and_copy(make_policy: Callable[[], Policy]) -> None:
    policy, start = make_policy(), make_policy().state
    steps = random_steps(7, 50)
    chosen = drive(policy, *steps)
    assert policy.state != start
    twin = policy.copy()
    assert twin.state == policy.state
    assert repr(twin) == repr(policy)
    twin.reset()
    assert twin.state == start
    assert policy.state != start
    assert drive(twin, *steps) == chosen
    assert twin.state == policy.state


def test_copy_keeps_every_setting() -> None:
    numbers = {"budget": 0.2, "min_gap": 3, "max_gap": 7, "disagreement": 0.3, "floor": 0.1}
    cost = {"big": 3.0, "small": 1.0}
    others = {"horizon": 40.0, "strong": "big", "weak": "small", "dtype": np.dtype("float32")}
    policy = Adaptive(**numbers, **others, cost=cost)  # type: ignore[arg-type]
    assert policy._options == {**numbers, **others, "cost": cost}
    for twin in (policy.copy(), pickle.loads(pickle.dumps(policy))):
        assert twin._options == policy._options
    timed = Periodic(seconds=30, strong="big", weak="small")
    assert vars(timed.copy()) == vars(timed)


# --- errors -----------------------------------------------------------------------------------


def test_it_recovers_from_calls_that_it_did_not_choose() -> None:
    policy = Adaptive(budget=0.5, horizon=2)
    for source in ("strong", "weak"):
        for _ in range(3000):
            policy.called(source, SURE, TORN, 1.0)
        assert abs(policy.state.threshold_offset) < 5
    assert policy.choose(TORN, {"strong": 1.0}) == "strong"
