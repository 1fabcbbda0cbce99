"""The events of a DataFrame's streams: decided while their rows are filtered, or as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine import Engine, Rule, pipe_and_rule
from ..events import Event, Events, event_of
from ..filters import Filter
from ..pipeline import Channels, Pipeline
from ..support.imports import import_optional
from ..support.types import Weights
from .batch import checked_lag_of, checked_tables, require_batch
from .rows import CheckedRows, seconds_if_any
from .schema import (
    STATUS,
    FrameFormat,
    column,
    event_schema,
    filtered_frame_format,
    frame_format,
    partition_and_sort,
)

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame


def event_frame(
    df: DataFrame,
    filter: Filter | Pipeline | Rule,  # noqa: A002
    rule: Rule | None = None,
    *,
    smooth: bool = False,
    lag: int | None = None,
    beta: Weights | None = None,
    channel: Channels | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    invalid: str = "fail",
) -> DataFrame:
    """Return the events, start, end and class, of every stream of a DataFrame.

    They equal those of `classfilter.events` on the rows in order of stream, time, source and
    prediction, to the bit, however the rows are partitioned.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Predictions, as in `filter_frame`, which are filtered first; or, where `filter` is a rule,
        rows that are taken as they are: the columns ``f_<class>`` of a DataFrame that was filtered
        before, or ``p_<class>``.
    filter, rule, smooth, lag
        As in `classfilter.events`. A worker holds all rows of a stream where it is smoothed without
        a `lag`, or decided by a `ThresholdRule`.
    beta, channel, columns, scores, unit
        As in `filter_frame`.
    invalid : {"fail", "quarantine"}
        What an invalid row does: fail the job, with an error that names it; or stay out, and come
        out beside the events. Then there are columns ``status``, "ok" of events and "invalid" of
        such rows, which have no class and their time as the start, and ``error``, which says why.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns ``stream``, where there is one, ``class``, ``start``, ``end``, ``duration`` and
        ``probability``. Start and end are timestamps where the times are, or dates; and else
        numbers: in seconds, where there is a `unit`.
    """
    pipe, rule = pipe_and_rule(filter, rule, smooth, lag, beta=beta, channel=channel)
    require_batch(df, "event_stream")
    if pipe is None:
        form = filtered_frame_format(df, columns, scores, unit, invalid)
    else:
        form = frame_format(df, pipe, columns, scores, unit, invalid)
    lag = checked_lag_of(form, lag) if smooth else 0
    engine_of(form, rule, lag)  # it names a class that is wrong before anything runs
    status = invalid == "quarantine"
    schema = event_schema(df, form, status)
    used = dict.fromkeys([*form.key, *form.before, *form.prediction])
    rows = partition_and_sort(df.select(*map(column, used)), form)
    zoned = schema["start"].dataType.typeName() == "timestamp"
    return rows.mapInArrow(_Events(form, rule, lag, "UTC" if zoned else None), schema)


def engine_of(form: FrameFormat, rule: Rule, lag: int | None) -> Engine:
    """Return what decides the events of a DataFrame's rows."""
    if form.pipe is None:
        return Engine(None, rule=rule, heads=form.heads)
    if lag == 0:
        return Engine(form.pipe, rule=rule, threads=1)
    return Engine(None, smoother=form.pipe, lag=lag, rule=rule)


def classes_in_order(form: FrameFormat) -> tuple[str, ...]:
    """Return the names of the classes, in the order of the results before they are columns."""
    if form.pipe is None:
        return form.classes
    return tuple(form.classes[k] for k in form.pipe.heads.order_in(form.classes))


NO_CLASS: Any = (None,)
"""The class of a row that was rejected."""


class ComesOut(NamedTuple):
    """A row of the result: an event, or a row that was refused; its status, and why."""

    event: Event
    status: str = "ok"
    error: str | None = None


class _Events:
    """What a worker does with the Arrow batches of a partition, in order of stream and time."""

    def __init__(self, form: FrameFormat, rule: Rule, lag: int | None, zone: str | None) -> None:
        self._form, self._rule, self._lag, self._zone = form, rule, lag, zone

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the events as batches."""
        engine = engine_of(self._form, self._rule, self._lag)
        classes = classes_in_order(self._form)
        for checked, over in checked_tables(batches, self._form):
            streams = set(checked.rows.streams)
            engine.take(checked.rows, over=over & streams)
            engine.finish(over - streams)
            events = [
                ComesOut(event_of(stream, classes, *event[:4])) for stream, event in engine.pop()
            ]
            yield from self._table([*events, *self._refused(checked)], checked)

    def _refused(self, checked: CheckedRows) -> Iterator[ComesOut]:
        """Yield the invalid rows."""
        columns, table = self._form.layout.columns, checked.table
        for i in np.flatnonzero(~checked.valid).tolist():
            stream = table[columns["stream"]][i].as_py() if "stream" in columns else None
            time = seconds_if_any(table[columns["time"]][i].as_py(), self._form.table.unit)
            event = event_of(stream, NO_CLASS, 0, time, None, None)  # type: ignore[arg-type]
            yield ComesOut(event, "invalid", checked.errors[i])

    def _table(self, rows: list[ComesOut], checked: CheckedRows) -> list[Any]:
        """Return what comes out as Arrow batches."""
        pa = import_optional("pyarrow", extra="spark")
        if not rows:
            return []
        dates = checked.rows.time_kind.kind == "date"
        events = Events([row.event for row in rows], dates=dates, zone=self._zone)
        table = events.to_table("pyarrow")
        stream = self._form.layout.columns.get("stream")
        if stream is None:
            table = table.drop_columns("stream")
        else:  # as in the DataFrame: a number stays a number
            kind = checked.table.schema.field(stream).type
            table = table.set_column(0, "stream", pa.array([e.stream for e in events], kind))
        if self._form.invalid == "quarantine":
            for name in STATUS:
                table = table.append_column(
                    name, pa.array([getattr(row, name) for row in rows], pa.string())
                )
        batches: list[Any] = table.to_batches()
        return batches
