"""A cascade saves and restores its state, counts costs, and rejects invalid calls."""

from __future__ import annotations

import logging
import re
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter import Cascade
from classfilter.policy import Adaptive, Periodic, Policy
from live_loop import (
    BETA,
    CHANNEL,
    FILTERS,
    PER_STEP,
    POLICIES,
    RATE,
    SOURCES,
    STEP,
    Floats,
    make_cascade,
    run_steps,
    signal,
    snapshot,
    step_bits,
    weak,
)
from saved_files import sql
from streams import at_most

MakeFilter = Callable[[], cf.Filter]
SLOW = Adaptive(budget=1 / 5, horizon=20)

# --- state ------------------------------------------------------------------------------------


@at_most(40)
@given(
    f=st.sampled_from(FILTERS),
    policy=st.sampled_from(POLICIES),
    stop=st.integers(0, 60),
    by_file=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_restored_cascade_continues_to_the_bit(
    f: MakeFilter, policy: Callable[[], Policy], stop: int, by_file: bool, seed: int
) -> None:
    x = signal(60, seed)
    whole = [step_bits(step) for step in run_steps(make_cascade(f(), policy()), x)]
    first, second = make_cascade(f(), policy()), make_cascade(f(), policy())
    first_part = [step_bits(step) for step in run_steps(first, x[: stop * PER_STEP])]
    run_steps(second, signal(7, seed + 1))  # another stream, which has to be forgotten
    if by_file:
        with tempfile.TemporaryDirectory() as folder:
            first.save(Path(folder, "state"))
            second.load(str(Path(folder, "state")))
    else:
        second.state = first.state
    assert snapshot(second)[0] == snapshot(first)[0]
    assert first_part + [step_bits(step) for step in run_steps(second, x, stop + 1)] == whole


def test_state_is_a_snapshot() -> None:
    cascade, x = make_cascade(), signal(30)
    steps = run_steps(cascade, x[: 20 * PER_STEP])
    state = cascade.state
    before = repr(state)
    later = [step_bits(step) for step in run_steps(cascade, x, 21)]
    assert repr(state) == before
    cascade.state = state
    assert [step_bits(step) for step in run_steps(cascade, x, 21)] == later
    assert state.time == steps[-1].time == 100.0
    assert state.last == {step.called[0]: step.time for step in steps}


def test_reset() -> None:
    cascade, x = make_cascade(cost={"weak": 1}), signal(20)
    first = [step_bits(step) for step in run_steps(cascade, x)]
    cascade.step(x[:, 0][:, None][:0], time=1e6)
    cascade.reset()
    assert snapshot(cascade) == snapshot(make_cascade())
    assert [step_bits(step) for step in run_steps(cascade, x)] == first
    cascade.reset()
    cascade.step(x[:, 0])  # samples of another shape


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = '3' WHERE name = 'last'",
        "UPDATE meta SET value = '[0, 0]' WHERE name = 'policy'",
        "DELETE FROM meta WHERE name = 'policy'",
        "UPDATE meta SET value = '{\"other\": 1.0}' WHERE name = 'last'",
        "UPDATE streams SET state = x''",
        "INSERT INTO streams SELECT 2, 'other', 1, time, state, sum FROM streams",
        "DELETE FROM streams",
        "UPDATE meta SET value = '\"0000\"' WHERE name = 'digest'",
    ],
)
def test_a_crafted_file_is_rejected_in_one_line(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "state"
    cascade = make_cascade(policy=SLOW)
    run_steps(cascade, signal(9))
    before = snapshot(cascade)
    cascade.save(path)
    sql(path, statement)
    with pytest.raises(ValueError, match=r"^.*state is damaged: .*$"):
        cascade.load(path)
    assert snapshot(cascade) == before


# --- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [STEP, 120 * STEP])
def test_memory_does_not_grow(step: float) -> None:
    def blocks() -> Iterator[Floats]:
        block = np.zeros((400, 3))
        for n in range(1500):
            sizes[n] = tracemalloc.get_traced_memory()[0]
            block[:, 0] = np.arange(400) * (1 + n % 7)
            yield block[: 1 + n % 400]

    sizes = np.zeros(1500)
    cascade = make_cascade(sources=SOURCES | {"weak": lambda x: None})
    logging.disable(logging.WARNING)
    tracemalloc.start()
    try:
        for _ in cascade.run(blocks(), RATE, step):
            pass
    finally:
        tracemalloc.stop()
        logging.disable(logging.NOTSET)
    assert np.ptp(sizes[300:]) < 40_000  # a block has up to 10 kB, all samples 7 MB


def test_a_large_block_is_freed() -> None:
    def blocks() -> Iterator[Floats]:
        yield np.ones((100_000, 3))
        yield np.ones((1, 3))
        sizes.append(tracemalloc.get_traced_memory()[0])

    sizes: list[int] = []
    cascade = Cascade(FILTERS[0](), {"net": lambda x: [0.5, 0.3, 0.2]}, window={"net": 50})
    tracemalloc.start()
    try:
        assert len(list(cascade.run(blocks(), rate=10, step=5001.0))) == 1
    finally:
        tracemalloc.stop()
    assert sizes[0] < 100_000  # the block has 2.4 MB


# --- costs ------------------------------------------------------------------------------------


class Priced(Periodic):
    cost = {"strong": 8.0, "weak": 0.5, "other": 1.0}  # noqa: RUF012


@pytest.mark.parametrize(
    ("policy", "cost", "each"),
    [
        (Periodic(every=5), None, {"strong": 0.0, "weak": 0.0}),
        (Periodic(every=5), {"strong": 3}, {"strong": 3.0, "weak": 0.0}),
        (Priced(every=5), None, {"strong": 8.0, "weak": 0.5}),
        (Priced(every=5), {"weak": 1.0}, {"strong": 0.0, "weak": 1.0}),
    ],
)
def test_costs(policy: Policy, cost: Any, each: dict[str, float]) -> None:
    def raising(x: Floats) -> Any:
        raise OSError("a failed call has its cost too")

    cascade = make_cascade(policy=policy, cost=cost, sources=SOURCES | {"strong": raising})
    steps = run_steps(cascade, signal(20))
    assert [step.cost for step in steps] == [each[step.called[0]] for step in steps]
    assert cascade.calls["strong"] == cascade.errors["strong"] >= 3
    assert cascade.total_cost == sum(cascade.calls[name] * each[name] for name in each)


def test_repr() -> None:
    f = cf.MeanFilter(["rest", "walk"])
    expected = (
        "Cascade(MeanFilter(['rest', 'walk'], window=5), ['weak', 'strong'], Periodic(every=12))"
    )
    assert repr(Cascade(f, SOURCES, policy=Periodic())) == expected
    assert repr(Cascade(f, {"weak": weak})).endswith("['weak'], only 'weak')")


# --- invalid calls ----------------------------------------------------------------------------


def test_settings_of_more_sources_are_fine() -> None:
    """What `tune` estimates for three sources serves two of them."""
    beta, channel = BETA | {"other": 0.5}, CHANNEL | {"strong": None, "other": CHANNEL["weak"]}
    x = signal(9)
    more = run_steps(make_cascade(beta=beta, channel=channel), x)
    assert [step_bits(step) for step in more] == [
        step_bits(step) for step in run_steps(make_cascade(), x)
    ]


@pytest.mark.parametrize(
    ("name", "short", "why"),
    [
        ("wrong", False, "policy chose 'wrong' at time 50.0; sources has ['weak', 'strong']"),
        ("", True, "observation has 2 entries, but probs 3; give one per class"),
    ],
)
def test_a_policy_that_fails_changes_nothing(name: str, short: bool, why: str) -> None:
    class Clumsy(Adaptive):
        def choose(self, probs: Any, since: Any) -> str:
            late = since["weak"] < 100 and cascade.calls["weak"] + cascade.calls["strong"] == 9
            return name if name and late else super().choose(probs, since)

        def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
            late = short and cascade.calls["weak"] + cascade.calls["strong"] == 9
            super().called(source, observation[:2] if late else observation, probs, dt)

    cascade = make_cascade(policy=Clumsy(budget=1 / 5))
    x = signal(10)
    run_steps(cascade, x[: 9 * PER_STEP])
    before = snapshot(cascade)
    with pytest.raises(ValueError, match=re.escape(why)):
        cascade.step(x, STEP)
    assert snapshot(cascade) == before
