"""Sources that go wrong are reported, with figures; those that do not are left alone."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import episodes
from classfilter.pipeline import Expected

CLASSES = ("rest", "walk", "run")
NAN = [math.nan] * 3
FILTERS = (
    cf.DirichletFilter(CLASSES, half_life=30.0),
    cf.DirichletFilter(CLASSES, half_life=30.0, dtype="float32"),
    cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 30)),
    cf.EmaFilter(CLASSES, gamma=0.9),
)
BETA = {"weak": 0.3, "strong": 1.0}


def random_rows(
    seed: int, count: int, streams: int = 3
) -> list[tuple[str, float, str, list[float]]]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        probs = rng.dirichlet(np.ones(3)).tolist() if rng.random() > 0.1 else NAN
        time = float(2 * i + (500 if i > count // 2 else 0))
        source = "weak" if rng.random() < 0.8 else "strong"
        rows.append((f"s{rng.integers(streams)}", time, source, probs))
    return rows


def feed(tracker: cf.Tracker, rows: list[Any], sizes: list[int] | None = None) -> None:
    """Give rows one by one, or in chunks."""
    if sizes is None:
        for row in rows:
            tracker.update(*row)
        return
    start = 0
    for size in [*sizes, len(rows)]:
        part = rows[start : start + size]
        start += size
        if part:
            names, times, sources, probs = zip(*part, strict=True)
            tracker.update_many(names, times, sources, probs)


def numbers(tracker: cf.Tracker) -> Any:
    return json.dumps(tracker._counts.saved())


@pytest.mark.parametrize("f", FILTERS)
@pytest.mark.parametrize("chunked", [False, True])
def test_figures_equal_a_count_by_hand(f: Any, chunked: bool) -> None:
    rows = random_rows(1, 400)
    tracker = cf.Tracker(f, beta=BETA)
    feed(tracker, rows, [150, 60] if chunked else None)
    filters, last = dict[str, Any](), dict[str, float]()
    seen, missing, agreed, judged = (Counter[str]() for _ in range(4))
    for stream, time, source, probs in rows:
        seen[source] += 1
        own = filters.setdefault(stream, f.copy())
        if math.isnan(probs[0]):
            missing[source] += 1
        else:
            k = probs.index(max(probs))
            if stream in last:
                judged[source] += 1
                agreed[source] += own.label == CLASSES[k]
        own.update(probs, BETA[source], time - last.get(stream, time))
        last[stream] = time
    for row in tracker.health():
        name = row.source
        assert (row.rows, row.missing) == (seen[name], missing[name] / seen[name])
        assert row.agreement == agreed[name] / judged[name]
        assert row.verdicts == ()


@given(
    st.integers(0, 1000), st.lists(st.integers(0, 90), max_size=5), st.sampled_from(FILTERS),
    st.sampled_from([None, 40.0]),
)  # fmt: skip
def test_counts_do_not_depend_on_chunks(
    seed: int, sizes: list[int], f: Any, expire_after: float | None
) -> None:
    rows = random_rows(seed, 250)
    trackers = [cf.Tracker(f, beta=BETA, expire_after=expire_after) for _ in range(2)]
    feed(trackers[0], rows)
    feed(trackers[1], rows, sizes)
    assert numbers(trackers[0]) == numbers(trackers[1])


@given(st.integers(0, 1000), st.integers(0, 250))
def test_saved_and_loaded_it_goes_on(tmp_path_factory: Any, seed: int, cut: int) -> None:
    path = tmp_path_factory.mktemp("health") / "tracker"
    rows = random_rows(seed, 250)
    whole, first = (cf.Tracker(FILTERS[0], beta=BETA) for _ in range(2))
    feed(whole, rows)
    feed(first, rows[:cut])
    first.save(path)
    loaded = cf.Tracker.load(path)
    assert repr(loaded.health()) == repr(first.health())
    feed(loaded, rows[cut:])
    assert numbers(loaded) == numbers(whole)
    assert repr(loaded.health()) == repr(whole.health())


def test_a_policy_counts_the_same() -> None:
    rows = random_rows(5, 200)
    plain = cf.Tracker(FILTERS[0], beta=BETA)
    ruled = cf.Tracker(FILTERS[0], beta=BETA, policy=cf.policy.Periodic(every=12))
    feed(plain, rows)
    feed(ruled, rows)
    assert numbers(plain) == numbers(ruled)


def test_a_refused_row_counts_nothing() -> None:
    tracker = cf.Tracker(FILTERS[0], beta=BETA)
    feed(tracker, random_rows(3, 50))
    before = numbers(tracker)
    for row in [("s0", 1e9, "weak", [0.5, 0.6, 0.7]), ("s0", -5.0, "weak", [1.0, 0.0, 0.0])]:
        with pytest.raises(ValueError, match=r"probs|time is -5.0"):
            tracker.update(*row)
    assert numbers(tracker) == before


def expected(**changes: Any) -> Expected:
    usual = Expected(5.0, 0.8, 5.0, (60.0, 60.0, 60.0), 4.0)
    return usual._replace(**changes)


def tuned_tracker(**changes: Any) -> cf.Tracker:
    pipe = cf.Pipeline(FILTERS[2], beta=BETA, expected={"weak": expected(**changes)})
    return cf.Tracker(pipe)


def cycle(i: int) -> list[float]:
    probs: list[float] = np.roll([0.9, 0.05, 0.05], (i // 10) % 3).tolist()
    return probs


def test_stuck_is_reported_after_four_times_the_longest_run() -> None:
    tracker = tuned_tracker()
    for i in range(300):
        tracker.update("ann", 5.0 * i, "weak", cycle(i))
        assert not tracker.health().verdicts
    stuck = 0
    while not tracker.health().verdicts:
        tracker.update("ann", 5.0 * (300 + stuck), "weak", [0.05, 0.9, 0.05])
        stuck += 1
    assert 5.0 * (stuck - 1) == pytest.approx(4 * 60.0 + 5.0)
    (text,) = tracker.health().verdicts["weak"]
    assert text == "stuck on 'walk': the last 50 predictions, 4.08 min; at most 12 when tuned"
    tracker.update("ann", 5.0 * (300 + stuck), "weak", [0.05, 0.05, 0.9])
    assert not tracker.health().verdicts


@pytest.mark.parametrize("agrees", [True, False])
def test_a_source_that_never_changed_is_stuck_if_the_estimate_does(agrees: bool) -> None:
    tracker = cf.Tracker(FILTERS[0], beta=BETA)
    rows = np.arange(12_000)
    source = np.where(rows % 2 == 0, "weak", "strong").tolist()
    probs = np.tile([0.9, 0.05, 0.05], (len(rows), 1))
    if not agrees:
        probs[1::2] = [np.roll(p, i // 20 % 3) for i, p in enumerate(probs[1::2])]
    tracker.update_many(["ann"] * len(rows), 5.0 * rows, source, probs)
    kinds = {name: words[0].split()[0] for name, words in tracker.health().verdicts.items()}
    assert kinds == ({} if agrees else {"weak": "stuck"})


def test_silence_of_one_source_is_reported_while_others_go_on() -> None:
    tracker = cf.Tracker(FILTERS[0], beta=BETA)
    for i in range(1200):
        tracker.update("ann", 5.0 * i, "strong" if i % 10 == 0 else "weak", cycle(i))
    assert not tracker.health().verdicts
    for i in range(1200, 1600):
        tracker.update("ann", 5.0 * i, "weak", cycle(i))
        silence = 5.0 * i - 5.0 * 1190
        assert bool(tracker.health().verdicts) == (silence > 30 * 50.0)
    (text,) = tracker.health().verdicts["strong"]
    assert text == "silent for 34.1 min; usually a prediction every 50 s"


def test_a_day_of_nothing_is_silence() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES, half_life=30.0))
    for i in range(102):
        tracker.update("ann", 5.0 * i, None, cycle(i))
    assert tracker.health(now=5.0 * 101 + 86400.0).verdicts == {
        "default": ("silent for 24 h; usually a prediction every 5 s",)
    }
    tracker.update("ann", 5.0 * 101 + 86400.0, None, NAN)
    assert tracker.health().verdicts == {
        "default": ("silent for 24 h; usually a prediction every 5 s",)
    }


def test_a_pause_of_a_stream_is_no_silence() -> None:
    tracker = cf.Tracker(FILTERS[0], beta=BETA)
    start = 0.0
    for _ in range(5):
        for i in range(600):
            source = "strong" if i % 10 == 9 else "weak"
            tracker.update("ann", start + 5.0 * i, source, cycle(i))
            assert not tracker.health().verdicts
        start += 86400.0


def test_streams_of_other_times_are_neither_silent_nor_stuck() -> None:
    tracker = tuned_tracker()
    for k in range(20):
        for i in range(200):
            tracker.update(f"s{k}", 1e6 * (k % 3) + 5.0 * i, "weak", cycle(i))
            assert not tracker.health().verdicts


def test_a_fleet_asleep_at_once_is_not_stuck() -> None:
    """All of 50 streams have one class for as long as one of them may."""
    tracker = tuned_tracker()
    for i in range(300):
        probs = [cycle(i // 2)] * 50
        tracker.update_many([f"s{k}" for k in range(50)], [5.0 * i] * 50, "weak", probs)
        assert not tracker.health().verdicts


def test_disagreement_is_reported_and_ends() -> None:
    tracker, rng = tuned_tracker(longest_disagreement=10.0), np.random.default_rng(0)
    shown = []
    for i in range(3000):
        truth = (i // 40) % 3
        weak = int(rng.integers(3)) if 1000 <= i < 2000 or rng.random() < 0.15 else truth
        tracker.update("ann", 5.0 * i, "strong", np.roll([0.9, 0.05, 0.05], truth))
        tracker.update("ann", 5.0 * i, "weak", np.roll([0.9, 0.05, 0.05], weak))
        if i % 10 == 0:
            shown.append([text.split()[0] for text in tracker.health().verdicts.get("weak", ())])
    reported = [10 * i for i, kinds in enumerate(shown) if kinds == ["agrees"]]
    assert 1000 < min(reported) < 1300
    assert 2000 < max(reported) < 2300
    assert all(kinds in ([], ["agrees"]) for kinds in shown)


def test_never_heard_of_since_tuned() -> None:
    pipe = cf.Pipeline(FILTERS[0], beta=BETA, expected={"strong": expected(interval=60.0)})
    tracker = cf.Tracker(pipe)
    for i in range(500):
        tracker.update("ann", 5.0 * i, "weak", cycle(i))
    (row,) = (row for row in tracker.health() if row.source == "strong")
    assert row.verdicts == ("silent for 41.6 min; usually a prediction every 60 s",)
    assert row.rows == 0


def test_what_is_expected_changes_no_bit() -> None:
    rows = random_rows(7, 300)
    plain, judged = cf.Tracker(FILTERS[2], beta=BETA), tuned_tracker()
    feed(plain, rows)
    feed(judged, rows)
    assert plain.pipe.digest == judged.pipe.digest
    for stream in plain.streams:
        assert plain.probs(stream).tolist() == judged.probs(stream).tolist()


def test_more_sources_than_are_counted_are_filtered_all_the_same() -> None:
    tracker = cf.Tracker(FILTERS[0])
    for i in range(105):
        tracker.update("ann", float(i), f"source {i}", [0.8, 0.1, 0.1])
    assert len(tracker.health()) == 100
    assert len(tracker) == 1


def test_it_is_a_table() -> None:
    tracker = cf.Tracker(FILTERS[0], beta={"a<b": 1.0})
    tracker.update("ann", 0.0, "a<b", [0.8, 0.1, 0.1])
    text, html = repr(tracker.health()), tracker.health()._repr_html_()
    assert text.splitlines()[0].split()[:2] == ["source", "rows"]
    assert "as usual" in text
    assert "a&lt;b" in html


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["plain", "capture24"])
@pytest.mark.parametrize("own_past", [False, True])
def test_no_false_alarm_in_two_hundred_hours(preset: str, own_past: bool) -> None:
    days = [cf.simulate(preset, hours=25.0, seed=seed).rows() for seed in range(12)]
    tuned = cf.tune(days[:4], reference="strong")
    pipe = cf.Pipeline.of(tuned, expected={}) if own_past else tuned
    assert episodes(pipe, days[4:])[1] == []
