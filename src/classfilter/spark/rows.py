"""The rows of an Arrow table, checked; an invalid one is named, or set apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import Advice, RowError
from ..inputs import (
    Rows,
    TimeScale,
    read_rows,
    read_times,
    result_columns,
    warn_of,
)
from ..support.imports import import_optional
from ..support.types import Array, Bools
from .schema import STATUS, FrameFormat

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


class CheckedRows(NamedTuple):
    """A table, its valid rows, which those are, and what is wrong with the others."""

    table: pa.Table
    rows: Rows
    valid: Bools
    errors: list[str | None]


def check_rows(table: pa.Table, form: FrameFormat) -> CheckedRows:
    """Return a table's rows; of invalid ones, the first is raised, or all are set apart."""
    used = table.select([*form.key, *form.prediction])
    errors: list[str | None] = [None] * len(table)
    try:
        return CheckedRows(table, _read(used, form), np.ones(len(table), bool), errors)
    except RowError as error:
        if form.invalid == "fail":
            remedy = 'correct it, or give invalid="quarantine"'
            raise ValueError(f"{_error_of_row(error, used, form)}: {remedy}") from None
    _set_apart(used, form, 0, errors)
    valid = np.array([error is None for error in errors])
    return CheckedRows(table, _read(used.filter(valid), form), valid, errors)


def _read(table: pa.Table, form: FrameFormat) -> Rows:
    rows = read_rows(table, form.table)
    if form.pipe is not None:
        form.pipe.weights_in(rows.factorized_sources)
    _look_at_times(rows, form)
    return rows


def _look_at_times(rows: Rows, form: FrameFormat) -> None:
    """Warn, once in each worker, if numbers look like milliseconds; only workers see the rows."""
    scale = TimeScale(form.table.unit)
    scale.see(rows.time, numbers=rows.time_kind.is_number)
    finding = scale.finding()
    if finding is not None and finding.fix not in _WARNED:
        _WARNED.add(finding.fix)
        warn_of(finding)


_WARNED: set[Advice] = set()
"""What this worker has said to do."""


def _set_apart(table: pa.Table, form: FrameFormat, first: int, errors: list[str | None]) -> None:
    """Note the error of each invalid row; `first` is the number of the table's first row."""
    try:
        _read(table, form)
    except RowError as error:
        if len(table) == 1:
            errors[first] = _error_of_row(error, table, form)
            return
        half = len(table) // 2
        _set_apart(table.slice(0, half), form, first, errors)
        _set_apart(table.slice(half), form, first + half, errors)


def _error_of_row(error: RowError, table: pa.Table, form: FrameFormat) -> str:
    """Return what is wrong with a row, named by its stream, time and source."""
    cells = {name: table[name][error.row].as_py() for name in form.key}
    row = ", ".join(f"{name} {cell!r}" for name, cell in cells.items())
    return error.text(place=f" in the row of {row}")


def seconds_if_any(cell: Any, unit: str | None) -> float | None:
    """Return the time of a row that is invalid, if that is not what is wrong with it."""
    try:
        return float(read_times([cell], unit)[0][0])
    except ValueError:
        return None


def add_results(checked: CheckedRows, form: FrameFormat, P: Array, status: bool) -> Any:
    """Return a table with the results of its valid rows, (T, K), as new columns."""
    pa = import_optional("pyarrow", extra="spark")
    table, valid, classes, pipe = checked.table, checked.valid, form.classes, form.settings
    place = pipe.heads.order_in(classes)
    missing = None
    estimates = np.ascontiguousarray(P.T)
    if not valid.all():
        missing = ~valid
        estimates = np.full((len(classes), len(table)), np.nan, P.dtype)
        estimates[:, valid] = P.T
    cells = [pa.array(estimates[k], mask=missing) for k in np.argsort(place)]
    for text in pipe.heads.like(classes[k] for k in place).decide(estimates):
        codes = pa.array(text.codes.astype(np.int32), mask=missing)
        names = pa.array(text.categories, pa.string())
        cells.append(pa.DictionaryArray.from_arrays(codes, names).cast(pa.string()))
    new = result_columns(table.column_names, form.heads)
    columns = dict(zip(new, cells, strict=True))
    if status:
        named = pa.array(["invalid", "ok"]).take(pa.array(valid.astype(np.int8)))
        columns |= dict(zip(STATUS, (named, pa.array(checked.errors, pa.string())), strict=True))
    return with_columns(table, columns)


def with_columns(table: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """Return a table with columns added, or replaced."""
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        new = at < 0
        table = table.append_column(name, values) if new else table.set_column(at, name, values)
    return table
