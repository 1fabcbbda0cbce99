"""The live loop equals a loop written by hand, whatever the sources do and however samples come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter import Cascade
from classfilter.policy import Periodic, Policy
from conftest import rejected
from live_loop import (
    CLASSES,
    FILTERS,
    INVALID_OUTPUTS,
    NAN,
    PER_STEP,
    POLICIES,
    RATE,
    SOURCES,
    STEP,
    VALID_OUTPUTS,
    WINDOW,
    Floats,
    loop_by_hand,
    make_cascade,
    raising,
    run_steps,
    signal,
    snapshot,
    step_bits,
    strong,
    weak,
)
from streams import at_most

either_policy = pytest.mark.parametrize("policy", POLICIES)


# --- the same as a loop written by hand -------------------------------------------------------


@either_policy
@pytest.mark.parametrize("f", FILTERS)
def test_equals_a_loop_by_hand(f: Callable[[], cf.Filter], policy: Callable[[], Policy]) -> None:
    x = signal(300)
    expected = loop_by_hand(f(), policy(), x, VALID_OUTPUTS)
    steps = run_steps(make_cascade(f(), policy()), x)
    assert [step.called for step in steps] == [(name,) for name in expected.called]
    assert [step.source for step in steps] == expected.called
    assert [step.label for step in steps] == expected.labels
    assert [step.probs.tobytes() for step in steps] == [p.tobytes() for p in expected.probs]
    assert set(expected.called) == {"weak", "strong"}
    assert len(set(expected.labels)) == 3


def test_dt_and_time() -> None:
    f = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 3))
    cascade, hand = Cascade(f, {"weak": weak}), f.copy()
    x = signal(20)
    for n, dt in enumerate([2.0, 0.0, 0.5], start=1):
        step = cascade.step(x[: n * PER_STEP], dt)
        assert step.probs.tobytes() == hand.update(weak(x[: n * PER_STEP]), 1.0, dt).tobytes()
    assert step.time == 2.5
    step = cascade.step(x, 99.0, time=4)
    assert step.time == 4.0
    assert step.probs.tobytes() == hand.update(weak(x), 1.0, 1.5).tobytes()
    cascade.reset()
    assert cascade.step(x, time=1e9).probs.tobytes() == f.update(weak(x), 1.0, 0.0).tobytes()
    assert cascade.step(x).time == 1e9 + 1


def test_the_filter_and_policy_passed_in_are_not_changed() -> None:
    f, policy, x = FILTERS[0](), Periodic(every=5), signal(9)
    f.update([0.8, 0.1, 0.1])
    policy.called("strong", x, x, 1.0)
    before = repr((f.state, policy.state))
    fresh = [step_bits(step) for step in run_steps(make_cascade(policy=Periodic(every=5)), x)]
    assert [step_bits(step) for step in run_steps(make_cascade(f, policy), x)] == fresh
    assert repr((f.state, policy.state)) == before


# --- windows and blocks -----------------------------------------------------------------------


def test_short_windows_at_the_start() -> None:
    seen: list[tuple[str, Floats]] = []

    def source(name: str) -> Callable[[Any], Any]:
        def call(x: Floats) -> list[float]:
            seen.append((name, x))
            return [0.5, 0.3, 0.2]

        return call

    class Stubborn(Periodic):
        calls: list[tuple[str, float]] = []  # noqa: RUF012

        def choose(self, probs: Any, since: Any) -> str:
            return "long"

        def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
            self.calls.append((source, dt))

    x = np.arange(60.0)[:, None]
    names = ["short", "middle", "long", "twin"]
    window = {"short": 3, "middle": 20, "long": 50, "twin": 20}
    cascade = Cascade(FILTERS[0](), {n: source(n) for n in names}, policy=Stubborn(), window=window)
    steps = [cascade.step(x[:n], time=n) for n in (0, 2, 3, 19, 20, 49, 50, 60)]
    sources = [None, None, "short", "short", "middle", "middle", "long", "long"]
    assert [step.source for step in steps] == sources
    assert [step.called for step in steps] == [(name,) if name else () for name in sources]
    assert Stubborn.calls == list(zip(sources[2:], [1, 16, 1, 29, 1, 10], strict=True))
    for (name, window_seen), n in zip(seen, (3, 19, 20, 49, 50, 60), strict=True):
        assert np.array_equal(window_seen, x[n - window[name] : n])
    assert cascade.calls == {"short": 2, "middle": 2, "long": 2, "twin": 0}
    f = FILTERS[0]()
    rows = np.repeat([[NAN] * 3, [0.5, 0.3, 0.2]], [2, 6], axis=0)
    filtered = f.run(rows, dt=[0, 2, 1, 16, 1, 29, 1, 10])
    assert np.array([step.probs for step in steps]).tobytes() == filtered.tobytes()


def test_a_source_may_change_its_window() -> None:
    def overwriting(x: Floats) -> Floats:
        output = strong(x)
        x[:] = 1e9
        return output

    x = signal(40)
    tidy = [step_bits(step) for step in run_steps(make_cascade(), x)]
    assert [
        step_bits(step)
        for step in run_steps(make_cascade(sources=SOURCES | {"strong": overwriting}), x)
    ] == tidy
    cascade = make_cascade(sources=SOURCES | {"strong": overwriting})
    assert [step_bits(step) for step in cascade.run([x], RATE, STEP)] == tidy


@at_most(60)
@given(
    sizes=st.lists(st.integers(0, 400), max_size=30),
    rate=st.sampled_from([10.0, 7.3, 33.3, 4.0]),
    windows=st.sampled_from([WINDOW, {"strong": 31, "weak": 7}, {"strong": 120}, {}]),
    start=st.sampled_from([0.0, -3.5, 1.7e9]),
)
def test_every_chunking_gives_the_same_steps(
    sizes: list[int], rate: float, windows: dict[str, int], start: float
) -> None:
    x = signal(25, seed=1)
    cuts = np.cumsum(sizes)
    blocks = np.split(x, cuts[cuts < len(x)])
    cascade = make_cascade(window=windows)

    def reused() -> Iterator[Floats]:
        """Each block in the memory of the one before."""
        memory = np.empty_like(x)
        for block in blocks:
            memory[: len(block)] = block
            yield memory[: len(block)]
            memory[:] = NAN

    one = [step_bits(step) for step in cascade.run(reused(), rate, STEP, start)]
    cascade.reset()
    hand, n = [], 1
    keep = max([*windows.values(), *([round(rate * STEP)] if len(windows) < 2 else [])])
    while (end := round(n * STEP * rate)) <= len(x):
        window = x[max(0, end - keep) : end]
        hand.append(step_bits(cascade.step(window, time=start + n * STEP)))
        n += 1
    assert one == hand
    assert len(one) >= 7


# --- errors of sources -------------------------------------------------------------------------


class NeedsDetach:
    """Like a torch tensor with a gradient."""

    def __init__(self, row: Any) -> None:
        self.row = row

    def detach(self) -> Any:
        return np.asarray(self.row)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@pytest.mark.parametrize("channel", [None, {"net": cf.Channel(np.eye(3) + 0.1)}])
@pytest.mark.parametrize(("output", "why"), INVALID_OUTPUTS)
def test_invalid_outputs_are_logged_counted_and_treated_as_missing(
    output: Any, why: str, channel: Any, caplog: pytest.LogCaptureFixture
) -> None:
    source = output if callable(output) else lambda x: output
    cascade = Cascade(FILTERS[0](), {"net": source}, channel=channel)
    step = cascade.step([1.0], time=7.5)
    assert step[:2] == (7.5, None)
    assert step.called == ("net",)
    assert cascade.errors == cascade.calls == {"net": 1}
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("classfilter", "WARNING")
    assert record.getMessage().startswith("source 'net' at time 7.5 ")
    assert why in record.getMessage()
    assert bool(record.exc_info) == callable(output)  # a trace, where there is one
    assert cascade.step([1.0], 2.0).probs.tobytes() == cascade.filter.probs.tobytes()
    assert cascade.filter.state.eta == cf.DirichletFilter(3, half_life=30.0).gamma ** 2.0


@pytest.mark.parametrize("wrap", [np.array, tuple, lambda p: [p], NeedsDetach, np.float32])
def test_outputs_of_every_kind(wrap: Callable[[Any], Any]) -> None:
    row = [0.25, 0.625, 0.125]
    cascade = Cascade(FILTERS[0](), {"net": lambda x: wrap(row)})
    assert cascade.step([1.0], 0.0).probs.tobytes() == FILTERS[0]().update(row, dt=0.0).tobytes()
    assert cascade.errors == {"net": 0}


def test_a_missing_observation_is_no_error() -> None:
    cascade = Cascade(FILTERS[0](), {"net": lambda x: [NAN] * 3})
    assert cascade.step([1.0])[1] is None
    assert (cascade.errors, cascade.calls) == ({"net": 0}, {"net": 1})


def test_the_filter_decides_at_the_tolerance_in_single_precision() -> None:
    """A sum within 0.05 of 1 in double precision may be beyond it in single precision."""
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], 400) * (1.05 - 1e-9)
    f = cf.DirichletFilter(3, dtype=np.float32, half_life=30.0)
    cascade, hand, rejected = Cascade(f, {"net": lambda x: rows[int(x[0])]}), f.copy(), 0
    for n, row in enumerate(rows):
        try:
            expected = hand.update(row)
        except ValueError:
            expected, rejected = hand.update([NAN] * 3), rejected + 1
        assert cascade.step([n]).probs.tobytes() == expected.tobytes()
    assert cascade.errors == {"net": rejected}
    assert 20 < rejected < 380


def test_a_step_that_the_filter_cannot_take_is_not_an_error_of_the_source() -> None:
    """In single precision this dt is infinite, whatever the row."""
    cascade = Cascade(cf.DirichletFilter(3, dtype=np.float32), {"net": lambda x: [0.5, 0.3, 0.2]})
    before = snapshot(cascade)
    with rejected("dt"):
        cascade.step([1.0], 1e39)
    assert snapshot(cascade) == before


def test_errors_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cascade = Cascade(FILTERS[0](), {"net": raising})
    for _ in range(1000):
        cascade.step([1.0])
    counts = [int(r.getMessage().split("no. ")[1][:-1]) for r in caplog.records]
    assert counts == [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512]
    assert cascade.errors == {"net": 1000}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_exceptions_that_end_a_program_pass(stop: type[BaseException]) -> None:
    def quitting(x: Floats) -> Any:
        if len(x) == 9:
            raise stop
        return [0.5, 0.3, 0.2]

    cascade = Cascade(FILTERS[0](), {"net": quitting})
    cascade.step(np.zeros(8))
    before = snapshot(cascade)
    with pytest.raises(stop):
        cascade.step(np.zeros(9))
    assert snapshot(cascade) == before


@pytest.mark.parametrize(
    "as_label",
    [
        str,
        np.str_,
        lambda name: CLASSES.index(name),
        lambda name: np.int64(CLASSES.index(name)),
        lambda name: np.array([name]),
        lambda name: np.array([CLASSES.index(name)]),
        lambda name: np.array(CLASSES.index(name)),
    ],
)
def test_a_source_may_return_a_class(as_label: Callable[[str], Any]) -> None:
    """By name or index, as a scalar or in an array of one; as its one-hot row through a channel."""
    channel = cf.Channel([[8, 1, 1], [2, 6, 2], [1, 3, 6]])
    names = iter(["walk", "run", "rest"])
    f = FILTERS[0]()
    cascade = Cascade(f, {"net": lambda _: as_label(next(names))}, channel={"net": channel})
    probs = [cascade.step([1.0], dt=5.0).probs for _ in range(3)]
    rows = channel.apply([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert np.array(probs).tobytes() == f.run(rows, dt=5.0).tobytes()
    assert cascade.errors == {"net": 0}


def test_an_empty_class_is_a_missing_observation() -> None:
    cascade = Cascade(FILTERS[0](), {"net": lambda _: ""})
    assert cascade.step([1.0]).source is None
    assert cascade.errors == {"net": 0}
