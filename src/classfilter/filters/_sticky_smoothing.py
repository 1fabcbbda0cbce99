"""Smoothing of the sticky filter: forward probabilities by backward messages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from .._typing import Array, Floats, Ints
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
) -> Floats:
    """Return the first rows, smoothed: p(class | past), `forward`, by p(rows after | class).

    Rows whose `ahead` rows are all in `s` have the same bits, wherever `s` ends. `ends`, (T,), is
    where the stream of each row ends in `s`; by default there is one stream.
    """
    likelihood = (np.maximum(np.nan_to_num(s), f.floor) / f.prior) ** beta[:, None]
    ends = np.full(len(s), len(s)) if ends is None else ends
    if ahead is None:
        cuts = [0, *np.unique(ends).tolist()]
        parts = [f._backward(likelihood[i:j], dt[i:j]) for i, j in pairwise(cuts)]
        messages = np.concatenate(parts)
    else:
        messages = _lagged_messages(f, likelihood, dt, ahead, ends, len(forward))
    posterior: Floats = forward * messages[: len(forward)]
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.maximum(posterior, MIN_PROB, out=posterior)
    return posterior


def _lagged_messages(
    f: StickyFilter, likelihood: Floats, dt: Floats, ahead: int, ends: Ints, count: int
) -> Floats:
    """Return p(the `ahead` rows after | class) of each of the first rows, up to factors."""
    messages = np.ones((count, likelihood.shape[1]))
    left = ends - np.arange(len(ends)) - 1
    at_once = max(NUMBERS_AT_ONCE // likelihood.shape[1], ahead)
    for start in range(0, count, at_once):
        part = messages[start : start + at_once]
        stop = min(start + len(part) + ahead, len(likelihood))
        step = _backward_step(f, dt[start:stop])
        later = likelihood[start:stop]
        # All rows of the part observe their farthest row first, then the one before it.
        for j in range(min(ahead, stop - start - 1), 0, -1):
            reached = part[: len(later) - j]
            rows = slice(j, j + len(reached))
            message = step(reached * later[rows], rows)
            message /= message.sum(axis=1, keepdims=True)
            np.maximum(message, MIN_PROB, out=message)
            inside = left[start : start + len(reached), None] >= j
            np.copyto(reached, message, where=inside)
    return messages


def _backward_step(f: StickyFilter, dt: Floats) -> Callable[[Floats, slice], Floats]:
    """Return a function that takes messages at some of the rows to the rows before these.

    It sums class by class: the bits of a matrix product would depend on the number of rows.
    """
    prior, K = f.prior, len(f.classes)
    if f.stay is not None:
        stays = (f.stay**dt)[:, None]

        def stay_or_draw(message: Floats, rows: slice) -> Floats:
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

    def move(message: Floats, rows: slice) -> Floats:
        matrices = backward if len(spans) == 1 else backward[:, rows]
        moved: Floats = message[:, :1] * matrices[0]
        for k in range(1, K):
            moved += message[:, k, None] * matrices[k]
        return moved

    return move
