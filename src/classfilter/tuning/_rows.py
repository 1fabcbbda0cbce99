"""The observations of all streams as arrays, one stream after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._predictions import at_reliability
from .._support.types import Bools, Floats, Ints
from ..data._recording import Recording

FLOOR = 1e-3
"""Smallest probability that is believed, as in the filters."""
MIN_PARTS = 16
"""Least number of parts that a standard error rests on."""


class JoinedRows(NamedTuple):
    """The observations of all streams, without missing ones; T rows, K classes.

    Attributes
    ----------
    classes, sources : tuple of str
        The classes, and the sources, the reference first.
    observed : ndarray (T, K)
        The predictions, as recorded.
    hard : ndarray (T,)
        Which of them are classes without confidence, as one-hot rows.
    probs : ndarray (T, K)
        The predictions, at least `FLOOR`, normalised.
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
    observed: Floats
    hard: Bools
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
    def without_channel(self) -> Floats:
        """The predictions (T, K) as a filter gets them from sources without a channel."""
        return at_reliability(self.observed, self.hard)

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


_COLUMNS = ("observed", "hard", "probs", "source", "dt", "first", "stream", "label")


def concatenate(recordings: Sequence[Recording], reference: str) -> JoinedRows:
    """Return the observations of recordings, one stream after the other."""
    kept = [(rec, rec.observed()) for rec in recordings]
    kept = [(rec, rows) for rec, rows in kept if rows.any()]
    names = dict.fromkeys([reference, *(n for rec, _ in kept for n in rec.sources)])
    seen = {n for rec, rows in kept for n in set(rec.source[rows].tolist())}
    sources = tuple(name for name in names if name in seen)
    observed = np.concatenate([rec.probs[rows] for rec, rows in kept])
    hard = np.concatenate([rec.hard[rows] for rec, rows in kept])
    probs = floored(observed)
    times = [rec.time[rows] for rec, rows in kept]
    dt = np.concatenate([np.diff(t, prepend=t[0]) for t in times])
    first = np.concatenate([np.arange(len(t)) == 0 for t in times])
    names_of_rows = np.concatenate([rec.source[rows] for rec, rows in kept])
    source = np.zeros(len(probs), np.intp)
    for i, name in enumerate(sources):
        source[names_of_rows == name] = i
    label = np.concatenate(
        [np.full(rows.sum(), -1) if rec.label is None else rec.label[rows] for rec, rows in kept]
    )
    step = float(np.median(dt[dt > 0])) if (dt > 0).any() else 1.0
    classes = recordings[0].classes
    columns = source, dt, first, np.cumsum(first) - 1, label
    return JoinedRows(classes, sources, observed, hard, probs, *columns, step)


def floored(probs: Floats, floor: float = FLOOR) -> Floats:
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
