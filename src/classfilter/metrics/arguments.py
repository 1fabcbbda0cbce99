"""Validation of the arguments of a metric: true classes, predictions and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..inputs import factorized_indices
from ..support.arrays import median_step
from ..support.types import Array, Floats, Ints
from ..support.validation import factorize, text_names

ClassNames = Iterable[Any] | None
"""The names of the classes, where they are given."""


def without_names(
    truth: ArrayLike | None, pred: ArrayLike, classes: ClassNames, name: str = "pred"
) -> tuple[Any, Array, int | None]:
    """Return truth and prediction with indices for names, and the number of classes, where known.

    Without `classes`, they are the names that occur, sorted. `name` is that of the prediction.
    """
    p = _as_array(pred)
    columns = {name: p} if truth is None else {"truth": _as_array(truth), name: p}
    named = {key: a for key, a in columns.items() if a.dtype.kind == "O" and a.ndim == 1}
    words = [(k, x) for k, a in named.items() for x in a if isinstance(x, str) and x]
    if classes is not None:
        names = text_names(classes)
        if p.ndim == 2 and p.shape[1] != len(names):
            raise ValueError(f"classes has {len(names)} names, but {name} {p.shape[1]} columns")
        index_of: dict[Any, int] = {k: k for k in range(-1, len(names))}
    elif words:
        names = tuple(sorted({cell for _, cell in words}))
        index_of = {-1: -1}
        for key, a in columns.items():
            if key not in named:
                raise ValueError(
                    f"{words[0][0]} has names, such as {words[0][1]!r}, but {key} has "
                    f"{'columns' if a.ndim == 2 else 'indices'}; give classes, the names in order"
                )
    else:
        return columns.get("truth"), p, None
    index_of |= {cell: k for k, cell in enumerate(names)}
    for key, a in columns.items():
        if a.ndim == 1:
            columns[key] = factorized_indices(factorize(a.tolist()), names, index_of, key)
    return columns.get("truth"), columns[name], len(names)


def _as_array(column: ArrayLike) -> Array:
    """Return an array in which None and NaN stay what they are beside text."""
    a = np.asarray(column)
    return np.asarray(column, dtype=np.object_) if a.dtype.kind == "U" else a


def true_classes(truth: ArrayLike, rows: int) -> Ints:
    """Return the true classes (T,), one per row of the prediction."""
    y = np.asarray(truth)
    if y.ndim != 1 or y.size != rows:
        raise ValueError(f"truth has shape {y.shape}, the prediction {rows} rows; they must agree")
    return as_class_indices("truth", y)


def as_class_indices(name: str, a: NDArray[Any]) -> Ints:
    """Return class indices, if they are whole numbers."""
    if a.dtype.kind not in "iu" and not (a.dtype.kind == "f" and np.all(a == np.floor(a))):
        raise ValueError(f"{name} must hold class indices (whole numbers); it is {a.dtype}")
    indices: Ints = a.astype(np.intp)
    return indices


def predicted_classes(pred: ArrayLike) -> Ints:
    """Return class indices (T,) of probabilities (T, K) or of indices."""
    a = np.asarray(pred)
    if a.ndim == 1:
        return as_class_indices("pred", a)
    labels: Ints = finite_probs(a).argmax(axis=1)
    return labels


def finite_probs(probs: ArrayLike) -> Floats:
    """Return probabilities (T, K)."""
    p = np.asarray(probs, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] < 1:
        raise ValueError(f"probs has shape {p.shape}; it must be (T, K)")
    bad = ~np.isfinite(p).all(axis=1)
    if bad.any():
        raise ValueError(f"probs, row {int(bad.argmax())}: not finite; leave such rows out")
    return p


def labelled_pair(
    truth: ArrayLike, pred: ArrayLike, classes: ClassNames = None
) -> tuple[Ints, Ints, int | None]:
    """Return true and predicted classes of the labelled rows, and K where it is known."""
    y, p, K = without_names(truth, pred, classes)
    k = predicted_classes(p)
    y = true_classes(y, k.size)
    keep = labelled(y)
    if k[keep].min() < 0:
        raise ValueError("pred has a negative class index in a labelled row")
    return y[keep], k[keep], p.shape[1] if p.ndim == 2 else K


def labelled_probs(
    truth: ArrayLike, probs: ArrayLike, classes: ClassNames = None
) -> tuple[Ints, Floats]:
    """Return truth and probabilities of the labelled rows."""
    y, p, _ = without_names(truth, probs, classes, "probs")
    p = finite_probs(p)
    y = true_classes(y, len(p))
    keep = labelled(y)
    if y.max() >= p.shape[1]:
        raise ValueError(f"truth has class {y.max()}, but probs has only {p.shape[1]} columns")
    return y[keep], p[keep]


def labelled(y: Ints) -> NDArray[np.bool_]:
    """Return which rows have a label; there must be one."""
    keep: NDArray[np.bool_] = y >= 0
    if not keep.any():
        raise ValueError("truth has no labelled row (0 or more)")
    return keep


def increasing(time: ArrayLike, rows: int) -> Floats:
    """Return the times (T,), if they increase."""
    t = np.asarray(time, dtype=np.float64)
    if t.shape != (rows,):
        raise ValueError(f"time has shape {t.shape}; it must be ({rows},) like the prediction")
    if not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0):
        raise ValueError("time must be finite and increase from row to row")
    return t


def joined_rows(time: Floats, keep: NDArray[np.bool_], max_gap: float | None) -> NDArray[np.bool_]:
    """Return for each pair of neighbours (T - 1,) whether the stream continues between them."""
    dt = np.diff(time)
    if dt.size == 0:
        return np.zeros(0, dtype=bool)
    limit = 10 * median_step(dt) if max_gap is None else max_gap
    joined: NDArray[np.bool_] = keep[1:] & keep[:-1] & (dt <= limit)
    return joined
