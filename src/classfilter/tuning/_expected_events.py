"""How many events to expect, from the calls of the reference alone.

Calls that follow each other share their errors, and an error that is shared looks like an event. So
only every m-th call counts, where m calls share an error, and Baum-Welch estimates the transitions
between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._support.types import Floats, Ints
from ..filters._ctmc import generator
from ._memory import autocovariance, class_covariance
from ._rows import JoinedRows

SHARED_RATIO = 1.35
"""Calls share errors where their covariance is above this multiple of what classes alone can
explain; chosen on ten real sets, among them geolife, and on two simulations."""
MOST_SHARED = 24
"""At most so many calls share an error; chosen as `SHARED_RATIO` was."""
PSEUDO_CHANGE, PSEUDO_STAY = 0.02, 2.0
"""Transitions from each class to each other and to itself that are added to those counted."""
ROUNDS = 30
"""Of Baum-Welch, at most."""
SETTLED = 1e-3
"""It ends where the changes to expect differ by less than this share from those a round before."""
LONGEST = 40
"""Calls in a sequence; longer ones are cut, so that there are many of about one length."""
ENOUGH_CALLS = 6000
"""Where there are more calls, some offsets are left out."""


class ExpectedEvents(NamedTuple):
    """The events to expect.

    Attributes
    ----------
    shared : int
        How many successive calls share an error, m; 1 where they do not.
    number : float
        The events to expect, from every m-th call.
    from_fewer_calls : float
        The same from every 2m-th call. Where events are shorter than the time between calls, that
        is clearly less.
    """

    shared: int
    number: float
    from_fewer_calls: float


def expect_events(calls: JoinedRows, shares: Floats) -> ExpectedEvents:
    """Return the events to expect in the streams of the reference's calls.

    It is the number of streams, and of the changes :math:`-n \\sum_k \\pi_k G_{kk}` over n calls,
    with the shares :math:`\\pi` and the rates :math:`G` of one call.
    """
    shared = calls_that_share_an_error(calls, shares)

    def number(spacing: int) -> float:
        matrix = estimate_transitions(spaced_calls(calls, shares, spacing), shares)
        return calls.streams + len(calls.source) * changes_per_call(matrix, shares, spacing)

    return ExpectedEvents(shared, number(shared), number(2 * shared))


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
    for _ in range(ROUNDS):
        counts, _ = expected_transitions(sequences, matrix, shares)
        matrix = counts + added
        matrix /= matrix.sum(axis=1, keepdims=True)
        before, changes = changes, float(1 - shares @ np.diag(matrix))
        if abs(changes - before) < SETTLED * changes:
            break
    return matrix


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


def changes_per_call(matrix: Floats, shares: Floats, spacing: int) -> float:
    """Return the changes of class from one call to the next, of transitions over several calls."""
    try:
        rates = generator(matrix)
    except ValueError:  # the class is forgotten within the spacing
        rates = matrix - np.eye(len(matrix))
    return float(-(shares @ np.diag(rates)) / spacing)
