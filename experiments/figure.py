"""The paper's figure: a stretch of one person, the probability of the true class over time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from classfilter import plot

from ._typing import Floats
from .measure import Done
from .methods import EVERY, ORDER

STEPS = 120
"""Length of the stretch: 10 minutes of 5 s steps."""
SHOWN = ("Simple", "Single", "Multiple", "Tuned")


class Stretch(NamedTuple):
    """Steps `first` to `first + STEPS` of a person."""

    person: int
    first: int


def typical(done: Done) -> Stretch:
    """Return the stretch in which the methods are right about as often as over all.

    Of the stretches that begin on a strong call, with a label at every step and a change of class,
    it is the one whose accuracies are nearest to those of all people; of equals, the first.
    """
    answers, _, tracks = done
    names = [*ORDER, "Tuned"]
    hits = [
        np.array([t.P.argmax(axis=1) == p.label for t in (tracks[n][i] for n in names)])
        for i, p in enumerate(answers.people)
    ]
    known = np.concatenate([p.label >= 0 for p in answers.people])
    overall = np.concatenate(hits, axis=1)[:, known].mean(axis=1)
    best, least = Stretch(0, 0), np.inf
    for i, person in enumerate(answers.people):
        for first in range(0, len(person.time) - STEPS + 1, EVERY):
            here = slice(first, first + STEPS)
            y = person.label[here]
            if (y < 0).any() or (y == y[0]).all():
                continue
            distance = float(((hits[i][:, here].mean(axis=1) - overall) ** 2).sum())
            if distance < least:
                best, least = Stretch(i, first), distance
    return best


def draw(done: Done, path: Path) -> Stretch:
    """Draw a typical stretch: the tracks as in the paper, and the classes below."""
    from matplotlib.figure import Figure

    answers, _, tracks = done
    stretch = typical(done)
    person = answers.people[stretch.person]
    here = slice(stretch.first, stretch.first + STEPS)
    t, y = person.time[here] - person.time[here][0], person.label[here]
    strong = np.arange(len(person.time))[here] % EVERY == 0

    def of(name: str) -> Floats:
        return np.asarray(tracks[name][stretch.person].P[here], np.float64)

    figure = Figure(figsize=(9.0, 6.6), dpi=110, layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2.4))
    plot.probabilities(t, y, of("Raw"), {name: of(name) for name in SHOWN}, strong=strong, ax=top)
    rows = {name: of(name) for name in ("Raw", *SHOWN)}
    plot.timeline(t, y, rows, person.classes, ax=bottom)
    figure.savefig(path)
    return stretch
