"""Labelled streams of a weak and a strong classifier whose errors are correlated in time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..inputs import Rows, rows
from ..support.types import Floats, Ints


@dataclass(frozen=True)
class Classifier:
    """The accuracy, stability and calibration of a simulated classifier.

    Attributes
    ----------
    accuracy : float or sequence of K floats
        Probability that the arg max is correct: one for all classes, or one per class
        (sensitivity).
    jitter : float
        Share of the noise that is new at every step, 0 to 1; the rest lasts `error_time`.
    sharpness : float
        Factor on the reported log-odds. At 1 the mean confidence equals the accuracy, above it the
        classifier is over-confident, below it under-confident.
    drift : float
        Change of the accuracy in 24 h, linear, zero in the middle of the stream.
    window : float
        Seconds of the past that it uses. Across a change of class it sees a mixture of both.
    """

    accuracy: float | Sequence[float] = 0.8
    jitter: float = 0.3
    sharpness: float = 1.0
    drift: float = 0.0
    window: float = 0.0


# Order: bicycling, mixed, sit-stand, sleep, vehicle, walking.
_NIGHT = (0.0, 0.05, 0.3, 10.0, 0.0, 0.05)
_RUSH = (0.05, 1.0, 1.0, 0.005, 0.15, 0.6)
_DAY = (0.01, 1.0, 1.1, 0.005, 0.04, 0.5)
_EVE = (0.005, 0.8, 1.3, 0.02, 0.03, 0.25)

PRESETS: dict[str, dict[str, Any]] = {
    "plain": {
        "classes": 4,
        "dwell": 300.0,
        "dwell_shape": 1.0,
        "prior": 1.0,
        "transitions": 1.0,
        "similarity": 1.0,
        "weak": Classifier(0.7, jitter=0.4),
        "strong": Classifier(0.9, jitter=0.2),
        "error_time": 60.0,
        "shared": 0.3,
        "start_hour": 0.0,
    },
    # Accuracies and errors fit the Raw columns of the paper's tables. Jitter and error_time are one
    # of several pairs that fit its Simple, chosen with Single and Multiple in view. The strong
    # classifier, which the paper does not describe, is assumed.
    "capture24": {
        "classes": ("bicycling", "mixed", "sit-stand", "sleep", "vehicle", "walking"),
        "dwell": (900, 300, 690, 7200, 1000, 240),
        "dwell_shape": (1.5, 0.7, 0.7, 2.0, 1.5, 0.7),
        "start_hour": 7.0,
        "prior": [_NIGHT] * 7 + [_RUSH] * 3 + [_DAY] * 6 + [_RUSH] * 3 + [_EVE] * 3 + [_NIGHT] * 2,
        "transitions": (
            (0, 2, 2, 0, 0, 2),
            (1, 0, 2, 1, 1, 1),
            (1, 2, 0, 1, 1, 2),
            (0, 2, 2, 0, 0, 1),
            (0, 1, 1, 0, 0, 3),
            (1, 2, 2, 1, 2, 0),
        ),
        "similarity": (
            (0.00, 0.40, 0.29, 0.00, 0.06, 0.25),
            (0.01, 0.00, 0.73, 0.02, 0.03, 0.21),
            (0.01, 0.46, 0.00, 0.39, 0.08, 0.06),
            (0.00, 0.09, 0.90, 0.00, 0.01, 0.00),
            (0.01, 0.16, 0.79, 0.02, 0.00, 0.02),
            (0.03, 0.60, 0.35, 0.00, 0.02, 0.00),
        ),
        "weak": Classifier((0.858, 0.67, 0.84, 0.80, 0.63, 0.305), jitter=0.2, sharpness=1.2),
        "strong": Classifier((0.88, 0.80, 0.94, 0.90, 0.88, 0.60), 0.1, sharpness=1.2, window=30.0),
        "error_time": 120.0,
        "shared": 0.3,
    },
}


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated stream, with the predictions of both classifiers at every step.

    Attributes
    ----------
    time : ndarray (T,)
        Seconds since the start; equal steps, save for gaps.
    truth : ndarray of int (T,)
        Index of the true class.
    classes : tuple of str
        Names of the K classes.
    probs : dict of str to ndarray (T, K)
        The predictions of ``"weak"`` and ``"strong"`` at every step, so that any policy can be
        replayed.
    """

    time: Floats
    truth: Ints
    classes: tuple[str, ...]
    probs: dict[str, Floats]

    def mixed(self, every: int = 12) -> tuple[NDArray[np.str_], Floats]:
        """Apply the paper's policy: strong at every `every`-th step from the first on, else weak.

        Parameters
        ----------
        every : int
            Steps from one strong call to the next; 12 steps of 5 s are the paper's minute.

        Returns
        -------
        source, probs : ndarray of str (T,), ndarray (T, K)
            The source of each row, ``"weak"`` or ``"strong"``, and its predictions.

        Examples
        --------
        >>> source, probs = simulate(hours=1.0).mixed()
        >>> source[:3].tolist(), int((source == "strong").sum()), probs.shape
        (['strong', 'weak', 'weak'], 60, (720, 4))
        """
        if every < 1:
            raise ValueError(f"every is {every}; it counts steps and must be 1 or more")
        strong = np.arange(self.time.size) % every == 0
        source = np.where(strong, "strong", "weak")
        return source, np.where(strong[:, None], self.probs["strong"], self.probs["weak"])

    def rows(self, every: int | None = 12) -> Rows:
        """Return the predictions as labelled rows, by the policy of `mixed`.

        Parameters
        ----------
        every : int or None
            As in `mixed`; or None: rows of both at every step.

        Examples
        --------
        >>> two = simulate(classes=["rest", "move"], hours=1.0)
        >>> two.rows()
        Rows(720 rows, classes ['rest', 'move'], sources ['strong', 'weak'])
        >>> len(two.rows(every=None))
        1440
        """
        if every is not None:
            source, probs = self.mixed(every)
            return rows(
                time=self.time, source=source, probs=probs, classes=self.classes, label=self.truth
            )
        time, truth = np.repeat(self.time, 2), np.repeat(self.truth, 2)
        predictions = np.stack([self.probs["weak"], self.probs["strong"]], axis=1)
        source = np.tile(["weak", "strong"], self.time.size)
        probs = predictions.reshape(time.size, -1)
        return rows(time=time, source=source, probs=probs, classes=self.classes, label=truth)


def simulate(
    preset: str = "plain",
    *,
    hours: float = 24.0,
    step: float = 5.0,
    seed: int = 0,
    classes: int | Sequence[str] | None = None,
    dwell: ArrayLike | None = None,
    dwell_shape: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    transitions: ArrayLike | None = None,
    similarity: ArrayLike | None = None,
    weak: float | Sequence[float] | Classifier | None = None,
    strong: float | Sequence[float] | Classifier | None = None,
    error_time: float | None = None,
    shared: float | None = None,
    gaps: float = 0.0,
    gap_length: float = 600.0,
    start_hour: float | None = None,
) -> Simulation:
    """Simulate a labelled stream of a weak and a strong classifier.

    With the truth ``c``, the confusion row ``M_c`` (accuracy at ``c``, the rest shared out by
    `similarity`) and Gumbel noise ``g`` correlated over time, a classifier reports
    ``softmax(a (log M_c + g))``. Its arg max is ``k`` with probability ``M_ck``, exactly.

    Parameters
    ----------
    preset : {"plain", "capture24"}
        Where to start from; the other arguments change it, and their defaults below are the plain
        ones. ``"capture24"`` is a day of the paper's six classes, with the sensitivities and
        precisions of its unfiltered ("Raw") stream.
    hours, step : float
        Length of the stream, and seconds from one step to the next.
    seed : int
        Equal seeds give equal streams. The truth, the noise and the gaps have generators of their
        own: another classifier sees the same day.
    classes : int or sequence of str
        How many classes, or their names; 4.
    dwell : float or array_like (K,)
        Mean seconds that a class lasts; 300.
    dwell_shape : float or array_like (K,)
        Shape of the gamma distribution of that time. At 1 it is memoryless; below, there are
        many short visits and a few very long ones; 1.
    prior : array_like (K,) or (24, K)
        Relative probability that a class comes next, at any time or in each hour of the day; equal.
    transitions : array_like (K, K)
        Which class follows: the class after ``i`` is ``j != i`` with probability proportional to
        ``transitions[i, j] * prior[j]``; equal.
    similarity : array_like (K, K)
        Which errors occur: a wrong prediction of class ``i`` is ``j`` with probability
        proportional to ``similarity[i, j]``; equal.
    weak, strong : Classifier, float or sequence of K floats
        The two classifiers; a number is an accuracy. 0.7 and 0.9.
    error_time, shared : float
        Correlation time of the lasting part of the noise, in seconds, 60; and the share of it
        that both classifiers have in common, 0 to 1, 0.3.
    gaps, gap_length : float
        Share of time, 0 to 0.95, whose rows are missing, and the mean seconds of such a gap.
    start_hour : float
        Hour of the day at which the stream begins, for an hourly `prior`; 0.

    Returns
    -------
    Simulation
        Times, truth, and both classifiers' probabilities.

    Examples
    --------
    >>> day = simulate("capture24", seed=1)
    >>> day.probs["weak"].shape, day.classes[3]
    ((17280, 6), 'sleep')
    >>> two = simulate(classes=["rest", "move"], dwell=[600, 60], weak=0.6, hours=2.0)
    >>> float(two.time[-1]), two.mixed(every=6)[1].shape
    (7195.0, (1440, 2))
    """
    if preset not in PRESETS:
        raise ValueError(f"preset is {preset!r}; there are: {', '.join(PRESETS)}")
    base = PRESETS[preset]

    def pick(name: str, value: Any) -> Any:
        return base[name] if value is None else value

    step = _within_limits("step", step, 1e-6)
    hours = _within_limits("hours", hours, step / 3600)
    names = _class_names(pick("classes", classes))
    K = len(names)
    mean_dwell = _filled("dwell", pick("dwell", dwell), (K,), step)
    shape = _filled("dwell_shape", pick("dwell_shape", dwell_shape), (K,), 0.05)
    hourly_prior = _filled("prior", pick("prior", prior), (24, K))
    follow = _off_diagonal("transitions", pick("transitions", transitions), K)
    errors = _off_diagonal("similarity", pick("similarity", similarity), K)
    tau = _within_limits("error_time", pick("error_time", error_time), 0)
    share = _within_limits("shared", pick("shared", shared), 0, 1)
    gaps = _within_limits("gaps", gaps, 0, 0.95)
    gap_length = _within_limits("gap_length", gap_length, step)
    begin = _within_limits("start_hour", pick("start_hour", start_hour), 0, 24)

    T = round(hours * 3600 / step)
    time: Floats = np.arange(T, dtype=np.float64) * step
    rng = np.random.default_rng([seed, 0])
    truth = _visits(rng, time, mean_dwell, shape, hourly_prior, follow, begin)
    phi = math.exp(-step / tau) if tau > 0 else 0.0
    rng = np.random.default_rng([seed, 1])
    common = _ornstein_uhlenbeck(rng, T, K, phi)
    probs = {}
    for name, argument in (("weak", weak), ("strong", strong)):
        spec = pick(name, argument)
        if not isinstance(spec, Classifier):
            spec = replace(base[name], accuracy=spec)
        alone = _ornstein_uhlenbeck(rng, T, K, phi)
        jitter = _within_limits(f"{name}: jitter", spec.jitter, 0, 1)
        lasting = math.sqrt(share) * common + math.sqrt(1 - share) * alone
        noise = math.sqrt(1 - jitter) * lasting
        noise += math.sqrt(jitter) * rng.standard_normal((T, K))
        probs[name] = _predictions(name, spec, truth, errors, noise, step)
    if gaps > 0:
        rng = np.random.default_rng([seed, 2])
        mean = np.array([gap_length * (1 - gaps) / gaps, gap_length])
        on = _visits(rng, time, mean, np.ones(2), np.ones((24, 2)), 1 - np.eye(2), 0.0) == 0
        time, truth = time[on], truth[on]
        probs = {name: p[on] for name, p in probs.items()}
    return Simulation(time, truth, names, probs)


def _visits(
    rng: np.random.Generator,
    time: Floats,
    dwell: Floats,
    shape: Floats,
    prior: Floats,
    follow: Floats,
    start_hour: float,
) -> Ints:
    """Draw the class at each time (T,) from the semi-Markov chain; prior is (24, K)."""
    weights = prior[:, None, :] * follow
    total = weights.sum(axis=-1, keepdims=True)
    if np.any(total <= 0):
        hour, i = (int(x) for x in np.argwhere(total[..., 0] <= 0)[0])
        raise ValueError(f"prior, transitions: nothing can follow class {i} in hour {hour}")
    cumulative = np.cumsum(weights / total, axis=-1)[..., :-1].tolist()
    first = prior[int(start_hour) % 24] * dwell
    k = int(rng.choice(dwell.size, p=first / first.sum()))
    now, ends, visited = 0.0, [], []
    while now <= time[-1]:
        now += float(rng.gamma(shape[k], dwell[k] / shape[k]))
        ends.append(now)
        visited.append(k)
        hour = int(start_hour + now / 3600) % 24
        k = bisect_right(cumulative[hour][k], rng.random())
    return np.asarray(visited, dtype=np.intp)[np.searchsorted(ends, time, side="right")]


def _ornstein_uhlenbeck(rng: np.random.Generator, T: int, K: int, phi: float) -> Floats:
    """Draw stationary AR(1) noise (T, K) of unit variance: ``x_t = phi x_(t-1) + e_t``.

    Uses ``1 / (1 - phi L) = prod_k (1 + (phi L)^(2^k))``, with L the shift by one step.
    """
    x = rng.standard_normal((T, K))
    x[1:] *= math.sqrt(1 - phi * phi)
    shift = 1
    while shift < T and phi**shift > 1e-12:
        x[shift:] += phi**shift * x[:-shift]
        shift *= 2
    return x


@lru_cache(maxsize=1)
def _gumbel_table() -> tuple[Floats, Floats]:
    """Tabulate the map from a standard normal value to the Gumbel value of the same rank."""
    u = np.linspace(-8.0, 8.0, 3201)
    return u, np.array([-math.log(-math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))) for x in u])


def _predictions(
    name: str, spec: Classifier, truth: Ints, errors: Floats, noise: Floats, step: float
) -> Floats:
    """Turn normal noise (T, K) into the classifier's probabilities (T, K)."""
    T, K = noise.shape
    accuracy = _filled(f"{name}: accuracy", spec.accuracy, (K,), 0, 1)
    sharpness = _within_limits(f"{name}: sharpness", spec.sharpness, 0)
    drift = _within_limits(f"{name}: drift", spec.drift, -1e9)
    window = _within_limits(f"{name}: window", spec.window, 0)

    day = (np.arange(T) - (T - 1) / 2) * step / 86400
    hit = np.clip(accuracy[truth] + drift * day, 0.0, 1.0)
    row = errors[truth] * (1 - hit)[:, None]
    row[np.arange(T), truth] = hit
    n = min(T, max(1, round(window / step)))
    if n > 1:  # the mean over the last n steps
        past = np.concatenate([np.zeros((1, K)), np.cumsum(row, axis=0)])
        ahead = np.arange(1, T + 1)
        first = np.maximum(ahead - n, 0)
        row = (past[ahead] - past[first]) / (ahead - first)[:, None]
    z = np.log(np.maximum(row, 1e-9)) + np.interp(noise, *_gumbel_table())
    z -= z.max(axis=1, keepdims=True)
    z *= sharpness * _calibrated_slope(z[:: max(1, T // 2000)], float(hit.mean()))
    p: Floats = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _calibrated_slope(z: Floats, accuracy: float) -> float:
    """Solve ``mean max softmax(a z) = accuracy`` for a; z (n, K) has its row maxima at 0."""
    low, high = 1e-3, 1e3
    for _ in range(40):
        a = math.sqrt(low * high)
        confidence = float(np.mean(1 / np.exp(a * z).sum(axis=1)))
        low, high = (a, high) if confidence < accuracy else (low, a)
    return a


def _class_names(classes: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(classes, int):
        classes = [f"class {k}" for k in range(classes)]
    names = tuple(str(c) for c in classes)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"classes is {names}; give two or more different names")
    return names


def _within_limits(name: str, value: float, low: float, high: float = 1e9) -> float:
    value = float(value)
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; it must lie in {low:g} to {high:g}")
    return value


def _filled(
    name: str, value: Any, shape: tuple[int, ...], low: float = 0.0, high: float = 1e9
) -> Floats:
    """Broadcast to shape and check the range."""
    array = np.asarray(value, dtype=np.float64)
    try:
        a = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}; it must fit {shape}") from None
    if not np.all((a >= low) & (a <= high)):
        raise ValueError(f"{name} is {value}; it must lie in {low:g} to {high:g}")
    return a


def _off_diagonal(name: str, value: Any, K: int) -> Floats:
    """Return a (K, K) table with a zero diagonal, its rows scaled to the sum 1."""
    a = _filled(name, value, (K, K)) * (1 - np.eye(K))
    total = a.sum(axis=1, keepdims=True)
    if np.any(total == 0):
        raise ValueError(f"{name}: row {int(np.argmin(total))} is zero outside the diagonal")
    scaled: Floats = a / total
    return scaled
