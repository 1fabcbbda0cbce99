"""A replay equals the run over the rows that were called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Adaptive, Periodic
from classfilter.simulation._simulate import Simulation
from policy_steps import BETA, SURE, TORN


def fitted_channel(day: Simulation) -> dict[str, cf.Channel]:
    return {"weak": cf.Channel.fit(day.probs["weak"], day.probs["strong"])}


@pytest.mark.parametrize("every", [1, 5, 12])
@pytest.mark.parametrize("with_channel", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_periodic_replay_is_mixed_and_run(every: int, with_channel: bool, dtype: Any) -> None:
    day = cf.simulate("capture24", hours=2.0, gaps=0.1, gap_length=60.0, seed=every)
    channel = fitted_channel(day) if with_channel else None
    source, probs = day.mixed(every)
    for f in (
        cf.StickyFilter(day.classes, half_life=300.0, dtype=dtype),
        cf.DirichletFilter(day.classes, half_life=60.0, dtype=dtype),
        cf.StickyFilter(6, half_life=300.0, dtype=dtype),
    ):
        replayed = cf.replay(
            day.recording(every=None), f, beta=BETA, channel=channel, policy=Periodic(every)
        )
        assert np.array_equal(replayed.recording.source, source)
        assert np.array_equal(replayed.recording.probs, probs)
        assert np.array_equal(replayed.recording.time, day.time)
        assert replayed.recording.label is not None
        assert np.array_equal(replayed.recording.label, day.truth)
        assert replayed.recording.classes == day.classes
        probs_run = day.recording(every).run(f, beta=BETA, channel=channel)
        assert replayed.probs.dtype == probs_run.dtype
        assert np.array_equal(replayed.probs, probs_run)
        assert replayed.calls == {name: int((source == name).sum()) for name in ("weak", "strong")}


def test_adaptive_replay_is_the_run_of_its_recording() -> None:
    day = cf.simulate("capture24", hours=3.0, gaps=0.1, gap_length=60.0)
    f, channel = cf.StickyFilter(day.classes, half_life=300.0), fitted_channel(day)
    f.update(day.probs["strong"][0])
    policy = Adaptive()
    policy.called("strong", TORN, TORN, 5.0)
    states = f.state.probs.tolist(), policy.state
    both = day.recording(every=None)
    replayed = cf.replay(both, f, beta=BETA, channel=channel, policy=policy)
    again = cf.replay(both, f, beta=BETA, channel=channel, policy=Adaptive())
    assert np.array_equal(replayed.probs, again.probs)
    assert (f.state.probs.tolist(), policy.state) == states
    assert np.array_equal(replayed.probs, replayed.recording.run(f, beta=BETA, channel=channel))
    rows = np.arange(day.time.size)
    both_probs = np.stack([day.probs[name] for name in ("weak", "strong")])
    strong = (replayed.recording.source == "strong").astype(int)
    assert np.array_equal(replayed.recording.probs, both_probs[strong, rows])
    assert 0 < replayed.calls["strong"] < replayed.calls["weak"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_adaptive_replay_is_that_of_any_policy(dtype: Any) -> None:
    """To the bit: a subclass is called by name, as every policy but Adaptive."""

    class Renamed(Adaptive):
        pass

    day = cf.simulate("capture24", hours=3.0, gaps=0.1, gap_length=60.0)
    both, channel = day.recording(every=None), fitted_channel(day)
    for f in (
        cf.StickyFilter(day.classes, half_life=300.0, dtype=dtype),
        cf.DirichletFilter(day.classes[::-1], half_life=60.0, dtype=dtype),
    ):
        quick = cf.replay(both, f, beta=BETA, channel=channel, policy=Adaptive(1 / 7, dtype=dtype))
        other = cf.replay(both, f, beta=BETA, channel=channel, policy=Renamed(1 / 7, dtype=dtype))
        assert quick.calls == other.calls
        assert np.array_equal(quick.recording.source, other.recording.source)
        assert quick.probs.dtype == other.probs.dtype == dtype
        assert np.array_equal(quick.probs, other.probs)


def test_what_the_policy_is_called_with() -> None:
    """Three sources in turn: times since, estimates before, observations and steps, by hand."""
    notes: list[Any] = []

    class Turns(Periodic):
        def choose(self, probs: Any, since: Any) -> str:
            notes.append((np.array(probs).tolist(), dict(since)))
            return "abc"[len(notes) % 3 - 1]

        def called(self, source: str, observation: Any, probs: Any, dt: float) -> None:
            notes[-1] += (source, np.array(observation).tolist(), np.array(probs).tolist(), dt)

    rows = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]
    time, source = np.repeat([0, 1, 3, 7], 3), ["b", "c", "a"] * 4
    rec = cf.Recording(time, source, np.repeat(rows, 3, axis=0), 2)
    replayed = cf.replay(rec, cf.RawFilter(2), policy=Turns())
    inf = math.inf
    assert notes == [
        ([0.5, 0.5], {"a": inf, "b": inf, "c": inf}, "a", rows[0], [0.5, 0.5], 0.0),
        (rows[0], {"a": 1.0, "b": inf, "c": inf}, "b", rows[1], rows[0], 1.0),
        (rows[1], {"a": 3.0, "b": 2.0, "c": inf}, "c", rows[2], rows[1], 2.0),
        (rows[2], {"a": 7.0, "b": 6.0, "c": 4.0}, "a", rows[3], rows[2], 4.0),
    ]
    assert replayed.calls == {"a": 2, "b": 1, "c": 1}


def test_replay_of_no_rows() -> None:
    replayed = cf.replay(
        cf.Recording([], [], np.empty((0, 2)), 2), cf.RawFilter(2), policy=Adaptive()
    )
    assert replayed.probs.shape == (0, 2)
    assert replayed.calls == {}


def test_replay_matches_classes_by_name() -> None:
    day = cf.simulate(classes=["rest", "walk", "run"], hours=2.0)
    rec = day.recording(every=None)
    same = cf.replay(rec, cf.StickyFilter(["rest", "walk", "run"]), beta=BETA, policy=Adaptive())
    other = cf.replay(rec, cf.StickyFilter(["run", "rest", "walk"]), beta=BETA, policy=Adaptive())
    assert same.calls == other.calls
    np.testing.assert_allclose(same.probs, other.probs, rtol=1e-12)
    assert cf.metrics.accuracy(day.truth, other.probs) > 0.7


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": ["strong"] * 2, "time": [0, 5], "probs": [SURE, SURE]}, "called 'weak' at st"),
        ({"time": [0, 0, 5, 6]}, "recording has no row of 'strong' at time 6.0; a replay needs ev"),
        ({"source": ["strong", "weak", "weak", "weak"]}, "no row of 'strong' at time 5.0"),
        ({"time": [0, 0, 0, 0]}, "recording has several rows of 'strong' at time 0.0; keep one"),
        ({"beta": {"strong": 1.0}}, "policy calls 'weak', but beta names"),
        ({"channel": {"weak": cf.Channel(np.eye(3) + 1)}}, r"channel\['weak'\] has 3 classes, but"),
        ({"filter": cf.RawFilter(["a", "b"])}, "the filter has"),
    ],
)
def test_bad_replays(changed: dict[str, Any], message: str) -> None:
    rows = {"time": [0, 0, 5, 5], "source": ["strong", "weak"] * 2, "probs": [SURE] * 4}
    rec = cf.Recording(**{key: changed.get(key, rows[key]) for key in rows}, classes=2)
    arguments = {"filter": cf.RawFilter(2), "beta": BETA, "channel": None, "policy": Periodic()}
    with pytest.raises(ValueError, match=message):
        cf.replay(rec, **{key: changed.get(key, arguments[key]) for key in arguments})
