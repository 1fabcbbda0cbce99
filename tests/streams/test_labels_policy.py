"""A tracker with a policy for several labels at once: Adaptive sees the least certain label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf

BETA = {"weak": 0.3, "strong": 1.0}


def tracker_of(labels: list[str], policy: Any) -> cf.Tracker:
    f = cf.MultiLabelFilter(labels, cf.StickyFilter(2, half_life=20.0))
    return cf.Tracker(f, beta=BETA, policy=policy)


@pytest.mark.parametrize(
    "policy", [cf.policy.Adaptive(budget=0.2), cf.policy.Periodic(every=5)], ids=["adaptive", "p"]
)
def test_one_label_calls_as_its_lane_does(policy: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    several = tracker_of(["speech"], policy)
    two = cf.Tracker(several.chain.lane("speech"))
    called = []
    for i, score in enumerate(rng.beta(0.7, 0.7, 150).tolist()):
        source = several.next_source("ann", float(i))
        assert source == two.next_source("ann", float(i))
        p = several.update("ann", float(i), source, [score])
        assert p[0] == two.update("ann", float(i), source, [1 - score, score])[1]
        called.append(source)
        if i == 70:
            several.save(tmp_path / "streams.npz")
            several = cf.Tracker.load(tmp_path / "streams.npz")
    assert 5 < called.count("strong") < 75


def test_the_least_certain_label_decides() -> None:
    """Beside a label that is sure, calls are those of the doubtful label by itself."""
    doubtful = np.random.default_rng(1).uniform(0.2, 0.8, 150)
    rows = np.stack([np.full(150, 0.999), doubtful], axis=1)
    tracker, called = tracker_of(["robin", "wren"], cf.policy.Adaptive(budget=0.3)), []
    alone = cf.Tracker(tracker.chain.lane("wren"))
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
