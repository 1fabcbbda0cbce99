"""The streams of a tracker: they come and go, expire, and have names of any kind."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.inputs import OddRowsWarning
from conftest import rejected
from stream_rules import StreamRules
from tracker_rows import CLASSES, GOOD


@pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
@pytest.mark.covering(1)
@pytest.mark.parametrize("start", [0.0, 1.7e9, -1e12])
@pytest.mark.parametrize("span", [1e-4, 3.3, 1e5])
def test_streams_expire_as_by_the_plain_rule(span: float, start: float) -> None:
    """Where times round, too."""
    rng = np.random.default_rng(0)
    tracker = cf.Tracker(cf.RawFilter(2), expire_after=span, max_streams=9)
    rules, last, dropped = StreamRules(span, 9), dict.fromkeys("abcdefghijklmn", start), 0
    for _ in range(2000):
        name = str(rng.choice(list(last)))
        step = float(rng.choice([0.0, 0.3, 1.0, 1.5, 40.0], p=[0.2, 0.4, 0.3, 0.08, 0.02]))
        last[name] += step * rng.choice([1.0, span])
        if rng.random() < 0.5:
            last[name] = max(last[name], (rules.clock or start) - 2 * span)
        before = len(tracker) + (name not in tracker)
        tracker.update(name, last[name], None, [0.5, 0.5])
        assert rules.row(name, last[name]).accepted
        assert tracker.streams == rules.held
        dropped += before - len(tracker)
    assert dropped > 20


def test_many_new_streams_reuse_the_room_of_old_ones() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES), max_streams=50)
    first = cf.DirichletFilter(CLASSES).update(GOOD[3], 1.0, 0.0)
    for n in range(2000):
        np.testing.assert_array_equal(tracker.update(n, 0.0, None, GOOD[3]), first)
        with rejected("probs"):
            tracker.update(-1, 0.0, None, [0.8, 0.8, 0.8])
    assert tracker.streams == list(range(1950, 2000))
    assert len(tracker._table.columns.times) <= 64


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
        with rejected("stream"):
            tracker.update(nan, 0.0, None, GOOD[3])
        with rejected("stream"):
            tracker.update_many(["new", nan], [0.0, 0.0], None, [GOOD[3]] * 2)
    assert len(tracker) == 10


def test_drop_names_what_is_missing() -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    tracker.update_many(["a", "b"], [0.0, 0.0], None, [GOOD[3]] * 2)
    with pytest.raises(KeyError, match="there is no stream 'c'"):
        tracker.drop(["a", "c"])
    with pytest.raises(TypeError, match="streams"):
        tracker.drop("ab")
    assert len(tracker) == 2
    tracker.drop(["a", "a"])
    assert tracker.streams == ["b"]
    with pytest.raises(ValueError, match="the"):
        tracker.expire(0.0)
    with pytest.raises(ValueError, match="now"):
        cf.Tracker(cf.DirichletFilter(CLASSES), expire_after=1.0).expire(math.inf)


def test_names_that_are_alike_are_named_once(tmp_path: Path) -> None:
    tracker = cf.Tracker(cf.RawFilter(2))
    tracker.update("Ann", 0.0, None, [0.5, 0.5])
    tracker.update_many(["bob", "Ann"], 1.0, None, [[0.5, 0.5]] * 2)
    for late, name in enumerate(("ann ", 7, "7")):
        if name == 7:
            tracker.update(name, 2.0, None, [0.5, 0.5])
            continue
        with pytest.warns(OddRowsWarning, match="which differ only in case, spaces, or as"):
            tracker.update_many([name], 2.0 + late, None, [[0.5, 0.5]])
        tracker.update(name, 3.0 + late, None, [0.5, 0.5])
    assert tracker.streams == ["Ann", "bob", "ann ", 7, "7"]
    tracker.save(tmp_path / "state")
    with pytest.warns(OddRowsWarning, match="'bob' and ' Bob'"):
        cf.Tracker.load(tmp_path / "state").update(" Bob", 0.0, None, [0.5, 0.5])
