"""Why the order of the methods is as it is: memory and weight, and errors that come together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from classfilter import DirichletFilter, metrics
from classfilter.tuning._folds import median_step
from classfilter.tuning._tune import choose, prepare

from .data._streams import Person
from .measure import Row, by_fold
from .methods import HALF_LIVES, WEIGHTS, Track, adaptive, halves, periodic, right
from .people import Answers

Bools = NDArray[np.bool_]
LAGS = (1, 2, 3, 6, 12, 24, 60)
BUDGETS = (3, 6, 12, 24, 60)


def sweep_rows(found: Sequence[Answers]) -> list[Row]:
    """Return the accuracy of the paper's filter over memory and weak weight, on all people."""
    rows = []
    recordings = [[person.recording() for person in one.people] for one in found]
    step = median_step(recordings[0])
    for n in HALF_LIVES:
        f = DirichletFilter(recordings[0][0].classes, half_life=n * step)
        row: Row = {"half_life_in_steps": n, "gamma_a_step": 0.5 ** (1 / n)}
        for weight in WEIGHTS:
            beta = {"strong": 1.0, "weak": weight}
            row[f"weight_{weight:g}"] = 100 * float(
                np.mean([right(r, f, beta) for r in recordings])
            )
        rows.append(row)
    return rows


def error_rows(found: Sequence[Answers]) -> list[Row]:
    """Return how often the classifiers are wrong, wrong together, and wrong for long."""
    rows: list[Row] = []
    for one in found:
        wrong = {s: [_wrong(person, s) for person in one.people] for s in ("weak", "strong")}
        weak, strong = (np.concatenate(wrong[s])[_known(one.people)] for s in ("weak", "strong"))
        said = [np.concatenate([getattr(p, s).argmax(axis=1) for p in one.people]) for s in wrong]
        same = (said[0] == said[1])[_known(one.people)]
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
                    errors, [person.label >= 0 for person in one.people], lag
                )
        rows.append(row)
    return [
        {"measure": key, "value": float(np.mean([row[key] for row in rows]))} for key in rows[0]
    ]


def autocorrelation(errors: Sequence[Bools], known: Sequence[Bools], lag: int) -> float:
    """Return the correlation of an error with one `lag` steps later, in the same stream."""
    now, later = [], []
    for wrong, seen in zip(errors, known, strict=True):
        both = seen[:-lag] & seen[lag:]
        now.append(wrong[:-lag][both])
        later.append(wrong[lag:][both])
    a, b = np.concatenate(now), np.concatenate(later)
    if a.size < 2 or a.all() or b.all() or not a.any() or not b.any():
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def energy_rows(found: Sequence[Answers], cost: Mapping[str, float]) -> list[Row]:
    """Return accuracy against strong calls, for both policies, tuned anew at each budget.

    As for the methods, each half of the people lends its settings to the other, without labels. A
    budget with too few strong answers to tune on is left out.
    """
    rows: list[Row] = []
    for every in BUDGETS:
        tracks: dict[str, list[list[Track]]] = {"periodic": [], "adaptive": []}
        for one in found:
            here: dict[str, dict[int, Track]] = {name: {} for name in tracks}
            for others, mine in halves(one.people):
                trial = prepare([one.people[i].recording(every) for i in others], "strong")
                if trial is None:  # too few strong answers to tune on
                    continue
                tuned = choose(trial, "auto", None)
                for i in mine:
                    person = one.people[i]
                    here["periodic"][int(i)] = periodic(person, tuned, every)
                    here["adaptive"][int(i)] = adaptive(person, tuned, 1 / every)
            for name, several in here.items():
                if len(several) == len(one.people):
                    tracks[name].append([several[i] for i in range(len(one.people))])
        for name, runs in tracks.items():
            if len(runs) < len(found):
                continue
            rows.append({"policy": name, "every": every, **_spent(found, runs, cost)})
    for source in ("strong", "weak"):
        runs = [
            [
                Track(
                    getattr(p, source),
                    *((len(p.time), 0) if source == "strong" else (0, len(p.time))),
                )
                for p in one.people
            ]
            for one in found
        ]
        rows.append({"policy": f"always {source}", "every": 1, **_spent(found, runs, cost)})
    return rows


def _spent(
    found: Sequence[Answers], runs: Sequence[Sequence[Track]], cost: Mapping[str, float]
) -> Row:
    right_share, spread, strong, weak, steps = [], [], 0, 0, 0
    for one, tracks in zip(found, runs, strict=True):
        y = np.concatenate([person.label for person in one.people])
        right_share.append(metrics.accuracy(y, np.concatenate([t.P for t in tracks])))
        spread += by_fold(one, tracks)
        strong += sum(t.strong for t in tracks)
        weak += sum(t.weak for t in tracks)
        steps += sum(len(t.P) for t in tracks)
    minutes = steps * float(np.median(np.diff(found[0].people[0].time))) / 60
    return {
        "accuracy": 100 * float(np.mean(right_share)),
        "accuracy_sd": 100 * float(np.std(spread, ddof=1)) if len(spread) > 1 else np.nan,
        "strong_calls_an_hour": 60 * strong / minutes,
        "multiply_adds_a_minute": (
            (cost["strong"] * strong + cost["weak"] * weak) / minutes if cost else np.nan
        ),
    }


def _wrong(person: Person, source: str) -> Bools:
    found: Bools = getattr(person, source).argmax(axis=1) != person.label
    return found


def _known(people: Sequence[Person]) -> Bools:
    return np.concatenate([person.label >= 0 for person in people])
