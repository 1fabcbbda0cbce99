"""Scores of several labels at once: each lies in [0, 1] by itself, and they need not sum to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentError, RowError
from ..support.arrays import as_plain
from ..support.types import Array, Floats, Ints, is_number
from .heads import Heads
from .names import in_order, is_series


def label_scores(values: Any, labels: Sequence[Any], what: str = "probs") -> Floats:
    """Return the scores of many rows, (T, L), checked; NaN where a label was not observed.

    Parameters
    ----------
    values : array_like (T, L), dataframe, mapping of columns, or list of mappings
        In the order of the labels, or by their names. Of one label, (T,) is enough.
    labels : sequence
        Their names.
    what : str
        The argument, for errors.
    """
    values = as_plain(values)
    named = isinstance(values, (list, tuple)) and any(
        isinstance(row, Mapping) or is_series(row) for row in values
    )
    rows = [_row(row, labels, i) for i, row in enumerate(values)] if named else values
    cells = rows if named else in_order(rows, labels)
    L = len(labels)
    if what != "predicted":  # decisions may be scored too
        _refuse_booleans(cells, what)
    try:
        array = np.array(_without_none(cells), np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            what, type(values).__name__, "is a {}", f"it must be numbers, (T, {L})",
            "give one score per label, NaN where there is none",
        ) from None  # fmt: skip
    if array.ndim == 1 and (L == 1 or array.size == 0):
        array = array.reshape(-1, L)
    if array.ndim != 2 or array.shape[1] != L:
        problem, rule = "has shape {}", f"it must be (T, {L}), one score per label"
        raise ArgumentError(what, array.shape, problem, rule)
    check_label_scores(array, labels, what)
    return array


def one_row(value: Any, labels: Sequence[Any], what: str = "probs") -> Floats:
    """Return the scores of one row, (L,), checked; NaN where a label was not observed."""
    L = len(labels)
    given = in_order(as_plain(value), labels, of_one_row=True)
    if value is None:
        given = np.full(L, np.nan)
    elif L == 1 and is_number(given):
        given = [given]
    _refuse_booleans(given, what)
    try:
        row = np.array(_without_none(given), np.float64)
    except (TypeError, ValueError, OverflowError):
        remedy = "give one score per label, NaN where there is none"
        raise RowError(what, value, rule=f"it must be {L} numbers", remedy=remedy) from None
    if row.shape != (L,):
        raise RowError(what, row.shape, "has shape {}", f"it must be ({L},), one score per label")
    try:
        check_label_scores(row[None], labels, what)
    except RowError as error:
        raise error.replaced(row=None) from None
    return row


def as_label_scores(numbers: Floats, kind: str, labels: Sequence[Any]) -> Floats:
    """Return numbers (T, L), which may be logits or percentages, as scores, checked.

    Examples
    --------
    >>> as_label_scores(np.array([[0.0, -800.0, np.nan]]), "logits", "abc").tolist()
    [[0.5, 0.0, nan]]
    """
    if kind == "logits":
        _refuse(np.isinf(numbers), numbers, labels, "probs", "it must be finite")
        small = np.exp(-np.abs(numbers))
        sigmoid: Floats = np.where(numbers < 0, small, 1.0) / (1 + small)
        return sigmoid
    scores = numbers / 100 if kind == "percent" else numbers
    check_label_scores(scores, labels)
    return scores


def check_label_scores(scores: Floats, labels: Sequence[Any], what: str = "probs") -> None:
    """Raise for the first score of (T, L) outside [0, 1]; NaN is a label that was not observed."""
    invalid = ~((scores >= 0) & (scores <= 1) | np.isnan(scores))
    remedy = "percentages need a division by 100, logits a sigmoid"
    _refuse(invalid, scores, labels, what, "it must lie in [0, 1]", remedy)


def truth_of_heads(values: Any, heads: Heads, what: str = "label") -> Ints:
    """Return the true class of each head, (T, H): of a label 1 or 0; -1 where it is not known."""
    given, H = np.asarray(values), len(heads.names)
    if given.dtype.kind not in "biuf" or given.ndim != 2 or given.shape[1] != H:
        rule = f"it must be (T, {H}): of each label whether it is true"
        raise ArgumentError(what, given.shape, "has shape {}", rule, "give 1, 0, or -1 if unknown")
    known = np.where(np.isnan(given), -1, given) if given.dtype.kind == "f" else given.astype(int)
    most = np.array(heads.sizes) - 1
    rule = "it must be 1, 0, or -1 where it is not known"
    if heads.width > 2:
        rule = f"it must be the index of a class, 0 to {most.tolist()}, or -1 where it is not known"
    invalid = (known != np.floor(known)) | (known < -1) | (known > most)
    _refuse(invalid, known, heads.names, what, rule)
    return known.astype(np.intp)


def _refuse(
    invalid: Array, numbers: Array, labels: Sequence[Any], what: str, rule: str, remedy: str = ""
) -> None:
    """Raise for the first number of (T, L) that is invalid, if any is."""
    if invalid.any():
        row, k = map(int, np.unravel_index(invalid.argmax(), invalid.shape))
        value = numbers[row, k].item()
        raise RowError(what, value, rule=rule, remedy=remedy, row=row, entry=str(labels[k]))


def pairs(scores: Floats) -> Floats:
    """Return scores as the rows of filters of two classes, off and on, on a new last axis.

    Examples
    --------
    >>> pairs(np.array([0.25, 1.0])).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    return np.stack([1 - scores, scores], axis=-1)


def _refuse_booleans(cells: Any, what: str) -> None:
    """Raise for True and False, which NumPy would take as 1 and 0."""
    try:
        _core.check_no_booleans(cells if isinstance(cells, (list, tuple)) else np.asarray(cells))
    except RowError as error:
        raise error.replaced(argument=what) from None


def _row(row: Any, labels: Sequence[Any], number: int) -> Any:
    try:
        return one_row(row, labels)
    except RowError as error:
        raise error.replaced(row=number) from None


def _without_none(cells: Any) -> Any:
    """Return nested lists with NaN for None."""
    if not isinstance(cells, (list, tuple)):
        return cells
    return [
        math.nan if cell is None else _without_none(cell) if isinstance(cell, Iterable) else cell
        for cell in cells
    ]
