"""Predicted classes in place of probabilities, for one row and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf

CLASSES = ["walk", "sit", "sleep"]


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
