"""A streaming DataFrame's streams: their rows filtered as they come, and events when confirmed."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine import checked_lag, pipe_and_rule
from ..errors import ArgumentError
from ..events import EventRule
from ..filters import Filter, check_smoother
from ..inputs import duration, positive_duration
from ..pipeline import Channels, Pipeline, under_rule
from ..support.imports import import_optional
from ..support.types import Bools, Duration, Floats, Weights
from .rows import check_rows, seconds_if_any, with_columns
from .schema import (
    ERROR,
    EVENT,
    OBSERVATION,
    REFUSED,
    TAKEN,
    TIE,
    TIME,
    FrameFormat,
    column,
    event_schema,
    frame_format,
    result_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import Column, DataFrame

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATUSES = ("ok", "late", "duplicate", "ahead", "invalid")
DAY = 86400.0


def filter_stream(
    df: DataFrame,
    filter: Filter | Pipeline,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    expire_after: Duration | None = None,
    delay: Duration = 0.0,
    max_ahead: Duration | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    invalid: str = "fail",
) -> DataFrame:
    """Filter every stream of a streaming DataFrame, as its rows come.

    The state of a stream is one binary value in Spark's state store, which must be that of RocksDB.
    In each micro-batch the new rows of a stream are sorted as by `filter_frame`. Every row comes
    out once, with a ``status``:

    - "ok": it was filtered, to the bit as by `filter_table` over all such rows of its stream.
    - "late": its time is before that of the last row of its stream in an earlier micro-batch; or
      its stream has no state and its time is before the watermark.
    - "duplicate": its stream has the same time, source and prediction already.
    - "ahead": its time is more than `max_ahead` after the present: its clock is wrong.
    - "invalid": it cannot be used; only with ``invalid="quarantine"``.

    Rows that are not "ok" have null results and an ``error`` that says why, and change no state.
    The numbers of rows by status are in the query's progress, as the observed metrics
    ``classfilter``.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Streaming, with the columns of `classfilter.inputs`, ``stream`` among them, and
        no watermark.
    filter, beta, channel, columns, scores, unit
        As in `filter_frame`. A query that continues from a checkpoint must have the settings that
        wrote it: a stream whose state has others fails the query.
    expire_after : float, str or timedelta, optional
        A stream is over when more than `expire_after` passes without a row of it; its next row
        begins it anew. Its state is dropped once the watermark has passed that time. ``"60s"`` or a
        timedelta is seconds, a number is in the unit of the times.
    delay : float, str or timedelta, default 0
        How far the watermark stays behind the newest time of all rows; with `expire_after`.
    max_ahead : float, str or timedelta, optional
        How many seconds after the present a time may be, as UNIX seconds. One time further ahead
        would move the watermark, and all streams' later rows would be late. By default a day where
        the column is a timestamp or a date, and without a limit where it is a number.
    invalid : {"fail", "quarantine"}
        What an invalid row does: fail the query, with an error that names it; or come out.

    Returns
    -------
    pyspark.sql.DataFrame
        Streaming, in output mode append: the same columns, with ``f_<class>``, ``class``,
        ``status`` and ``error``; of a `MultiLabelFilter`, in place of ``class`` the columns that
        `filter_frame` adds.
    """
    pipe = Pipeline.of(filter, beta=beta, channel=channel)
    form = frame_format(df, pipe, columns, scores, unit, invalid)
    live = live_rows(df, form, expire_after, delay, max_ahead)
    schema = result_schema(df, form, status=True)
    from .processor import RowProcessor  # needs PySpark

    processor = RowProcessor(form, live.rows.columns, schema.names, live.expire_after)
    filtered = live.through(processor, schema)
    functions = import_optional("pyspark.sql.functions", extra="spark")
    count, status = functions.count_if, column("status")
    return filtered.observe("classfilter", *(count(status == s).alias(s) for s in STATUSES))


def event_stream(
    df: DataFrame,
    filter: Filter | Pipeline,  # noqa: A002
    rule: EventRule | None = None,
    *,
    lag: int | None = None,
    starts: bool = False,
    beta: Weights | None = None,
    channel: Channels | None = None,
    expire_after: Duration | None = None,
    delay: Duration = 0.0,
    max_ahead: Duration | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    invalid: str = "fail",
) -> DataFrame:
    """Return the events of every stream of a streaming DataFrame, each when it is confirmed.

    An event comes out once, in the micro-batch whose rows confirm it: no later row can change it.
    The events of a stream are those of `classfilter.events` over its rows that `filter_stream`
    gives the status "ok", to the bit. When a stream is over, by `expire_after`, its last events
    come out; without `expire_after`, what the last rows have not confirmed stays in the state.

    What is refused does not vanish: rows that are late, duplicate, ahead or invalid come out beside
    the events, as from `filter_stream`, with their ``status``, an ``error`` that says why, no class
    and their time as the start. The query's progress has the numbers of rows by status and that of
    events, as the observed metrics ``classfilter``.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Streaming, as in `filter_stream`.
    filter : Filter or Pipeline
        What filters the rows.
    rule : EventRule, optional
        How events are decided; by default the rule of the pipeline.
    lag : int, optional
        Decide events later, on better rows: each smoothed with so many rows of its stream after it,
        by the pipeline's `smoother` and its rule, as `classfilter.events` does with
        ``smooth=True``.
    starts : bool, default False
        Let each event come out when its start is final, too, as `Tracker.pop_starts` returns it:
        with the status "start", and without end, duration and probability.
    beta, channel, expire_after, delay, max_ahead, columns, scores, unit, invalid
        As in `filter_stream`. A query that continues from a checkpoint must have the settings that
        wrote it, the rule and the lag among them.

    Returns
    -------
    pyspark.sql.DataFrame
        Streaming, in output mode append: the columns of `event_frame`, with ``status``, which is
        "ok" for events and "start" for starts, and ``error``.
    """
    smooth = lag is not None
    pipe, rule = pipe_and_rule(filter, rule, smooth, lag, beta=beta, channel=channel)  # type: ignore[assignment]
    if pipe is None or not isinstance(rule, EventRule):
        argument, value = ("filter", filter) if pipe is None else ("rule", rule)
        wanted = "a filter or a pipeline" if pipe is None else "an EventRule"
        raise ArgumentError(argument, value, must=f"live events need {wanted}")
    if lag is not None:
        lag = checked_lag(lag)
        check_smoother(pipe.filter)
    form = frame_format(df, under_rule(pipe, rule), columns, scores, unit, invalid)
    live = live_rows(df, form, expire_after, delay, max_ahead, "event_frame")
    from .processor import EventProcessor  # needs PySpark

    functions = import_optional("pyspark.sql.functions", extra="spark")
    types = import_optional("pyspark.sql.types", extra="spark")
    schema = event_schema(df, form, status=True)
    dates = not isinstance(schema["start"].dataType, types.DoubleType)
    times = types.LongType() if dates else types.DoubleType()
    raw = [
        types.StructField(f.name, times if f.name in ("start", "end") else f.dataType)
        for f in schema
    ]
    raw = types.StructType([*raw, types.StructField(TAKEN, types.IntegerType())])
    processor = EventProcessor(
        form, live.rows.columns, raw.names, live.expire_after, lag=lag, dates=dates, starts=starts
    )
    found = live.through(processor, raw)
    status = column("status")
    counts = [functions.count_if(status == s).alias(s) for s in STATUSES[1:]]
    ok = functions.coalesce(functions.sum(column(TAKEN)), functions.lit(0)).alias("ok")
    events = functions.count_if(status == "ok").alias("events")
    counted = found.observe("classfilter", ok, *counts, events).where(status.isNotNull())
    return counted.select(*(_as_time(f) if dates else column(f.name) for f in schema))


def _as_time(field: Any) -> Column:
    """Return a column of events; microseconds as a date."""
    functions = import_optional("pyspark.sql.functions", extra="spark")
    if field.name not in ("start", "end"):
        return column(field.name)
    kind = field.dataType.simpleString()
    if kind == "timestamp":
        moment: Column = functions.timestamp_micros(column(field.name))
    else:  # without a zone, and so without the session's
        seconds = column(field.name).cast("decimal(18, 0)") / functions.lit(1_000_000)
        span = functions.make_dt_interval(secs=seconds.cast("decimal(18, 6)"))
        moment = functions.lit("1970-01-01").cast(kind) + span
    return moment.alias(field.name)


class LiveRows(NamedTuple):
    """The rows of a streaming DataFrame, checked, and what ends a stream.

    Attributes
    ----------
    rows : pyspark.sql.DataFrame
        With their observations, which begin with their weights, and errors.
    stream : str
        The column of the streams.
    expire_after : float or None
        How much time without a row ends a stream.
    """

    rows: DataFrame
    stream: str
    expire_after: float | None

    def through(self, processor: Any, schema: Any) -> DataFrame:
        """Return what a processor makes of the rows of each stream."""
        mode = "None" if self.expire_after is None else "EventTime"
        streams = self.rows.groupBy(column(self.stream))
        return streams.transformWithState(processor, schema, "Append", mode)


def live_rows(
    df: DataFrame,
    form: FrameFormat,
    expire_after: Duration | None,
    delay: Duration,
    max_ahead: Duration | None,
    instead: str = "filter_frame",
) -> LiveRows:
    """Return the rows of a streaming DataFrame, or raise and say what is wrong with it.

    `instead` is what takes other DataFrames.
    """
    if not df.isStreaming:
        raise ValueError(f"df is not a streaming DataFrame; use {instead}")
    if "stream" not in form.layout.columns:
        raise ValueError(
            f"the table has no column stream; it has {df.columns}: name it, "
            'columns={"stream": ...}'
        )
    expires, wait, ahead = _durations(expire_after, delay, max_ahead)
    _check_session(df, instead.replace("frame", "stream"))
    if ahead is None and _has_dates(df, form):
        ahead = DAY
    rows = _checked_rows(df, form, None if expires is None else wait, ahead)
    return LiveRows(rows, form.layout.columns["stream"], expires)


def _has_dates(df: DataFrame, form: FrameFormat) -> bool:
    types = import_optional("pyspark.sql.types", extra="spark")
    dates = (types.TimestampType, types.TimestampNTZType, types.DateType)
    return isinstance(df.schema[form.layout.columns["time"]].dataType, dates)


def _durations(
    expire_after: Duration | None, delay: Duration, max_ahead: Duration | None
) -> tuple[float | None, float, float | None]:
    """Return the durations as numbers, checked."""
    spans = {"expire_after": expire_after, "max_ahead": max_ahead}
    expires, ahead = (
        None if span is None else positive_duration(name, span) for name, span in spans.items()
    )
    wait = duration("delay", delay)
    if not 0 <= wait < math.inf:
        raise ValueError(f"delay is {delay!r}; it must be finite and not negative")
    if wait and expires is None:
        raise ValueError(f"delay is {delay!r}, but nothing expires; give expire_after, too")
    return expires, wait, ahead


def _check_session(df: DataFrame, function: str) -> None:
    """Raise unless the state store is that of RocksDB and Spark drops no rows by itself."""
    provider = df.sparkSession.conf.get(PROVIDER, None)
    if provider != ROCKSDB:
        raise ValueError(
            f"the state store is {provider}; {function} needs that of RocksDB: "
            f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")'
        )
    for field in df.schema.fields:
        if "spark.watermarkDelayMs" in field.metadata:
            raise ValueError(
                f"df has a watermark on column {field.name}, by which Spark would drop late rows "
                "unseen; leave withWatermark out, and give expire_after and delay"
            )


def _checked_rows(
    df: DataFrame, form: FrameFormat, delay: float | None, max_ahead: float | None
) -> DataFrame:
    """Return the rows with their observations and errors, in many rows at a time."""
    functions = import_optional("pyspark.sql.functions", extra="spark")
    types = import_optional("pyspark.sql.types", extra="spark")
    told_apart = [*form.key[2:], *form.prediction]  # by source and prediction
    rows = df.withColumn(TIE, functions.xxhash64(*map(column, told_apart)))
    fields = [types.StructField(f.name, f.dataType) for f in rows.schema.fields]
    fields += [
        types.StructField(TIME, types.DoubleType()),
        types.StructField(OBSERVATION, types.BinaryType()),
        types.StructField(REFUSED, types.StringType()),
        types.StructField(ERROR, types.StringType()),
    ]
    checked = rows.mapInArrow(_Check(form, max_ahead), types.StructType(fields))
    if delay is None:
        return checked
    # Without its column, since Spark would drop the rows before its watermark without a trace.
    counts = functions.when(column(REFUSED).isNull(), column(TIME))
    timed = checked.withColumn(EVENT, functions.timestamp_seconds(counts))
    return timed.withWatermark(EVENT, f"{round(delay * 1000)} milliseconds").drop(EVENT)


class _Check:
    """What a worker does with the rows before the filter, which sees one stream at a time."""

    def __init__(self, form: FrameFormat, max_ahead: float | None) -> None:
        self._form, self._max_ahead = form, max_ahead

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches with observations and errors."""
        pa = import_optional("pyarrow", extra="spark")
        form = self._form
        for batch in batches:
            if not batch.num_rows:
                continue
            table, rows, valid, errors = check_rows(pa.Table.from_batches([batch]), form)
            probs, beta = form.settings.observe_rows(
                rows.factorized_sources, rows.probs, rows.one_hot, rows.classes
            )
            time = np.full(len(table), np.nan)
            time[valid] = rows.time
            cells = table[form.layout.columns["time"]]
            for row in np.flatnonzero(~valid).tolist():
                time[row] = seconds_if_any(cells[row].as_py(), form.table.unit)
            of_heads = probs.reshape(len(probs), math.prod(probs.shape[1:]))
            packed = iter(np.column_stack([beta, of_heads]))
            cells = [next(packed).tobytes() if ok else None for ok in valid.tolist()]
            refused = [None if ok else "invalid" for ok in valid.tolist()]
            for row in self._ahead(time, valid):
                refused[row], cells[row] = "ahead", None
                errors[row] = f"time {time[row]} is more than {self._max_ahead} s after now"
            columns = {
                TIME: pa.array(time, mask=np.isnan(time)),
                OBSERVATION: pa.array(cells, pa.binary()),
                REFUSED: pa.array(refused, pa.string()),
                ERROR: pa.array(errors, pa.string()),
            }
            yield from with_columns(table, columns).to_batches()

    def _ahead(self, time: Floats, valid: Bools) -> list[int]:
        """Return the rows whose time is too far ahead."""
        if self._max_ahead is None:
            return []
        ahead: list[int] = np.flatnonzero(valid & (time > clock.time() + self._max_ahead)).tolist()
        return ahead
