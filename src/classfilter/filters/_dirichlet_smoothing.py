"""Smoothing of the Dirichlet filter: the states before and after each row, added."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._support.types import Bools, Floats, Ints
from ._dirichlet import DirichletFilter
from ._stream_runner import StreamRows, StreamRunner, pack_state

MIN_ALPHA = 1e-6  # as in the Dirichlet filter
MIN_WEIGHT = 1e-290  # below it, nu / eta has no digits left
MAX_NEWTON = 12
MAX_ITERATIONS = 100


def dirichlet_rows(
    f: DirichletFilter,
    states: Floats,
    s: Floats,
    beta: Floats,
    dt: Floats,
    ahead: int | None,
    counts: Ints,
    complete: Ints,
) -> Floats:
    """Return the first rows of each of several streams, smoothed; `states` (N, S) observe them.

    `counts` says how many rows each stream has in `s`, `complete` how many of them are smoothed, at
    least one. The states before and after each row are added, then the row is observed. Rows whose
    `ahead` rows are all in `s` have the same bits, wherever their stream ends.
    """
    ends = np.cumsum(counts)
    left = np.repeat(ends, counts) - np.arange(len(s)) - 1  # how many rows of its stream follow
    rows = np.flatnonzero(left >= np.repeat(counts - complete, counts))
    eta, nu = _states_after(f, s, beta, dt, ahead, left, rows)
    s, beta, dt = s[rows], beta[rows], dt[rows]
    before = _states_before(f, states, s, beta, dt, complete)
    eta += before[:, 0]
    nu += before[:, :1] * _average_neg_log(f, before[:, 1:])
    informed = np.flatnonzero((eta > before[:, 0]) & (eta > MIN_WEIGHT))
    before[informed, 1:] = _mode(nu[informed] / eta[informed, None], f.max_concentration)
    before[:, 0] = eta
    out = np.empty(s.shape)
    StreamRunner(f).run(before, StreamRows(s, beta, np.zeros(())), out, threads=1)
    return out


def _states_before(
    f: DirichletFilter, states: Floats, s: Floats, beta: Floats, dt: Floats, counts: Ints
) -> Floats:
    """Return eta and alpha, (T, K + 1), at the time of each row but before its observation.

    `states` are those of the streams before their first rows; then, after their last ones.
    """
    T, K = s.shape
    ends = 2 * np.cumsum(counts)
    starts = ends - 2 * counts
    chain = np.empty((2 * T, K + 1))
    chain[starts] = states
    # Before each observation, time passes by itself.
    rows, weights, times = np.full((2 * T, K), np.nan), np.ones(2 * T), np.zeros(2 * T)
    rows[1::2], weights[1::2], times[::2] = s, beta, dt
    _run_chain(f, chain, starts, rows, weights, times)
    states[:] = chain[ends - 1]
    return np.ascontiguousarray(chain[::2])


def _run_chain(
    f: DirichletFilter, states: Floats, starts: Ints, s: Floats, beta: Floats, dt: Floats
) -> None:
    """Let each state follow from the one before it; those at `starts`, from themselves."""
    before = np.arange(len(s)) - 1
    before[starts] = starts
    f._update_chain(states, before, s, beta, dt)


def _states_after(
    f: DirichletFilter,
    s: Floats,
    beta: Floats,
    dt: Floats,
    ahead: int | None,
    left: Ints,
    rows: Ints,
) -> tuple[Floats, Floats]:
    """Return eta and nu of the `ahead` rows after some rows, without the prior.

    `left` says how many rows of its stream follow each row. The backward filter starts from the
    prior. How much of it remains does not depend on the data, so it can be subtracted.
    """
    T = len(s)
    start = f.copy()
    start.reset()
    anchor, prior_mean = f._options["anchor"], start.nu / start.eta
    decays = f.gamma**dt
    states = np.tile(pack_state(start.state, f.dtype), (T, 1))
    data, prior = np.zeros(T), np.full(T, start.eta)  # the weights of both in eta
    if ahead is None:
        later = np.flatnonzero(left)[::-1] + 1
        first = np.flatnonzero(left[later] == 0)  # the last row of each stream comes first
        pauses, decay = (np.append(x, 0.0)[later + 1] for x in (dt, decays))
        pauses[first], decay[first] = 0.0, 1.0
        chain = states[later]
        _run_chain(f, chain, first, s[later], beta[later], pauses)
        states[later - 1] = chain
        for t, g, b in zip(*(x.tolist() for x in (later - 1, decay, beta[later])), strict=True):
            data[t] = g * data[t + 1] + b
            prior[t] = g * prior[t + 1] + (1 - g) * anchor
    else:
        out, runner = np.empty(s.shape), StreamRunner(f)
        for j in range(min(ahead, int(left.max(initial=0))), 0, -1):
            some = rows[left[rows] >= j]  # all of them observe row t + j at once
            at = some + j
            more = (left[some] > j) & (j < ahead)
            pauses, decay = (np.append(x, 0.0)[at + 1] for x in (dt, decays))
            pauses[~more], decay[~more] = 0.0, 1.0
            observed = StreamRows(s[at], beta[at], pauses, slots=some)
            after = runner.run(states, observed, out[: len(some)], threads=1)
            _core.commit(states, None, some, after, None)
            data[some] = decay * data[some] + beta[at]
            prior[some] = decay * prior[some] + (1 - decay) * anchor
    nu = states[:, :1] * _average_neg_log(f, states[:, 1:]) - prior[:, None] * prior_mean
    decays = np.append(decays[1:], 1.0)  # of a stream's last row there is nothing to decay
    return (data * decays)[rows], (nu * decays[:, None])[rows]


def _average_neg_log(f: DirichletFilter, alpha: Floats) -> Floats:
    """Return nu / eta of each row: E[-log s | alpha], bounded as in the filter."""
    average: Floats = _core.digamma(alpha.sum(axis=1))[:, None] - _core.digamma(alpha)
    return np.minimum(average, f._bound) if f._options["bounded"] else average


def _mode(mean: Floats, largest: float) -> Floats:
    """Return the alpha, (T, K), with digamma(sum alpha) - digamma(alpha_i) = mean_i.

    Newton's method; where it does not settle, the slower one within a bracket. Where the sum would
    exceed the largest, it is the largest.
    """
    K = mean.shape[1]
    # (K - 1) / (2 space) is correct for large sums, and the sum is hardly larger for any.
    space = 1 - np.exp(-mean).sum(axis=1)
    guess = (K - 1) / (2 * np.maximum(space, K / largest))
    total = np.where(space * largest < 2 * K, largest, np.minimum(guess, largest))
    alpha = _at_sum(total, mean)
    rows = np.flatnonzero((total < largest) | (alpha.sum(axis=1) < largest))
    alpha[rows], settled = _newton(alpha[rows], mean[rows])
    rest = rows[~settled]
    alpha[rest] = _bracketed(guess[rest], mean[rest], largest)
    sums = alpha.sum(axis=1)
    alpha *= (np.minimum(sums, largest) / sums)[:, None]
    return np.maximum(alpha, MIN_ALPHA)


def _newton(alpha: Floats, mean: Floats) -> tuple[Floats, Bools]:
    """Return better alpha, and which of them have settled.

    The Jacobian is a diagonal matrix and one of rank one. A step down takes the reciprocal of alpha
    up instead, so that it stays positive.
    """
    rows = np.arange(len(alpha))
    for _ in range(MAX_NEWTON):
        a = alpha[rows]
        total = a.sum(axis=1)
        inverse, slope = 1 / _core.trigamma(a), _core.trigamma(total)
        alone = (_core.digamma(total)[:, None] - mean[rows] - _core.digamma(a)) * inverse
        with np.errstate(all="ignore"):
            more = slope * alone.sum(axis=1) / (1 - slope * inverse.sum(axis=1))
            step = alone + inverse * more[:, None]
            alpha[rows] = np.where(step > 0, a + step, a * a / (a - step))
        # The error is squared; the larger the sum, the less the mean depends on it.
        done = np.abs(step / a).max(axis=1) <= 1e-9 + 1e-14 * total
        rows = rows[~done]
        if not len(rows):
            break
    settled = np.ones(len(alpha), bool)
    settled[rows] = False
    return alpha, settled


def _bracketed(guess: Floats, mean: Floats, largest: float) -> Floats:
    """Return the alpha of `_mode`: given the sum, each alpha_i follows by itself.

    Newton's method, within a bracket, solves for the logarithm of the sum.
    """
    T = len(mean)
    rows, alpha, total = np.arange(T), np.empty_like(mean), np.empty(T)
    low, high = np.full(T, np.log(MIN_ALPHA**2)), np.full(T, np.log(largest))
    x = np.clip(np.log(guess), low, high)
    for _ in range(MAX_ITERATIONS):
        total[rows] = np.exp(x)
        alpha[rows] = at_total = _at_sum(total[rows], mean[rows])
        excess = at_total.sum(axis=1) / total[rows] - 1
        low, high = np.where(excess > 0, x, low), np.where(excess > 0, high, x)
        slope = (_core.trigamma(total[rows])[:, None] / _core.trigamma(at_total)).sum(axis=1) - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - excess / slope
        new = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        active = np.abs(new - x) > 1e-13 + 1e-14 * total[rows]
        total[rows] = np.exp(new)
        rows, low, high, x = rows[active], low[active], high[active], new[active]
        if not len(rows):
            break
    alpha *= (total / alpha.sum(axis=1))[:, None]
    return alpha


def _at_sum(total: Floats, mean: Floats) -> Floats:
    """Return the alpha_i with digamma(alpha_i) = digamma(total) - mean_i, by Newton's method."""
    y = _core.digamma(total)[:, None] - mean
    with np.errstate(divide="ignore"):
        alpha = np.where(y > -2.22, np.exp(y) + 0.5, -1 / (y + np.euler_gamma))
    for _ in range(5):
        alpha -= (_core.digamma(alpha) - y) / _core.trigamma(alpha)
    solution: Floats = alpha
    return solution
