"""One stream in Spark's state store, and its events: each comes out once, when it is confirmed."""

from __future__ import annotations

import hashlib
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessorHandle

from ..engine import Engine
from ..events import Event, event_of, microseconds
from .events import NO_CLASS, classes_in_order
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
        self._classes = classes_in_order(self._form)

    def _new_engine(self) -> Engine:
        chain, lag = self._form.settings, self._lag
        smoother = None if lag is None else chain.smoother
        rule = (smoother or chain).rule
        return Engine(chain, smoother=smoother, lag=lag, rule=rule, expire_after=self._expire_after)

    def _take(self, row: Row, stream: Any) -> list[Row]:
        self._filter(row, stream)
        return self._confirmed()

    def _confirmed(self) -> list[Row]:
        return [
            self._row(event_of(stream, self._classes, *event[:4]), "ok", None)
            for stream, event in self._engine.pop()
        ]

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
