"""Smoothing of the sticky filter: forward probabilities by backward messages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from .._support.types import Array, Floats, Ints
from ._sticky import StickyFilter

MIN_PROB = 1e-30  # as in the sticky filter: no class becomes impossible
NUMBERS_AT_ONCE = 1 << 15  # few enough to stay in a processor's cache


def sticky_rows(
    f: StickyFilter,
    forward: Array,
    s: Floats,
    beta: Floats,
    dt: Floats,
    ahead: int | None,
    ends: Ints | None = None,
    rows: Ints | None = None,
) -> Floats:
    """Return some rows, smoothed: p(class | past), `forward`, by p(rows after | class).

    Rows whose `ahead` rows are all in `s` have the same bits, wherever `s` ends. `ends`, (T,), is
    where the stream of each row ends in `s`; by default there is one stream. `rows` are those of
    `forward`; by default the first ones.
    """
    likelihood = (np.maximum(np.nan_to_num(s), f.floor) / f.prior) ** beta[:, None]
    ends = np.full(len(s), len(s)) if ends is None else ends
    rows = np.arange(len(forward)) if rows is None else rows
    if ahead is None:
        cuts = [0, *np.unique(ends).tolist()]
        parts = [f._backward(likelihood[i:j], dt[i:j]) for i, j in pairwise(cuts)]
        messages = np.concatenate(parts)[rows]
    else:
        messages = _lagged_messages(f, likelihood, dt, ahead, ends, rows)
    posterior: Floats = forward * messages
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.maximum(posterior, MIN_PROB, out=posterior)
    return posterior


def _lagged_messages(
    f: StickyFilter, likelihood: Floats, dt: Floats, ahead: int, ends: Ints, rows: Ints
) -> Floats:
    """Return p(the `ahead` rows after | class) of some rows, in order, up to factors."""
    messages = np.ones((len(rows), likelihood.shape[1]))
    at_once = max(NUMBERS_AT_ONCE // likelihood.shape[1], ahead)
    for start in range(0, len(rows), at_once):
        part, at = messages[start : start + at_once], rows[start : start + at_once]
        left = ends[at] - at - 1
        first = int(at[0])
        step = _backward_step(f, dt[first : int(at[-1]) + ahead + 1])
        # All rows of the part observe their farthest row first, then the one before it.
        for j in range(min(ahead, int(left.max())), 0, -1):
            inside = np.flatnonzero(left >= j)
            later = at[inside] + j
            message = step(part[inside] * likelihood[later], later - first)
            message /= message.sum(axis=1, keepdims=True)
            part[inside] = np.maximum(message, MIN_PROB)
    return messages


def _backward_step(f: StickyFilter, dt: Floats) -> Callable[[Floats, Ints], Floats]:
    """Return a function that takes messages at some of the rows to the rows before these.

    It sums class by class: the bits of a matrix product would depend on the number of rows.
    """
    prior, K = f.prior, len(f.classes)
    if f.stay is not None:
        stays = (f.stay**dt)[:, None]

        def stay_or_draw(message: Floats, rows: Ints) -> Floats:
            drawn = message[:, 0] * prior[0]
            for k in range(1, K):
                drawn += message[:, k] * prior[k]
            stay = stays[rows]
            moved: Floats = stay * message + (1 - stay) * drawn[:, None]
            return moved

        return stay_or_draw
    spans, codes = np.unique(dt, return_inverse=True)
    backward = np.array([f._transitions(span).T for span in spans.tolist()]).swapaxes(0, 1)
    if len(spans) > 1:
        backward = backward[:, codes]

    def move(message: Floats, rows: Ints) -> Floats:
        matrices = backward if len(spans) == 1 else backward[:, rows]
        moved: Floats = message[:, :1] * matrices[0]
        for k in range(1, K):
            moved += message[:, k, None] * matrices[k]
        return moved

    return move
