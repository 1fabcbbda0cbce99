"""Recordings as dataframes and files.

A table has the columns ``time``, one ``p_<class>`` a class and, where there are any, ``stream``,
``source`` and ``label``; other columns are left alone. Rows of one stream are in order of time, and
streams may be interleaved. Without ``source``, all rows are of one source, ``"default"``. A row
whose probabilities are all null or NaN is a missing observation. A whole number as a label is an
index, unless all classes are named by whole numbers: then it is a name. Results add ``f_<class>``
and ``class``.

Dataframes may be those of pandas, Polars or PyArrow, and need narwhals; files need Polars.
"""

from __future__ import annotations

import importlib
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .filters import Filter
from .recording import (
    NUMBER,
    Floats,
    Ints,
    Names,
    Recording,
    Weights,
    class_indices,
    class_order,
    first_text,
    in_order,
    probabilities,
    row_weights,
    seconds,
    source_names,
    text_names,
)

if TYPE_CHECKING:
    import polars as pl

DataFrame = TypeVar("DataFrame")
KINDS = ("polars", "pandas", "pyarrow")
ENDINGS = (".csv", ".parquet", ".ndjson", ".jsonl")


def filter_table(
    df: DataFrame,
    filter: Filter,  # noqa: A002
    beta: Weights = 1.0,
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
    nw = _need("narwhals")
    rows = _read(df)
    new = [f"f_{name}" for name in rows.classes] + ["class"]
    taken = [name for name in new if name in rows.frame.columns]
    if taken:
        raise ValueError(f"the table already has the columns {taken}; drop or rename them first")
    to = class_order(filter, rows.classes)
    beta_of = row_weights(rows.source, beta)
    order, dt = in_order(rows.time, rows.stream, sort)
    s = rows.probs[order][:, to]
    beta_of = beta_of[order]
    fresh = filter.copy()
    parts = []
    for part in np.split(np.arange(order.size), _begins(rows.stream[order])):
        fresh.reset()
        parts.append(fresh.run(s[part], beta=beta_of[part], dt=dt[part]))
    filtered = np.concatenate(parts)[:, np.argsort(to)]
    P = np.empty_like(filtered)
    P[order] = filtered
    columns = [np.ascontiguousarray(p) for p in P.T]
    backend = rows.frame.implementation
    series = [nw.new_series(n, p, backend=backend) for n, p in zip(new, columns, strict=False)]
    called = [rows.classes[k] for k in P.argmax(axis=1)]
    series.append(nw.new_series("class", called, nw.String, backend=backend))
    result: DataFrame = rows.frame.with_columns(*series).to_native()
    return result


def recordings(df: Any, *, sort: bool = False) -> dict[Any, Recording]:
    """Read the recording of every stream in a dataframe.

    Parameters
    ----------
    df : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        See the top of this module.
    sort : bool, default False
        Put the rows of each stream in order of time.

    Returns
    -------
    dict
        From the cells of ``stream``, in order of appearance; from None, where there is no such
        column.

    Examples
    --------
    >>> import polars as pl
    >>> df = pl.DataFrame({
    ...     "time": [0, 0, 5], "stream": ["ann", "bob", "ann"],
    ...     "p_rest": [0.9, 0.2, 0.4], "p_move": [0.1, 0.8, 0.6],
    ... })
    >>> {stream: len(rec) for stream, rec in recordings(df).items()}
    {'ann': 2, 'bob': 1}
    """
    rows = _read(df)
    label = _labels(rows)
    order, _ = in_order(rows.time, rows.stream, sort)
    parts = np.split(order, _begins(rows.stream[order]))
    return {
        stream: Recording(
            rows.time[part],
            rows.source[part],
            rows.probs[part],
            rows.classes,
            None if label is None else label[part],
        )
        for stream, part in zip(rows.streams, parts, strict=False)
    }


def recording(df: Any, *, sort: bool = False) -> Recording:
    """Read the one recording in a dataframe; what `Recording.from_table` does."""
    found = recordings(df, sort=sort)
    if len(found) > 1:
        names = ", ".join(repr(name) for name in list(found)[:5])
        raise ValueError(
            f"the table has {len(found)} streams ({names}{', ...' * (len(found) > 5)}); "
            "read them with recordings(), or keep the rows of one"
        )
    if not found:
        return Recording([], [], [], _classes(_frame(df)))
    return next(iter(found.values()))


def table(rec: Recording, kind: str = "polars") -> Any:
    """Return a recording as a dataframe; what `Recording.to_table` does."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    nw = _need("narwhals")
    _need(kind)
    columns: dict[str, Any] = {"time": rec.time, "source": rec.source.tolist()}
    if rec.label is not None:
        columns["label"] = [rec.classes[k] if k >= 0 else None for k in rec.label.tolist()]
    columns |= {f"p_{name}": p.copy() for name, p in zip(rec.classes, rec.probs.T, strict=True)}
    text = ("source", "label")
    schema = {name: nw.String if name in text else nw.Float64 for name in columns}
    return nw.from_dict(columns, schema, backend=kind).to_native()


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a ``.csv``, ``.parquet``, ``.ndjson`` or ``.jsonl`` file with Polars.

    The columns ``stream``, ``source`` and ``label`` of a CSV file are read as text: 007 stays 007.
    """
    polars = _need("polars")
    path = Path(path)
    ending = _ending(path)
    names = dict.fromkeys(("stream", "source", "label"), polars.String)
    with path.open("rb") as file:
        try:
            if ending == ".csv":
                df = polars.read_csv(file, infer_schema_length=None, schema_overrides=names)
            elif ending == ".parquet":
                df = polars.read_parquet(file)
            else:
                df = polars.read_ndjson(file, infer_schema_length=None)
        except polars.exceptions.PolarsError as error:
            raise ValueError(f"{path} cannot be read as {ending}: {error}") from error
    result: pl.DataFrame = df
    return result


def write_table(df: Any, path: str | Path) -> None:
    """Write a dataframe to a ``.csv``, ``.parquet``, ``.ndjson`` or ``.jsonl`` file with Polars.

    The file appears complete or not at all; one that was there is replaced at the end. The index of
    a pandas dataframe is left out.

    Examples
    --------
    >>> import tempfile
    >>> rec = Recording([0, 5], "weak", [[0.9, 0.1], [0.4, 0.6]], ["rest", "move"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(rec.to_table(), f"{folder}/day.csv")
    ...     print(Path(f"{folder}/day.csv").read_text().strip())
    time,source,p_rest,p_move
    0.0,weak,0.9,0.1
    5.0,weak,0.4,0.6
    """
    _need("polars")
    path = Path(path)
    ending = _ending(path)
    frame = _frame(df).to_polars()
    write: dict[str, Callable[[BinaryIO], Any]] = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".ndjson": frame.write_ndjson,
        ".jsonl": frame.write_ndjson,
    }
    with replacing(path) as file:
        write[ending](file)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` once it is complete, and only then."""
    path = Path(path).resolve()
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


class _Rows(NamedTuple):
    """The rows of a table, checked; in the table's order."""

    frame: Any
    classes: tuple[str, ...]
    time: Floats
    source: Names
    probs: Floats
    stream: Ints  # index into streams
    streams: list[Any]


def _read(df: Any) -> _Rows:
    frame = _frame(df)
    classes = _classes(frame)
    if "time" not in frame.columns:
        raise ValueError(f"the table has no column time; it has {frame.columns}")
    probs = np.stack([_numbers(frame[f"p_{name}"]) for name in classes], axis=1)
    source = _cells(frame["source"]) if "source" in frame.columns else "default"
    stream, streams = np.zeros(len(frame), np.intp), [None] if len(frame) else []
    if "stream" in frame.columns:
        stream, streams = _streams(_cells(frame["stream"]))
    return _Rows(
        frame,
        classes,
        _times(frame["time"]),
        source_names(source, len(frame)),
        probabilities(probs, classes),
        stream,
        streams,
    )


def _frame(df: Any) -> Any:
    nw = _need("narwhals")
    try:
        return nw.from_native(df, eager_only=True)
    except TypeError:
        raise TypeError(
            f"the table is a {type(df).__module__}.{type(df).__qualname__}; give a dataframe of "
            "pandas, Polars or PyArrow (a lazy one needs collect() first)"
        ) from None


def _classes(frame: Any) -> tuple[str, ...]:
    names = [name[2:] for name in frame.columns if name.startswith("p_")]
    if len(names) < 2:
        raise ValueError(
            f"the table needs two or more columns p_<class>, one a class; it has {frame.columns}"
        )
    return text_names(names)


def _cells(series: Any) -> list[Any]:
    """Return the cells, None for null."""
    null = series.is_null().to_list()
    return [None if gone else cell for gone, cell in zip(null, series.to_list(), strict=True)]


def _numbers(series: Any) -> Floats:
    """Return a column of numbers, NaN for null."""
    nw = _need("narwhals")
    if series.dtype.is_numeric():
        numbers: Floats = series.cast(nw.Float64).to_numpy().astype(np.float64)
        return numbers
    cells = [math.nan if cell is None else cell for cell in _cells(series)]
    bad = [row for row, x in enumerate(cells) if isinstance(x, bool) or not isinstance(x, NUMBER)]
    if bad:
        row = first_text(cells, bad)
        raise ValueError(
            f"column {series.name} in row {row} is {cells[row]!r}; it must hold numbers, and "
            "nothing where there are none"
        )
    return np.array(cells, dtype=np.float64)


def _times(series: Any) -> Floats:
    nw = _need("narwhals")
    if series.dtype.is_numeric():
        return seconds(_numbers(series))
    if isinstance(series.dtype, (nw.Datetime, nw.Date)):
        dates: NDArray[np.datetime64] = series.to_numpy()
        return seconds(dates)
    return seconds(_cells(series))


def _streams(cells: list[Any]) -> tuple[Ints, list[Any]]:
    """Return the number of each row's stream, and the streams in order of appearance."""
    numbers: dict[Any, int] = {}
    for row, cell in enumerate(cells):
        if cell is None or cell != cell:
            raise ValueError(f"stream in row {row} is {cell!r}; every row needs one: fill it in")
        numbers.setdefault(cell, len(numbers))
    return np.array([numbers[cell] for cell in cells], dtype=np.intp), list(numbers)


def _begins(stream: Ints) -> Ints:
    """Return where a stream follows another."""
    return np.flatnonzero(np.diff(stream)) + 1


def _labels(rows: _Rows) -> Ints | None:
    if "label" not in rows.frame.columns:
        return None
    names = {name: k for k, name in enumerate(rows.classes)}
    numbers = {k: k for k in names.values()}
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        numbers = {int(name): k for name, k in names.items()}
    numbers = {-1: -1} | numbers
    known = numbers | {str(number): k for number, k in numbers.items()} | names
    return class_indices(_cells(rows.frame["label"]), rows.classes, known)


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path} ends in {ending!r}; it must be one of {', '.join(ENDINGS)}")
    return ending


def _need(name: str) -> Any:
    """Import a library that only tables need."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which is not installed: pip install 'classfilter[tables]'"
        ) from error
