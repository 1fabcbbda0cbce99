"""Arrays that NumPy would not read as they are meant: masked ones, and tensors of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from .types import Floats, Ints

_MISSING: dict[str, Any] = {
    "f": np.nan,
    "M": np.datetime64("NaT", "s"),
    "m": np.timedelta64("NaT", "s"),  # NumPy 2.5 warns of times without a unit
}


MIN_STEPS = 5
"""A median of fewer steps says little."""


def as_plain(values: Any) -> Any:
    """Return a masked array with NaN or None where it is masked, and a tensor without its gradient.

    Anything else is returned as it is.

    Examples
    --------
    >>> as_plain(np.ma.array([0.25, 0.75], mask=[False, True]))
    array([0.25,  nan])
    """
    if hasattr(values, "detach"):
        values = values.detach()
        values = values.cpu() if hasattr(values, "cpu") else values
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":  # NumPy has none
            values = values.float()
        return values.numpy() if hasattr(values, "numpy") else values
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "iu" and values.ndim > 1:
        values = np.ma.asarray(values, np.float64)
    if values.dtype.kind in _MISSING:
        return values.filled(_MISSING[values.dtype.kind])
    cells = values.data.astype(np.object_)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def median_step(steps: Floats) -> float:
    """Return the median of the positive steps; 1 where there are none."""
    positive = steps[steps > 0]
    return float(np.median(positive)) if positive.size else 1.0


def stable_argsort(codes: Ints) -> Ints:
    """Return the order of numbers from 0 on; those that are equal keep their order."""
    # NumPy sorts 16 bits by radix: four times as fast.
    narrow = codes.astype(np.uint16) if codes.max(initial=0) < 1 << 16 else codes
    return np.argsort(narrow, kind="stable")
