"""Several labels at once: one filter of two classes, off and on, for each label."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import ArgumentError, RowError
from ..inputs import label_scores, lane_names, one_row, pairs, results_like
from ..support.types import Array, Classes, Floats, Ints
from ..support.validation import class_names
from .base import BaseFilter, Filter
from .runner import StreamRows, StreamRunner, pack_state, unpack_state

AT_ONCE = 1 << 16
"""So many scores are filtered in one call."""


class _Group(NamedTuple):
    """Labels that share a filter: what runs it, their places, and the places of their states."""

    runner: StreamRunner
    labels: Ints
    columns: Ints


class MultiLabelFilter(BaseFilter):
    """Labels that may be true at once, such as the birds in a recording, each filtered by itself.

    A row is one score per label, each in [0, 1]; they need not sum to 1. Each label has a filter of
    two classes, off and on, which gets ``[1 - score, score]``; the results are its probabilities of
    on, to the bit. NaN is a label that was not observed: for it only time passes.

    Parameters
    ----------
    labels : int or iterable
        The number of labels, or their names; one is enough.
    filter : Filter, or mapping of label to Filter
        A filter of two classes for all labels, or one for each. Its settings are used, not its
        state.

    Examples
    --------
    >>> import classfilter as cf
    >>> f = cf.MultiLabelFilter(["robin", "wren"], cf.StickyFilter(2, half_life=10.0))
    >>> f.update([0.9, 0.8]).round(2)
    array([0.9, 0.8])
    >>> f.update({"wren": 0.3, "robin": 0.6}).round(2)
    array([0.91, 0.6 ])
    >>> f.label
    ('robin', 'wren')
    """

    _kind = "multi_label"
    _independent = True

    def __init__(self, labels: Classes, filter: Any) -> None:  # noqa: A002
        names = class_names(labels, 1, "labels")
        self._classes = names
        self._filters = _filters_of(names, filter)
        self._options = {"filter": dict(zip(names, self._filters, strict=True))}
        dtypes = {f.probs.dtype for f in self._filters}
        if len(dtypes) > 1:
            problem = "has filters of {}"
            raise ArgumentError(
                "filter", sorted(map(str, dtypes)), problem, remedy="give one dtype"
            )
        self._dtype: np.dtype[Any] = dtypes.pop()
        states = [pack_state(f.state, self._dtype) for f in self._filters]
        ends = np.cumsum([len(state) for state in states])
        self._start = np.concatenate(states)
        self._numbers = self._start.copy()
        self._spans = [np.arange(n - len(s), n) for s, n in zip(states, ends, strict=True)]
        self._groups = [
            _Group(StreamRunner(f), places, np.stack([self._spans[i] for i in places]))
            for f, places in _shared(self._filters)
        ]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the arithmetic."""
        return self._dtype

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filter of two classes of each label, in its initial state."""
        return tuple(f.copy() for f in self._filters)

    @property
    def probs(self) -> Array:
        """The current probability of each label, shape (L,)."""
        found = np.empty(len(self._classes), self._dtype)
        for _, labels, columns in self._groups:
            reader = self._filters[labels[0]].copy()
            for i, span in zip(labels, columns, strict=True):
                reader.state = unpack_state(reader, self._numbers[span])
                found[i] = reader.probs[1]
        return found

    @property
    def label(self) -> tuple[Any, ...]:
        """The labels that are on: more probable than not."""
        return tuple(n for n, p in zip(self._classes, self.probs, strict=True) if p > 0.5)

    @property
    def _half_life(self) -> float | None:
        known = [f._half_life for f in self._filters if getattr(f, "_half_life", None)]
        return min(known, default=None)

    @property
    def state(self) -> tuple[Array, ...]:
        """All that the filter remembers, the numbers of each label; assign it to restore."""
        return tuple(self._numbers[span].copy() for span in self._spans)

    @state.setter
    def state(self, state: Any) -> None:
        rows = [np.asarray(row, self._dtype) for row in state]
        if len(rows) != len(self._spans):
            rule = f"it must have {len(self._spans)}, one per label"
            raise ArgumentError("state", len(rows), "has {} parts", rule)
        for f, row, name in zip(self._filters, rows, self._classes, strict=True):
            size = pack_state(f.state, self._dtype).shape
            if row.shape != size:
                rule = f"a state of the filter has {size}"
                raise ArgumentError("state", row.shape, "has shape {}", rule, entry=str(name))
            f.copy().state = unpack_state(f, row)
        self._numbers = np.concatenate(rows)

    def reset(self) -> None:
        """Return to the state before any data."""
        self._numbers = self._start.copy()

    def update(self, scores: Any, beta: Any = 1.0, dt: float = 1.0) -> Array:
        """Let `dt` time units pass, then observe one score per label, shape (L,).

        They are in the order of the labels, or by their names; or they are probabilities of off and
        on already, shape (L, 2), as a channel returns them. `beta` is the weight of all, or of each
        label, shape (L,). Return the probability of each label, shape (L,).
        """
        estimate, self._numbers = self._observe(self._numbers, scores, beta, dt)
        return estimate

    def _observe(self, numbers: Array, scores: Any, beta: Any, dt: Any) -> tuple[Array, Array]:
        """Return the probability of each label, (L,), and the numbers that follow these."""
        L = len(self._classes)
        row = scores if _are_pairs(scores, 2) else self._checked(scores)
        observed = row.astype(self._dtype, copy=False) if row.ndim == 2 else _pairs_of(row)
        weights, step = np.asarray(beta, self._dtype), np.asarray(dt, self._dtype)
        for name, given, shapes in (("beta", weights, ((), (L,))), ("dt", step, ((),))):
            if given.shape not in shapes:
                rule = f"it must be {' or '.join(map(str, shapes))}"
                raise ArgumentError(name, given.shape, "has shape {}", rule)
        out, after = np.empty(L, self._dtype), np.empty_like(numbers)
        for runner, who, columns in self._groups:
            c = len(who)
            if c == L:  # all labels share a filter, so that their numbers follow each other
                start, rows, beta_of = numbers.reshape(L, -1), observed, weights
            else:
                start, rows = numbers[columns], observed[who]
                beta_of = weights[who] if weights.ndim else weights
            found = np.empty((c, 2), self._dtype)
            try:
                end = runner.run(start, StreamRows(rows, beta_of, step), found, threads=1)
            except RowError as error:
                raise error.replaced(row=None, entry=None) from None
            out[who], after[columns] = found[:, 1], end
        return out, after

    def _checked(self, scores: Any) -> Array:
        """Return the scores of one row, (L,), checked, in the filter's precision."""
        if type(scores) is np.ndarray and scores.dtype == np.float64:
            usual = scores.shape == (len(self._classes),)
            if usual and scores.min() >= 0 and scores.max() <= 1:  # none is NaN
                return scores.astype(self._dtype, copy=False)
        return one_row(scores, self._classes, "scores").astype(self._dtype, copy=False)

    def _update_stream(
        self, states: Array, times: Floats, slot: int, scores: Any, beta: Any, at: float,
        channels: Any, _numbers: Any = None, _number: int = -1,
    ) -> Array | None:  # fmt: skip
        """Take a row of one of many streams, as the filters of the core do; None: too early."""
        before = times.item(slot)
        dt = 0.0 if math.isnan(before) else at - before
        if not 0 <= dt < math.inf:
            return None
        observed = scores if channels is None else channels.corrected(scores)
        estimate, after = self._observe(states[slot], observed, beta, dt)
        _core.commit(states, times, np.array([slot]), after[None], np.array([at]))
        return estimate

    def run(self, scores: Any, beta: ArrayLike = 1.0, dt: ArrayLike = 1.0) -> Any:
        """Update with every row of (T, L) in turn: exactly a loop of `update`.

        `beta` is one weight, one per row, (T,), or one per row and label, (T, L). Of a dataframe,
        whose columns are matched by name, the result is one of the same kind.
        """
        rows = scores if _are_pairs(scores, 3) else label_scores(scores, self._classes, "scores")
        rows, weights, steps = (np.asarray(x, self._dtype) for x in (rows, beta, dt))
        T, L = len(rows), len(self._classes)
        for name, given, shapes in (
            ("beta", weights, [(), (T,), (T, L)]),
            ("dt", steps, [(), (T,)]),
        ):
            if given.shape not in shapes:
                rule = f"it must be one of {', '.join(map(str, shapes))}"
                raise ArgumentError(name, given.shape, "has shape {}", rule)
        out, after = np.empty((T, L), self._dtype), np.empty_like(self._numbers)
        count = np.array([T])
        at = self._numbers[None], None, count, None
        self._run_streams(*at, rows, weights, steps, out, after[None])
        self._numbers = after
        return results_like(scores, self._classes, out)

    def _run_streams(
        self,
        states: Array,
        slots: Ints | None,
        counts: Ints | None,
        order: Ints | None,
        probs: Array,
        beta: Array,
        dt: Array,
        out: Array,
        after: Array,
    ) -> None:
        """Filter rows of many streams, as a `StreamRunner` has them; `probs` (T, L) or pairs."""
        rows = slice(None) if order is None else order
        s, weights, steps = (x[rows] if x.ndim else x for x in (probs, beta, dt))
        used = states if slots is None else states[slots]
        T, n = len(s), len(used)
        counts = np.ones(n, np.intp) if counts is None else counts
        results = np.empty((T, len(self._classes)), self._dtype)
        for runner, labels, columns in self._groups:
            step = max(1, AT_ONCE // max(T, 1))
            for i in range(0, len(labels), step):
                who, where = labels[i : i + step], columns[i : i + step]
                c = len(who)
                of_labels = np.moveaxis(s[:, who], 1, 0)
                observed = of_labels if s.ndim == 3 else pairs(of_labels)
                of = StreamRows(
                    np.ascontiguousarray(observed).reshape(-1, 2),
                    weights[:, who].T.ravel() if weights.ndim == 2 else _for_each(weights, c),
                    _for_each(steps, c),
                    counts=np.tile(counts, c),
                )
                start = np.moveaxis(used[:, where], 1, 0).reshape(c * n, -1)
                found = np.empty((c * T, 2), self._dtype)
                try:
                    end = runner.run(np.ascontiguousarray(start), of, found, threads=1)
                except RowError as error:
                    raise _at_row(error, rows, T) from None
                after[:, where] = np.moveaxis(end.reshape(c, n, -1), 0, 1)
                results[:, who] = found[:, 1].reshape(c, T).T
        out[rows] = results

    def by_label(self, work: Callable[[Any, Array, Array], Array], scores: Any, beta: Any) -> Array:
        """Return the probabilities of on that some work finds for each label by itself, (T, L).

        It gets a filter of two classes in the state of the label, its rows (T, 2), and weights.
        """
        rows = scores if _are_pairs(scores, 3) else label_scores(scores, self._classes, "scores")
        s = np.asarray(rows, self._dtype)
        found = np.empty((len(s), len(self._classes)), self._dtype)
        for i, (f, span) in enumerate(zip(self._filters, self._spans, strict=True)):
            one = f.copy()
            one.state = unpack_state(f, self._numbers[span])
            both = s[:, i] if s.ndim == 3 else pairs(s[:, i])
            weights = beta[:, i] if beta.ndim == 2 else beta
            own = np.ascontiguousarray(both), np.asarray(weights, order="C")  # one weight stays one
            found[:, i] = work(one, *own)[:, 1]
        return found

    def _check_states(self, states: Array) -> None:
        """Raise unless each row of numbers is a state of the filter."""
        for runner, _, columns in self._groups:
            for of_label in columns:
                runner.check_states(np.ascontiguousarray(states[:, of_label]))

    def __repr__(self) -> str:
        of = repr(self._filters[0]) if len(self._groups) == 1 else f"{len(self._groups)} filters"
        return f"MultiLabelFilter({list(self._classes)}, {of})"


def on_and_off(f: Any, label: Any) -> Any:
    """Return a filter of two classes with the names of a label's: not robin, robin."""
    return type(f)(lane_names(label), **f._options)


def _filters_of(labels: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
    """Return a fresh filter for each label; those that share one go on sharing it."""
    by_label = dict.fromkeys(labels, given)
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in labels]
        missing = [name for name in labels if name not in given]
        if unknown or missing:
            problem = f"names {{}}, but the labels are {list(labels)}"
            raise ArgumentError("filter", list(given), problem, remedy="name each label once")
        by_label = {name: given[name] for name in labels}
    fresh: dict[int, Filter] = {}
    for label, f in by_label.items():
        if not hasattr(f, "update") or len(getattr(f, "classes", ())) != 2:
            classes = getattr(f, "classes", None)
            rule = "each label needs a filter of two classes, off and on"
            remedy = "give one, such as StickyFilter(2, half_life=10.0)"
            if classes is None:
                raise ArgumentError("filter", f, rule=rule, remedy=remedy)
            problem = f"of {label!r} has {{}} classes"
            raise ArgumentError("filter", len(classes), problem, rule, remedy)
        if id(f) not in fresh:
            fresh[id(f)] = f.copy()
            fresh[id(f)].reset()
    return tuple(fresh[id(f)] for f in by_label.values())


def _shared(filters: tuple[Any, ...]) -> list[tuple[Any, Ints]]:
    """Return each filter with the places of the labels that share it."""
    places: dict[int, list[int]] = {}
    for i, f in enumerate(filters):
        places.setdefault(id(f), []).append(i)
    return [(filters[where[0]], np.array(where)) for where in places.values()]


def _are_pairs(scores: Any, dimensions: int) -> bool:
    """Return whether scores are rows of two classes already, off and on, as a channel has them."""
    return isinstance(scores, np.ndarray) and scores.ndim == dimensions and scores.shape[-1] == 2


def _pairs_of(row: Array) -> Array:
    """Return `pairs` of one row; quicker."""
    both = np.empty((len(row), 2), row.dtype)
    np.subtract(1, row, out=both[:, 0])
    both[:, 1] = row
    return both


def _for_each(numbers: Array, labels: int) -> Array:
    """Return numbers of rows for the rows of several labels."""
    return np.tile(numbers, labels) if numbers.ndim else numbers


def _at_row(error: RowError, rows: Any, T: int) -> RowError:
    """Return the error of one of several labels' rows with the row."""
    if error.row is None:
        return error
    row = error.row % T
    return error.replaced(row=int(row if isinstance(rows, slice) else rows[row]), entry=None)
