"""Check arguments and columns; an error names the argument, the value, the row and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .. import _core
from ..errors import ArgumentError, RowError
from .types import Classes, Floats, Ints, Weights, is_number

FLAG = (bool, np.bool_)
"""The types of True and False."""


class Factorized(NamedTuple):
    """A column of few distinct values.

    Attributes
    ----------
    codes : ndarray of int (T,)
        Index of each row's value in `categories`.
    categories : list
        The distinct values, in order of appearance.
    """

    codes: Ints
    categories: list[Any]


def factorize(cells: Sequence[Any]) -> Factorized:
    """Return a column as codes of its distinct values.

    Examples
    --------
    >>> factorize(["weak", "weak", "strong"])
    Factorized(codes=array([0, 0, 1]), categories=['weak', 'strong'])
    """
    code = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    codes = np.fromiter(map(code.__getitem__, cells), np.intp, len(cells))
    return Factorized(codes, list(code))


def class_names(classes: Classes, least: int = 2, what: str = "classes") -> tuple[Any, ...]:
    """Return the classes as a tuple: the names, or 0 to K - 1 for a count."""
    if isinstance(classes, (str, bytes)):
        raise TypeError(f"{what} is the text {classes!r}; give a list of names, or their number")
    if isinstance(classes, np.ndarray):
        classes = classes.tolist()
    names = tuple(classes) if isinstance(classes, Iterable) else tuple(range(int(classes)))
    if len(names) < least:
        few = "two are" if least == 2 else "one is"
        raise ValueError(f"{what} is {classes!r}; at least {few} needed")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{what} names {twice!r} more than once")
    return names


def text_names(classes: Classes, least: int = 2) -> tuple[str, ...]:
    """Return the names of the classes as text."""
    names = [str(name) for name in class_names(classes, least)]
    class_names(names, least)  # 1 and "1" are one name
    return tuple(names)


def require_1d(name: str, column: NDArray[Any]) -> None:
    """Raise unless a column has one dimension."""
    if column.ndim != 1:
        raise ValueError(f"{name} has {column.ndim} dimensions; it must have 1: one entry per row")


def first_text(cells: Sequence[Any], rows: Sequence[int]) -> int:
    """Return the first of the rows whose cell is not even the text of a number."""
    for row in rows:
        try:
            float(cells[row])
        except (TypeError, ValueError):
            return row
    return rows[0]


def source_codes(source: ArrayLike, rows: int) -> Factorized:
    """Return the source of each row, as text; one name stands for all rows."""
    if isinstance(source, str):
        return Factorized(np.zeros(rows, np.intp), [source] if rows else [])
    if source is None:
        raise ValueError("source is None; give a name for all rows, or one per row")
    column = np.asarray(source, dtype=np.object_)
    require_1d("source", column)
    return factorize_sources(factorize(column.tolist()))


def factorize_sources(source: Factorized) -> Factorized:
    """Return a column of sources, checked, with their names as text."""
    for i, cell in enumerate(source.categories):
        if not isinstance(cell, (str, int)):
            row = int((source.codes == i).argmax())
            raise RowError("source", cell, rule="it must be a name", remedy="fill it in", row=row)
    return Factorized(source.codes, [str(cell) for cell in source.categories])


def row_weights(source: Factorized, beta: Weights, default: float | None = None) -> Floats:
    """Return the weight of each row's source."""
    if not isinstance(beta, Mapping):
        return np.full(source.codes.size, check_weight("beta", beta))
    known = {name: check_weight("beta", value, name) for name, value in beta.items()}
    if default is not None:
        check_weight("default", default)
        known = dict.fromkeys(source.categories, float(default)) | known
    for i, name in enumerate(source.categories):
        if name not in known:
            row = int((source.codes == i).argmax())
            raise RowError(
                "source",
                name,
                "is {}, which has no weight",
                f"beta names {list(known)}",
                "add it there",
                row,
            )
    return np.array([known[name] for name in source.categories], dtype=np.float64)[source.codes]


def check_weight(argument: str, value: Any, source: str | None = None) -> float:
    """Return a weight as a float; `source` is its key, where the argument is a mapping."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ArgumentError(argument, value, rule="it must be a number in [0, 1]", entry=source)
    return float(value)


def check_probabilities(probs: Floats, classes: tuple[str, ...]) -> None:
    """Let the C core check probabilities (T, K), as a filter checks them."""
    try:
        _core.check_rows(len(classes), probs, 1.0, 0.0)
    except RowError as error:
        name = None if error.entry is None else classes[int(error.entry)]
        raise error.replaced(entry=name) from None


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT, NA or an empty text."""
    try:
        return cell is None or cell == "" or bool(cell != cell)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array
        return False


def class_indices(label: ArrayLike, classes: tuple[str, ...], what: str = "label") -> Ints:
    """Return the class index of each label of an array, -1 where it is missing.

    A whole number is an index, whatever the names are; `what` is the argument.
    """
    K = len(classes)
    if isinstance(label, np.ndarray) and label.dtype.kind == "i":
        require_1d(what, label)
        if label.min(initial=0) >= -1 and label.max(initial=0) < K:
            return label.astype(np.intp)
    column = np.array(label, dtype=np.object_)
    require_1d(what, column)
    if isinstance(label, np.ndarray) and label.dtype.kind == "f":
        column[np.isnan(label)] = None  # equal cells, for factorize
    known = {k: k for k in range(-1, K)} | {name: k for k, name in enumerate(classes)}
    return factorized_indices(factorize(column.tolist()), classes, known, what)


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
    label: Factorized, classes: tuple[str, ...], known: dict[Any, int], what: str = "label"
) -> Ints:
    """Return the class index of each label of a column, -1 where it is missing."""
    known = known | _flag_indices(label, classes, what)
    unknown = [
        i for i, cell in enumerate(label.categories) if cell not in known and not is_missing(cell)
    ]
    if unknown:
        row = int(np.isin(label.codes, unknown).argmax())
        cell = label.categories[label.codes[row]]
        remedy = f"give a name, an index from 0 to {len(classes) - 1}, or -1 where it is unknown"
        raise RowError(what, cell, "is {}", f"the classes are {list(classes)}", remedy, row)
    indices = [known.get(cell, -1) for cell in label.categories]
    return np.array(indices, dtype=np.intp)[label.codes]


def _flag_indices(label: Factorized, classes: tuple[str, ...], what: str) -> dict[Any, int]:
    """Return the index of each class that True and False name; they are no numbers of classes."""
    found = {}
    for i, cell in enumerate(label.categories):
        if isinstance(cell, FLAG):
            if str(cell) not in classes:
                row = int((label.codes == i).argmax())
                rule = f"the classes are {list(classes)}, and a flag is none of them"
                flags = "np.where(flags, {!r}, {!r}) where True is {!r}"
                remedy = f"give the names, such as {flags.format(*classes[:2], classes[0])}"
                raise RowError(what, bool(cell), "is {}", rule, remedy, row)
            found[cell] = classes.index(str(cell))
    return found


def class_order(filter: Any, classes: tuple[str, ...]) -> Ints:  # noqa: A002
    """Return the column of each class of the filter."""
    names = tuple(str(name) for name in filter.classes)
    if set(names) == set(classes):
        places = {name: place for place, name in enumerate(classes)}
        return np.array([places[name] for name in names], dtype=np.intp)
    if filter.classes == tuple(range(len(classes))):
        return np.arange(len(classes), dtype=np.intp)
    raise ValueError(
        f"the data has the classes {list(classes)}, but the filter has {list(filter.classes)}; "
        "make the filter with the same names"
    )


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a dtype if it is float64 or float32."""
    rule = "it must be float64 or float32"
    try:
        checked = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # it parses text with commas as code
        raise ArgumentError("dtype", dtype, rule=rule) from None
    if checked not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ArgumentError("dtype", checked, f"is {checked}", rule)
    return checked
