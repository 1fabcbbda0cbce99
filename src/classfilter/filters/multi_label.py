"""Several heads at once, such as labels that are on or off: one filter for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ArgumentError, RowError
from ..inputs import Heads, check_heads, label_scores, one_row, results_like
from ..support.types import Array, Classes
from ..support.validation import class_names
from .base import BaseFilter, CompiledFilter, Filter, with_options
from .runner import StreamRunner, pack_state, unpack_state


class MultiLabelFilter(BaseFilter, of_heads=True):
    """Labels that may be true at once, such as the birds in a recording, each filtered by itself.

    A row is one score per label, each in [0, 1]; they need not sum to 1. Each label has a filter of
    two classes, off and on, which gets ``[1 - score, score]``; the results are its probabilities of
    on, to the bit. NaN is a label that was not observed: for it only time passes.

    Heads of several classes, such as activity and posture, are filtered beside each other too; a
    row has the probabilities of their classes, one head after the other.

    Parameters
    ----------
    labels : int, iterable, or mapping of heads to their classes
        The number of labels, or their names; one is enough. Or the classes of each head, None of a
        label.
    filter : Filter, or mapping of label to Filter
        A filter of two classes for all labels, or one for each. Its settings are used, not its
        state. Of heads, one with as many classes as the head.

    Examples
    --------
    >>> import classfilter as cf
    >>> f = cf.MultiLabelFilter(["robin", "wren"], cf.StickyFilter(2, dwell=30.0))
    >>> f.update([0.9, 0.8]).round(2)
    array([0.9, 0.8])
    >>> f.update({"wren": 0.3, "robin": 0.6}).round(2)
    array([0.91, 0.6 ])
    >>> f.label
    ('robin', 'wren')
    """

    _kind = "multi_label"

    def __init__(self, labels: Classes | Mapping[Any, Classes | None], filter: Any) -> None:  # noqa: A002
        if isinstance(labels, Mapping):
            self._heads = Heads.of_classes(labels)
            self._classes = self._heads.shown
            self._layout: Any = dict(labels)
        else:
            self._classes = self._layout = class_names(labels, 1, "labels")
            self._heads = Heads.of_labels(map(str, self._classes))
        fresh = _filters_of(self._heads, filter)
        dtypes = {f.probs.dtype for f in fresh}
        if len(dtypes) > 1:
            names = sorted(map(str, dtypes))
            raise ArgumentError("filter", names, problem="has filters of {}", fix="give one dtype")
        self._dtype: np.dtype[Any] = dtypes.pop()
        self._options = {"filter": dict(zip(self._layout, fresh, strict=True))}
        self._filters = [f.copy() for f in fresh]
        half_lives = [f._half_life for f in fresh if getattr(f, "_half_life", None)]
        self._half_life = min(half_lives, default=None)
        if all(isinstance(f, CompiledFilter) for f in fresh):
            of_labels = tuple(h in self._heads.labels for h in range(len(fresh)))
            read = partial(_read_row, self._heads, self._classes)
            core = _core.Heads(tuple(f.copy() for f in fresh), of_labels, read)
            self._update_stream, self._run_streams = core._update_stream, core._run_streams

    def _first_argument(self) -> Any:
        return self._layout

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the arithmetic."""
        return self._dtype

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filter of each label or head, in its initial state."""
        return tuple(f.copy() for f in self._options["filter"].values())

    @property
    def probs(self) -> Array:
        """The current probability of each label, or of each class of the heads, shape (C,)."""
        each = zip(self._filters, self._heads.columns, strict=True)
        return np.concatenate([f.probs[-len(shown) :] for f, shown in each])

    @property
    def label(self) -> tuple[Any, ...]:
        """The labels that are on, more probable than not, and the most probable class of heads."""
        labels: list[Any] = []
        for h, (f, span) in enumerate(zip(self._filters, self._heads.spans, strict=True)):
            names, p = self._classes[span], f.probs
            if h not in self._heads.labels:
                labels.append(names[int(p.argmax())])
            elif p[1] > 0.5:
                labels.append(names[0])
        return tuple(labels)

    @property
    def state(self) -> tuple[Array, ...]:
        """All that the filter remembers, the numbers of each label; assign it to restore."""
        return tuple(pack_state(f.state, self._dtype) for f in self._filters)

    @state.setter
    def state(self, state: Any) -> None:
        rows = [np.asarray(row, self._dtype) for row in state]
        if len(rows) != len(self._filters):
            must = f"it must have {len(self._filters)}, one per label"
            raise ArgumentError("state", len(rows), problem="has {} parts", must=must)
        for row, like, name in zip(rows, self.state, self._heads.names, strict=True):
            if row.shape != like.shape:
                must = f"a state of the filter has {like.shape}"
                raise ArgumentError(
                    "state", row.shape, problem="has shape {}", must=must, entry=name
                )
        filters = [f.copy() for f in self._filters]
        for f, row in zip(filters, rows, strict=True):
            f.state = unpack_state(f, row)
        self._filters = filters  # all of them, or none

    def reset(self) -> None:
        """Return to the state before any data."""
        for f in self._filters:
            f.reset()

    def update(self, scores: Any, beta: Any = 1.0, dt: float = 1.0) -> Array:
        """Let `dt` time units pass, then observe one score per label, shape (L,).

        They are in the order of the labels, or by their names; or they are probabilities of each
        head already, shape (H, K), as a channel returns them. `beta` is the weight of all, or of
        each label, shape (L,). Return the probability of each label, shape (L,).
        """
        row = scores
        if not (isinstance(scores, np.ndarray) and scores.ndim == 2):
            row = _read_row(self._heads, self._classes, scores)
        weights = np.asarray(beta)
        _check_shape("beta", weights, [(), (len(self._filters),)])
        _check_shape("dt", dt, [()])
        weights = weights[None] if weights.ndim else weights
        try:
            estimate: Array = self.run(row[None], weights, dt)[0]
        except RowError as error:
            raise error.replaced(row=None, entry=None) from None
        return estimate

    def run(self, scores: Any, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> Any:
        """Update with every row of (T, L) in turn: exactly a loop of `update`.

        `beta` is one weight, one per row, (T,), or one per row and label, (T, L). Of a dataframe,
        whose columns are matched by name, the result is one of the same kind.
        """
        _check_shape("dt", dt, [(), (len(scores),)])
        filters = [f.copy() for f in self._filters]
        columns = self._of_each(
            lambda f, rows, weights: f.run(rows, weights, dt), scores, beta, filters
        )
        self._filters = filters  # all of them, or none
        return results_like(scores, self._classes, columns)

    def _of_each(
        self,
        work: Callable[[Any, Array, Array], Array],
        scores: Any,
        beta: ArrayLike,
        filters: list[Any] | None = None,
    ) -> Array:
        """Return what some work finds for each head by itself, as columns (T, C).

        It gets the filter of the head, its rows (T, K), and their weights.
        """
        heads, weights = self._heads, np.asarray(beta)
        if isinstance(scores, np.ndarray) and scores.ndim == 3:
            stack = np.asarray(scores, self._dtype)
        else:
            rows = label_scores(scores, self._classes, "scores")
            check_heads(rows, heads)
            stack = heads.stacked(rows.astype(self._dtype, copy=False))
        T, H = len(stack), len(heads.names)
        _check_shape("beta", weights, [(), (T,), (T, H)])
        columns: Array = np.empty((T, len(self._classes)), self._dtype)
        for h, (f, span) in enumerate(zip(filters or self._filters, heads.spans, strict=True)):
            rows = np.ascontiguousarray(stack[:, h, : heads.sizes[h]])
            head_weights = np.asarray(weights[:, h] if weights.ndim == 2 else weights, order="C")
            columns[:, span] = work(f, rows, head_weights)[:, -len(heads.columns[h]) :]
        return columns

    def _with_options(self, **options: Any) -> MultiLabelFilter:
        new = {id(f): with_options(f, **options) for f in self._options["filter"].values()}
        each = {name: new[id(f)] for name, f in self._options["filter"].items()}
        return type(self)(self._layout, each)

    def _check_states(self, states: Array) -> None:
        """Raise unless each row of numbers is a state of the filter."""
        ends = np.cumsum([len(part) for part in self.state])
        parts = np.split(states, ends[:-1], axis=1)
        for f, part in zip(self._filters, parts, strict=True):
            StreamRunner(f).check_states(np.ascontiguousarray(part))

    def __repr__(self) -> str:
        each = {id(f): f for f in self._options["filter"].values()}
        shown = repr(next(iter(each.values()))) if len(each) == 1 else f"{len(each)} filters"
        return f"MultiLabelFilter({list(self._classes)}, {shown})"


def _check_shape(name: str, value: Any, shapes: list[tuple[int, ...]]) -> None:
    if np.shape(value) not in shapes:
        must = f"it must be {' or '.join(map(str, shapes))}"
        raise ArgumentError(name, np.shape(value), problem="has shape {}", must=must)


def _read_row(heads: Heads, names: tuple[Any, ...], scores: Any) -> Array:
    """Return one row, (C,), checked."""
    row = one_row(scores, names, "scores")
    check_heads(row[None], heads)
    return row


def heads_of_filter(f: Any) -> Heads:
    """Return what the columns of a filter are, named by text."""
    heads: Heads | None = getattr(f, "_heads", None)
    return Heads.exclusive(map(str, f.classes)) if heads is None else heads


def with_classes(f: Any, classes: Classes) -> Any:
    """Return a fresh filter with the same settings for other classes, as many."""
    return type(f)(classes, **f._options)


def _filters_of(heads: Heads, filters: Any) -> tuple[Any, ...]:
    """Return a fresh filter for each head; those that share one go on sharing it."""
    by_head = dict.fromkeys(heads.names, filters)
    if isinstance(filters, Mapping):
        by_head = {str(name): f for name, f in filters.items()}
        if set(by_head) != set(heads.names):
            problem = f"names {{}}, but the labels are {list(heads.names)}"
            raise ArgumentError(
                "filter", list(filters), problem=problem, fix="name each label once"
            )
    fresh: dict[int, Filter] = {}
    layout = heads.layout
    for name in heads.names:
        f, classes = by_head[name], layout[name] if isinstance(layout, dict) else None
        names = getattr(f, "classes", None)
        must = "each label needs a filter of two classes, off and on"
        fix = "give one, such as StickyFilter(2, dwell=30.0)"
        if classes is not None:
            must, fix = f"the head has {classes}", "give a filter of these classes"
        if names is None or not hasattr(f, "update"):
            raise ArgumentError("filter", f, must=must, fix=fix)
        if len(names) != len(classes or (0, 1)):
            raise ArgumentError(
                "filter", len(names), problem=f"of {name!r} has {{}} classes", must=must, fix=fix
            )
        texts = list(map(str, names))
        if classes is not None and texts not in (classes, [str(k) for k in range(len(classes))]):
            raise ArgumentError(
                "filter",
                tuple(texts),
                problem=f"of {name!r} has the classes {{}}",
                must=must,
                fix=fix,
            )
        if id(f) not in fresh:
            fresh[id(f)] = f.copy()
            fresh[id(f)].reset()
    return tuple(fresh[id(by_head[name])] for name in heads.names)
