"""Look back: the class probabilities of each row from the rows before it and those behind it."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._typing import Array, Floats
from ._base import Filter
from ._dirichlet import DirichletFilter
from ._sticky import StickyFilter

LEAST_PROB = 1e-30  # as in the sticky filter: what is near impossible can still turn
LEAST_ALPHA = 1e-6  # as in the Dirichlet filter
LEAST_WEIGHT = 1e-290  # below it, nu / eta has no digits left
ROUNDS = 100


def smooth(
    filter: Filter,  # noqa: A002
    probs: ArrayLike,
    beta: ArrayLike = 1.0,
    dt: ArrayLike = 1.0,
    *,
    lag: int | None = None,
) -> Array:
    r"""Return what is known of the class at each row once the rows behind it are known too.

    For a `StickyFilter` it is the posterior of the hidden Markov model,
    :math:`p(c_t | s_1, \dots, s_T)`. For a `DirichletFilter`, a second filter runs from the end to
    the beginning. What the two remember on either side of row t is added,
    :math:`\eta + \eta'` and :math:`\nu + \nu'`, the prior counted once; then row t is observed. At
    beta = 1 the memory is that of a two-sided kernel, :math:`\nu_t = \sum_r \gamma^{|t - r|}
    (-\log s_r)`, and what the filter started from.

    Parameters
    ----------
    filter : DirichletFilter or StickyFilter
        Its settings, and its state before the first row; it is left as it is.
    probs : array_like, shape (T, K)
        One observation a row; a row of NaN only lets time pass.
    beta, dt : float or array_like, shape (T,)
        As in `run`: ``dt[t]`` is the time from row t - 1 to row t.
    lag : int, optional
        Rows to look ahead: row t rests on the rows up to ``t + lag``, as in live use with that
        delay. 0 is exactly `run`. Unless given, all rows. The work grows with the lag.

    Returns
    -------
    ndarray, shape (T, K)
        Worked out in double precision, in the filter's dtype. A bad row raises the ValueError of
        `run`.

    Examples
    --------
    >>> f = StickyFilter(["walk", "sit"], stay=0.9)
    >>> s = [[0.7, 0.3], [0.1, 0.9], [0.8, 0.2], [0.8, 0.2]]
    >>> f.copy().run(s).argmax(axis=1)
    array([0, 1, 0, 0])
    >>> smooth(f, s).argmax(axis=1)  # the rows behind show that the second was a slip
    array([0, 0, 0, 0])
    >>> smooth(f, s, lag=1).argmax(axis=1)  # one row behind it is not enough
    array([1, 1, 0, 0])
    """
    if not isinstance(filter, (DirichletFilter, StickyFilter)):
        raise TypeError(
            f"filter is a {type(filter).__name__}, which cannot look back; "
            "give a DirichletFilter or a StickyFilter"
        )
    ahead = _rows_ahead(lag)
    forward = filter.copy().run(probs, beta=beta, dt=dt)  # refuses whatever is wrong
    T = len(forward)
    ahead = T - 1 if ahead is None else min(ahead, T - 1)
    if ahead <= 0:
        return forward
    s = np.array(probs, np.float64)
    weights = np.where(np.isnan(s[:, 0]), 0.0, np.asarray(beta, np.float64))
    times = np.broadcast_to(np.asarray(dt, np.float64), T)
    if isinstance(filter, StickyFilter):
        found = _sticky(filter, forward, s, weights, times, ahead)
    else:
        found = _dirichlet(_double(filter), s, weights, times, ahead)
    return found.astype(filter.dtype)


def _rows_ahead(lag: int | None) -> int | None:
    try:
        ahead = None if lag is None else index(lag)
    except TypeError:
        raise TypeError(f"lag is {lag!r}; it must be a whole number of rows, or None") from None
    if ahead is not None and ahead < 0:
        raise ValueError(f"lag is {ahead}; it must be 0 or more rows, or None for all of them")
    return ahead


# ---- sticky ----


def _sticky(
    f: StickyFilter, forward: Array, s: Floats, beta: Floats, dt: Floats, ahead: int
) -> Floats:
    """Multiply p(class | past) by p(rows behind | class), up to factors."""
    T = len(s)
    likelihood = (np.maximum(np.nan_to_num(s), f.floor) / f.prior) ** beta[:, None]
    future = np.ones_like(s)
    last = None
    for t in range(T - 1, 0, -1):
        if dt[t] != last:
            last = dt[t]
            back = f._transitions(last).T
        # To look at all rows, row t - 1 goes on from row t. Otherwise each row that looks as far
        # as row t takes it in by itself, the farthest row first.
        new = slice(t - 1 if ahead == T - 1 else max(t - ahead, 0), t)
        old = slice(t, t + 1) if ahead == T - 1 else new
        seen = (future[old] * likelihood[t]) @ back
        seen /= seen.sum(axis=1, keepdims=True)
        np.maximum(seen, LEAST_PROB, out=future[new])
    both = forward * future
    both /= both.sum(axis=1, keepdims=True)
    return np.maximum(both, LEAST_PROB)


# ---- Dirichlet ----


def _double(f: DirichletFilter) -> DirichletFilter:
    """Return the filter in double precision."""
    made = type(f)(f.classes, **{**f._options, "dtype": np.float64})
    made.state = f.state
    return made


def _dirichlet(f: DirichletFilter, s: Floats, beta: Floats, dt: Floats, ahead: int) -> Floats:
    """Add what is remembered on both sides of each row, then observe the row."""
    T, K = s.shape
    states = _before(f, s, beta, dt)
    eta, nu = _behind(f, s, beta, dt, ahead)
    eta += states[:, 0]
    nu += states[:, :1] * _surprise(states[:, 1:])
    news = np.flatnonzero((eta > states[:, 0]) & (eta > LEAST_WEIGHT))
    states[news, 1:] = _mode(nu[news] / eta[news, None], f.max_concentration)
    states[:, 0] = eta
    out = np.empty((T, K))
    f._update_many(states, None, s, beta, 0.0, out, 0, T)
    return out


def _before(f: DirichletFilter, s: Floats, beta: Floats, dt: Floats) -> Floats:
    """Return eta and alpha, (T, K + 1), as time has come to each row but the row is not seen."""
    T, K = s.shape
    states, unseen, f = np.empty((T, K + 1)), np.full(K, np.nan), f.copy()
    for t in range(T):
        f.update(unseen, 1.0, dt[t])
        states[t, 0], states[t, 1:] = f.eta, f.alpha
        f.update(s[t], beta[t], 0.0)
    return states


def _behind(
    f: DirichletFilter, s: Floats, beta: Floats, dt: Floats, ahead: int
) -> tuple[Floats, Floats]:
    """Return what each row knows of the next `ahead` rows, without the prior: eta and nu.

    The filter that runs back needs a start, the prior. How much of it is left after a while does
    not depend on the data, so that it can be taken out again.
    """
    T, K = s.shape
    start = f.copy()
    start.reset()
    anchor, surprise = f._options["anchor"], start.nu / start.eta
    kept = f.gamma**dt
    states = np.tile([start.eta, *start.alpha], (T, 1))
    data, prior = np.zeros(T), np.full(T, start.eta)  # the weights of both in eta
    if ahead == T - 1:
        for t in range(T - 2, -1, -1):
            pause = dt[t + 2] if t + 2 < T else 0.0
            keep = kept[t + 2] if t + 2 < T else 1.0
            start.update(s[t + 1], beta[t + 1], pause)
            states[t, 0], states[t, 1:] = start.eta, start.alpha
            data[t] = keep * data[t + 1] + beta[t + 1]
            prior[t] = keep * prior[t + 1] + (1 - keep) * anchor
    else:
        out = np.empty((T, K))
        for j in range(ahead, 0, -1):  # all rows t at once see row t + j
            pauses, keep = np.zeros(T - j), np.ones(T - j)
            if j < ahead:
                pauses[:-1], keep[:-1] = dt[j + 1 :], kept[j + 1 :]
            n = T - j
            f._update_many(states[:n], None, s[j:], beta[j:], pauses, out[:n], 0, n)
            data[:n] = keep * data[:n] + beta[j:]
            prior[:n] = keep * prior[:n] + (1 - keep) * anchor
    nu = states[:, :1] * _surprise(states[:, 1:]) - prior[:, None] * surprise
    nu[:-1] *= kept[1:, None]
    data[:-1] *= kept[1:]
    return data, nu


def _surprise(alpha: Floats) -> Floats:
    """Return E[-log s | alpha] of each row."""
    found: Floats = _core.digamma(alpha.sum(axis=1))[:, None] - _core.digamma(alpha)
    return found


def _mode(mean: Floats, largest: float) -> Floats:
    """Return the alpha, (T, K), with digamma(sum alpha) - digamma(alpha_i) = mean_i.

    Given the sum, each alpha_i follows by itself; the sum is found by Newton's method on its
    logarithm, within a bracket. Where it would exceed the largest, it is the largest.
    """
    T, K = mean.shape
    alpha = _at_sum(np.full(T, largest), mean)
    rows = np.flatnonzero(alpha.sum(axis=1) < largest)
    space = 1 - np.exp(-mean[rows]).sum(axis=1)
    guess = (K - 1) / (2 * np.maximum(space, K / largest))  # right for large sums
    low, high = np.full(len(rows), np.log(LEAST_ALPHA**2)), np.full(len(rows), np.log(largest))
    total, x = np.full(T, largest), np.clip(np.log(guess), low, high)
    for _ in range(ROUNDS):
        total[rows] = np.exp(x)
        alpha[rows] = found = _at_sum(total[rows], mean[rows])
        excess = found.sum(axis=1) / total[rows] - 1
        low, high = np.where(excess > 0, x, low), np.where(excess > 0, high, x)
        slope = (_core.trigamma(total[rows])[:, None] / _core.trigamma(found)).sum(axis=1) - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - excess / slope
        new = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        # the larger the sum, the less the mean tells of it, and the less it matters
        on = np.abs(new - x) > 1e-13 + 1e-14 * total[rows]
        total[rows] = np.exp(new)
        rows, low, high, x = rows[on], low[on], high[on], new[on]
        if not len(rows):
            break
    alpha *= (total / alpha.sum(axis=1))[:, None]
    return np.maximum(alpha, LEAST_ALPHA)


def _at_sum(total: Floats, mean: Floats) -> Floats:
    """Return the alpha_i with digamma(alpha_i) = digamma(total) - mean_i, by Newton's method."""
    y = _core.digamma(total)[:, None] - mean
    with np.errstate(divide="ignore"):
        alpha = np.where(y > -2.22, np.exp(y) + 0.5, -1 / (y + np.euler_gamma))
    for _ in range(5):
        alpha -= (_core.digamma(alpha) - y) / _core.trigamma(alpha)
    found: Floats = alpha
    return found
