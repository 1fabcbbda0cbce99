"""The methods of the paper, and those beside them, on the same people.

Settings come from people other than those a method runs on: the people are split into two folds,
and each gives its settings to the other. The paper gives no half-life for Single and Multiple, so
theirs is the best by the labels of the other fold; *Tuned* is `tune`, which sees no labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import classfilter as cf
from classfilter import (
    Cascade,
    DirichletFilter,
    HoldFilter,
    MeanFilter,
    RawFilter,
    Rows,
    metrics,
    policy,
    tune,
)

from .streams import Floats, Stream

EVERY = 12
"""The paper's policy: strong at each 12th step."""
MULTIPLE = {"strong": 1.0, "weak": 0.5}
SINGLE = {"strong": 1.0, "weak": 1.0}
HALF_LIVES = (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""In steps."""
ORDER = ("Raw", "Simple", "Single", "Multiple")
"""The paper's, from worst to best."""
CEILING = "Strong on every step"


@dataclass(frozen=True, eq=False)
class Run:
    """What a method makes of one person: class probabilities (T, K), and calls of each model."""

    probs: Floats
    strong: int
    weak: int


Method = Callable[[Stream], Run]


def run_all(people: Sequence[Stream]) -> dict[str, list[Run]]:
    """Run every method over all people."""
    runs: dict[str, dict[int, Run]] = {}
    order = np.argsort([person.name for person in people], kind="stable")
    for train, test in ((order[1::2], order[::2]), (order[::2], order[1::2])):
        for name, method in methods([people[i].rows(EVERY) for i in train]):
            runs.setdefault(name, {}).update({int(i): method(people[i]) for i in test})
    return {name: [of[i] for i in range(len(people))] for name, of in runs.items()}


def methods(train: Sequence[Rows]) -> Iterator[tuple[str, Method]]:
    """Yield each method, set on some people, ready to run on others."""
    classes = train[0].classes

    def periodic(run: Callable[[Rows], Floats]) -> Method:
        def method(person: Stream) -> Run:
            rec = person.rows(EVERY)
            strong = int((rec.of_source("strong")).sum())
            return Run(run(rec), strong, len(rec) - strong)

        return method

    def dirichlet(beta: Mapping[str, float]) -> Method:
        f = DirichletFilter(classes, half_life=best_half_life(train, beta))
        return periodic(lambda rec: cf.Pipeline(f, beta=beta).run(rec))

    tuned = tune(list(train), reference="strong")
    yield "Raw", periodic(lambda rec: cf.Pipeline(RawFilter(classes)).run(rec))
    yield "Simple", periodic(lambda rec: cf.Pipeline(MeanFilter(classes, 5)).run(rec))
    yield "Single", dirichlet(SINGLE)
    yield "Multiple", dirichlet(MULTIPLE)
    yield "Hold", periodic(lambda rec: cf.Pipeline(HoldFilter(classes), beta=MULTIPLE).run(rec))
    yield "Tuned", periodic(tuned.run)
    yield "Tuned, adaptive policy", lambda person: adaptive(person, tuned)
    yield "Tuned, smoothed", periodic(tuned.smooth)
    yield "Weak on every step", lambda person: Run(person.weak, 0, len(person.time))
    yield CEILING, lambda person: Run(person.strong, len(person.time), 0)


def best_half_life(train: Sequence[Rows], beta: Mapping[str, float]) -> float:
    """Return the half-life of the most accurate Dirichlet filter, by the labels."""
    step = float(np.median(np.concatenate([rec.dt[1:] for rec in train])))
    truth = np.concatenate([rec.label for rec in train if rec.label is not None])

    def accuracy(half_life: float) -> float:
        f = DirichletFilter(train[0].classes, half_life=half_life)
        return metrics.accuracy(
            truth, np.concatenate([cf.Pipeline(f, beta=beta).run(rec) for rec in train])
        )

    return max((n * step for n in HALF_LIVES), key=accuracy)


def adaptive(person: Stream, tuned: cf.Pipeline) -> Run:
    """Let the adaptive policy choose which model to call, and run the tuned filter."""
    sources = {"weak": lambda at: person.weak[at[0]], "strong": lambda at: person.strong[at[0]]}
    cascade = Cascade(tuned, sources, policy=policy.Adaptive(budget=1 / EVERY))
    probs = [cascade.step([i], time=float(t)).probs for i, t in enumerate(person.time)]
    return Run(np.array(probs), cascade.calls["strong"], cascade.calls["weak"])
