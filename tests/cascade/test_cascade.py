"""The live loop is the loop written by hand, whatever the sources do and however samples come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import classfilter as cf
from classfilter import Cascade
from classfilter._settings import to_builtin as to_the_bit
from classfilter.policy import Adaptive, Periodic, Policy
from sensing import (
    BETA,
    CHANNEL,
    CLASSES,
    EACH,
    HONEST,
    RATE,
    SOURCES,
    STEP,
    WINDOW,
    Floats,
    by_hand,
    signal,
    strong,
    weak,
)

NAN = float("nan")
FILTERS: list[Callable[[], cf.Filter]] = [
    lambda: cf.DirichletFilter(CLASSES, half_life=30.0),
    lambda: cf.DirichletFilter(CLASSES, half_life=30.0, anchor=0.5, dtype=np.float32),
    lambda: cf.StickyFilter(CLASSES, half_life=120.0),
    lambda: cf.MeanFilter(CLASSES),
    lambda: cf.HoldFilter(CLASSES),
]
POLICIES: list[Callable[[], Policy]] = [
    lambda: Periodic(every=5),
    lambda: Periodic(seconds=30),
    lambda: Adaptive(budget=1 / 5, horizon=20, disagreement=1.0),
]
either_policy = pytest.mark.parametrize("policy", POLICIES)


def cascade(
    f: cf.Filter | None = None, policy: Policy | None = None, sources: Any = SOURCES, **given: Any
) -> Cascade:
    options: dict[str, Any] = {"channel": CHANNEL, "window": WINDOW} | given
    made = f or FILTERS[0](), sources, policy or Adaptive(budget=1 / 5, horizon=20)
    return Cascade(*made, options.pop("beta", BETA), **options)


def to_builtin(step: cf.Step) -> tuple[Any, ...]:
    """A step as something that can be compared, to the bit."""
    return (*step[:2], step.probs.tobytes(), *step[3:])


def run(made: Cascade, x: Floats, first: int = 1) -> list[cf.Step]:
    """Call the steps one by one, with all samples so far."""
    return [made.step(x[: n * EACH], time=n * STEP) for n in range(first, len(x) // EACH + 1)]


def decay(made: Cascade) -> tuple[Any, ...]:
    """All of a cascade that a user can see, as something that can be compared."""
    return repr(to_the_bit(made.state)), made.calls, made.errors, made.total_cost


# --- the same as a loop written by hand -------------------------------------------------------


@either_policy
@pytest.mark.parametrize("f", FILTERS)
def test_a_loop_by_hand(f: Callable[[], cf.Filter], policy: Callable[[], Policy]) -> None:
    x = signal(300)
    told = by_hand(f(), policy(), x, HONEST)
    steps = run(cascade(f(), policy()), x)
    assert [step.called for step in steps] == [(name,) for name in told.called]
    assert [step.source for step in steps] == told.called
    assert [step.label for step in steps] == told.labels
    assert [step.probs.tobytes() for step in steps] == [p.tobytes() for p in told.probs]
    assert set(told.called) == {"weak", "strong"}
    assert len(set(told.labels)) == 3


@either_policy
def test_a_replay_and_a_run_of_what_was_answered(policy: Callable[[], Policy]) -> None:
    day = cf.simulate(hours=0.5, seed=3)
    f, T = cf.DirichletFilter(day.classes, half_life=30.0), len(day.time)
    channel = {"weak": cf.Channel(np.eye(len(day.classes)) + 0.1)}
    told = cf.replay(day.recording(every=None), policy(), f, BETA, channel)
    sources = {name: lambda x, rows=rows: rows[int(x[0])] for name, rows in day.probs.items()}
    made = Cascade(f, sources, policy(), BETA, channel=channel)
    steps = [made.step([n], time=t) for n, t in enumerate(day.time.tolist())]
    assert np.array([step.probs for step in steps]).tobytes() == told.probs.tobytes()
    assert [step.source for step in steps] == told.recording.source.tolist()
    assert made.calls == told.calls
    assert sum(made.calls.values()) == T
    rec = cf.Recording(
        [step.time for step in steps],
        told.recording.source,
        [day.probs[step.source or ""][n] for n, step in enumerate(steps)],
        day.classes,
    )
    assert rec.run(f, BETA, channel).tobytes() == told.probs.tobytes()


def test_dt_and_time() -> None:
    f = cf.StickyFilter(CLASSES, half_life=3.0)
    made, hand = Cascade(f, {"weak": weak}), f.copy()
    x = signal(20)
    for n, dt in enumerate([2.0, 0.0, 0.5], start=1):
        step = made.step(x[: n * EACH], dt)
        assert step.probs.tobytes() == hand.update(weak(x[: n * EACH]), 1.0, dt).tobytes()
    assert step.time == 2.5
    step = made.step(x, 99.0, time=4)
    assert step.time == 4.0
    assert step.probs.tobytes() == hand.update(weak(x), 1.0, 1.5).tobytes()
    made.reset()
    assert made.step(x, time=1e9).probs.tobytes() == f.update(weak(x), 1.0, 0.0).tobytes()
    assert made.step(x).time == 1e9 + 1


def test_what_it_was_given_stays_as_it_is() -> None:
    f, policy, x = FILTERS[0](), Periodic(every=5), signal(9)
    f.update([0.8, 0.1, 0.1])
    policy.called("strong", x, x, 1.0)
    before = repr((f.state, policy.state))
    fresh = [to_builtin(step) for step in run(cascade(policy=Periodic(every=5)), x)]
    assert [to_builtin(step) for step in run(cascade(f, policy), x)] == fresh
    assert repr((f.state, policy.state)) == before


# --- windows and blocks -----------------------------------------------------------------------


def test_short_windows_at_the_start() -> None:
    seen: list[tuple[str, Floats]] = []

    def of(name: str) -> Callable[[Any], Any]:
        def call(x: Floats) -> list[float]:
            seen.append((name, x))
            return [0.5, 0.3, 0.2]

        return call

    class Stubborn(Periodic):
        parse_output: list[tuple[str, float]] = []  # noqa: RUF012

        def choose(self, probs: Any, since: Any) -> str:
            return "long"

        def called(self, source: str, answer: Any, probs: Any, dt: float) -> None:
            self.parse_output.append((source, dt))

    x = np.arange(60.0)[:, None]
    names = ["short", "middle", "long", "twin"]
    window = {"short": 3, "middle": 20, "long": 50, "twin": 20}
    made = Cascade(FILTERS[0](), {n: of(n) for n in names}, Stubborn(), window=window)
    steps = [made.step(x[:n], time=n) for n in (0, 2, 3, 19, 20, 49, 50, 60)]
    who = [None, None, "short", "short", "middle", "middle", "long", "long"]
    assert [step.source for step in steps] == who
    assert [step.called for step in steps] == [(name,) if name else () for name in who]
    assert Stubborn.parse_output == list(zip(who[2:], [1, 16, 1, 29, 1, 10], strict=True))
    for (name, got), n in zip(seen, (3, 19, 20, 49, 50, 60), strict=True):
        assert np.array_equal(got, x[n - window[name] : n])
    assert made.calls == {"short": 2, "middle": 2, "long": 2, "twin": 0}
    f = FILTERS[0]()
    rows = np.repeat([[NAN] * 3, [0.5, 0.3, 0.2]], [2, 6], axis=0)
    track = f.run(rows, dt=[0, 2, 1, 16, 1, 29, 1, 10])
    assert np.array([step.probs for step in steps]).tobytes() == track.tobytes()


def test_a_source_may_do_what_it_likes_with_its_window() -> None:
    def vandal(x: Floats) -> Floats:
        said = strong(x)
        x[:] = 1e9
        return said

    x = signal(40)
    tidy = [to_builtin(step) for step in run(cascade(), x)]
    assert [
        to_builtin(step) for step in run(cascade(sources=SOURCES | {"strong": vandal}), x)
    ] == tidy
    made = cascade(sources=SOURCES | {"strong": vandal})
    assert [to_builtin(step) for step in made.run([x], RATE, STEP)] == tidy


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 400), max_size=30),
    rate=st.sampled_from([10.0, 7.3, 33.3, 4.0]),
    windows=st.sampled_from([WINDOW, {"strong": 31, "weak": 7}, {"strong": 120}, {}]),
    start=st.sampled_from([0.0, -3.5, 1.7e9]),
)
def test_every_chunking_gives_the_same(
    sizes: list[int], rate: float, windows: dict[str, int], start: float
) -> None:
    x = signal(25, seed=1)
    cuts = np.cumsum(sizes)
    blocks = np.split(x, cuts[cuts < len(x)])
    made = cascade(window=windows)

    def reused() -> Iterator[Floats]:
        """Each block in the memory of the one before."""
        memory = np.empty_like(x)
        for block in blocks:
            memory[: len(block)] = block
            yield memory[: len(block)]
            memory[:] = NAN

    one = [to_builtin(step) for step in made.run(reused(), rate, STEP, start)]
    made.reset()
    hand, n = [], 1
    keep = max([*windows.values(), *([round(rate * STEP)] if len(windows) < 2 else [])])
    while (end := round(n * STEP * rate)) <= len(x):
        window = x[max(0, end - keep) : end]
        hand.append(to_builtin(made.step(window, time=start + n * STEP)))
        n += 1
    assert one == hand
    assert len(one) >= 7


# --- what sources do wrong --------------------------------------------------------------------


def broken(*_: object) -> Any:
    raise KeyError("no such sensor")


def stopped(*_: object) -> Any:
    raise StopIteration


class NeedsDetach:
    """What a torch tensor with a gradient does."""

    def __init__(self, row: Any) -> None:
        self.row = row

    def detach(self) -> Any:
        return np.asarray(self.row)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


class Sealed:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no way in")


RUBBISH: list[tuple[Any, str]] = [
    (broken, "raised KeyError: 'no such sensor'"),
    (stopped, "raised StopIteration"),
    ([0.5, 0.5], "it has 2 entries, but the filter has 3 classes"),
    ([[0.2, 0.8], [0.5, 0.5]], "it is [[0.2, 0.8], [0.5, 0.5]]; give 3 numbers, one probability"),
    ([0.5, NAN, 0.5], "it[1] is nan while other entries of the row are not"),
    ([-0.1, 0.6, 0.5], "it[0] is -0.1; a probability must be finite and not negative"),
    ([0.5, 0.5, 0.06], "it sums to 1.06; it must be within 0.05 of 1"),
    ([float("inf"), 0.0, 0.0], "it[0] is inf"),
    ([2.0, -1.0, 5.0], "it[1] is -1.0"),
    ("walk", "it is 'walk'; give 3 numbers, one probability a class"),
    (["0.2", "0.3", "0.5"], "it is ['0.2', '0.3', '0.5']; give 3 numbers"),
    (["a", "b", "c"], "it is ['a', 'b', 'c']; give 3 numbers"),
    (None, "it is None; give 3 numbers"),
    (0.5, "it is 0.5; give 3 numbers"),
    ([[0.5], [0.2, 0.3]], "inhomogeneous shape"),
    ({"rest": 1.0}, "it is {'rest': 1.0}; give 3 numbers"),
    ([None, "a", 0.5], "it must hold numbers"),
    (Sealed(), "no way in"),
]


@pytest.mark.parametrize(("said", "why"), RUBBISH)
def test_rubbish_is_told_counted_and_taken_as_missing(
    said: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    source = said if callable(said) else lambda x: said
    made = Cascade(FILTERS[0](), {"net": source})
    step = made.step([1.0], time=7.5)
    assert step[:2] == (7.5, None)
    assert step.called == ("net",)
    assert made.errors == made.calls == {"net": 1}
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("classfilter", "WARNING")
    assert record.getMessage().startswith("source 'net' at time 7.5 ")
    assert why in record.getMessage()
    assert bool(record.exc_info) == callable(said)  # a trace, where there is one
    assert made.step([1.0], 2.0).probs.tobytes() == made.filter.probs.tobytes()
    assert made.filter.state.eta == cf.DirichletFilter(3, half_life=30.0).gamma ** 2.0


@pytest.mark.parametrize("wrap", [np.array, tuple, lambda p: [p], NeedsDetach, np.float32])
def test_answers_of_every_kind(wrap: Callable[[Any], Any]) -> None:
    row = [0.25, 0.625, 0.125]
    made = Cascade(FILTERS[0](), {"net": lambda x: wrap(row)})
    assert made.step([1.0], 0.0).probs.tobytes() == FILTERS[0]().update(row, dt=0.0).tobytes()
    assert made.errors == {"net": 0}


def test_nothing_seen_is_no_fault() -> None:
    made = Cascade(FILTERS[0](), {"net": lambda x: [NAN] * 3})
    assert made.step([1.0])[1] is None
    assert (made.errors, made.calls) == ({"net": 0}, {"net": 1})


def test_an_answer_at_the_edge_in_single_precision() -> None:
    """Sums within 0.05 of 1 in double precision are beyond it for some filters."""
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], 400) * (1.05 - 1e-9)
    f = cf.DirichletFilter(3, dtype=np.float32, half_life=30.0)
    made, hand, refused = Cascade(f, {"net": lambda x: rows[int(x[0])]}), f.copy(), 0
    for n, row in enumerate(rows):
        try:
            told = hand.update(row)
        except ValueError:
            told, refused = hand.update([NAN] * 3), refused + 1
        assert made.step([n]).probs.tobytes() == told.tobytes()
    assert made.errors == {"net": refused}
    assert 20 < refused < 380


def test_an_hour_of_faults() -> None:
    rng = np.random.default_rng(8)
    x = signal(720, seed=2)
    plan = {n: RUBBISH[rng.integers(len(RUBBISH))][0] for n in range(1, 721) if rng.random() < 0.4}
    plan |= {n: [NAN] * 3 for n in plan if rng.random() < 0.1}
    now = [0]

    def flaky(honest: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(window: Floats) -> Any:
            bad = plan.get(now[0], honest)
            return bad(window) if callable(bad) else bad

        return call

    def sound(honest: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
        return lambda window, n: None if n in plan else honest(window)

    good = {name: sound(call) for name, call in SOURCES.items()}
    policy = Adaptive(budget=1 / 5, horizon=20)
    told = by_hand(FILTERS[0](), policy, x, good)
    made, steps = cascade(sources={n: flaky(call) for n, call in SOURCES.items()}), []
    for n in range(1, 721):
        now[0] = n
        steps.append(made.step(x[: n * EACH], time=n * STEP))
    assert np.array([step.probs for step in steps]).tobytes() == told.probs.tobytes()
    assert [step.label for step in steps] == told.labels
    who = [None if n in plan else name for n, name in enumerate(told.called, start=1)]
    assert [step.source for step in steps] == who
    assert made.calls == {name: told.called.count(name) for name in SOURCES}
    faulty = [told.called[n - 1] for n, bad in plan.items() if bad != [NAN] * 3]
    assert made.errors == {name: faulty.count(name) for name in SOURCES}
    assert min(made.errors.values()) > 20


def test_faults_do_not_flood(caplog: pytest.LogCaptureFixture) -> None:
    made = Cascade(FILTERS[0](), {"net": broken})
    for _ in range(1000):
        made.step([1.0])
    counts = [int(r.getMessage().split("no. ")[1][:-1]) for r in caplog.records]
    assert counts == [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512]
    assert made.errors == {"net": 1000}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_ends_it(stop: type[BaseException]) -> None:
    def quitting(x: Floats) -> Any:
        if len(x) == 9:
            raise stop
        return [0.5, 0.3, 0.2]

    made = Cascade(FILTERS[0](), {"net": quitting})
    made.step(np.zeros(8))
    before = decay(made)
    with pytest.raises(stop):
        made.step(np.zeros(9))
    assert decay(made) == before
