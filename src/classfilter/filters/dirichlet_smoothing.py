"""Smoothing of the Dirichlet filter: the states before and after each row, added."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..support.arrays import stable_argsort
from ..support.types import Floats, Ints
from .dirichlet import DirichletFilter
from .runner import StreamRows, StreamRunner, pack_state

MIN_ALPHA = 1e-6  # as in the Dirichlet filter
MIN_WEIGHT = 1e-290  # below it, nu / eta has no digits left
MAX_ITERATIONS = 100


def decays(gamma: float, dt: Floats) -> Floats:
    """Return what is left of a weight after each time, (T,)."""
    # one number by itself NumPy might raise in another way
    left: Floats = np.power(gamma, np.append(dt, 0.0))[:-1]
    return left


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
    eta, nu = _states_after(f, s, beta, dt, ahead, counts, left, rows)
    if len(rows) < len(s):
        s, beta, dt = s[rows], beta[rows], dt[rows]
    s, beta, dt = (np.ascontiguousarray(column, np.float64) for column in (s, beta, dt))
    chain, before = _states_before(f, states, s, beta, dt, complete)
    out = np.empty(s.shape)
    rest = np.flatnonzero(~f._join(chain, before, dt, eta, nu, s, beta, out))
    if rest.size:
        out[rest] = in_two_searches(
            f, chain[before[rest]], dt=dt[rest], eta=eta[rest], nu=nu[rest], s=s[rest],
            beta=beta[rest],
        )  # fmt: skip
    return out


def _states_before(
    f: DirichletFilter, states: Floats, s: Floats, beta: Floats, dt: Floats, counts: Ints
) -> tuple[Floats, Ints]:
    """Return states, eta and alpha, and for each row the place of the one after the row before.

    `states` are those of the streams before their first rows; then, after their last ones.
    """
    order, before = _waves(counts)
    chain = np.concatenate([np.empty((len(s), states.shape[1])), states])
    f._update_chain(chain, before, s[order], beta[order], dt[order])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    states[:] = chain[place[np.cumsum(counts) - 1]]
    return chain, before[place]


def in_two_searches(
    f: DirichletFilter,
    states: Floats,
    *,
    dt: Floats,
    eta: Floats,
    nu: Floats,
    s: Floats,
    beta: Floats,
) -> Floats:
    """Return what the core does not find: the mode of the states together first, then the row.

    Each row has the state before it; `eta` and `nu` are of the rows after it.
    """
    runner, out = StreamRunner(f), np.empty(s.shape)
    passed = StreamRows(np.full(s.shape, np.nan), np.ones(()), dt)
    joint = runner.run(states, passed, out, threads=1)
    nu = joint[:, :1] * f._means(joint) + nu
    eta = joint[:, 0] + eta
    informed = np.flatnonzero((eta > joint[:, 0]) & (eta > MIN_WEIGHT))
    joint[informed, 1:] = _mode(nu[informed] / eta[informed, None], f.max_concentration)
    joint[:, 0] = eta
    runner.run(joint, StreamRows(s, beta, np.zeros(())), out, threads=1)
    return out


def _waves(counts: Ints) -> tuple[Ints, Ints]:
    """Return the rows of streams, which follow each other, as waves, and what comes before each.

    The first rows of all streams come first, then all second rows, so that they can be updated
    together. What comes before the first row of stream i is at T + i.
    """
    T = int(counts.sum())
    streams = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(T) - (np.cumsum(counts) - counts)[streams]
    order = stable_argsort(rank)
    place = np.empty_like(order)
    place[order] = np.arange(T)
    before = np.where(rank == 0, T + streams, np.roll(place, 1))[order]
    return order, before


def _states_after(
    f: DirichletFilter,
    s: Floats,
    beta: Floats,
    dt: Floats,
    ahead: int | None,
    counts: Ints,
    left: Ints,
    rows: Ints,
) -> tuple[Floats, Floats]:
    """Return eta and nu of the `ahead` rows after some rows, without the prior.

    `left` says how many rows of its stream follow each row. The backward filter starts from the
    prior. How much of it remains does not depend on the data, so it can be subtracted.
    """
    T, K = s.shape
    start = f.copy()
    start.reset()
    anchor, prior_mean = f._options["anchor"], start.nu / start.eta
    decayed = decays(f.gamma, dt)
    first_state = pack_state(start.state, f.dtype)
    if ahead is None:
        order, before = _waves((counts - 1)[::-1])  # from the last row of each stream to its second
        at = (np.flatnonzero(left) + 1)[::-1][order]
        pauses, decay = (np.append(x, 0.0)[at + 1] for x in (dt, decayed))
        first = before >= len(at)
        pauses[first], decay[first] = 0.0, 1.0
        states = np.empty((len(at) + len(counts), K + 1))
        states[len(at) :] = first_state
        f._update_chain(states, before, s[at], beta[at], pauses)
        states = states[: len(at)]
        data = _core.decayed_sums(0.0, before, decay, beta[at])
        prior = _core.decayed_sums(start.eta, before, decay, (1 - decay) * anchor)
    else:
        states = np.tile(first_state, (T, 1))
        data, prior = np.zeros(T), np.full(T, start.eta)  # the weights of both in eta
        out, runner = np.empty(s.shape), StreamRunner(f)
        for j in range(min(ahead, int(left.max(initial=0))), 0, -1):
            ahead_rows = rows[left[rows] >= j]  # all of them observe row t + j at once
            at = ahead_rows + j
            more = (left[ahead_rows] > j) & (j < ahead)
            pauses, decay = (np.append(x, 0.0)[at + 1] for x in (dt, decayed))
            pauses[~more], decay[~more] = 0.0, 1.0
            observed = StreamRows(s[at], beta[at], pauses, slots=ahead_rows)
            after = runner.run(states, observed, out[: len(ahead_rows)], threads=1)
            _core.commit(states, None, ahead_rows, after, None)
            data[ahead_rows] = decay * data[ahead_rows] + beta[at]
            prior[ahead_rows] = decay * prior[ahead_rows] + (1 - decay) * anchor
        at = rows[left[rows] > 0] + 1
        states, data, prior = states[at - 1], data[at - 1], prior[at - 1]
    eta, nu = np.zeros(T), np.zeros((T, K))  # of a stream's last row there is nothing
    eta[at - 1] = data * decayed[at]
    of_data = states[:, :1] * f._means(states) - prior[:, None] * prior_mean
    nu[at - 1] = of_data * decayed[at, None]
    return (eta, nu) if len(rows) == T else (eta[rows], nu[rows])


def _mode(mean: Floats, largest: float) -> Floats:
    """Return the alpha, (T, K), with digamma(sum alpha) - digamma(alpha_i) = mean_i.

    Where the sum would exceed the largest, it is the largest.
    """
    K = mean.shape[1]
    # (K - 1) / (2 space) is correct for large sums, and the sum is hardly larger for any.
    space = 1 - np.exp(-mean).sum(axis=1)
    guess = (K - 1) / (2 * np.maximum(space, K / largest))
    alpha = _at_sum(np.full(len(mean), largest), mean)
    rows = np.flatnonzero((space * largest >= 2 * K) | (alpha.sum(axis=1) < largest))
    alpha[rows] = _bracketed(guess[rows], mean[rows], largest)
    sums = alpha.sum(axis=1)
    alpha *= (np.minimum(sums, largest) / sums)[:, None]
    return np.maximum(alpha, MIN_ALPHA)


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
