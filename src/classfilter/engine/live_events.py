"""The events of live streams: what a rule knows of each stream, and what it has confirmed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..events import Event
from ..inputs import Rows
from ..pipeline import Chain
from ..support.types import Array

if TYPE_CHECKING:
    from .rows import Taken

Confirmed = tuple[int, float, float, float, bool]
"""Class, start, end, probability, and whether it had to be decided before all paths agreed."""


class Known(NamedTuple):
    """What is known of a stream: the state of the rule, and what was confirmed and not fetched.

    The core makes plain tuples of the same entries.
    """

    state: bytes
    events: tuple[Confirmed, ...]


class RowSeen(NamedTuple):
    """A row as it came: source, prediction and confidence; and the time since the row before."""

    prediction: tuple[Any, ...]
    dt: float


class LiveEvents:
    """The rule of a chain, for many streams.

    Parameters
    ----------
    chain : Chain
        With a rule.

    Attributes
    ----------
    core : EventRule of the core, or LabelRules
        The rule.
    ended : list of (stream, event)
        What was confirmed of streams that are over.
    waiting : dict
        The streams with events to be fetched, in the order of the first; some may have none.
    """

    def __init__(self, chain: Chain) -> None:
        assert chain.rule is not None
        self._independent = chain.independent
        dtype = chain.filter().probs.dtype
        self.core: Any = chain.rule.compiled(chain.classes, dtype, chain.independent)
        self.update_stream = self.core.update_stream
        self._names = tuple(map(str, chain.classes))
        self.ended: list[tuple[Any, Confirmed]] = []
        self.waiting: dict[Hashable, None] = {}

    def finished(self, known: Any) -> tuple[Confirmed, ...]:
        """Return all events of a stream that is over, and were not fetched."""
        if known is None:
            return ()
        state, events = known
        return (*events, *event_rows(self.core.finish(state)))

    def anew(self, known: Any) -> Known:
        """Return what is known of a stream that begins anew; its old events are not lost."""
        return Known(self.core.start(), self.finished(known))

    def last(self, stream: Hashable, known: Any) -> list[tuple[Any, Confirmed]]:
        """Return what `ended` gets of a stream that is over."""
        return [(stream, event) for event in self.finished(known)]

    def checked(self, events: Any) -> list[Confirmed]:
        """Return events of a file, or raise: of a class of these, with times."""
        table = np.array(events, np.float64).reshape(-1, 5)
        classes = np.arange(len(self._names))
        if not (np.isin(table[:, 0], classes).all() and np.isfinite(table).all()):
            raise ValueError("an event has no class, or no time")
        return [
            (int(k), start, end, p, bool(forced)) for k, start, end, p, forced in table.tolist()
        ]

    def row_after(self, known: Any, at: float, estimate: Array, _row: RowSeen) -> Known:
        """Return what is known of a stream after a row; `known` stays as it is."""
        state, events = self.core.update(known[0], at, estimate)
        return Known(state, known[1] + events)

    def after(self, before: Sequence[Any], rows: Rows, taken: Taken) -> Array:
        """Return what is known of each stream after many rows; `before` stays as it is."""
        after = np.full(len(before), None, object)
        order = np.argsort(rows.stream, kind="stable")
        starts = np.flatnonzero(np.diff(rows.stream[order], prepend=-1) | taken.begins[order])
        for part in np.split(order, starts[1:]):
            i = int(rows.stream[part[0]])
            known = before[i] if after[i] is None else after[i]
            if known is None or taken.begins[part[0]]:
                known = self.anew(known)
            state, *columns = self.core.run(known[0], rows.time[part], taken.estimates[part])
            after[i] = Known(state, (*known[1], *event_rows(columns)))
        return after

    def event(self, stream: Any, confirmed: Confirmed) -> Event:
        """Return a confirmed event."""
        k, start, end, probability, _ = confirmed
        return Event(stream, self._names[k], start, end, probability)

    def current(self, stream: Any, known: Any) -> Any:
        """Return the provisional event of a stream; of several labels at once, a list of them."""
        found = None if known is None else self.core.current(known[0])
        if self._independent:
            return [self._provisional(stream, event) for event in found or ()]
        return None if found is None else self._provisional(stream, found)

    def _provisional(self, stream: Any, current: tuple[int, float, float, bool]) -> Event:
        k, start, probability, _ = current
        return Event(stream, self._names[k], start, None, probability)


def event_rows(columns: Sequence[Array]) -> list[Confirmed]:
    """Return columns of events as rows."""
    rows: list[Confirmed] = list(zip(*(column.tolist() for column in columns), strict=True))
    return rows


def pack(known: Iterable[Any]) -> dict[str, Array]:
    """Return what is known of all streams as arrays, for a file."""
    entries = list(known)
    states = [state for state, _ in entries]
    events = [(i, *event) for i, (_, several) in enumerate(entries) for event in several]
    return {
        "event_states": np.frombuffer(b"".join(states), np.uint8),
        "event_sizes": np.array([len(state) for state in states], np.int64),
        "events": np.array(events, np.float64).reshape(-1, 6),
    }


def unpack(arrays: dict[str, Array], live: LiveEvents, count: int) -> Array:
    """Return what is known of all streams of a file, checked."""
    sizes, events = arrays["event_sizes"], arrays["events"]
    data = arrays["event_states"].tobytes()
    fits = sizes.shape == (count,) and (sizes > 0).all() and sizes.sum() == len(data)
    if not fits or events.ndim != 2 or events.shape[1] != 6:
        raise ValueError("the states of its events do not fit its streams")
    ends = np.cumsum(sizes).tolist()
    known = np.full(count, None, object)
    for i, (end, size) in enumerate(zip(ends, sizes.tolist(), strict=True)):
        state = data[end - size : end]
        live.core.check(state)
        known[i] = Known(state, ())
    if not np.isin(events[:, 0], np.arange(count)).all():
        raise ValueError("an event is of no stream")
    for i, event in zip(events[:, 0].astype(int), live.checked(events[:, 1:]), strict=True):
        known[i] = Known(known[i][0], (*known[i][1], event))
    return known
