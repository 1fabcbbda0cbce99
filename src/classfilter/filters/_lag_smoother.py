"""Fixed-lag smoothing of a stream that comes in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array, Floats
from ._dirichlet import DirichletFilter
from ._dirichlet_smoothing import dirichlet_rows
from ._smoothing import in_double, smooth
from ._sticky import StickyFilter
from ._sticky_smoothing import sticky_rows


class LagSmoother:
    """Smooth one stream block by block: the rows of ``smooth(..., lag=lag)``, to the bit.

    It holds the last `lag` rows or, at the beginning, one more.

    Parameters
    ----------
    filter : DirichletFilter or StickyFilter
        Its settings, and its state before the first row; it does not change.
    lag : int
        How many later rows each result uses; 1 or more.

    Examples
    --------
    >>> f = StickyFilter(["walk", "sit"], stay=0.9)
    >>> s = np.array([[0.7, 0.3], [0.1, 0.9], [0.8, 0.2], [0.8, 0.2]])
    >>> smoother = LagSmoother(f, lag=1)
    >>> [len(smoother.push(block, np.ones(1), np.ones(1))) for block in s[:, None]]
    [0, 0, 2, 1]
    >>> len(smoother.flush())
    1
    """

    def __init__(self, filter: DirichletFilter | StickyFilter, lag: int) -> None:  # noqa: A002
        self._filter = filter.copy()
        self._double: Any = in_double(self._filter.copy())
        self._lag = lag
        self._begun = False
        K = len(filter.classes)
        self._rows: tuple[Floats, Floats, Floats] = np.empty((0, K)), np.empty(0), np.empty(0)

    def push(self, probs: Floats, beta: Floats, dt: Floats) -> Array:
        """Take more rows; return the results of those that are complete, the earliest first."""
        block = zip(self._rows, (probs, beta, dt), strict=True)
        self._rows = tuple(np.concatenate(pair) for pair in block)  # type: ignore[assignment]
        held = len(self._rows[0])
        # A stream no longer than the lag is smoothed as a whole.
        self._begun = self._begun or held > self._lag + 1
        return self._smoothed(max(held - self._lag, 0) if self._begun else 0)

    def flush(self) -> Array:
        """Return the results of the last rows."""
        if self._begun:
            return self._smoothed(len(self._rows[0]))
        rest: Array = smooth(self._filter, *self._rows, lag=self._lag)
        return rest

    def _smoothed(self, count: int) -> Array:
        """Return the results of the first rows held, and hold them no longer."""
        s, beta, dt = self._rows
        self._rows = s[count:], beta[count:], dt[count:]
        if not count:
            return np.empty((0, s.shape[1]), self._filter.dtype)
        weights = np.where(np.isnan(s[:, 0]), 0.0, beta)
        if isinstance(self._filter, StickyFilter):
            forward = self._filter.run(s[:count], beta=beta[:count], dt=dt[:count])
            smoothed = sticky_rows(self._double, forward, s, weights, dt, self._lag)
        else:
            smoothed = dirichlet_rows(self._double, count, s, weights, dt, self._lag)
        return smoothed.astype(self._filter.dtype)
