"""A source: whatever is called with samples, and what can be taken of its answers."""

from __future__ import annotations

from collections.abc import Callable
from reprlib import repr as short
from typing import Any

import numpy as np

from .. import _core
from .._typing import Floats

Source = Callable[[Any], Any]


def parse_output(said: Any, K: int) -> Floats:
    """Return an answer as K probabilities of its own memory, or say what is wrong with it.

    Examples
    --------
    >>> parse_output([[0.25, 0.75]], 2)
    array([0.25, 0.75])
    >>> parse_output("sit", 2)
    Traceback (most recent call last):
    ...
    ValueError: it is 'sit'; give 2 numbers, one probability a class
    """
    for leave in ("detach", "cpu"):  # a torch tensor: its gradient, its device
        if hasattr(said, leave):
            said = getattr(said, leave)()
    row = np.asarray(said)
    if row.shape == (1, K):
        row = row[0]
    if row.ndim != 1 or row.dtype.kind not in "biufO":
        raise ValueError(f"it is {short(said)}; give {K} numbers, one probability a class")
    try:
        return _core.check_row(K, row, 1.0, 0.0)[0]
    except (TypeError, ValueError) as error:
        raise ValueError(str(error).replace("probs", "it", 1)) from None
