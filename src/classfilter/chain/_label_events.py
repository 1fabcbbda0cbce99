"""Events of several labels at once: each label is decided by its own rule of two classes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .. import _core
from .._errors import ArgumentError
from .._label_scores import pairs
from .._support.types import Array, Floats

Columns = tuple[Any, ...]
"""Label, start, end, probability, and whether it was forced, of each event, (N,)."""
_KINDS = (np.intp, np.float64, np.float64, np.float64, np.bool_)


class LabelRules:
    """The rules of several labels, with the methods of `_core.EventRule`.

    The rows are the probabilities of on, (L,); an event has the index of its label. Those of one
    call are in order of their end, then of their label. A state is the states of all labels, after
    the number of bytes of each.

    Parameters
    ----------
    rules : sequence of _core.EventRule or None
        Of each label, for the classes off, which is ignored, and on; None where no event of the
        label is reported.
    dtype : dtype
        That of the rows.
    """

    def __init__(self, rules: Sequence[_core.EventRule | None], dtype: DTypeLike) -> None:
        self._count, self._dtype = len(rules), np.dtype(dtype)
        self._rules = [(k, rule) for k, rule in enumerate(rules) if rule is not None]
        self._head = struct.Struct(f"<{len(self._rules)}I")

    def start(self) -> bytes:
        """Return the state of a new stream."""
        return self._joined([rule.start() for _, rule in self._rules])

    def update(self, state: bytes, time: float, probs: ArrayLike) -> tuple[bytes, tuple[Any, ...]]:
        """Take one row: the new state, and the events that are final by now."""
        rows, after, found = self._rows(probs, 1), [], []
        for (k, rule), before in zip(self._rules, self._parts(state), strict=True):
            part, events = rule.update(before, time, rows[k])
            after.append(part)
            found += [(k, *event[1:]) for event in events]
        found.sort(key=lambda event: (event[2], event[0]))
        return self._joined(after), tuple(found)

    def run(self, state: bytes, times: Floats, probs: ArrayLike) -> tuple[Any, ...]:
        """Take many rows, (T, L): the new state, and the events as columns."""
        rows, after, found = self._rows(probs, 2), [], []
        for (k, rule), before in zip(self._rules, self._parts(state), strict=True):
            part, *columns = rule.run(before, times, np.ascontiguousarray(rows[:, k]))
            after.append(part)
            found.append(_of_label(k, columns))
        return self._joined(after), *_in_order(found)

    def finish(self, state: bytes) -> Columns:
        """End the stream: its last events as columns."""
        parts = zip(self._rules, self._parts(state), strict=True)
        return _in_order([_of_label(k, rule.finish(part)) for (k, rule), part in parts])

    def current(self, state: bytes) -> list[tuple[int, float, float, bool]]:
        """Return the events that go on if the stream ended now, in the order of the labels."""
        parts = zip(self._rules, self._parts(state), strict=True)
        known = [(k, rule.current(part)) for (k, rule), part in parts]
        return [(k, *event[1:]) for k, event in known if event is not None]

    def check(self, state: bytes) -> None:
        """Refuse bytes that are no state of these rules."""
        for (_, rule), part in zip(self._rules, self._parts(state), strict=True):
            rule.check(part)

    def update_stream(
        self,
        update: Callable[..., NDArray[Any] | None],
        column: NDArray[np.object_],
        waiting: dict[Any, None],
        stream: Hashable,
        states: Array,
        times: Floats,
        slot: int,
        *row: Any,
    ) -> Array | None:
        """Call `update` with what follows `stream`; then ``column[slot]`` takes the estimate.

        Both are taken, or none. `row` is the prediction, its weight, its time, and more. With
        events, ``waiting[stream]`` is None.
        """
        before, time, known = states[slot].copy(), times.item(slot), column[slot]
        try:
            estimate = update(states, times, slot, *row)
            if estimate is None:
                return None
            state, events = known or (self.start(), ())
            state, found = self.update(state, row[2], estimate)
            column[slot] = state, events + found
        except BaseException:
            states[slot], times[slot], column[slot] = before, time, known
            raise
        if events or found:  # those of before, too, where the stream began anew
            waiting[stream] = None
        return estimate

    def _rows(self, probs: ArrayLike, dimensions: int) -> Array:
        """Return the probabilities of off and on, on a new last axis."""
        on = np.asarray(probs, self._dtype)
        if on.ndim != dimensions or on.shape[-1] != self._count:
            rule = f"it must have one probability for each of {self._count} labels"
            raise ArgumentError("probs", on.shape, "has shape {}", rule)
        # A sum may round to a little more than 1; what is not near it, the core refuses.
        both: Array = np.maximum(pairs(on), 0)
        return both

    def _joined(self, parts: list[bytes]) -> bytes:
        return self._head.pack(*map(len, parts)) + b"".join(parts)

    def _parts(self, state: bytes) -> list[bytes]:
        """Return the state of each label."""
        if type(state) is not bytes:
            kind = type(state).__name__
            raise TypeError(f"state must be bytes, as start() returns them, got {kind}")
        at = self._head.size
        sizes = self._head.unpack_from(state) if len(state) >= at else ()
        if len(sizes) != len(self._rules) or at + sum(sizes) != len(state):
            raise ValueError(
                "state has bytes that are no state of these event rules; take those that start(), "
                "update() or run() of the same rules returned"
            )
        parts = []
        for size in sizes:
            parts.append(state[at : at + size])
            at += size
        return parts


def _of_label(k: int, columns: Sequence[Any]) -> Columns:
    """Return the events of a rule of two classes with the index of its label."""
    return np.full(len(columns[0]), k, np.intp), *columns[1:]


def _in_order(parts: list[Columns]) -> Columns:
    """Return the events of all labels by their end, then by label."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    columns = columns or [np.empty(0, kind) for kind in _KINDS]
    order = np.lexsort((columns[0], columns[2]))
    return tuple(column[order] for column in columns)
