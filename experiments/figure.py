"""The paper's figure: a stretch of one person, the probability of the true class over time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from classfilter import plot
from classfilter._support.types import Floats

from .measure import SeedResult
from .methods import EVERY, ORDER

STEPS = 120
"""Length of the stretch: 10 minutes of 5 s steps."""
SHOWN = ("Simple", "Single", "Multiple", "Tuned")


class Stretch(NamedTuple):
    """Steps `first` to `first + STEPS` of a person."""

    person: int
    first: int


def typical(result: SeedResult) -> Stretch:
    """Return the stretch in which the methods are about as accurate as over all.

    Of the stretches that begin on a strong call, with a label at every step and a change of class,
    it is the one whose accuracies are nearest to those of all people; of equals, the first.
    """
    predictions, _, runs = result
    names = [*ORDER, "Tuned"]
    hits = [
        np.array([run.probs.argmax(axis=1) == p.label for run in (runs[n][i] for n in names)])
        for i, p in enumerate(predictions.people)
    ]
    known = np.concatenate([p.label >= 0 for p in predictions.people])
    overall = np.concatenate(hits, axis=1)[:, known].mean(axis=1)
    best, least = Stretch(0, 0), np.inf
    for i, person in enumerate(predictions.people):
        for first in range(0, len(person.time) - STEPS + 1, EVERY):
            rows = slice(first, first + STEPS)
            y = person.label[rows]
            if (y < 0).any() or (y == y[0]).all():
                continue
            distance = float(((hits[i][:, rows].mean(axis=1) - overall) ** 2).sum())
            if distance < least:
                best, least = Stretch(i, first), distance
    return best


def draw(result: SeedResult, path: Path) -> Stretch:
    """Draw a typical stretch: the probabilities as in the paper, and the classes below."""
    from matplotlib.figure import Figure

    predictions, _, runs = result
    stretch = typical(result)
    person = predictions.people[stretch.person]
    rows = slice(stretch.first, stretch.first + STEPS)
    t, y = person.time[rows] - person.time[rows][0], person.label[rows]
    strong = np.arange(len(person.time))[rows] % EVERY == 0

    def probs(name: str) -> Floats:
        return np.asarray(runs[name][stretch.person].probs[rows], np.float64)

    figure = Figure(figsize=(9.0, 6.6), dpi=110, layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2.4))
    plot.probabilities(
        t, y, probs("Raw"), {name: probs(name) for name in SHOWN}, strong=strong, ax=top
    )
    lanes = {name: probs(name) for name in ("Raw", *SHOWN)}
    plot.timeline(t, y, lanes, person.classes, ax=bottom)
    figure.savefig(path)
    return stretch
