"""A DataFrame's streams filtered or smoothed: each in one partition, its rows one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..engine import Parts
from ..filters import Filter, check_lag, check_smoother
from ..pipeline import Channels, Pipeline
from ..support.imports import import_optional
from ..support.types import Weights
from .rows import CheckedRows, add_results, check_rows
from .schema import FrameFormat, frame_format, partition_and_sort, require_spark, result_schema

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame


ROWS_OF_TABLE = 1 << 16
"""Each table takes a millisecond or two, however small; Spark's batches have 10,000 rows."""


def filter_frame(
    df: DataFrame,
    filter: Filter | Pipeline,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    lag: int | None = 0,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    invalid: str = "fail",
) -> DataFrame:
    """Filter every stream of a DataFrame separately, from the initial state, or smooth it.

    It equals `filter_table`, or `smooth_table`, on the rows in order of stream, time, source and
    prediction, to the bit, however they are partitioned. A worker holds less than a hundred
    thousand rows at a time, however long a stream is.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        With the columns of `classfilter.inputs`. ``time`` must be a number, a timestamp or a date.
        Without a column ``stream``, all rows are one stream, in one partition.
    filter, beta, channel, columns, scores, unit
        As in `filter_table`.
    lag : int or None, default 0
        Smooth: how many later rows of its stream each row uses; None for all of them, and then a
        worker holds all rows of a stream.
    invalid : {"fail", "quarantine"}
        What an invalid row does: fail the job, with an error that names it; or stay out, with
        columns ``status``, "ok" or "invalid", and ``error``, which says why.

    Returns
    -------
    pyspark.sql.DataFrame
        The same rows and columns, with ``f_<class>`` and ``class``, null in invalid rows; of a
        `MultiLabelFilter`, with ``f_<label>`` and ``labels``: ``"robin,wren"``, and a column with
        the class of each head that is no label.
    """
    pipe = Pipeline.of(filter, beta=beta, channel=channel, smoothing=lag != 0)
    form = frame_format(df, pipe, columns, scores, unit, invalid)
    if lag != 0:
        lag = checked_lag_of(form, lag)
    require_batch(df, "filter_stream")
    schema = result_schema(df, form, status=form.invalid == "quarantine")
    return partition_and_sort(df, form).mapInArrow(Work(form, lag), schema)


def checked_lag_of(form: FrameFormat, lag: int | None) -> int | None:
    """Return a lag if the filter can smooth, or raise."""
    check_smoother(form.settings.filter)
    return check_lag(lag)


def require_batch(df: DataFrame, instead: str) -> None:
    """Raise if a DataFrame is a streaming one, or not one of Spark."""
    require_spark(df)
    if df.isStreaming:
        raise ValueError(f"df is a streaming DataFrame; use {instead}")


class Work:
    """What a worker does with the Arrow batches of a partition, in order of stream and time.

    Parameters
    ----------
    form : FrameFormat
        What the batches have.
    lag : int, optional
        How many later rows each result uses; 0 filters, None uses all of them.
    """

    def __init__(self, form: FrameFormat, lag: int | None) -> None:
        self._form, self._lag = form, lag

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches with results."""
        form, status = self._form, self._form.invalid == "quarantine"
        parts = Parts(form.settings, self._lag, threads=1)
        waiting: deque[CheckedRows] = deque()
        for checked, over in checked_tables(batches, form):
            waiting.append(checked)
            streams = set(checked.rows.streams)
            complete = parts.push(checked.rows, over & streams)
            complete += parts.finish(over - streams)
            for P in complete:
                yield from add_results(waiting.popleft(), form, P, status).to_batches()


def checked_tables(
    batches: Iterator[pa.RecordBatch], form: FrameFormat
) -> Iterator[tuple[CheckedRows, set[Any]]]:
    """Yield the rows of Arrow batches as tables, checked, and the streams that are over then.

    A stream is over that has a valid row there or before, and does not go on in the next table.
    """
    stream = form.layout.columns.get("stream")
    goes_on: set[Any] = set()
    for table, unfinished in with_unfinished(arrow_tables(batches, ROWS_OF_TABLE), stream):
        checked = check_rows(table, form)
        there = goes_on | set(checked.rows.streams)
        goes_on = there & set(unfinished)
        yield checked, there - goes_on


def arrow_tables(batches: Iterator[pa.RecordBatch], least: int) -> Iterator[pa.Table]:
    """Yield the rows of Arrow batches as tables, each but the last of at least so many rows."""
    pa = import_optional("pyarrow", extra="spark")
    held: list[Any] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
        if count >= least:
            yield pa.Table.from_batches(held)
            held, count = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _stream_at(table: pa.Table, stream: str | None, row: int) -> Any:
    return None if stream is None else table[stream][row].as_py()


def with_unfinished(
    tables: Iterator[pa.Table], stream: str | None
) -> Iterator[tuple[pa.Table, list[Any]]]:
    """Yield each table, and the stream that goes on in the next, if any."""
    table = next(tables, None)
    while table is not None:
        later = next(tables, None)
        last = _stream_at(table, stream, -1)
        goes_on = later is not None and _stream_at(later, stream, 0) == last
        yield table, [last] if goes_on else []
        table = later
