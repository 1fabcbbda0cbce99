"""What a policy would have done on recorded streams."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._channel import Channels, correct
from .._typing import Array, Ints, Weights
from .._validation import class_order, factorize
from ..data._recording import Recording
from ..filters._base import Filter
from ..policy import Policy


class Replay(NamedTuple):
    """What a policy did.

    Attributes
    ----------
    recording : Recording
        The answers it called for, one a step.
    probs : ndarray (S, K)
        The filter's reading after each step.
    calls : dict of str to int
        How often each source was called.
    """

    recording: Recording
    probs: Array
    calls: dict[str, int]


def replay(
    rec: Recording,
    policy: Policy,
    filter: Filter,  # noqa: A002
    beta: Weights = 1.0,
    channel: Channels | None = None,
) -> Replay:
    """Let a policy choose, step by step, among sources that were all recorded at every step.

    The policy and the filter start afresh, on copies; those given stay as they are.

    Parameters
    ----------
    rec : Recording
        One row a source at each of S times. A row of NaN is a call without an answer.
    policy : Policy
        Chooses the source of each step.
    filter : Filter
        Its settings are used, not its state.
    beta : mapping of str to float, or float, default 1
        The weight of each source, or one for all.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; None leaves them as they are.

    Returns
    -------
    Replay
        The recording, whose ``run`` with the same filter gives the same track; the track; and how
        often each source was called.

    Examples
    --------
    >>> from classfilter import StickyFilter, policy, simulate
    >>> rec = simulate(hours=1.0).recording(every=None)
    >>> f, beta = StickyFilter(rec.classes, half_life=120.0), {"strong": 1.0, "weak": 0.1}
    >>> replay(rec, policy.Periodic(every=12), f, beta).calls
    {'weak': 660, 'strong': 60}
    """
    rows = steps(rec)
    to = class_order(filter, rec.classes)
    chooser, fresh = policy.copy(), filter.copy()
    chooser.reset()
    fresh.reset()
    who = factorize(rec.source.tolist())
    taken = correct(rec.probs[:, to], who, channel, fresh.probs.dtype)
    weights = rec.weights(beta).tolist()
    times = rec.time[next(iter(rows.values()))] if rows else rec.time
    reading, now = fresh.probs, math.nan
    last = dict.fromkeys(rows, -math.inf)
    track = np.empty((times.size, len(to)), reading.dtype)
    chosen: Ints = np.empty(times.size, np.intp)
    for step, then in enumerate(times.tolist()):
        dt, now = (then - now if step else 0.0), then
        source = chooser.choose(reading, {name: now - called for name, called in last.items()})
        if source not in rows:
            raise ValueError(
                f"policy called {source!r} at step {step}; rec has the sources {list(rows)}: name "
                "the policy's sources as there"
            )
        row = chosen[step] = int(rows[source][step])
        before, reading = reading, fresh.update(taken[row], weights[row], dt)
        chooser.called(source, taken[row], before, dt)
        track[step] = reading
        last[source] = now
    label = None if rec.label is None else rec.label[chosen]
    picked = rec.time[chosen], rec.source[chosen], rec.probs[chosen]
    called = Recording(*picked, rec.classes, label)
    calls = {name: int((called.source == name).sum()) for name in rows}
    return Replay(called, track[:, np.argsort(to)], calls)


def steps(rec: Recording) -> dict[str, Ints]:
    """Return each source's rows, one a step; every source must have one at every time.

    Examples
    --------
    >>> rec = Recording([0, 0, 5, 5], ["a", "b", "b", "a"], [[0.5, 0.5]] * 4, 2)
    >>> {name: rows.tolist() for name, rows in steps(rec).items()}
    {'a': [0, 3], 'b': [1, 2]}
    """
    rows = {name: np.flatnonzero(rec.source == name) for name in rec.sources}
    times = np.unique(rec.time)
    for name, its in rows.items():
        here, count = np.unique(rec.time[its], return_counts=True)
        if here.size < times.size:
            missing = float(np.setdiff1d(times, here)[0])
            raise ValueError(
                f"rec has no row of {name!r} at time {missing}; a replay needs every source at "
                "every time: where nothing was recorded, a row of NaN"
            )
        if count.max(initial=1) > 1:
            twice = float(here[count.argmax()])
            raise ValueError(f"rec has several rows of {name!r} at time {twice}; keep one of them")
    return rows
