"""Rows of several streams, and a tracker written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import classfilter as cf

CLASSES = ["walk", "sit", "sleep"]


WEIGHTS = {"weak": 0.25, "strong": 1.0}


CHANNEL = cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 8]])


FILTERS: list[Callable[[], Any]] = [
    lambda: cf.DirichletFilter(CLASSES, half_life=20.0),
    lambda: cf.DirichletFilter(CLASSES, half_life=20.0, dtype=np.float32),
    lambda: cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 40)),
    lambda: cf.EmaFilter(CLASSES, half_life=10.0),
    lambda: cf.HoldFilter(CLASSES),
]


class ByHand:
    """A dict of filters, the time of each, and the channel: what a tracker must equal."""

    def __init__(self, fresh: Any, channel: bool = False) -> None:
        self.fresh, self.channel = fresh, channel
        self.filters: dict[Any, Any] = {}
        self.times: dict[Any, float] = {}

    def update(self, stream: Any, time: float, source: str, probs: Any) -> Any:
        f = self.filters.setdefault(stream, self.fresh.copy())
        if self.channel and source == "weak":
            probs = CHANNEL.apply(np.asarray(probs, f.probs.dtype))
        dt = time - self.times.get(stream, time)
        self.times[stream] = time
        return f.update(probs, WEIGHTS[source], dt)


def rows(seed: int, count: int, streams: int) -> list[tuple[Any, float, str, Any]]:
    """Rows of several streams in turn, now and then two at one time, now and then missing."""
    rng = np.random.default_rng(seed)
    t, out = 0.0, []
    for _ in range(count):
        t += float(rng.choice([0.0, 1.0, 7.5]))
        probs = rng.dirichlet(np.full(3, 0.7))
        if rng.random() < 0.1:
            probs = np.full(3, math.nan)
        out.append((f"s{rng.integers(streams)}", t, str(rng.choice(["weak", "strong"])), probs))
    return out


GOOD = ("a", 5.0, "weak", [0.8, 0.1, 0.1])
