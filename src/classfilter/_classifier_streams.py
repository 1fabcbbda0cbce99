"""The rows of a scikit-learn classifier as streams, and their predictions as recordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._errors import ArgumentError, RowError
from ._events._decide import RULES, Decoder, Rule
from ._label_scores import fewest
from ._predictions import predictions
from ._support.types import Array, Floats, Ints
from ._time_kind import TimeKind
from ._timestamps import read_times
from ._validation import factorize, text_names
from .chain._chain import Chain
from .data._frames import group_starts
from .data._recording import Recording
from .filters._base import Filter
from .streams._rows import group_and_sort

SOURCE = "estimator"
"""The name of the only source."""


class RowsByStream(NamedTuple):
    """The rows of each stream in order of time, the times of all rows (T,), and what they were.

    The names are those of the streams; None where all rows are one.
    """

    rows: list[Ints]
    times: Floats
    names: list[Any]
    kind: TimeKind


def streams_of(n: int, groups: ArrayLike | None, times: ArrayLike | None) -> RowsByStream:
    """Return the streams of n rows."""
    codes: Ints = np.zeros(n, np.intp)
    names: list[Any] = [None]
    if groups is not None:
        cells = _column("groups", groups, n).tolist()
        for row, cell in enumerate(cells):
            if cell is None or cell != cell:
                raise RowError("groups", cell, remedy="name the stream of each row", row=row)
        codes, names = factorize(cells)
    time: Floats = np.arange(n, dtype=np.float64)
    kind = TimeKind()
    if times is not None:
        try:
            time, kind = read_times(_column("times", times, n))
        except RowError as error:
            raise error.replaced(argument="times") from None
    order, _ = group_and_sort(time, codes, sort=True)
    rows = np.split(order, group_starts(codes[order]))
    if times is None:
        for part in rows:
            time[part] = np.arange(len(part))
    return RowsByStream(rows, time, names, kind)


def _column(name: str, column: ArrayLike, n: int) -> Array:
    array = np.asarray(column)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; it must be ({n},), one per row of X")
    return array


def recordings(
    probs: ArrayLike,
    classes: Array,
    streams: RowsByStream,
    source: str = SOURCE,
    independent: bool = False,
) -> Iterator[tuple[Ints, Recording]]:
    """Yield the rows of each stream with their recording."""
    names = text_names(classes.tolist(), fewest(independent))
    try:
        checked, hard = predictions(probs, names, independent=independent)
    except RowError as error:
        raise error.replaced(argument="predict_proba of estimator") from None
    for rows in streams.rows:
        sources, known = np.full(len(rows), source), (hard[rows], streams.kind, independent)
        columns = streams.times[rows], sources, checked[rows], names, None
        yield rows, Recording._from_checked(*columns, *known)


def labelled(rec: Recording, label: Ints) -> Recording:
    """Return a recording with its true classes."""
    columns = rec.time, rec.source, rec.probs, rec.classes, label, rec.hard
    return Recording._from_checked(*columns, rec._time_kind, rec.independent)


def run_filter(chosen: Filter | Chain, rec: Recording, lag: int | None) -> Array:
    """Filter a recording, or smooth it."""
    return rec.run(chosen) if lag == 0 else rec.smooth(chosen, lag=lag)


def rule_of(given: Any, chosen: Filter | Chain, empty: Recording, lag: int | None) -> Rule | None:
    """Return the rule for events that is given, or that of the chain, if it fits the classes."""
    rule: Rule | None = given
    if given is None:
        rule = Chain.of(chosen, smoothing=lag != 0).rule
    elif not isinstance(given, RULES):
        problem = "it must be an EventRule or a ThresholdRule"
        raise ArgumentError("event_rule", given, rule=problem)
    if rule is not None:
        Decoder(rule, empty.classes, np.float64, empty.independent)
    return rule
