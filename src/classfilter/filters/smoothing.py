"""Smoothing: the class probabilities of each row from the rows before it and after it."""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..support.types import Array, Floats, Ints
from .base import with_options
from .dirichlet import DirichletFilter
from .dirichlet_smoothing import dirichlet_rows
from .multi_label import MultiLabelFilter
from .runner import StreamRows, StreamRunner, pack_state
from .sticky import StickyFilter


def likelihoods(s: Array, beta: Array, floor: Any, prior: Floats) -> Floats:
    """Return how probable rows (..., K) are of each class, to the power of their weights (...,).

    It is in double precision, also of rows in single precision. Of a missing row, it is 1 where its
    weight is 0.
    """
    rows = np.asarray(s, np.float64)
    power: Floats = np.power(np.fmax(rows, floor) / prior, beta[..., None])
    return power


def sticky_rows(
    f: StickyFilter,
    estimates: Array,
    likelihood: Floats,
    dt: Floats,
    ahead: int | None,
    ends: Ints | None = None,
    rows: Ints | None = None,
) -> Floats:
    """Return some rows, smoothed: p(class | past), `estimates`, by p(rows after | class).

    Rows whose `ahead` rows are all in `likelihood` have the same bits, wherever it ends. `ends`,
    (T,), is where the stream of each row ends in it; by default there is one stream. `rows` are
    those of `estimates`; by default the first ones.
    """
    T = len(likelihood)
    ends = np.full(T, T) if ends is None else ends
    rows = np.arange(len(estimates)) if rows is None else rows
    if ahead is None:
        cuts = [0, *np.unique(ends).tolist()]
        parts = [f._backward(likelihood[i:j], dt[i:j]) for i, j in pairwise(cuts)]
        messages = np.concatenate(parts)[rows]
    else:
        last = np.minimum(rows + ahead + 1, ends[rows])
        messages = f._backward_windows(likelihood, dt, rows, last)
    return _core.smooth_estimates(estimates, messages)


Smoother = DirichletFilter | StickyFilter | MultiLabelFilter


def smooth_one(
    f: Smoother, probs: ArrayLike, beta: ArrayLike, dt: ArrayLike, lag: int | None
) -> Array:
    """Return the smoothed class probabilities of one stream, (T, K); see `classfilter.smooth`."""
    ahead = check_lag(lag)
    if isinstance(f, MultiLabelFilter):
        f.copy().run(probs, beta=beta, dt=dt)  # checks the arguments
        return f._of_each(lambda one, s, w: smooth_one(one, s, w, dt, lag), probs, beta)
    if f.temperature != 1:
        return _core.temper(smooth_one(untempered(f), probs, beta, dt, lag), f.temperature)
    forward = f.copy().run(probs, beta=beta, dt=dt)  # checks the arguments
    T = len(forward)
    if ahead == 0 or T <= 1:
        return forward
    s = np.array(probs, np.float64)
    weights = np.where(np.isnan(s[:, 0]), 0.0, np.asarray(beta, np.float64))
    times = np.broadcast_to(np.asarray(dt, np.float64), T)
    ahead = None if ahead is None or ahead >= T - 1 else ahead
    if isinstance(f, StickyFilter):
        double = in_double(f)
        likelihood = likelihoods(s, weights, double.floor, double.prior)
        smoothed = sticky_rows(double, forward, likelihood, times, ahead)
    else:
        count, double = np.array([T]), in_double(f)
        state = pack_state(double.state, double.dtype)[None]
        smoothed = dirichlet_rows(double, state, s, weights, times, ahead, count, count)
    return smoothed.astype(f.dtype)


def smooth_streams(
    f: Smoother, probs: Floats, beta: Floats, dt: Floats, counts: Ints, lag: int | None
) -> Array:
    """Return `smooth` of several streams, to the bit; their rows follow each other.

    `counts` says how many rows each stream has.
    """
    if isinstance(f, MultiLabelFilter):
        return f._of_each(lambda one, s, w: smooth_streams(one, s, w, dt, counts, lag), probs, beta)
    if f.temperature != 1:
        plain = smooth_streams(untempered(f), probs, beta, dt, counts, lag)
        return _core.temper(plain, f.temperature)
    s, w, t = (x.astype(f.dtype, copy=False) for x in (probs, beta, dt))
    out = np.empty(probs.shape, f.dtype)
    _core.check_rows(probs.shape[1], s, w, t)
    several = (counts > 1) & (lag != 0)
    filtered = ~several | isinstance(f, StickyFilter)  # of the others, nothing would remain
    states = np.tile(pack_state(f.state, f.dtype), (int(filtered.sum()), 1))
    order = np.flatnonzero(np.repeat(filtered, counts))
    StreamRunner(f).run(states, StreamRows(s, w, t, order, counts[filtered]), out, threads=1)
    weights = np.where(np.isnan(probs[:, 0]), 0.0, beta)
    short = counts <= (np.inf if lag is None else lag + 1)
    for streams, ahead in ((short, None), (~short, lag)):
        chosen = streams & several
        rows = np.flatnonzero(np.repeat(chosen, counts))
        if rows.size:
            columns, sizes = (probs, weights, dt), counts[chosen]
            if rows.size < len(probs):
                columns = probs[rows], weights[rows], dt[rows]
            if isinstance(f, StickyFilter):
                ends, double = np.repeat(np.cumsum(sizes), sizes), in_double(f)
                likelihood = likelihoods(*columns[:2], double.floor, double.prior)
                out[rows] = sticky_rows(double, out[rows], likelihood, columns[2], ahead, ends)
            else:
                start = np.tile(pack_state(f.state, np.dtype(np.float64)), (len(sizes), 1))
                out[rows] = dirichlet_rows(in_double(f), start, *columns, ahead, sizes, sizes)
    return out


def check_smoother(filter: Any) -> Smoother:  # noqa: A002
    """Return the filter if it can smooth."""
    if isinstance(filter, MultiLabelFilter):
        for one in filter.filters:
            check_smoother(one)
    elif not isinstance(filter, (DirichletFilter, StickyFilter)):
        raise TypeError(
            f"filter is a {type(filter).__name__}, which cannot smooth; "
            "give a DirichletFilter or a StickyFilter"
        )
    smoother: Smoother = filter
    return smoother


def check_lag(lag: int | None) -> int | None:
    """Return the number of later rows that are used, None for all."""
    try:
        ahead = None if lag is None else index(lag)
    except TypeError:
        raise TypeError(f"lag is {lag!r}; it must be a whole number of rows, or None") from None
    if ahead is not None and not 0 <= ahead < 1 << 62:
        raise ValueError(f"lag is {ahead}; it must be 0 or more rows, or None for all of them")
    return ahead


def in_double(f: Smoother) -> Any:
    """Return the filter in double precision."""
    return f if f.dtype == np.float64 else _changed(f, dtype=np.float64)


def untempered(f: Any) -> Any:
    """Return the filter without a temperature: results are tempered last."""
    return f if f.temperature == 1 else _changed(f, temperature=1.0)


def _changed(f: Any, **options: Any) -> Any:
    """Return the filter in its state with other options."""
    new = with_options(f, **options)
    new.state = f.state
    return new
