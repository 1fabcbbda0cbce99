"""Files larger than memory: filtered part by part, the states carried over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._atomic import atomic_write
from .._channel import Channels, correct
from .._optional import import_optional
from .._typing import Floats, Ints, Weights
from .._validation import (
    RowError,
    class_order,
    row_weights,
)
from ..filters._base import Filter
from ._files import file_suffix, reading
from ._frames import (
    DataFrame,
    Rows,
    group_starts,
    read_rows,
    result_columns,
    table_classes,
    with_results,
)
from ._timestamps import group_and_sort

if TYPE_CHECKING:
    import polars as pl

ROWS_AT_ONCE = 100_000
#: How many lines of a file come before row 0.
LINES_BEFORE = {".csv": 2, ".ndjson": 1, ".jsonl": 1}


class Filtered(NamedTuple):
    """How much was filtered."""

    rows: int
    streams: int


def filter_file(
    path: str | Path,
    out: str | Path,
    filter: Filter,  # noqa: A002
    beta: Weights = 1.0,
    channel: Channels | None = None,
    *,
    sort: bool = False,
    threads: int | None = None,
    progress: Callable[[int], Any] | None = None,
) -> Filtered:
    r"""Filter every stream of a file by itself, and write the rows with the results beside them.

    It is `read_table`, `filter_table` and `write_table`, but holds only a part of the file in
    memory at a time, and the columns of a CSV file that it does not use stay text. A Parquet file
    is read a row group at a time.

    Parameters
    ----------
    path, out : str or Path
        Files that end in ``.csv``, ``.parquet``, ``.ndjson`` or ``.jsonl``. What is at `out` is
        replaced once all is written; at an error it stays as it was.
    filter, beta, channel
        As in `filter_table`.
    sort : bool, default False
        Let the rows of a stream come in any order of time; this holds the whole file in memory.
    threads : int, optional
        How many threads share the streams; as many as there are processors unless given.
    progress : callable, optional
        Called with the number of rows done so far.

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
    polars = import_optional("polars")
    path, out = Path(path), Path(out)
    endings = file_suffix(path), file_suffix(out)
    streams = BatchFilter(filter, beta, channel, threads)
    done = 0

    def results() -> Iterator[pl.DataFrame]:
        nonlocal done
        for df in _parts(path, whole=sort):
            typed = _typed(df) if endings[0] == ".csv" else df
            try:
                rows = read_rows(typed)
                P = streams.run(rows, sort=sort)
            except RowError as error:
                raise _in_file(error, done, LINES_BEFORE.get(endings[0])) from None
            done += len(df)
            if progress is not None:
                progress(done)
            as_given = endings == (".csv", ".csv")
            yield with_results(rows._replace(frame=_narwhal(df)) if as_given else rows, P)

    with reading(path), atomic_write(out) as file:
        columns = _scan(path).collect_schema().names()
        result_columns(columns, table_classes(columns))
        parts = results()
        first = next(parts)
        source = polars.io.plugins.register_io_source(
            lambda *_: chain([first], parts), schema=first.schema
        )
        sink = {".csv": source.sink_csv, ".parquet": source.sink_parquet}
        sink.get(endings[1], source.sink_ndjson)(file, maintain_order=True)
    return Filtered(done, len(streams.time))


def file_classes(path: str | Path) -> tuple[str, ...]:
    """Return the classes that the columns of a file name."""
    path = Path(path)
    with reading(path):
        return table_classes(_scan(path).collect_schema().names())


def file_rows(path: Path) -> int:
    """Return the number of rows; a text file is read for it."""
    with reading(path):
        return int(_scan(path).select(import_optional("polars").len()).collect().item())


def _scan(path: Path) -> pl.LazyFrame:
    polars = import_optional("polars")
    ending = file_suffix(path)
    scanned: pl.LazyFrame
    if ending == ".csv":
        scanned = polars.scan_csv(path, infer_schema=False)
    elif ending == ".parquet":
        scanned = polars.scan_parquet(path)
    else:
        scanned = polars.scan_ndjson(path, infer_schema_length=None)
    return scanned


def _parts(path: Path, whole: bool) -> Iterator[pl.DataFrame]:
    """Read a file part by part, in order; at least one part, if an empty one."""
    scanned = _scan(path)
    if whole:
        yield scanned.collect()
    elif file_suffix(path) == ".parquet":
        # Batches would read several row groups ahead; a slice decodes no more than it needs.
        rows = file_rows(path)
        for start in range(0, max(rows, 1), ROWS_AT_ONCE):
            yield scanned.slice(start, ROWS_AT_ONCE).collect()
    else:
        parts = scanned.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True)
        first = next(parts, None)
        yield scanned.head(0).collect() if first is None else first
        yield from parts


def _typed(df: pl.DataFrame) -> pl.DataFrame:
    """Return columns of text as numbers where a filter needs them; what is no number stays text."""
    polars = import_optional("polars")
    for text in df.iter_columns():
        if text.name == "time" or text.name.startswith("p_"):
            numbers = text.str.strip_chars().cast(polars.Float64, strict=False)
            if numbers.null_count() == text.null_count():
                df = df.with_columns(numbers)
    return df


def _in_file(error: RowError, before: int, lines: int | None) -> RowError:
    """Return an error of a part of a file as one of the file."""
    row = before + error.row
    line = "" if lines is None else f" (line {row + lines})"
    return RowError(error.what, row, line + error.rest)


def _narwhal(df: pl.DataFrame) -> Any:
    return import_optional("narwhals").from_native(df, eager_only=True)


def filter_table(
    df: DataFrame,
    filter: Filter,  # noqa: A002
    beta: Weights = 1.0,
    channel: Channels | None = None,
    *,
    sort: bool = False,
) -> DataFrame:
    """Filter every stream of a dataframe by itself, from the start.

    Parameters
    ----------
    df : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        See the top of this module. ``label`` is not looked at.
    filter : Filter
        Its settings are used, not its state, and it is left as it is. Its classes must be those of
        the columns, in any order. Its time unit is that of ``time``: seconds, for dates.
    beta : mapping of str to float, or float, default 1
        The weight of each source, or one for all.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; in the filter's order of classes.
    sort : bool, default False
        Let the rows of a stream come in any order of time. Without it, a time that goes back is an
        error.

    Returns
    -------
    dataframe of the same kind
        The same rows and columns (and index), with ``f_<class>``, the class probabilities after
        each row, and ``class``, the most probable class; of equal ones the first.

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
    rows = read_rows(df)
    result_columns(rows.frame.columns, rows.classes)
    result: DataFrame = with_results(rows, BatchFilter(filter, beta, channel).run(rows, sort=sort))
    return result


class BatchFilter:
    """One state a stream; each stream goes on where the table before left it.

    Parameters
    ----------
    filter : Filter
        Its settings are used, not its state.
    beta : mapping of str to float, or float
        The weight of each source, or one for all.
    channel : mapping of str to Channel, optional
        Puts the answers of a source right before they go in; in the filter's order of classes.
    threads : int, optional
        How many threads share the streams; as many as there are processors unless given.

    Examples
    --------
    >>> import polars as pl
    >>> from classfilter import DirichletFilter
    >>> from classfilter.tables import read_rows
    >>> streams = BatchFilter(DirichletFilter(["rest", "move"]))
    >>> for time in (0, 5):
    ...     df = pl.DataFrame({"time": [time], "p_rest": [0.9], "p_move": [0.1]})
    ...     P = streams.run(read_rows(df))
    >>> streams.time
    {None: 5.0}
    """

    def __init__(
        self,
        filter: Filter,  # noqa: A002
        beta: Weights = 1.0,
        channel: Channels | None = None,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        self._threads = threads or os.cpu_count() or 1
        self._fresh = filter.copy()
        self._fresh.reset()
        self._beta, self._channel = beta, channel
        self._states: dict[Any, Any] = {}
        self.time: dict[Any, float] = {}
        """The last time of each stream."""

    def run(self, rows: Rows, *, sort: bool = False) -> Floats:
        """Filter the rows of a table, (T, K), in its order; at an error nothing changes.

        With `sort`, the rows of a stream come in any order of time within the table.
        """
        to = class_order(self._fresh, rows.classes)
        names = rows.stream.categories
        last = np.array([self.time.get(name, np.nan) for name in names], np.float64)
        order, dt = group_and_sort(rows.time, rows.stream.codes, sort, last)
        beta = row_weights(rows.source, self._beta)[order]
        s = correct(rows.probs[:, to], rows.source, self._channel, self._fresh.probs.dtype)[order]
        filtered = np.empty(s.shape, self._fresh.probs.dtype)
        which = rows.stream.codes[order]
        ends = np.append(group_starts(which), order.size)[: len(names)]
        starts = np.append(0, ends[:-1])[: len(names)]
        states: dict[Any, Any] = {}

        def work(part: Ints) -> None:
            f = self._fresh.copy()
            for i in part:
                name, span = names[which[starts[i]]], slice(starts[i], ends[i])
                f.reset()
                if name in self._states:
                    f.state = self._states[name]
                filtered[span] = f.run(s[span], beta=beta[span], dt=dt[span])
                states[name] = f.state

        parts = [p for p in self._shares(ends) if p.size]
        if len(parts) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(work, parts))
        else:
            for part in parts:
                work(part)
        self._states |= states
        self.time |= {names[which[i - 1]]: float(rows.time[order[i - 1]]) for i in ends}
        P = np.empty_like(filtered)
        P[order] = filtered[:, np.argsort(to)]
        return P

    def _shares(self, ends: Ints) -> list[Ints]:
        """Return the streams of each thread, about as many rows for one as for another."""
        if not ends.size:
            return []
        share = (ends - 1) * self._threads // ends[-1]
        return [np.flatnonzero(share == i) for i in range(self._threads)]
