"""The recordings of a table: one for each stream."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..inputs import (
    TableFormat,
    TimeScale,
    group_starts,
    interleaved,
    matches,
    naming_streams,
    read_rows,
    table_labels,
    table_of,
    warn_of_streams,
)
from ..support.types import Classes
from .recording import Recording
from .rows import group_and_sort


def recordings(
    df: Any,
    *,
    sort: bool = False,
    classes: Classes | None = None,
    columns: Mapping[str, str] | None = None,
    scores: str = "probabilities",
    unit: str | None = None,
) -> dict[Any, Recording]:
    """Read the recording of every stream in a table.

    Parameters
    ----------
    df : pandas.DataFrame, polars.DataFrame or pyarrow.Table; or str or Path
        A dataframe, or a file that `read_table` reads, with the columns of `classfilter.inputs`.
    sort : bool, default False
        Put the rows of each stream in order of time.
    classes : iterable of K names, or int, optional
        The classes. By default those of the columns ``p_<class>``; of a column ``prediction``, the
        labels that occur there and in ``label``, sorted.
    columns : mapping of str to str, optional
        The names of columns in the table, where they differ: ``{"time": "ts", "p_walk": "walk"}``.
    scores : {"probabilities", "logits", "percent", "independent"}
        What the numbers of ``p_<class>`` and ``confidence`` are. Independent scores are those of
        labels that may be true at once: each lies in [0, 1], and one column is enough. Columns
        ``y_<label>`` say where a label is true: 1, 0, or empty.
    unit : {"s", "ms", "us", "ns"}, optional
        The unit of the numbers of ``time``; see `Recording`.

    Returns
    -------
    dict
        The recording of each stream, in order of appearance; that of None, without a column
        ``stream``.

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
    form = TableFormat.of(classes, columns, scores, unit)
    with table_of(df, columns) as table:
        return recordings_of(table, form, sort)


def recordings_of(df: Any, form: TableFormat, sort: bool = False) -> dict[Any, Recording]:
    """Return the recording of every stream in a dataframe of a format; see `recordings`."""
    rows = read_rows(df, form)
    if form.classes is not None and not matches(form.classes, rows.classes):
        K = len(form.classes)
        known: Any = K if form.classes == tuple(map(str, range(K))) else list(form.classes)
        raise ValueError(
            f"the table has the classes {list(rows.classes)}, but classes is {known}; give those "
            "of the columns p_<class>"
        )
    label = table_labels(rows, form.independent)
    names = np.array(rows.source.categories, np.str_)
    with naming_streams(rows):
        order, _ = group_and_sort(rows.time, rows.stream.codes, sort, kind=rows.time_kind)
    warn_of_streams(interleaved(rows))
    scale = TimeScale(form.unit)
    scale.see(rows.time, numbers=rows.time_kind.is_number)
    scale.warn()
    parts = np.split(order, group_starts(rows.stream.codes[order]))
    return {
        stream: Recording._from_checked(
            rows.time[part],
            names[rows.source.codes[part]],
            rows.probs[part],
            rows.classes,
            None if label is None else label[part],
            rows.hard[part],
            rows.time_kind,
            form.independent,
        )
        for stream, part in zip(rows.stream.categories, parts, strict=False)
    }


def streams_of(data: Any, **options: Any) -> Any:
    """Return the recordings of a table, by stream; anything else is returned as it is.

    `options` are those of `recordings`.
    """
    # every kind of dataframe has columns
    if not isinstance(data, (str, PathLike)) and not hasattr(type(data), "columns"):
        for name, value in options.items():
            if value not in (None, "probabilities"):
                rule = "it is for a table"
                remedy = f"give it to recordings: recordings(df, {name}=...)"
                raise ArgumentError(name, value, rule=rule, remedy=remedy)
        return data
    try:
        return recordings(data, **options)
    except ArgumentError as error:
        remedy = "give recordings(df, ...) in place of the table: it takes such options"
        raise error.replaced(hints=(*error.hints, remedy)) from None
