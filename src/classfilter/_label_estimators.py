"""scikit-learn's ways to say several labels at once: indicator matrices, and lists of outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ._class_columns import named_classes
from ._errors import ArgumentError
from ._support.types import Array, Floats, Ints


class Indicator(NamedTuple):
    """The labels (L,), and whether each row has each, (T, L): 1 or 0."""

    labels: Array
    matrix: Ints


def indicator(y: Any) -> Indicator | None:
    """Return several labels at once as an indicator matrix; None of classes (T,)."""
    matrix = np.asarray(y.toarray() if hasattr(y, "toarray") else y)  # it may be sparse
    if matrix.ndim != 2 or matrix.shape[1] == 1:
        return None
    remedy = "give one column per label, 1 where it is true and 0 where not"
    if type_of_target(matrix) != "multilabel-indicator":
        raise ArgumentError("y", matrix.shape, "has shape {}, but is no indicator", remedy=remedy)
    if not np.isin(matrix, (0, 1)).all():
        values = np.unique(matrix).tolist()
        raise ArgumentError("y", values, "has the values {}", "an indicator has 0 and 1", remedy)
    names = named_classes(y)
    labels = np.arange(matrix.shape[1]) if names is None else np.array(names, np.object_)
    return Indicator(labels, matrix.astype(np.intp))


def label_probabilities(model: Any, outputs: Any, labels: int) -> Floats:
    """Return the probability of each label, (T, L), from what `predict_proba` of a model returned.

    That is (T, L) or a list of L arrays (T, classes of the label): one column where it had one.
    """
    if not isinstance(outputs, list):
        probs = np.asarray(outputs, np.float64)
        if probs.ndim != 2 or probs.shape[1] != labels:
            rule = f"it must be (T, {labels}), or a list of {labels} arrays"
            remedy = "wrap it in sklearn.multioutput.MultiOutputClassifier"
            what = "predict_proba of estimator"
            raise ArgumentError(what, probs.shape, "has shape {}", rule, remedy)
        return probs
    columns = [
        np.asarray(output, np.float64)[:, np.asarray(classes) == 1].sum(axis=1)
        for output, classes in zip(outputs, model.classes_, strict=True)
    ]
    return np.stack(columns, axis=1)
