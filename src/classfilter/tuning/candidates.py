"""A candidate: one choice of all settings, its filter, and the classes that it predicts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..filters import (
    DirichletFilter,
    EmaFilter,
    Filter,
    HoldFilter,
    MeanFilter,
    RawFilter,
    StickyFilter,
    VoteFilter,
    exponential,
)
from ..pipeline import Channel
from ..support.types import Bools, Floats, Ints
from .model import LABELS_WAY, EstimatedModel
from .passes import Passes, decayed_sums
from .rows import SOURCE_FLOOR, JoinedRows, floored

WINDOW = 5
"""Rows of the rules Mean and Vote."""
EMA_DECAY = 0.9
"""Per step, of the rule Ema."""
HELD_BELOW = 0.5
"""The weight of the sources that the rule Hold does not hold."""
FILTERS: dict[str, Any] = {
    "transitions": StickyFilter,
    "stay": StickyFilter,
    "dirichlet": DirichletFilter,
    "raw": RawFilter,
    "mean": MeanFilter,
    "vote": VoteFilter,
    "ema": EmaFilter,
    "hold": HoldFilter,
}
RULES = ("raw", "mean", "vote", "ema", "hold")
"""The simple rules."""


class Candidate(NamedTuple):
    """One choice of all settings.

    Attributes
    ----------
    family : str
        The kind of filter: "transitions" (sticky, with estimated transitions), "stay" (sticky),
        "dirichlet", or a simple rule: "raw", "mean", "vote", "ema", "hold".
    beta : tuple of (str, float)
        The weight of each source.
    half_life : float, optional
        In time units.
    channel : tuple of (str, str)
        The sources that go through their channel, and how it was estimated; see `model.WAYS`.
    rate : float
        What the estimated rates of change are multiplied by: 1, unless others are clearly better or
        needed for a limit.
    """

    family: str
    beta: tuple[tuple[str, float], ...]
    half_life: float | None = None
    channel: tuple[tuple[str, str], ...] = ()
    rate: float = 1.0

    def filter(self, model: EstimatedModel, classes: tuple[str, ...]) -> Filter:
        """Return a fresh filter."""
        options: dict[str, Any] = {}
        if self.half_life is not None and self.family == "stay":
            options["stay"] = 0.5 ** (1 / self.half_life)
        elif self.half_life is not None:
            options["half_life"] = self.half_life
        if self.family == "dirichlet":
            options |= {"estimate": "mean", "floor": SOURCE_FLOOR}
        elif self.family in ("mean", "vote"):
            options["window"] = self.window
        elif self.family in ("transitions", "stay"):
            options |= {"prior": model.prior, "floor": SOURCE_FLOOR}
        if self.family == "transitions":
            assert model.transitions is not None
            options |= {"transitions": model.transitions.matrix}
            options |= {"interval": model.transitions.interval / self.rate}
        fresh: Filter = FILTERS[self.family](classes, **options)
        return fresh

    def channels(self, model: EstimatedModel) -> dict[str, Channel]:
        """Return the channels in use, with the prior of the filter that follows them."""
        found = {name: model.channel[name, way] for name, way in self.channel}
        if self.family != "dirichlet":
            return found
        return {name: Channel(one.matrix, one.prior / model.prior) for name, one in found.items()}

    @property
    def window(self) -> int:
        """How many rows the rules Mean and Vote look at: one of each source, at least."""
        return max(WINDOW, len(self.beta))


def rule(name: str, sources: tuple[str, ...], step: float) -> Candidate:
    """Return a simple rule as a candidate; the reference is the first of the sources."""
    below = HELD_BELOW if name == "hold" else 1.0
    beta = tuple((source, below if i else 1.0) for i, source in enumerate(sources))
    half_life = step * math.log(0.5) / math.log(EMA_DECAY) if name == "ema" else None
    return Candidate(name, beta, half_life)


class Runner:
    """Runs candidates over all rows; it remembers filters and corrected predictions."""

    def __init__(
        self,
        rows: JoinedRows,
        passes: Passes,
        model: EstimatedModel,
        kept: Bools | slice = slice(None),
    ) -> None:
        self.rows, self.passes, self.model = rows, passes, model
        self._kind = None if model.line is None else model.line.kind[kept]
        self._rows_of = [np.flatnonzero(rows.source == i) for i in range(len(rows.sources))]
        self._without_channel = rows.without_channel
        self._powers: dict[float, Floats] = {}
        self._likelihoods: dict[tuple[int, str | None, float], Floats] = {}
        self._filters: dict[tuple[str, float | None, float], Filter] = {}
        self._corrected: dict[tuple[str, str], Floats] = {}

    def predict(self, candidate: Candidate) -> Ints:
        """Return the class that the candidate's filter predicts after each row, (T,)."""
        predicted: Ints
        if candidate.family == "transitions" or candidate.family in RULES:
            predicted = self.run(candidate).argmax(axis=1)
            return predicted
        alike = not candidate.channel and all(weight == 1 for _, weight in candidate.beta)
        if candidate.family == "dirichlet" and alike:  # then the mean of log s decides
            logarithms = np.log(floored(self._without_channel))
            predicted = self._averages(logarithms, candidate).argmax(axis=1)
            return predicted
        key = candidate.family, candidate.half_life, candidate.rate
        if key not in self._filters:  # the rates of a transition matrix take long
            self._filters[key] = candidate.filter(self.model, self.rows.classes)
        filter_, (probs, beta) = self._filters[key], self._inputs(candidate)
        if isinstance(filter_, StickyFilter):
            predicted = self.passes.forward(filter_, probs, beta).argmax(axis=1)
            return predicted
        out = []
        for part in np.split(np.arange(len(probs)), np.flatnonzero(self.rows.first)[1:]):
            filter_.reset()
            P = filter_.run(probs[part], beta=beta[part], dt=self.rows.dt[part])
            out.append(P.argmax(axis=1))
        return np.concatenate(out)

    def run(self, candidate: Candidate) -> Floats:
        """Return what the candidate's filter, or rule, says after each row, (T, K)."""
        if candidate.family in RULES:
            said = self._rule(candidate)
            return np.asarray(said / said.sum(axis=1, keepdims=True))
        if candidate.family != "transitions":
            return np.asarray(np.eye(len(self.rows.classes))[self.predict(candidate)])
        line, model = self.model.line, self.model
        assert line is not None
        if candidate.rate not in self._powers:
            rates = model.rates * line.tau * candidate.rate
            self._powers[candidate.rate] = np.array([exponential(rates * n) for n in line.steps])
        likelihood = np.empty_like(self.rows.observed)
        ways = dict(candidate.channel)
        for name, weight in candidate.beta:
            if name in self.rows.sources:
                source = self.rows.sources.index(name)
                own = self._rows_of[source]
                likelihood[own] = self._likelihood(source, ways.get(name), weight)
        powers = self._powers[candidate.rate]
        assert self._kind is not None
        return _core.hmm_pass(model.prior, powers, self._kind, likelihood, False)

    def _likelihood(self, source: int, way: str | None, weight: float) -> Floats:
        """Return the likelihood of a source's rows (N, K), as the filter has it."""
        key = source, way, weight
        if key not in self._likelihoods:
            rows, own = self.rows, self._rows_of[source]
            probs = self._without_channel[own]
            if way is not None:
                probs = self.model.channel[rows.sources[source], way].apply(self._seen(own, way))
            self._likelihoods[key] = (floored(probs) / self.model.prior) ** weight
        return self._likelihoods[key]

    def _seen(self, own: Ints, way: str) -> Floats:
        """Return the rows (N, K) of a source as its channel gets them."""
        seen = self.rows.observed[own]
        return np.eye(seen.shape[1])[seen.argmax(axis=1)] if way == LABELS_WAY else seen

    def _inputs(self, candidate: Candidate) -> tuple[Floats, Floats]:
        """Return the predictions (T, K), through their channels, and the weights (T,)."""
        rows, weights = self.rows, dict(candidate.beta)
        beta = np.array([weights[name] for name in rows.sources])[rows.source]
        used = {name: way for name, way in candidate.channel if name in rows.sources}
        probs = self._without_channel.copy() if used else self._without_channel
        channels = candidate.channels(self.model)
        for name, way in used.items():
            own = self._rows_of[rows.sources.index(name)]
            if (name, way) not in self._corrected:
                self._corrected[name, way] = channels[name].apply(self._seen(own, way))
            probs[own] = self._corrected[name, way]
        return probs, beta

    def _averages(self, values: Floats, candidate: Candidate) -> Floats:
        """Return decayed sums (T, K), each stream on its own."""
        assert candidate.half_life is not None
        decay = 0.5 ** (self.rows.dt / candidate.half_life)
        return decayed_sums(values, np.where(self.rows.first, 0.0, decay))

    def _rule(self, candidate: Candidate) -> Floats:
        """Return what a simple rule makes of the rows, (T, K), up to a factor."""
        rows, at = self.rows, np.arange(len(self.rows.source))
        probs = self._without_channel / self._without_channel.sum(axis=1, keepdims=True)
        if candidate.family == "ema":
            return self._averages(probs, candidate)
        if candidate.family in ("mean", "vote"):
            if candidate.family == "vote":
                best = (probs == probs.max(axis=1, keepdims=True)).astype(float)
                probs = best / best.sum(axis=1, keepdims=True)
            total = np.concatenate([np.zeros((1, probs.shape[1])), probs.cumsum(axis=0)])
            sums = total[1:] - total[np.maximum(at - candidate.window + 1, rows.start)]
            rounded: Floats = np.round(sums, 9)  # ties
            return rounded
        if candidate.family == "hold":
            call: Ints = np.maximum.accumulate(np.where(rows.of_reference, at, -1))
            held: Floats = probs[np.where(call >= rows.start, call, at)]
            return held
        raw: Floats = probs
        return raw
