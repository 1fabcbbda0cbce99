"""What people do today: the simple rules that a filter has to beat, with a filter's methods.

All of them take each row of probabilities divided by its sum. A row of NaN, or one of weight 0, is
no observation: they keep their answer. Before the first observation all classes are alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._typing import Array, Classes
from .._validation import class_names
from ._base import BaseFilter, decay


class RawState(NamedTuple):
    """The last row, shape (K,)."""

    probs: Array


class WindowState(NamedTuple):
    """The last rows, the newest last, shape (window, K), and their weights, shape (window,)."""

    rows: Array
    weights: Array


class EmaState(NamedTuple):
    """How many observations the average is worth, and the average, shape (K,)."""

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
    def _pass(self, dt: float) -> None:
        """Let time pass."""

    @abstractmethod
    def _observe(self, s: Array, beta: float) -> None:
        """Take one observation of a weight above 0."""

    @property
    @abstractmethod
    def probs(self) -> Array:
        """The current class probabilities, shape (K,)."""

    @property
    def state(self) -> Any:
        """All that the filter remembers; assign it to restore."""
        return type(self._start)(*(np.copy(x) if np.ndim(x) else x for x in self._state))

    @state.setter
    def state(self, state: Any) -> None:
        names, taken = self._start._fields, []
        for name, value, like in zip(names, state, self._start, strict=True):
            array = np.array(value, np.float64)
            if array.shape != np.shape(like):
                raise ValueError(
                    f"{name} has shape {array.shape}; in the filter's state it has {np.shape(like)}"
                )
            if not (np.isfinite(array).all() and (array >= 0).all()):
                raise ValueError(f"{name} is {value}; all of it must be finite and not negative")
            taken.append(array if array.ndim else float(array))
        self._state = type(self._start)(*taken)

    def update(self, probs: ArrayLike, beta: float = 1.0, dt: float = 1.0) -> Array:
        """Let `dt` time units pass, then take one observation, shape (K,)."""
        self._step(*_core.check_row(len(self._classes), probs, beta, dt))
        return self.probs

    def run(self, probs: ArrayLike, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> Array:
        """Update with every row of (T, K) in turn: exactly a loop of `update`."""
        rows, beta, dt = _core.check_rows(len(self._classes), probs, beta, dt)
        weights, times = (np.broadcast_to(x, len(rows)).tolist() for x in (beta, dt))
        out = np.empty_like(rows)
        for t, (s, weight, time) in enumerate(zip(rows, weights, times, strict=True)):
            self._step(s, weight, time)
            out[t] = self.probs
        return out

    def _step(self, s: Array, beta: float, dt: float) -> None:
        self._pass(dt)
        if beta > 0 and not np.isnan(s[0]):
            self._observe(s / s.sum(), beta)

    def reset(self) -> None:
        """Return to the state before any data."""
        self._state = self._start

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"{type(self).__name__}({list(self._classes)}{given})"


class RawFilter(_Baseline):
    """No filter at all: the last row. Its weight and its time do not matter.

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

    @property
    def probs(self) -> Array:
        """The last row, shape (K,)."""
        return np.copy(self._state.probs)

    def _pass(self, dt: float) -> None:
        """Nothing changes."""

    def _observe(self, s: Array, beta: float) -> None:
        self._state = RawState(s)


class MeanFilter(_Baseline):
    """The mean of the last rows, each counted by its weight; time does not matter.

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
        if isinstance(window, bool) or window != int(window) or window < 1:
            raise ValueError(f"window is {window!r}; it must be a whole number, at least 1")
        super().__init__(classes, window=int(window))
        rows = np.zeros((int(window), len(self._classes)))
        self._start = self._state = WindowState(rows, np.zeros(int(window)))

    @property
    def probs(self) -> Array:
        """The mean, shape (K,)."""
        rows, weights = self._state
        total = weights.sum()
        if not total > 0:
            return np.copy(self._uniform)
        found: Array = (weights / total) @ rows
        return found

    def _pass(self, dt: float) -> None:
        """Nothing changes."""

    def _observe(self, s: Array, beta: float) -> None:
        rows, weights = self._state
        self._state = WindowState(np.vstack([rows[1:], s]), np.append(weights[1:], beta))


class VoteFilter(MeanFilter):
    """The majority of the last rows: each votes by its weight for its most probable class.

    The probabilities are the shares of the votes. A row with several most probable classes divides
    its vote; among classes with as many votes, the label is the first. Time does not matter.

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

    def _observe(self, s: Array, beta: float) -> None:
        best = s == s.max()
        super()._observe(best / best.sum(), beta)


class EmaFilter(_Baseline):
    r"""The exponential moving average, each row counted by its weight and by its age.

    At the time :math:`t` it is
    :math:`\sum_n \beta_n \gamma^{t - t_n} s_n / \sum_n \beta_n \gamma^{t - t_n}`. At equal weights
    and times this soon is the usual :math:`p \leftarrow \gamma p + (1 - \gamma) s`.

    Parameters
    ----------
    classes : int or iterable
        The number of classes, or their names.
    gamma : float, default 0.9
        What a time unit leaves of a row's weight, 0 to 1.
    half_life : float, optional
        Instead of gamma: the time that halves it.

    Examples
    --------
    >>> EmaFilter(["walk", "sit"], gamma=0.5).run([[1, 0], [0, 1]]).round(3)
    array([[1.   , 0.   ],
           [0.333, 0.667]])
    """

    _kind = "ema"

    def __init__(
        self, classes: Classes, gamma: float | None = None, *, half_life: float | None = None
    ) -> None:
        self._gamma = decay(gamma, half_life)
        if not 0 <= self._gamma <= 1:
            raise ValueError(f"gamma is {gamma!r}; it must lie in [0, 1]")
        super().__init__(classes, gamma=self._gamma)
        self._start = self._state = EmaState(0.0, self._uniform)

    @property
    def probs(self) -> Array:
        """The average, shape (K,)."""
        return np.copy(self._state.probs)

    def _pass(self, dt: float) -> None:
        weight, probs = self._state
        self._state = EmaState(weight * self._gamma**dt, probs)

    def _observe(self, s: Array, beta: float) -> None:
        weight, probs = self._state
        total = weight + beta
        self._state = EmaState(total, probs * (weight / total) + s * (beta / total))


class HoldFilter(_Baseline):
    """The last row of the highest weight so far.

    A row of less weight leaves it, one of equal weight replaces it. Time does not matter.

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

    @property
    def probs(self) -> Array:
        """The row that is held, shape (K,)."""
        return np.copy(self._state.probs)

    def _pass(self, dt: float) -> None:
        """Nothing changes."""

    def _observe(self, s: Array, beta: float) -> None:
        if beta >= self._state.beta:
            self._state = HoldState(beta, s)
