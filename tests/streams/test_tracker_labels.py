"""Predicted classes in place of probabilities, for one row and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf

CLASSES = ["walk", "sit", "sleep"]
CHANNEL = cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 8]])
LABELS: list[Any] = ["sit", 0, "walk", None, np.int64(2), "", -1, np.str_("sleep"), "sit"]
INDEX = [1, 0, 0, -1, 2, -1, -1, 2, 1]


def by_hand(k: int, channel: Any) -> Any:
    """A label is right in 70 % of all cases, unless a channel says how often."""
    if k < 0:
        return np.full(3, np.nan)
    if channel is not None:
        return np.eye(3)[k]
    row = np.full(3, (1 - 0.7) / 2)
    row[k] = 0.7
    return row


@pytest.mark.parametrize("channel", [None, {"weak": CHANNEL}])
def test_labels_give_the_results_of_rows_by_hand(channel: Any) -> None:
    f = cf.StickyFilter(CLASSES, half_life=20.0)
    one, many, expected = (cf.Tracker(f, beta={"weak": 0.5}, channel=channel) for _ in range(3))
    P = [one.update("a", 5.0 * t, "weak", label) for t, label in enumerate(LABELS)]
    Q = [expected.update("a", 5.0 * t, "weak", by_hand(k, channel)) for t, k in enumerate(INDEX)]
    np.testing.assert_array_equal(P, Q)
    T = len(LABELS)
    np.testing.assert_array_equal(
        many.update_many(["a"] * T, 5.0 * np.arange(T), "weak", LABELS), Q
    )


def test_an_index_counts_whatever_the_names_are() -> None:
    tracker = cf.Tracker(cf.DirichletFilter([5, 7, 9]))
    tracker.update("a", 0.0, None, 1)
    assert tracker.label("a") == 7


@pytest.mark.parametrize("label", ["fly", 3, -2, np.int64(7)])
def test_an_unknown_label_changes_nothing(label: Any) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    message = r"probs is .*; the classes are \['walk', 'sit', 'sleep'\]: give a name, an index"
    with pytest.raises(ValueError, match=message):
        tracker.update("a", 0.0, None, label)
    with pytest.raises(ValueError, match=r"probs in row 1 is .*; the classes are"):
        tracker.update_many(["a", "a"], [0.0, 1.0], None, ["sit", label])
    assert len(tracker) == 0
