"""Scores of events: equal to sed_eval's and timescoring's, and to MS-TCN's written out by hand."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classfilter.metrics import edit_score, event_scores
from classfilter.metrics.matching import edit_distance, maximum_matching
from events import peer_scores as peers

FROZEN = json.loads((Path(__file__).parent / "peer_scores.json").read_text())


def check_collar(lists: dict[str, Any], settings: tuple[float, float | None], found: Any) -> None:
    collar, share = settings
    s = event_scores(lists["true"], lists["predicted"], collar=collar, length_share=share)
    assert s.found == found["all"]
    assert s.f1 == pytest.approx(found["f1"], abs=1e-9)
    for label, (f1, recall) in found["by_class"].items():
        assert s.by_class[label].f1 == pytest.approx(f1, abs=1e-9)
        assert s.by_class[label].recall == pytest.approx(recall, abs=1e-9)


def check_tolerance(lists: dict[str, Any], settings: tuple[float, ...], found: Any) -> None:
    before, after, merge, longest = settings
    options: Any = {"tolerance": (before, after), "merge": merge, "split_after": longest}
    both = lists["true"], lists["predicted"]
    for key, (n_true, n_found, n_false, f1, alarms_a_day) in found.items():
        stream, label = key.split()
        true, guess = ([row for row in rows if row[:2] == [stream, label]] for rows in both)
        s = event_scores(true, guess, **options, duration=peers.LENGTH)
        assert (s.true, s.found, s.false) == (n_true, n_found, n_false)
        assert s.f1 == pytest.approx(f1, abs=1e-9, nan_ok=True)
        assert 24 * s.false_per_hour == pytest.approx(alarms_a_day, abs=1e-9)
    s = event_scores(*both, **options)
    n_true, n_found, n_false, *_ = np.sum(list(found.values()), axis=0)
    assert (s.true, s.found, s.false) == (n_true, n_found, n_false)


@pytest.mark.parametrize("case", range(len(FROZEN)))
def test_equal_to_what_peers_printed(case: int) -> None:
    for settings, found in zip(peers.COLLARS, FROZEN[case]["sed_eval"], strict=True):
        check_collar(FROZEN[case], settings, found)
    for options, counts in zip(peers.TOLERANCES, FROZEN[case]["timescoring"], strict=True):
        check_tolerance(FROZEN[case], options, counts)


def test_the_frozen_cases_tell_conventions_apart() -> None:
    assert len(FROZEN) >= 36
    found = [row["all"] for case in FROZEN for row in case["sed_eval"]]
    assert 100 < sum(found) < sum(len(case["true"]) for case in FROZEN) * len(peers.COLLARS)
    false = [v[2] for case in FROZEN for row in case["timescoring"] for v in row.values()]
    assert 0 in false
    assert max(false) > 3


@pytest.mark.slow
def test_equal_to_peers_on_many_random_events() -> None:
    needed = "pip install sed_eval timescoring: the peers themselves"
    pytest.importorskip("sed_eval", reason=needed)
    pytest.importorskip("timescoring", reason=needed)
    rng = np.random.default_rng(500)
    for _ in range(500):
        lists = peers.random_events(rng)
        streams = [{row[0] for row in rows} for rows in lists.values()]
        if not streams[0] & streams[1]:
            continue
        for settings in peers.COLLARS:
            check_collar(lists, settings, peers.by_sed_eval(lists, *settings))
        with np.errstate(invalid="ignore"):
            for options in peers.TOLERANCES:
                check_tolerance(lists, options, peers.by_timescoring(lists, *options))


def ms_tcn(true: list[Any], predicted: list[Any], iou: float) -> tuple[int, int, int]:
    """Return hits, false and missed of one stream, by loops over all pairs of events."""
    free = dict.fromkeys(range(len(true)), True)
    hits = 0
    for p in sorted(predicted, key=lambda row: row[2]):
        best, where = 0.0, -1
        for i, t in enumerate(true):
            inside = min(p[3], t[3]) - max(p[2], t[2])
            ratio = inside / (max(p[3], t[3]) - min(p[2], t[2])) if p[1] == t[1] else 0.0
            if ratio > best:
                best, where = ratio, i
        if best >= iou and free[where]:
            free[where] = False
            hits += 1
    return hits, len(predicted) - hits, sum(free.values())


@given(st.integers(0, 2**32), st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]))
def test_iou_is_that_of_ms_tcn(seed: int, iou: float) -> None:
    lists = peers.random_events(np.random.default_rng(seed))
    one, other = ([r for r in lists[name] if r[0] == "s0"] for name in ("true", "predicted"))
    s = event_scores(one, other, iou=iou)
    true = sorted(one, key=lambda row: row[2])
    assert (s.found, s.false, s.missed) == ms_tcn(true, other, iou)


def test_thresholds_are_reached_at_the_threshold() -> None:
    half = event_scores([("s", "a", 0, 10)], [("s", "a", 0, 5)], iou=0.5)
    assert half.found == 1
    apart = [("s", "a", 0, 10), ("s", "a", 100, 110)]
    assert event_scores(apart, apart, tolerance=(0, 0), merge=90).true == 2
    assert event_scores(apart, apart, tolerance=(0, 0), merge=90.5).true == 1


def test_events_in_any_order_and_within_each_other() -> None:
    true = [("s", "a", 50, 60), ("s", "a", 0, 100), ("s", "a", 10, 20)]
    for options in ({"iou": 0.9}, {"collar": 1}):
        s = event_scores(true, [*true[1:], true[0]], **options)
        assert (s.found, s.false) == (3, 0)
    late = [("s", "a", 70, 99)]
    assert event_scores(true, late, iou=0.29).found == 1
    assert event_scores(true, late, tolerance=(0, 0)).found == 1


def test_optimal_matching_finds_what_a_greedy_one_misses() -> None:
    true = [("s", "a", 1.0, 5.0), ("s", "a", 1.3, 5.0)]
    predicted = [("s", "a", 1.1, 5.0), ("s", "a", 0.9, 5.0)]
    assert event_scores(true, predicted, collar=0.2).found == 2


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), max_size=5))
def test_maximum_matching_against_all_matchings(near: list[list[int]]) -> None:
    left = maximum_matching(near, 5)
    pairs = [(i, j) for i, j in enumerate(left) if j >= 0]
    assert all(j in near[i] for i, j in pairs)
    assert len({j for _, j in pairs}) == len(pairs)
    choices = itertools.product(*([-1, *options] for options in near))
    most = 0
    for choice in choices:
        used = [j for j in choice if j >= 0]
        if len(set(used)) == len(used):
            most = max(most, len(used))
    assert len(pairs) == most


def test_numbers_by_hand() -> None:
    true = [("ann", "walk", 0, 60), ("ann", "sit", 60, 3600), ("bob", "walk", 0, 3600)]
    predicted = [("ann", "walk", 10, 60), ("ann", "run", 70, 80), ("ann", "sit", 80, 3600)]
    s = event_scores(true, predicted)
    assert (s.true, s.predicted, s.found, s.false, s.missed) == (3, 3, 2, 1, 1)
    assert (s.f1, s.precision, s.recall) == (4 / 6, 2 / 3, 2 / 3)
    assert (s.hours, s.false_per_hour, s.delay) == (2.0, 0.5, 15.0)
    assert list(s.by_class) == ["run", "sit", "walk"]
    assert [c.f1 for c in s.by_class.values()] == [0.0, 1.0, 2 / 3]
    assert s.macro_f1 == pytest.approx(5 / 9)
    assert s.macro_precision == pytest.approx((0 + 1 + 1) / 3)
    assert s.macro_recall == pytest.approx((1 + 1 / 2) / 2)
    assert "from the first to the last true event of each stream" in s.convention
    assert event_scores(true, predicted, duration="4h").false_per_hour == 0.25


def test_delays_are_those_of_the_start() -> None:
    true = [("s", "a", 100, 200)]
    early = [("s", "a", 80, 90), ("s", "a", 95, 150), ("s", "a", 150, 160)]
    s = event_scores(true, early, tolerance=("30s", 60))
    assert (s.found, s.false, s.delay) == (1, 0, -20.0)
    assert event_scores(true, early, tolerance=(0, 0)).delay == -5.0


def test_nothing_to_score() -> None:
    s = event_scores([], [])
    assert math.isnan(s.f1)
    assert math.isnan(s.false_per_hour)
    assert "need duration=" in s.convention
    assert event_scores([("s", "a", 0, 1)], []).f1 == 0.0
    alone = event_scores([], [("s", "a", 0, 1)], duration=3600)
    assert (alone.f1, alone.false_per_hour) == (0.0, 1.0)


def test_float_dust_is_no_overlap() -> None:
    """0.7 + 0.1 is 0.7999999999999999 and 60.3 + 60 may exceed 120.3: neither is an overlap."""
    for tenths in range(600):
        end = tenths / 10
        later = (tenths + 1) / 10
        s = event_scores([("s", "a", -1.0, end)], [("s", "a", later, 99)], tolerance=(0, 0.1))
        assert s.found == 0


def test_the_printout_has_the_convention_and_every_class() -> None:
    true, predicted = [("s", "<a>", 0, 1)], [("s", "<a>", 0, 1), ("s", "b", 0, 1)]
    text = str(event_scores(true, predicted, collar=0.2))
    assert "Starts within 0.2 s, ends by that or 0.5 of the true length" in text
    assert [line.split()[0] for line in text.split("\n")[1:5]] == ["all", "macro", "<a>", "b"]
    html = event_scores(true, predicted, tolerance=(30, 60), merge=90)._repr_html_()
    assert "&lt;a&gt;" in html
    assert "30 s before and 60 s after each true event, events less than 90 s apart" in html


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edit_distance_by_the_recursion(a: str, b: str) -> None:
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        change = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(change, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    assert edit_distance(list(a), list(b)) == distance(len(a), len(b))


def test_edit_score_is_the_mean_over_streams() -> None:
    true = [("s", "a", 0, 1), ("s", "b", 1, 2), ("t", "a", 0, 1)]
    predicted = [("s", "b", 5, 6), ("s", "a", 0, 1), ("t", "b", 0, 1), ("t", "a", 1, 2)]
    assert edit_score(true, true) == 1.0
    assert edit_score(true, predicted) == pytest.approx((1.0 + 0.5) / 2)
    assert math.isnan(edit_score([], []))
