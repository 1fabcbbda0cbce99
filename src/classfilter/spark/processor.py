"""One stream in Spark's state store: its new rows in order of time, each with its estimate."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from ..engine import REMEDY, Engine, StreamRow, pack, unpack, update_stream_of
from ..events import Event, event_of, microseconds
from ..support.types import Array
from .events import NO_CLASS, classes_in_order
from .schema import ERROR, OBSERVATION, REFUSED, STATUS, TIE, TIME, FrameFormat


class StreamProcessor(StatefulProcessor):
    """Takes the rows of each stream as they come, and filters them.

    Parameters
    ----------
    form : FrameFormat
        The filter, and where things are in a row.
    columns : list of str
        Those of the rows that come.
    names : list of str
        Those of the results.
    expire_after : float, optional
        A stream without a row for longer starts again; its state is dropped when the watermark
        has passed.
    """

    def __init__(
        self,
        form: FrameFormat,
        columns: list[str],
        names: list[str],
        expire_after: float | None,
    ) -> None:
        self._form, self._names, self._expire_after = form, names, expire_after
        # A row finds a cell by its number ten times as fast as by its name.
        self._at = {name: i for i, name in enumerate(columns)}
        self._digest = bytes.fromhex(form.settings.digest)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Begin the rows of a partition; Spark calls it."""
        form = self._form
        self._handle = handle
        self._state = handle.getValueState("filter", "state binary")
        self._update = update_stream_of(form.settings.filter)
        self._engine = self._new_engine()
        self._table = self._engine.table
        self._new_row = Row(*self._names)
        self._time, self._observation, self._tie, self._refusal, self._error = (
            self._at[name] for name in (TIME, OBSERVATION, TIE, REFUSED, ERROR)
        )
        heads = form.settings.heads
        stack = heads.for_filter(np.empty((1, len(heads.names), heads.width)))
        self._size, self._shape = stack.size, stack.shape[1:]
        self._compared = [self._at[name] for name in [*form.key[2:], *form.prediction]]

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[Row], timerValues: Any
    ) -> Iterator[Row]:
        """Yield the new rows of a stream with their results; Spark calls it."""
        (stream,) = key
        saved, table = self._state.get(), self._table
        if saved is not None:
            self._restore(saved[0], stream)
        watermark = timerValues.getCurrentWatermarkInMs() / 1000
        results: list[Row] = []
        taken = 0
        try:
            for row in sorted(rows, key=self._place):
                why = self._refused(row, stream, watermark)
                if why is None:
                    results += self._take(row, stream)
                    taken += 1
                else:
                    results.append(self._refused_row(row, *why))
            if taken:
                after = self._engine.row(stream)
                self._state.update((pack(after, self._digest),))
                if saved is None:
                    self._set_timer(after.time)
                results += self._counted(taken)
        finally:
            if stream in table.slots:
                table.discard(stream)
        return iter(results)

    def _new_engine(self) -> Engine:
        return Engine(self._form.settings, expire_after=self._expire_after)

    def _restore(self, data: bytes, stream: Any) -> StreamRow:
        """Put a stream into the engine, from what its state has; return that."""
        later = bool(self._engine.stages)
        row = unpack(data, self._digest, self._table.start, stream, later=later)
        try:
            self._engine.put(stream, row)
        except ValueError as error:
            problem = f"the state of stream {stream!r} is damaged: {error}; {REMEDY}"
            raise ValueError(problem) from None
        return row

    def _take(self, row: Row, stream: Any) -> list[Row]:
        """Take a row; return what comes out."""
        raise NotImplementedError

    def _refused_row(self, row: Row, status: str, error: str) -> Row:
        """Return what comes out of a row that is not filtered."""
        raise NotImplementedError

    def _counted(self, taken: int) -> list[Row]:
        """Return what comes out of so many rows that were taken, besides their results."""
        return []

    def _last(self, stream: Any) -> list[Row]:
        """Return what comes out of a stream that is over, and forget it."""
        self._table.forget(stream)
        return []

    def _filter(self, row: Row, stream: Any) -> Any:
        """Return the estimate after a row, which the table has then."""
        at, table, seen = row[self._time], self._table, self._observed(row)
        slot = table.slots.get(stream)
        tied = slot is not None and table.columns.times[slot] == at
        ties = table.columns.extra[slot] if tied else ()
        estimate = self._engine.take_one(self._update, stream, at, seen, seen)
        table.columns.extra[table.slots[stream]] = (*ties, row[self._tie])
        return estimate

    def _observed(self, row: Row) -> tuple[Array, Any]:
        """Return a row as the filter takes it, and its weight, or that of each head."""
        numbers = np.frombuffer(row[self._observation])
        weights, probs = numbers[: -self._size], numbers[-self._size :].reshape(self._shape)
        return probs, weights if weights.size > 1 else weights.item()

    def _place(self, row: Row) -> tuple[Any, ...]:
        """Return what the rows of a stream are sorted by, as Spark sorts the columns."""
        if row[self._refusal] is not None:
            return (-math.inf,)
        cells = [row[i] for i in self._compared]
        return (row[self._time], *((cell is not None, cell != cell, cell) for cell in cells))

    def _refused(self, row: Row, stream: Any, watermark: float) -> tuple[str, str] | None:
        """Return the status of a row that is not filtered, and why not."""
        if row[self._refusal] is not None:
            return row[self._refusal], row[self._error]
        at, slot = row[self._time], self._table.slots.get(stream)
        if slot is None:
            # The stream may have been dropped, and this row may be older than its last one.
            if self._expire_after is not None and at < watermark and watermark > 0:
                return "late", f"time {at} is before {watermark}, the watermark"
            return None
        last = float(self._table.columns.times[slot])
        if at < last:
            return "late", f"time {at} is before {last}, that of the stream's last row"
        if at == last and row[self._tie] in self._table.columns.extra[slot]:
            return "duplicate", f"the stream has the same prediction at time {at}"
        return None

    def _set_timer(self, last: float) -> None:
        if self._expire_after is not None:
            after = math.floor((last + self._expire_after) * 1000) + 1
            self._handle.registerTimer(after)

    def handleExpiredTimer(  # noqa: N802
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Drop a stream that is silent, or look at it again later; Spark calls it."""
        (stream,) = key
        saved = self._state.get()
        if saved is None:
            return iter([])
        known = self._restore(saved[0], stream)
        if timerValues.getCurrentWatermarkInMs() / 1000 - known.time <= self._table.span:
            self._table.discard(stream)
            self._set_timer(known.time)
            return iter([])
        self._state.clear()
        return iter(self._last(stream))

    def close(self) -> None:
        """End the rows of a partition; Spark calls it."""


class RowProcessor(StreamProcessor):
    """Gives every row back, with its estimate."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Begin the rows of a partition; Spark calls it."""
        super().init(handle)
        form = self._form
        place = form.settings.heads.order_in(form.classes)
        self._order = np.argsort(place)
        self._heads = form.settings.heads.like(form.classes[k] for k in place)
        # Where each cell of a result comes from: the row, and behind it the results.
        results = [
            *(f"f_{name}" for name in form.classes),
            *self._heads.results[len(form.classes) :],
        ]
        at = self._at | {name: len(self._at) + i for i, name in enumerate([*results, *STATUS])}
        self._picked = [at[name] for name in self._names]
        self._nothing: list[Any] = [None] * len(results)

    def _take(self, row: Row, stream: Any) -> list[Row]:
        estimate = self._filter(row, stream)
        found = [*estimate[self._order].tolist(), *self._heads.decided(estimate)]
        return [self._with([*row, *found, "ok", None])]

    def _refused_row(self, row: Row, status: str, error: str) -> Row:
        return self._with([*row, *self._nothing, status, error])

    def _with(self, cells: list[Any]) -> Row:
        return self._new_row(*[cells[i] for i in self._picked])


class EventProcessor(StreamProcessor):
    """Filters the rows of each stream, and gives events and refused rows back.

    The results have the columns of events, the status, the error, and how many rows were taken.

    Parameters
    ----------
    form, columns, names, expire_after
        As for `StreamProcessor`; the pipeline has a rule.
    lag : int, optional
        With how many later rows each row is smoothed before events are decided.
    dates : bool
        Whether times come out as microseconds, for dates; else as they are.
    starts : bool, default False
        Whether starts that are final come out, too.
    """

    def __init__(
        self,
        form: FrameFormat,
        columns: list[str],
        names: list[str],
        expire_after: float | None,
        lag: int | None,
        dates: bool,
        starts: bool = False,
    ) -> None:
        super().__init__(form, columns, names, expire_after)
        self._lag, self._dates, self._starts = lag, dates, starts
        if lag is not None:  # the states of another lag are others
            text = f"{form.settings.digest} lag {lag}"
            self._digest = hashlib.blake2b(text.encode(), digest_size=8).digest()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Begin the rows of a partition; Spark calls it."""
        super().init(handle)
        self._classes = classes_in_order(self._form)

    def _new_engine(self) -> Engine:
        pipe, lag = self._form.settings, self._lag
        smoother = None if lag is None else pipe.smoothing
        rule = (smoother or pipe).rule
        return Engine(
            pipe,
            smoother=smoother,
            lag=lag,
            rule=rule,
            starts=self._starts,
            expire_after=self._expire_after,
        )

    def _take(self, row: Row, stream: Any) -> list[Row]:
        self._filter(row, stream)
        return self._confirmed()

    def _confirmed(self) -> list[Row]:
        starts = [
            (event_of(stream, self._classes, k, start, None, None), "start")
            for stream, k, start in self._engine.pop_starts()
        ]
        events = [
            (event_of(stream, self._classes, *event[:4]), "ok")
            for stream, event in self._engine.pop()
        ]
        return [self._row(event, status, None) for event, status in starts + events]

    def _refused_row(self, row: Row, status: str, error: str) -> Row:
        stream = row[self._at[self._form.layout.columns["stream"]]]
        event = event_of(stream, NO_CLASS, 0, row[self._time], None, None)
        return self._row(event, status, error)

    def _counted(self, taken: int) -> list[Row]:
        return [self._new_row(*[None] * (len(self._names) - 1), taken)]

    def _last(self, stream: Any) -> list[Row]:
        self._table.forget(stream)
        return self._confirmed()

    def _row(self, event: Event, status: str, error: str | None) -> Row:
        start, end = event.start, event.end
        times = (microseconds(start), microseconds(end)) if self._dates else (start, end)
        cells = event.stream, event.label, *times, event.duration, event.probability
        return self._new_row(*cells, status, error, 0)
