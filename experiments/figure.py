"""The paper's figure: a stretch of one person, the probability of the true class over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from classfilter import plot

from .methods import EVERY, ORDER, Run
from .streams import Stream

STEPS = 120
"""Length of the stretch: 10 minutes of 5 s steps."""
SHOWN = ("Simple", "Single", "Multiple", "Tuned")


def typical(people: Sequence[Stream], runs: Mapping[str, Sequence[Run]]) -> tuple[int, int]:
    """Return the person and the first step of a stretch where methods are as accurate as over all.

    Of the stretches that begin on a strong call, with a label at every step and a change of class,
    it is the one whose accuracies are nearest to those of all people; of equals, the first.
    """
    hits = [
        np.array([runs[name][i].probs.argmax(axis=1) == p.label for name in (*ORDER, "Tuned")])
        for i, p in enumerate(people)
    ]
    known = np.concatenate([p.label >= 0 for p in people])
    overall = np.concatenate(hits, axis=1)[:, known].mean(axis=1)
    best, least = (0, 0), np.inf
    for i, person in enumerate(people):
        for first in range(0, len(person.time) - STEPS + 1, EVERY):
            y = person.label[first : first + STEPS]
            if (y < 0).any() or (y == y[0]).all():
                continue
            mean = hits[i][:, first : first + STEPS].mean(axis=1)
            distance = float(((mean - overall) ** 2).sum())
            if distance < least:
                best, least = (i, first), distance
    return best


def draw(people: Sequence[Stream], runs: Mapping[str, Sequence[Run]], path: Path) -> str:
    """Draw a typical stretch: probabilities as in the paper, classes below; return its person."""
    from matplotlib.figure import Figure

    number, first = typical(people, runs)
    person, rows = people[number], slice(first, first + STEPS)
    t, y = person.time[rows] - person.time[rows][0], person.label[rows]
    strong = np.arange(len(person.time))[rows] % EVERY == 0
    probs = {name: of[number].probs[rows] for name, of in runs.items()}
    figure = Figure(figsize=(9.0, 6.6), dpi=110, layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2.4))
    lines = {name: probs[name] for name in SHOWN}
    plot.probabilities(t, y, probs["Raw"], lines, strong=strong, ax=top)
    plot.timeline(t, y, {"Raw": probs["Raw"], **lines}, person.classes, ax=bottom)
    figure.savefig(path)
    return person.name
