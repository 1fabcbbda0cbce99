"""Judges of settings, and the search for the setting that they like best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import certain
from .recording import Recording
from .setting import Learnt, Runner, Setting, Track

Floats = NDArray[np.float64]
Progress = Callable[[float], None]
Axis = Callable[[Setting], list[Setting]]
HALF_LIVES = (1, 2, 4, 8, 16, 32, 64, 128)
"""In median steps."""
WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
FLOORS = (1e-4, 1e-3, 1e-2)
ANCHORS = (0.0, 0.1, 1.0)
PARTS = 4
"""Least number of parts of a half whose scatter tells how sure a score is."""
LEAST = 1e-4
"""A prediction of less counts as so much."""
ROUNDS = 6
STAGES = 3
"""Of a search: coarse, fine, and what is rarely needed."""


class Trial(NamedTuple):
    """A setting that was tried.

    Attributes
    ----------
    setting : Setting
        What was tried.
    score : float
        How well it did; see `Tuned.judge`.
    error : float
        Standard error of the score.
    """

    setting: Setting
    score: float
    error: float


class Half:
    """Some streams, judged by what others taught.

    Parameters
    ----------
    recordings : sequence of Recording
        The streams.
    learnt : Learnt
        What the others taught.
    judge : {"hindsight", "next answer", "labels"}
        What decides; see `Tuned.judge`.
    step : float
        The usual time from row to row.
    """

    def __init__(
        self, recordings: Sequence[Recording], learnt: Learnt, judge: str, step: float
    ) -> None:
        self.learnt, self._judge, self._step = learnt, judge, step
        self._runners = [Runner(rec, learnt) for rec in recordings]
        self._cuts = math.ceil(PARTS / len(recordings))
        self._truth: list[Floats] = []
        if judge == "labels":
            self._truth = [_labels(rec) for rec in recordings]
        elif judge == "hindsight":
            self._look_back()

    @property
    def hindsight(self) -> list[Floats]:
        """What stands for the truth of each recording, (T, K)."""
        return self._truth

    def score(self, setting: Setting) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        tracks = self._tracks(setting)
        next_answer = self._judge == "next answer"
        return self._next_answer(tracks) if next_answer else self._agreement(tracks)

    def _tracks(self, setting: Setting) -> list[Track]:
        made = setting.filter(self.learnt)
        return [runner.run(setting, made) for runner in self._runners]

    def _next_answer(self, tracks: Sequence[Track]) -> Floats:
        """How much the state just before each answer of the reference gave to that answer."""
        scores = [
            (runner.answers * np.log(np.maximum(track.before, LEAST))).sum(axis=1)
            for runner, track in zip(self._runners, tracks, strict=True)
        ]
        return self._sums(scores)

    def _agreement(self, tracks: Sequence[Track]) -> Floats:
        """How much the truth, or what stands for it, gives to the class that is called."""
        scores = []
        for truth, track in zip(self._truth, tracks, strict=True):
            given = truth[np.arange(len(truth)), track.after.argmax(axis=1)]
            scores.append(given[~np.isnan(given)])
        return self._sums(scores)

    def _sums(self, scores: Sequence[Floats]) -> Floats:
        parts = [part for one in scores for part in np.array_split(one, self._cuts)]
        return np.array([(part.sum(), part.size) for part in parts])

    def _look_back(self) -> None:
        """Smooth; the weights are chosen by the next answers, and then by hindsight itself."""
        others = list(self.learnt.channel)
        setting = Setting(
            "stay" if self.learnt.transitions is None else "transitions",
            8 * self._step,
            ((self.learnt.reference, 1.0), *((name, 0.5) for name in others)),
            frozenset(others),
        )
        for judge in (self._next_answer, self._agreement):
            setting = ascend(
                setting,
                [source_axis(name) for name in others],
                lambda found, judge=judge: mean(judge(self._tracks(found))),  # type: ignore[misc]
            )
            made = setting.filter(self.learnt)
            self._truth = [runner.smooth(setting, made) for runner in self._runners]


class Jury:
    """All streams, each half judged by what the other taught; remembers what was tried."""

    def __init__(self, halves: Sequence[Half]) -> None:
        self._halves = halves
        self._tried: dict[Setting, Floats] = {}

    @property
    def knows_transitions(self) -> bool:
        """Whether transitions could be learnt."""
        return all(half.learnt.transitions is not None for half in self._halves)

    def scores(self, setting: Setting) -> Floats:
        """Return the sum of scores and their number in each part, (parts, 2)."""
        if setting not in self._tried:
            self._tried[setting] = np.concatenate([half.score(setting) for half in self._halves])
        return self._tried[setting]

    def mean(self, setting: Setting) -> float:
        """Return the mean score."""
        return mean(self.scores(setting))

    def error(self, setting: Setting, other: Setting | None = None) -> float:
        """Return the standard error of a score, or of its difference from another's."""
        sums, counts = self.scores(setting).T
        if other is not None:
            sums = sums - self.scores(other)[:, 0]
        rest = sums - counts * sums.sum() / counts.sum()
        n = len(rest)
        return float(np.sqrt(n / (n - 1) * (rest**2).sum()) / counts.sum())

    def table(self) -> list[Trial]:
        """Return all that was tried, the best first."""
        trials = [Trial(s, self.mean(s), self.error(s)) for s in self._tried]
        return sorted(trials, key=lambda trial: -trial.score)


def search(
    jury: Jury,
    family: str,
    reference: str,
    others: Sequence[str],
    step: float,
    channel: bool | None,
    tell: Callable[[], None],
) -> Setting:
    """Return the best setting of a family: a coarse search, then a fine one.

    Parameters
    ----------
    jury : Jury
        Who decides.
    family : str
        One of `FAMILIES`.
    reference : str
        The source whose weight stays 1, unless it is the only one.
    others : sequence of str
        The other sources.
    step : float
        The usual time from row to row.
    channel : bool, optional
        Whether the others go through their channels; both are tried unless given.
    tell : callable
        Called after each of the `STAGES`.
    """
    only = [] if others or family == "dirichlet" else [reference]
    ways = (True, False) if channel is None else (channel,)
    coarse: list[Axis] = [source_axis(name, ways) for name in others]
    coarse += [_weight_axis(name) for name in only]
    fine = [_nearby_axis(name) for name in (*others, *only)]
    if family != "transitions":
        coarse.insert(0, lambda s: [s._replace(half_life=n * step) for n in HALF_LIVES])
        near = (0.5**0.5, 2**0.5)
        fine.insert(0, lambda s: [s._replace(half_life=s.half_life * f) for f in near])
    starts = []
    for way in ways:
        weights = ((reference, 1.0), *((name, 0.5 if way else 0.1) for name in others))
        start = Setting(family, 8 * step, weights, frozenset(others if way else ()))
        starts.append(ascend(start, coarse, jury.mean))
    tell()
    best = ascend(max(starts, key=jury.mean), fine, jury.mean)
    tell()
    # Rarely needed, so only where it is clear that they help.
    more = [best._replace(floor=floor) for floor in FLOORS]
    more += [best._replace(anchor=anchor) for anchor in ANCHORS if family == "dirichlet"]
    better = max(more, key=jury.mean)
    gain = jury.mean(better) - jury.mean(best)
    tell()
    return better if better != best and gain > 2 * jury.error(better, best) else best


def best_memory(jury: Jury, beta: tuple[tuple[str, float], ...], step: float) -> Setting:
    """Return a Dirichlet filter with given weights and the memory that suits them best."""
    given = Setting("dirichlet", 8 * step, beta, frozenset())
    return max((given._replace(half_life=n * step) for n in HALF_LIVES), key=jury.mean)


def source_axis(name: str, ways: Sequence[bool] = (True, False)) -> Axis:
    """Return the axis of a source: its weights, with and without its channel."""
    return lambda setting: [
        setting.with_beta(name, weight)._replace(
            channel=setting.channel | {name} if way else setting.channel - {name}
        )
        for way in ways
        for weight in WEIGHTS
    ]


def _weight_axis(name: str) -> Axis:
    return lambda setting: [setting.with_beta(name, weight) for weight in WEIGHTS[1:]]


def _nearby_axis(name: str) -> Axis:
    def nearby(setting: Setting) -> list[Setting]:
        weight = dict(setting.beta)[name]
        return [setting.with_beta(name, min(1.0, weight * f)) for f in (0.75, 1.3)]

    return nearby


def ascend(setting: Setting, axes: Sequence[Axis], score: Callable[[Setting], float]) -> Setting:
    """Go to the best setting along one axis after the other, until none is better."""
    best = score(setting)
    for _ in range(ROUNDS):
        before = setting
        for axis in axes:
            for other in axis(setting):
                if (new := score(other)) > best:
                    best, setting = new, other
        if setting == before:
            break
    return setting


def mean(scores: Floats) -> float:
    """Return the mean of scores in parts."""
    total, count = scores.sum(axis=0)
    return float(total / count)


def _labels(rec: Recording) -> Floats:
    """Return the labels as probabilities, (T, K); NaN where unknown."""
    label = np.full(len(rec), -1) if rec.label is None else rec.label
    return certain(label, len(rec.classes))
