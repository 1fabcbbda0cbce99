"""What the methods reach: measures over people, folds and seeds, as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from classfilter import metrics

from ._typing import Floats
from .methods import CEILING, ORDER, Track, Way
from .people import Answers

Row = dict[str, Any]
Done = tuple[Answers, dict[str, Way], dict[str, list[Track]]]
"""What was answered, how the methods were set, and what they say of each person."""

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
"""Table II; a column a method of `ORDER`."""
PAPER_PRECISION = {
    "bicycling": (0.79, 0.84, 0.87, 0.88),
    "mixed": (0.60, 0.66, 0.69, 0.75),
    "sit-stand": (0.73, 0.76, 0.78, 0.80),
    "sleep": (0.93, 0.95, 0.97, 0.98),
    "vehicle": (0.78, 0.87, 0.90, 0.89),
    "walking": (0.60, 0.71, 0.75, 0.73),
}
"""Table III. Its heading says specificity; its numbers can only be precision."""


def method_rows(done: Sequence[Done], cost: Mapping[str, float]) -> list[Row]:
    """Return a row a method: the mean over seeds, and the spread of accuracy over folds and seeds.

    Parameters
    ----------
    done : sequence
        One a seed.
    cost : mapping
        Multiply-adds of one call of each source; empty where there are none to count.
    """
    rows = []
    for name, way in done[0][1].items():
        seeds = [_whole(found, tracks[name]) for found, _, tracks in done]
        spread = [a for found, _, tracks in done for a in by_fold(found, tracks[name])]
        row: Row = {
            "method": name,
            "settings": way.settings,
            "looks_ahead": int(way.smoothed),
            "accuracy": 100 * _mean(seeds, "accuracy"),
            "accuracy_sd": 100 * float(np.std(spread, ddof=1)) if len(spread) > 1 else np.nan,
            "paper_accuracy": PAPER_ACCURACY.get(name, np.nan),
        }
        for key, scale in (("macro_f1", 100), ("log_loss", 1), ("brier", 1), ("switches", 1),
                           ("delay", 1), ("strong_calls_an_hour", 1)):  # fmt: skip
            row[key] = scale * _mean(seeds, key)
        row["multiply_adds_a_minute"] = (
            sum(cost[s] * _mean(seeds, f"{s}_calls_a_minute") for s in cost) if cost else np.nan
        )
        rows.append(row)
    return rows


def class_rows(done: Sequence[Done]) -> list[Row]:
    """Return a row a method and class: sensitivity, precision and specificity, and the paper's."""
    rows = []
    classes = done[0][0].people[0].classes
    for name in done[0][1]:
        found = []
        for answers, _, tracks in done:
            y, P = _joined(answers, tracks[name])
            found.append(
                [metrics.sensitivity(y, P), metrics.precision(y, P), metrics.specificity(y, P)]
            )
        mean = np.mean(found, axis=0)
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


def order_rows(done: Sequence[Done]) -> list[Row]:
    """Return how far each of the paper's methods is above the one before it.

    The gain is that of all people, in points, averaged over seeds. Its standard error is over
    people; ``kept`` counts the folds and seeds in which the gain is above 0, of ``of``.
    """
    pairs = [*pairwise(ORDER), ("Hold", "Multiple"), ("Multiple", "Tuned"), ("Tuned", CEILING)]
    rows = []
    for low, high in pairs:
        per_person: list[Floats] = []
        gains: list[float] = []
        whole: list[float] = []
        for answers, _, tracks in done:
            both = [_right(answers, tracks[name]) for name in (low, high)]
            seen = _seen(answers)
            known = seen > 0
            per_person.append((both[1] - both[0])[known] / seen[known])
            whole.append(float((both[1] - both[0]).sum() / seen.sum()))
            folds = [by_fold(answers, tracks[name]) for name in (low, high)]
            gains += [b - a for a, b in zip(*folds, strict=True)]
        each = np.mean(per_person, axis=0)
        rows.append(
            {
                "worse": low,
                "better": high,
                "gain": 100 * float(np.mean(whole)),
                "standard_error": 100 * float(each.std(ddof=1) / np.sqrt(len(each))),
                "kept": sum(gain > 0 for gain in gains),
                "of": len(gains),
                "paper_gain": PAPER_ACCURACY.get(high, np.nan) - PAPER_ACCURACY.get(low, np.nan),
            }
        )
    return rows


def by_fold(answers: Answers, tracks: Sequence[Track]) -> list[float]:
    """Return the accuracy of each fold."""
    right, seen, fold = _right(answers, tracks), _seen(answers), np.array(answers.fold)
    return [
        float(right[fold == k].sum() / seen[fold == k].sum())
        for k in np.unique(fold)
        if seen[fold == k].any()
    ]


def _whole(answers: Answers, tracks: Sequence[Track]) -> dict[str, float]:
    """Return the measures of one seed, of all people together."""
    y, P = _joined(answers, tracks)
    switches, hours, late, changes = 0.0, 0.0, 0.0, 0
    for person, track in zip(answers.people, tracks, strict=True):
        if not (person.label >= 0).any():
            continue
        here = metrics.count_switches(track.P, person.time, person.label)
        switches, hours = switches + here[0], hours + here[1]
        delay = metrics.detection_delay(person.label, track.P, person.time)
        if delay.changes:
            late, changes = late + delay.mean * delay.changes, changes + delay.changes
    steps = sum(track.strong + track.weak for track in tracks)
    minutes = steps * float(np.median(np.diff(answers.people[0].time))) / 60
    strong, weak = (sum(getattr(t, s) for t in tracks) / minutes for s in ("strong", "weak"))
    return {
        "accuracy": metrics.accuracy(y, P),
        "macro_f1": metrics.macro_f1(y, P),
        "log_loss": metrics.log_loss(y, P),
        "brier": metrics.brier(y, P),
        "switches": switches / hours if hours else np.nan,
        "delay": late / changes if changes else np.nan,
        "strong_calls_an_hour": 60 * strong,
        "strong_calls_a_minute": strong,
        "weak_calls_a_minute": weak,
    }


def _joined(answers: Answers, tracks: Sequence[Track]) -> tuple[Any, Floats]:
    y = np.concatenate([person.label for person in answers.people])
    return y, np.concatenate([track.P for track in tracks])


def _right(answers: Answers, tracks: Sequence[Track]) -> Floats:
    """Count the right steps of each person."""
    pairs = zip(answers.people, tracks, strict=True)
    return np.array(
        [((t.P.argmax(axis=1) == p.label) & (p.label >= 0)).sum() for p, t in pairs], float
    )


def _seen(answers: Answers) -> Floats:
    return np.array([(person.label >= 0).sum() for person in answers.people], float)


def _mean(rows: Sequence[Mapping[str, float]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))
