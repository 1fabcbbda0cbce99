"""How many events to expect, and how far errors last, from the calls of the reference alone.

Calls that follow each other share their errors, and an error that is shared looks like an event. So
only every m-th call counts, where m calls share an error, and Baum-Welch estimates the transitions
between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..filters import exponential, generator
from ..support.arrays import median_step
from ..support.types import Floats, Ints
from .memory import autocovariance, class_covariance, mean_predictions_by_class
from .model import mean_shares
from .rows import JoinedRows

SHARED_RATIO = 1.35
"""Calls share errors where their covariance is above this multiple of what classes alone can
explain; chosen on ten real sets, among them geolife, and on two simulations."""
MOST_SHARED = 24
"""At most so many calls share an error; chosen as `SHARED_RATIO` was."""
PSEUDO_CHANGE, PSEUDO_STAY = 0.02, 2.0
"""Transitions from each class to each other and to itself that are added to those counted."""
MAX_ROUNDS = 30
"""Of Baum-Welch, at most."""
SETTLED = 1e-3
"""It ends where the changes to expect differ by less than this share from those a round before."""
LONGEST = 40
"""Calls in a sequence; longer ones are cut, so that there are many of about one length."""
ENOUGH_CALLS = 6000
"""Where there are more calls, some offsets are left out."""
SMALLEST_SHARE = 0.02
"""Of the variance of predictions, below which nothing can be said of their errors."""


class ExpectedCalls(NamedTuple):
    """What the calls of the reference say of changes of class, and of their own errors.

    Attributes
    ----------
    shared : int
        How many successive calls share an error, m; 1 where they do not.
    expected_events : float
        The events to expect in the streams, from every m-th call.
    from_fewer_calls : float
        The same from every 2m-th call. Where events are shorter than the time between calls, that
        is clearly less.
    error_correlation : float
        Correlation of the errors of successive calls, 0 where none is seen.
    step : float
        The median time from one call to the next.
    """

    shared: int
    expected_events: float
    from_fewer_calls: float
    error_correlation: float
    step: float


def estimate_calls(rows: JoinedRows) -> ExpectedCalls:
    """Estimate how often the class changes, and how far errors last, from the reference's rows."""
    calls = reference_calls(rows)
    shares = mean_shares(calls.probs)
    shared = calls_that_share_an_error(calls, shares)
    both = [estimate_rates(calls, shares, spacing) for spacing in (shared, 2 * shared)]
    near, far = (
        calls.streams + len(calls.source) * changes_per_call(rates, shares) for rates in both
    )
    return ExpectedCalls(shared, near, far, error_correlation(calls, shares, both), calls.step)


def reference_calls(rows: JoinedRows) -> JoinedRows:
    """Return the rows of the reference alone; the step is that from one to the next."""
    kept = rows.of_reference
    time, stream = rows.time[kept], rows.stream[kept]
    first = np.append(True, stream[1:] != stream[:-1])
    dt = np.where(first, 0.0, np.diff(time, prepend=time[0]))
    step = median_step(dt) if (dt > 0).any() else rows.step
    return rows.take(kept)._replace(dt=dt, first=first, stream=np.cumsum(first) - 1, step=step)


def changes_per_call(rates: Floats, shares: Floats) -> float:
    r"""Return the changes of class from one call to the next, :math:`-\sum_k \pi_k G_{kk}`."""
    return -float(shares @ np.diag(rates))


def error_correlation(calls: JoinedRows, shares: Floats, rates: Sequence[Floats]) -> float:
    r"""Return the correlation of the errors of successive calls, 0 where none is seen.

    Of the autocovariance of neighbouring predictions, :math:`C(1)`, the classes explain

    .. math:: \sum_{jk} \pi_j (e^G)_{jk} (m_j - \pi) \cdot (m_k - \pi),
        \quad m_k = E[s_k s] / \pi_k,

    if predictions are right as often as they say. The rest is shared by their errors. The
    correlation is that rest, divided by what the errors have of the variance of predictions. Of
    several estimates of the rates :math:`G` per call, the one counts that leaves least.
    """
    lags, covariance = autocovariance(calls, shares, [1])
    means = mean_predictions_by_class(calls.probs, shares) - shares
    variance = float(((calls.probs - shares) ** 2).sum(axis=1).mean())
    of_errors = variance - float(shares @ (means**2).sum(axis=1))
    if not lags.size or of_errors < SMALLEST_SHARE * variance:
        return 0.0
    alike = shares[:, None] * (means @ means.T)
    explained = max(float((exponential(G) * alike).sum()) for G in rates)
    return float(np.clip((covariance[0] - explained) / of_errors, 0.0, 1.0))


def calls_that_share_an_error(calls: JoinedRows, shares: Floats) -> int:
    """Return the first lag l at which calls are hardly more alike than classes make them.

    That is C(l) <= 1.35 C0, where C(l) is the autocovariance of the predictions l calls apart, and
    C0 the most that it can be for predictions that are right as often as they say and whose errors
    are independent: `class_covariance`.
    """
    lags, covariance = autocovariance(calls, shares, range(1, MOST_SHARED + 1))
    apart = lags[covariance <= SHARED_RATIO * class_covariance(calls.probs, shares)]
    if apart.size:
        return int(apart[0])
    return int(lags[-1]) if lags.size else 1


class SpacedCalls(NamedTuple):
    """Sequences of every m-th call, packed: all first calls, then all second ones, and so on.

    Attributes
    ----------
    likelihood : ndarray (R, K)
        The likelihood s / shares of each call. At each place the longest sequence comes first.
    sizes : ndarray (L,)
        How many sequences have a call at each place.
    offsets : int
        From how many offsets they begin: m or, where there are many calls, fewer.
    """

    likelihood: Floats
    sizes: Ints
    offsets: int


def spaced_calls(calls: JoinedRows, shares: Floats, spacing: int) -> SpacedCalls:
    """Return every spacing-th call of each stream, from each offset."""
    position = np.arange(len(calls.source)) - calls.start
    offset, place = position % spacing, position // spacing
    stride = min(spacing, -(-len(position) // ENOUGH_CALLS))
    order = np.lexsort((place, offset, calls.stream))
    order = order[offset[order] % stride == 0]
    place = place[order] % LONGEST
    sequence = np.cumsum(place == 0) - 1
    length = np.bincount(sequence)[sequence]
    packed = np.lexsort((sequence, -length, place))
    likelihood = calls.probs[order[packed]] / shares
    return SpacedCalls(likelihood, np.bincount(place), -(-spacing // stride))


def estimate_transitions(sequences: SpacedCalls, shares: Floats) -> Floats:
    """Return the transitions (K, K) from one call of sequences to the next, by Baum-Welch.

    Sequences begin with the shares. Several offsets count each change as many times, so that the
    pseudo-counts are multiplied by their number.
    """
    K = len(shares)
    added = sequences.offsets * np.where(np.eye(K) > 0, PSEUDO_STAY, PSEUDO_CHANGE)
    matrix = 0.9 * np.eye(K) + 0.1 * shares
    changes = np.inf
    for _ in range(MAX_ROUNDS):
        counts, _ = expected_transitions(sequences, matrix, shares)
        matrix = counts + added
        matrix /= matrix.sum(axis=1, keepdims=True)
        before, changes = changes, float(1 - shares @ np.diag(matrix))
        if abs(changes - before) < SETTLED * changes:
            break
    return matrix


def estimate_rates(calls: JoinedRows, shares: Floats, spacing: int) -> Floats:
    """Return the rates of change (K, K) per call, estimated from every spacing-th one."""
    matrix = estimate_transitions(spaced_calls(calls, shares, spacing), shares)
    try:
        rates = generator(matrix)
    except ValueError:  # the class is forgotten within the spacing
        rates = matrix - np.eye(len(matrix))
    return rates / spacing


def expected_transitions(
    sequences: SpacedCalls, matrix: Floats, shares: Floats
) -> tuple[Floats, float]:
    r"""Return the expected number of transitions (K, K), and the log-likelihood of the sequences.

    With the forward messages :math:`a_t \propto (a_{t-1} A) l_t` and the backward messages
    :math:`b_t \propto A (l_{t+1} b_{t+1})`, a transition from i to j at t has the probability
    :math:`a_t(i) A_{ij} l_{t+1}(j) b_{t+1}(j)`, normalised.
    """
    likelihood, sizes, _ = sequences
    ends = np.cumsum(sizes)
    places = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    forward = np.empty_like(likelihood)
    message = np.broadcast_to(shares, (sizes[0], len(shares)))
    log_likelihood = 0.0
    for t, (here, size) in enumerate(zip(places, sizes, strict=True)):
        predicted = message[:size] @ matrix if t else message
        message = predicted * likelihood[here]
        scale = message.sum(axis=1, keepdims=True)
        log_likelihood += float(np.log(scale).sum())
        message /= scale
        forward[here] = message
    later = likelihood.copy()  # l_t b_t
    for here, after in zip(places[-2::-1], places[:0:-1], strict=True):
        message = later[after] @ matrix.T
        message /= message.sum(axis=1, keepdims=True)
        later[here.start : here.start + len(message)] *= message
    # The row before each but the first ones: at the same rank, a place earlier.
    rows = np.arange(sizes[0], len(likelihood))
    before = forward[rows - np.repeat(sizes[:-1], sizes[1:])]
    after_it = later[rows]
    total = ((before @ matrix) * after_it).sum(axis=1, keepdims=True)
    counts: Floats = matrix * ((before / total).T @ after_it)
    return counts, log_likelihood
