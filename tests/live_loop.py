"""A sensor, two classifiers of its samples, cascades over them, and the loop written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import classfilter as cf
from classfilter.pipeline import to_builtin
from classfilter.policy import Adaptive, Periodic, Policy

Floats: TypeAlias = NDArray[np.float64]
NAN = float("nan")
RATE, STEP = 10, 5.0
PER_STEP = 50  # samples
CLASSES = ["rest", "walk", "run"]
BETA = {"strong": 1.0, "weak": 0.2}
WINDOW = {"strong": 300, "weak": 50}
CHANNEL = {"weak": cf.Channel([[8, 1, 1], [2, 6, 2], [1, 3, 6]])}
LEVELS = np.array([0.2, 1.0, 3.0])

FILTERS: list[Callable[[], cf.Filter]] = [
    lambda: cf.DirichletFilter(CLASSES, half_life=30.0),
    lambda: cf.DirichletFilter(CLASSES, half_life=30.0, anchor=0.5, dtype=np.float32),
    lambda: cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 120), temperature=1.4),
    lambda: cf.MeanFilter(CLASSES),
    lambda: cf.HoldFilter(CLASSES),
]
POLICIES: list[Callable[[], Policy]] = [
    lambda: Periodic(every=5),
    lambda: Periodic(seconds=30),
    lambda: Adaptive(budget=1 / 5, horizon=20, disagreement=1.0),
]


def signal(steps: int, seed: int = 0) -> Floats:
    """Return samples of three axes whose strength changes now and then."""
    rng = np.random.default_rng(seed)
    levels = LEVELS[rng.integers(3, size=steps // 20 + 1)]
    level = np.repeat(levels, 20 * PER_STEP)[: steps * PER_STEP]
    x: Floats = rng.normal(size=(steps * PER_STEP, 3)) * level[:, None]
    return x


def _classify(x: Floats, sharpness: float) -> Floats:
    score = -sharpness * np.abs(np.log(x.std() / LEVELS))
    weights = np.exp(score - score.max())
    p: Floats = weights / weights.sum()
    return p


def weak(x: Floats) -> Floats:
    return _classify(x[:, :1], 1.0)


def strong(x: Floats) -> Floats:
    return _classify(x, 3.0)


SOURCES: dict[str, Callable[[Any], Any]] = {"weak": weak, "strong": strong}


def make_cascade(
    f: cf.Filter | None = None, policy: Policy | None = None, sources: Any = SOURCES, **options: Any
) -> cf.Cascade:
    options = {"channel": CHANNEL, "window": WINDOW, "beta": BETA, **options}
    policy = policy or Adaptive(budget=1 / 5, horizon=20)
    return cf.Cascade(f or FILTERS[0](), sources, policy=policy, **options)


def run_steps(cascade: cf.Cascade, x: Floats, first: int = 1) -> list[cf.Step]:
    """Call `step` one by one, with all samples so far."""
    steps = range(first, len(x) // PER_STEP + 1)
    return [cascade.step(x[: n * PER_STEP], time=n * STEP) for n in steps]


def step_bits(step: cf.Step) -> tuple[Any, ...]:
    """Return a step as something that can be compared, to the bit."""
    return (*step[:2], step.probs.tobytes(), *step[3:])


def snapshot(cascade: cf.Cascade) -> tuple[Any, ...]:
    """Return all of a cascade that a user can see, as something that can be compared."""
    return repr(to_builtin(cascade.state)), cascade.calls, cascade.errors, cascade.total_cost


class LoopResult(NamedTuple):
    """The filtered probabilities (T, K), the labels, and the source that was called."""

    probs: Floats
    labels: list[Any]
    called: list[str]


def loop_by_hand(
    f: cf.Filter,
    policy: Policy,
    x: Floats,
    outputs: Mapping[str, Callable[[Any, int], Any]],
    step: float = STEP,
) -> LoopResult:
    """Run the loop; an output is of a window and the number of the step, None if there is none."""
    f, policy = f.copy(), policy.copy()
    probs, labels, called = [], [], []
    last = {"weak": -math.inf, "strong": -math.inf}
    for n in range(1, len(x) // PER_STEP + 1):
        so_far, now = x[: n * PER_STEP], n * step
        dt = now - (n - 1) * step if n > 1 else 0.0
        before = f.probs
        name = policy.choose(before, {name: now - time for name, time in last.items()})
        if name == "strong" and len(so_far) < WINDOW["strong"]:
            name = "weak"
        output = outputs[name](so_far[-WINDOW[name] :], n)
        row = np.full(3, np.nan)
        if output is not None:
            row = np.asarray(output, before.dtype)
            row = CHANNEL["weak"].apply(row) if name == "weak" else row
        f.update(row, BETA[name], dt)
        policy.called(name, row, before, dt)
        last[name] = now
        probs.append(f.probs)
        labels.append(f.label)
        called.append(name)
    return LoopResult(np.array(probs), labels, called)


VALID_OUTPUTS: dict[str, Callable[[Any, int], Any]] = {
    "weak": lambda window, _: weak(window),
    "strong": lambda window, _: strong(window),
}


def raising(*_: object) -> Any:
    raise KeyError("no such sensor")


def stopping(*_: object) -> Any:
    raise StopIteration


class NoArray:
    """What numpy cannot turn into an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no way in")


INVALID_OUTPUTS: list[tuple[Any, str]] = [
    (raising, "raised KeyError: 'no such sensor'"),
    (stopping, "raised StopIteration"),
    ([0.5, 0.5], "it has 2 entries, but the filter has 3 classes; give 3 numbers"),
    ([[0.2, 0.8], [0.5, 0.5]], "it is [[0.2, 0.8], [0.5, 0.5]]; give 3 numbers, one probability"),
    ([0.5, NAN, 0.5], "it[1] is nan while other entries of the row are not"),
    ([NAN, 0.5, 0.5], "it[0] is nan while other entries of the row are not"),
    (
        [-0.1, 0.6, 0.5],
        "it[0] is -0.1; a probability must not be negative: logits need classfilter.softmax",
    ),
    ([0.5, 0.5, 0.06], "it sums to 1.06; it must be within 0.05 of 1"),
    ([float("inf"), 0.0, 0.0], "it[0] is inf"),
    ([2.0, -1.0, 5.0], "it[1] is -1.0"),
    ("flying", "it is 'flying'; the classes are ["),
    (3, "it is 3; the classes are ["),
    (["0.2", "0.3", "0.5"], "it is ['0.2', '0.3', '0.5']; give 3 numbers"),
    (["a", "b", "c"], "it is ['a', 'b', 'c']; give 3 numbers"),
    (None, "it is None; give 3 numbers"),
    (0.5, "it is 0.5; give 3 numbers"),
    ([[0.5], [0.2, 0.3]], "inhomogeneous shape"),
    ({"rest": 1.0}, "it names ['rest'], but the classes are ['rest', 'walk', 'run']; missing:"),
    ([None, "a", 0.5], "it is [None, 'a', 0.5]; give 3 numbers"),
    (NoArray(), "no way in"),
]
"""Sources that raise and outputs that are invalid, with the message of the log."""
