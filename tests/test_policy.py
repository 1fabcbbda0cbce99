"""Policies: the budget is kept, the limits hold, and a replay is the run of what was called."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import classfilter as cf
from classfilter.policy import START, Adaptive, Periodic, Policy
from classfilter.simulate import Simulation

Floats = NDArray[np.float64]
BETA = {"strong": 1.0, "weak": 0.1}
SURE, TORN = [1.0, 0.0], [0.5, 0.5]
SEEDS = st.integers(0, 2**32 - 1)
POLICIES: list[Callable[[], Policy]] = [
    lambda: Periodic(every=5),
    lambda: Periodic(seconds=20),
    lambda: Adaptive(budget=1 / 5),
    lambda: Adaptive(budget=0.3, shortest=1, longest=9, disagreement=1.0, patience=10),
]


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


# --- adaptive, by hand ------------------------------------------------------------------------


def test_threshold_by_hand() -> None:
    # Budget 1/4 and patience 2: a weak call halves the threshold, a strong one makes it 2**3.
    policy = Adaptive(budget=1 / 4, shortest=1, floor=0.25, disagreement=0.5, patience=2)
    start = START * 4
    assert policy.choose(TORN, {}) == "strong"
    policy.called("strong", SURE, TORN, 7.0)
    assert policy.state == (start * 8, 0.0, 1, 0.0)
    assert policy.choose(TORN, {"strong": 1e9}) == "weak"  # the time of a step is not yet known
    policy.called("weak", [0.75, 0.25], SURE, 2.0)
    assert policy.state == (start * 4, 2.0, 2, 0.25)
    policy.state = (1.0, 2.0, 2, 0.5)  # doubt is 0.25 + (1 - max p) + 0.5 * 0.5
    assert policy.choose(SURE, {"strong": 4.0}) == "strong"
    assert policy.choose(SURE, {"strong": 3.99}) == "weak"
    assert policy.choose(TORN, {"strong": 2.0}) == "strong"
    assert policy.choose(TORN, {"strong": 1.99}) == "weak"
    policy.called("strong", TORN, SURE, 2.0)
    assert policy.state == (8.0, 2.0, 1, 0.0)


def test_usual_step() -> None:
    policy = Adaptive()
    policy.called("strong", SURE, SURE, 99.0)
    seen = []
    for dt in (600.0, 600.0 + 1e-9, 600.0 - 1e-9, 5.0, 0.0, 900.0):
        policy.called("weak", SURE, SURE, dt)
        seen.append(policy.state.step)
    assert seen == [600.0, 600.0, 600.0, 600.0 / 1.1, 600.0 / 1.1, 600.0 / 1.1 * 1.1]
    for dt in [5.0] * 9 + [600.0] + [5.0] * 90:
        policy.called("weak", SURE, SURE, dt)
    assert policy.state.step == pytest.approx(5.0, rel=0.1)


def test_a_pause_is_followed_by_a_strong_call() -> None:
    probs, dt = np.tile([0.9, 0.1], (2000, 1)), np.full(2000, 5.0)
    plain = drive(Adaptive(), probs, probs, dt)
    after = next(t for t in range(1000, 2000) if plain[t - 3 : t + 1] == ["strong"] + ["weak"] * 3)
    dt[after] = 3600.0
    paused = drive(Adaptive(), probs, probs, dt)
    assert paused[:after] == plain[:after]
    assert paused[after] == "strong"


@pytest.mark.parametrize(
    ("answer", "held", "surprise"),
    [
        ([0.75, 0.25], [0.6, 0.4], 0.25),
        ([0.75, 0.25], [0.4, 0.6], 0.75),
        ([0.25, 0.75], [0.5, 0.5], 0.25),  # of two classes held alike, the nearer
        ([math.nan, math.nan], [0.6, 0.4], 0.0),
    ],
)
def test_surprise(answer: list[float], held: list[float], surprise: float) -> None:
    policy = Adaptive()
    policy.state = (1.0, 1.0, 3, 0.125)
    policy.called("weak", answer, held, 1.0)
    assert policy.state.surprise == surprise
    assert policy.state.gap == 4


def test_limits_beat_doubt() -> None:
    policy = Adaptive(budget=1 / 5, shortest=3, longest=8)
    for gap, most, least in ((2, "weak", "weak"), (3, "strong", "weak"), (8, "strong", "strong")):
        policy.state = (1.0, 1.0, gap, 0.0)
        assert policy.choose(TORN, {"strong": 1e9}) == most
        assert policy.choose(SURE, {"strong": 1e-9}) == least


def test_doubt_brings_the_call_forward() -> None:
    T = 3000
    probs = np.tile([0.99, 0.01], (T, 1))
    torn = np.arange(T) % 100 < 5
    probs[torn] = TORN
    same = np.tile([0.9, 0.1], (T, 1))
    chosen = np.array(drive(Adaptive(), probs, same, np.full(T, 5.0))) == "strong"
    assert chosen[torn].mean() > 3 * chosen[~torn].mean()


# --- adaptive, always -------------------------------------------------------------------------


@given(
    SEEDS,
    st.floats(0.02, 0.9),
    st.integers(1, 6),
    st.integers(0, 30),
    st.sampled_from([2.0, 30.0, 300.0]),
)
@settings(max_examples=60, deadline=None)
def test_limits_are_never_broken(
    seed: int, budget: float, shortest: int, more: int, patience: float
) -> None:
    shortest = min(shortest, math.floor(1 / budget))
    longest = math.ceil(1 / budget) + more
    policy = Adaptive(budget, shortest, longest, patience=patience)
    chosen = drive(policy, *random_steps(seed, 300))
    assert chosen[0] == "strong"
    gaps = strong_gaps([*chosen, "strong"])  # the last one is cut short by the end
    assert (gaps <= longest).all()
    assert (gaps[:-1] >= shortest).all()


@given(SEEDS, st.integers(2, 40), st.sampled_from([0.0, 0.05, 1.0]))
@settings(max_examples=40, deadline=None)
def test_budget_is_bounded_by_the_threshold(seed: int, every: int, disagreement: float) -> None:
    """Above the highest doubt no gap is below 1 / budget, below the lowest none is above it."""
    T, patience = 1500, 50.0
    policy = Adaptive(1 / every, disagreement=disagreement, patience=patience)
    probs, answers, _ = random_steps(seed, T)
    regime = np.repeat(np.random.default_rng(seed).integers(0, 3, 3), T // 3)
    probs[regime == 0] = [1.0, 0.0, 0.0]
    probs[regime == 1] = 1 / 3
    strong = drive(policy, probs, answers, np.full(T, 3.0)).count("strong")
    highest, lowest = 1.02 + disagreement, 0.02
    pull = -1 / math.log(1 - 1 / patience) / every  # calls that change the threshold by e
    assert strong - T / every < pull * math.log(highest / START) + 2
    assert strong - T / every > -pull * math.log(START / lowest) - 6
    # What was called beyond the budget is in the threshold.
    beyond = pull * math.log(policy.state.threshold / (START * every))
    assert strong - T / every == pytest.approx(beyond, abs=1e-6)


def joined(*parts: Simulation) -> tuple[Floats, dict[str, Floats]]:
    """Put streams of equal steps one behind the other."""
    T = sum(part.time.size for part in parts)
    probs = {name: np.concatenate([part.probs[name] for part in parts]) for name in BETA}
    time: Floats = np.arange(T, dtype=np.float64) * 5.0
    return time, probs


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


@pytest.mark.parametrize("every", [6, 12, 24])
@pytest.mark.parametrize("kind", STREAMS)
def test_budget_is_kept_over_a_day(kind: str, every: int) -> None:
    parts = STREAMS[kind]()
    time, probs = joined(*parts)
    for f in (
        cf.StickyFilter(parts[0].classes, half_life=200.0),
        cf.DirichletFilter(parts[0].classes, half_life=60.0),
    ):
        calls = cf.replay(time, probs, Adaptive(1 / every), f, BETA).calls
        assert calls["strong"] + calls["weak"] == time.size
        assert calls["strong"] == pytest.approx(time.size / every, rel=0.05)


def test_budget_is_kept_at_uneven_steps() -> None:
    day = cf.simulate("capture24", seed=8)
    rng = np.random.default_rng(8)
    shares = [0.04, 0.05, 0.2, 0.5, 0.2, 0.01]
    steps = rng.choice([0.0, 0.001, 3.0, 5.0, 8.0, 600.0], day.time.size, p=shares)
    for first in (1e-3, 600.0):
        steps[1] = first
        f = cf.StickyFilter(day.classes, half_life=200.0)
        done = cf.replay(np.cumsum(steps), day.probs, Adaptive(), f, BETA)
        assert done.calls["strong"] == pytest.approx(day.time.size / 12, rel=0.05)


def test_as_accurate_as_periodic_with_no_more_calls() -> None:
    tuned = cf.tune(
        [cf.simulate("capture24", seed=i).recording() for i in (101, 102)],
        filter="sticky",
        reference="strong",
    )
    right: dict[str, list[float]] = {"periodic": [], "adaptive": []}
    calls = dict.fromkeys(right, 0)
    policies: dict[str, Policy] = {"periodic": Periodic(12), "adaptive": Adaptive(1 / 12.5)}
    for seed in range(10, 14):
        day = cf.simulate("capture24", seed=seed)
        for name, policy in policies.items():
            done = cf.replay(day.time, day.probs, policy, tuned.filter(), tuned.beta, tuned.channel)
            right[name].append(cf.metrics.accuracy(day.truth, done.track))
            calls[name] += done.calls["strong"]
    assert calls["adaptive"] <= calls["periodic"]
    assert np.mean(right["adaptive"]) > np.mean(right["periodic"]) + 0.005


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
    policy = Adaptive(**given_, patience=40, strong="big", weak="small")  # type: ignore[arg-type]
    assert vars(policy.copy()) == vars(policy)
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


# --- replay -----------------------------------------------------------------------------------


def learnt_channel(day: Simulation) -> dict[str, cf.Channel]:
    return {"weak": cf.Channel.fit(day.probs["weak"], day.probs["strong"])}


@pytest.mark.parametrize("every", [1, 5, 12])
@pytest.mark.parametrize("with_channel", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_periodic_replay_is_mixed_and_run(every: int, with_channel: bool, dtype: Any) -> None:
    day = cf.simulate("capture24", hours=2.0, gaps=0.1, gap_length=60.0, seed=every)
    channel = learnt_channel(day) if with_channel else None
    source, probs = day.mixed(every)
    for f in (
        cf.StickyFilter(day.classes, half_life=300.0, dtype=dtype),
        cf.DirichletFilter(day.classes, half_life=60.0, dtype=dtype),
        cf.StickyFilter(6, half_life=300.0, dtype=dtype),
    ):
        done = cf.replay(day.time, day.probs, Periodic(every), f, BETA, channel, label=day.truth)
        assert np.array_equal(done.recording.source, source)
        assert np.array_equal(done.recording.probs, probs)
        assert np.array_equal(done.recording.time, day.time)
        assert done.recording.label is not None
        assert np.array_equal(done.recording.label, day.truth)
        assert done.recording.classes == tuple(map(str, f.classes))
        track = day.recording(every).run(f, BETA, channel)
        assert done.track.dtype == track.dtype
        assert np.array_equal(done.track, track)
        assert done.calls == {name: int((source == name).sum()) for name in ("weak", "strong")}


def test_adaptive_replay_is_the_run_of_its_recording() -> None:
    day = cf.simulate("capture24", hours=3.0, gaps=0.1, gap_length=60.0)
    f, channel = cf.StickyFilter(day.classes, half_life=300.0), learnt_channel(day)
    f.update(day.probs["strong"][0])
    policy = Adaptive()
    policy.called("strong", TORN, TORN, 5.0)
    states = f.state.probs.tolist(), policy.state
    done = cf.replay(day.time, day.probs, policy, f, BETA, {**channel, "strong": None})
    again = cf.replay(day.time, day.probs, Adaptive(), f, BETA, channel)
    assert np.array_equal(done.track, again.track)
    assert (f.state.probs.tolist(), policy.state) == states
    assert np.array_equal(done.track, done.recording.run(f, BETA, channel))
    rows = np.arange(day.time.size)
    asked = np.stack([day.probs[name] for name in ("weak", "strong")])
    strong = (done.recording.source == "strong").astype(int)
    assert np.array_equal(done.recording.probs, asked[strong, rows])
    assert 0 < done.calls["strong"] < done.calls["weak"]


def test_replay_tells_the_policy_what_happened() -> None:
    """Of three sources by turns: times since, readings before, answers and steps, by hand."""
    notes: list[Any] = []

    class Turns(Periodic):
        def choose(self, probs: Any, since: Any) -> str:
            notes.append((np.array(probs).tolist(), dict(since)))
            return "abc"[len(notes) % 3 - 1]

        def called(self, source: str, answer: Any, probs: Any, dt: float) -> None:
            notes[-1] += (source, np.array(answer).tolist(), np.array(probs).tolist(), dt)

    rows = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]
    probs = dict.fromkeys("abc", rows)
    done = cf.replay([0, 1, 3, 7], probs, Turns(), cf.RawFilter(2))
    inf = math.inf
    assert notes == [
        ([0.5, 0.5], {"a": inf, "b": inf, "c": inf}, "a", rows[0], [0.5, 0.5], 0.0),
        (rows[0], {"a": 1.0, "b": inf, "c": inf}, "b", rows[1], rows[0], 1.0),
        (rows[1], {"a": 3.0, "b": 2.0, "c": inf}, "c", rows[2], rows[1], 2.0),
        (rows[2], {"a": 7.0, "b": 6.0, "c": 4.0}, "a", rows[3], rows[2], 4.0),
    ]
    assert done.calls == {"a": 2, "b": 1, "c": 1}


def test_replay_of_nothing() -> None:
    empty = np.empty((0, 2))
    done = cf.replay([], {"strong": empty, "weak": empty}, Adaptive(), cf.RawFilter(2))
    assert done.track.shape == (0, 2)
    assert done.calls == {"strong": 0, "weak": 0}


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
        (lambda: Adaptive(shortest=0), "shortest is 0; it counts steps"),
        (lambda: Adaptive(shortest=13), "one strong call in 12 steps, which shortest, 13,"),
        (lambda: Adaptive(longest=11), "and longest, 11, do not allow"),
        (lambda: Adaptive(disagreement=-1.0), "disagreement is -1.0; it must be 0 or more"),
        (lambda: Adaptive(floor=0.0), "floor is 0.0; it must be above 0"),
        (lambda: Adaptive(patience=1.0), "patience is 1.0; it must be 2 steps or more"),
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
    bad: list[tuple[Any, Any, float, str]] = [
        (SURE, [nan, nan], 1.0, "probs is"),
        (SURE, [3.0, -2.0], 1.0, "probs is"),
        ([1.0], TORN, 1.0, r"answer has shape \(1,\), but probs \(2,\); give one entry a class"),
        (SURE, TORN, -1.0, "dt is -1.0; it must be 0 or more"),
        (SURE, TORN, nan, "dt is nan"),
    ]
    for answer, probs, dt, message in bad:
        with pytest.raises(ValueError, match=message):
            policy.called("weak", answer, probs, dt)
    states: list[tuple[Any, str]] = [
        ((0.0, 1.0, 1, 0.0), "threshold is 0.0; it must be positive"),
        ((math.inf, 1.0, 1, 0.0), "threshold is inf"),
        ((1.0, -1.0, 1, 0.0), "step is -1.0; it must be 0 or more"),
        ((1.0, 1.0, -1, 0.0), "gap is -1; it counts steps and must be 0 or more"),
        ((1.0, 1.0, 1, 2.0), "surprise is 2.0; it must lie in 0 to 1"),
    ]
    for state, message in states:
        with pytest.raises(ValueError, match=message):
            policy.state = state
    assert policy.state == before


def test_calls_that_were_not_chosen_leave_it_able() -> None:
    policy = Adaptive(budget=0.5, patience=2)
    for source in ("strong", "weak"):
        for _ in range(3000):
            policy.called(source, SURE, TORN, 1.0)
        assert 0 < policy.state.threshold < math.inf
    assert policy.choose(TORN, {"strong": 1.0}) == "strong"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"probs": {}}, "probs is empty; give the answers of each source"),
        ({"probs": {"strong": [SURE]}}, r"probs\['strong'\] has 1 rows, but time has 2"),
        ({"probs": {"strong": [SURE, [0.5, 0.7]]}}, r"probs\['strong'\] in row 1 sums to 1.2"),
        ({"probs": {"strong": [SURE, SURE]}}, r"policy called 'weak' at step 1; probs has \['str"),
        ({"beta": {"strong": 1.0}}, "'weak', which has no weight"),
        ({"time": [5, 0]}, "time in row 1 is 0.0, before 5.0"),
        ({"channel": {"weak": cf.Channel(np.eye(3) + 1)}}, r"channel\['weak'\] does not fit"),
    ],
)
def test_bad_replays(changed: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "time": [0, 5],
        "probs": {"weak": [SURE, SURE], "strong": [SURE, SURE]},
        "policy": Periodic(),
        "filter": cf.RawFilter(2),
        "beta": BETA,
    }
    with pytest.raises(ValueError, match=message):
        cf.replay(**(good | changed))
