"""Policies: what all of them share, the periodic one, and errors."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classfilter.policy import Adaptive, Periodic, Policy
from policy_steps import SURE, TORN, drive, random_steps, strong_gaps
from streams import at_most

COST = {"weak": 1.0, "strong": 40.0}
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


@pytest.mark.parametrize(
    ("make_policy", "message"),
    [
        (lambda: Periodic(every=0), "every is 0; it counts steps and must be 1 or more"),
        (lambda: Periodic(every=1.5), "every is 1.5; it counts"),  # type: ignore[arg-type]
        (lambda: Periodic(every=3, seconds=3), "every and seconds are both given; give one"),
        (lambda: Periodic(seconds=0), "seconds is 0; it must be positive"),
        (lambda: Periodic(seconds=math.inf), "seconds is inf; it must be positive and finite"),
        (lambda: Periodic(strong="a", weak="a"), "strong and weak are both 'a'; name two"),
        (lambda: Adaptive(0.0), "budget is 0.0; .* above 0 and below 1"),
        (lambda: Adaptive(1.0), "budget is 1.0; "),
        (lambda: Adaptive(math.nan), "budget is nan; "),
        (lambda: Adaptive(min_gap=0), "min_gap is 0; it counts steps"),
        (lambda: Adaptive(min_gap=13), "one strong call in 12 steps, which min_gap, 13,"),
        (lambda: Adaptive(max_gap=11), "and max_gap, 11, do not allow"),
        (lambda: Adaptive(disagreement=-1.0), "disagreement is -1.0; it must lie in 0 to 1000"),
        (lambda: Adaptive(floor=0.0), "floor is 0.0; it must lie in 0.0001 to 1"),
        (lambda: Adaptive(horizon=0.0), "horizon is 0.0; it must lie in 1 to 1e"),
        (lambda: Adaptive(max_gap=10**7), "max_gap is 10000000; it must lie in 2 to 1e"),
        (lambda: Adaptive(0.0, cost=COST), "budget is 0.0; it is the cost per time unit, above 0"),
        (lambda: Adaptive(cost={"weak": 1.0}), r"cost names \['weak'\]; name 'strong' and 'weak'"),
        (lambda: Adaptive(cost={"weak": 2.0, "strong": 2.0}), "'strong' must cost more than one"),
        (lambda: Adaptive(cost=COST, max_gap=1), "max_gap is 1; it must lie in 2 to 1e"),
        (lambda: Adaptive(dtype=np.float16), "dtype is float16; it must be float64 or float32"),
        (lambda: Adaptive(strong="a", weak="a"), "strong and weak are both 'a'"),
    ],
)
def test_invalid_settings(make_policy: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_policy()


def test_invalid_steps_change_nothing() -> None:
    policy = Adaptive()
    policy.called("strong", SURE, TORN, 0.0)
    policy.called("weak", SURE, TORN, 5.0)
    before = policy.state
    nan = math.nan
    with pytest.raises(ValueError, match=r"probs is .*nan.*; give the filter's estimate"):
        policy.choose([0.5, nan], {})
    with pytest.raises(ValueError, match=r"probs is .*; give the filter's estimate"):
        policy.choose([], {})
    with pytest.raises(ValueError, match="since is nan; it must be finite and not negative"):
        policy.choose(TORN, {"strong": nan})
    invalid: list[tuple[Any, Any, float, str]] = [
        (SURE, [nan, nan], 1.0, "probs is"),
        (SURE, [3.0, -2.0], 1.0, "probs is"),
        ([1.0], TORN, 1.0, "observation has 1 entries, but probs 2; give one per class"),
        (
            [0.9, nan],
            TORN,
            1.0,
            "observation is .*, but some probabilities are NaN, but not all; give",
        ),
        ([0.9, 0.3], TORN, 1.0, "observation is .*, but the probabilities do not sum to 1; give"),
        (SURE, TORN, -1.0, "dt is -1.0; it must be finite and not negative"),
        (SURE, TORN, nan, "dt is nan"),
    ]
    for row, probs, dt, message in invalid:
        with pytest.raises(ValueError, match=message):
            policy.called("weak", row, probs, dt)
    states: list[tuple[Any, str]] = [
        ((math.inf, 1.0, 1, 0.0, 0.0, 0.0), "threshold_offset is inf; it must lie in"),
        ((1.0, -1.0, 1, 0.0, 0.0, 0.0), "step is -1.0; it must lie in 0 to"),
        (
            (1.0, 1.0, -1, 0.0, 0.0, 0.0),
            "steps_since_strong is -1; it counts steps and must be 0 or more",
        ),
        ((1.0, 1.0, 1, 2.0, 0.0, 0.0), "disagreement is 2.0; it must lie in 0 to 1"),
        ((1.0, 1.0, 1, 0.0, nan, 0.0), "residual_uncertainty is nan; it must lie in 0 to 1"),
        ((1.0, 1.0, 1, 0.0, 0.0, 13.0), "accrued_budget is 13.0; it must lie in 0 to 12"),
    ]
    for state, message in states:
        with pytest.raises(ValueError, match=message):
            policy.state = state
    assert policy.state == before


def test_it_recovers_from_calls_that_it_did_not_choose() -> None:
    policy = Adaptive(budget=0.5, horizon=2)
    for source in ("strong", "weak"):
        for _ in range(3000):
            policy.called(source, SURE, TORN, 1.0)
        assert abs(policy.state.threshold_offset) < 5
    assert policy.choose(TORN, {"strong": 1.0}) == "strong"
