"""A replay is the run of what was called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.policy import Adaptive, Periodic
from classfilter.simulation._simulate import Simulation
from policies import BETA, SURE, TORN


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
        done = cf.replay(day.recording(every=None), Periodic(every), f, BETA, channel)
        assert np.array_equal(done.recording.source, source)
        assert np.array_equal(done.recording.probs, probs)
        assert np.array_equal(done.recording.time, day.time)
        assert done.recording.label is not None
        assert np.array_equal(done.recording.label, day.truth)
        assert done.recording.classes == day.classes
        track = day.recording(every).run(f, BETA, channel)
        assert done.probs.dtype == track.dtype
        assert np.array_equal(done.probs, track)
        assert done.calls == {name: int((source == name).sum()) for name in ("weak", "strong")}


def test_adaptive_replay_is_the_run_of_its_recording() -> None:
    day = cf.simulate("capture24", hours=3.0, gaps=0.1, gap_length=60.0)
    f, channel = cf.StickyFilter(day.classes, half_life=300.0), learnt_channel(day)
    f.update(day.probs["strong"][0])
    policy = Adaptive()
    policy.called("strong", TORN, TORN, 5.0)
    states = f.state.probs.tolist(), policy.state
    both = day.recording(every=None)
    done = cf.replay(both, policy, f, BETA, channel)
    again = cf.replay(both, Adaptive(), f, BETA, channel)
    assert np.array_equal(done.probs, again.probs)
    assert (f.state.probs.tolist(), policy.state) == states
    assert np.array_equal(done.probs, done.recording.run(f, BETA, channel))
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
    time, source = np.repeat([0, 1, 3, 7], 3), ["b", "c", "a"] * 4
    rec = cf.Recording(time, source, np.repeat(rows, 3, axis=0), 2)
    done = cf.replay(rec, Turns(), cf.RawFilter(2))
    inf = math.inf
    assert notes == [
        ([0.5, 0.5], {"a": inf, "b": inf, "c": inf}, "a", rows[0], [0.5, 0.5], 0.0),
        (rows[0], {"a": 1.0, "b": inf, "c": inf}, "b", rows[1], rows[0], 1.0),
        (rows[1], {"a": 3.0, "b": 2.0, "c": inf}, "c", rows[2], rows[1], 2.0),
        (rows[2], {"a": 7.0, "b": 6.0, "c": 4.0}, "a", rows[3], rows[2], 4.0),
    ]
    assert done.calls == {"a": 2, "b": 1, "c": 1}


def test_replay_of_nothing() -> None:
    done = cf.replay(cf.Recording([], [], np.empty((0, 2)), 2), Adaptive(), cf.RawFilter(2))
    assert done.probs.shape == (0, 2)
    assert done.calls == {}


def test_replay_matches_classes_by_name() -> None:
    day = cf.simulate(classes=["rest", "walk", "run"], hours=2.0)
    rec = day.recording(every=None)
    one = cf.replay(rec, Adaptive(), cf.StickyFilter(["rest", "walk", "run"]), BETA)
    other = cf.replay(rec, Adaptive(), cf.StickyFilter(["run", "rest", "walk"]), BETA)
    assert one.calls == other.calls
    np.testing.assert_allclose(one.probs, other.probs, rtol=1e-12)
    assert cf.metrics.accuracy(day.truth, other.probs) > 0.7


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": ["strong"] * 2, "time": [0, 5], "probs": [SURE, SURE]}, "called 'weak' at st"),
        ({"time": [0, 0, 5, 6]}, "rec has no row of 'strong' at time 6.0; a replay needs every so"),
        ({"source": ["strong", "weak", "weak", "weak"]}, "no row of 'strong' at time 5.0"),
        ({"time": [0, 0, 0, 0]}, "rec has several rows of 'strong' at time 0.0; keep one"),
        ({"beta": {"strong": 1.0}}, "'weak', which has no weight"),
        ({"channel": {"weak": cf.Channel(np.eye(3) + 1)}}, r"channel\['weak'\] does not fit"),
        ({"filter": cf.RawFilter(["a", "b"])}, "the filter has"),
    ],
)
def test_bad_replays(changed: dict[str, Any], message: str) -> None:
    rows = {"time": [0, 0, 5, 5], "source": ["strong", "weak"] * 2, "probs": [SURE] * 4}
    rec = cf.Recording(**{key: changed.get(key, rows[key]) for key in rows}, classes=2)
    given = {"filter": cf.RawFilter(2), "beta": BETA, "channel": None}
    with pytest.raises(ValueError, match=message):
        cf.replay(rec, Periodic(), **{key: changed.get(key, given[key]) for key in given})
