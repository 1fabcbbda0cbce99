"""Dataframes of pandas, Polars and PyArrow: their rows, checked, and the results of a filter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._optional import import_optional
from .._typing import NUMBER, Array, Floats, Ints
from .._validation import (
    Factorized,
    RowError,
    check_probabilities,
    factorize,
    factorize_sources,
    factorized_indices,
    first_text,
    one_hot,
    table_label_indices,
)
from ._format import Layout, TableFormat, label_classes
from ._timestamps import seconds

if TYPE_CHECKING:
    import polars as pl

DataFrame = TypeVar("DataFrame")
KINDS = ("polars", "pandas", "pyarrow")


def with_results(frame: Any, classes: tuple[str, ...], P: Array) -> Any:
    """Return a table with the filtered probabilities of its rows, (T, K), as new columns."""
    nw = import_optional("narwhals")
    columns = np.ascontiguousarray(P.T)
    backend = frame.implementation
    new = result_columns(frame.columns, classes)
    series = [nw.new_series(n, p, backend=backend) for n, p in zip(new, columns, strict=False)]
    names = nw.new_series("class", list(classes), nw.String, backend=backend)
    series.append(names[_most_probable(columns)])
    return frame.with_columns(*series).to_native()


def _most_probable(columns: Array) -> Array:
    """Return the class of the largest probability of each column, (K, T); of several, the first."""
    largest, label = columns[0], np.zeros(columns.shape[1], np.min_scalar_type(len(columns)))
    for k, p in enumerate(columns[1:], 1):
        label = np.maximum(label, (p > largest) * label.dtype.type(k))
        largest = np.maximum(largest, p)
    return label


def result_columns(columns: list[str], classes: tuple[str, ...]) -> list[str]:
    """Return the names of the columns that results add, if none of them is taken."""
    new = [f"f_{name}" for name in classes] + ["class"]
    taken = [name for name in new if name in columns]
    if taken:
        raise ValueError(f"the table already has the columns {taken}; drop or rename them first")
    return new


def new_table(columns: Mapping[str, Any], kind: str, text: Sequence[str]) -> Any:
    """Return columns of numbers, and those named in `text`, as a dataframe of a kind."""
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


def read_rows(df: Any, format: TableFormat | None = None) -> Rows:  # noqa: A002
    """Read and check a dataframe."""
    frame = as_frame(df)
    layout = (format or TableFormat()).layout(frame.columns)
    classes = layout.classes or named_classes(frame)
    if "time" not in frame.columns:
        raise ValueError(f"the table has no column time; it has {frame.columns}")
    zeros = np.zeros(len(frame), np.intp)
    source = Factorized(zeros, ["default"])
    stream = Factorized(zeros, [None] if len(frame) else [])
    if "source" in frame.columns:
        source = factorize_sources(_factorize(frame["source"]))
    if "stream" in frame.columns:
        stream = _check_streams(_factorize(frame["stream"]))
    probs = _predictions(frame, classes, layout)
    return Rows(frame, classes, _times(frame["time"]), source, probs, stream)


def as_frame(df: Any) -> Any:
    """Return a dataframe of any kind as one of narwhals."""
    nw = import_optional("narwhals")
    try:
        return nw.from_native(df, eager_only=True)
    except TypeError:
        raise TypeError(
            f"the table is a {type(df).__module__}.{type(df).__qualname__}; give a dataframe of "
            "pandas, Polars or PyArrow (a lazy one needs collect() first)"
        ) from None


def named_classes(frame: Any) -> tuple[str, ...]:
    """Return the classes that the labels of a table name, predicted or true."""
    columns = [name for name in ("prediction", "label") if name in frame.columns]
    return label_classes(cell for name in columns for cell in _factorize(frame[name]).categories)


def _predictions(frame: Any, classes: tuple[str, ...], layout: Layout) -> Floats:
    """Return the probabilities (T, K), checked."""
    if layout.labels:
        return one_hot(_class_indices(frame["prediction"], classes, "prediction"), len(classes))
    probs = np.stack([_numbers(frame[f"p_{name}"]) for name in classes], axis=1)
    check_probabilities(probs, classes)
    return probs


def _cells(series: Any) -> list[Any]:
    """Return the cells, None for null."""
    if not series.null_count():
        cells: list[Any] = series.to_list()
        return cells
    null = series.is_null().to_list()
    return [None if missing else cell for missing, cell in zip(null, series.to_list(), strict=True)]


def _numbers(series: Any) -> Floats:
    """Return a column of numbers, NaN for null."""
    nw = import_optional("narwhals")
    if series.dtype.is_numeric():
        numbers: Floats = np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)
        return numbers
    cells = [math.nan if cell is None else cell for cell in _cells(series)]
    invalid = [
        row for row, x in enumerate(cells) if isinstance(x, bool) or not isinstance(x, NUMBER)
    ]
    if invalid:
        row = first_text(cells, invalid)
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


def _factorize(series: Any) -> Factorized:
    nw = import_optional("narwhals")
    native = series.to_native()
    if series.implementation.is_polars() and series.dtype == nw.String and not native.null_count():
        polars = import_optional("polars")
        cells = native.unique(maintain_order=True).to_list()
        codes = native.cast(polars.Enum(cells)).to_physical().to_numpy()
        return Factorized(codes.astype(np.intp), cells)
    return factorize(_cells(series))


def _check_streams(stream: Factorized) -> Factorized:
    for i, cell in enumerate(stream.categories):
        if cell is None or cell != cell:
            row = int((stream.codes == i).argmax())
            raise RowError("stream", row, f" is {cell!r}; every row needs one: fill it in")
    return stream


def group_starts(stream: Ints) -> Ints:
    """Return the rows, grouped by stream, where a new stream starts; not the first."""
    return np.flatnonzero(np.diff(stream)) + 1


def table_labels(rows: Rows) -> Ints | None:
    """Return the class indices of the column ``label``, if there is one."""
    if "label" not in rows.frame.columns:
        return None
    return _class_indices(rows.frame["label"], rows.classes, "label")


def _class_indices(series: Any, classes: tuple[str, ...], what: str) -> Ints:
    return factorized_indices(_factorize(series), classes, table_label_indices(classes), what)
