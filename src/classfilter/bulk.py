"""Files larger than memory: filtered part by part, the states carried over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .columns import Channels, RowError, Weights
from .files import ending_of, reading
from .filters import Filter
from .replacing import replacing
from .streams import Streams
from .tables import need, read_rows, result_columns, table_classes, with_results

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
    polars = need("polars")
    path, out = Path(path), Path(out)
    endings = ending_of(path), ending_of(out)
    streams = Streams(filter, beta, channel, threads)
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

    with reading(path), replacing(out) as file:
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
        return int(_scan(path).select(need("polars").len()).collect().item())


def _scan(path: Path) -> pl.LazyFrame:
    polars = need("polars")
    ending = ending_of(path)
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
    elif ending_of(path) == ".parquet":
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
    polars = need("polars")
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
    return need("narwhals").from_native(df, eager_only=True)
