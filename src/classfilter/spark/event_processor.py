"""One stream in Spark's state store, and its events: each comes out once, when it is confirmed."""

from __future__ import annotations

import hashlib
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessorHandle

from ..engine import REMEDY, Confirmed, Known, LaggedEvents, LiveEvents, StreamRow, unpack
from ..events import Event, microseconds
from .events import classes_in_order
from .processor import StreamProcessor
from .schema import FrameFormat


class EventProcessor(StreamProcessor):
    """Filters the rows of each stream, and gives events and refused rows back.

    The results have the columns of events, the status, the error, and how many rows were taken.

    Parameters
    ----------
    form, columns, names, expire_after
        As for `StreamProcessor`; the chain has a rule.
    lag : int, optional
        With how many later rows each row is smoothed before events are decided.
    dates : bool
        Whether times come out as microseconds, for dates; else as they are.
    """

    def __init__(
        self,
        form: FrameFormat,
        columns: list[str],
        names: list[str],
        expire_after: float | None,
        lag: int | None,
        dates: bool,
    ) -> None:
        super().__init__(form, columns, names, expire_after)
        self._lag, self._dates = lag, dates
        if lag is not None:  # the states of another lag are others
            text = f"{form.settings.digest} lag {lag}"
            self._digest = hashlib.blake2b(text.encode(), digest_size=8).digest()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Begin the rows of a partition; Spark calls it."""
        super().init(handle)
        chain = self._form.settings
        self._live = LiveEvents(chain) if self._lag is None else LaggedEvents(chain, self._lag)
        self._classes = classes_in_order(self._form)

    def _unpacked(self, data: bytes, stream: Any) -> StreamRow:
        row = unpack(data, self._digest, self._table.start, stream, rule=True)
        try:
            self._live.core.check(row.rule)
        except ValueError as error:
            problem = f"the state of stream {stream!r} is damaged: {error}; {REMEDY}"
            raise ValueError(problem) from None
        return row

    def _take(self, row: Row, stream: Any) -> list[Row]:
        table, live, at = self._table, self._live, row[self._time]
        old = table.slots.get(stream)
        known, last = None, at
        if old is not None:
            known, last = table.columns.events[old], float(table.columns.times[old])
        anew = old is None or at - last > table.span
        if anew:
            known, last = live.anew(known), at
        estimate = self._filter(row, stream)
        if isinstance(live, LaggedEvents):
            seen = self._observed(row), row[self._weight], at - last
            state, events = live.observed_after(known, at, *seen)
        else:
            state, events = live.row_after(known, at, estimate, None)  # type: ignore[arg-type]
        table.columns.events[table.slots[stream]] = Known(state, ())
        return [self._event(stream, event) for event in events]

    def _event(self, stream: Any, confirmed: Confirmed) -> Row:
        k, start, end, probability, _ = confirmed
        event = Event(stream, self._classes[k], start, end, probability)
        return self._row(event, "ok", None)

    def _refused_row(self, row: Row, status: str, error: str) -> Row:
        stream = row[self._at[self._form.layout.columns["stream"]]]
        event = Event(stream, None, row[self._time], None)  # type: ignore[arg-type]
        return self._row(event, status, error)

    def _counted(self, taken: int) -> list[Row]:
        return [self._new_row(*[None] * (len(self._names) - 1), taken)]

    def _last(self, stream: Any, known: StreamRow) -> list[Row]:
        last = self._live.finished(Known(known.rule, ()))
        return [self._event(stream, event) for event in last]

    def _row(self, event: Event, status: str, error: str | None) -> Row:
        start, end = event.start, event.end
        times = (microseconds(start), microseconds(end)) if self._dates else (start, end)
        cells = event.stream, event.label, *times, event.duration, event.probability
        return self._new_row(*cells, status, error, 0)
