"""Names of classes as numbers: of columns, in the order of a filter; of labels, as indices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import BOOLEAN, ArgumentError, RowError
from ..support.imports import import_optional
from ..support.types import Array, Floats, Ints, is_number
from ..support.validation import Factorized, factorize, is_missing
from .times import require_1d

FLAG = (bool, np.bool_)
"""The types of True and False."""


def in_order(values: Any, classes: Sequence[Any], *, of_one_row: bool = False) -> Any:
    """Return numbers that have names of classes as an array in the order of the classes.

    They are (T, K) of a dataframe or of a mapping of columns; (K,) of one row: a mapping, a pandas
    Series, a dataframe of one row. All else is returned as it is.
    """
    order = class_columns(values, classes, of_one_row)
    if order is None:
        return values
    columns = _columns(values)
    if of_one_row:
        cells = [list(columns[k]) if np.ndim(columns[k]) else [columns[k]] for k in order]
        if {len(column) for column in cells} != {1}:
            rows_given = max(map(len, cells))
            fix = "give one row, or call run"
            raise RowError(
                "probs", rows_given, problem="has {} rows", must="it must have 1", fix=fix
            )
        return np.array([_named_numbers(c, classes[i])[0] for i, c in enumerate(cells)])
    try:
        return np.stack(
            [_named_numbers(columns[k], classes[i]) for i, k in enumerate(order)], axis=1
        )
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        lengths = [len(column) for column in columns]
        raise ArgumentError(
            "probs", lengths, problem="has columns of {} rows", fix="give columns of one length"
        ) from None


def class_columns(
    values: Any, classes: Sequence[Any], of_one_row: bool = False
) -> list[int] | None:
    """Return which of the names that values have is that of each class; None if they have none.

    Columns ``p_<class>`` name classes too, where all are so. A dataframe without names, or one for
    a filter that has a number of classes instead of names, is in order.
    """
    names = names_of(values, of_one_row)
    if names is None:
        return None
    wanted = [str(name) for name in classes]
    texts = [str(name) for name in names]
    if len(set(texts)) == len(texts):
        short = [text[2:] for text in texts if text.startswith("p_")]
        for columns in (texts, short):
            if set(columns) == set(wanted) and len(columns) == len(texts):
                return [columns.index(name) for name in wanted]
    in_their_order = _are_numbers(texts) or _are_numbers(wanted)
    if not isinstance(values, Mapping) and len(texts) == len(wanted) and in_their_order:
        return list(range(len(texts)))
    raise _name_error(RowError if of_one_row else ArgumentError, names, texts, wanted)


def named_classes(values: Any) -> tuple[str, ...] | None:
    """Return the classes that values name, in their order; None where they have no names."""
    if isinstance(values, (list, tuple)) and len(values):
        values = values[0] if isinstance(values[0], Mapping) else None
    names = names_of(values)
    if names is None or _are_numbers(texts := [str(name) for name in names]):
        return None
    prefixed = all(text.startswith("p_") for text in texts)
    return tuple(text[2:] if prefixed else text for text in texts)


def _are_numbers(texts: list[str]) -> bool:
    """Return whether names are those that a dataframe has by default."""
    places = range(len(texts))
    return texts in ([str(k) for k in places], [f"column_{k}" for k in places])


def _name_error(
    kind: type[ArgumentError], names: list[Any], texts: list[str], wanted: list[str]
) -> ArgumentError:
    missing = [name for name in wanted if name not in texts and f"p_{name}" not in texts]
    unknown = [text for text in texts if text.removeprefix("p_") not in wanted]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    parts = {"missing": missing, "unknown": unknown, "there more than once": twice}
    must = ", ".join(f"{fault}: {listed}" for fault, listed in parts.items() if listed)
    problem = f"names {{}}, but the classes are {wanted}"
    fix = "name each class once, and no other"
    return kind("probs", list(names), must, fix, problem=problem)


def results_like(values: Any, classes: Sequence[Any], results: Array) -> Any:
    """Return results (T, K) as a dataframe of the kind that came in; else as they are.

    It has the index of that dataframe, and the classes as columns, in their order.
    """
    kind = type(values).__module__.partition(".")[0]
    if names_of(values) is None or kind not in ("pandas", "polars", "pyarrow"):
        return results
    columns = {name: results[:, k] for k, name in enumerate(classes)}
    library = import_optional(kind)
    if kind == "pandas":
        return library.DataFrame(columns, index=values.index)
    texts = {str(name): np.ascontiguousarray(column) for name, column in columns.items()}
    return library.DataFrame(texts) if kind == "polars" else library.table(texts)


def names_of(values: Any, of_one_row: bool = False) -> list[Any] | None:
    """Return the names of columns, or of the entries of one row; None where there are none."""
    if isinstance(values, Mapping):
        return list(values)
    if not hasattr(type(values), "__len__"):  # not a lazy frame, whose names would be computed
        return None
    names = getattr(values, "column_names", None)  # of PyArrow, whose `columns` are the columns
    if names is None:
        names = getattr(values, "columns", None)
    if names is None and of_one_row and is_series(values):
        names = values.index
    return None if names is None or callable(names) else list(names)


def is_series(values: Any) -> bool:
    """Return whether values are a Series of pandas, whose entries may have names."""
    return hasattr(values, "iloc") and hasattr(values, "index")


def _columns(values: Any) -> list[Any]:
    """Return the columns, or the entries of one row, in their order."""
    if isinstance(values, Mapping):
        return list(values.values())
    if hasattr(values, "iloc"):
        frame = hasattr(values, "columns")
        return [values.iloc[:, k] for k in range(values.shape[1])] if frame else values.to_list()
    if hasattr(values, "column_names"):
        return [column.to_numpy() for column in values.columns]
    return list(values.get_columns())


def _named_numbers(cells: Any, name: Any) -> Floats:
    """Return a column of numbers, NaN where there is none."""
    try:
        _core.check_no_booleans(cells)  # NumPy takes one beside a number as a number
    except RowError as error:
        raise error.replaced(row=error.entry, entry=str(name)) from None
    column = np.asarray(cells)
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    out = np.empty(len(column))
    for row, cell in enumerate(column.tolist()):
        missing = is_missing(cell)
        if not missing and (not is_number(cell)):
            must, fix = "it must hold numbers", BOOLEAN if isinstance(cell, bool) else ""
            raise RowError("probs", cell, must=must, fix=fix, row=row, entry=str(name))
        out[row] = math.nan if missing else cell
    return out


def class_indices(label: ArrayLike, classes: tuple[str, ...], argument: str = "label") -> Ints:
    """Return the class index of each label of an array, -1 where it is missing.

    A whole number is an index, whatever the names are; `argument` is its name.
    """
    K = len(classes)
    if isinstance(label, np.ndarray) and label.dtype.kind == "i":
        require_1d(argument, label)
        if label.min(initial=0) >= -1 and label.max(initial=0) < K:
            return label.astype(np.intp)
    column = np.array(label, dtype=np.object_)
    require_1d(argument, column)
    if isinstance(label, np.ndarray) and label.dtype.kind == "f":
        column[np.isnan(label)] = None  # equal cells, for factorize
    index_of = {k: k for k in range(-1, K)} | {name: k for k, name in enumerate(classes)}
    return factorized_indices(factorize(column.tolist()), classes, index_of, argument)


def table_label_indices(classes: tuple[str, ...]) -> dict[Any, int]:
    """Return the index that each label in a table or a file means; a number may be text there.

    Where all classes are named by whole numbers, a whole number is a name.
    """
    names = {name: k for k, name in enumerate(classes)}
    numbers = {k: k for k in names.values()}
    if all(re.fullmatch(r"-?\d+", name) for name in names):
        numbers = {int(name): k for name, k in names.items()}
    numbers = {-1: -1} | numbers
    return numbers | {str(number): k for number, k in numbers.items()} | names


def factorized_indices(
    label: Factorized, classes: tuple[str, ...], index_of: dict[Any, int], argument: str = "label"
) -> Ints:
    """Return the class index of each label of a column, -1 where it is missing."""
    # True is 1 for a dict, but no number of a class.
    cells = [str(cell) if isinstance(cell, FLAG) else cell for cell in label.categories]
    indices = [-1 if is_missing(cell) else index_of.get(cell) for cell in cells]
    if None in indices:
        unknown = [i for i, index in enumerate(indices) if index is None]
        row = int(np.isin(label.codes, unknown).argmax())
        cell = label.categories[label.codes[row]]
        must = f"the classes are {list(classes)}"
        index = f", an index from 0 to {len(classes) - 1}," if 0 in index_of else ""
        fix = f"give a name{index} or -1 where it is unknown"
        if isinstance(cell, FLAG):
            fix = f"give names, such as np.where(flags, {classes[0]!r}, {classes[1]!r})"
        raise RowError(argument, cell, must, fix, row)
    return np.array(indices, dtype=np.intp)[label.codes]
