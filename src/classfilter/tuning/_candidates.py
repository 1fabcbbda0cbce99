"""One choice of a filter's settings, and its tracks over recordings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._channel import Channel
from .._typing import Bools, Floats
from ..data._recording import Recording
from ..filters._base import Filter
from ..filters._dirichlet import DirichletFilter
from ..filters._smoothing import smooth
from ..filters._sticky import StickyFilter
from ._model import EstimatedModel

FAMILIES = ("transitions", "stay", "dirichlet")
"""The kinds of filter that are tried: sticky with learnt transitions, sticky, and Dirichlet."""


class Candidate(NamedTuple):
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

    def with_beta(self, source: str, weight: float) -> Candidate:
        """Return the same with another weight of a source."""
        return self._replace(beta=tuple((dict(self.beta) | {source: weight}).items()))

    def options(self, model: EstimatedModel) -> tuple[str, dict[str, Any]]:
        """Return the kind of the filter, as in a TOML file, and its options."""
        if self.family == "dirichlet":
            options = {"half_life": self.half_life, "estimate": "mean", "anchor": self.anchor}
            return "dirichlet", options | {"floor": self.floor}
        options = {"prior": model.prior, "floor": self.floor}
        if self.family == "transitions" and model.transitions is not None:
            matrix, interval = model.transitions
            return "sticky", {"transitions": matrix, "interval": interval, **options}
        return "sticky", {"half_life": self.half_life, **options}

    def filter(self, model: EstimatedModel) -> Filter:
        """Return a fresh filter."""
        kind, options = self.options(model)
        made = DirichletFilter if kind == "dirichlet" else StickyFilter
        return made(model.classes, **options)

    def channels(self, model: EstimatedModel) -> dict[str, Channel]:
        """Return the channels in use, with the prior of the filter behind them."""
        prior = None if self.family == "dirichlet" else model.prior
        return {name: Channel(model.channel[name].matrix, prior) for name in sorted(self.channel)}


class FilterOutput(NamedTuple):
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

    def __init__(self, rec: Recording, model: EstimatedModel) -> None:
        self._learnt = model
        asked = rec.observed(model.reference)
        rows = np.repeat(np.arange(len(rec)), 1 + asked)
        silent: Bools = np.append(rows[:-1] == rows[1:], False)
        again = np.append(False, silent[:-1])
        self._probs = np.where(silent[:, None], np.nan, rec.probs[rows])
        self._dt = np.where(again, 0.0, rec.dt[rows])
        self._rows = {
            name: np.flatnonzero((rec.source[rows] == name) & ~silent) for name in rec.sources
        }
        self._after, self._before = np.flatnonzero(~silent), np.flatnonzero(silent)[1:]
        self._corrected: dict[tuple[str, bool], Floats] = {}
        self.answers: Floats = rec.probs[asked][1:]
        """Those of the reference but the first, (N, K)."""

    def stream(self, candidate: Candidate) -> tuple[Floats, Floats, Floats]:
        """Return all that a filter takes: probs, beta, dt."""
        probs, beta = self._probs, np.zeros(len(self._probs))
        if candidate.channel & self._rows.keys():
            probs = probs.copy()
        for name, weight in candidate.beta:
            if name not in self._rows:
                continue
            beta[self._rows[name]] = weight
            if name in candidate.channel:
                key = (name, candidate.family == "dirichlet")
                if key not in self._corrected:
                    channel = candidate.channels(self._learnt)[name]
                    self._corrected[key] = channel.apply(self._probs[self._rows[name]])
                probs[self._rows[name]] = self._corrected[key]
        return probs, beta, self._dt

    def run(self, candidate: Candidate, made: Filter) -> FilterOutput:
        """Run a filter of a candidate over the recording."""
        probs, beta, dt = self.stream(candidate)
        made.reset()
        P = made.run(probs, beta=beta, dt=dt)
        return FilterOutput(P[self._after], P[self._before])

    def smooth(self, candidate: Candidate, made: Filter) -> Floats:
        """Return what hindsight says of each row, (T, K)."""
        made.reset()
        return smooth(made, *self.stream(candidate))[self._after]
