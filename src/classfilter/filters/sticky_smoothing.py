"""Smoothing of the sticky filter: forward probabilities by backward messages."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..support.types import Array, Floats, Ints
from .sticky import StickyFilter

MIN_PROB = 1e-30  # as in the sticky filter: no class becomes impossible


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
    likelihood = (np.fmax(s, f.floor) / f.prior) ** beta[:, None]  # of NaN, any: the weight is 0
    ends = np.full(len(s), len(s)) if ends is None else ends
    rows = np.arange(len(forward)) if rows is None else rows
    if ahead is None:
        cuts = [0, *np.unique(ends).tolist()]
        parts = [f._backward(likelihood[i:j], dt[i:j]) for i, j in pairwise(cuts)]
        messages = np.concatenate(parts)[rows]
    else:
        last = np.minimum(rows + ahead + 1, ends[rows])
        messages = f._backward_windows(likelihood, dt, rows, last)
    posterior: Floats = forward * messages
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.maximum(posterior, MIN_PROB, out=posterior)
    return posterior
