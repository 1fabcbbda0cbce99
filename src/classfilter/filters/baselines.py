"""Baselines: the simple rules in use today, with the methods of a filter.

All of them divide each row of probabilities by its sum. A row of NaN, or one of weight 0, is no
observation: their estimate stays. Before the first observation it is uniform.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ArgumentError
from ..inputs import for_filter, prediction, results_like
from ..support.types import Array, Bools, Classes, Duration, is_number
from ..support.validation import class_names
from .base import BaseFilter, decay, half_life_of

__all__ = ["EmaFilter", "HoldFilter", "MeanFilter", "RawFilter", "VoteFilter"]

MAX_WINDOW = 1_000_000
"""The rows of a window are kept in memory."""


class RawState(NamedTuple):
    """The last row, shape (K,)."""

    probs: Array


class WindowState(NamedTuple):
    """The last rows, the newest last, shape (window, K), and their weights, shape (window,)."""

    rows: Array
    weights: Array


class EmaState(NamedTuple):
    """The total weight of the average, and the average, shape (K,)."""

    weight: float
    probs: Array


class HoldState(NamedTuple):
    """The weight of the row that is held, and the row, shape (K,)."""

    beta: float
    probs: Array


class _Baseline(BaseFilter, ABC):
    _start: Any
    """The state before any data."""

    def __init__(self, classes: Classes, **options: Any) -> None:
        self._classes = class_names(classes)
        self._options = options
        self._uniform = np.full(len(self._classes), 1 / len(self._classes))

    @abstractmethod
    def _run(self, rows: Array, beta: Array, dt: Array) -> Array:
        """Update with checked rows."""

    @property
    def probs(self) -> Array:
        """The current class probabilities, shape (K,)."""
        return np.copy(self._state.probs)

    @property
    def state(self) -> Any:
        """All that the filter remembers; assign it to restore."""
        return type(self._start)(*(np.copy(x) if np.ndim(x) else x for x in self._state))

    @state.setter
    def state(self, state: Any) -> None:
        names, values = self._start._fields, []
        for name, value, like in zip(names, state, self._start, strict=True):
            array = np.array(value, np.float64)
            if array.shape != np.shape(like):
                raise ValueError(
                    f"{name} has shape {array.shape}; in the filter's state it has {np.shape(like)}"
                )
            if not (np.isfinite(array).all() and (array >= 0).all()):
                raise ValueError(f"{name} is {value}; all of it must be finite and not negative")
            values.append(array if array.ndim else float(array))
        self._state = type(self._start)(*values)

    def update(self, probs: Any, beta: float = 1.0, dt: float = 1.0) -> Array:
        """Let `dt` time units pass, then observe a row of probabilities, shape (K,).

        They are in the order of the classes, or by their names; or they are a class.
        """
        if type(probs) not in (list, np.ndarray):
            probs = prediction(probs, self._classes)
        row, weight, time = _core.check_row(len(self._classes), probs, beta, dt)
        estimate: Array = self._run(row[None], np.array([weight]), np.array([time]))[0]
        return estimate

    def run(self, probs: Any, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> Any:
        """Update with every row of (T, K) in turn: exactly a loop of `update`.

        Of a dataframe, whose columns are matched by name, the result is one of the same kind.
        """
        rows = for_filter(probs, self._classes)
        rows, weights, times = _core.check_rows(len(self._classes), rows, beta, dt)
        return results_like(probs, self._classes, self._run(rows, weights, times))

    @staticmethod
    def _rows(rows: Array, beta: Array) -> tuple[Array, Array, Bools]:
        """Return the rows (T, K) with sum 1, their weights, and which are observations."""
        weights = np.broadcast_to(beta, len(rows))
        observed: Bools = (weights > 0) & ~np.isnan(rows[:, 0])
        return rows / rows.sum(axis=1, keepdims=True), weights, observed

    def reset(self) -> None:
        """Return to the state before any data."""
        self._state = self._start

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"{type(self).__name__}({list(self._classes)}{options})"


class RawFilter(_Baseline):
    """No filtering: the last row. Weights and times do not matter.

    Examples
    --------
    >>> f = RawFilter(["walk", "sit"])
    >>> f.update([0.75, 0.25]), f.label
    (array([0.75, 0.25]), 'walk')
    """

    _kind = "raw"

    def __init__(self, classes: Classes) -> None:
        super().__init__(classes)
        self._start = self._state = RawState(self._uniform)

    def _run(self, rows: Array, beta: Array, dt: Array) -> Array:
        rows, _, observed = self._rows(rows, beta)
        out = _last_chosen(rows, observed, self._state.probs)
        if len(out):
            self._state = RawState(out[-1].copy())
        return out


class MeanFilter(_Baseline):
    """The mean of the last rows, each with its weight; time does not matter.

    Parameters
    ----------
    classes : int or iterable
        The number of classes, or their names.
    window : int, default 5
        How many rows.

    Examples
    --------
    >>> MeanFilter(["walk", "sit"], window=2).run([[1, 0], [0.5, 0.5], [0, 1]])
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """

    _kind = "mean"

    def __init__(self, classes: Classes, window: int = 5) -> None:
        whole = is_number(window) and window % 1 == 0
        if not (whole and 1 <= window <= MAX_WINDOW):
            raise ValueError(
                f"window is {window!r}; it must be a whole number of rows, from 1 to {MAX_WINDOW:,}"
            )
        super().__init__(classes, window=int(window))
        rows = np.zeros((int(window), len(self._classes)))
        self._start = self._state = WindowState(rows, np.zeros(int(window)))

    @property
    def probs(self) -> Array:
        """The mean, shape (K,)."""
        rows, weights = self._state
        mean: Array = _weighted_means(rows, weights, len(weights), self._uniform)[0]
        return mean

    def _run(self, rows: Array, beta: Array, dt: Array) -> Array:
        rows, weights, observed = self._rows(rows, beta)
        before, weights_before = self._state
        window = len(weights_before)
        s = np.concatenate([before, self._evidence(rows[observed])])
        w = np.concatenate([weights_before, weights[observed]])
        means = _weighted_means(s, w, window, self._uniform)
        self._state = WindowState(s[-window:].copy(), w[-window:].copy())
        after: Array = means[np.cumsum(observed)]
        return after

    def _evidence(self, s: Array) -> Array:
        """Return what rows (..., K) count as."""
        return s


class VoteFilter(MeanFilter):
    """The majority of the last rows: each votes by its weight for its most probable class.

    The probabilities are the shares of the votes. A row with several most probable classes splits
    its vote; among classes with equally many votes, the label is the first. Time does not matter.

    Parameters
    ----------
    classes : int or iterable
        The number of classes, or their names.
    window : int, default 5
        How many rows.

    Examples
    --------
    >>> VoteFilter(["walk", "sit"]).run([[0.6, 0.4], [0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])[-1]
    array([0.75, 0.25])
    """

    _kind = "vote"

    def _evidence(self, s: Array) -> Array:
        best = s == s.max(axis=-1, keepdims=True)
        votes: Array = best / best.sum(axis=-1, keepdims=True)
        return votes


class EmaFilter(_Baseline):
    r"""The exponential moving average, each row weighted by its weight and its age.

    At the time :math:`t` it is
    :math:`\sum_n \beta_n \gamma^{t - t_n} s_n / \sum_n \beta_n \gamma^{t - t_n}`. At equal weights
    and times this soon is the usual :math:`p \leftarrow \gamma p + (1 - \gamma) s`.

    Parameters
    ----------
    classes : int or iterable
        The number of classes, or their names.
    gamma : float, default 0.9
        Decay of a row's weight per time unit, 0 to 1.
    half_life : float, str or timedelta, optional
        Instead of gamma: the time that halves the weight of a row. A number is in time units;
        ``"60s"``, ``"5m"`` and timedeltas are for times in seconds, or dates.

    Examples
    --------
    >>> EmaFilter(["walk", "sit"], gamma=0.5).run([[1, 0], [0, 1]]).round(3)
    array([[1.   , 0.   ],
           [0.333, 0.667]])
    """

    _kind = "ema"
    _averages = True

    def __init__(
        self, classes: Classes, gamma: float | None = None, *, half_life: Duration | None = None
    ) -> None:
        self._gamma = decay(gamma, half_life)
        if not 0 <= self._gamma <= 1:
            raise ArgumentError("gamma", gamma, must="it must lie in [0, 1]")
        super().__init__(classes, gamma=self._gamma)
        self._half_life = half_life_of(self._gamma)
        self._start = self._state = EmaState(0.0, self._uniform)

    def _run(self, rows: Array, beta: Array, dt: Array) -> Array:
        rows, weights, observed = self._rows(rows, beta)
        times = np.broadcast_to(dt, len(rows)).tolist()
        out, (total, average) = np.empty_like(rows), self._state
        columns = zip(rows, weights.tolist(), times, observed.tolist(), strict=True)
        for t, (s, weight, time, is_observed) in enumerate(columns):
            total *= self._gamma**time
            if is_observed:
                before, total = total, total + weight
                average = average * (before / total) + s * (weight / total)
            out[t] = average
        self._state = EmaState(total, average)
        return out


class HoldFilter(_Baseline):
    """The last row of the highest weight so far.

    A row of less weight is ignored, one of equal weight replaces it. Time does not matter.

    Examples
    --------
    >>> f = HoldFilter(["walk", "sit"])
    >>> f.run([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]], beta=[0.5, 1, 0.5])
    array([[0.9, 0.1],
           [0.2, 0.8],
           [0.2, 0.8]])
    """

    _kind = "hold"

    def __init__(self, classes: Classes) -> None:
        super().__init__(classes)
        self._start = self._state = HoldState(0.0, self._uniform)

    def _run(self, rows: Array, beta: Array, dt: Array) -> Array:
        rows, weights, observed = self._rows(rows, beta)
        weight, held = self._state
        highest = np.maximum.accumulate(np.append(weight, np.where(observed, weights, 0.0)))[1:]
        out = _last_chosen(rows, observed & (weights >= highest), held)
        if len(out):
            self._state = HoldState(float(highest[-1]), out[-1].copy())
        return out


def _last_chosen(rows: Array, chosen: Bools, start: Array) -> Array:
    """Return for each row (T, K) the last chosen one so far; before any, the start."""
    index = np.maximum.accumulate(np.where(chosen, np.arange(1, len(rows) + 1), 0))
    last: Array = np.concatenate([start[None], rows])[index]
    return last


def _weighted_means(rows: Array, weights: Array, window: int, nothing: Array) -> Array:
    """Return the weighted mean of every `window` successive rows, (T - window + 1, K)."""
    count = len(rows) - window + 1
    # One position of the window after the other: the order of sums does not hang on the count.
    total, sums = np.zeros((count, 1)), np.zeros((count, rows.shape[1]))
    for i in range(window):
        total += weights[i : i + count, None]
    for i in range(window):
        sums += weights[i : i + count, None] * rows[i : i + count]
    means: Array = np.where(total > 0, sums / np.where(total > 0, total, 1.0), nothing)
    return means
