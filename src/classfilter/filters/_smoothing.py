"""Smoothing: the class probabilities of each row from the rows before it and after it."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._typing import Array, Floats
from ._base import Filter
from ._chain import FilterChain, is_chain
from ._dirichlet import DirichletFilter
from ._sticky import StickyFilter

MIN_PROB = 1e-30  # as in the sticky filter: no class becomes impossible
MIN_ALPHA = 1e-6  # as in the Dirichlet filter
MIN_WEIGHT = 1e-290  # below it, nu / eta has no digits left
MAX_ITERATIONS = 100

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
        smoothed = dirichlet_rows(in_double(f).copy(), T, s, weights, times, ahead)
    return smoothed.astype(f.dtype)


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


# ---- sticky ----


def sticky_rows(
    f: StickyFilter, forward: Array, s: Floats, beta: Floats, dt: Floats, ahead: int | None
) -> Floats:
    """Return the first rows, smoothed: p(class | past), `forward`, by p(rows after | class).

    Rows whose `ahead` rows are all in `s` have the same bits, wherever `s` ends.
    """
    likelihood = (np.maximum(np.nan_to_num(s), f.floor) / f.prior) ** beta[:, None]
    if ahead is None:
        messages = f._backward(likelihood, dt)
    else:
        messages = _lagged_messages(f, likelihood, dt, ahead)
    posterior: Floats = forward * messages[: len(forward)]
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.maximum(posterior, MIN_PROB, out=posterior)
    return posterior


def _lagged_messages(f: StickyFilter, likelihood: Floats, dt: Floats, ahead: int) -> Floats:
    """Return p(the `ahead` rows after | class) of each row, up to factors."""
    messages = np.ones_like(likelihood)
    last = None
    for t in range(len(likelihood) - 1, 0, -1):
        if dt[t] != last:
            last = dt[t]
            backward = f._transitions(last).T
        # Every row whose lag reaches row t multiplies by its likelihood, the farthest row first.
        reached = messages[max(t - ahead, 0) : t]
        scaled = reached * likelihood[t]
        message = scaled[:, :1] * backward[0]  # the bits of a matrix product depend on its size
        for k in range(1, len(backward)):
            message += scaled[:, k, None] * backward[k]
        message /= message.sum(axis=1, keepdims=True)
        np.maximum(message, MIN_PROB, out=reached)
    return messages


# ---- Dirichlet ----


def dirichlet_rows(
    f: DirichletFilter, count: int, s: Floats, beta: Floats, dt: Floats, ahead: int | None
) -> Floats:
    """Return the first `count` rows, smoothed, and let the filter observe them.

    The states before and after each row are added, then the row is observed. Rows whose `ahead`
    rows are all in `s` have the same bits, wherever `s` ends.
    """
    states = _states_before(f, s[:count], beta, dt)
    eta, nu = (after[:count] for after in _states_after(f, s, beta, dt, ahead))
    eta += states[:, 0]
    nu += states[:, :1] * _average_neg_log(f, states[:, 1:])
    informed = np.flatnonzero((eta > states[:, 0]) & (eta > MIN_WEIGHT))
    states[informed, 1:] = _mode(nu[informed] / eta[informed, None], f.max_concentration)
    states[:, 0] = eta
    out = np.empty((count, s.shape[1]))
    f._update_many(states, None, s[:count], beta[:count], np.zeros(count), out, 0, count)
    return out


def _states_before(f: DirichletFilter, s: Floats, beta: Floats, dt: Floats) -> Floats:
    """Return eta and alpha, (T, K + 1), at the time of each row but before its observation.

    The filter then has observed all rows.
    """
    T, K = s.shape
    states, missing = np.empty((T, K + 1)), np.full(K, np.nan)
    for t in range(T):
        f.update(missing, 1.0, dt[t])
        states[t, 0], states[t, 1:] = f.eta, f.alpha
        f.update(s[t], beta[t], 0.0)
    return states


def _states_after(
    f: DirichletFilter, s: Floats, beta: Floats, dt: Floats, ahead: int | None
) -> tuple[Floats, Floats]:
    """Return eta and nu of the `ahead` rows after each row, without the prior.

    The backward filter starts from the prior. How much of it remains does not depend on the data,
    so it can be subtracted.
    """
    T, K = s.shape
    start = f.copy()
    start.reset()
    anchor, prior_mean = f._options["anchor"], start.nu / start.eta
    decays = f.gamma**dt
    states = np.tile([start.eta, *start.alpha], (T, 1))
    data, prior = np.zeros(T), np.full(T, start.eta)  # the weights of both in eta
    if ahead is None:
        for t in range(T - 2, -1, -1):
            pause = dt[t + 2] if t + 2 < T else 0.0
            decay = decays[t + 2] if t + 2 < T else 1.0
            start.update(s[t + 1], beta[t + 1], pause)
            states[t, 0], states[t, 1:] = start.eta, start.alpha
            data[t] = decay * data[t + 1] + beta[t + 1]
            prior[t] = decay * prior[t + 1] + (1 - decay) * anchor
    else:
        out = np.empty((T, K))
        for j in range(min(ahead, T - 1), 0, -1):  # all rows t observe row t + j at once
            pauses, decay = np.zeros(T - j), np.ones(T - j)
            if j < ahead:
                pauses[:-1], decay[:-1] = dt[j + 1 :], decays[j + 1 :]
            n = T - j
            f._update_many(states[:n], None, s[j:], beta[j:], pauses, out[:n], 0, n)
            data[:n] = decay * data[:n] + beta[j:]
            prior[:n] = decay * prior[:n] + (1 - decay) * anchor
    nu = states[:, :1] * _average_neg_log(f, states[:, 1:]) - prior[:, None] * prior_mean
    nu[:-1] *= decays[1:, None]
    data[:-1] *= decays[1:]
    return data, nu


def _average_neg_log(f: DirichletFilter, alpha: Floats) -> Floats:
    """Return nu / eta of each row: E[-log s | alpha], bounded as in the filter."""
    average: Floats = _core.digamma(alpha.sum(axis=1))[:, None] - _core.digamma(alpha)
    return np.minimum(average, f._bound) if f._options["bounded"] else average


def _mode(mean: Floats, largest: float) -> Floats:
    """Return the alpha, (T, K), with digamma(sum alpha) - digamma(alpha_i) = mean_i.

    Given the sum, each alpha_i follows by itself. Newton's method, within a bracket, solves for the
    logarithm of the sum. Where the sum would exceed the largest, it is the largest.
    """
    T, K = mean.shape
    alpha = _at_sum(np.full(T, largest), mean)
    rows = np.flatnonzero(alpha.sum(axis=1) < largest)
    space = 1 - np.exp(-mean[rows]).sum(axis=1)
    guess = (K - 1) / (2 * np.maximum(space, K / largest))  # correct for large sums
    low, high = np.full(len(rows), np.log(MIN_ALPHA**2)), np.full(len(rows), np.log(largest))
    total, x = np.full(T, largest), np.clip(np.log(guess), low, high)
    for _ in range(MAX_ITERATIONS):
        total[rows] = np.exp(x)
        alpha[rows] = at_total = _at_sum(total[rows], mean[rows])
        excess = at_total.sum(axis=1) / total[rows] - 1
        low, high = np.where(excess > 0, x, low), np.where(excess > 0, high, x)
        slope = (_core.trigamma(total[rows])[:, None] / _core.trigamma(at_total)).sum(axis=1) - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - excess / slope
        new = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        # the larger the sum, the less the mean depends on it, and the less it matters
        active = np.abs(new - x) > 1e-13 + 1e-14 * total[rows]
        total[rows] = np.exp(new)
        rows, low, high, x = rows[active], low[active], high[active], new[active]
        if not len(rows):
            break
    alpha *= (total / alpha.sum(axis=1))[:, None]
    return np.maximum(alpha, MIN_ALPHA)


def _at_sum(total: Floats, mean: Floats) -> Floats:
    """Return the alpha_i with digamma(alpha_i) = digamma(total) - mean_i, by Newton's method."""
    y = _core.digamma(total)[:, None] - mean
    with np.errstate(divide="ignore"):
        alpha = np.where(y > -2.22, np.exp(y) + 0.5, -1 / (y + np.euler_gamma))
    for _ in range(5):
        alpha -= (_core.digamma(alpha) - y) / _core.trigamma(alpha)
    solution: Floats = alpha
    return solution
