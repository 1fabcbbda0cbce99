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
    with pytest.raises(KeyError, match="there is no stream 'a'; it had no row yet, or expired"):
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
    tracker.update(("a", 1), 0.0, None, [0.8, 0.1, 0.1])
    with pytest.raises(TypeError, match=r"stream \('a', 1\) is a tuple; a tracker is saved with"):
        tracker.save(path)


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
