"""Masked arrays, where what is masked is missing; tensors; and times that are no numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from conftest import rejected

GONE = np.ma.array([0.8, 0.2], mask=True)
ROWS = np.ma.array([[0.8, 0.2], [0.3, 0.7]], mask=[[True, True], [False, False]])
NAN = np.array([np.nan, np.nan])
PLAIN = np.array([NAN, [0.3, 0.7]])
FILTERS: dict[str, Callable[[], Any]] = {
    "sticky": lambda: cf.StickyFilter(2, stay=0.9),
    "dirichlet": lambda: cf.DirichletFilter(2, gamma=0.9),
    "ema": lambda: cf.EmaFilter(2),
    "vote": lambda: cf.VoteFilter(2),
    "labels": lambda: cf.MultiLabelFilter(["a", "b"], cf.StickyFilter(2, stay=0.9)),
}


@pytest.mark.parametrize("name", FILTERS)
def test_every_entry_takes_it_as_missing(name: str) -> None:
    f = FILTERS[name]()
    f.update([0.6, 0.4])
    np.testing.assert_array_equal(f.copy().update(GONE), f.copy().update(NAN))
    np.testing.assert_array_equal(f.copy().run(ROWS), f.copy().run(PLAIN))
    bank, other = cf.Bank(f, 2), cf.Bank(f, 2)
    np.testing.assert_array_equal(bank.update(ROWS), other.update(PLAIN))
    trackers = [cf.Tracker(FILTERS[name]()) for _ in range(2)]
    for tracker, row, rows in zip(trackers, (GONE, NAN), (ROWS, PLAIN), strict=True):
        tracker.update("x", 0.0, None, [0.6, 0.4])
        tracker.update("x", 1.0, None, row)
        tracker.update_many(["x", "x"], [2.0, 3.0], None, rows)
    np.testing.assert_array_equal(trackers[0].probs("x"), trackers[1].probs("x"))


def test_recordings_times_and_classes() -> None:
    rec = cf.rows(time=[0, 1], source="a", probs=ROWS, classes=2)
    np.testing.assert_array_equal(rec.probs, PLAIN)
    for time in (np.arange(2), np.arange(2).astype("M8[s]")):
        with rejected("time", cf.RowError, row=1):
            cf.rows(time=np.ma.array(time, mask=[False, True]), source="a", probs=PLAIN, classes=2)
    classes = np.ma.array([1, 0], mask=[False, True])
    np.testing.assert_array_equal(
        cf.rows(time=[0, 1], source="a", probs=classes, classes=2).probs, [[0, 1], NAN]
    )
    memory = np.asarray(PLAIN).view(np.matrix)  # another subclass is taken as it is
    np.testing.assert_array_equal(
        cf.rows(time=[0, 1], source="a", probs=memory, classes=2).probs, PLAIN
    )


@pytest.mark.parametrize("unit", ["ns", "us", "s", "m"])
def test_a_timedelta_is_as_long_as_it_says(unit: str) -> None:
    step = np.array(3, f"m8[{unit}]")[()]
    one, many = (cf.Tracker(FILTERS["sticky"]()) for _ in range(2))
    for i in range(3):
        one.update("x", i * step, None, [0.6, 0.4])
    many.update_many(["x"] * 3, np.arange(3) * step, None, [[0.6, 0.4]] * 3)
    assert one.time("x") == many.time("x") == 2 * step / np.timedelta64(1, "s")


@pytest.mark.slow
@pytest.mark.parametrize("name", FILTERS)
def test_a_tensor_with_a_gradient_is_taken(name: str) -> None:
    torch = pytest.importorskip("torch", reason="pip install torch: the tensors themselves")
    f, row = FILTERS[name](), torch.tensor([0.75, 0.25], requires_grad=True)
    half = torch.tensor([0.75, 0.25], dtype=torch.bfloat16)
    wanted = f.copy().update([0.75, 0.25])
    for given in (row, half):
        np.testing.assert_array_equal(f.copy().update(given), wanted)
        np.testing.assert_array_equal(f.copy().run(given[None])[0], wanted)
        np.testing.assert_array_equal(cf.Bank(f, 1).update(given[None])[0], wanted)
        tracker = cf.Tracker(f)
        first = tracker.update("w", 0.0, None, [0.75, 0.25])
        np.testing.assert_array_equal(tracker.update("x", 0.0, None, given), first)
        many = tracker.update_many(["y"], [0.0], None, given[None])
        np.testing.assert_array_equal(many[0], first)
