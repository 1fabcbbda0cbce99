"""What the methods reach: measures over people, folds and seeds, as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from classfilter import metrics
from classfilter._support.types import Floats

from .methods import CEILING, ORDER, MethodInfo, MethodRun
from .people import Predictions

Row = dict[str, Any]

PAPER_ACCURACY = {"Raw": 77.15, "Simple": 80.85, "Single": 82.61, "Multiple": 85.24}
"""Table I, on Capture-24."""
PAPER_SENSITIVITY = {
    "bicycling": (0.86, 0.89, 0.88, 0.82),
    "mixed": (0.68, 0.73, 0.76, 0.77),
    "sit-stand": (0.85, 0.90, 0.93, 0.94),
    "sleep": (0.81, 0.83, 0.84, 0.87),
    "vehicle": (0.65, 0.72, 0.75, 0.81),
    "walking": (0.33, 0.34, 0.34, 0.44),
}
"""Table II; one column per method of `ORDER`."""
PAPER_PRECISION = {
    "bicycling": (0.79, 0.84, 0.87, 0.88),
    "mixed": (0.60, 0.66, 0.69, 0.75),
    "sit-stand": (0.73, 0.76, 0.78, 0.80),
    "sleep": (0.93, 0.95, 0.97, 0.98),
    "vehicle": (0.78, 0.87, 0.90, 0.89),
    "walking": (0.60, 0.71, 0.75, 0.73),
}
"""Table III. Its heading says specificity; its numbers can only be precision."""


class SeedResult(NamedTuple):
    """What the models of one seed predicted, and what the methods made of it.

    Attributes
    ----------
    predictions : Predictions
        The classifiers' probabilities for each person.
    methods : dict of str to MethodInfo
        How each method was set.
    runs : dict of str to list of MethodRun
        The result of each method for each person.
    """

    predictions: Predictions
    methods: dict[str, MethodInfo]
    runs: dict[str, list[MethodRun]]


def method_rows(seeds: Sequence[SeedResult], cost: Mapping[str, float]) -> list[Row]:
    """Return one row per method: means over seeds, and the spread over folds and seeds.

    Parameters
    ----------
    seeds : sequence
        One result per seed.
    cost : mapping
        Multiply-adds of one call of each source; empty where there are none to count.
    """
    rows = []
    for name, info in seeds[0].methods.items():
        scores = [_measures(seed.predictions, seed.runs[name]) for seed in seeds]
        spread = [a for seed in seeds for a in by_fold(seed.predictions, seed.runs[name])]
        row: Row = {
            "method": name,
            "settings": info.settings,
            "smoothed": int(info.smoothed),
            "accuracy": 100 * _mean(scores, "accuracy"),
            "accuracy_sd": 100 * float(np.std(spread, ddof=1)) if len(spread) > 1 else np.nan,
            "paper_accuracy": PAPER_ACCURACY.get(name, np.nan),
        }
        for key, scale in (("macro_f1", 100), ("log_loss", 1), ("brier", 1), ("switches", 1),
                           ("delay", 1), ("strong_calls_per_hour", 1)):  # fmt: skip
            row[key] = scale * _mean(scores, key)
        row["multiply_adds_per_minute"] = (
            sum(cost[s] * _mean(scores, f"{s}_calls_per_minute") for s in cost) if cost else np.nan
        )
        rows.append(row)
    return rows


def class_rows(seeds: Sequence[SeedResult]) -> list[Row]:
    """Return sensitivity, precision and specificity per method and class, and the paper's."""
    rows = []
    classes = seeds[0].predictions.people[0].classes
    for name in seeds[0].methods:
        per_seed = []
        for predictions, _, runs in seeds:
            y, P = _joined(predictions, runs[name])
            per_seed.append(
                [metrics.sensitivity(y, P), metrics.precision(y, P), metrics.specificity(y, P)]
            )
        mean = np.mean(per_seed, axis=0)
        for i, c in enumerate(classes):
            row: Row = {"method": name, "class": c}
            row.update(zip(("sensitivity", "precision", "specificity"), mean[:, i], strict=True))
            if name in ORDER and set(classes) <= set(PAPER_SENSITIVITY):
                row["paper_sensitivity"] = PAPER_SENSITIVITY[c][ORDER.index(name)]
                row["paper_precision"] = PAPER_PRECISION[c][ORDER.index(name)]
            else:
                row["paper_sensitivity"] = row["paper_precision"] = np.nan
            rows.append(row)
    return rows


def order_rows(seeds: Sequence[SeedResult]) -> list[Row]:
    """Return how far each of the paper's methods is above the one before it.

    The gain is that of all people, in points, averaged over seeds. Its standard error is over
    people; ``above_zero`` counts the folds and seeds with a gain above 0, of all ``folds``.
    """
    pairs = [*pairwise(ORDER), ("Hold", "Multiple"), ("Multiple", "Tuned"), ("Tuned", CEILING)]
    rows = []
    for low, high in pairs:
        per_person: list[Floats] = []
        gains: list[float] = []
        overall: list[float] = []
        for predictions, _, runs in seeds:
            both = [_correct(predictions, runs[name]) for name in (low, high)]
            labelled = _labelled(predictions)
            known = labelled > 0
            per_person.append((both[1] - both[0])[known] / labelled[known])
            overall.append(float((both[1] - both[0]).sum() / labelled.sum()))
            folds = [by_fold(predictions, runs[name]) for name in (low, high)]
            gains += [b - a for a, b in zip(*folds, strict=True)]
        each = np.mean(per_person, axis=0)
        rows.append(
            {
                "worse": low,
                "better": high,
                "gain": 100 * float(np.mean(overall)),
                "standard_error": 100 * float(each.std(ddof=1) / np.sqrt(len(each))),
                "above_zero": sum(gain > 0 for gain in gains),
                "folds": len(gains),
                "paper_gain": PAPER_ACCURACY.get(high, np.nan) - PAPER_ACCURACY.get(low, np.nan),
            }
        )
    return rows


def by_fold(predictions: Predictions, runs: Sequence[MethodRun]) -> list[float]:
    """Return the accuracy of each fold."""
    correct, labelled = _correct(predictions, runs), _labelled(predictions)
    fold = np.array(predictions.fold)
    return [
        float(correct[fold == k].sum() / labelled[fold == k].sum())
        for k in np.unique(fold)
        if labelled[fold == k].any()
    ]


def _measures(predictions: Predictions, runs: Sequence[MethodRun]) -> dict[str, float]:
    """Return the measures of one seed, of all people together."""
    y, P = _joined(predictions, runs)
    switches, hours, late, changes = 0.0, 0.0, 0.0, 0
    for person, run in zip(predictions.people, runs, strict=True):
        if not (person.label >= 0).any():
            continue
        counted = metrics.count_switches(run.probs, person.time, person.label)
        switches, hours = switches + counted[0], hours + counted[1]
        delay = metrics.detection_delay(person.label, run.probs, person.time)
        if delay.changes:
            late, changes = late + delay.mean * delay.changes, changes + delay.changes
    steps = sum(run.strong + run.weak for run in runs)
    minutes = steps * float(np.median(np.diff(predictions.people[0].time))) / 60
    strong, weak = (sum(getattr(run, s) for run in runs) / minutes for s in ("strong", "weak"))
    return {
        "accuracy": metrics.accuracy(y, P),
        "macro_f1": metrics.macro_f1(y, P),
        "log_loss": metrics.log_loss(y, P),
        "brier": metrics.brier(y, P),
        "switches": switches / hours if hours else np.nan,
        "delay": late / changes if changes else np.nan,
        "strong_calls_per_hour": 60 * strong,
        "strong_calls_per_minute": strong,
        "weak_calls_per_minute": weak,
    }


def _joined(predictions: Predictions, runs: Sequence[MethodRun]) -> tuple[Any, Floats]:
    y = np.concatenate([person.label for person in predictions.people])
    return y, np.concatenate([run.probs for run in runs])


def _correct(predictions: Predictions, runs: Sequence[MethodRun]) -> Floats:
    """Count the correct steps of each person."""
    pairs = zip(predictions.people, runs, strict=True)
    return np.array(
        [((run.probs.argmax(axis=1) == p.label) & (p.label >= 0)).sum() for p, run in pairs], float
    )


def _labelled(predictions: Predictions) -> Floats:
    return np.array([(person.label >= 0).sum() for person in predictions.people], float)


def _mean(rows: Sequence[Mapping[str, float]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))
