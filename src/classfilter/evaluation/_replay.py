"""Replay of a policy on a recording of all sources."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._support.types import Array, Ints, Weights
from ..chain._chain import Chain
from ..chain._channel import Channels
from ..data._recording import Recording
from ..filters._base import Filter
from ..policy import Adaptive, Policy


class Replay(NamedTuple):
    """The calls of a policy, and the estimates that followed.

    Attributes
    ----------
    recording : Recording
        The predictions that it called for, one per step.
    probs : ndarray (S, K)
        The filter's estimate after each step.
    calls : dict of str to int
        How often each source was called.
    """

    recording: Recording
    probs: Array
    calls: dict[str, int]


def replay(
    rec: Recording,
    filter: Filter | Chain,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    policy: Policy | None = None,
) -> Replay:
    """Let a policy choose, step by step, among sources that were all recorded at every step.

    The policy and the filter are copied and reset; the originals do not change.

    Parameters
    ----------
    rec : Recording
        One row per source at each of S times. A row of NaN is a call without a prediction.
    filter : Filter or Chain
        Its settings are used, not its state.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; by default those of the `Tuned`, or 1.
    channel : mapping of str to Channel or None, optional
        Corrects the predictions of a source before the filter observes them; by default those of
        the chain, or none.
    policy : Policy, optional
        Chooses the source of each step; by default that of the chain.

    Returns
    -------
    Replay
        The recording, whose ``run`` with the same filter gives the same probabilities; these; and
        how often each source was called.

    Examples
    --------
    >>> from classfilter import StickyFilter, policy, simulate
    >>> rec = simulate(hours=1.0).recording(every=None)
    >>> f, beta = StickyFilter(rec.classes, half_life=120.0), {"strong": 1.0, "weak": 0.1}
    >>> replay(rec, f, beta=beta, policy=policy.Periodic(every=12)).calls
    {'weak': 660, 'strong': 60}
    """
    rows = steps(rec)
    chain = Chain.of(filter, beta=beta, channel=channel, policy=policy)
    if chain.policy is None:
        raise ValueError("policy is None, and the filter has none; give one, such as Periodic(12)")
    policy, filter_ = chain.policy.copy(), chain.filter()
    probs, weights = chain.observe_rows(rec._factorized, rec.probs, rec.hard, rec.classes)
    times = rec.time[next(iter(rows.values()))] if rows else rec.time
    # Python's own lists: to index an array takes as long as an update of the filter.
    stream = _Stream(
        times.tolist(),
        {name: indices.tolist() for name, indices in rows.items()},
        list(probs),
        weights.tolist(),
    )
    if type(policy) is Adaptive and {policy.strong, policy.weak} <= rows.keys():
        called, estimates = _adaptive_calls(policy, filter_, stream)
    else:
        called, estimates = _calls(policy, filter_, stream)
    recording = rec._take(called)
    calls = {name: int((recording.source == name).sum()) for name in rows}
    filtered = np.array(estimates, filter_.probs.dtype).reshape(len(called), len(rec.classes))
    return Replay(recording, chain.in_order_of(rec.classes, filtered), calls)


class _Stream(NamedTuple):
    """The times of the steps; each source's rows, one per step; the rows and their weights."""

    times: list[float]
    rows: dict[str, list[int]]
    probs: list[Array]
    weights: list[float]


def _calls(policy: Policy, filter: Filter, stream: _Stream) -> tuple[list[int], list[Array]]:  # noqa: A002
    """Return the rows that the policy calls, and the filter's estimates after them."""
    times, rows, probs, weights = stream
    last_call = dict.fromkeys(rows, -math.inf)
    called: list[int] = []
    estimates: list[Array] = []
    estimate, before = filter.probs, math.nan
    for step, now in enumerate(times):
        dt = now - before if step else 0.0
        source = policy.choose(estimate, {name: now - last for name, last in last_call.items()})
        if source not in rows:
            raise ValueError(
                f"policy called {source!r} at step {step}; rec has the sources {list(rows)}: name "
                "the policy's sources as there"
            )
        row = rows[source][step]
        new = filter.update(probs[row], weights[row], dt)
        policy.called(source, probs[row], estimate, dt)
        estimates.append(new)
        estimate = new
        last_call[source] = before = now
        called.append(row)
    return called, estimates


def _adaptive_calls(
    policy: Adaptive,
    filter: Filter,  # noqa: A002
    stream: _Stream,
) -> tuple[list[int], list[Array]]:
    """Return the same as `_calls`, in half the time: straight to the C core, without names."""
    times, rows, probs, weights = stream
    choose, note, update = policy._choose, policy._called, filter.update
    called: list[int] = []
    estimates: list[Array] = []
    estimate, last_strong, before = filter.probs, -math.inf, times[0]
    for now, weak_row, strong_row in zip(
        times, rows[policy.weak], rows[policy.strong], strict=True
    ):
        dt = now - before
        strong = choose(estimate, now - last_strong)
        row = strong_row if strong else weak_row
        observation = probs[row]
        new = update(observation, weights[row], dt)
        note(strong, observation, estimate, dt)
        estimates.append(new)
        called.append(row)
        estimate, before = new, now
        if strong:
            last_strong = now
    return called, estimates


def steps(rec: Recording) -> dict[str, Ints]:
    """Return each source's rows, one per step; every source must have one at every time.

    Examples
    --------
    >>> rec = Recording([0, 0, 5, 5], ["a", "b", "b", "a"], [[0.5, 0.5]] * 4, 2)
    >>> {name: rows.tolist() for name, rows in steps(rec).items()}
    {'a': [0, 3], 'b': [1, 2]}
    """
    codes, names = rec._factorized
    rows = {name: np.flatnonzero(codes == i) for i, name in enumerate(names)}
    times = np.unique(rec.time)
    for name, indices in rows.items():
        here, count = np.unique(rec.time[indices], return_counts=True)
        if here.size < times.size:
            missing = float(np.setdiff1d(times, here)[0])
            raise ValueError(
                f"the recording has no row of {name!r} at time {missing}; a replay needs every "
                "source at every time: where nothing was recorded, give a row of NaN"
            )
        if count.max(initial=1) > 1:
            twice = float(here[count.argmax()])
            raise ValueError(
                f"the recording has several rows of {name!r} at time {twice}; keep one of them"
            )
    return rows
