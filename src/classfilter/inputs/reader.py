"""What people have, read as `Rows`: arrays, dataframes, files, several streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, RowError
from ..support.types import Array, Bools, Classes, Confidence, Floats, Ints
from ..support.validation import Factorized, factorize
from .classes import class_indices, in_order
from .columns import TableFormat, check_named, filtered_format, filtered_heads, matches
from .files import table_of
from .frames import (
    as_frame,
    classes_of_labels,
    column_indices,
    column_numbers,
    column_times,
    factorize_column,
    index_columns,
    labels_of_columns,
    named_streams,
    scores_of_columns,
    with_columns_of_lists,
)
from .heads import Heads, heads_of
from .notices import warn_of_odd_rows
from .outputs import as_labels, as_probabilities, check_scores, predictions, truth_of_heads
from .predicted import Rows, factorize_sources, source_codes
from .times import common_kind, read_times


def rows(
    data: Any = None,
    *,
    time: ArrayLike | None = None,
    stream: ArrayLike | None = None,
    source: ArrayLike | str | None = None,
    probs: Any = None,
    classes: Classes | Mapping[Any, Classes | None] | None = None,
    label: ArrayLike | None = None,
    confidence: Confidence | None = None,
    one_hot: ArrayLike | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
    time_format: str | None = None,
    sort: bool = False,
) -> Rows:
    """Read predictions, of one stream or of many, as `Rows`.

    Parameters
    ----------
    data : dataframe, str or Path; or a mapping or a list of these or of Rows
        A dataframe of pandas, Polars or PyArrow, or a file that `read_table` reads, with the
        columns of `classfilter.inputs`. Several are one stream each, by the names of a mapping.
        Without `data`, the arrays `time` and `probs` are the rows. A ``SlidingWindowFeature`` of
        pyannote is one stream; its times are the middles of the windows.
    time : array_like (T,)
        The time of each row. Numbers are used as they are, or in a `unit`. Datetimes, dates and
        ISO 8601 text become UNIX seconds, in UTC where they have no zone; timedeltas become
        seconds. Results give them back as dates, and a zone is kept. Times may repeat in a stream,
        but not go back.
    stream : array_like (T,), optional
        The name of each row's stream; by default all rows are one stream.
    source : array_like of str (T,), or str
        The name of the classifier; one name stands for all rows. By default ``"default"``.
    probs : array_like (T, K) or (T,), dataframe, or list of mappings
        Its output, in the order of the classes or by their names. A row of NaN is a missing
        observation. Or its predicted classes, as names or as indices; -1, None, NaN or an empty
        text where there is none. They are stored as one-hot rows; how often they are right is for
        a `Channel`, which `tune` estimates. Without one, each counts with the default reliability
        of docs/inputs.md.
    classes : iterable of K names, or int
        The classes, in the order of the columns of `probs`. Names become text. Of a table, by
        default those of the columns ``p_<class>`` or, with a column ``prediction``, the labels
        that occur there and in ``label``, sorted. Of several heads, such as an activity and a
        posture, a mapping of each to its classes, or to None for a label; their columns are
        ``p_<head>:<class>``.
    label : array_like (T,), optional
        The true classes, as names or as indices; -1, None or NaN where unknown. Of labels, or of
        several heads, (T, H): 1 where a label is true, 0 where not, or the index of the class; -1
        where unknown.
    confidence : float or array_like (T,), optional
        Of predicted classes: how probable each is, 0 to 1; the others share the rest.
    one_hot : array_like of bool (T,), optional
        Which rows of `probs` are classes without confidence; by default those given as classes.
    columns : mapping of str to str, optional
        The names of columns in the table, where they differ: ``{"time": "ts", "p_walk": "walk"}``.
    scores : str, default "probabilities"
        What the numbers of `probs`, or of ``p_<class>`` and ``confidence``, are: also ``"logits"``
        or ``"percent"``. ``"independent"`` scores are those of labels that may be true at once:
        each lies in [0, 1], and one label is enough. ``"independent-logits"`` are converted by a
        sigmoid, ``"independent-percent"`` by a division by 100. Columns ``y_<label>`` say where a
        label is true: 1, 0, or empty.
    unit : {"s", "ms", "us", "ns"}, optional
        The unit of the numbers of time, which are then converted to seconds. By default they stay
        as they are, with a warning if they look like milliseconds.
    time_format : str, optional
        How text of dates is written, as for `datetime.datetime.strptime`:
        ``"%d.%m.%Y %H:%M:%S"``. By default ISO 8601.
    sort : bool, default False
        Accept the rows of a stream in any order of time. Without it, a time that goes back is an
        error.

    Examples
    --------
    >>> rows(
    ...     time=["2024-05-01T08:00:00Z", "2024-05-01T08:00:05Z", "2024-05-01T10:00:10+02:00"],
    ...     source=["strong", "weak", "weak"],
    ...     probs=[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]],
    ...     classes=["rest", "move"],
    ... ).dt.tolist()
    [0.0, 5.0, 5.0]
    >>> import polars as pl
    >>> df = pl.DataFrame({
    ...     "ts": [0, 0, 5], "stream": ["ann", "bob", "ann"],
    ...     "p_rest": [0.9, 0.2, 0.4], "p_move": [0.1, 0.8, 0.6],
    ... })
    >>> rows(df, columns={"time": "ts"})
    Rows(3 rows of 2 streams, classes ['rest', 'move'], sources ['default'])
    """
    arrays: dict[str, Any] = {
        "time": time, "stream": stream, "source": source, "probs": probs, "label": label,
        "confidence": confidence, "one_hot": one_hot,
    }  # fmt: skip
    read: Any = {"scores": scores, "unit": unit, "time_format": time_format, "sort": sort}
    if data is None:
        for name, value in (("time", time), ("probs", probs), ("classes", classes)):
            if value is None:
                fix = "give a table, or the arrays time, probs and classes"
                raise ArgumentError(name, None, fix=fix)
        return _of_arrays(classes=classes, **arrays, **read)
    for name, value in arrays.items():
        if value is not None:
            raise ArgumentError(
                name, type(value).__name__, "data is given too", "give one of them",
                problem="is a {}",
            )  # fmt: skip
    read["columns"] = columns
    if isinstance(data, Rows):
        return _require_read(data, classes=classes, **read)
    if hasattr(data, "sliding_window"):
        return _of_windows(data, classes, scores)
    if isinstance(data, (list, tuple)) or (
        isinstance(data, Mapping) and not hasattr(data, "columns")
    ):
        streams = data if isinstance(data, Mapping) else dict(enumerate(data))
        for key, part in streams.items():
            if part is None or isinstance(part, (int, float, list)):
                must = "each part is one stream: a dataframe, a path or Rows"
                fix = "name arrays: rows(time=..., probs=..., classes=...)"
                raise ArgumentError(
                    "data",
                    part,
                    problem=f"has {repr(part)[:40]} as part {key!r}",
                    must=must,
                    fix=fix,
                )
        parts = {name: rows(part, classes=classes, **read) for name, part in streams.items()}
        return join_streams(parts, named=isinstance(data, Mapping))
    with table_of(data, columns) as table:
        columns_of_table = list(as_frame(table).columns)
        form = TableFormat.of(classes, **read)
        if classes is None and _only_filtered(columns_of_table, scores):
            of_results = filtered_format(columns_of_table, columns, scores, unit)
            form = replace(of_results, sort=sort, time_format=time_format)
        return rows_of_table(table, form)


def _only_filtered(names: list[str], scores: str) -> bool:
    """Return whether a table has results of a filter, and no predictions."""
    predictions_too = any(n.startswith("p_") or n in ("prediction", "probs") for n in names)
    return not predictions_too and bool(filtered_heads(names, scores).shown)


def is_read(data: Any) -> bool:
    """Return whether data is Rows, or several of them: not a table, nor a path."""
    parts = data.values() if type(data) is dict else data if isinstance(data, list | tuple) else ()
    return isinstance(data, Rows) or any(isinstance(part, Rows) for part in parts)


def as_rows(data: Any) -> Rows:
    """Return data as Rows: it is read, if it is not yet."""
    if data is None:
        raise ArgumentError("rows", None, fix="give a dataframe, a path or Rows")
    return data if isinstance(data, Rows) else rows(data)


def rows_of_table(df: Any, form: TableFormat) -> Rows:
    """Return all of a dataframe of a format, checked, with its true classes."""
    table = read_rows(df, form)
    if form.classes and not matches(form.classes, table.classes):
        K = len(form.classes)
        expected: Any = K if form.classes == tuple(map(str, range(K))) else list(form.classes)
        raise ValueError(
            f"the table has the classes {list(table.classes)}, but classes is {expected}; give "
            "those of the columns p_<class>"
        )
    table = with_truth(table)
    warn_of_odd_rows(table, form.unit)
    return table


def read_rows(df: Any, format: TableFormat | None = None) -> Rows:  # noqa: A002
    """Read and check a dataframe, but for the true classes; see `with_truth`."""
    table, format = as_frame(df), format or TableFormat()  # noqa: A001
    has_lists = format.columns.get("probs", "probs") in table.columns
    frame = with_columns_of_lists(table, format) if has_lists else table
    index = index_columns(frame, format) if frame.implementation.is_pandas() else {}
    layout = format.layout([*frame.columns, *index])
    columns = {
        name: index[column] if column in index else frame[column]
        for name, column in layout.columns.items()
    }
    heads = layout.heads
    if not heads.shown:
        heads = heads.like(classes_of_labels(frame, layout))
    zeros = np.zeros(len(frame), np.intp)
    source = Factorized(zeros, ["default"])
    stream = Factorized(zeros, [None] if len(frame) else [])
    if "source" in columns:
        source = factorize_sources(factorize_column(columns["source"]))
    if "stream" in columns:
        stream = named_streams(factorize_column(columns["stream"]))
    read = labels_of_columns if layout.labels else scores_of_columns
    outputs = read(columns, heads, format, layout)
    time, kind = column_times(columns["time"], format)
    return Rows.of(
        stream, source, outputs, time=time, heads=heads, time_kind=kind, sort=format.sort,
        unit=format.unit, frame=table, layout=layout,
    )  # fmt: skip


def with_truth(rows: Rows) -> Rows:
    """Return the rows of a table with the true classes that its column ``label`` has.

    For labels, the columns ``y_<label>`` say whether each is true: 1, 0, or empty. For other heads,
    they name the class.
    """
    if rows.frame is None or rows.layout is None or rows.label is not None:
        return rows
    if not rows.heads.is_exclusive:
        return replace(rows, label=_truth_of_heads(rows))
    check_named(rows.layout.columns, "label")
    column = rows.layout.columns.get("label")
    if column is None:
        return rows
    return replace(rows, label=column_indices(rows.frame[column], rows.classes, "label"))


def _truth_of_heads(rows: Rows) -> Ints | None:
    names = [f"y_{name}" for name in rows.heads.names]
    existing = [name for name in names if name in rows.frame.columns]
    if not existing:
        return None
    if existing != names:
        missing = [name for name in names if name not in existing]
        raise ArgumentError(
            "the table", missing, problem=f"has {existing}, but not {{}}", fix="add them"
        )
    columns: list[Array] = []
    for h, name in enumerate(names):
        if h in rows.heads.labels:
            columns.append(column_numbers(rows.frame[name]))
        else:
            classes = tuple(one.partition(":")[2] for one in rows.heads.columns[h])
            columns.append(column_indices(rows.frame[name], classes, name))
    return truth_of_heads(np.stack(columns, axis=1), rows.heads, "y")


def _of_arrays(
    time: ArrayLike,
    stream: ArrayLike | None,
    source: ArrayLike | str | None,
    probs: Any,
    classes: Any,
    label: ArrayLike | None,
    confidence: Confidence | None,
    one_hot: ArrayLike | None,
    scores: str,
    unit: str | None,
    time_format: str | None,
    sort: bool,
) -> Rows:
    heads = heads_of(classes, check_scores(scores))
    outputs = predictions(_as_probabilities(probs, scores, heads), heads, confidence)
    t, kind = read_times(time, unit, time_format)
    codes, sources = source_codes("default" if source is None else source, t.size)
    streams = _stream_codes(stream, t.size)
    columns: dict[str, Any] = {
        "time": t,
        "stream": streams.codes,
        "source": codes,
        "probs": outputs.probs,
        "one_hot": outputs.one_hot if one_hot is None else _check_one_hot(one_hot, outputs.probs),
    }
    if label is not None:
        columns["label"] = (
            class_indices(label, heads.shown)
            if heads.is_exclusive
            else truth_of_heads(label, heads)
        )
    for name, column in columns.items():
        if len(column) != t.size:
            raise ValueError(f"{name} has {len(column)} rows, but time has {t.size}")
    if sort:  # rows of equal time keep their order
        order = np.argsort(t, kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    for column in columns.values():
        column.flags.writeable = False
    read = Rows(
        **columns, streams=tuple(streams.categories), sources=tuple(sources), heads=heads,
        time_kind=kind, unit=unit,
    )  # fmt: skip
    warn_of_odd_rows(read, unit)
    return read


def _as_probabilities(probs: Any, scores: str, heads: Heads) -> Any:
    """Return logits or percentages (T, C) as probabilities; anything else as it is."""
    if not scores.endswith(("logits", "percent")) or as_labels(probs) is not None:
        return probs
    numbers = np.asarray(in_order(probs, heads.shown), np.float64)
    return as_probabilities(numbers, scores, heads)


def _stream_codes(stream: ArrayLike | None, count: int) -> Factorized:
    if stream is None:
        return Factorized(np.zeros(count, np.intp), [None] if count else [])
    cells = stream.tolist() if isinstance(stream, np.ndarray) else list(np.asarray(stream, object))
    return named_streams(factorize(cells))


def _check_one_hot(one_hot: ArrayLike, probs: Floats) -> Bools:
    marked = np.array(one_hot)
    if marked.dtype != bool or marked.shape != (len(probs),):
        must = f"it must say of each of {len(probs)} rows whether it is a class"
        raise ArgumentError("one_hot", marked.tolist(), must=must, fix="give True or False")
    soft = marked & ~(np.nan_to_num(probs).max(axis=1, initial=0.0) == 1)
    if soft.any():
        row = int(soft.argmax())
        raise RowError("probs", probs[row].tolist(), must="it must be one-hot, as marked", row=row)
    return marked


def _of_windows(data: Any, classes: Classes | None, scores: str) -> Rows:
    """Return a SlidingWindowFeature of pyannote, one row a window."""
    window, probs = data.sliding_window, np.asarray(data.data, np.float64)
    time = window.start + window.step * np.arange(len(probs)) + window.duration / 2
    names = classes if classes is not None else data.labels or probs.shape[1]
    return rows(time=time, probs=probs, classes=names, scores=scores)


def join_streams(parts: Mapping[Any, Rows], named: bool = True) -> Rows:
    """Return the rows of several streams as one, all of the same classes.

    Where the parts are not `named`, they keep the names of their streams if these differ.
    """
    if not parts:
        raise ArgumentError("data", [], problem="is empty", fix="give one table or Rows per stream")
    first = next(iter(parts.values()))
    for name, part in parts.items():
        if part.heads.noun != first.heads.noun:
            problem = f"has {part.heads.noun} that {part.heads.relation} in stream {name!r}, the "
            problem += f"first has {first.heads.noun} that {first.heads.relation}"
            raise ArgumentError("data", name, problem=problem, fix="give rows of one kind")
        if part.heads != first.heads:
            problem = f"has the classes {list(part.classes)} in stream {{}}, the first has "
            problem += str(list(first.classes))
            fix = "give the same classes, in the same order"
            raise ArgumentError("data", name, problem=problem, fix=fix)
    kinds_of_times = {part.time_kind.kind for part in parts.values() if len(part)}
    if "date" in kinds_of_times and len(kinds_of_times) > 1:
        must = "times must be either all numbers or all dates"
        raise ArgumentError(
            "data", sorted(kinds_of_times), problem="has times that are {}", must=must
        )
    tables = list(parts.values())
    before = np.cumsum([0, *(max(len(part.streams), 1) for part in tables)])
    sources = tuple(dict.fromkeys(name for part in tables for name in part.sources))
    number = {name: i for i, name in enumerate(sources)}
    label = None
    if any(part.label is not None for part in tables):
        shape = next(part.label.shape[1:] for part in tables if part.label is not None)
        label = np.concatenate(
            [np.full((len(p), *shape), -1) if p.label is None else p.label for p in tables]
        )
    return Rows(
        time=np.concatenate([part.time for part in tables]),
        stream=np.concatenate([p.stream + n for p, n in zip(tables, before, strict=False)]),
        streams=_names_of_streams(parts, named),
        source=np.concatenate(
            [np.array([number[n] for n in p.sources], np.intp)[p.source] for p in tables]
        ),
        sources=sources,
        probs=np.concatenate([part.probs for part in tables]),
        one_hot=np.concatenate([part.one_hot for part in tables]),
        heads=first.heads,
        label=label,
        time_kind=common_kind([part.time_kind for part in tables]),
        sort=any(part.sort for part in tables),
    )


def _names_of_streams(parts: Mapping[Any, Rows], named: bool) -> tuple[Any, ...]:
    """Return the names of the streams of all parts, in order."""
    names = [name for part in parts.values() for name in part.streams or (None,)]
    if not named and None not in names and len(set(names)) == len(names):
        return tuple(names)
    for name, part in parts.items():
        if len(part.streams) > 1:
            must = "the names of several tables must differ, or each must be one stream"
            raise ArgumentError(
                "data", name, problem=f"has {len(part.streams)} streams in part {{}}", must=must
            )
    return tuple(parts)


def _require_read(data: Rows, **options: Any) -> Rows:
    """Return Rows as they are; options of reading come too late for them."""
    for name, value in options.items():
        if value not in (None, False, "probabilities"):
            problem = "is {}, but the rows have already been read"
            raise ArgumentError(
                name, value, problem=problem, fix="give it to the call that reads them"
            )
    return data
