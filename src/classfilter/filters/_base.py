"""The filters: what turns a stream of class probabilities into a steady one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from os import PathLike, fspath
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .._settings import save
from .._typing import Array

FilterType = TypeVar("FilterType", bound="Filter")
Made = TypeVar("Made", bound="BaseFilter")


class Filter(Protocol):
    """What every filter can do; anything that does it can take a filter's place."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The K classes."""

    @property
    def probs(self) -> Array:
        """The current class probabilities, shape (K,)."""

    @property
    def label(self) -> Any:
        """The most probable class."""

    state: Any
    """All that the filter remembers; assign it to restore."""

    def update(self, probs: ArrayLike, beta: float = 1.0, dt: float = 1.0) -> Array:
        """Let `dt` time units pass, then take one observation, shape (K,)."""

    def run(self, probs: ArrayLike, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> Array:
        """Update with every row of (T, K) in turn."""

    def reset(self) -> None:
        """Return to the state before any data."""

    def copy(self: FilterType) -> FilterType:
        """Return an independent filter in the same state."""


class BaseFilter:
    """A filter that is made from its classes and options, and so can be made again."""

    _classes: tuple[Any, ...]
    _options: dict[str, Any]
    probs: Any
    state: Any

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._classes

    @property
    def label(self) -> Any:
        """The most probable class; of several, the first."""
        return self._classes[int(self.probs.argmax())]

    def copy(self: Made) -> Made:
        """Return an independent filter with the same settings, in the same state."""
        new = type(self)(self._classes, **self._options)  # type: ignore[call-arg]
        new.state = self.state
        return new

    def save(
        self,
        path: str | PathLike[str],
        beta: Mapping[str, float] | None = None,
        policy: Any = None,
    ) -> None:
        """Write the settings, and weights of sources and a policy if given, as a TOML file.

        See `load`.
        """
        save(self, fspath(path), beta, policy=policy)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self._classes, **self._options), (), tuple(self.state)  # type: ignore[call-arg]

    def __setstate__(self, state: Any) -> None:
        self.state = state


def precision(dtype: DTypeLike) -> np.dtype[Any]:
    """Return float64 or float32, or refuse."""
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype is {found}; it must be float64 or float32")
    return found


def decay(
    kept: float | None, half_life: float | None, name: str = "gamma", default: float = 0.9
) -> float:
    """Return what a time unit leaves, from itself or from the half-life, or the default."""
    if half_life is None:
        return default if kept is None else float(kept)
    if kept is not None:
        raise ValueError(f"{name} and half_life are both given; give one of them")
    if not (half_life > 0 and math.isfinite(half_life)):
        raise ValueError(f"half_life is {half_life!r}; it must be positive and finite")
    return float(0.5 ** (1.0 / half_life))
