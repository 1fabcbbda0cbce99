"""A DataFrame's streams filtered or smoothed: each in one partition, its rows one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..engine import BatchFilter, BatchSmoother, smooth_rows
from ..filters import Filter, check_lag, check_smoother
from ..pipeline import Chain, Channels
from ..support.imports import import_optional
from ..support.types import Array, Weights
from .rows import CheckedRows, add_results, check_rows
from .schema import FrameFormat, frame_format, partition_and_sort, require_spark, result_schema

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame


def filter_frame(
    df: DataFrame,
    filter: Filter | Chain,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    invalid: str = "fail",
) -> DataFrame:
    """Filter every stream of a DataFrame separately, from the initial state.

    It equals `filter_table` on the rows in order of stream, time, source and prediction, to the
    bit, however they are partitioned. A worker holds less than a hundred thousand rows at a time,
    however long a stream is.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        With the columns of `classfilter.inputs`. ``time`` must be a number, a timestamp or a date.
        Without a column ``stream``, all rows are one stream, in one partition.
    filter, beta, channel, columns, scores, unit
        As in `filter_table`.
    invalid : {"fail", "quarantine"}
        What an invalid row does: fail the job, with an error that names it; or stay out, with
        columns ``status``, "ok" or "invalid", and ``error``, which says why.

    Returns
    -------
    pyspark.sql.DataFrame
        The same rows and columns, with ``f_<class>`` and ``class``, null in invalid rows; of a
        `MultiLabelFilter`, with ``f_<label>`` and ``labels``: ``"robin,wren"``.
    """
    chain = Chain.of(filter, beta=beta, channel=channel)
    form = frame_format(df, chain, columns, scores, unit, invalid)
    return _mapped(df, form, Filtering(form))


def smooth_frame(
    df: DataFrame,
    filter: Filter | Chain,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    lag: int | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    invalid: str = "fail",
) -> DataFrame:
    """Smooth every stream of a DataFrame separately: each row from the rows before and after it.

    It equals `smooth_table` as `filter_frame` equals `filter_table`.

    Parameters
    ----------
    df, filter, beta, channel, columns, scores, unit, invalid
        As in `filter_frame`; the filter as in `smooth_table`.
    lag : int, optional
        How many later rows of its stream each row uses. By default all: then a worker holds all
        rows of a stream.

    Returns
    -------
    pyspark.sql.DataFrame
        As from `filter_frame`.
    """
    chain = Chain.of(filter, beta=beta, channel=channel, smoothing=True)
    form = frame_format(df, chain, columns, scores, unit, invalid)
    return _mapped(df, form, smoothing(form, lag))


def smoothing(form: FrameFormat, lag: int | None) -> Work:
    """Return what smooths rows, each with so many later ones; None for all."""
    check_lag(lag)
    check_smoother(form.settings.filter())
    return Filtering(form) if lag == 0 else Smoothing(form, lag)


def require_batch(df: DataFrame, instead: str) -> None:
    """Raise if a DataFrame is a streaming one, or not one of Spark."""
    require_spark(df)
    if df.isStreaming:
        raise ValueError(f"df is a streaming DataFrame; use {instead}")


def _mapped(df: DataFrame, form: FrameFormat, work: Work) -> DataFrame:
    require_batch(df, "filter_stream")
    schema = result_schema(df, form, status=form.invalid == "quarantine")
    return partition_and_sort(df, form).mapInArrow(work, schema)


class Work:
    """What a worker does with the Arrow batches of a partition, in order of stream and time."""

    rows_at_once = 1 << 16
    """Each table takes a millisecond or two, however small; Spark's batches have 10,000 rows."""

    def __init__(self, form: FrameFormat) -> None:
        self._form = form

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches with results."""
        status = self._form.invalid == "quarantine"
        for checked, P in self.results(arrow_tables(batches, self.rows_at_once)):
            yield from add_results(checked, self._form, P, status).to_batches()

    def results(self, tables: Iterator[pa.Table]) -> Iterator[tuple[CheckedRows, Array]]:
        """Yield the tables, checked, with the results of their valid rows."""
        raise NotImplementedError


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


class AsTheyAre(Work):
    """Takes the rows as they are: filtered before, or predictions."""

    def results(self, tables: Iterator[pa.Table]) -> Iterator[tuple[CheckedRows, Array]]:
        """Return each table, checked, with its probabilities."""
        for table in tables:
            checked = check_rows(table, self._form)
            yield checked, checked.rows.probs


class Filtering(Work):
    """Filters the rows."""

    def results(self, tables: Iterator[pa.Table]) -> Iterator[tuple[CheckedRows, Array]]:
        """Return each table, checked, with the estimates of its rows."""
        form = self._form
        batch = BatchFilter(form.settings, threads=1)
        for table in tables:
            checked = check_rows(table, form)
            yield checked, batch.run(checked.rows)
            if len(batch):
                batch.keep(checked.rows.streams[-1])


class Smoothing(Work):
    """Smooths the rows, with all later rows or some of them."""

    def __init__(self, form: FrameFormat, lag: int | None) -> None:
        super().__init__(form)
        self._lag = lag

    def results(self, tables: Iterator[pa.Table]) -> Iterator[tuple[CheckedRows, Array]]:
        """Return each table, checked, with the smoothed estimates of its rows."""
        form = self._form
        stream = form.layout.columns.get("stream")
        if self._lag is None:
            for table in whole_streams(tables, stream):
                checked = check_rows(table, form)
                yield checked, smooth_rows(form.settings, checked.rows)
            return
        smoother = BatchSmoother(form.settings, self._lag, {})
        waiting: deque[CheckedRows] = deque()
        for table, unfinished in with_unfinished(tables, stream):
            checked = check_rows(table, form)
            waiting.append(checked)
            for P in smoother.push(checked.rows, unfinished):
                yield waiting.popleft(), P


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


def whole_streams(tables: Iterator[pa.Table], stream: str | None) -> Iterator[pa.Table]:
    """Yield tables of whole streams, from tables that cut them anywhere."""
    pa = import_optional("pyarrow", extra="spark")
    held: list[Any] = []
    for table, unfinished in with_unfinished(tables, stream):
        start = last_stream_start(table, stream) if unfinished else len(table)
        if start:
            yield pa.concat_tables([*held, table.slice(0, start)])
            held = []
        if start < len(table):
            held.append(table.slice(start))


def last_stream_start(table: pa.Table, stream: str | None) -> int:
    """Return the row where the last stream of a table starts."""
    compute = import_optional("pyarrow.compute", extra="spark")
    if stream is None:
        return 0
    cells = table[stream]
    last = cells[-1]
    same = compute.equal(cells, last) if last.is_valid else compute.is_null(cells)
    others = compute.indices_nonzero(compute.invert(compute.fill_null(same, False)))
    return others[-1].as_py() + 1 if len(others) else 0
