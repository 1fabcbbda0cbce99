"""Stand-ins for a sensor and two models: synthetic wrist signals, and ONNX files fitted to them.

Nothing here is meant to be copied into a product. The signals are gravity, periodic movement with
harmonics, and noise; how they are mixed was chosen by hand, so what a model reaches on them says
nothing of real wrists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

RATE = 20
CLASSES = ("rest", "walk", "cycle", "run")
MINUTES = (4.0, 2.0, 5.0, 4.0)
"""How long each lasts, as a median; from half a minute to half an hour."""
FOLLOWS = ((0, 6, 3, 1), (6, 0, 2, 2), (3, 7, 0, 0), (2, 8, 0, 0))
"""How often each class (column) follows each class (row)."""
CADENCE = ((0.2, 0.5), (0.8, 1.05), (1.0, 1.5), (1.2, 1.5))
"""Swings of the arm or turns of the pedal per second, from the slowest person to the fastest."""
SWING = ((0.0, 0.01), (0.08, 0.3), (0.02, 0.08), (0.25, 0.8))
"""Strength of that movement, in g."""
SHAKE = ((0.005, 0.01), (0.03, 0.08), (0.05, 0.25), (0.1, 0.25))
"""Strength of the vibration on top, in g."""
POSTURE = ((0.2, 0.1, 0.9), (-0.9, 0.2, 0.2), (-0.4, 0.2, 0.8), (-0.3, 0.8, 0.2))
"""Where gravity points in the watch's frame; roughly, since the wrist turns."""


class Person(NamedTuple):
    """What a person's wrist did.

    Attributes
    ----------
    samples : ndarray (n, 3)
        Acceleration in g.
    truth : ndarray of int (n,)
        The class of each sample.
    """

    samples: Floats
    truth: Ints


def person(seed: int, hours: float) -> Person:
    """Simulate some hours of one person, with habits of its own.

    Examples
    --------
    >>> samples, truth = person(0, hours=0.5)
    >>> samples.shape, truth.shape
    ((36000, 3), (36000,))
    """
    rng = np.random.default_rng(seed)
    habit = rng.uniform(size=(3, len(CLASSES)))
    turned = rng.normal(0.0, 0.2, size=3)
    parts: list[Floats] = []
    truth: list[Ints] = []
    now, missing = 0, round(hours * 3600 * RATE)
    while missing > 0:
        seconds = np.clip(60 * MINUTES[now] * rng.lognormal(sigma=0.8), 30, 1800)
        count = min(missing, round(seconds * RATE))
        parts.append(_movement(rng, now, count, habit[:, now], turned))
        truth.append(np.full(count, now))
        missing -= count
        now = int(rng.choice(len(CLASSES), p=np.array(FOLLOWS[now]) / sum(FOLLOWS[now])))
    return Person(np.concatenate(parts), np.concatenate(truth))


def _movement(
    rng: np.random.Generator, now: int, count: int, habit: Floats, turned: Floats
) -> Floats:
    """Return one stretch of a class, (count, 3)."""

    def between(bounds: tuple[float, float], share: float) -> float:
        # the habit of the person, and the whim of the day
        return float(np.interp(0.7 * share + 0.3 * rng.uniform(), (0, 1), bounds))

    cadence, swing, shake = map(between, (CADENCE[now], SWING[now], SHAKE[now]), habit.tolist())
    gravity = np.array(POSTURE[now]) + turned + rng.normal(0.0, 0.25, 3)
    gravity = gravity + 0.25 * _wander(rng, count, seconds=15.0)
    gravity /= np.linalg.norm(gravity, axis=1, keepdims=True)
    phase = 2 * np.pi * np.cumsum(cadence * (1 + 0.04 * _wander(rng, count, 5.0)[:, 0])) / RATE
    strength = swing * np.exp(0.35 * _wander(rng, count, 8.0)[:, :1])
    moved = np.zeros((count, 3))
    for harmonic, share in ((1, 1.0), (2, 0.8), (3, 0.3), (4, 0.25)):
        wave = np.cos(harmonic * phase + rng.uniform(0, 2 * np.pi))
        moved += share * wave[:, None] * rng.normal(0.0, 1.0, 3)
    vibration = shake * np.exp(0.5 * _wander(rng, count, 10.0)[:, :1]) * rng.normal(size=(count, 3))
    samples: Floats = gravity + strength * moved + vibration
    if now == 0:  # the hand of one who sits does something now and then
        busy = np.clip(_wander(rng, count, 4.0)[:, :1] - 1.0, 0.0, None)
        samples += 0.25 * busy * _wander(rng, count, 0.2)
    return samples


def _wander(rng: np.random.Generator, count: int, seconds: float) -> Floats:
    """Return three slow curves (count, 3) of mean 0 and variance 1, that forget in some seconds."""
    every = max(1, round(seconds * RATE / 2))
    knots = rng.normal(size=(count // every + 3, 3))
    knots = 0.8 * knots[1:] + 0.6 * knots[:-1]
    at, where = np.arange(count) / every, np.arange(len(knots))
    return np.column_stack([np.interp(at, where, column) for column in knots.T])


WEAK = """
    tilt = ReduceMean<axes = [1], keepdims = 1>(window)
    off = Sub(window, tilt)
    square = Mul(off, off)
    spread = ReduceMean<axes = [1], keepdims = 0>(square)
    some = Add(spread, tiny)
    strength = Log(some)
    where = Flatten(tilt)
    features = Concat<axis = 1>(where, strength)
"""
"""Where gravity points, and how strongly each axis moves: (1, n, 3) to (1, 6)."""

STRONG = """
    tilt = ReduceMean<axes = [1], keepdims = 1>(window)
    off = Sub(window, tilt)
    axes = Transpose<perm = [2, 0, 1]>(off)
    swings = Conv<strides = [50]>(axes, waves)
    square = Mul(swings, swings)
    power = ReduceMean<axes = [0, 2], keepdims = 0>(square)
    pairs = Reshape(power, by_two)
    bands = ReduceMean<axes = [1], keepdims = 0>(pairs)
    positive = Add(bands, tiny)
    log_bands = Log(positive)
    tilts = Flatten(tilt)
    features = Concat<axis = 1>(tilts, log_bands)
"""
"""Where gravity points, and how much moves in each band of frequency: (1, n, 3) to (1, 3 + F)."""

HEAD = """
    logits = Gemm<transB = 1>(features, weights, bias)
    probs = Softmax(logits)
"""
GRAPHS = {"weak": WEAK, "strong": STRONG}
SAMPLES = {"weak": 5 * RATE, "strong": 30 * RATE}
BANDS = 0.4 * np.arange(1, 20)
TINY = 1e-4


def constants() -> dict[str, NDArray[Any]]:
    """Return the constants of the graphs: waves of 5 s in each band, cosines before sines."""
    time = np.arange(5 * RATE) / RATE
    bell = np.hanning(time.size + 1)[:-1] / time.size
    turns = 2 * np.pi * BANDS[:, None] * time
    waves = np.concatenate([np.cos(turns), np.sin(turns)]) * bell
    return {
        "tiny": np.array(TINY, np.float32),
        "waves": waves[:, None].astype(np.float32),
        "by_two": np.array([1, 2, BANDS.size]),
    }


def build(name: str, head: tuple[Floats, Floats] | None = None) -> Any:
    """Return an ONNX model from a window to features; with weights and bias, to probabilities."""
    from onnx import checker, numpy_helper, parser

    initial, body, last = constants(), GRAPHS[name], "features"
    if head is not None:
        body, last = body + HEAD, "probs"
        initial |= dict(zip(("weights", "bias"), (a.astype(np.float32) for a in head), strict=True))
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        f"{name} (float[1, {SAMPLES[name]}, 3] window) => (float[1, K] {last}) {{{body}}}"
    )
    model.graph.initializer.extend(
        numpy_helper.from_array(a, key) for key, a in initial.items() if key in body
    )
    checker.check_model(model, full_check=True)
    return model


def windows(who: Person, count: int, every: int = 5 * RATE) -> tuple[Floats, Ints]:
    """Return all windows (N, count, 3) of one class, and that class."""
    ends = np.arange(count, len(who.truth) + 1, every)
    rows = ends[:, None] + np.arange(-count, 0)
    pure = (who.truth[rows] == who.truth[rows[:, :1]]).all(axis=1)
    return who.samples[rows[pure]], who.truth[ends[pure] - 1]


def features(name: str, batch: Floats) -> Floats:
    """Return the features of windows (N, n, 3), as the ONNX graph computes them."""
    from onnxruntime import InferenceSession

    session = InferenceSession(build(name).SerializeToString())
    rows = [session.run(None, {"window": x[None]})[0][0] for x in batch.astype(np.float32)]
    return np.array(rows, np.float64)


def fit(name: str, people: list[Person]) -> Any:
    """Fit a scikit-learn classifier to the features of labelled people."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    labelled = [windows(who, SAMPLES[name]) for who in people]
    batch, truth = (np.concatenate(parts) for parts in zip(*labelled, strict=True))
    head = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return head.fit(features(name, batch), truth)


def export(name: str, fitted: Any, folder: Path) -> None:
    """Write ``<name>.onnx``, from a window to the probabilities of a fitted classifier."""
    import onnx

    scaler, linear = (part for _, part in fitted.steps)
    weights = linear.coef_ / scaler.scale_
    bias = linear.intercept_ - weights @ scaler.mean_
    onnx.save(build(name, (weights, bias)), folder / f"{name}.onnx")
