"""A tracker: filters by hand, batches, streams that come and go, files, threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.policy import Adaptive, Periodic

CLASSES = ["walk", "sit", "sleep"]
WEIGHTS = {"weak": 0.25, "strong": 1.0}
CHANNEL = cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 8]])
FILTERS: list[Callable[[], Any]] = [
    lambda: cf.DirichletFilter(CLASSES, half_life=20.0),
    lambda: cf.DirichletFilter(CLASSES, half_life=20.0, dtype=np.float32),
    lambda: cf.StickyFilter(CLASSES, half_life=40.0),
    lambda: cf.EmaFilter(CLASSES, half_life=10.0),
    lambda: cf.HoldFilter(CLASSES),
]


class ByHand:
    """A dict of filters, the time of each, and the channel: what a tracker must equal."""

    def __init__(self, fresh: Any, channel: bool = False) -> None:
        self.fresh, self.channel = fresh, channel
        self.filters: dict[Any, Any] = {}
        self.times: dict[Any, float] = {}

    def update(self, stream: Any, time: float, source: str, probs: Any) -> Any:
        f = self.filters.setdefault(stream, self.fresh.copy())
        if self.channel and source == "weak":
            probs = CHANNEL.apply(np.asarray(probs, f.probs.dtype))
        dt = time - self.times.get(stream, time)
        self.times[stream] = time
        return f.update(probs, WEIGHTS[source], dt)


def rows(seed: int, count: int, streams: int) -> list[tuple[Any, float, str, Any]]:
    """Rows of several streams in turn, now and then two at one time, now and then missing."""
    rng = np.random.default_rng(seed)
    t, out = 0.0, []
    for _ in range(count):
        t += float(rng.choice([0.0, 1.0, 7.5]))
        probs = rng.dirichlet(np.full(3, 0.7))
        if rng.random() < 0.1:
            probs = np.full(3, math.nan)
        out.append((f"s{rng.integers(streams)}", t, str(rng.choice(["weak", "strong"])), probs))
    return out


@pytest.mark.parametrize("channel", [False, True])
@pytest.mark.parametrize("make", FILTERS)
def test_equals_a_filter_for_each_stream(make: Callable[[], Any], channel: bool) -> None:
    tracker = cf.Tracker(make(), WEIGHTS, {"weak": CHANNEL} if channel else None)
    by_hand = ByHand(make(), channel)
    for row in rows(0, 200, 7):
        np.testing.assert_array_equal(tracker.update(*row), by_hand.update(*row))
    for name, f in by_hand.filters.items():
        np.testing.assert_array_equal(tracker.probs(name), f.probs)
        assert (tracker.label(name), tracker.time(name)) == (f.label, by_hand.times[name])


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 100), st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from(FILTERS),
)  # fmt: skip
def test_batches_equal_rows(
    seed: int, streams: int, cuts: list[int], make: Callable[[], Any]
) -> None:
    table = rows(seed, 60, streams)
    one, many = (cf.Tracker(make(), WEIGHTS, {"weak": CHANNEL}) for _ in range(2))
    expected = [one.update(*row) for row in table]
    got: list[Any] = []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 60], strict=True):
        part = [list(column) for column in zip(*table[start:stop], strict=True)] or [[]] * 4
        got.extend(many.update_many(part[0], part[1], part[2], np.reshape(part[3], (-1, 3))))
    np.testing.assert_array_equal(got, expected)
    assert many.streams == one.streams


def test_a_tuned_brings_everything() -> None:
    days = [cf.simulate("capture24", hours=2.0, seed=seed).recording() for seed in range(3)]
    tuned = cf.tune(days, reference="strong")
    tracker = cf.Tracker(tuned)
    for i, day in enumerate(days):
        P = [tracker.update(i, *row) for row in zip(day.time, day.source, day.probs, strict=True)]
        np.testing.assert_array_equal(P, tuned.run(day))


def test_streams_expire() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), expire_after=10.0)
    p = [0.8, 0.1, 0.1]
    first = tracker.update("a", 0.0, None, p)
    tracker.update("b", 6.0, None, p)
    tracker.update("b", 10.0, None, p)
    assert tracker.streams == ["a", "b"]
    tracker.update("b", 10.5, None, p)
    assert tracker.streams == ["b"]
    with pytest.raises(KeyError, match="there is no stream 'a'; it had no row yet, or was dropped"):
        tracker.probs("a")
    np.testing.assert_array_equal(tracker.update("a", 11.0, None, p), first)  # from the start
    assert tracker.expire(21.0) == ["b"]
    assert "a" in tracker
    assert len(tracker) == 1


def test_the_stream_that_was_silent_longest_makes_room() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), max_streams=2)
    p = [0.8, 0.1, 0.1]
    for stream in "abac":
        tracker.update(stream, 0.0, None, p)
    assert tracker.streams == ["a", "c"]
    tracker.update_many(list("defg"), [0.0] * 4, None, [p] * 4)
    assert tracker.streams == ["f", "g"]
    tracker.drop(["f"])
    assert tracker.streams == ["g"]


@pytest.mark.parametrize("policy", [Periodic(3), Adaptive(0.25)])
def test_a_policy_for_each_stream(policy: Any) -> None:
    """As in `replay` of each stream alone, with the streams in turn."""
    days = [cf.simulate(hours=0.2, seed=seed).recording(every=None) for seed in range(3)]
    f, beta = cf.StickyFilter(days[0].classes, half_life=120.0), {"weak": 0.1, "strong": 1.0}
    tracker = cf.Tracker(f, beta, policy=policy)
    called: list[list[str]] = [[] for _ in days]
    for step in range(len(days[0]) // 2):
        for i, day in enumerate(days):
            at = float(day.time[2 * step])
            source = tracker.next_source(i, at)
            both = {str(day.source[2 * step + j]): day.probs[2 * step + j] for j in range(2)}
            tracker.update(i, at, source, both[source])
            called[i].append(source)
    for i, day in enumerate(days):
        assert called[i] == cf.replay(day, policy, f, beta).recording.source.tolist()


@pytest.mark.parametrize("policy", [None, Adaptive(0.25)])
@pytest.mark.parametrize("make", FILTERS)
def test_a_saved_tracker_goes_on(make: Callable[[], Any], policy: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": policy, "expire_after": 500.0, "max_streams": 6}
    tracker = cf.Tracker(make(), WEIGHTS, {"weak": CHANNEL}, **options)
    table = rows(3, 120, 7)
    for row in table[:60]:
        tracker.update(*row)
    tracker.save(tmp_path / "tracker.npz")
    again = cf.Tracker.load(tmp_path / "tracker.npz")
    assert (again.streams, again.expire_after, again.max_streams) == (tracker.streams, 500.0, 6)
    for row in table[60:]:
        if policy is not None:
            assert again.next_source(*row[:2]) == tracker.next_source(*row[:2])
        np.testing.assert_array_equal(again.update(*row), tracker.update(*row))
    assert again.streams == tracker.streams


def test_damaged_files(tmp_path: Path) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), 0.5)
    tracker.update("a", 0.0, None, [0.8, 0.1, 0.1])
    path = tmp_path / "tracker.npz"
    tracker.save(path)
    content = path.read_bytes()
    assert cf.Tracker.load(path).update("a", 1.0, "x", [0.8, 0.1, 0.1]).shape == (3,)
    for damaged in (b"", content[: len(content) // 2], content[:-30]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged, or no saved tracker"):
            cf.Tracker.load(path)
    np.savez(path, version=1)
    with pytest.raises(ValueError, match="is no saved tracker: it has no 'settings'"):
        cf.Tracker.load(path)
    tracker.update(frozenset("a"), 0.0, None, [0.8, 0.1, 0.1])
    path.unlink()
    with pytest.raises(TypeError, match=r"stream frozenset\({'a'}\) is a frozenset; a tracker is"):
        tracker.save(path)
    assert not path.exists()


GOOD = ("a", 5.0, "weak", [0.8, 0.1, 0.1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            ("a", 4.0, "weak", GOOD[3]),
            "time is 4.0, before 5.0, that of the last row of stream 'a'",
        ),
        (("b", math.nan, "weak", GOOD[3]), "time is nan; it must be finite"),
        (("b", math.inf, "weak", GOOD[3]), "time is inf; it must be finite"),
        (("b", "noon", "weak", GOOD[3]), "time is 'noon'; give a number, a datetime, or ISO 8601"),
        (("b", 5.0, "other", GOOD[3]), "source is 'other', which has no weight; beta names"),
        (("b", 5.0, None, GOOD[3]), "source is 'default', which has no weight; beta names"),
        (("b", 5.0, "weak", [0.8, 0.1]), r"probs has 2"),
        (("b", 5.0, "strong", [0.8, -0.1, 0.3]), r"probs\[1\] is -0.1"),
        (("b", 5.0, "weak", [0.8, 0.1, 0.8]), "sums to 1.7"),
    ],
)
def test_an_invalid_row_changes_nothing(row: tuple[Any, ...], message: str) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), WEIGHTS)
    tracker.update(*GOOD)
    before = tracker.filter("a").state, tracker.streams
    with pytest.raises(ValueError, match=message):
        tracker.update(*row)
    columns = zip(GOOD, row, strict=True)
    streams, times, sources, probs = ([a, b] for a, b in columns)
    with pytest.raises(ValueError, match=r"time|source|probs|sum"):
        tracker.update_many(streams, times, sources, probs)
    np.testing.assert_equal((tracker.filter("a").state, tracker.streams), before)
    tracker.update("c", 0.0, "strong", [0.8, 0.1, 0.1])  # takes the room that was given back
    fresh = cf.DirichletFilter(CLASSES)
    np.testing.assert_array_equal(tracker.probs("c"), fresh.update([0.8, 0.1, 0.1], 1.0, 0.0))


def test_invalid_settings() -> None:
    f = cf.DirichletFilter(CLASSES)
    with pytest.raises(ValueError, match="expire_after is 0; it must be positive and finite"):
        cf.Tracker(f, expire_after=0)
    with pytest.raises(ValueError, match="max_streams is 0; it must be 1 or more"):
        cf.Tracker(f, max_streams=0)
    with pytest.raises(ValueError, match=r"beta\['weak'\] is 2; it must be a number in \[0, 1\]"):
        cf.Tracker(f, {"weak": 2})
    with pytest.raises(ValueError, match="the tracker has no policy"):
        cf.Tracker(f).next_source("a", 0.0)
    with pytest.raises(ValueError, match="times has 1 rows, streams 2"):
        cf.Tracker(f).update_many(["a", "b"], [0.0], None, [[0.5, 0.3, 0.2]] * 2)


def test_datetimes_are_seconds() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update("a", datetime(2024, 5, 1, 8, tzinfo=timezone.utc), None, GOOD[3])
    tracker.update("a", "2024-05-01T08:00:05Z", None, GOOD[3])
    assert tracker.time("a") == datetime(2024, 5, 1, 8, tzinfo=timezone.utc).timestamp() + 5


def test_threads_share_a_tracker(tmp_path: Path) -> None:
    """Each has its own streams; others come and go, and the tracker is saved, all the while."""
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), WEIGHTS)
    tables = [rows(seed, 300, 3) for seed in range(4)]
    results: dict[int, list[Any]] = {}
    errors: list[BaseException] = []
    start = threading.Barrier(6)

    def work(i: int) -> None:
        start.wait()
        results[i] = [tracker.update(f"{i}{s}", t, source, p) for s, t, source, p in tables[i]]

    def disturb() -> None:
        start.wait()
        for n in range(200):
            tracker.update_many([f"x{n}", f"y{n}"], [0.0, 0.0], "weak", [GOOD[3]] * 2)
            tracker.drop([f"x{n}"])

    def save() -> None:
        start.wait()
        for _ in range(10):
            tracker.save(tmp_path / "tracker.npz")
            cf.Tracker.load(tmp_path / "tracker.npz")

    def caught(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    jobs: list[Callable[[], None]] = [lambda i=i: work(i) for i in range(4)]  # type: ignore[misc]
    threads = [threading.Thread(target=caught, args=(job,)) for job in [*jobs, disturb, save]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for i, table in enumerate(tables):
        alone = ByHand(cf.DirichletFilter(CLASSES))
        np.testing.assert_array_equal(results[i], [alone.update(*row) for row in table])
    assert len(tracker) == 12 + 200


def test_a_wrong_clock_drops_nothing() -> None:
    """One in milliseconds, and one that lags: others, and they themselves, keep their state."""
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), expire_after=10.0)
    by_hand = ByHand(cf.DirichletFilter(CLASSES))
    for t in range(30):
        for stream, at in (("a", t), ("b", t), ("ms", 1e6 + 1000 * t), ("late", t - 500)):
            row = (stream, float(at), "strong", [0.6, 0.3, 0.1])
            np.testing.assert_array_equal(tracker.update(*row), by_hand.update(*row))
    assert len(tracker) == 4


def test_a_pause_of_all_streams() -> None:
    """The first row after it drops nothing; the second confirms it, and keeps both."""
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), expire_after=10.0)
    for stream in "abcd":
        tracker.update(stream, 0.0, None, GOOD[3])
    for _ in range(2):
        tracker.update("c", 1000.0, None, GOOD[3])
        assert tracker.streams == ["a", "b", "d", "c"]
    tracker.update("b", 1001.0, None, GOOD[3])
    assert tracker.streams == ["c", "b"]


def test_dropping_is_the_same_in_batches() -> None:
    """One row a batch; and in larger batches, what is left at their ends."""
    table = rows(7, 400, 40)
    options: dict[str, Any] = {"expire_after": 60.0, "max_streams": 12}
    one, many, halves = (cf.Tracker(FILTERS[0](), WEIGHTS, **options) for _ in range(3))
    for stream, t, source, probs in table:
        expected = one.update(stream, t, source, probs)
        np.testing.assert_array_equal(many.update_many([stream], [t], source, [probs])[0], expected)
        assert many.streams == one.streams
    for part in (table[:200], table[200:]):
        halves.update_many(*(list(column) for column in zip(*part, strict=True)))
    assert halves.streams == one.streams


def test_many_new_streams_reuse_the_room_of_old_ones() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), max_streams=50)
    first = cf.DirichletFilter(CLASSES).update(GOOD[3], 1.0, 0.0)
    for n in range(2000):
        np.testing.assert_array_equal(tracker.update(n, 0.0, None, GOOD[3]), first)
        with pytest.raises(ValueError, match="sums to"):
            tracker.update(-1, 0.0, None, [0.8, 0.8, 0.8])
    assert tracker.streams == list(range(1950, 2000))
    assert len(tracker._bank) <= 64


def test_odd_names(tmp_path: Path) -> None:
    """What equals is one stream; tuples and NumPy's scalars are saved; NaN is no name."""
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    names: list[Any] = [("ann", 1), (("a",), None), 2.5, "", None, np.int64(7), np.str_("x"), True]
    tracker.update_many(np.array(["p", "q"]), [0.0, 0.0], None, [GOOD[3]] * 2)
    for name in names:
        tracker.update(name, 0.0, None, GOOD[3])
    for same in (7, "x", 1, 2.5, "p"):
        tracker.update(same, 1.0, None, GOOD[3])
    tracker.save(tmp_path / "tracker.npz")
    again = cf.Tracker.load(tmp_path / "tracker.npz")
    assert again.streams == tracker.streams == ["p", "q", *names]
    for name in again.streams:
        np.testing.assert_array_equal(again.probs(name), tracker.probs(name))
    for nan in (math.nan, np.float64("nan")):
        with pytest.raises(ValueError, match=r"stream is .*nan.*, which equals nothing"):
            tracker.update(nan, 0.0, None, GOOD[3])
        with pytest.raises(ValueError, match=r"stream is .*nan.*, which equals nothing"):
            tracker.update_many(["new", nan], [0.0, 0.0], None, [GOOD[3]] * 2)
    assert len(tracker) == 10


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (np.int64(5), 5.0),
        (np.float32(5.5), 5.5),
        (np.datetime64("1970-01-01T00:00:05.25"), 5.25),
        (5, 5.0),
    ],
)
def test_times_of_numpy(time: Any, expected: float) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update("a", time, None, GOOD[3])
    assert tracker.time("a") == expected
    for wrong, message in (
        (np.datetime64("NaT"), "time is nan; it must be finite"),
        (None, "time is nan; it must be finite"),
        (10**400, "time is 1000"),
    ):
        with pytest.raises(ValueError, match=message):
            tracker.update("a", wrong, None, GOOD[3])
    tracker.update("b", -1e308, None, GOOD[3])
    with pytest.raises(ValueError, match=r"time is 1e\+308, too long after -1e\+308"):
        tracker.update("b", 1e308, None, GOOD[3])


def test_times_that_go_back_in_a_batch() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    message = (
        r"times in row 2 is 1.0, before 2.0, that of the row before it of stream 'a'; give the rows"
    )
    with pytest.raises(ValueError, match=message):
        tracker.update_many(["a", "b", "a"], [2.0, 0.0, 1.0], None, [GOOD[3]] * 3)
    assert len(tracker) == 0


class Failing(Periodic):
    """A policy that fails at its third call."""

    def called(self, source: Any, observation: Any, probs: Any, dt: Any) -> None:
        if self.state.steps_since_strong == 2:
            raise RuntimeError("the policy failed")
        super().called(source, observation, probs, dt)


def test_a_policy_that_fails_changes_nothing() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), WEIGHTS, policy=Failing(3))
    tracker.update("a", 0.0, "strong", GOOD[3])
    with pytest.raises(RuntimeError, match="the policy failed"):
        tracker.update_many(["a", "a"], [1.0, 2.0], "weak", [GOOD[3]] * 2)
    tracker.update("a", 1.0, "weak", GOOD[3])
    before = tracker.filter("a").state
    with pytest.raises(RuntimeError, match="the policy failed"):
        tracker.update("a", 2.0, "weak", GOOD[3])
    with pytest.raises(RuntimeError, match="the policy failed"):
        tracker.update_many(["b", "a"], [0.0, 2.0], "weak", [GOOD[3]] * 2)
    np.testing.assert_equal((tracker.filter("a").state, tracker.time("a")), (before, 1.0))
    assert tracker.streams == ["a"]
    fresh = cf.DirichletFilter(CLASSES).update(GOOD[3], 1.0, 0.0)
    np.testing.assert_array_equal(tracker.update("b", 0.0, "strong", GOOD[3]), fresh)


def test_results_are_the_callers_own() -> None:
    """Changing one in place changes no later choice of the policy; a batch is not kept alive."""
    one, two = (cf.Tracker(FILTERS[2](), WEIGHTS, policy=Adaptive(0.25)) for _ in range(2))
    for i, (_, t, source, probs) in enumerate(rows(5, 100, 1)):
        one.update("a", t, source, probs)
        if i % 2:
            two.update("a", t, source, probs)[:] = [1.0, 0.0, 0.0]
        else:
            two.update_many(["a"], [t], source, [probs])[:] = [1.0, 0.0, 0.0]
        assert one._calls["a"].saved() == two._calls["a"].saved()
    assert two._calls["a"].estimate.base is None


def test_weights_are_those_at_the_start() -> None:
    weights = {"weak": 0.25}
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), weights)
    weights["weak"] = 1.0
    one = tracker.update("a", 0.0, "weak", GOOD[3])
    np.testing.assert_array_equal(tracker.update_many(["b"], [0.0], "weak", [GOOD[3]])[0], one)


def test_drop_names_what_is_missing() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update_many(["a", "b"], [0.0, 0.0], None, [GOOD[3]] * 2)
    with pytest.raises(KeyError, match="there is no stream 'c'"):
        tracker.drop(["a", "c"])
    with pytest.raises(TypeError, match=r"streams is 'ab'; give a list: \['ab'\]"):
        tracker.drop("ab")
    assert len(tracker) == 2
    tracker.drop(["a", "a"])
    assert tracker.streams == ["b"]
    with pytest.raises(ValueError, match="the tracker has no expire_after"):
        tracker.expire(0.0)
    with pytest.raises(ValueError, match="now is inf; it must be finite"):
        cf.Tracker(cf.DirichletFilter(CLASSES), expire_after=1.0).expire(math.inf)


@pytest.mark.parametrize("make", FILTERS[:3])
def test_one_stream_of_many_in_the_core(make: Callable[[], Any]) -> None:
    f = make()
    states = cf.Bank(f, 3)._states
    for wrong in (states[:, :-1], states.astype(int), states[::2], states[0]):
        with pytest.raises(ValueError, match="states have no stream 1 of "):
            f._update_stream(wrong, 1, GOOD[3], 1.0, 1.0)
    with pytest.raises(ValueError, match="states have no stream 3 of "):
        f._update_stream(states, 3, GOOD[3], 1.0, 1.0)
    with pytest.raises(TypeError, match="takes states, stream, probs, beta and dt"):
        f._update_stream(states.tolist(), 1, GOOD[3], 1.0, 1.0)
