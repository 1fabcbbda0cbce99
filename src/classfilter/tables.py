"""Recordings as dataframes and files.

A table has the columns ``time``, one ``p_<class>`` a class and, where there are any, ``stream``,
``source`` and ``label``; other columns are left alone. Rows of one stream are in order of time, and
streams may be interleaved. Without ``source``, all rows are of one source, ``"default"``. A row
whose probabilities are all null or NaN is a missing observation. A whole number as a label is an
index, unless all classes are named by whole numbers: then it is a name. Results add ``f_<class>``
and ``class``.

Dataframes may be those of pandas, Polars or PyArrow, and need narwhals.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .columns import (
    NUMBER,
    Channels,
    Coded,
    Floats,
    Ints,
    RowError,
    Weights,
    class_indices,
    coded,
    coded_sources,
    first_text,
    in_order,
    probabilities,
    seconds,
    text_names,
)
from .filters import Filter
from .recording import Recording

if TYPE_CHECKING:
    import polars as pl

DataFrame = TypeVar("DataFrame")
KINDS = ("polars", "pandas", "pyarrow")


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
    from .streams import Streams

    rows = read_rows(df)
    result_columns(rows.frame.columns, rows.classes)
    result: DataFrame = with_results(rows, Streams(filter, beta, channel).run(rows, sort=sort))
    return result


def with_results(rows: Rows, P: Floats) -> Any:
    """Return a table with what a filter made of its rows, (T, K), beside them."""
    nw = need("narwhals")
    columns = [np.ascontiguousarray(p) for p in P.T]
    backend = rows.frame.implementation
    new = result_columns(rows.frame.columns, rows.classes)
    series = [nw.new_series(n, p, backend=backend) for n, p in zip(new, columns, strict=False)]
    called = np.array(rows.classes, np.object_)[P.argmax(axis=1)]
    series.append(nw.new_series("class", called, nw.String, backend=backend))
    return rows.frame.with_columns(*series).to_native()


def result_columns(columns: list[str], classes: tuple[str, ...]) -> list[str]:
    """Return the names of the columns that results add."""
    new = [f"f_{name}" for name in classes] + ["class"]
    taken = [name for name in new if name in columns]
    if taken:
        raise ValueError(f"the table already has the columns {taken}; drop or rename them first")
    return new


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
    rows = read_rows(df)
    label = _labels(rows)
    names = np.array(rows.source.cells, np.str_)
    order, _ = in_order(rows.time, rows.stream.codes, sort)
    parts = np.split(order, begins(rows.stream.codes[order]))
    return {
        stream: Recording(
            rows.time[part],
            names[rows.source.codes[part]],
            rows.probs[part],
            rows.classes,
            None if label is None else label[part],
        )
        for stream, part in zip(rows.stream.cells, parts, strict=False)
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
        return Recording([], [], [], table_classes(_frame(df).columns))
    return next(iter(found.values()))


def table(rec: Recording, kind: str = "polars") -> Any:
    """Return a recording as a dataframe; what `Recording.to_table` does."""
    columns: dict[str, Any] = {"time": rec.time, "source": rec.source.tolist()}
    if rec.label is not None:
        columns["label"] = [rec.classes[k] if k >= 0 else None for k in rec.label.tolist()]
    columns |= {f"p_{name}": p.copy() for name, p in zip(rec.classes, rec.probs.T, strict=True)}
    return new_table(columns, kind, text=("source", "label"))


def new_table(columns: Mapping[str, Any], kind: str, text: Sequence[str]) -> Any:
    """Return columns of text and of numbers as a dataframe of a kind."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    nw = need("narwhals")
    need(kind)
    schema = {name: nw.String if name in text else nw.Float64 for name in columns}
    return nw.from_dict(columns, schema, backend=kind).to_native()


def to_polars(df: Any) -> pl.DataFrame:
    """Return a dataframe of any kind as one of Polars."""
    converted: pl.DataFrame = _frame(df).to_polars()
    return converted


class Rows(NamedTuple):
    """The rows of a table, checked; in the table's order."""

    frame: Any
    classes: tuple[str, ...]
    time: Floats
    source: Coded
    probs: Floats
    stream: Coded


def read_rows(df: Any) -> Rows:
    """Read and check a dataframe."""
    frame = _frame(df)
    classes = table_classes(frame.columns)
    if "time" not in frame.columns:
        raise ValueError(f"the table has no column time; it has {frame.columns}")
    one = np.zeros(len(frame), np.intp)
    source, stream = Coded(one, ["default"]), Coded(one, [None] if len(frame) else [])
    if "source" in frame.columns:
        source = coded_sources(_coded(frame["source"]))
    if "stream" in frame.columns:
        stream = _streams(_coded(frame["stream"]))
    probs = np.stack([_numbers(frame[f"p_{name}"]) for name in classes], axis=1)
    return Rows(
        frame, classes, _times(frame["time"]), source, probabilities(probs, classes), stream
    )


def _frame(df: Any) -> Any:
    nw = need("narwhals")
    try:
        return nw.from_native(df, eager_only=True)
    except TypeError:
        raise TypeError(
            f"the table is a {type(df).__module__}.{type(df).__qualname__}; give a dataframe of "
            "pandas, Polars or PyArrow (a lazy one needs collect() first)"
        ) from None


def table_classes(columns: list[str]) -> tuple[str, ...]:
    """Return the classes that a table's columns name."""
    names = [name[2:] for name in columns if name.startswith("p_")]
    if len(names) < 2:
        raise ValueError(
            f"the table needs two or more columns p_<class>, one a class; it has {columns}"
        )
    return text_names(names)


def _cells(series: Any) -> list[Any]:
    """Return the cells, None for null."""
    if not series.null_count():
        cells: list[Any] = series.to_list()
        return cells
    null = series.is_null().to_list()
    return [None if gone else cell for gone, cell in zip(null, series.to_list(), strict=True)]


def _numbers(series: Any) -> Floats:
    """Return a column of numbers, NaN for null."""
    nw = need("narwhals")
    if series.dtype.is_numeric():
        numbers: Floats = series.cast(nw.Float64).to_numpy().astype(np.float64)
        return numbers
    cells = [math.nan if cell is None else cell for cell in _cells(series)]
    bad = [row for row, x in enumerate(cells) if isinstance(x, bool) or not isinstance(x, NUMBER)]
    if bad:
        row = first_text(cells, bad)
        rest = f" is {cells[row]!r}; it must hold numbers, and nothing where there are none"
        raise RowError(f"column {series.name}", row, rest)
    return np.array(cells, dtype=np.float64)


def _times(series: Any) -> Floats:
    nw = need("narwhals")
    if series.dtype.is_numeric():
        return seconds(_numbers(series))
    if isinstance(series.dtype, (nw.Datetime, nw.Date)):
        dates: NDArray[np.datetime64] = series.to_numpy()
        return seconds(dates)
    return seconds(_cells(series))


def _coded(series: Any) -> Coded:
    nw = need("narwhals")
    native = series.to_native()
    if series.implementation.is_polars() and series.dtype == nw.String and not native.null_count():
        polars = need("polars")
        cells = native.unique(maintain_order=True).to_list()
        codes = native.cast(polars.Enum(cells)).to_physical().to_numpy()
        return Coded(codes.astype(np.intp), cells)
    return coded(_cells(series))


def _streams(found: Coded) -> Coded:
    for i, cell in enumerate(found.cells):
        if cell is None or cell != cell:
            row = int((found.codes == i).argmax())
            raise RowError("stream", row, f" is {cell!r}; every row needs one: fill it in")
    return found


def begins(stream: Ints) -> Ints:
    """Return where a stream follows another."""
    return np.flatnonzero(np.diff(stream)) + 1


def _labels(rows: Rows) -> Ints | None:
    if "label" not in rows.frame.columns:
        return None
    names = {name: k for k, name in enumerate(rows.classes)}
    numbers = {k: k for k in names.values()}
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        numbers = {int(name): k for name, k in names.items()}
    numbers = {-1: -1} | numbers
    known = numbers | {str(number): k for number, k in numbers.items()} | names
    return class_indices(_cells(rows.frame["label"]), rows.classes, known)


def need(name: str) -> Any:
    """Import a library that only tables need."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which is not installed: pip install 'classfilter[tables]'"
        ) from error
