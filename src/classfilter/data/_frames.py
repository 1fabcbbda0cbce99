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

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._optional import import_optional
from .._typing import NUMBER, Floats, Ints
from .._validation import (
    Factorized,
    RowError,
    class_indices,
    factorize,
    factorize_sources,
    first_text,
    probabilities,
    text_names,
)
from ._timestamps import seconds

if TYPE_CHECKING:
    import polars as pl

DataFrame = TypeVar("DataFrame")
KINDS = ("polars", "pandas", "pyarrow")


def with_results(rows: Rows, P: Floats) -> Any:
    """Return a table with what a filter made of its rows, (T, K), beside them."""
    nw = import_optional("narwhals")
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


def new_table(columns: Mapping[str, Any], kind: str, text: Sequence[str]) -> Any:
    """Return columns of text and of numbers as a dataframe of a kind."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    nw = import_optional("narwhals")
    import_optional(kind)
    schema = {name: nw.String if name in text else nw.Float64 for name in columns}
    return nw.from_dict(columns, schema, backend=kind).to_native()


def to_polars(df: Any) -> pl.DataFrame:
    """Return a dataframe of any kind as one of Polars."""
    converted: pl.DataFrame = as_frame(df).to_polars()
    return converted


class Rows(NamedTuple):
    """The rows of a table, checked; in the table's order."""

    frame: Any
    classes: tuple[str, ...]
    time: Floats
    source: Factorized
    probs: Floats
    stream: Factorized


def read_rows(df: Any) -> Rows:
    """Read and check a dataframe."""
    frame = as_frame(df)
    classes = table_classes(frame.columns)
    if "time" not in frame.columns:
        raise ValueError(f"the table has no column time; it has {frame.columns}")
    one = np.zeros(len(frame), np.intp)
    source, stream = Factorized(one, ["default"]), Factorized(one, [None] if len(frame) else [])
    if "source" in frame.columns:
        source = factorize_sources(_coded(frame["source"]))
    if "stream" in frame.columns:
        stream = _streams(_coded(frame["stream"]))
    probs = np.stack([_numbers(frame[f"p_{name}"]) for name in classes], axis=1)
    return Rows(
        frame, classes, _times(frame["time"]), source, probabilities(probs, classes), stream
    )


def as_frame(df: Any) -> Any:
    nw = import_optional("narwhals")
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
    nw = import_optional("narwhals")
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
    nw = import_optional("narwhals")
    if series.dtype.is_numeric():
        return seconds(_numbers(series))
    if isinstance(series.dtype, (nw.Datetime, nw.Date)):
        dates: NDArray[np.datetime64] = series.to_numpy()
        return seconds(dates)
    return seconds(_cells(series))


def _coded(series: Any) -> Factorized:
    nw = import_optional("narwhals")
    native = series.to_native()
    if series.implementation.is_polars() and series.dtype == nw.String and not native.null_count():
        polars = import_optional("polars")
        cells = native.unique(maintain_order=True).to_list()
        codes = native.cast(polars.Enum(cells)).to_physical().to_numpy()
        return Factorized(codes.astype(np.intp), cells)
    return factorize(_cells(series))


def _streams(found: Factorized) -> Factorized:
    for i, cell in enumerate(found.categories):
        if cell is None or cell != cell:
            row = int((found.codes == i).argmax())
            raise RowError("stream", row, f" is {cell!r}; every row needs one: fill it in")
    return found


def group_starts(stream: Ints) -> Ints:
    """Return where a stream follows another."""
    return np.flatnonzero(np.diff(stream)) + 1


def table_labels(rows: Rows) -> Ints | None:
    if "label" not in rows.frame.columns:
        return None
    names = {name: k for k, name in enumerate(rows.classes)}
    numbers = {k: k for k in names.values()}
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        numbers = {int(name): k for name, k in names.items()}
    numbers = {-1: -1} | numbers
    known = numbers | {str(number): k for number, k in numbers.items()} | names
    return class_indices(_cells(rows.frame["label"]), rows.classes, known)
