"""What a policy would have done on recorded streams."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .channel import Channel
from .columns import Weights, coded, probabilities, put_right_by, row_weights, seconds, text_names
from .filters import Array, Filter
from .policy import Policy
from .recording import Recording


class Replay(NamedTuple):
    """What a policy did.

    Attributes
    ----------
    recording : Recording
        The answers it called for.
    track : ndarray (T, K)
        The filter's reading after each step.
    calls : dict of str to int
        How often each source was called.
    """

    recording: Recording
    track: Array
    calls: dict[str, int]


def replay(
    time: ArrayLike,
    probs: Mapping[str, ArrayLike],
    policy: Policy,
    filter: Filter,  # noqa: A002
    beta: Weights = 1.0,
    channel: Mapping[str, Channel | None] | None = None,
    *,
    label: ArrayLike | None = None,
) -> Replay:
    """Let a policy choose, step by step, among sources that were all recorded at every step.

    The policy and the filter start afresh, on copies; those given stay as they are.

    Parameters
    ----------
    time : array_like (T,)
        When, as in `Recording`.
    probs : mapping of str to array_like (T, K)
        What each source says at every step, columns in the filter's order of classes. A row of NaN
        is a call without an answer.
    policy : Policy
        Chooses the source of each step.
    filter : Filter
        Its settings are used, not its state.
    beta : mapping of str to float, or float, default 1
        The weight of each source, or one for all.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; None leaves them as they are.
    label : array_like (T,), optional
        The true classes, for the recording.

    Returns
    -------
    Replay
        The recording, whose ``run`` with the same filter gives the same track; the track; and how
        often each source was called.

    Examples
    --------
    >>> from classfilter import StickyFilter, policy, simulate
    >>> day = simulate(hours=1.0)
    >>> f, beta = StickyFilter(day.classes, half_life=120.0), {"strong": 1.0, "weak": 0.1}
    >>> replay(day.time, day.probs, policy.Periodic(every=12), f, beta).calls
    {'weak': 660, 'strong': 60}
    """
    if not probs:
        raise ValueError("probs is empty; give the answers of each source, (T, K)")
    names = text_names(filter.classes)
    t = seconds(time)
    said = {name: _answers(name, rows, names, t.size) for name, rows in probs.items()}
    sources = list(said)
    weights = dict(zip(sources, row_weights(coded(sources), beta).tolist(), strict=True))
    channels = {name: c for name, c in (channel or {}).items() if c is not None}
    precision = filter.probs.dtype
    taken = {
        name: put_right_by(channels, name, rows.astype(precision)) if name in channels else rows
        for name, rows in said.items()
    }
    chooser, fresh = policy.copy(), filter.copy()
    chooser.reset()
    fresh.reset()
    dt = Recording(t, sources[0], said[sources[0]], names).dt.tolist()
    reading = fresh.probs
    last = dict.fromkeys(sources, -math.inf)
    track = np.empty((t.size, len(names)), reading.dtype)
    chosen = []
    for step, now in enumerate(t.tolist()):
        source = chooser.choose(reading, {name: now - then for name, then in last.items()})
        if source not in taken:
            raise ValueError(
                f"policy called {source!r} at step {step}; probs has {sources}: name the policy's "
                "sources as there"
            )
        answer = taken[source][step]
        before, reading = reading, fresh.update(answer, weights[source], dt[step])
        chooser.called(source, answer, before, dt[step])
        track[step] = reading
        last[source] = now
        chosen.append(source)
    picked = np.empty((t.size, len(names)))
    who = np.array(chosen, dtype=np.str_)
    for name, rows in said.items():
        picked[who == name] = rows[who == name]
    calls = {name: chosen.count(name) for name in sources}
    return Replay(Recording(t, who, picked, names, label), track, calls)


def _answers(source: str, rows: ArrayLike, names: tuple[str, ...], T: int) -> Array:
    try:
        answers = probabilities(rows, names)
    except ValueError as error:
        raise ValueError(str(error).replace("probs", f"probs[{source!r}]", 1)) from None
    if len(answers) != T:
        raise ValueError(
            f"probs[{source!r}] has {len(answers)} rows, but time has {T}; give every source's "
            "answer at every step"
        )
    return answers
