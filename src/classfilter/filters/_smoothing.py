"""Smoothing: the class probabilities of each row from the rows before it and after it."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array, Floats, Ints
from ._base import Filter
from ._chain import FilterChain, is_chain
from ._dirichlet import DirichletFilter
from ._dirichlet_smoothing import dirichlet_rows
from ._sticky import StickyFilter
from ._sticky_smoothing import sticky_rows
from ._stream_runner import StreamRows, StreamRunner, pack_state

Smoother = DirichletFilter | StickyFilter


def smooth(
    filter: Filter | FilterChain,  # noqa: A002
    probs: ArrayLike,
    beta: ArrayLike | None = None,
    dt: ArrayLike = 1.0,
    *,
    lag: int | None = None,
) -> Array:
    r"""Return the smoothed class probabilities: each row from the rows before and after it.

    For a `StickyFilter` it is the posterior of the hidden Markov model,
    :math:`p(c_t | s_1, \dots, s_T)`. For a `DirichletFilter`, a second filter runs from the end to
    the beginning. The states of the two on either side of row t are added, :math:`\eta + \eta'` and
    :math:`\nu + \nu'`, with the prior counted once; then row t is observed. At beta = 1 the result
    is a two-sided kernel, :math:`\nu_t = \sum_r \gamma^{|t - r|} (-\log s_r)`, plus the initial
    state.

    Parameters
    ----------
    filter : DirichletFilter, StickyFilter or Tuned
        Its settings, and its state before the first row; it does not change. Of a `Tuned` with one
        source, the weight and the channel are used too; with several, smooth a `Recording`, which
        has the source of each row.
    probs : array_like, shape (T, K)
        One observation per row; a row of NaN only lets time pass.
    beta, dt : float or array_like, shape (T,)
        As in `run`: ``dt[t]`` is the time from row t - 1 to row t. By default `beta` is 1, or the
        weight of the `Tuned`.
    lag : int, optional
        Fixed-lag smoothing: row t depends on the rows up to ``t + lag``, as in live use with that
        delay. 0 is exactly `run`. By default all rows. The cost grows with the lag.

    Returns
    -------
    ndarray, shape (T, K)
        Computed in double precision, returned in the filter's dtype. An invalid row raises the
        ValueError of `run`.

    Examples
    --------
    >>> f = StickyFilter(["walk", "sit"], stay=0.9)
    >>> s = [[0.7, 0.3], [0.1, 0.9], [0.8, 0.2], [0.8, 0.2]]
    >>> f.copy().run(s).argmax(axis=1)
    array([0, 1, 0, 0])
    >>> smooth(f, s).argmax(axis=1)  # the rows after it show that the second was an error
    array([0, 0, 0, 0])
    >>> smooth(f, s, lag=1).argmax(axis=1)  # one row after it is not enough
    array([1, 1, 0, 0])
    """
    weight = 1.0
    if is_chain(filter):
        one, probs, weight = _of_one_source(filter.smoother, probs)
        f = check_smoother(one)
    else:
        f = check_smoother(filter)
    beta, ahead = weight if beta is None else beta, check_lag(lag)
    forward = f.copy().run(probs, beta=beta, dt=dt)  # checks the arguments
    T = len(forward)
    if ahead == 0 or T <= 1:
        return forward
    s = np.array(probs, np.float64)
    weights = np.where(np.isnan(s[:, 0]), 0.0, np.asarray(beta, np.float64))
    times = np.broadcast_to(np.asarray(dt, np.float64), T)
    ahead = None if ahead is None or ahead >= T - 1 else ahead
    if isinstance(f, StickyFilter):
        smoothed = sticky_rows(in_double(f), forward, s, weights, times, ahead)
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
    s, w, t = (x.astype(f.dtype, copy=False) for x in (probs, beta, dt))
    out = np.empty(probs.shape, f.dtype)
    states = np.tile(pack_state(f.state, f.dtype), (len(counts), 1))
    StreamRunner(f).run(states, StreamRows(s, w, t, np.arange(len(s)), counts), out, threads=1)
    weights = np.where(np.isnan(probs[:, 0]), 0.0, beta)
    short = counts <= (np.inf if lag is None else lag + 1)
    for streams, ahead in ((short, None), (~short, lag)):
        chosen = streams & (counts > 1) & (lag != 0)
        rows = np.flatnonzero(np.repeat(chosen, counts))
        if rows.size:
            columns, sizes = (probs[rows], weights[rows], dt[rows]), counts[chosen]
            if isinstance(f, StickyFilter):
                ends = np.repeat(np.cumsum(sizes), sizes)
                out[rows] = sticky_rows(in_double(f), out[rows], *columns, ahead, ends)
            else:
                start = np.tile(pack_state(f.state, np.dtype(np.float64)), (len(sizes), 1))
                out[rows] = dirichlet_rows(in_double(f), start, *columns, ahead, sizes, sizes)
    return out


def _of_one_source(chain: FilterChain, probs: ArrayLike) -> tuple[Filter, ArrayLike, float]:
    """Return the filter, the corrected probabilities and the weight of the only source."""
    sources = list({**chain.beta, **chain.channel})
    if len(sources) != 1:
        raise ValueError(
            f"filter has the sources {sources}, and probs does not say which row is of which; "
            "make a Recording with the source of each row, and call its smooth"
        )
    f, channel = chain.filter(), chain.channel.get(sources[0])
    if channel is not None:
        probs = channel.apply(np.asarray(probs, f.probs.dtype))
    return f, probs, chain.beta.get(sources[0], 1.0)


def check_smoother(filter: Any) -> Smoother:  # noqa: A002
    """Return the filter if it can smooth."""
    if not isinstance(filter, (DirichletFilter, StickyFilter)):
        raise TypeError(
            f"filter is a {type(filter).__name__}, which cannot smooth; "
            "give a DirichletFilter or a StickyFilter"
        )
    return filter


def check_lag(lag: int | None) -> int | None:
    """Return the number of later rows that are used, None for all."""
    try:
        ahead = None if lag is None else index(lag)
    except TypeError:
        raise TypeError(f"lag is {lag!r}; it must be a whole number of rows, or None") from None
    if ahead is not None and ahead < 0:
        raise ValueError(f"lag is {ahead}; it must be 0 or more rows, or None for all of them")
    return ahead


def in_double(f: Smoother) -> Any:
    """Return the filter in double precision."""
    if f.dtype == np.float64:
        return f
    double = type(f)(f.classes, **{**f._options, "dtype": np.float64})
    double.state = f.state
    return double
