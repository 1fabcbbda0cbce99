"""Recordings to tune on: the reference among their sources, and two folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..engine import Recording, streams_of
from ..errors import ArgumentError

Folds = list[tuple[list[Recording], list[Recording]]]
MIN_PREDICTIONS = 40
"""Predictions of the reference, below which nothing is tuned."""


def as_list(recordings: Any, **options: Any) -> list[Recording]:
    """Return the recordings, of one stream or of several, or of a table with its options."""
    several = streams_of(recordings, **options)
    if isinstance(several, Recording):
        return [several]
    return list(several.values() if isinstance(several, Mapping) else several)


def find_reference(
    recordings: Sequence[Recording], reference: str | None, argument: str = "reference"
) -> str:
    """Return the reference: the one that is named, or the source that is observed least often."""
    for rec in recordings:
        if not isinstance(rec, Recording):
            raise TypeError(
                f"recordings has a {type(rec).__name__}; give recordings, a dataframe or a path"
            )
    if not recordings:
        raise ValueError("recordings is empty; give one per stream")
    classes, independent = recordings[0].classes, recordings[0].independent
    for i, rec in enumerate(recordings):
        if rec.independent != independent:
            kinds = ("classes that exclude each other", "several labels at once")
            raise ValueError(
                f"recordings[{i}] has {kinds[rec.independent]}, the first {kinds[independent]}; "
                "give recordings of one kind"
            )
        if rec.classes != classes:
            raise ValueError(
                f"recordings[{i}] has the classes {list(rec.classes)}, the first "
                f"{list(classes)}; give recordings of the same classes, in the same order"
            )
    counts = Counter(name for rec in recordings for name in rec.source[rec.observed()].tolist())
    if not counts:
        raise ValueError("recordings has no predictions; there is nothing to tune on")
    if reference is None:
        rarest = sorted(counts, key=lambda name: counts[name])
        if len(rarest) > 1 and 2 * counts[rarest[0]] > counts[rarest[1]]:
            pair = f"{rarest[0]!r} and {rarest[1]!r}"
            problem = f"is not given, and {pair} have about as many predictions"
            raise ArgumentError("reference", None, problem, remedy="name the best source")
        return str(rarest[0])
    if reference not in counts:
        known = ", ".join(sorted(counts))
        raise ArgumentError(argument, reference, rule=f"the sources with predictions are {known}")
    return reference


def without_silent(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """Return recordings without the sources that have rows but no prediction, and their names."""
    heard = set[str]().union(*map(_sources, recordings))
    silent = sorted({name for rec in recordings for name in rec.sources} - heard)
    if not silent:
        return list(recordings), []
    return [rec._take(~np.isin(rec.source, silent)) for rec in recordings], silent


def two_folds(recordings: Sequence[Recording], reference: str) -> Folds | None:
    """Return both folds, each with the other; of one stream, early and late; None if too short."""
    several = [rec for rec in recordings if rec.observed(reference).any()]
    if len(several) == 1:
        several = list(_cut(several[0], reference))
    # Alternately, those of the same sources from the longest to the shortest, so that both folds
    # have the same sources and are about as long.
    several.sort(key=lambda rec: (sorted(_sources(rec)), len(rec)), reverse=True)
    return _complete(several[::2], several[1::2], reference)


def _complete(first: list[Recording], second: list[Recording], reference: str) -> Folds | None:
    """Return both folds, each with the other, if they are long enough and have all sources."""
    sources = [set[str]().union(*map(_sources, fold)) for fold in (first, second)]
    for fold in (first, second):
        if count_predictions(fold, reference) < MIN_PREDICTIONS // 4:
            return None
    return [(first, second), (second, first)] if sources[0] == sources[1] else None


def _cut(rec: Recording, reference: str) -> tuple[Recording, Recording]:
    """Return the early and the late half; rows of one time stay together."""
    rows = np.flatnonzero(rec.observed(reference))
    middle = int(np.searchsorted(rec.time, rec.time[rows[len(rows) // 2]]))
    return rec.part(slice(0, middle)), rec.part(slice(middle, None))


def count_predictions(recordings: Sequence[Recording], source: str) -> int:
    """Return how many predictions of a source were observed."""
    return sum(int(rec.observed(source).sum()) for rec in recordings)


def _sources(rec: Recording) -> set[str]:
    """Return the sources with predictions."""
    return set(rec.source[rec.observed()].tolist())


def median_step(recordings: Sequence[Recording]) -> float:
    """Return the median time from row to row."""
    dt = np.concatenate([rec.dt for rec in recordings])
    return float(np.median(dt[dt > 0])) if (dt > 0).any() else 1.0
