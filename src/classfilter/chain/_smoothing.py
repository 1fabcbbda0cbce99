"""Smoothing with the weight and the channel of a source."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._support.types import Array
from ..filters._base import Filter
from ..filters._smoothing import check_smoother, smooth_one
from ._chain import FilterChain, is_chain


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
    >>> from classfilter import StickyFilter
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
    return smooth_one(f, probs, weight if beta is None else beta, dt, lag)


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
