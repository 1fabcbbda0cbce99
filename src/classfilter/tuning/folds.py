"""Recordings to tune on: the reference among their sources, and two folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..inputs import Rows, as_rows, usual_step

Folds = list[tuple[list[Rows], list[Rows]]]
MIN_PREDICTIONS = 40
"""Predictions of the reference, below which nothing is tuned."""


def as_list(rows: Any) -> list[Rows]:
    """Return the rows of each stream: of Rows, of several, or of a table."""
    return list(as_rows(rows).by_stream().values())


def find_reference(
    recordings: Sequence[Rows], reference: str | None, argument: str = "reference"
) -> str:
    """Return the reference: the one that is named, or the source that is observed least often."""
    counts = Counter(
        name for rec in recordings for name in rec.source_names[rec.observed()].tolist()
    )
    if not counts:
        raise ArgumentError(
            "rows", 0, problem="have no predictions", fix="there is nothing to tune on"
        )
    if reference is None:
        rarest = sorted(counts, key=lambda name: counts[name])
        if len(rarest) > 1 and 2 * counts[rarest[0]] > counts[rarest[1]]:
            pair = f"{rarest[0]!r} and {rarest[1]!r}"
            problem = f"is not given, and {pair} have about as many predictions"
            raise ArgumentError("reference", None, problem=problem, fix="name the best source")
        return str(rarest[0])
    if reference not in counts:
        known = ", ".join(sorted(counts))
        raise ArgumentError(argument, reference, must=f"the sources with predictions are {known}")
    return reference


def without_silent(recordings: Sequence[Rows]) -> tuple[list[Rows], list[str]]:
    """Return recordings without the sources that have rows but no prediction, and their names."""
    heard = set[str]().union(*map(_sources, recordings))
    silent = sorted({name for rec in recordings for name in rec.sources} - heard)
    if not silent:
        return list(recordings), []
    return [rec.take(~np.isin(rec.source_names, silent)) for rec in recordings], silent


def two_folds(recordings: Sequence[Rows], reference: str) -> Folds | None:
    """Return both folds, each with the other; of one stream, early and late; None if too short."""
    several = [rec for rec in recordings if rec.observed(reference).any()]
    if len(several) == 1:
        several = list(_cut(several[0], reference))
    # Alternately, those of the same sources from the longest to the shortest, so that both folds
    # have the same sources and are about as long.
    several.sort(key=lambda rec: (sorted(_sources(rec)), len(rec)), reverse=True)
    return _complete(several[::2], several[1::2], reference)


def _complete(first: list[Rows], second: list[Rows], reference: str) -> Folds | None:
    """Return both folds, each with the other, if they are long enough and have all sources."""
    sources = [set[str]().union(*map(_sources, fold)) for fold in (first, second)]
    for fold in (first, second):
        if count_predictions(fold, reference) < MIN_PREDICTIONS // 4:
            return None
    return [(first, second), (second, first)] if sources[0] == sources[1] else None


def _cut(rec: Rows, reference: str) -> tuple[Rows, Rows]:
    """Return the early and the late half; rows of one time stay together."""
    rows = np.flatnonzero(rec.observed(reference))
    middle = int(np.searchsorted(rec.time, rec.time[rows[len(rows) // 2]]))
    return rec.take(slice(0, middle)), rec.take(slice(middle, None))


def count_predictions(recordings: Sequence[Rows], source: str) -> int:
    """Return how many predictions of a source were observed."""
    return sum(int(rec.observed(source).sum()) for rec in recordings)


def _sources(rec: Rows) -> set[str]:
    """Return the sources with predictions."""
    return set(rec.source_names[rec.observed()].tolist())


def step_of(recordings: Sequence[Rows]) -> float:
    """Return the usual time from row to row, over all streams; see `Rows.step`."""
    names = list(dict.fromkeys(name for rec in recordings for name in rec.sources))
    number = {name: i for i, name in enumerate(names)}
    source = [np.array([number[n] for n in rec.sources], np.intp)[rec.source] for rec in recordings]
    stream = np.repeat(np.arange(len(recordings)), [len(rec) for rec in recordings])
    time = np.concatenate([rec.time for rec in recordings])
    return usual_step(time, stream, np.concatenate(source))
