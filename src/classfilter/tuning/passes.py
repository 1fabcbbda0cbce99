"""Passes of a sticky filter over all streams at once, forward and backward.

The streams stand one after the other, with a time between them that is long enough to forget.
"""

from __future__ import annotations

import numpy as np

from ..filters import StickyFilter
from ..support.types import Floats
from .rows import JoinedRows, floored

FORGET = 1e12
"""The time between two streams, in median steps: the pipeline returns to its stationary shares."""
LOW_FLOOR = 1e-6
"""The floor of passes that are not those of the tuned filter."""


class Passes:
    """Runs sticky filters over the rows of all streams.

    Times are rounded: within a fifth of the median step to it, longer ones by up to a percent.
    Otherwise each row would need its own power of the transitions.
    """

    def __init__(self, rows: JoinedRows) -> None:
        self._rows = rows
        steps = rows.dt / rows.step
        grid = np.exp(np.round(np.log(np.maximum(steps, 1.0)) * 50) / 50)
        steps = np.where(np.abs(steps - 1) < 0.2, 1.0, np.where(steps > 1.2, grid, steps))
        self._forget = FORGET * rows.step
        T, n = len(steps), rows.streams
        # A row before each stream puts the filter into its initial state.
        self._at = np.arange(T) + rows.stream + 1
        self._before = np.flatnonzero(rows.first) + np.arange(n)
        self._dt = np.full(T + n, self._forget)
        self._dt[self._at] = steps * rows.step
        last = np.append(rows.first[1:], True)
        until_next = np.append(steps[1:] * rows.step, self._forget)
        self._dt_backward = np.where(last, self._forget, until_next)[::-1]

    def forward(self, filter_: StickyFilter, probs: Floats, beta: Floats) -> Floats:
        """Return p(class | rows so far), (T, K), as the filter has it in each stream."""
        T, K = probs.shape
        all_probs = np.empty((T + len(self._before), K))
        weights = np.ones(len(all_probs))
        limit = filter_._transitions(self._forget)[0]
        initial = filter_.prior**2 / limit
        all_probs[self._before] = initial / initial.sum()
        all_probs[self._at], weights[self._at] = probs, beta
        filter_.reset()
        after: Floats = filter_.run(all_probs, beta=weights, dt=self._dt)[self._at]
        return after

    def backward(self, filter_: StickyFilter, probs: Floats, beta: Floats) -> Floats:
        r"""Return p(later rows | class), (T, K), each row up to a factor.

        It is :math:`b_t = A (l_{t+1} b_{t+1})` with the likelihood :math:`l = (s / \pi)^\beta`, and
        1 at the end of a stream. A filter that runs backward in time, with the transitions of the
        reversed pipeline, has :math:`\mu b_t l_t`; :math:`\mu` is the stationary distribution.
        """
        limit = filter_._transitions(self._forget)[0]
        interval = self._rows.step
        forward = filter_._transitions(interval)
        reversed_pipe = StickyFilter(
            len(limit),
            transitions=limit * forward.T / limit[:, None],
            interval=interval,
            prior=filter_.prior,
            floor=LOW_FLOOR / 2,
        )
        raised = floored(probs, LOW_FLOOR)
        out = reversed_pipe.run(raised[::-1], beta=beta[::-1], dt=self._dt_backward)[::-1]
        message: Floats = out / limit
        own, inverse = np.flatnonzero(beta), filter_.prior / raised[beta > 0]
        weights = beta[own, None]
        message[own] *= inverse if (weights == 1).all() else inverse**weights
        return message

    def smooth(self, filter_: StickyFilter, probs: Floats, beta: Floats) -> Floats:
        """Return p(class | all rows), (T, K)."""
        both = self.forward(filter_, probs, beta) * self.backward(filter_, probs, beta)
        both /= both.sum(axis=1, keepdims=True)
        return both


def decayed_sums(values: Floats, decay: Floats) -> Floats:
    """Return y_t = decay_t y_(t-1) + values_t of (T, K) and (T,), in blocks instead of rows.

    Examples
    --------
    >>> decayed_sums(np.array([[1.0], [1.0], [1.0]]), np.array([0.0, 0.5, 0.5])).ravel()
    array([1.  , 1.5 , 1.75])
    """
    T, K = values.shape
    size = 64
    if 2 * size >= T:
        out, last = np.empty_like(values), np.zeros(K)
        for t in range(T):
            out[t] = last = decay[t] * last + values[t]
        return out
    blocks = -(-T // size)
    y = np.zeros((blocks * size, K))
    y[:T] = values
    kept = np.zeros(blocks * size)
    kept[:T] = decay
    y, kept = y.reshape(blocks, size, K), kept.reshape(blocks, size)
    for i in range(1, size):
        y[:, i] += kept[:, i, None] * y[:, i - 1]
        kept[:, i] *= kept[:, i - 1]
    carried = decayed_sums(y[:, -1], kept[:, -1])
    y[1:] += kept[1:, :, None] * carried[:-1, None]
    return y.reshape(-1, K)[:T]
