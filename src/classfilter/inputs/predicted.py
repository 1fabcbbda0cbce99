"""Rows: predictions of classifiers on many streams, the one type that carries them, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, Fix, RowError
from ..support.arrays import MIN_STEPS, median_step, stable_argsort
from ..support.html import class_counts
from ..support.types import Array, Bools, Floats, Ints
from ..support.validation import Factorized, factorize
from .columns import Layout
from .frames import new_table
from .heads import Heads
from .outputs import Predictions
from .times import TimeKind, require_1d

LONGEST_STEP = 1e30
"""The largest time between two rows that a filter takes."""

PLAIN_NUMBERS = TimeKind()


def grouped(time: Floats, stream: Ints, sort: bool = False) -> tuple[Ints, Floats, Ints]:
    """Return rows grouped by stream, in order of time: their order, their steps, where each begins.

    The step of a row is its time since the row before, 0 for the first one of a stream.
    """
    if sort:
        order: Ints = np.lexsort((time, stream))
    elif np.all(stream[1:] >= stream[:-1]):
        order = np.arange(len(stream))
    else:
        order = stable_argsort(stream)
    t, streams, steps = time[order], stream[order], np.zeros(len(time))
    with np.errstate(over="ignore"):
        np.subtract(t[1:], t[:-1], out=steps[1:])
    begins = np.ones(len(streams), bool)
    np.not_equal(streams[1:], streams[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    steps[first] = 0.0
    return order, steps, first


SORT = "put the rows in order of time, or give ", Fix("sort", True)


def _order_error(time: float, before: float, row: int, kind: TimeKind) -> RowError:
    """Return the error of a row whose time is not after that of the row before it."""
    back = time < before
    shown, other = "{}", repr(before)
    if kind.text(time) != kind.text(before) and kind.kind == "date":
        shown, other = kind.text(time), kind.text(before)
    hints: tuple[str, ...] = ()
    if kind.kind == "date" and kind.zone is None and 0 < before - time <= 3600:
        hints = ("if clocks were set back then, give dates with their offset, such as +02:00",)
    return RowError(
        "time",
        time,
        problem=f"is {shown}, {'before' if back else 'too long after'} {other}, the time of the "
        "row before it",
        fix=SORT if back else "leave the row out",
        row=row,
        hints=hints,
    )


def usual_step(time: Floats, stream: Ints, source: Ints) -> float:
    """Return the usual time from row to row: the least of the sources' median steps in a stream.

    So two classifiers of one frame, with stamps 50 ms apart, have the step of the frames.
    """
    order = np.lexsort((time, source, stream))
    apart, sources = np.diff(time[order]), source[order][1:]
    forward = (np.diff(stream[order]) == 0) & (np.diff(source[order]) == 0) & (apart > 0)
    steps = [apart[forward & (sources == i)] for i in np.unique(sources)]
    enough = [one for one in steps if len(one) >= MIN_STEPS]
    return min((median_step(one) for one in enough or steps if len(one)), default=1.0)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rows:
    """T predictions of classifiers on one stream or on many; immutable. `rows` makes them.

    Attributes
    ----------
    time : ndarray (T,)
        In seconds, or in the unit of the numbers that were given. Each stream goes forward in time.
    stream, source : ndarray of int (T,)
        The number of each row's stream in `streams`, and of its classifier in `sources`.
    streams, sources : tuple
        Their names, in order of appearance. A single stream without a name is None.
    probs : ndarray (T, C)
        The predictions, a column for each class, or for each label; NaN where one is missing.
    one_hot : ndarray of bool (T,)
        Which predictions are classes without confidence.
    heads : Heads
        What the columns are: classes that exclude each other, labels, or several heads of classes.
    label : ndarray of int (T,) or None
        The true class, -1 where unknown. Where classes do not exclude each other, that of each
        head, (T, H): of a label 1, 0 or -1.

    Examples
    --------
    >>> import classfilter as cf
    >>> rows = cf.rows(
    ...     time=[0, 0, 5], stream=["ann", "bob", "ann"],
    ...     probs=[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]], classes=["rest", "move"],
    ... )
    >>> rows
    Rows(3 rows of 2 streams, classes ['rest', 'move'], sources ['default'])
    >>> rows["ann"].time.tolist()
    [0.0, 5.0]
    """

    time: Floats
    stream: Ints
    streams: tuple[Any, ...]
    source: Ints
    sources: tuple[str, ...]
    probs: Floats
    one_hot: Bools
    heads: Heads
    label: Ints | None = None
    time_kind: TimeKind = PLAIN_NUMBERS
    sort: bool = False
    """Whether rows may come in any order of time."""
    unit: str | None = None
    """Of the numbers of time, as it was given."""
    frame: Any = None
    """The table that they were read from, to which results are added."""
    layout: Layout | None = None
    """Where things are in that table."""

    @classmethod
    def of(
        cls, stream: Factorized, source: Factorized, outputs: Predictions, **columns: Any
    ) -> Rows:
        """Return rows of columns as they are read; `columns` are the others."""
        return cls(
            stream=stream.codes, streams=tuple(stream.categories),
            source=source.codes, sources=tuple(source.categories),
            probs=outputs.probs, one_hot=outputs.one_hot, **columns,
        )  # fmt: skip

    def __len__(self) -> int:
        return self.time.size

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the columns: the classes, or the labels."""
        return self.heads.shown

    def __repr__(self) -> str:
        count = "" if len(self.streams) < 2 else f" of {len(self.streams)} streams"
        span = ""
        if self.time_kind.kind == "date" and len(self):
            first, last = map(self.time_kind.text, (self.time.min(), self.time.max()))
            span = f"{first} to {last}, "
        names = f"{self.heads.noun} {list(self.classes)}, sources {list(self.sources)}"
        return f"Rows({len(self)} rows{count}, {span}{names})"

    def _repr_html_(self) -> str:
        stack = self.stacked()
        best = np.nan_to_num(stack).argmax(axis=2)
        predicted = np.where(np.isnan(stack).any(axis=2), -1, best)
        shown = [] if self.label is None else [("truth", self.label.reshape(predicted.shape))]
        for name in self.sources:
            shown.append((name, np.where(self.of_source(name)[:, None], predicted, -1)))
        counts = [(name, self._counts(classes)) for name, classes in shown]
        return class_counts(self.time, counts, self.classes, self.time_kind.text)

    def _counts(self, classes: Ints) -> list[int]:
        """Return how often each column is on, from the class of each head, (T, H)."""
        counts: list[int] = []
        for h, (columns, size) in enumerate(zip(self.heads.columns, self.heads.sizes, strict=True)):
            of_classes = np.bincount(classes[:, h] + 1, minlength=size + 1).tolist()
            counts += of_classes[-len(columns) :]
        return counts

    def __getitem__(self, stream: Any) -> Rows:
        """Return the rows of one stream, in order of time."""
        if stream not in self.streams:
            names = ", ".join(map(repr, self.streams[:5])) + ", ..." * (len(self.streams) > 5)
            raise ArgumentError("stream", stream, must=f"the streams are {names}")
        order, _, _ = self.grouped()
        own_rows = order[self.stream[order] == self.streams.index(stream)]
        return replace(self.take(own_rows), streams=(stream,), sort=False)

    def __iter__(self) -> NoReturn:
        raise TypeError("Rows do not iterate; rows.streams has the names, rows[name] a stream")

    def by_stream(self) -> dict[Any, Rows]:
        """Return the rows of each stream, in order of time, by its name."""
        order, _, _ = self.grouped()
        counts = np.bincount(self.stream, minlength=len(self.streams))
        parts = np.split(order, np.cumsum(counts)[:-1])
        return {
            name: replace(self.take(part), streams=(name,), sort=False)
            for name, part in zip(self.streams, parts, strict=False)
        }

    @cached_property
    def _in_order(self) -> tuple[Ints, Floats, Ints]:
        return grouped(self.time, self.stream, self.sort)

    def grouped(self, last: Floats | None = None) -> tuple[Ints, Floats, Ints]:
        """Return the order of the rows by stream and time, their steps, and where streams begin.

        Both the steps and the places of the streams' first rows are in this order. `last` is the
        time of each stream's row before the first one here, NaN where there is none. A time that
        goes back is an error.
        """
        order, steps, first = self._in_order
        if last is not None:
            before = last[self.stream[order[first]]]
            goes_on = ~np.isnan(before)
            if goes_on.any():
                steps = steps.copy()
                with np.errstate(over="ignore"):
                    steps[first[goes_on]] = self.time[order[first[goes_on]]] - before[goes_on]
        if len(steps) and not (steps.min() >= 0 and steps.max() <= LONGEST_STEP):
            wrong = np.flatnonzero((steps < 0) | (steps > LONGEST_STEP))
            at = wrong[order[wrong].argmin()]
            row = int(order[at])
            before = self.time[order[at - 1]]
            if last is not None and np.any(first == at):
                before = last[self.stream[row]]
            raise _order_error(float(self.time[row]), float(before), row, self.time_kind)
        return order, steps, first

    @cached_property
    def dt(self) -> Floats:
        """The time since the row before of the same stream, (T,); 0 for its first row."""
        order, steps, _ = self.grouped()
        dt = np.empty(len(self))
        dt[order] = steps
        return dt

    @cached_property
    def step(self) -> float:
        """The usual time from row to row: the least of the sources' median steps in a stream."""
        return usual_step(self.time, self.stream, self.source)

    def take(self, rows: Any) -> Rows:
        """Return some rows, by a slice, a mask or indices."""
        columns: dict[str, Any] = {
            name: _read_only(getattr(self, name)[rows])
            for name in ("time", "stream", "source", "probs", "one_hot")
        }
        stream, streams = _renumbered(columns.pop("stream"), self.streams)
        source, sources = _renumbered(columns.pop("source"), self.sources)
        return replace(
            self, **columns, stream=stream, streams=streams, source=source, sources=sources,
            label=None if self.label is None else _read_only(self.label[rows]),
            frame=None, layout=None,
        )  # fmt: skip

    def stacked(self) -> Floats:
        """Return the predictions as those of heads, (T, H, K); see `Heads`."""
        return self.heads.stacked(self.probs)

    def head(self, name: Any) -> Rows:
        """Return the rows of one head; those of a label have the classes not robin and robin."""
        h = self.heads.place(name)
        probs = np.ascontiguousarray(self.stacked()[:, h, : self.heads.sizes[h]])
        label = None if self.label is None else self.label[:, h].copy()
        return replace(
            self, probs=probs, heads=Heads.exclusive(self.heads.classes_of(h)), label=label,
            frame=None, layout=None,
        )  # fmt: skip

    @property
    def source_names(self) -> Array:
        """The name of each row's source, (T,)."""
        return np.array(self.sources, np.str_)[self.source]

    def of_source(self, name: str) -> Bools:
        """Return which rows (T,) are of a source."""
        number = self.sources.index(name) if name in self.sources else -1
        return np.asarray(self.source == number)

    def observed(self, source: str | None = None) -> Bools:
        """Return which rows (T,) are observations, of a source if given: not all is missing."""
        observations: Bools = np.asarray(~np.isnan(self.probs).all(axis=1))
        return observations if source is None else observations & self.of_source(source)

    @property
    def predicted_streams(self) -> set[Any]:
        """The streams that have a prediction."""
        counts = np.bincount(self.stream[self.observed()], minlength=len(self.streams))
        return set(compress(self.streams, counts.tolist()))

    @property
    def factorized_sources(self) -> Factorized:
        """The sources as a column of codes."""
        return Factorized(self.source, list(self.sources))

    def to_table(self, kind: str = "polars") -> Any:
        """Return the rows as a dataframe of ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

        Classes without confidence are in a column ``prediction``, and have no probabilities.
        Times are what they were: numbers (in seconds, where a unit was given), timedeltas, or dates
        to the microsecond, with their zone if they had one. Text of dates becomes dates.
        """
        columns: dict[str, Any] = {"time": self.time}
        if self.streams not in ((), (None,)):
            names = np.array(self.streams, object)[self.stream]
            if all(type(name) is int and abs(name) < 1 << 63 for name in self.streams):
                columns["stream"] = names.astype(np.int64)
            else:
                columns["stream"] = [str(name) for name in names]
        columns["source"] = [self.sources[i] for i in self.source.tolist()]
        columns |= self._truth()
        if self.one_hot.any():
            best = np.nan_to_num(self.probs).argmax(axis=1).tolist()
            columns["prediction"] = [
                self.classes[k] if one_hot else None
                for k, one_hot in zip(best, self.one_hot.tolist(), strict=True)
            ]
        for name, p in zip(self.classes, self.probs.T, strict=True):
            columns[f"p_{name}"] = np.where(self.one_hot, np.nan, p)
        text = tuple(name for name in columns if isinstance(columns[name], list))
        return new_table(columns, kind, text, self.time_kind)

    def _truth(self) -> dict[str, Any]:
        """Return the columns of the true classes, as text or, of labels, as numbers."""
        columns: dict[str, Any] = {}
        if self.label is None:
            return columns
        names = ["label"] if self.heads.is_exclusive else [f"y_{name}" for name in self.heads.names]
        for h, (name, y) in enumerate(zip(names, self.label.reshape(len(self), -1).T, strict=True)):
            classes = [str(one).rpartition(":")[2] for one in self.heads.columns[h]]
            columns[name] = (
                np.where(y < 0, np.nan, y)
                if h in self.heads.labels
                else [classes[k] if k >= 0 else None for k in y.tolist()]
            )
        return columns


def _renumbered(codes: Ints, names: tuple[Any, ...]) -> tuple[Ints, tuple[Any, ...]]:
    """Return the codes of some rows, and the names that occur there, in order of appearance."""
    if len(names) == 1 and len(codes):
        return codes, names
    used, first = np.unique(codes, return_index=True)
    used = used[np.argsort(first)]
    place = np.zeros(len(names), np.intp)
    place[used] = np.arange(len(used))
    return _read_only(place[codes]), tuple(names[i] for i in used.tolist())


def _read_only(column: Array) -> Array:
    column.flags.writeable = False
    return column


def source_codes(source: ArrayLike, rows: int) -> Factorized:
    """Return the source of each row, as text; one name stands for all rows."""
    if isinstance(source, str):
        return Factorized(np.zeros(rows, np.intp), [source] if rows else [])
    if source is None:
        raise ValueError("source is None; give a name for all rows, or one per row")
    column = np.asarray(source, dtype=np.object_)
    require_1d("source", column)
    return factorize_sources(factorize(column.tolist()))


def factorize_sources(source: Factorized) -> Factorized:
    """Return a column of sources, checked, with their names as text."""
    for i, cell in enumerate(source.categories):
        if not isinstance(cell, (str, int)):
            row = int((source.codes == i).argmax())
            raise RowError("source", cell, must="it must be a name", fix="fill it in", row=row)
    return Factorized(source.codes, [str(cell) for cell in source.categories])
