"""The methods that the experiments compare: the paper's four, and those beyond them.

Settings come from people other than those a method runs on: the people are split into two folds,
and each fold gives its settings to the other. *Label-free* settings are those of `tune`; *best*
ones are chosen by the labels of the other fold. The paper gives no half-life for Single and
Multiple, so theirs is label-free too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classfilter import (
    Cascade,
    DirichletFilter,
    HoldFilter,
    MeanFilter,
    RawFilter,
    Recording,
    Tuned,
    metrics,
    policy,
)
from classfilter._support.types import Floats
from classfilter.tuning._folds import median_step
from classfilter.tuning._search import best_half_life
from classfilter.tuning._tune import choose, prepare

from .streams import Person

EVERY = 12
"""The paper's policy: strong at each 12th step."""
PAPER = {"strong": 1.0, "weak": 0.5}
SINGLE = {"strong": 1.0, "weak": 1.0}
HALF_LIVES = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""Tried by labels, in steps."""
WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
WINDOWS = (1, 3, 5, 7, 9, 13, 19, 25)
ORDER = ("Raw", "Simple", "Single", "Multiple")
"""The paper's, from worst to best."""
CEILING = "Strong on every step"


class MethodInfo(NamedTuple):
    """How a method was set.

    Attributes
    ----------
    settings : {"none", "label-free", "labels"}
        What its settings were chosen by.
    smoothed : bool
        Whether it is a smoother.
    """

    settings: str
    smoothed: bool = False


@dataclass(frozen=True, eq=False)
class MethodRun:
    """The result of a method for one person.

    Attributes
    ----------
    probs : ndarray (T, K)
        Class probabilities at each step.
    strong, weak : int
        Calls of each classifier.
    """

    probs: Floats
    strong: int
    weak: int


def cross_fitting_folds(
    people: Sequence[Person],
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return, for each of two folds, the people to find settings on and the people to run on."""
    order = np.argsort([person.name for person in people], kind="stable")
    even, odd = order[::2], order[1::2]
    return [(odd, even), (even, odd)]


def run_all(
    people: Sequence[Person],
) -> tuple[dict[str, MethodInfo], dict[str, list[MethodRun]]]:
    """Run every method over all people."""
    infos: dict[str, MethodInfo] = {}
    runs: dict[str, dict[int, MethodRun]] = {}
    for train, test in cross_fitting_folds(people):
        for name, info, run in _methods([people[i].recording(EVERY) for i in train]):
            infos[name] = info
            runs.setdefault(name, {}).update({int(i): run(people[i]) for i in test})
    return infos, {
        name: [by_person[i] for i in sorted(by_person)] for name, by_person in runs.items()
    }


def _methods(
    train: list[Recording],
) -> Iterator[tuple[str, MethodInfo, Callable[[Person], MethodRun]]]:
    """Yield each method, set on some people, ready to run on others."""
    classes, step = train[0].classes, median_step(train)
    free, labelled = prepare(train, "strong"), prepare(train, "strong", labels=True)
    if free is None or labelled is None:
        raise SystemExit("there are too few people or strong predictions to find settings on")

    def on_recording(run: Callable[[Recording], Floats]) -> Callable[[Person], MethodRun]:
        def call(person: Person) -> MethodRun:
            rec = person.recording(EVERY)
            strong = int((rec.source == "strong").sum())
            return MethodRun(run(rec), strong, len(rec) - strong)

        return call

    def dirichlet(half_life: float, beta: Mapping[str, float]) -> Callable[[Person], MethodRun]:
        return on_recording(
            lambda rec: rec.run(DirichletFilter(classes, half_life=half_life), beta=beta)
        )

    def free_half_life(beta: Mapping[str, float]) -> float:
        half_life = best_half_life(free.objective, tuple(beta.items()), step).half_life
        assert half_life is not None
        return half_life

    none, label_free, labels = MethodInfo("none"), MethodInfo("label-free"), MethodInfo("labels")
    yield "Raw", none, on_recording(lambda rec: rec.run(RawFilter(classes)))
    yield "Simple", none, on_recording(lambda rec: rec.run(MeanFilter(classes, 5)))
    yield "Single", label_free, dirichlet(free_half_life(SINGLE), SINGLE)
    yield "Multiple", label_free, dirichlet(free_half_life(PAPER), PAPER)
    yield "Hold", none, on_recording(lambda rec: rec.run(HoldFilter(classes), beta=PAPER))

    window = max(WINDOWS, key=lambda w: accuracy(train, MeanFilter(classes, w), SINGLE))
    yield (
        "Simple, best window",
        labels,
        on_recording(lambda rec: rec.run(MeanFilter(classes, window))),
    )
    for name, weights in (("Single, best half-life", (1.0,)), ("Multiple, best half-life", (0.5,)),
                          ("Multiple, best half-life and weight", WEIGHTS)):  # fmt: skip
        half_life, weight = best_by_labels(train, step, weights)
        yield name, labels, dirichlet(half_life, {"strong": 1.0, "weak": weight})

    for kind, title in (("dirichlet", "Dirichlet"), ("sticky", "Sticky")):
        for channel, tail in ((False, ""), (True, ", channel")):
            tuned = choose(free, kind, channel)  # type: ignore[arg-type]
            yield f"{title}, tuned{tail}", label_free, on_recording(tuned.run)
        yield f"{title}, best", labels, on_recording(choose(labelled, kind, None).run)  # type: ignore[arg-type]
    tuned = choose(free, "auto", None)
    yield "Tuned", label_free, on_recording(tuned.run)
    yield "Tuned, adaptive policy", label_free, lambda person: adaptive(person, tuned, 1 / EVERY)
    for kind in ("dirichlet", "sticky", "auto"):
        title = "Tuned" if kind == "auto" else f"{kind.capitalize()}, tuned"
        info = MethodInfo("label-free", smoothed=True)
        yield f"{title}, smoothed", info, on_recording(choose(free, kind, None).smooth)  # type: ignore[arg-type]
    yield "Weak on every step", none, lambda person: MethodRun(person.weak, 0, len(person.time))
    yield CEILING, none, lambda person: MethodRun(person.strong, len(person.time), 0)


def adaptive(person: Person, tuned: Tuned, budget: float) -> MethodRun:
    """Let the adaptive policy choose which classifier to call, and run the tuned filter."""
    return _with_policy(person, tuned, policy.Adaptive(budget=budget))


def periodic(person: Person, tuned: Tuned, every: int) -> MethodRun:
    """Call the strong classifier at each `every`-th step, and run the tuned filter."""
    return _with_policy(person, tuned, policy.Periodic(every=every))


def _with_policy(person: Person, tuned: Tuned, rule: policy.Policy) -> MethodRun:
    sources = {"weak": lambda at: person.weak[at[0]], "strong": lambda at: person.strong[at[0]]}
    cascade = Cascade(tuned, sources, policy=rule)
    probs = [cascade.step([i], time=float(t)).probs for i, t in enumerate(person.time)]
    return MethodRun(np.array(probs), cascade.calls["strong"], cascade.calls["weak"])


def accuracy(
    recordings: Sequence[Recording],
    rule: DirichletFilter | MeanFilter,
    beta: Mapping[str, float],
) -> float:
    """Return the accuracy of a filter on all of some recordings."""
    truth = np.concatenate([rec.label for rec in recordings if rec.label is not None])
    return metrics.accuracy(truth, np.concatenate([rec.run(rule, beta=beta) for rec in recordings]))


def best_by_labels(
    recordings: Sequence[Recording], step: float, weights: Sequence[float]
) -> tuple[float, float]:
    """Return the half-life and the weak weight of the most accurate Dirichlet filter."""
    candidates = [(n * step, weight) for n in HALF_LIVES for weight in weights]
    return max(candidates, key=lambda c: _dirichlet_accuracy(recordings, *c))


def _dirichlet_accuracy(recordings: Sequence[Recording], half_life: float, weight: float) -> float:
    f = DirichletFilter(recordings[0].classes, half_life=half_life)
    return accuracy(recordings, f, {"strong": 1.0, "weak": weight})
