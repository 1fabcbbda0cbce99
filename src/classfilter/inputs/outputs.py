"""Predictions as numbers: in order or by name, logits, scores of labels, a class, how sure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ArgumentError, RowError
from ..support.arrays import as_plain
from ..support.types import Array, Bools, Confidence, Floats, Ints, is_number
from ..support.validation import is_missing
from .classes import class_indices, in_order, is_series, names_of
from .heads import Heads


def label_scores(values: Any, labels: Sequence[Any], argument: str = "probs") -> Floats:
    """Return the scores of many rows, (T, L), checked; NaN where a label was not observed.

    Parameters
    ----------
    values : array_like (T, L), dataframe, mapping of columns, or list of mappings
        In the order of the labels, or by their names. Of one label, (T,) is enough.
    labels : sequence
        Their names.
    argument : str
        Its name, for errors.
    """
    values = as_plain(values)
    named = isinstance(values, (list, tuple)) and any(
        isinstance(row, Mapping) or is_series(row) for row in values
    )
    rows = [_row(row, labels, i) for i, row in enumerate(values)] if named else values
    cells = rows if named else in_order(rows, labels)
    L = len(labels)
    if argument != "predicted":  # decisions may be scored too
        _refuse_booleans(cells, argument)
    try:
        array = np.array(_without_none(cells), np.float64)
    except (TypeError, ValueError, OverflowError):
        must, fix = (
            f"it must be numbers, (T, {L})",
            "give one score per label, NaN where there is none",
        )
        raise ArgumentError(argument, type(values).__name__, must, fix, problem="is a {}") from None
    if array.ndim == 1 and (L == 1 or array.size == 0):
        array = array.reshape(-1, L)
    if array.ndim != 2 or array.shape[1] != L:
        problem, must = "has shape {}", f"it must be (T, {L}), one score per label"
        raise ArgumentError(argument, array.shape, problem=problem, must=must)
    check_label_scores(array, labels, argument)
    return array


def one_row(value: Any, labels: Sequence[Any], argument: str = "probs") -> Floats:
    """Return the scores of one row, (L,), checked; NaN where a label was not observed."""
    L = len(labels)
    numbers = in_order(as_plain(value), labels, of_one_row=True)
    if value is None:
        numbers = np.full(L, np.nan)
    elif L == 1 and is_number(numbers):
        numbers = [numbers]
    _refuse_booleans(numbers, argument)
    try:
        row = np.array(_without_none(numbers), np.float64)
    except (TypeError, ValueError, OverflowError):
        fix = "give one score per label, NaN where there is none"
        raise RowError(argument, value, must=f"it must be {L} numbers", fix=fix) from None
    if row.shape != (L,):
        raise RowError(
            argument,
            row.shape,
            problem="has shape {}",
            must=f"it must be ({L},), one score per label",
        )
    try:
        check_label_scores(row[None], labels, argument)
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


def check_label_scores(scores: Floats, labels: Sequence[Any], argument: str = "probs") -> None:
    """Raise for the first score of (T, L) outside [0, 1]; NaN is a label that was not observed."""
    invalid = ~((scores >= 0) & (scores <= 1) | np.isnan(scores))
    remedy = "percentages need a division by 100, logits a sigmoid"
    _refuse(invalid, scores, labels, argument, "it must lie in [0, 1]", remedy)


def truth_of_heads(values: Any, heads: Heads, argument: str = "label") -> Ints:
    """Return the true class of each head, (T, H): of a label 1 or 0; -1 where it is not known."""
    cells, H = np.asarray(values), len(heads.names)
    if cells.dtype.kind not in "biuf" or cells.ndim != 2 or cells.shape[1] != H:
        must = f"it must be (T, {H}): of each label whether it is true"
        raise ArgumentError(
            argument,
            cells.shape,
            problem="has shape {}",
            must=must,
            fix="give 1, 0, or -1 if unknown",
        )
    truth = np.where(np.isnan(cells), -1, cells) if cells.dtype.kind == "f" else cells.astype(int)
    most = np.array(heads.sizes) - 1
    must = "it must be 1, 0, or -1 where it is not known"
    if heads.width > 2:
        must = f"it must be the index of a class, 0 to {most.tolist()}, or -1 where it is not known"
    invalid = (truth != np.floor(truth)) | (truth < -1) | (truth > most)
    _refuse(invalid, truth, heads.names, argument, must)
    return truth.astype(np.intp)


def _refuse(
    invalid: Array,
    numbers: Array,
    labels: Sequence[Any],
    argument: str,
    rule: str,
    remedy: str = "",
) -> None:
    """Raise for the first number of (T, L) that is invalid, if any is."""
    if invalid.any():
        row, k = map(int, np.unravel_index(invalid.argmax(), invalid.shape))
        value = numbers[row, k].item()
        raise RowError(argument, value, must=rule, fix=remedy, row=row, entry=str(labels[k]))


def pairs(scores: Floats) -> Floats:
    """Return scores as the rows of filters of two classes, off and on, on a new last axis.

    Examples
    --------
    >>> pairs(np.array([0.25, 1.0])).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    return np.stack([1 - scores, scores], axis=-1)


def _refuse_booleans(cells: Any, argument: str) -> None:
    """Raise for True and False, which NumPy would take as 1 and 0."""
    try:
        _core.check_no_booleans(cells if isinstance(cells, (list, tuple)) else np.asarray(cells))
    except RowError as error:
        raise error.replaced(argument=argument) from None


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


INDEPENDENT = "independent"
SCORES = (
    "probabilities",
    "logits",
    "percent",
    INDEPENDENT,
    f"{INDEPENDENT}-logits",
    f"{INDEPENDENT}-percent",
)
"""How the numbers of a table may be meant."""


def softmax(scores: ArrayLike, temperature: float = 1.0) -> Floats:
    r"""Return logits as class probabilities.

    .. math:: p_k = \frac{\exp(s_k / T)}{\sum_j \exp(s_j / T)}

    Parameters
    ----------
    scores : array_like (K,) or (T, K)
        The logits, one per class. A row of NaN, a missing observation, stays NaN.
    temperature : float, default 1
        More than 1 makes the probabilities more even: many networks are too sure of themselves.

    Returns
    -------
    ndarray of the same shape
        Each row sums to 1.

    Examples
    --------
    >>> softmax([2.0, 0.0, 1.0]).round(3)
    array([0.665, 0.09 , 0.245])
    >>> softmax([2.0, 0.0, 1.0], temperature=3.0).round(3)
    array([0.448, 0.23 , 0.321])
    """
    if not is_number(temperature) or not 0 < temperature < np.inf:
        raise ArgumentError("temperature", temperature, must="it must be positive and finite")
    s = np.array(scores, np.float64)
    if s.ndim not in (1, 2) or s.shape[-1] < 2:
        raise ValueError(f"scores has shape {s.shape}; it must be (K,) or (T, K), one per class")
    highest = s.max(axis=-1, keepdims=True)
    missing = np.isnan(s).all(axis=-1, keepdims=True)
    invalid = ~(np.isfinite(highest) | missing)
    if invalid.any():
        row = int(invalid.argmax())
        must = "it must hold finite numbers, or only NaN where nothing was observed"
        raise RowError("scores", s.reshape(-1, s.shape[-1])[row].tolist(), must=must, row=row)
    e: Floats = np.exp((s - highest) / temperature)
    e /= e.sum(axis=-1, keepdims=True)
    return e


def check_scores(scores: Any) -> str:
    """Return how the numbers of a table are meant, checked."""
    if scores not in SCORES:
        raise ArgumentError("scores", scores, must=f"it must be one of {', '.join(SCORES)}")
    return str(scores)


DEFAULT_RELIABILITY = 0.7
"""How probable a class is that comes without confidence, from a source without a channel.

The other classes share the rest evenly. On four sets, no larger value was more accurate or had a
better log-loss on average, and with larger values the class changed more often.
"""

LABEL = (str, int, np.integer, np.bool_, type(None))
"""The types of one class; None where there is none."""
_PLAIN = (list, tuple, np.ndarray, float)
"""The usual types of rows, and of entries of one."""


class Predictions(NamedTuple):
    """Predictions of many rows, checked.

    Attributes
    ----------
    probs : ndarray (T, K)
        In the order of the classes. Classes without confidence are one-hot; NaN where missing.
    one_hot : ndarray of bool (T,)
        Which rows are classes without confidence.
    """

    probs: Floats
    one_hot: Bools


def as_probabilities(numbers: Floats, kind: str, heads: Heads) -> Floats:
    """Return numbers (T, C), which may be logits or percentages, as probabilities.

    Those of labels are checked; for other heads, see `check_heads`.
    """
    if heads.is_exclusive and kind == SCORES[0]:
        return numbers
    kind, probs = kind.removeprefix(f"{INDEPENDENT}-"), np.empty_like(numbers)
    labels = [heads.spans[h].start for h in heads.labels]
    if labels:
        names = [heads.shown[column] for column in labels]
        probs[:, labels] = as_label_scores(numbers[:, labels], kind, names)
    for h, columns in enumerate(heads.spans):
        if h not in heads.labels:
            part = numbers[:, columns]
            probs[:, columns] = softmax(part) if kind == "logits" else part
            if kind == "percent":
                probs[:, columns] /= 100
    return probs


def check_heads(probs: Floats, heads: Heads) -> None:
    """Let the C core check the probabilities (T, C) of heads that are no labels, as filters do."""
    for h, columns in enumerate(heads.spans):
        if h in heads.labels:
            continue
        try:
            _core.check_rows(heads.sizes[h], probs[:, columns], 1.0, 0.0)
        except RowError as error:
            name = None if error.entry is None else str(heads.shown[columns][int(error.entry)])
            raise error.replaced(entry=name) from None


def predictions(probs: Any, heads: Heads, confidence: Confidence | None = None) -> Predictions:
    """Return the predictions of many rows, checked by the C core as a filter checks them.

    Parameters
    ----------
    probs : array_like (T, C), dataframe, mapping of columns, or classes (T,)
        See `in_order` for names. Or a list, each entry of which is one `prediction`.
    heads : Heads
        What the columns are. Only where they exclude each other, classes can be predicted.
    confidence : float or array_like (T,), optional
        Of classes: how probable each is, None where that is not known.
    """
    classes = heads.shown
    if not heads.is_exclusive:
        _require_classes(confidence, "scores need none")
        scores = label_scores(probs, classes)
        check_heads(scores, heads)
        return Predictions(scores, np.zeros(len(scores), bool))
    probs = as_plain(probs)
    labels = as_labels(probs)
    if labels is None and confidence is not None and np.size(probs) == 0:
        labels = np.empty(0, np.intp)  # no rows: a frame of a video without objects
    if labels is not None:
        indices = class_indices(labels, tuple(map(str, classes)), "probs")
        top = np.full(len(indices), np.nan)
        if confidence is not None:
            top = _confidences(confidence, indices)
        return from_labels(indices, top, len(classes))
    _require_classes(confidence)
    each = _one_by_one(probs, classes) if _is_mixed(probs) else in_order(probs, classes)
    p = _matrix(each, len(classes))
    check_heads(p, heads)
    one_hot = np.zeros(len(p), bool)
    if each is not probs and isinstance(probs, (list, tuple)):
        one_hot = np.array([isinstance(row, LABEL) for row in probs], bool) & ~np.isnan(p[:, 0])
    return Predictions(p, one_hot)


def _is_mixed(rows: Any) -> bool:
    """Return whether a list has rows that are not plain numbers."""
    return isinstance(rows, (list, tuple)) and any(
        type(row) not in _PLAIN and (isinstance(row, (*LABEL, Mapping)) or is_series(row))
        for row in rows
    )


def _one_by_one(rows: Sequence[Any], classes: Sequence[Any]) -> list[Any]:
    """Return each row as numbers; classes as one-hot rows."""
    read = []
    for number, row in enumerate(rows):
        try:
            read.append(prediction(row, classes, certain=True))
        except RowError as error:
            raise error.replaced(row=number) from None
    return read


def prediction(
    value: Any, classes: Sequence[Any], confidence: Any = None, *, certain: bool = False
) -> Any:
    """Return one prediction as K numbers, in the order of the classes.

    Numbers without names are returned as they are, for the filter to check. A class counts with its
    confidence, or else with `DEFAULT_RELIABILITY`; `certain` is for a source with a channel, which
    says how often the source is right.

    Examples
    --------
    >>> prediction({"sit": 0.25, "walk": 0.75}, ["walk", "sit"])
    array([0.75, 0.25])
    >>> prediction("sit", ["walk", "sit"], confidence=0.75)
    array([0.25, 0.75])
    """
    value = as_plain(value)
    if not isinstance(value, LABEL):
        _require_classes(confidence)
        return in_order(value, classes, of_one_row=True)
    try:
        cells = np.array([value], dtype=np.object_)
        (k,) = class_indices(cells, tuple(map(str, classes)), "probs").tolist()
        top = 1.0 if certain else DEFAULT_RELIABILITY
        if confidence is not None and k >= 0:
            (top,) = _confidences([confidence], np.array([k])).tolist()
    except RowError as error:
        raise error.replaced(row=None) from None
    return np.array(label_row(k, top, len(classes)))


def head_prediction(
    value: Any, heads: Heads, confidence: Any = None, *, certain: bool = False
) -> Any:
    """Return one `prediction` of any heads as C numbers, in the order of the columns."""
    if heads.is_exclusive:
        return prediction(value, heads.shown, confidence, certain=certain)
    _require_classes(confidence, "scores need none")
    row = one_row(value, heads.shown)
    check_heads(row[None], heads)
    return row


def for_filter(values: Any, classes: Sequence[Any], confidence: Confidence | None = None) -> Any:
    """Return many predictions as rows for a filter without channels.

    Numbers without names are returned as they are, for the filter to check.
    """
    values = as_plain(values)
    if not isinstance(values, (list, tuple)) and names_of(values) is None:
        values = np.asarray(values)  # once: it may be anyone's code
    labels = as_labels(values)
    # Numbers with a point are rather one row of probabilities than indices.
    none_is_a_class = labels is None or labels.dtype.kind == "f"
    if confidence is None and none_is_a_class and not _is_mixed(values):
        return in_order(values, classes)
    return at_reliability(*predictions(values, Heads.exclusive(classes), confidence))


def from_labels(labels: Ints, top: Floats, K: int) -> Predictions:
    """Return class indices as predictions, (T, K): of each, `top`, and the others share the rest.

    A row whose `top` is NaN has no confidence; one whose index is negative is missing.

    Examples
    --------
    >>> from_labels(np.array([1, -1, 0]), np.array([0.5, 1.0, np.nan]), 3)
    Predictions(probs=array([[0.25, 0.5 , 0.25],
           [ nan,  nan,  nan],
           [1.  , 0.  , 0.  ]]), one_hot=array([False, False,  True]))
    """
    is_label = labels >= 0
    one_hot = is_label & np.isnan(top)
    top = np.where(one_hot, 1.0, np.where(is_label, top, np.nan))[:, None]
    probs: Floats = np.where(labels[:, None] == np.arange(K), top, (1 - top) / (K - 1))
    return Predictions(probs, one_hot)


def label_row(k: int, top: float, K: int) -> list[float]:
    """Return a row of `from_labels`; all NaN where the index is negative."""
    row = [(1 - top) / (K - 1) if k >= 0 else math.nan] * K
    if k >= 0:
        row[k] = top
    return row


def at_reliability(
    probs: Floats, one_hot: Bools, reliability: float = DEFAULT_RELIABILITY
) -> Floats:
    """Return predictions (T, K) whose classes without confidence count by a reliability."""
    if not one_hot.any():
        return probs
    labels = np.where(one_hot, probs.argmax(axis=1), -1)
    reliable = from_labels(labels, np.full(len(labels), reliability), probs.shape[1])
    return np.where(one_hot[:, None], reliable.probs, probs)


def as_labels(outputs: Any) -> Array | None:
    """Return outputs as a column of labels, if they are names or class indices; otherwise None."""
    try:
        column = np.asarray(outputs)
    except ValueError:  # rows of unequal length
        return None
    if column.ndim != 1 or not column.size:
        return None
    if column.dtype.kind == "f":  # indices beside NaN
        return column if np.all(np.isnan(column) | (column == np.floor(column))) else None
    if column.dtype.kind not in "iuUOb":
        return None
    cells = np.asarray(outputs, dtype=np.object_)
    labels = all(isinstance(x, LABEL) or is_missing(x) for x in cells.tolist())
    return (column if column.dtype.kind in "iu" else cells) if labels else None


def _require_classes(confidence: Any, of_scores: str = "") -> None:
    if confidence is not None:
        problem = "is given, but probs holds no classes"
        fix = "give a class for each row, by name or by index, or leave confidence out"
        fix = f"leave it out: {of_scores}" if of_scores else fix
        raise ArgumentError("confidence", confidence, problem=problem, fix=fix)


def _confidences(confidence: Any, labels: Ints) -> Floats:
    """Return the confidence of each label (T,), checked; NaN where there is none."""
    confidence = as_plain(confidence)
    array = np.asarray(confidence)
    array = np.full(len(labels), array) if array.ndim == 0 else array
    if array.shape != labels.shape:
        problem = f"has {{}} entries, but probs has {len(labels)} rows"
        raise ArgumentError("confidence", len(array), problem=problem, fix="give one per row")
    if array.dtype.kind in "iuf" and ((array >= 0) & (array <= 1)).all():
        return array.astype(np.float64)
    cells = np.broadcast_to(np.asarray(confidence, dtype=np.object_), labels.shape)
    top = np.full(len(labels), np.nan)
    for row, (cell, k) in enumerate(zip(cells.tolist(), labels.tolist(), strict=True)):
        if cell is None or k < 0:
            continue
        number = is_number(cell)
        if not number or not 0 <= cell <= 1:
            fix = "divide percentages by 100" if number and 1 < cell <= 100 else ""
            fix = fix or "give None where there is none" * (cell != cell)
            must = "it must lie in [0, 1]"
            raise RowError("confidence", cell, must=must, fix=fix, row=row)
        top[row] = cell
    return top


def _matrix(probs: Any, K: int) -> Floats:
    """Return a copy of shape (T, K); an error names the row that does not fit."""
    _core.check_no_booleans(probs)
    try:
        array = np.asarray(probs)
        if array.dtype.kind in "iuf" and array.ndim == 2 and array.shape[1] == K:
            return array.astype(np.float64)
    except ValueError:  # rows of unequal length
        pass
    rows = list(probs) if isinstance(probs, Iterable) else []
    p: Floats = np.empty((len(rows), K))
    for row, entries in enumerate(rows):
        cells = list(entries) if isinstance(entries, Iterable) else [entries]
        _core.check_no_booleans(cells)
        if len(cells) != K:
            problem = f"has {{}} entries, but there are {K} classes"
            fix = "give one probability per class"
            raise RowError("probs", len(cells), problem=problem, fix=fix, row=row)
        for k, cell in enumerate(cells):
            if not (cell is None or is_number(cell)):
                raise RowError(
                    "probs", cell, problem="has {}", must="it must hold numbers", row=row
                )
            p[row, k] = math.nan if cell is None else cell
    return p
