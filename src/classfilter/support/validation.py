"""Check arguments and columns; an error names the argument, the value, the row and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..errors import ArgumentError
from .types import Classes, Ints, is_number


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


def class_names(classes: Classes, least: int = 2, argument: str = "classes") -> tuple[Any, ...]:
    """Return the classes as a tuple: the names, or 0 to K - 1 for a count."""
    if isinstance(classes, (str, bytes)):
        raise TypeError(
            f"{argument} is the text {classes!r}; give a list of names, or their number"
        )
    if isinstance(classes, np.ndarray):
        classes = classes.tolist()
    names = tuple(classes) if isinstance(classes, Iterable) else tuple(range(int(classes)))
    if len(names) < least:
        few = "two are" if least == 2 else "one is"
        raise ValueError(f"{argument} is {classes!r}; at least {few} needed")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{argument} names {twice!r} more than once")
    return names


def text_names(classes: Classes, least: int = 2) -> tuple[str, ...]:
    """Return the names of the classes as text."""
    names = [str(name) for name in class_names(classes, least)]
    class_names(names, least)  # 1 and "1" are one name
    return tuple(names)


def check_weight(argument: str, value: Any, source: str | None = None) -> float:
    """Return a weight as a float; `source` is its key, where the argument is a mapping."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ArgumentError(argument, value, must="it must be a number in [0, 1]", entry=source)
    return float(value)


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT, NA or an empty text."""
    try:
        return cell is None or cell == "" or bool(cell != cell)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array
        return False


def check_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a dtype if it is float64 or float32."""
    must = "it must be float64 or float32"
    try:
        checked = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # it parses text with commas as code
        raise ArgumentError("dtype", dtype, must=must) from None
    if checked not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ArgumentError("dtype", checked, problem=f"is {checked}", must=must)
    return checked
