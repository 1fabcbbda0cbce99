"""Why the methods rank as they do: half-life and weight, correlated errors, strong calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from classfilter import DirichletFilter, metrics
from classfilter.tuning._folds import median_step
from classfilter.tuning._tune import choose, prepare

from .measure import Row, by_fold
from .methods import (
    HALF_LIVES,
    WEIGHTS,
    MethodRun,
    accuracy,
    adaptive,
    cross_fitting_folds,
    periodic,
)
from .people import Predictions
from .streams import Person

Bools = NDArray[np.bool_]
LAGS = (1, 2, 3, 6, 12, 24, 60)
BUDGETS = (3, 6, 12, 24, 60)


def sweep_rows(seeds: Sequence[Predictions]) -> list[Row]:
    """Return the accuracy of the paper's filter over half-life and weak weight, on all people."""
    rows = []
    recordings = [[person.recording() for person in seed.people] for seed in seeds]
    step = median_step(recordings[0])
    for n in HALF_LIVES:
        f = DirichletFilter(recordings[0][0].classes, half_life=n * step)
        row: Row = {"half_life_in_steps": n, "gamma_per_step": 0.5 ** (1 / n)}
        for weight in WEIGHTS:
            beta = {"strong": 1.0, "weak": weight}
            row[f"weight_{weight:g}"] = 100 * float(
                np.mean([accuracy(r, f, beta) for r in recordings])
            )
        rows.append(row)
    return rows


def error_rows(seeds: Sequence[Predictions]) -> list[Row]:
    """Return how often the classifiers are wrong, wrong together, and wrong for long."""
    rows: list[Row] = []
    for seed in seeds:
        wrong = {s: [_wrong(person, s) for person in seed.people] for s in ("weak", "strong")}
        weak, strong = (np.concatenate(wrong[s])[_known(seed.people)] for s in ("weak", "strong"))
        predicted = [
            np.concatenate([getattr(p, s).argmax(axis=1) for p in seed.people]) for s in wrong
        ]
        same = (predicted[0] == predicted[1])[_known(seed.people)]
        both = weak & strong
        row: Row = {
            "weak_wrong": weak.mean(),
            "strong_wrong": strong.mean(),
            "both_wrong": both.mean(),
            "both_wrong_if_independent": weak.mean() * strong.mean(),
            "weak_wrong_where_strong_is": both.sum() / max(strong.sum(), 1),
            "same_class_where_both_wrong": same[both].mean() if both.any() else np.nan,
            "correlation_of_errors": np.corrcoef(weak, strong)[0, 1],
        }
        for source, errors in wrong.items():
            for lag in LAGS:
                row[f"{source}_error_correlation_lag_{lag}"] = autocorrelation(
                    errors, [person.label >= 0 for person in seed.people], lag
                )
        rows.append(row)
    return [
        {"measure": key, "value": float(np.mean([row[key] for row in rows]))} for key in rows[0]
    ]


def autocorrelation(errors: Sequence[Bools], known: Sequence[Bools], lag: int) -> float:
    """Return the correlation of an error with one `lag` steps later, in the same stream."""
    now, later = [], []
    for wrong, labelled in zip(errors, known, strict=True):
        both = labelled[:-lag] & labelled[lag:]
        now.append(wrong[:-lag][both])
        later.append(wrong[lag:][both])
    a, b = np.concatenate(now), np.concatenate(later)
    if a.size < 2 or a.all() or b.all() or not a.any() or not b.any():
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def energy_rows(seeds: Sequence[Predictions], cost: Mapping[str, float]) -> list[Row]:
    """Return accuracy against strong calls, for both policies, tuned again at each budget.

    As for the methods, settings come from the other fold, without labels. A budget with too few
    strong predictions to tune on is left out.
    """
    rows: list[Row] = []
    for every in BUDGETS:
        per_policy: dict[str, list[list[MethodRun]]] = {"periodic": [], "adaptive": []}
        for seed in seeds:
            by_person: dict[str, dict[int, MethodRun]] = {name: {} for name in per_policy}
            for train, test in cross_fitting_folds(seed.people):
                prepared = prepare([seed.people[i].recording(every) for i in train], "strong")
                if prepared is None:  # too few strong predictions to tune on
                    continue
                tuned = choose(prepared, "auto", None)
                for i in test:
                    person = seed.people[i]
                    by_person["periodic"][int(i)] = periodic(person, tuned, every)
                    by_person["adaptive"][int(i)] = adaptive(person, tuned, 1 / every)
            for name, runs_of in by_person.items():
                if len(runs_of) == len(seed.people):
                    per_policy[name].append([runs_of[i] for i in range(len(seed.people))])
        for name, runs in per_policy.items():
            if len(runs) == len(seeds):
                rows.append({"policy": name, "every": every, **_cost_row(seeds, runs, cost)})
    for source in ("strong", "weak"):
        runs = [
            [
                MethodRun(
                    getattr(p, source),
                    *((len(p.time), 0) if source == "strong" else (0, len(p.time))),
                )
                for p in seed.people
            ]
            for seed in seeds
        ]
        rows.append({"policy": f"always {source}", "every": 1, **_cost_row(seeds, runs, cost)})
    return rows


def _cost_row(
    seeds: Sequence[Predictions], runs: Sequence[Sequence[MethodRun]], cost: Mapping[str, float]
) -> Row:
    accuracies, spread, strong, weak, steps = [], [], 0, 0, 0
    for seed, by_person in zip(seeds, runs, strict=True):
        y = np.concatenate([person.label for person in seed.people])
        accuracies.append(metrics.accuracy(y, np.concatenate([run.probs for run in by_person])))
        spread += by_fold(seed, by_person)
        strong += sum(run.strong for run in by_person)
        weak += sum(run.weak for run in by_person)
        steps += sum(len(run.probs) for run in by_person)
    minutes = steps * float(np.median(np.diff(seeds[0].people[0].time))) / 60
    return {
        "accuracy": 100 * float(np.mean(accuracies)),
        "accuracy_sd": 100 * float(np.std(spread, ddof=1)) if len(spread) > 1 else np.nan,
        "strong_calls_per_hour": 60 * strong / minutes,
        "multiply_adds_per_minute": (
            (cost["strong"] * strong + cost["weak"] * weak) / minutes if cost else np.nan
        ),
    }


def _wrong(person: Person, source: str) -> Bools:
    wrong: Bools = getattr(person, source).argmax(axis=1) != person.label
    return wrong


def _known(people: Sequence[Person]) -> Bools:
    return np.concatenate([person.label >= 0 for person in people])
