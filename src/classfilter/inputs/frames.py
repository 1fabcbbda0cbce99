"""Dataframes of pandas, Polars and PyArrow: their rows, checked, and the results of a filter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, Remedy, RowError
from ..support.imports import import_optional
from ..support.types import NUMBER, Array, Bools, Floats, Ints
from ..support.validation import (
    Factorized,
    check_probabilities,
    factorize,
    factorize_sources,
    factorized_indices,
    first_text,
    table_label_indices,
)
from .columns import Layout, TableFormat, check_named, in_any_letters, label_classes
from .label_scores import as_label_scores, truth_of_labels
from .predictions import Predictions, from_labels
from .scores import softmax
from .time_kind import TimeKind, named_zone
from .times import read_times

if TYPE_CHECKING:
    import polars as pl

FROM_INDEX = ("time", "stream", "source")


def index_columns(frame: Any, format: TableFormat) -> dict[str, Any]:  # noqa: A002
    """Return the levels of a pandas index that stand for columns, by the name of the column.

    A level counts by its name, and an index of dates or of timedeltas is the time whatever its name
    is. A column of the name goes before the index.
    """
    nw, pandas = import_optional("narwhals"), import_optional("pandas")
    index = frame.to_native().index
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    wanted = {format.columns.get(name, name): name for name in FROM_INDEX}
    wanted = {column: name for column, name in wanted.items() if column not in frame.columns}
    found = {level.name: level for level in levels if level.name in wanted}
    if "time" in wanted and "time" not in found and "time" not in format.columns:
        times = [x for x in levels if isinstance(x, (pandas.DatetimeIndex, pandas.TimedeltaIndex))]
        if len(times) == 1:
            found["time"] = times[0]
    return {
        name: nw.from_native(level.to_series(name=name), series_only=True)
        for name, level in found.items()
    }


FRAMES = ("polars", "pandas", "pyarrow")


def most_probable(columns: Array) -> Array:
    """Return the class of the largest probability of each column, (K, T); of several, the first."""
    largest, label = columns[0], np.zeros(columns.shape[1], np.min_scalar_type(len(columns)))
    for k, p in enumerate(columns[1:], 1):
        label = np.maximum(label, (p > largest) * label.dtype.type(k))
        largest = np.maximum(largest, p)
    return label


def result_columns(
    columns: list[str], classes: tuple[str, ...], independent: bool = False
) -> list[str]:
    """Return the names of the columns that results add.

    Those of an earlier result are replaced; but a column of the same name that is none is kept.
    """
    new = [f"f_{name}" for name in classes] + ["labels" if independent else "class"]
    there = set(columns)
    taken = [name for name in new if name in there]
    if taken and taken != new:
        raise ValueError(f"the table already has the columns {taken}; drop or rename them first")
    return new


def new_table(
    columns: Mapping[str, Any],
    kind: str,
    text: Sequence[str],
    time_kind: TimeKind = TimeKind(),  # noqa: B008
) -> Any:
    """Return columns of numbers, and those named in `text`, as a dataframe of a kind.

    A column ``time`` in seconds gets back its own kind.
    """
    if kind not in FRAMES:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(FRAMES)}")
    nw, library = import_optional("narwhals"), import_optional(kind)
    if kind == "pandas":  # before version 3, None in a column that must be text becomes 'None'
        cells = {n: c if n in text else np.asarray(c, np.float64) for n, c in columns.items()}
        table = library.DataFrame(cells)
    else:
        schema = {name: nw.String if name in text else nw.Float64 for name in columns}
        table = nw.from_dict(columns, schema, backend=kind).to_native()
    if time_kind.is_number:
        return table
    time = nw.new_series("time", time_kind.given_back(columns["time"]), backend=kind)
    zone = time_kind.zone_name(offsets=kind != "polars")
    if zone is not None:
        time = time.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return nw.from_native(table).with_columns(time).to_native()


def to_polars(df: Any) -> pl.DataFrame:
    """Return a dataframe of any kind as one of Polars."""
    converted: pl.DataFrame = as_frame(df).to_polars()
    return converted


class TableRows(NamedTuple):
    """The rows of a table, checked; in the table's order. Predictions are as in `Predictions`."""

    frame: Any
    classes: tuple[str, ...]
    time: Floats
    source: Factorized
    probs: Floats
    hard: Bools
    stream: Factorized
    layout: Layout
    time_kind: TimeKind


def read_rows(df: Any, format: TableFormat | None = None) -> TableRows:  # noqa: A002
    """Read and check a dataframe."""
    frame, format = as_frame(df), format or TableFormat()  # noqa: A001
    index = index_columns(frame, format) if frame.implementation.is_pandas() else {}
    layout = format.layout([*frame.columns, *index])
    columns = {
        name: index[column] if column in index else frame[column]
        for name, column in layout.columns.items()
    }
    classes = layout.classes or classes_of_labels(frame, layout)
    zeros = np.zeros(len(frame), np.intp)
    source = Factorized(zeros, ["default"])
    stream = Factorized(zeros, [None] if len(frame) else [])
    if "source" in columns:
        source = factorize_sources(factorize_column(columns["source"]))
    if "stream" in columns:
        stream = _check_streams(factorize_column(columns["stream"]))
    read = _from_labels if layout.labels else _from_scores
    rows = read(columns, classes, format, layout)
    time, kind = _times(columns["time"], format.unit)
    return TableRows(frame, classes, time, source, *rows, stream, layout, kind)


def as_frame(df: Any) -> Any:
    """Return a dataframe of any kind as one of narwhals."""
    nw = import_optional("narwhals")
    try:
        return nw.from_native(df, eager_only=True)
    except TypeError:
        if isinstance(df, (str, PathLike)):
            raise TypeError(
                f"the table is {str(df)!r}; read the file first: classfilter.read_table(...)"
            ) from None
        if type(df).__module__.startswith("pyspark."):
            raise TypeError(
                "the table is a DataFrame of Spark; use classfilter.spark: filter_frame, "
                "smooth_frame, event_frame or tune_frame"
            ) from None
        raise TypeError(
            f"the table is a {type(df).__module__}.{type(df).__qualname__}; give a dataframe of "
            "pandas, Polars or PyArrow (a lazy one needs collect() first)"
        ) from None


def classes_of_labels(frame: Any, layout: Layout) -> tuple[str, ...]:
    """Return the classes that the labels of a table name, predicted or true."""
    return label_classes(
        {name: factorize_column(frame[name]).categories for name in layout.label_columns}
    )


def _from_scores(
    columns: Mapping[str, Any],
    classes: tuple[str, ...],
    format: TableFormat,  # noqa: A002
    layout: Layout,
) -> Predictions:
    """Return the probabilities (T, K) of the columns ``p_<class>``, checked.

    Where a row has none of them, its label counts, if there is one.
    """
    scores = np.stack([_numbers(columns[f"p_{name}"]) for name in classes], axis=1)
    if format.independent:
        scores = as_label_scores(scores, format.scores, classes)
        return Predictions(scores, np.zeros(len(scores), bool))
    if format.scores == "logits":
        probs = softmax(scores)
    else:
        probs = scores / 100 if format.scores == "percent" else scores
        try:
            check_probabilities(probs, classes)
        except RowError as error:
            raise _with_hints(error, scores[error.row], format, layout) from None
    hard = np.zeros(len(probs), bool)
    if in_any_letters("prediction", columns) is None:
        return Predictions(probs, hard)
    missing = np.isnan(scores).all(axis=1)
    if missing.any():
        check_named(columns, "prediction")
        mask = missing.tolist()
        cells = {n: columns[n].filter(mask) for n in ("prediction", "confidence") if n in columns}
        try:
            probs[missing], hard[missing] = _from_labels(cells, classes, format, layout)
        except RowError as error:
            raise error.replaced(row=int(np.flatnonzero(missing)[error.row])) from None
    return Predictions(probs, hard)


def _with_hints(
    error: RowError,
    row: Floats,
    format: TableFormat,  # noqa: A002
    layout: Layout,
) -> RowError:
    """Return the error with what may be behind an invalid row."""
    total = row.sum()
    if np.isnan(total):
        return error
    if format.scores == "probabilities" and row.min() < 0:
        return error.replaced(remedy=Remedy.IF_LOGITS)
    if format.scores == "probabilities" and abs(total - 100) <= 5:
        return error.replaced(hints=(Remedy.LOOK_LIKE_PERCENT,))
    names = [f"p_{name}" for name in layout.classes or ()]
    if layout.guessed:
        taken = f"the columns {names} were taken as classes"
        return error.replaced(hints=(taken, Remedy.IF_NOT_CLASSES))
    others = [name for name in layout.columns if name.startswith("p_") and name not in names]
    hints = (f"the columns {others} are not classes of the filter",) if others else ()
    return error.replaced(hints=hints)


def _from_labels(
    columns: Mapping[str, Any],
    classes: tuple[str, ...],
    format: TableFormat,  # noqa: A002
    layout: Layout,
) -> Predictions:
    """Return the probabilities (T, K) of labels, with their confidence where it is given.

    The rest of the confidence is spread evenly over the other classes.
    """
    labels = _class_indices(columns["prediction"], classes, "prediction")
    if "confidence" not in columns:
        if (labels >= 0).any():
            check_named(layout.columns, "confidence")
        return from_labels(labels, np.full(len(labels), np.nan), len(classes))
    if format.scores == "logits":
        raise ValueError('scores is "logits", but confidence must be a probability or a percentage')
    confidence = _numbers(columns["confidence"])
    top = confidence / 100 if format.scores == "percent" else confidence
    invalid = ((top < 0) | (top > 1)) & (labels >= 0)
    if invalid.any():
        row = int(invalid.argmax())
        value, most = float(confidence[row]), 100 if format.scores == "percent" else 1
        remedy = Remedy.IF_PERCENT if most < value <= 100 else ""
        raise RowError("confidence", value, "is {}", f"it must lie in [0, {most}]", remedy, row)
    return from_labels(labels, top, len(classes))


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
        rule = "it must hold numbers, and nothing where there are none"
        cell: Any = cells[row]
        percent = isinstance(cell, str) and cell.rstrip().endswith("%")
        remedy = Remedy.PERCENT_SIGN if percent else ""
        remedy = Remedy.BOOLEAN if isinstance(cell, bool) else remedy
        raise RowError(f"column {series.name}", cell, rule=rule, remedy=remedy, row=row)
    return np.array(cells, dtype=np.float64)


def _times(series: Any, unit: str | None) -> tuple[Floats, TimeKind]:
    nw = import_optional("narwhals")
    if series.dtype.is_numeric():
        return read_times(_numbers(series), unit)
    if isinstance(series.dtype, (nw.Datetime, nw.Date, nw.Duration)):
        dates: NDArray[Any] = series.to_numpy()
        time, kind = read_times(dates)
        return time, kind._replace(zone=_zone(series))
    return read_times(_cells(series), unit)


def _zone(series: Any) -> tzinfo | None:
    """Return the zone of a column of dates; None where it has none."""
    name = getattr(series.dtype, "time_zone", None)
    if name is None:
        return None
    if series.implementation.is_pandas():
        zone: tzinfo = series.to_native().dt.tz
        return zone
    return named_zone(name)


def factorize_column(series: Any) -> Factorized:
    """Return a column as codes of its distinct values."""
    nw = import_optional("narwhals")
    native, kind = series.to_native(), series.implementation
    if series.dtype == nw.String and not series.null_count():
        if kind.is_polars():
            return _factorize_polars(native)
        if kind.is_pyarrow() and len(native):
            encoded = native.combine_chunks().dictionary_encode()
            codes = encoded.indices.to_numpy(zero_copy_only=False)
            return Factorized(codes.astype(np.intp), encoded.dictionary.to_pylist())
    cells = _cells(series)
    try:
        return factorize(cells)
    except TypeError:
        row = next(i for i, cell in enumerate(cells) if isinstance(cell, (list, dict, np.ndarray)))
        rule = "it must hold text or numbers"
        raise RowError(f"column {series.name}", cells[row], rule=rule, row=row) from None


def _factorize_polars(text: pl.Series) -> Factorized:
    """Return a column of text as codes; by its runs, where these are long."""
    polars = import_optional("polars")
    starts = text.ne_missing(text.shift()).arg_true().to_numpy()
    if 4 * len(starts) < len(text):
        codes, cells = _factorize_polars(text.gather(starts))
        return Factorized(np.repeat(codes, np.diff(starts, append=len(text))), cells)
    # Numbers of its own for each category: a single hash of each cell.
    coded = text.cast(polars.Categorical(polars.Categories.random())).to_physical()
    numbers = coded.to_numpy().astype(np.intp)
    first = np.empty(numbers.max(initial=-1) + 1, np.intp)
    first[numbers[::-1]] = np.arange(len(text))[::-1]  # of equal numbers, the last one counts
    appeared = np.argsort(first)
    place = np.empty_like(first)
    place[appeared] = np.arange(len(first))
    return Factorized(place[numbers], text.gather(first[appeared]).to_list())


def _check_streams(stream: Factorized) -> Factorized:
    for i, cell in enumerate(stream.categories):
        if cell is None or cell != cell:
            row = int((stream.codes == i).argmax())
            raise RowError("stream", cell, "is {}", "every row needs one", "fill it in", row)
    return stream


def group_starts(stream: Ints) -> Ints:
    """Return the rows, grouped by stream, where a new stream starts; not the first."""
    return np.flatnonzero(np.diff(stream)) + 1


def table_labels(rows: TableRows, independent: bool = False) -> Ints | None:
    """Return the class indices of the column ``label``, if there is one.

    Of several labels at once, whether each is true, (T, L), by the columns ``y_<label>``: 1, 0, or
    -1 where that is not known.
    """
    if independent:
        return _true_labels(rows)
    check_named(rows.layout.columns, "label")
    column = rows.layout.columns.get("label")
    if column is None:
        return None
    return _class_indices(rows.frame[column], rows.classes, "label")


def _true_labels(rows: TableRows) -> Ints | None:
    names = [f"y_{name}" for name in rows.classes]
    there = [name for name in names if name in rows.frame.columns]
    if not there:
        return None
    if there != names:
        missing = [name for name in names if name not in there]
        raise ArgumentError("the table", missing, f"has {there}, but not {{}}", remedy="add them")
    known = np.stack([_numbers(rows.frame[name]) for name in names], axis=1)
    return truth_of_labels(known, rows.classes, "y")


def _class_indices(series: Any, classes: tuple[str, ...], what: str) -> Ints:
    return factorized_indices(factorize_column(series), classes, table_label_indices(classes), what)
