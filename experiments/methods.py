"""The methods that the experiments compare: the paper's four, and those beyond them.

What has settings gets them from people other than those it runs on: the people are split in halves,
and each half lends its settings to the other. *Label-free* settings are those of `tune` and its
hindsight; *best* ones are chosen by the labels of the other half. The paper gives no memory for
Single and Multiple, so theirs is label-free too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classfilter import (
    DirichletFilter,
    HoldFilter,
    MeanFilter,
    RawFilter,
    Recording,
    Tuned,
    metrics,
    policy,
    replay,
)
from classfilter.tuning._folds import median_step
from classfilter.tuning._search import best_half_life
from classfilter.tuning._tune import choose, prepare

from ._typing import Floats
from .data._streams import Person

EVERY = 12
"""The paper's policy: strong at each 12th step."""
PAPER = {"strong": 1.0, "weak": 0.5}
SINGLE = {"strong": 1.0, "weak": 1.0}
HALF_LIVES = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""Tried by labels, in steps."""
WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
WINDOWS = (1, 3, 5, 7, 9, 13, 19, 25)
ORDER = ("Raw", "Simple", "Single", "Multiple")
"""The paper's, from bad to good."""
CEILING = "Strong on every step"


class Way(NamedTuple):
    """How a method was set.

    Attributes
    ----------
    settings : {"none", "label-free", "labels"}
        What its settings were chosen by.
    looks_ahead : bool
        Whether it is a smoother.
    """

    settings: str
    looks_ahead: bool = False


@dataclass(frozen=True, eq=False)
class Track:
    """What a method says of one person.

    Attributes
    ----------
    P : ndarray (T, K)
        Class probabilities at each step.
    strong, weak : int
        Calls of each classifier.
    """

    P: Floats
    strong: int
    weak: int


def halves(people: Sequence[Person]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return, twice, the numbers of those to find settings on and of those to run on."""
    order = np.argsort([person.name for person in people], kind="stable")
    even, odd = order[::2], order[1::2]
    return [(odd, even), (even, odd)]


def all_tracks(people: Sequence[Person]) -> tuple[dict[str, Way], dict[str, list[Track]]]:
    """Run every method over all people."""
    ways: dict[str, Way] = {}
    found: dict[str, list[Track | None]] = {}
    for others, mine in halves(people):
        lent = [people[i].recording(EVERY) for i in others]
        for name, way, run in _methods(lent):
            ways[name] = way
            tracks = found.setdefault(name, [None] * len(people))
            for i in mine:
                tracks[i] = run(people[i])
    return ways, {name: [t for t in tracks if t is not None] for name, tracks in found.items()}


def _methods(lent: list[Recording]) -> Iterator[tuple[str, Way, Callable[[Person], Track]]]:
    """Yield each method, set on some people, ready to run on others."""
    classes, step = lent[0].classes, median_step(lent)
    free, bound = prepare(lent, "strong"), prepare(lent, "strong", labels=True)
    if free is None or bound is None:
        raise SystemExit("there are too few people or strong answers to find settings on")

    def to_builtin(run: Callable[[Recording], Floats]) -> Callable[[Person], Track]:
        def track(person: Person) -> Track:
            rec = person.recording(EVERY)
            strong = int((rec.source == "strong").sum())
            return Track(run(rec), strong, len(rec) - strong)

        return track

    def dirichlet(half_life: float, beta: Mapping[str, float]) -> Callable[[Person], Track]:
        return to_builtin(lambda rec: rec.run(DirichletFilter(classes, half_life=half_life), beta))

    def free_memory(beta: Mapping[str, float]) -> float:
        return best_half_life(free.jury, tuple(beta.items()), step).half_life

    none, label_free, labels = Way("none"), Way("label-free"), Way("labels")
    yield "Raw", none, to_builtin(lambda rec: rec.run(RawFilter(classes)))
    yield "Simple", none, to_builtin(lambda rec: rec.run(MeanFilter(classes, 5)))
    yield "Single", label_free, dirichlet(free_memory(SINGLE), SINGLE)
    yield "Multiple", label_free, dirichlet(free_memory(PAPER), PAPER)
    yield "Hold", none, to_builtin(lambda rec: rec.run(HoldFilter(classes), PAPER))

    window = max(WINDOWS, key=lambda w: right(lent, MeanFilter(classes, w), SINGLE))
    yield (
        "Simple, best window",
        labels,
        to_builtin(lambda rec: rec.run(MeanFilter(classes, window))),
    )
    for name, weights in (("Single, best memory", (1.0,)), ("Multiple, best memory", (0.5,)),
                          ("Multiple, best memory and weight", WEIGHTS)):  # fmt: skip
        memory, weight = best_by_labels(lent, step, weights)
        yield name, labels, dirichlet(memory, {"strong": 1.0, "weak": weight})

    for kind, title in (("dirichlet", "Dirichlet"), ("sticky", "Sticky")):
        for channel, tail in ((False, ""), (True, ", channel")):
            tuned = choose(free, kind, channel)  # type: ignore[arg-type]
            yield f"{title}, tuned{tail}", label_free, to_builtin(tuned.run)
        yield f"{title}, best", labels, to_builtin(choose(bound, kind, None).run)  # type: ignore[arg-type]
    tuned = choose(free, "auto", None)
    yield "Tuned", label_free, to_builtin(tuned.run)
    yield "Tuned, adaptive policy", label_free, lambda person: adaptive(person, tuned, 1 / EVERY)
    for kind in ("dirichlet", "sticky", "auto"):
        title = "Tuned" if kind == "auto" else f"{kind.capitalize()}, tuned"
        ahead = Way("label-free", looks_ahead=True)
        yield f"{title}, looking back", ahead, to_builtin(choose(free, kind, None).smooth)  # type: ignore[arg-type]
    yield "Weak on every step", none, lambda person: Track(person.weak, 0, len(person.time))
    yield CEILING, none, lambda person: Track(person.strong, len(person.time), 0)


def adaptive(person: Person, tuned: Tuned, budget: float) -> Track:
    """Let the adaptive policy choose whom to call, and the tuned filter follow."""
    return _replayed(person, tuned, policy.Adaptive(budget=budget))


def periodic(person: Person, tuned: Tuned, every: int) -> Track:
    """Call the strong classifier at each `every`-th step, and let the tuned filter follow."""
    return _replayed(person, tuned, policy.Periodic(every=every))


def _replayed(person: Person, tuned: Tuned, rule: policy.Policy) -> Track:
    both = person.recording(every=None)
    done = replay(both, rule, tuned.filter(), tuned.beta, tuned.channel)
    return Track(done.probs, done.calls["strong"], done.calls["weak"])


def right(
    several: Sequence[Recording],
    rule: DirichletFilter | MeanFilter,
    beta: Mapping[str, float],
) -> float:
    """Return the accuracy of a filter on all of some recordings."""
    truth = np.concatenate([rec.label for rec in several if rec.label is not None])
    return metrics.accuracy(truth, np.concatenate([rec.run(rule, beta) for rec in several]))


def best_by_labels(
    several: Sequence[Recording], step: float, weights: Sequence[float]
) -> tuple[float, float]:
    """Return the half-life and the weak weight of the Dirichlet filter that is right most often."""
    tried = [(n * step, weight) for n in HALF_LIVES for weight in weights]
    return max(tried, key=lambda s: _dirichlet_right(several, *s))


def _dirichlet_right(several: Sequence[Recording], half_life: float, weight: float) -> float:
    f = DirichletFilter(several[0].classes, half_life=half_life)
    return right(several, f, {"strong": 1.0, "weak": weight})
