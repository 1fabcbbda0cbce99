"""One stream in Spark's state store: its new rows in order of time, each with its estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from .._validation import class_order
from ..filters._stream_runner import pack_state
from ..streams._rows import update_stream_of
from ._schema import ERROR, OBSERVATION, STATUS, TIE, TIME, WEIGHT, FrameFormat
from ._state import StreamState, pack, settings_digest, unpack


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
        self._digest = settings_digest(form.filter, form.beta, form.channel)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Begin the rows of a partition; Spark calls it."""
        form = self._form
        self._handle = handle
        self._state = handle.getValueState("filter", "state binary")
        self._update = update_stream_of(form.filter.copy())
        self._dtype = form.filter.probs.dtype
        self._start = pack_state(form.filter.state, self._dtype)
        self._order = np.argsort(class_order(form.filter, form.classes))
        self._new_row = Row(*self._names)
        self._time, self._observation, self._weight, self._tie, self._error = (
            self._at[name] for name in (TIME, OBSERVATION, WEIGHT, TIE, ERROR)
        )
        self._compared = [self._at[name] for name in [*form.key[2:], *form.prediction]]
        # Where each cell of a result comes from: the row, and behind it the results.
        results = [*(f"f_{name}" for name in form.classes), "class", *STATUS]
        at = self._at | {name: len(self._at) + i for i, name in enumerate(results)}
        self._picked = [at[name] for name in self._names]
        self._nothing: list[Any] = [None] * (len(form.classes) + 1)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[Row], timerValues: Any
    ) -> Iterator[Row]:
        """Yield the new rows of a stream with their results; Spark calls it."""
        (stream,) = key
        saved = self._state.get()
        state = None if saved is None else unpack(saved[0], self._digest, self._start, stream)
        known, watermark = state, timerValues.getCurrentWatermarkInMs() / 1000
        states = np.empty((1, self._start.size), self._dtype)
        results = []
        for row in sorted(rows, key=self._place):
            why = self._refused(row, state, watermark)
            if why is not None:
                results.append(self._result(row, None, *why))
                continue
            at, tie = row[self._time], row[self._tie]
            if state is None or self._is_over(state.time, at):
                last, ties, states[0] = at, [], self._start
            else:
                last, ties, states[0] = state.time, state.ties, state.numbers
            observation = np.frombuffer(row[self._observation], self._dtype)
            estimate = self._update(states, 0, observation, row[self._weight], at - last)
            state = StreamState(at, [*ties, tie] if at == last else [tie], states[0])
            results.append(self._result(row, estimate[self._order], "ok", None))
        if state is not None and state is not known:
            self._state.update((pack(state, self._digest),))
            if known is None:
                self._set_timer(state.time)
        return iter(results)

    def _place(self, row: Row) -> tuple[Any, ...]:
        """Return what the rows of a stream are sorted by, as Spark sorts the columns."""
        if row[self._error] is not None:
            return (-math.inf,)
        cells = [row[i] for i in self._compared]
        return (row[self._time], *((cell is not None, cell != cell, cell) for cell in cells))

    def _refused(
        self, row: Row, state: StreamState | None, watermark: float
    ) -> tuple[str, str] | None:
        """Return the status of a row that is not filtered, and why not."""
        if row[self._error] is not None:
            return "invalid", row[self._error]
        at = row[self._time]
        if state is None:
            # The stream may have been dropped, and this row may be older than its last one.
            if self._expire_after is not None and at < watermark and watermark > 0:
                return "late", f"time {at} is before {watermark}, the watermark"
            return None
        if at < state.time:
            return "late", f"time {at} is before {state.time}, that of the stream's last row"
        if at == state.time and row[self._tie] in state.ties:
            return "duplicate", f"the stream has the same prediction at time {at}"
        return None

    def _is_over(self, last: float, at: float) -> bool:
        return self._expire_after is not None and at - last > self._expire_after

    def _result(self, row: Row, estimate: Any, status: str, error: str | None) -> Row:
        results = self._nothing
        if estimate is not None:
            results = [*estimate.tolist(), self._form.classes[int(estimate.argmax())]]
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
            state = unpack(saved[0], self._digest, self._start, stream)
            watermark = timerValues.getCurrentWatermarkInMs() / 1000
            if self._is_over(state.time, watermark):
                self._state.clear()
            else:
                self._set_timer(state.time)
        return iter([])

    def close(self) -> None:
        """End the rows of a partition; Spark calls it."""
