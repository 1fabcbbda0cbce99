"""Dataframes of pandas, Polars and PyArrow: new ones, and the columns of others, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BOOLEAN, Advice, Fix, RowError
from ..support.imports import import_optional
from ..support.types import Floats, Ints, is_number
from ..support.validation import Factorized, factorize
from .classes import factorized_indices, table_label_indices
from .columns import Layout, TableFormat, check_named, in_any_letters, label_classes
from .heads import Heads
from .outputs import INDEPENDENT, SCORES, Predictions, as_probabilities, check_heads, from_labels
from .times import TimeKind, first_text, named_zone, read_times

if TYPE_CHECKING:
    import polars as pl


FRAMES = ("polars", "pandas", "pyarrow")


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
        kind, remedy = type(df), "give a dataframe of pandas, Polars or PyArrow (a lazy one needs "
        remedy += "collect() first)"
        if isinstance(df, (dict, list, tuple)):
            remedy = "several streams are read by classfilter.rows(...) first"
        elif isinstance(df, np.ndarray):
            remedy = "arrays are read by classfilter.rows(time=..., probs=..., classes=...) first"
        raise TypeError(f"the table is a {kind.__module__}.{kind.__qualname__}; {remedy}") from None


def result_columns(columns: list[str], heads: Heads) -> list[str]:
    """Return the names of the columns that results add to a table with these columns.

    Those of an earlier result are replaced; but a column of the same name that is none is kept.
    """
    new = heads.results
    existing = set(columns)
    replaced = [name for name in new if name in existing]
    if replaced and replaced != new:
        raise ValueError(f"the table already has the columns {replaced}; drop or rename them first")
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
    whole = {name for name, cells in columns.items() if getattr(cells, "dtype", None) == np.int64}
    if kind == "pandas":  # before version 3, None in a column that must be text becomes 'None'
        as_they_are = {*text, *whole}
        cells = {n: c if n in as_they_are else np.asarray(c, float) for n, c in columns.items()}
        table = library.DataFrame(cells)
    else:
        numbers = {name: nw.Int64 if name in whole else nw.Float64 for name in columns}
        schema = {name: nw.String if name in text else numbers[name] for name in columns}
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


FROM_INDEX = ("time", "stream", "source")


def index_columns(frame: Any, format: TableFormat) -> dict[str, Any]:  # noqa: A002
    """Return the levels of a pandas index that stand for columns, by the name of the column.

    A level counts by its name, and an index of dates or of timedeltas is the time whatever its name
    is. A column of the name goes before the index.
    """
    import narwhals as nw
    import pandas

    index = frame.to_native().index
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    wanted = {format.columns.get(name, name): name for name in FROM_INDEX}
    wanted = {column: name for column, name in wanted.items() if column not in frame.columns}
    level_of = {level.name: level for level in levels if level.name in wanted}
    if "time" in wanted and "time" not in level_of and "time" not in format.columns:
        times = [x for x in levels if isinstance(x, (pandas.DatetimeIndex, pandas.TimedeltaIndex))]
        if len(times) == 1:
            level_of["time"] = times[0]
    return {
        name: nw.from_native(level.to_series(name=name), series_only=True)
        for name, level in level_of.items()
    }


def with_columns_of_lists(
    frame: Any,
    format: TableFormat,  # noqa: A002
) -> Any:
    """Return a table whose column ``probs`` has lists with columns ``p_<class>`` instead."""
    import narwhals as nw

    name = format.columns.get("probs", "probs")
    if any(column.startswith("p_") for column in frame.columns):
        return frame
    if not isinstance(frame[name].dtype, (nw.List, nw.Array, nw.Object)):
        return frame
    cells = _cells(frame[name])
    K = next((len(cell) for cell in cells if cell is not None), 0)
    names = format.classes or tuple(map(str, range(K)))
    numbers = np.full((len(cells), len(names)), np.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        if len(cell) != len(names):
            must = f"there are {len(names)} classes"
            raise RowError(
                f"column {name}", len(cell), problem="has a list of {}", must=must, row=row
            )
        try:
            numbers[row] = cell
        except (TypeError, ValueError):
            raise RowError(f"column {name}", cell, must="it must hold numbers", row=row) from None
    backend = frame.implementation
    columns = [
        nw.new_series(f"p_{one}", numbers[:, k], backend=backend) for k, one in enumerate(names)
    ]
    return frame.with_columns(*columns)


def classes_of_labels(frame: Any, layout: Layout) -> tuple[str, ...]:
    """Return the classes that the labels of a table name, predicted or true."""
    return label_classes(
        {name: factorize_column(frame[name]).categories for name in layout.label_columns}
    )


def scores_of_columns(
    columns: Mapping[str, Any],
    heads: Heads,
    format: TableFormat,  # noqa: A002
    layout: Layout,
) -> Predictions:
    """Return the probabilities (T, C) of the columns ``p_<class>``, checked.

    Where a row has none of them, its label counts, if there is one.
    """
    scores = np.stack([column_numbers(columns[f"p_{name}"]) for name in heads.shown], axis=1)
    try:
        probs = as_probabilities(scores, format.scores, heads)
        if not format.scores.endswith("logits"):
            check_heads(probs, heads)
    except RowError as error:
        raise _with_hints(error, scores[error.row], format, layout) from None
    one_hot = np.zeros(len(probs), bool)
    if in_any_letters("prediction", columns) is None or not heads.is_exclusive:
        return Predictions(probs, one_hot)
    missing = np.isnan(scores).all(axis=1)
    if missing.any():
        check_named(columns, "prediction")
        mask = missing.tolist()
        cells = {n: columns[n].filter(mask) for n in ("prediction", "confidence") if n in columns}
        try:
            probs[missing], one_hot[missing] = labels_of_columns(cells, heads, format, layout)
        except RowError as error:
            raise error.replaced(row=int(np.flatnonzero(missing)[error.row])) from None
    return Predictions(probs, one_hot)


_CONVERT_SCORES = (
    Fix("scores", "independent-percent"),
    " and ",
    Fix("scores", "independent-logits"),
    " convert them",
)


def _with_hints(
    error: RowError,
    row: Floats,
    format: TableFormat,  # noqa: A002
    layout: Layout,
) -> RowError:
    """Return the error with what may be behind an invalid row."""
    total = row.sum()
    if not layout.heads.is_exclusive and format.scores in (SCORES[0], INDEPENDENT):
        return error.replaced(hints=(_CONVERT_SCORES,))
    if np.isnan(total) or not layout.heads.is_exclusive or format.scores == "logits":
        return error
    if format.scores == "probabilities" and row.min() < 0:
        return error.replaced(fix=("if these are logits, give ", Fix("scores", "logits")))
    if format.scores == "probabilities" and abs(total - 100) <= 5:
        return error.replaced(
            hints=(("these look like percentages: give ", Fix("scores", "percent")),)
        )
    names = [f"p_{name}" for name in layout.classes]
    if layout.guessed:
        guess = f"the columns {names} were taken as classes"
        return error.replaced(hints=(guess, ("if not all are, give ", Fix("classes", [...]))))
    ignored = [name for name in layout.columns if name.startswith("p_") and name not in names]
    hints = (f"the columns {ignored} are not classes of the filter",) if ignored else ()
    return error.replaced(hints=hints)


def labels_of_columns(
    columns: Mapping[str, Any],
    heads: Heads,
    format: TableFormat,  # noqa: A002
    layout: Layout,
) -> Predictions:
    """Return the probabilities (T, K) of labels, with their confidence where it is given.

    The rest of the confidence is spread evenly over the other classes.
    """
    classes = heads.shown
    labels = column_indices(columns["prediction"], classes, "prediction")
    if "confidence" not in columns:
        if (labels >= 0).any():
            check_named(layout.columns, "confidence")
        return from_labels(labels, np.full(len(labels), np.nan), len(classes))
    if format.scores == "logits":
        raise ValueError('scores is "logits", but confidence must be a probability or a percentage')
    confidence = column_numbers(columns["confidence"])
    top = confidence / 100 if format.scores == "percent" else confidence
    invalid = ((top < 0) | (top > 1)) & (labels >= 0)
    if invalid.any():
        row = int(invalid.argmax())
        value, most = float(confidence[row]), 100 if format.scores == "percent" else 1
        fix = ("for percentages, give ", Fix("scores", "percent")) if most < value <= 100 else ""
        raise RowError("confidence", value, must=f"it must lie in [0, {most}]", fix=fix, row=row)
    return from_labels(labels, top, len(classes))


def _cells(series: Any) -> list[Any]:
    """Return the cells, None for null."""
    if not series.null_count():
        cells: list[Any] = series.to_list()
        return cells
    null = series.is_null().to_list()
    return [None if missing else cell for missing, cell in zip(null, series.to_list(), strict=True)]


def column_numbers(series: Any) -> Floats:
    """Return a column of numbers, NaN for null."""
    import narwhals as nw

    if series.dtype.is_numeric():
        numbers: Floats = np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)
        return numbers
    cells = [math.nan if cell is None else cell for cell in _cells(series)]
    invalid = [row for row, x in enumerate(cells) if not is_number(x)]
    if invalid:
        row = first_text(cells, invalid)
        must = "it must hold numbers, and nothing where there are none"
        cell: Any = cells[row]
        percent = isinstance(cell, str) and cell.rstrip().endswith("%")
        fix: Advice = BOOLEAN if isinstance(cell, bool) else ""
        if percent:
            fix = ("leave out the sign %, and give ", Fix("scores", "percent"))
        if isinstance(cell, str) and _reads_as_number(cell):
            fix = "the column is text: convert it to numbers, with one decimal mark"
        raise RowError(f"column {series.name}", cell, must=must, fix=fix, row=row)
    return np.array(cells, dtype=np.float64)


def _reads_as_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace(",", ".")))
    except ValueError:
        return False


def column_times(
    series: Any,
    format: TableFormat,  # noqa: A002
) -> tuple[Floats, TimeKind]:
    """Return a column of times in seconds, and what they were."""
    import narwhals as nw

    if series.dtype.is_numeric():
        return read_times(column_numbers(series), format.unit)
    if isinstance(series.dtype, (nw.Datetime, nw.Date, nw.Duration)):
        dates: NDArray[Any] = series.to_numpy()
        time, kind = read_times(dates)
        return time, kind._replace(zone=_zone(series))
    return read_times(_cells(series), format.unit, format.time_format)


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
    import narwhals as nw

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
        must = "it must hold text or numbers"
        raise RowError(f"column {series.name}", cells[row], must=must, row=row) from None


def _factorize_polars(text: pl.Series) -> Factorized:
    """Return a column of text as codes; by its runs, where these are long."""
    import polars

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


def named_streams(stream: Factorized) -> Factorized:
    """Return a column of streams, if each row names one."""
    for i, cell in enumerate(stream.categories):
        if cell is None or cell != cell:
            row = int((stream.codes == i).argmax())
            raise RowError("stream", cell, must="every row needs one", fix="fill it in", row=row)
    return stream


def column_indices(series: Any, classes: tuple[str, ...], argument: str) -> Ints:
    """Return the class index of each label of a column, -1 where it is missing."""
    return factorized_indices(
        factorize_column(series), classes, table_label_indices(classes), argument
    )
