"""Masked arrays of NumPy: what is masked is missing. `np.asarray` would show what is behind."""

from __future__ import annotations

from typing import Any

import numpy as np

_MISSING: dict[str, Any] = {"f": np.nan, "M": np.datetime64("NaT"), "m": np.timedelta64("NaT")}


def without_mask(values: Any) -> Any:
    """Return a masked array as a plain one, NaN or None where it is masked; others as they are.

    Examples
    --------
    >>> without_mask(np.ma.array([0.25, 0.75], mask=[False, True]))
    array([0.25,  nan])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "iu" and values.ndim > 1:
        values = np.ma.asarray(values, np.float64)
    if values.dtype.kind in _MISSING:
        return values.filled(_MISSING[values.dtype.kind])
    cells = values.data.astype(np.object_)
    cells[np.ma.getmaskarray(values)] = None
    return cells
