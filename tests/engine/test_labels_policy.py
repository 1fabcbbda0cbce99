"""A tracker with a policy for several labels at once: Adaptive sees the least certain label."""

from __future__ import annotations

from typing import Any

import numpy as np

import classfilter as cf

BETA = {"weak": 0.3, "strong": 1.0}


def tracker_of(labels: list[str], policy: Any) -> cf.Tracker:
    f = cf.MultiLabelFilter(labels, cf.StickyFilter(2, stay=0.5 ** (1 / 20)))
    return cf.Tracker(f, beta=BETA, policy=policy)


def test_the_least_certain_label_decides() -> None:
    """Beside a label that is sure, calls are those of the doubtful label by itself."""
    doubtful = np.random.default_rng(1).uniform(0.2, 0.8, 150)
    rows = np.stack([np.full(150, 0.999), doubtful], axis=1)
    tracker, called = tracker_of(["robin", "wren"], cf.policy.Adaptive(budget=0.3)), []
    alone = cf.Tracker(tracker.pipe.head("wren"))
    for i, row in enumerate(rows):
        called.append(tracker.next_source("ann", float(i)))
        assert called[i] == alone.next_source("ann", float(i))
        tracker.update("ann", float(i), called[i], row)
        alone.update("ann", float(i), called[i], [1 - row[1], row[1]])
    assert 15 < called.count("strong") < 75
    again = tracker_of(["robin", "wren"], cf.policy.Adaptive(budget=0.3))
    again.update_many(["ann"] * 150, np.arange(150.0), called, rows)
    assert again.next_source("ann", 150.0) == tracker.next_source("ann", 150.0)
    np.testing.assert_array_equal(again.probs("ann"), tracker.probs("ann"))
