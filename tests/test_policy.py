"""Policies: what all of them do, the periodic one, and what is wrong is named."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classfilter.policy import Adaptive, Periodic, Policy
from policies import SURE, TORN, drive, random_steps, strong_gaps

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


@pytest.mark.parametrize("made", POLICIES)
def test_a_call_that_was_refused_is_asked_for_again(made: Callable[[], Policy]) -> None:
    policy = made()
    for _ in range(3):
        assert policy.choose(TORN, {"weak": 1.0}) == "strong"
        policy.called("weak", TORN, TORN, 1.0)


# --- every policy -----------------------------------------------------------------------------


@pytest.mark.parametrize("made", POLICIES)
@given(SEEDS, st.integers(0, 60))
@settings(max_examples=20, deadline=None)
def test_restored_is_continued(made: Callable[[], Policy], seed: int, cut: int) -> None:
    probs, answers, _ = random_steps(seed, 60)
    whole, first, second = made(), made(), made()
    last = [math.inf]

    def step(policy: Policy, t: int) -> str:
        since = {"strong": last[0]}
        before = policy.state
        source = policy.choose(probs[t], since)
        assert policy.choose(probs[t], since) == source
        assert policy.state == before  # to choose changes nothing
        policy.called(source, answers[t], probs[t], 5.0)
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


@pytest.mark.parametrize("made", POLICIES)
def test_reset_and_copy(made: Callable[[], Policy]) -> None:
    policy, start = made(), made().state
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
    given_ = {"budget": 0.2, "shortest": 3, "longest": 7, "disagreement": 0.3, "floor": 0.1}
    cost = {"big": 3.0, "small": 1.0}
    more = {"patience": 40.0, "strong": "big", "weak": "small", "dtype": np.dtype("float32")}
    policy = Adaptive(**given_, **more, cost=cost)  # type: ignore[arg-type]
    assert policy._options == {**given_, **more, "cost": cost}
    for twin in (policy.copy(), pickle.loads(pickle.dumps(policy))):
        assert twin._options == policy._options
    timed = Periodic(seconds=30, strong="big", weak="small")
    assert vars(timed.copy()) == vars(timed)


@pytest.mark.parametrize("made", POLICIES)
@given(SEEDS, st.permutations(range(4)))
@settings(max_examples=20, deadline=None)
def test_order_of_classes_is_nothing(
    made: Callable[[], Policy], seed: int, order: list[int]
) -> None:
    probs, answers, dt = random_steps(seed, 80, 4)
    one, other = made(), made()
    assert drive(one, probs, answers, dt) == drive(other, probs[:, order], answers[:, order], dt)
    assert one.state == other.state


# --- what is wrong is named -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "message"),
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
        (lambda: Adaptive(min_gap=0), "shortest is 0; it counts steps"),
        (lambda: Adaptive(min_gap=13), "one strong call in 12 steps, which shortest, 13,"),
        (lambda: Adaptive(max_gap=11), "and longest, 11, do not allow"),
        (lambda: Adaptive(disagreement=-1.0), "disagreement is -1.0; it must lie in 0 to 1000"),
        (lambda: Adaptive(floor=0.0), "floor is 0.0; it must lie in 0.0001 to 1"),
        (lambda: Adaptive(horizon=0.0), "patience is 0.0; it must lie in 1 to 1e"),
        (lambda: Adaptive(max_gap=10**7), "longest is 10000000; it must lie in 2 to 1e"),
        (lambda: Adaptive(0.0, cost=COST), "budget is 0.0; it is the cost of a time unit, above 0"),
        (lambda: Adaptive(cost={"weak": 1.0}), r"cost names \['weak'\]; name 'strong' and 'weak'"),
        (lambda: Adaptive(cost={"weak": 2.0, "strong": 2.0}), "'strong' must cost more than one"),
        (lambda: Adaptive(cost=COST, max_gap=1), "longest is 1; it must lie in 2 to 1e"),
        (lambda: Adaptive(dtype=np.float16), "dtype is float16; it must be float64 or float32"),
        (lambda: Adaptive(strong="a", weak="a"), "strong and weak are both 'a'"),
    ],
)
def test_bad_settings(made: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made()


def test_bad_steps_change_nothing() -> None:
    policy = Adaptive()
    policy.called("strong", SURE, TORN, 0.0)
    policy.called("weak", SURE, TORN, 5.0)
    before = policy.state
    nan = math.nan
    with pytest.raises(ValueError, match=r"probs is .*nan.*; give the filter's reading"):
        policy.choose([0.5, nan], {})
    with pytest.raises(ValueError, match=r"probs is .*; give the filter's reading"):
        policy.choose([], {})
    with pytest.raises(ValueError, match="since is nan; it must be finite and not negative"):
        policy.choose(TORN, {"strong": nan})
    bad: list[tuple[Any, Any, float, str]] = [
        (SURE, [nan, nan], 1.0, "probs is"),
        (SURE, [3.0, -2.0], 1.0, "probs is"),
        ([1.0], TORN, 1.0, "answer has 1 entries, but probs 2; give one a class"),
        ([0.9, nan], TORN, 1.0, "answer is .*, but some probabilities are NaN, but not all; give"),
        ([0.9, 0.3], TORN, 1.0, "answer is .*, but the probabilities do not sum to 1; give"),
        (SURE, TORN, -1.0, "dt is -1.0; it must be finite and not negative"),
        (SURE, TORN, nan, "dt is nan"),
    ]
    for answer, probs, dt, message in bad:
        with pytest.raises(ValueError, match=message):
            policy.called("weak", answer, probs, dt)
    states: list[tuple[Any, str]] = [
        ((math.inf, 1.0, 1, 0.0, 0.0, 0.0), "raised is inf; it must lie in"),
        ((1.0, -1.0, 1, 0.0, 0.0, 0.0), "step is -1.0; it must lie in 0 to"),
        ((1.0, 1.0, -1, 0.0, 0.0, 0.0), "gap is -1; it counts steps and must be 0 or more"),
        ((1.0, 1.0, 1, 2.0, 0.0, 0.0), "surprise is 2.0; it must lie in 0 to 1"),
        ((1.0, 1.0, 1, 0.0, nan, 0.0), "left is nan; it must lie in 0 to 1"),
        ((1.0, 1.0, 1, 0.0, 0.0, 13.0), "due is 13.0; it must lie in 0 to 12"),
    ]
    for state, message in states:
        with pytest.raises(ValueError, match=message):
            policy.state = state
    assert policy.state == before


def test_calls_that_were_not_chosen_leave_it_able() -> None:
    policy = Adaptive(budget=0.5, horizon=2)
    for source in ("strong", "weak"):
        for _ in range(3000):
            policy.called(source, SURE, TORN, 1.0)
        assert abs(policy.state.raised) < 5
    assert policy.choose(TORN, {"strong": 1.0}) == "strong"
