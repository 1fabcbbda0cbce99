"""The types of arrays, once for all modules."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Names = NDArray[np.str_]
Classes = SupportsIndex | Iterable[Hashable]
"""The number of classes, or their names."""
Weights = float | Mapping[str, float]
"""One weight for all sources, or the weight of each."""
NUMBER = (int, float, np.integer, np.floating)
"""What counts as a number; bool is an int, so check it first."""
