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
    rng = np.random.default_rng(1)
    sure = np.where(np.arange(120) < 60, 0.99, 0.01)
    doubtful = rng.uniform(0.3, 0.7, 120)
    calls: dict[str, list[str]] = {}
    for name, second in (("sure", sure), ("doubtful", doubtful)):
        tracker = tracker_of(["robin", "wren"], cf.policy.Adaptive(budget=0.3))
        rows = np.stack([sure, second], axis=1)
        calls[name] = []
        for i, row in enumerate(rows):
            source = tracker.next_source("ann", float(i))
            tracker.update("ann", float(i), source, row)
            calls[name].append(source)
        again = tracker_of(["robin", "wren"], cf.policy.Adaptive(budget=0.3))
        again.update_many(["ann"] * 120, np.arange(120.0), calls[name], rows)
        assert again.next_source("ann", 120.0) == tracker.next_source("ann", 120.0)
        np.testing.assert_array_equal(again.probs("ann"), tracker.probs("ann"))
    assert calls["doubtful"].count("strong") > calls["sure"].count("strong")
