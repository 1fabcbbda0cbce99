"""The protocol of a filter, and what the filters of this library share."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, names_keywords
from ..inputs import positive_duration
from ..support.types import Array, Duration, is_number

FilterType = TypeVar("FilterType", bound="Filter")


class Filter(Protocol):
    """The methods of every filter; any object that has them can be used as a filter."""

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

    def update(self, probs: Any, beta: float = 1.0, dt: float = 1.0) -> Array:
        """Let `dt` time units pass, then observe a row of probabilities, shape (K,)."""

    def run(self, probs: Any, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> Any:
        """Update with every row of (T, K) in turn."""

    def reset(self) -> None:
        """Return to the state before any data."""

    def copy(self) -> Self:
        """Return an independent filter in the same state."""


KINDS: dict[str, Any] = {}
"""The filter classes, by the name that each has in files of settings as its `_kind`.

A constructor takes the classes first, then options by name, and keeps the options in `_options`.
"""


class BaseFilter:
    """A filter built from its classes and options, so that it can be copied and saved."""

    _classes: tuple[Any, ...]
    _options: dict[str, Any]
    probs: Any
    state: Any

    _kind: str
    """The name of the class in files of settings; a class that has one can be saved."""

    def __init_subclass__(cls, of_heads: bool = False) -> None:
        if "__init__" in vars(cls):
            names_keywords(cls)
        if "_kind" in vars(cls) and not of_heads:
            KINDS[cls._kind] = cls

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._classes

    _averages = False
    """Whether the estimate is an average that hardly changes where the half-life is long."""

    _half_life: float | None = None
    """The time that halves what is left of the past; None where time does not matter."""

    @property
    def label(self) -> Any:
        """The most probable class; of several, the first."""
        return self._classes[int(self.probs.argmax())]

    def copy(self) -> Self:
        """Return an independent filter with the same settings, in the same state."""
        new = type(self)(self._first_argument(), **self._options)  # type: ignore[call-arg]
        new.state = self.state
        return new

    def _with_options(self, **options: Any) -> Self:
        return type(self)(self._first_argument(), **{**self._options, **options})  # type: ignore[call-arg]

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), self._first_argument(), **self._options)  # type: ignore[call-arg]
        return make, (), tuple(self.state)

    def _first_argument(self) -> Any:
        """Return the classes as they were given."""
        return self._classes

    def __setstate__(self, state: Any) -> None:
        self.state = state


class CompiledFilter(BaseFilter):
    """A filter of the core, with a precision and a temperature."""

    _dtype: np.dtype[Any]

    @property
    def temperature(self) -> float:
        """What is returned is p to the power 1 / temperature, normalised; the state is not."""
        return float(self._options["temperature"])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the arithmetic."""
        return self._dtype


def checked_prior(prior: ArrayLike, dtype: np.dtype[Any], classes: int) -> Array:
    """Return a prior as an array of one entry per class."""
    array: Array = np.array(prior, dtype)
    if array.shape != (classes,):
        raise ValueError(
            f"prior has shape {array.shape}; it must have one entry per class, shape ({classes},)"
        )
    return array


def with_options(f: Any, **options: Any) -> Any:
    """Return a fresh filter with the same settings but for some; of several heads, each one's."""
    return f._with_options(**options)


def check_temperature(temperature: float) -> float:
    """Return a temperature if it is a number; the core checks its range."""
    if not is_number(temperature):
        fix = "give a number, such as 1.4; 1 leaves the probabilities as they are"
        raise ArgumentError("temperature", temperature, fix=fix)
    return float(temperature)


def shown_temperature(temperature: float) -> str:
    """Return a temperature for a representation, where there is one."""
    return "" if temperature == 1 else f", temperature={temperature:.6g}"


def half_life_of(rate: float) -> float | None:
    """Return the half-life of a decay per time unit; None of 0 and 1.

    Examples
    --------
    >>> round(half_life_of(decay(None, "1min")), 9)
    60.0
    """
    return math.log(0.5) / math.log(rate) if 0 < rate < 1 else None


def decay(
    rate: float | None, half_life: Duration | None, name: str = "gamma", default: float = 0.9
) -> float:
    """Return the decay per time unit: itself, or that of a half-life, or the default."""
    if half_life is None:
        if rate is not None and not is_number(rate):
            raise TypeError(f"{name} is {rate!r}; it must be a number")
        return default if rate is None else float(rate)
    if rate is not None:
        raise ValueError(f"{name} and half_life are both given; give one of them")
    return float(0.5 ** (1.0 / positive_duration("half_life", half_life)))
