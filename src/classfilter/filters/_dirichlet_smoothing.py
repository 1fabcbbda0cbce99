"""Smoothing of the Dirichlet filter: the states before and after each row, added."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._typing import Floats
from ._dirichlet import DirichletFilter

MIN_ALPHA = 1e-6  # as in the Dirichlet filter
MIN_WEIGHT = 1e-290  # below it, nu / eta has no digits left
MAX_ITERATIONS = 100


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
