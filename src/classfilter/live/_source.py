"""A source: any callable from samples to class probabilities or a class; its output as a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._class_columns import is_series
from .._errors import ArgumentError
from .._label_scores import one_row
from .._predictions import LABEL, prediction
from .._support.arrays import as_plain
from .._support.types import Floats

Source = Callable[[Any], Any]


def parse_output(output: Any, classes: tuple[str, ...]) -> Any:
    """Return a source's output as K floats in memory of their own, whatever their values.

    A class, its name or its index, is returned as it is.

    Examples
    --------
    >>> parse_output([[0.25, 0.75]], ("walk", "sit"))
    array([0.25, 0.75])
    >>> parse_output({"sit": 0.75, "walk": 0.25}, ("walk", "sit"))
    array([0.25, 0.75])
    >>> parse_output("sit", ("walk", "sit"))
    'sit'
    """
    output = as_plain(output)
    if not isinstance(output, LABEL):
        output = prediction(output, classes)
    K, row = len(classes), np.asarray(output)
    if row.size == 1 and row.ndim < 2 and row.dtype.kind in "iuU":
        return row.reshape(()).item()
    if row.shape == (1, K):
        row = row[0]
    wanted = f"give {K} numbers, one probability per class, or a class"
    if row.ndim != 1 or row.dtype.kind not in "biufO":
        raise ValueError(f"it is {short(output)}; {wanted}")
    if row.size != K:
        raise ValueError(f"it has {row.size} entries, but the filter has {K} classes; {wanted}")
    try:
        return np.array(row, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"it is {short(output)}; {wanted}") from None


def parse_scores(output: Any, labels: tuple[str, ...]) -> Floats:
    """Return a source's output as one score per label, (L,), checked; NaN where there is none.

    Examples
    --------
    >>> parse_scores([[0.9, 0.8]], ("robin", "wren"))
    array([0.9, 0.8])
    >>> parse_scores({"wren": 0.8, "robin": None}, ("robin", "wren"))
    array([nan, 0.8])
    """
    output = as_plain(output)
    named = isinstance(output, Mapping) or is_series(output) or hasattr(output, "columns")
    if not named and np.shape(output) != ():  # maybe a batch of one, or a tensor
        row = np.asarray(output)
        output = row[0] if row.shape == (1, len(labels)) else row
    return one_row(output, labels)


def describe_error(error: Exception) -> str:
    """Return what is wrong with a row, or with the only row of several, with `it` for it.

    Examples
    --------
    >>> from classfilter import RowError
    >>> rule = "a probability must not be negative"
    >>> describe_error(RowError("probs", -0.2, rule=rule, row=0, entry=1))
    'it[1] is -0.2; a probability must not be negative'
    """
    if isinstance(error, ArgumentError) and error.argument == "probs":
        error = error.replaced(argument="it", row=None)
    return str(error)


class OnlySource:
    """The policy of a single source."""

    state = ()

    def __init__(self, source: str) -> None:
        self.source = source

    def choose(self, probs: ArrayLike, since: Mapping[str, float]) -> str:
        return self.source

    def called(self, source: str, observation: ArrayLike, probs: ArrayLike, dt: float) -> None:
        pass

    def reset(self) -> None:
        pass

    def copy(self) -> OnlySource:
        return OnlySource(self.source)

    def __repr__(self) -> str:
        return f"only {self.source!r}"
