"""One choice of a filter's settings, and its tracks over recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .channel import Channel
from .dynamics import Transitions, class_shares, learn_transitions
from .filters import DirichletFilter, Filter
from .recording import Recording
from .sticky import StickyFilter

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FAMILIES = ("transitions", "stay", "dirichlet")
"""The kinds of filter that are tried: sticky with learnt transitions, sticky, and Dirichlet."""
LOOKS = 2
"""How often the channels are learnt anew from hindsight."""
USUAL = 0.7
"""The weight of sources with a channel, where it is not yet known."""


class Learnt(NamedTuple):
    """What the answers of a reference classifier tell, without labels.

    Attributes
    ----------
    classes : tuple of str
        The K classes.
    reference : str
        The source that was learnt from.
    prior : ndarray (K,)
        How often each class comes: the square root of the shares, normalised. Answers hold the
        shares of the data that a classifier was trained on, which are not known.
    transitions : Transitions, optional
        What follows each class; None where that cannot be learnt.
    channel : dict of str to Channel
        The confusions of each other source.
    """

    classes: tuple[str, ...]
    reference: str
    prior: Floats
    transitions: Transitions | None
    channel: dict[str, Channel]


class Setting(NamedTuple):
    """One choice of all that can be chosen.

    Attributes
    ----------
    family : {"transitions", "stay", "dirichlet"}
        The kind of filter.
    half_life : float
        Of its memory, in time units; not used with learnt transitions.
    beta : tuple of (str, float)
        The weight of each source.
    channel : frozenset of str
        The sources that go through their channel.
    floor, anchor : float
        As in the filters.
    """

    family: str
    half_life: float
    beta: tuple[tuple[str, float], ...]
    channel: frozenset[str]
    floor: float = 1e-3
    anchor: float = 0.0

    def with_beta(self, source: str, weight: float) -> Setting:
        """Return the same with another weight of a source."""
        return self._replace(beta=tuple((dict(self.beta) | {source: weight}).items()))

    def options(self, learnt: Learnt) -> tuple[str, dict[str, Any]]:
        """Return the kind of the filter, as in a TOML file, and its options."""
        if self.family == "dirichlet":
            options = {"half_life": self.half_life, "estimate": "mean", "anchor": self.anchor}
            return "dirichlet", options | {"floor": self.floor}
        options = {"prior": learnt.prior, "floor": self.floor}
        if self.family == "transitions" and learnt.transitions is not None:
            matrix, interval = learnt.transitions
            return "sticky", {"transitions": matrix, "interval": interval, **options}
        return "sticky", {"half_life": self.half_life, **options}

    def filter(self, learnt: Learnt) -> Filter:
        """Return a fresh filter."""
        kind, options = self.options(learnt)
        made = DirichletFilter if kind == "dirichlet" else StickyFilter
        return made(learnt.classes, **options)

    def channels(self, learnt: Learnt) -> dict[str, Channel]:
        """Return the channels in use, with the prior of the filter behind them."""
        prior = None if self.family == "dirichlet" else learnt.prior
        return {name: Channel(learnt.channel[name].matrix, prior) for name in sorted(self.channel)}


class Track(NamedTuple):
    """What a filter makes of a recording.

    Attributes
    ----------
    after : ndarray (T, K)
        The class probabilities after each row.
    before : ndarray (N, K)
        Those just before each answer of the reference but the first.
    """

    after: Floats
    before: Floats


class Runner:
    """Runs settings over a recording, and looks at the filter just before each reference answer.

    To that end a row that only lets time pass goes in before each of them.
    """

    def __init__(self, rec: Recording, learnt: Learnt) -> None:
        self._learnt = learnt
        asked = rec.answered(learnt.reference)
        rows = np.repeat(np.arange(len(rec)), 1 + asked)
        silent: Bools = np.append(rows[:-1] == rows[1:], False)
        again = np.append(False, silent[:-1])
        self._probs = np.where(silent[:, None], np.nan, rec.probs[rows])
        self._dt = np.where(again, 0.0, rec.dt[rows])
        self._rows = {
            name: np.flatnonzero((rec.source[rows] == name) & ~silent) for name in rec.sources
        }
        self._after, self._before = np.flatnonzero(~silent), np.flatnonzero(silent)[1:]
        self._put_right: dict[tuple[str, bool], Floats] = {}
        self.answers: Floats = rec.probs[asked][1:]
        """Those of the reference but the first, (N, K)."""

    def stream(self, setting: Setting) -> tuple[Floats, Floats, Floats]:
        """Return all that a filter takes: probs, beta, dt."""
        probs, beta = self._probs, np.zeros(len(self._probs))
        if setting.channel & self._rows.keys():
            probs = probs.copy()
        for name, weight in setting.beta:
            if name not in self._rows:
                continue
            beta[self._rows[name]] = weight
            if name in setting.channel:
                key = (name, setting.family == "dirichlet")
                if key not in self._put_right:
                    channel = setting.channels(self._learnt)[name]
                    self._put_right[key] = channel.apply(self._probs[self._rows[name]])
                probs[self._rows[name]] = self._put_right[key]
        return probs, beta, self._dt

    def run(self, setting: Setting, made: Filter) -> Track:
        """Run a filter of a setting over the recording."""
        probs, beta, dt = self.stream(setting)
        made.reset()
        P = made.run(probs, beta=beta, dt=dt)
        return Track(P[self._after], P[self._before])

    def smooth(self, setting: Setting, made: Filter) -> Floats:
        """Return what hindsight says of each row, (T, K)."""
        from .smooth import smooth

        made.reset()
        return smooth(made, *self.stream(setting))[self._after]


def learn(recordings: Sequence[Recording], reference: str) -> Learnt:
    """Learn what the answers of a source tell of the classes and of the other sources.

    The channels are learnt from the reference's nearest answers first, and then from hindsight,
    which knows better what was at the time of each answer.
    """
    others = dict.fromkeys(name for rec in recordings for name in rec.sources if name != reference)
    classes, prior = recordings[0].classes, _tempered(class_shares(recordings, reference))
    try:
        transitions = learn_transitions(recordings, reference)
        matrix, interval = transitions
        StickyFilter(classes, transitions=matrix, interval=interval, prior=prior)
    except ValueError:  # no process in continuous time has them
        transitions = None
    channel = {name: Channel.between(recordings, name, reference) for name in others}
    learnt = Learnt(classes, reference, prior, transitions, channel)
    for _ in range(LOOKS if others and transitions is not None else 0):
        learnt = learnt._replace(channel=_from_hindsight(recordings, learnt))
    return learnt


def _from_hindsight(recordings: Sequence[Recording], learnt: Learnt) -> dict[str, Channel]:
    """Return the channel of each source, from what hindsight says at the time of its answers."""
    others = list(learnt.channel)
    weights = ((learnt.reference, 1.0), *((name, USUAL) for name in others))
    setting = Setting("transitions", 1.0, weights, frozenset(others))
    made = setting.filter(learnt)
    truths = [Runner(rec, learnt).smooth(setting, made) for rec in recordings]
    found = {}
    for name in others:
        rows = [rec.source == name for rec in recordings]
        said = np.concatenate([rec.probs[its] for rec, its in zip(recordings, rows, strict=True)])
        true = np.concatenate([truth[its] for truth, its in zip(truths, rows, strict=True)])
        found[name] = Channel.fit(said, true)
    return found


def _tempered(shares: Floats) -> Floats:
    root = np.sqrt(shares)
    tempered: Floats = root / root.sum()
    return tempered
