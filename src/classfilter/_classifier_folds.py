"""Predictions for rows that their model was not fitted on: streams in folds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import _safe_indexing, indexable

from ._classifier_streams import RowsByStream
from ._label_estimators import label_probabilities
from ._support.types import Array, Floats, Ints


def out_of_fold(
    estimator: Any,
    cv: Any,
    classes: Array,
    X: Any,
    y: Array,
    streams: RowsByStream,
    params: dict[str, Any],
) -> Floats:
    """Return predictions for rows that their model was not fitted on (T, K); NaN where none."""
    (X,) = indexable(X)
    probs: Floats = np.full((len(y), len(classes)), np.nan)
    for train, test in _folds(cv, y, streams):
        if len(np.unique(y[train])) < 2:
            continue
        per_row = {
            name: _safe_indexing(value, train) if _is_column(value, len(y)) else value
            for name, value in params.items()
        }
        try:
            model = clone(estimator).fit(_safe_indexing(X, train), y[train], **per_row)
        except ValueError:
            # Many estimators refuse a label that is the same in all rows.
            if y.ndim == 2 and (y[train] == y[train[0]]).all(axis=0).any():
                continue
            raise
        outputs = model.predict_proba(_safe_indexing(X, test))
        if y.ndim == 2:
            probs[test] = label_probabilities(model, outputs, len(classes))
            continue
        probs[test] = 0.0
        probs[np.ix_(test, positions(model.classes_, classes))] = outputs
    return probs


def _folds(cv: Any, y: Array, streams: RowsByStream) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows to fit on and to predict, streams and times in order."""
    order = np.concatenate(streams.rows)
    stream = np.repeat(np.arange(len(streams.rows)), [len(rows) for rows in streams.rows])
    several = len(streams.rows) > 1
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv is {cv}; it must be 2 or more folds, or a splitter")
        alike = len(y) if y.ndim == 2 else int(np.unique(y, return_counts=True)[1].max())
        most = min(int(cv), alike)
        if most < 2:
            return
        few = min(most, len(streams.rows))
        kinds = (GroupKFold, KFold) if y.ndim == 2 else (StratifiedGroupKFold, StratifiedKFold)
        cv = kinds[0](few) if several else kinds[1](most)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is no harm here.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        groups = stream if several else None
        splits = list(check_cv(cv, classifier=True).split(order, y[order], groups))
    for train, test in splits:
        yield order[train], order[test]


def positions(values: Array, classes: Array) -> Ints:
    """Return the index of each value in the classes."""
    positions: Ints = np.asarray(values[:, None] == classes).argmax(axis=1)
    return positions


def _is_column(value: Any, n: int) -> bool:
    """Return whether a parameter has one entry per row."""
    return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n
