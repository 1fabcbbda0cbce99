"""What is said of a table that is likely not what was meant.

Its times may not fit the filter, its sources the channels, or its rows one stream: then the columns
are named that may have the streams, if each of their values has times that never go back.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..errors import ArgumentError, Remedy, RowError
from ..support.imports import import_optional
from .columns import COLUMNS
from .frames import TableRows, factorize_column
from .time_scale import TimeWarning

REPEATED = 0.1
"""The share of rows with the time and the source of the row before, above which there is a warning:
a source says one thing at a time."""


@contextmanager
def naming_streams(rows: TableRows) -> Iterator[None]:
    """Let the error of a time that goes back name the columns that may have the streams."""
    try:
        yield
    except RowError as error:
        found = _candidates(rows) if error.remedy is Remedy.SORT else []
        if not found:
            raise
        rule = f"the table has no column stream, but {_listed(found)}"
        hints = (Remedy.OR_SORT, *error.hints)
        raise error.replaced(rule=rule, remedy=Remedy.IF_STREAMS, hints=hints) from None


def interleaved(rows: TableRows) -> ArgumentError | None:
    """Return what to say of a table in which a source often has several rows at one time."""
    if "stream" in rows.layout.columns or len(rows.time) < 2:
        return None
    same = (np.diff(rows.time) == 0) & (np.diff(rows.source.codes) == 0)
    if same.mean() <= REPEATED:
        return None
    found = _candidates(rows, apart=True)
    if not found:
        return None
    problem = "has {} rows with the time and the source of the row before"
    rule = f"it has no column stream, but {_listed(found)}"
    hints = (Remedy.OR_SOURCES,) if "source" not in rows.layout.columns else ()
    count = int(same.sum())
    return ArgumentError("the table", count, problem, rule, Remedy.IF_STREAMS, hints=hints)


def warn_of_streams(notice: ArgumentError | None) -> None:
    """Warn, if there is something to say."""
    if notice is not None:
        warnings.warn(TimeWarning(notice), stacklevel=4)


def _candidates(rows: TableRows, apart: bool = False) -> list[str]:
    """Return the columns of few values, each of which has rows in order of time.

    With `apart`, no value may have two rows of a source at one time.
    """
    if "stream" in rows.layout.columns:
        return []
    nw = import_optional("narwhals")
    found = []
    for here, column in rows.layout.columns.items():
        known = here in COLUMNS or here in ("class", "labels") or here[:2] in ("p_", "f_", "y_")
        if known or column not in rows.frame.columns:
            continue
        series = rows.frame[column]
        kind = series.dtype
        if not (kind.is_integer() or kind in (nw.String, nw.Categorical, nw.Enum, nw.Object)):
            continue
        if not 2 <= series.n_unique() <= len(series) / 2:
            continue
        codes = factorize_column(series).codes
        order = np.argsort(codes, kind="stable")
        steps = np.diff(rows.time[order])[np.diff(codes[order]) == 0]
        if (steps < 0).any():
            continue
        keys = np.stack([codes, rows.source.codes, np.unique(rows.time, return_inverse=True)[1]])
        if apart and np.unique(keys, axis=1).shape[1] < len(codes):
            continue
        found.append(column)
    return found


def _listed(columns: list[str]) -> str:
    return f"{' and '.join(map(repr, columns))} may be one"
