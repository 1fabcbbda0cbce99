"""What a metric takes: true classes, predictions and times that fit, or a word on what does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._typing import Floats, Ints


def true_classes(truth: ArrayLike, rows: int) -> Ints:
    """Return the true classes (T,), one a row of the prediction."""
    y = np.asarray(truth)
    if y.ndim != 1 or y.size != rows:
        raise ValueError(f"truth has shape {y.shape}, the prediction {rows} rows; they must agree")
    return as_class_indices("truth", y)


def as_class_indices(name: str, a: NDArray[Any]) -> Ints:
    """Return class indices, if they are whole numbers."""
    if a.dtype.kind not in "iu" and not (a.dtype.kind == "f" and np.all(a == np.floor(a))):
        raise ValueError(f"{name} must hold class indices (whole numbers); it is {a.dtype}")
    found: Ints = a.astype(np.intp)
    return found


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


def labelled_pair(truth: ArrayLike, pred: ArrayLike) -> tuple[Ints, Ints]:
    """Return true and called classes of the labelled rows."""
    k = predicted_classes(pred)
    y = true_classes(truth, k.size)
    keep = labelled(y)
    if k[keep].min() < 0:
        raise ValueError("pred has a negative class index in a labelled row")
    return y[keep], k[keep]


def labelled_probs(truth: ArrayLike, probs: ArrayLike) -> tuple[Ints, Floats]:
    """Return truth and probabilities of the labelled rows."""
    p = finite_probs(probs)
    y = true_classes(truth, len(p))
    keep = labelled(y)
    if y.max() >= p.shape[1]:
        raise ValueError(f"truth has class {y.max()}, but probs has only {p.shape[1]} columns")
    return y[keep], p[keep]


def labelled(y: Ints) -> NDArray[np.bool_]:
    """Say which rows have a label; there must be one."""
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
