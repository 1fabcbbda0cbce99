"""A sensor, two classifiers that look at its samples, and the live loop written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classfilter import Channel, Filter
from classfilter.policy import Policy

Floats: TypeAlias = NDArray[np.float64]
RATE, STEP = 10, 5.0
EACH = 50  # samples a step
CLASSES = ["rest", "walk", "run"]
BETA = {"strong": 1.0, "weak": 0.2}
WINDOW = {"strong": 300, "weak": 50}
CHANNEL = {"weak": Channel([[8, 1, 1], [2, 6, 2], [1, 3, 6]])}
LEVELS = np.array([0.2, 1.0, 3.0])


def signal(steps: int, seed: int = 0) -> Floats:
    """Three axes whose strength changes now and then."""
    rng = np.random.default_rng(seed)
    level = np.repeat(LEVELS[rng.integers(3, size=steps // 20 + 1)], 20 * EACH)[: steps * EACH]
    x: Floats = rng.normal(size=(steps * EACH, 3)) * level[:, None]
    return x


def _told(x: Floats, sharpness: float) -> Floats:
    score = -sharpness * np.abs(np.log(x.std() / LEVELS))
    weights = np.exp(score - score.max())
    p: Floats = weights / weights.sum()
    return p


def weak(x: Floats) -> Floats:
    return _told(x[:, :1], 1.0)


def strong(x: Floats) -> Floats:
    return _told(x, 3.0)


SOURCES: dict[str, Callable[[Any], Any]] = {"weak": weak, "strong": strong}


class Track(NamedTuple):
    """What a loop did: the filter's readings (T, K), the labels, and who was called."""

    probs: Floats
    labels: list[Any]
    called: list[str]


def by_hand(
    f: Filter,
    policy: Policy,
    x: Floats,
    answers: Mapping[str, Callable[[Any, int], Any]],
    step: float = STEP,
) -> Track:
    """Run the loop; an answer is of a window and the number of the step, None if there is none."""
    f, policy = f.copy(), policy.copy()
    probs, labels, called = [], [], []
    last = {"weak": -math.inf, "strong": -math.inf}
    for n in range(1, len(x) // EACH + 1):
        so_far, now = x[: n * EACH], n * step
        dt = now - (n - 1) * step if n > 1 else 0.0
        held = f.probs
        name = policy.choose(held, {name: now - then for name, then in last.items()})
        if name == "strong" and len(so_far) < WINDOW["strong"]:
            name = "weak"
        said = answers[name](so_far[-WINDOW[name] :], n)
        row = np.full(3, np.nan)
        if said is not None:
            said = np.asarray(said, held.dtype)
            row = CHANNEL["weak"].apply(said) if name == "weak" else said
        f.update(row, BETA[name], dt)
        policy.called(name, row, held, dt)
        last[name] = now
        probs.append(f.probs)
        labels.append(f.label)
        called.append(name)
    return Track(np.array(probs), labels, called)


HONEST: dict[str, Callable[[Any, int], Any]] = {
    "weak": lambda window, _: weak(window),
    "strong": lambda window, _: strong(window),
}
