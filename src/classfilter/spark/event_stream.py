"""The events of a streaming DataFrame's streams, each as soon as it is confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..engine import chain_and_rule, checked_lag
from ..errors import ArgumentError
from ..events import EventRule
from ..filters import Filter, check_smoother
from ..pipeline import Chain, Channels
from ..support.imports import import_optional
from ..support.types import Duration, Weights
from .schema import TAKEN, column, event_schema, frame_format
from .stream import STATUSES, live_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def event_stream(
    df: DataFrame,
    filter: Filter | Chain,  # noqa: A002
    rule: EventRule | None = None,
    *,
    lag: int | None = None,
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
    filter : Filter or Chain
        What filters the rows.
    rule : EventRule, optional
        How events are decided; by default the rule of the chain.
    lag : int, optional
        Decide events later, on better rows: each smoothed with so many rows of its stream after it,
        by the chain's `smoother` and its rule, as `classfilter.events` does with ``smooth=True``.
    beta, channel, expire_after, delay, max_ahead, columns, scores, unit, invalid
        As in `filter_stream`. A query that continues from a checkpoint must have the settings that
        wrote it, the rule and the lag among them.

    Returns
    -------
    pyspark.sql.DataFrame
        Streaming, in output mode append: the columns of `event_frame`, with ``status``, which is
        "ok" for events, and ``error``.
    """
    smooth = lag is not None
    chain, rule = chain_and_rule(filter, rule, smooth, lag, beta=beta, channel=channel)  # type: ignore[assignment]
    if chain is None or not isinstance(rule, EventRule):
        argument, value = ("filter", filter) if chain is None else ("rule", rule)
        wanted = "a filter or a chain" if chain is None else "an EventRule"
        raise ArgumentError(argument, value, rule=f"live events need {wanted}")
    if lag is not None:
        lag = checked_lag(lag)
        check_smoother(chain.filter())
    form = frame_format(df, chain.with_rule(rule), columns, scores, unit, invalid)
    live = live_rows(df, form, expire_after, delay, max_ahead, "event_frame")
    from .event_processor import EventProcessor  # needs PySpark

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
        form, live.rows.columns, raw.names, live.expire_after, lag=lag, dates=dates
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
