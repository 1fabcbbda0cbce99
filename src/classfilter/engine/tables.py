"""Filter and smooth the streams of tables, and files larger than memory part by part."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain as in_turn
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from ..errors import ArgumentError, Fix, RowError, names_keywords
from ..filters import Filter, check_lag
from ..inputs import (
    TEXT,
    Heads,
    Rows,
    TableFile,
    TableFormat,
    TableInput,
    TimeScale,
    as_frame,
    as_numbers,
    as_rows,
    file_suffix,
    interleaved,
    is_read,
    kind_of,
    naming_file,
    read_rows,
    read_table,
    reading,
    result_columns,
    silent,
    sink,
    warn_of,
    warn_of_odd_rows,
    warn_of_times,
)
from ..pipeline import Channels, Pipeline
from ..support.atomic import atomic_write, check_not_input, syncing
from ..support.imports import import_optional
from ..support.types import Array, Weights
from .engine import Engine
from .lag import GroupedRows

if TYPE_CHECKING:
    import polars as pl


class Filtered(NamedTuple):
    """The numbers of rows and of streams that were filtered."""

    rows: int
    streams: int


def filter_file(
    path: str | Path,
    out: str | Path,
    filter: Filter | Pipeline,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    lag: int | None = 0,
    threads: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> Filtered:
    r"""Filter every stream of a file separately, and write the rows with the results.

    It equals `read_table`, `filter_table` and `write_table`, but holds only a part of the file in
    memory at a time, and the columns of a CSV file that it does not use stay text. Of a Parquet
    file, only the row groups in use are decoded. A file with other columns, or in any order of
    time, is for `rows` and `filter_table`, or for the command ``classfilter filter``.

    Parameters
    ----------
    path, out : str or Path
        Files that end as in `read_table` and `write_table`. An existing `out` is replaced once all
        is written; after an error it is unchanged. They must differ.
    filter, beta, channel
        As in `filter_table`.
    lag : int, default 0
        Smooth: how many later rows of its stream each result uses; None for all of them, with the
        whole file in memory. See `smooth_table`.
    threads : int, optional
        The number of threads; by default that of processors.
    progress : callable, optional
        Called with the number of rows filtered so far.

    Returns
    -------
    Filtered
        The numbers of rows and of streams.

    Examples
    --------
    >>> import tempfile
    >>> from classfilter import DirichletFilter, read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     day, out = Path(folder) / "day.csv", Path(folder) / "out.csv"
    ...     _ = day.write_text("time,p_rest,p_move\n0,0.9,0.1\n5,0.4,0.6\n")
    ...     filter_file(day, out, DirichletFilter(["rest", "move"], half_life=60))
    ...     read_table(out)["class"].to_list()
    Filtered(rows=2, streams=1)
    ['rest', 'rest']
    """
    import_optional("polars")
    form = format_for(filter)
    suffix = file_suffix(Path(out))
    check_not_input(out, path)
    file = TableFile(TableInput.of(path), form)
    pipe = Pipeline.of(filter, beta=beta, channel=channel, smoothing=lag != 0)
    options: Any = {"lag": check_lag(lag), "threads": threads, "progress": progress}
    with naming_file(path), atomic_write(out) as written:
        return filter_to(file, written, suffix, pipe, **options)


def filter_to(
    file: TableFile,
    written: BinaryIO,
    suffix: str,
    pipe: Pipeline,
    *,
    lag: int | None = 0,
    threads: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> Filtered:
    """Filter a file into an open one, whose suffix says its kind; see `filter_file`."""
    from concurrent.futures import ThreadPoolExecutor  # 5 ms that most imports need not pay

    polars = import_optional("polars")
    result_columns(file.columns, file.heads)
    form = file.format
    if file.layout.labels:  # a part may not have all of them
        form = replace(form, heads=file.heads)
    push = _batch(file, pipe, lag, threads)
    scale = TimeScale(form.unit, pipe._fresh)
    unread = file.parts(whole=form.sort or lag is None)
    as_text = file.source.is_csv and kind_of(suffix)[0] in TEXT
    done, notice = 0, None
    streams, predicted = set[Any](), set[Any]()
    sources: set[str] = set()

    def read() -> tuple[pl.DataFrame, Rows] | None:
        with reading(file.source):
            df = next(unread, None)
        if df is None:
            return None
        if not file.source.is_csv:
            return df, read_rows(df, form)
        pointed = file.with_points(df)
        return pointed, read_rows(as_numbers(pointed, file.layout.number_columns), form)

    def filtered() -> Iterator[tuple[Any, Array]]:
        nonlocal done, notice, predicted
        waiting: deque[Any] = deque()
        with ThreadPoolExecutor(1) as reader:  # a part ahead
            coming = reader.submit(read)
            while True:
                try:
                    part = coming.result()
                    if part is None:
                        break
                    coming = reader.submit(read)
                    df, rows = part
                    complete = push(rows)
                except RowError as error:
                    row = done + (error.row or 0)
                    raise error.replaced(row=row, line=file.source.line(row)) from None
                scale.see(rows.time, rows.stream, rows.time_kind.is_number)
                notice = notice or interleaved(rows)
                done += len(df)
                streams.update(rows.streams)
                predicted |= rows.predicted_streams
                sources.update(rows.sources)
                if progress is not None:
                    progress(done)
                waiting.append(as_frame(df) if as_text else rows.frame)
                for P in complete:
                    yield waiting.popleft(), P
        if waiting:
            raise ValueError(f"{file.source.name} changed while it was read; try again")

    def results() -> Iterator[pl.DataFrame]:
        with ThreadPoolExecutor(1) as joiner:  # a part behind
            coming: deque[Any] = deque()
            for frame, P in filtered():
                coming.append(joiner.submit(with_results, frame, file.heads, pipe, P))
                if len(coming) > 1:
                    yield coming.popleft().result()
            yield coming.popleft().result()

    parts = results()
    first = next(parts)
    source = polars.io.plugins.register_io_source(
        lambda *_: in_turn([first], parts), schema=first.schema
    )
    try:
        with syncing(written):
            sink(source, written, suffix)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{file.source.name} cannot be filtered: {reason}") from error
    warn_of(scale.finding())  # in the thread of the caller; the results come from another
    warn_of(notice)
    warn_of(silent(streams, predicted))
    warn_of_channels(pipe, sources)
    return Filtered(done, len(streams))


class Parts:
    """The results of the parts of a file or of a stream of tables, each as soon as it is complete.

    Parameters
    ----------
    pipeline : Pipeline
        The settings.
    lag : int, optional
        How many later rows each result uses; 0 filters, None uses all of them.
    threads : int, optional
        The number of threads; by default that of processors.
    """

    def __init__(self, pipe: Pipeline, lag: int | None = 0, threads: int | None = None) -> None:
        if lag == 0:
            self.engine = Engine(pipe, threads=threads)
        else:
            self.engine = Engine(None, smoother=pipe, lag=lag)
        self._lag, self._dtype, self._classes = lag, pipe._dtype, len(pipe.classes)
        self._waiting: deque[Array] = deque()  # the results of each part, NaN where not known yet
        self._first = 0  # the number of the first row that waits

    def push(self, rows: Rows, over: Collection[Any] = ()) -> list[Array]:
        """Take a part; return the results of those complete now, (T, K), in order.

        The streams that are `over` have no rows in later parts.
        """
        after = self.engine.take(rows, over=over)
        if self._lag == 0:
            return [after.estimates]
        self._waiting.append(np.full((len(rows), self._classes), np.nan, self._dtype))
        return self._completed(after.complete)

    def finish(self, streams: Collection[Any]) -> list[Array]:
        """End streams; return the results of the parts that are complete now."""
        return self._completed(self.engine.finish(streams)) if streams else []

    def _completed(self, smoothed: GroupedRows | None) -> list[Array]:
        assert smoothed is not None
        first = self._first
        for results in self._waiting:
            place = smoothed.number - first
            in_part = (place >= 0) & (place < len(results))
            results[place[in_part]] = smoothed.probs[in_part]
            first += len(results)
        complete = []
        while self._waiting and not np.isnan(self._waiting[0]).any():
            complete.append(self._waiting.popleft())
            self._first += len(complete[-1])
        return complete


def smooth_rows(pipe: Pipeline, rows: Rows, lag: int | None = None) -> Array:
    """Smooth every stream of some rows separately, (T, K), in the filter's order of classes."""
    [results] = Parts(pipe, lag).push(rows, rows.streams)
    return results


def _batch(
    file: TableFile, pipe: Pipeline, lag: int | None, threads: int | None
) -> Callable[[Rows], list[Array]]:
    """Return a function that takes the tables of a file, and returns the results of those complete.

    A table is complete once the later rows that it needs are there.
    """
    parts = Parts(pipe, lag, threads)
    if lag == 0:
        return parts.push
    if lag is None or file.format.sort:
        return lambda rows: parts.push(rows, rows.streams)
    left = dict(file.stream_rows)

    def push(rows: Rows) -> list[Array]:
        counts = np.bincount(rows.stream, minlength=len(rows.streams)).tolist()
        for name, count in zip(rows.streams, counts, strict=True):
            left[name] -= count
        return parts.push(rows, {name for name in rows.streams if not left[name]})

    return push


@names_keywords
def filter_table(
    rows: Any,
    filter: Filter | Pipeline,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
) -> Any:
    """Filter every stream of a table separately, from the initial state.

    Parameters
    ----------
    rows : dataframe, str or Path, or Rows
        A dataframe of pandas, Polars or PyArrow, or a file that `read_table` reads, with the
        columns of `classfilter.inputs`; ``label`` is not used. Where it has other columns, logits,
        or times in another unit or in any order, read it with `rows`, which has options for these.
    filter : Filter or Pipeline
        Its settings are used, not its state, and it does not change. Its classes must be those of
        the columns, in any order. Its time unit is that of ``time``: seconds, for dates.
    beta : mapping of str to float, or float, optional
        The weight of each source, or one for all; by default those of the pipeline, or 1.
    channel : mapping of str to Channel or None, optional
        Corrects the outputs of a source before they are filtered; in the filter's order of classes.
        By default those of the pipeline, or none.

    Returns
    -------
    dataframe of the same kind; of a path, a polars.DataFrame
        The same rows and columns (and index), with ``f_<class>``, the class probabilities after
        each row, and ``class``, the most probable class; of several, the first. Of a
        `MultiLabelFilter`, ``f_<label>`` and ``labels``, those that are on: ``"robin,wren"``.

    Examples
    --------
    >>> import pandas as pd
    >>> from classfilter import DirichletFilter
    >>> df = pd.DataFrame({
    ...     "time": [0, 0, 5, 5],
    ...     "stream": ["ann", "bob", "ann", "bob"],
    ...     "p_rest": [0.9, 0.2, 0.4, 0.3],
    ...     "p_move": [0.1, 0.8, 0.6, 0.7],
    ... })
    >>> out = filter_table(df, DirichletFilter(["rest", "move"], half_life=60), beta=0.5)
    >>> out.columns.tolist()
    ['time', 'stream', 'p_rest', 'p_move', 'f_rest', 'f_move', 'class']
    >>> out["class"].tolist()
    ['rest', 'move', 'rest', 'move']
    """
    pipe = Pipeline.of(filter, beta=beta, channel=channel)
    with rows_for(rows, pipe) as read:
        return with_results(read.frame, read.heads, pipe, Engine(pipe).take(read).estimates)


@names_keywords
def smooth_table(
    rows: Any,
    filter: Filter | Pipeline,  # noqa: A002
    *,
    beta: Weights | None = None,
    channel: Channels | None = None,
    lag: int | None = None,
) -> Any:
    """Smooth every stream of a table separately: each row from the rows before and after it.

    Parameters
    ----------
    rows, beta, channel
        As in `filter_table`.
    filter : DirichletFilter, StickyFilter or Pipeline
        Its settings are used, not its state. Of a pipeline, its `smoother`.
    lag : int, optional
        How many later rows of its stream each row uses; by default all. 0 is `filter_table`.

    Returns
    -------
    dataframe of the same kind
        As from `filter_table`, with the probabilities of `classfilter.smooth`.

    Examples
    --------
    >>> import pandas as pd
    >>> from classfilter import StickyFilter, filter_table
    >>> df = pd.DataFrame({"time": range(4), "p_walk": [0.7, 0.1, 0.8, 0.8],
    ...     "p_sit": [0.3, 0.9, 0.2, 0.2]})
    >>> f = StickyFilter(["walk", "sit"], stay=0.9)
    >>> filter_table(df, f)["class"].tolist()
    ['walk', 'sit', 'walk', 'walk']
    >>> smooth_table(df, f)["class"].tolist()  # the rows after it show that the second was an error
    ['walk', 'walk', 'walk', 'walk']
    """
    pipe = Pipeline.of(filter, beta=beta, channel=channel, smoothing=True)
    lag = check_lag(lag)
    with rows_for(rows, pipe) as read:
        return with_results(read.frame, read.heads, pipe, smooth_rows(pipe, read, lag=lag))


@contextmanager
def rows_for(data: Any, pipe: Pipeline, results: bool = True) -> Iterator[Rows]:
    """Give data as rows that a pipeline takes, with a table to which `results` can be added.

    Errors name the file. Once the rows went through without one, it warns of what is odd about
    them; that of Rows, but for the half-life of the filter, was said when they were read.
    """
    if isinstance(data, (str, PathLike)):
        with naming_file(data), rows_for(read_table(Path(data)), pipe, results) as rows:
            yield rows
        return
    was_read = is_read(data)
    rows = rows_of_kind(data, pipe.heads) if was_read else read_rows(data, TableFormat(pipe.heads))
    if results:
        if rows.frame is None:
            rows = replace(rows, frame=as_frame(rows.to_table()))
        result_columns(rows.frame.columns, rows.heads)
    yield rows
    warn_of_channels(pipe, rows.sources if len(rows) else ())
    if results:
        warn_of(silent(rows.streams, rows.predicted_streams))
    if was_read:
        warn_of_times(rows, "s", pipe._fresh)
    else:
        warn_of_odd_rows(rows, None, pipe._fresh)


def format_for(
    filter: Filter | Pipeline,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
) -> TableFormat:
    """Return the format of a table for a filter, which gives the classes."""
    pipe = Pipeline.of(filter)
    if str(scores).startswith("independent") and pipe.heads.is_exclusive:
        raise ArgumentError(
            "scores", scores, problem="is {}, but the classes of the filter exclude each other",
            fix="give a MultiLabelFilter, or leave scores out",
        )  # fmt: skip
    return TableFormat.of(pipe.heads, columns, scores, unit)


def rows_of_kind(data: Any, heads: Heads) -> Rows:
    """Return Rows, or several of them, as Rows whose columns are of the kind of these heads."""
    rows = as_rows(data)
    if rows.heads.noun != heads.noun:
        problem = f"has {rows.heads.noun} that {rows.heads.relation}"
        must = f"the {heads.noun} of the filter {heads.relation}"
        fix = "" if heads.is_exclusive else ("read them with ", Fix("scores", "independent"))
        raise ArgumentError("rows", list(rows.classes), problem=problem, must=must, fix=fix)
    return rows


def with_results(frame: Any, heads: Heads, pipe: Pipeline, P: Array) -> Any:
    """Return a table with the filtered probabilities of its rows, (T, K), as new columns.

    `P` is in the filter's order of classes, `heads` are those of the table.
    """
    import narwhals as nw

    place = pipe.heads.order_in(heads.shown)
    columns = np.ascontiguousarray(P.T)
    backend = frame.implementation
    in_table = [columns[k] for k in np.argsort(place)]
    cells = [nw.new_series("f", p, backend=backend) for p in in_table]
    for text in heads.like(heads.shown[k] for k in place).decide(columns):
        names = nw.new_series("class", text.categories, nw.String, backend=backend)
        cells.append(names[text.codes])
    new = result_columns(frame.columns, heads)
    named = [cell.alias(name) for name, cell in zip(new, cells, strict=True)]
    return frame.with_columns(*named).to_native()


def warn_of_channels(pipe: Pipeline, sources: Collection[str]) -> None:
    """Warn if no source of a whole table has a channel, though there are channels.

    Where weights are by name, a source without one is refused anyway.
    """
    corrected = [name for name, channel in pipe.channel.items() if channel is not None]
    if not corrected or not sources or isinstance(pipe.beta, dict):
        return
    if not set(corrected) & set(sources):
        named = sorted(sources)[:5]
        problem = f"names {{}}, but the rows have the sources {named}"
        fix_columns = Fix("columns", {"source": ...})
        fix = (f"give a channel for {named[0]!r}, or name the column of the sources: ", fix_columns)
        warn_of(
            ArgumentError(
                "channel", corrected, problem=problem, must="nothing is corrected", fix=fix
            )
        )
