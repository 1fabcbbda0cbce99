"""Types that several modules share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Classes = SupportsIndex | Iterable[Hashable]
"""The number of classes, or their names."""
Weights = Mapping[str, float] | Mapping[str, float | Mapping[str, float]] | float
"""One weight for all sources, or the weight of each."""
Duration = float | str | timedelta | np.timedelta64
"""How long something lasts: a number in the unit of the times, or ``"60s"`` or a timedelta."""
Confidence = ArrayLike | Sequence[float | None]
"""How probable classes are: one number for all, or one of each, None where it is not known."""
NUMBER: tuple[type[int], type[float], type[np.integer[Any]], type[np.floating[Any]]] = (
    int, float, *(np.dtype(code).type for code in "bhilqBHILQ"), np.floating
)  # type: ignore[assignment]  # fmt: skip
"""The types of numbers; bool is an int, so exclude it first. NumPy's timedelta64 is one of its
signed integers, and counts in any unit: it is not here."""


def is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are none."""
    return isinstance(value, NUMBER) and not isinstance(value, bool)


class Frame(Protocol):
    """A dataframe of pandas, Polars or PyArrow."""

    @property
    def columns(self) -> Any:
        """The columns."""


FrameType = TypeVar("FrameType", bound=Frame)
