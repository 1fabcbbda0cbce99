"""One stream in Spark's state store: its new rows in order of time, each with its estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from .._label_scores import names_on
from .._validation import class_order
from ..filters._stream_runner import pack_state
from ..streams._row import StreamRow, pack, unpack
from ..streams._rows import update_stream_of
from ..streams._table import StreamTable
from ._schema import ERROR, OBSERVATION, REFUSED, STATUS, TIE, TIME, WEIGHT, FrameFormat


class StreamProcessor(StatefulProcessor):
    """Filters the rows of each stream as they come.

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
        self._digest = bytes.fromhex(form.chain.digest)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Begin the rows of a partition; Spark calls it."""
        form = self._form
        self._handle = handle
        self._state = handle.getValueState("filter", "state binary")
        fresh = form.chain.filter()
        self._update = update_stream_of(fresh)
        self._dtype = fresh.probs.dtype
        start = pack_state(fresh.state, self._dtype)
        self._table = StreamTable(start, expire_after=self._expire_after)
        place = class_order(form.chain, form.classes)
        self._order, self._labels = np.argsort(place), [form.classes[k] for k in place]
        self._new_row = Row(*self._names)
        self._time, self._observation, self._weight, self._tie, self._refusal, self._error = (
            self._at[name] for name in (TIME, OBSERVATION, WEIGHT, TIE, REFUSED, ERROR)
        )
        self._compared = [self._at[name] for name in [*form.key[2:], *form.prediction]]
        # Where each cell of a result comes from: the row, and behind it the results.
        self._independent = form.chain.independent
        which = "labels" if self._independent else "class"
        results = [*(f"f_{name}" for name in form.classes), which, *STATUS]
        at = self._at | {name: len(self._at) + i for i, name in enumerate(results)}
        self._picked = [at[name] for name in self._names]
        self._nothing: list[Any] = [None] * (len(form.classes) + 1)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[Row], timerValues: Any
    ) -> Iterator[Row]:
        """Yield the new rows of a stream with their results; Spark calls it."""
        (stream,) = key
        saved, table = self._state.get(), self._table
        if saved is not None:
            table.put(stream, self._unpacked(saved[0], stream))
        watermark = timerValues.getCurrentWatermarkInMs() / 1000
        results, changed = [], False
        try:
            for row in sorted(rows, key=self._place):
                why = self._refused(row, stream, watermark)
                if why is None:
                    estimate = self._take(row, stream)
                    results.append(self._result(row, estimate, "ok", None))
                    changed = True
                else:
                    results.append(self._result(row, None, *why))
            if changed:
                after = table.row(stream)
                self._state.update((pack(after, self._digest),))
                if saved is None:
                    self._set_timer(after.time)
        finally:
            if stream in table.slots:
                table.forget(stream)
        return iter(results)

    def _unpacked(self, data: bytes, stream: Any) -> StreamRow:
        return unpack(data, self._digest, self._table.start, stream)

    def _take(self, row: Row, stream: Any) -> Any:
        """Return the estimate after a row, which the table has then."""
        at, table = row[self._time], self._table
        slot = table.place(stream, at)
        columns = table.columns
        states, times, extra = columns.states, columns.times, columns.extra
        known = extra[slot] if times[slot] == at else ()
        observation = np.frombuffer(row[self._observation], self._dtype)
        if observation.size > len(self._labels):  # of several labels, off and on
            observation = observation.reshape(-1, 2)
        estimate = self._update(states, times, slot, observation, row[self._weight], at, None)
        extra[slot] = (*known, row[self._tie])
        table.note(stream, slot, at)
        return estimate

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

    def _result(self, row: Row, estimate: Any, status: str, error: str | None) -> Row:
        results = self._nothing
        if estimate is not None:
            label = self._labels[int(estimate.argmax())]
            if self._independent:
                (label,) = names_on(estimate[None], self._labels)
            results = [*estimate[self._order].tolist(), label]
        cells = [*row, *results, status, error]
        return self._new_row(*[cells[i] for i in self._picked])

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
        if saved is not None:
            last = self._unpacked(saved[0], stream).time
            if timerValues.getCurrentWatermarkInMs() / 1000 - last > self._table.span:
                self._state.clear()
            else:
                self._set_timer(last)
        return iter([])

    def close(self) -> None:
        """End the rows of a partition; Spark calls it."""
