"""Events of real streams, live and in any chunking: those of the path by going back."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
import slow_events
from event_streams import offline, one_by_one
from slow_events import plain_rule

FOLDER = os.environ.get("CLASSFILTER_STREAMS")
MOST = 3000  # rows of a stream: going back over all pairs of rows takes long


def path_by_going_back(probs: Any, cost: float) -> list[int]:
    """Return the best path of rows that each stand for 1, without minimum durations."""
    values, came_from = probs[0].copy(), []
    for row in probs[1:]:
        lead = int(np.argmax(values))
        changed = values < values[lead] - cost
        came_from.append(np.where(changed, lead, np.arange(len(row))))
        values = np.where(changed, values[lead] - cost, values) + row
    path = [int(np.argmax(values))]
    for origin in reversed(came_from):
        path.append(int(origin[path[-1]]))
    return path[::-1]


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="CLASSFILTER_STREAMS names no folder of recordings")
@pytest.mark.parametrize("name", ["geolife", "ltafdb"])
def test_real_streams(name: str) -> None:
    data = np.load(Path(FOLDER or "") / f"{name}_streams.npz")
    strong, ends = data["strong"].astype(float), np.cumsum(data["lengths"])
    rng, confirmed, slow = np.random.default_rng(0), 0, 0
    for probs in np.split(strong / strong.sum(axis=1, keepdims=True), ends[:-1]):
        rows = cf.StickyFilter(probs.shape[1]).run(probs) if rng.random() < 0.5 else probs
        times, classes = np.arange(float(len(rows))), probs.shape[1]
        cost = float(rng.choice([1.0, 4.0, 16.0]))
        rule = plain_rule(classes, cost)
        path = slow_events.runs(tuple(path_by_going_back(rows, cost)))
        live = one_by_one(rule.compiled(), times, rows)
        events = list(itertools.chain(*live))
        assert [e[:3] for e in events] == path
        assert (
            offline(rule.compiled(), times, rows, np.sort(rng.integers(0, len(rows), 5))) == events
        )
        confirmed += sum(map(len, live[:-1]))
        if len(rows) > MOST:
            continue
        rule = replace(rule, min_duration=rng.choice([0.0, 6.0, 24.0], classes))
        (stretch,) = slow_events.stretches(rule, times, rows)
        best = slow_events.best_path(rule, stretch)
        found = offline(rule.compiled(), times, rows)
        assert [e[:3] for e in found] == (slow_events.runs(best) if best else [])
        slow += len(found)
    print(f"{name}: {confirmed} events confirmed live, {slow} with minimum durations, all equal")
    assert confirmed > 100
