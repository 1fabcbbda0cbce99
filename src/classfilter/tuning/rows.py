"""The observations of all streams as arrays, one stream after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..inputs import Rows, at_reliability, usual_step
from ..support.types import Bools, Floats, Ints

SOURCE_FLOOR = 1e-3
"""Smallest probability that is believed, as in the filters."""
LABEL_RELIABILITY = 0.9
"""How probable a label is taken to be: any value from 0.7 to 0.95 does about as well. How sure a
prediction is, labels do not say, and classes swap their meaning where that is estimated too."""
MIN_PARTS = 16
"""Least number of parts that a standard error rests on."""


class JoinedRows(NamedTuple):
    """The observations of all streams, without missing ones; T rows, K classes.

    Attributes
    ----------
    classes, sources : tuple of str
        The classes, and the sources, the reference first.
    label_sources : tuple of str
        The sources of which all predictions are one-hot.
    observed : ndarray (T, K)
        The predictions as recorded; of `label_sources`, with `LABEL_RELIABILITY`.
    without_channel : ndarray (T, K)
        The same as a filter gets them from a source without a channel: a label among probabilities
        has the filters' reliability.
    probs : ndarray (T, K)
        The last, at least `FLOOR`, normalised.
    source : ndarray (T,)
        The index of each row's source; 0 is the reference.
    dt : ndarray (T,)
        Time since the row before, 0 at the first row of a stream.
    first : ndarray (T,)
        Whether a row is the first of its stream.
    stream : ndarray (T,)
        The number of each row's stream.
    label : ndarray (T,)
        The labels, -1 where unknown.
    step : float
        The median time from row to row.
    """

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    label_sources: tuple[str, ...]
    observed: Floats
    without_channel: Floats
    probs: Floats
    source: Ints
    dt: Floats
    first: Bools
    stream: Ints
    label: Ints
    step: float

    @property
    def reference(self) -> str:
        """The source that the others are judged by."""
        return self.sources[0]

    @property
    def of_reference(self) -> Bools:
        """Whether each row (T,) is of the reference."""
        return np.asarray(self.source == 0)

    @property
    def streams(self) -> int:
        """How many streams there are."""
        return int(self.stream[-1]) + 1

    @property
    def time(self) -> Floats:
        """The time of each row (T,), without the gaps between streams."""
        time: Floats = np.cumsum(self.dt)
        return time

    @property
    def start(self) -> Ints:
        """The first row of each row's stream, (T,)."""
        rows: Ints = np.flatnonzero(self.first)[self.stream]
        return rows

    def take(self, kept: Bools) -> JoinedRows:
        """Return some rows, the first ones of each of their streams."""
        columns = {name: getattr(self, name)[kept] for name in _COLUMNS}
        columns["stream"] = np.cumsum(columns["first"]) - 1
        return self._replace(**columns)


_COLUMNS = ("observed", "without_channel", "probs", "source", "dt", "first", "stream", "label")


def concatenate(recordings: Sequence[Rows], reference: str) -> JoinedRows:
    """Return the observations of recordings, one stream after the other."""
    kept = [(rec, rec.observed()) for rec in recordings]
    kept = [(rec, rows) for rec, rows in kept if rows.any()]
    names = dict.fromkeys([reference, *(n for rec, _ in kept for n in rec.sources)])
    seen = {n for rec, rows in kept for n in set(rec.source_names[rows].tolist())}
    sources = tuple(name for name in names if name in seen)
    observed = np.concatenate([rec.probs[rows] for rec, rows in kept])
    given_as_labels = np.concatenate([rec.one_hot[rows] for rec, rows in kept])
    times = [rec.time[rows] for rec, rows in kept]
    dt = np.concatenate([np.diff(t, prepend=t[0]) for t in times])
    first = np.concatenate([np.arange(len(t)) == 0 for t in times])
    names_of_rows = np.concatenate([rec.source_names[rows] for rec, rows in kept])
    source = np.zeros(len(observed), np.intp)
    for i, name in enumerate(sources):
        source[names_of_rows == name] = i
    one_hot = observed.max(axis=1) == 1
    labelled = [i for i in range(len(sources)) if one_hot[source == i].all()]
    of_labels = np.isin(source, labelled)
    observed = at_reliability(observed, of_labels, LABEL_RELIABILITY)
    without_channel = at_reliability(observed, given_as_labels & ~of_labels)
    label = np.concatenate(
        [np.full(rows.sum(), -1) if rec.label is None else rec.label[rows] for rec, rows in kept]
    )
    step = usual_step(np.concatenate(times), np.cumsum(first) - 1, source)
    classes = recordings[0].classes
    return JoinedRows(
        classes=classes,
        sources=sources,
        label_sources=tuple(sources[i] for i in labelled),
        observed=observed,
        without_channel=without_channel,
        probs=floored(without_channel),
        source=source,
        dt=dt,
        first=first,
        stream=np.cumsum(first) - 1,
        label=label,
        step=step,
    )


def floored(probs: Floats, floor: float = SOURCE_FLOOR) -> Floats:
    """Return probabilities (T, K) of at least about a floor, normalised."""
    raised = np.maximum(probs, floor)
    raised /= raised.sum(axis=1, keepdims=True)
    return raised


def parts(rows: JoinedRows) -> Ints:
    """Return the part of each row (T,) for standard errors: its stream, cut where there are few."""
    return cut_streams(rows.stream)


def cut_streams(stream: Ints) -> Ints:
    """Return the part of each row (T,): its stream, cut where there are few; streams in order."""
    lengths = np.bincount(stream)
    if len(lengths) >= MIN_PARTS:
        return stream
    cuts = math.ceil(MIN_PARTS / len(lengths))
    start = np.cumsum(lengths) - lengths
    position: Ints = np.arange(len(stream)) - start[stream]
    part: Ints = stream * cuts + position * cuts // lengths[stream]
    return part
