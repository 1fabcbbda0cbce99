"""Predicted classes in place of probabilities, for one row and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
from conftest import rejected

CLASSES = ["walk", "sit", "sleep"]


def test_an_index_counts_whatever_the_names_are() -> None:
    tracker = cf.Tracker(cf.DirichletFilter([5, 7, 9]))
    tracker.update("a", 0.0, None, 1)
    assert tracker.label("a") == 7


@pytest.mark.parametrize("label", ["fly", 3, -2, np.int64(7)])
def test_an_unknown_label_changes_nothing(label: Any) -> None:
    tracker = cf.Tracker(cf.DirichletFilter(CLASSES))
    with rejected("probs"):
        tracker.update("a", 0.0, None, label)
    with rejected("probs", row=1):
        tracker.update_many(["a", "a"], [0.0, 1.0], None, ["sit", label])
    assert len(tracker) == 0
