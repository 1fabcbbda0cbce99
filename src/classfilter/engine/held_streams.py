"""The streams that a tracker holds: its settings, what is known of each stream, and their file."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from os import PathLike, fspath
from threading import Lock
from typing import Any, Self

import numpy as np

from ..errors import ArgumentError
from ..events import Event, Events
from ..filters import Filter, StreamRunner, pack_state, unpack_state
from ..inputs import LARGEST_SECONDS, Spelling, TimeScale, parse_timestamp, per_second, seconds
from ..pipeline import Chain
from ..support.atomic import remove_drafts
from ..support.types import Array, Floats, is_number
from . import live_events, store
from .calls import Calls
from .health import Health, SourceCounts
from .label_policy import sees_one_label
from .lagged_events import LaggedEvents, checked_lag
from .live_events import Confirmed, Known, LiveEvents
from .rows import update_stream_of
from .streams import StreamTable, check_name


def hand_over(table: StreamTable, old: Hashable, new: Hashable) -> None:
    """Give the slot of a stream another name, or raise and change nothing."""
    slot, slots = table.slot(old), table.slots
    check_name(new)
    if new in slots:
        problem = f"is {{}}, a stream with rows of its own, so that {old!r} cannot go on as it"
        raise ArgumentError("new", new, problem, remedy=f"forget those first: drop([{new!r}])")
    if table.live is not None:
        table.live.waiting[new] = None  # `pop_events` looks only at these
    if table.expire_after is not None:
        # It is the last one to go now, and streams go in the order in which they were seen.
        table.columns.seen[slot] = table.clock
    # Without a call in between: a signal's handler finds the stream by one of the names.
    slots[new] = slot
    del slots[old]
    if old in table.strays:
        table.strays[new] = table.strays.pop(old)


class TimeUnit:
    """Turns times into seconds, and warns, once, if streams begin with times of another unit.

    Parameters
    ----------
    name : {"s", "ms", "us", "ns"}, optional
        What numbers count; None leaves them as they are.

    Attributes
    ----------
    as_it_is : type or None
        A time of this type needs no conversion.
    """

    def __init__(self, name: str | None) -> None:
        self.name, self._factor = name, per_second(name)
        self.as_it_is = float if self._factor == 1 else None
        self.warned = False

    def seconds(self, time: Any) -> float:
        """Return one time as a number; NaN if it is missing."""
        try:
            if is_number(time):
                return float(time) / self._factor
            if isinstance(time, np.generic) and time.dtype.kind in "mM":
                return math.nan if np.isnat(time) else float(seconds(np.array([time]))[0])
            at = parse_timestamp(time, self._factor)
        except OverflowError:
            at = None
        if at is None:
            remedy = "give a number, a datetime, or ISO 8601 text with a zone"
            raise ArgumentError("time", time, remedy=remedy)
        return at

    def look_at(self, time: Any, at: float) -> None:
        """Look at the time of a row that begins a stream, as it was given and in seconds."""
        if LARGEST_SECONDS < abs(at) < math.inf and is_number(time):
            self.look(np.array([at]))

    def look(self, times: Floats) -> None:
        """Look at numbers with which streams begin."""
        if not self.warned:
            scale = TimeScale(self.name)
            scale.see(times)
            self.warned = scale.finding() is not None
            scale.warn()


class HeldStreams:
    """What a `Tracker` knows: all but how it takes rows."""

    def _use(self, chain: Chain, unit: str | None, lag: int | None = None, **limits: Any) -> None:
        self._chain, self._policy = chain, chain.policy
        self._independent = chain.independent
        self._unit, self._spelling = TimeUnit(unit), Spelling()
        self._as_it_is = self._unit.as_it_is
        self._reader: Filter = chain.filter()
        start = pack_state(self._reader.state, self._reader.probs.dtype)
        self._table = StreamTable(start, **limits)
        self._slots, self._lock = self._table.slots, self._table.lock
        self._watches_times, self._drops = self._table.watches_times, self._table.drops
        self._counts = SourceCounts(chain)
        self._known: dict[str, tuple[str, float, Any, int]] = {}
        self._update_stream = update_stream_of(chain.filter(), self._counts)
        self._runner = StreamRunner(chain.filter())
        self._saving = Lock()
        self._lag = None if lag is None else checked_lag(lag)
        self._live: LiveEvents | None = None
        if self._lag is not None:
            self._live = LaggedEvents(chain, self._lag)
        elif chain.rule is not None:
            self._live = LiveEvents(chain)
        self._table.live = self._live
        self._notes = self._policy is not None or self._lag is not None

    @property
    def chain(self) -> Chain:
        """The settings of all streams."""
        return self._chain

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, in the order of the probabilities."""
        return self._chain.classes

    @property
    def expire_after(self) -> float | None:
        """How much time without a row ends a stream."""
        return self._table.expire_after

    @property
    def max_streams(self) -> int | None:
        """The largest number of streams."""
        return self._table.max_streams

    @property
    def max_jump(self) -> float | None:
        """How far ahead of the row before of its stream a row may be."""
        return self._table.max_jump

    @property
    def unit(self) -> str | None:
        """What times that are numbers count; None where they stay as they are."""
        return self._unit.name

    @property
    def lag(self) -> int | None:
        """With how many later rows each row is smoothed before events are decided; None: none."""
        return self._lag

    @property
    def streams(self) -> list[Any]:
        """The names of all streams; where streams are dropped, the next one to go is first."""
        with self._lock:
            return list(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, stream: Hashable) -> bool:
        return stream in self._slots

    def __repr__(self) -> str:
        return f"Tracker({self._reader!r}, {len(self)} streams)"

    def _new_calls(self) -> Calls:
        """Return what the policy knows of a new stream."""
        assert self._policy is not None
        by_label = sees_one_label(self._chain, self._policy)
        return Calls(self._policy, self._chain.filter().probs, by_label)

    def filter(self, stream: Hashable) -> Filter:
        """Return a new filter in the state of a stream."""
        with self._lock:
            f: Filter = self._in_state(stream).copy()
        return f

    def probs(self, stream: Hashable) -> Array:
        """Return the last estimate of a stream, (K,)."""
        with self._lock:
            estimate: Array = self._in_state(stream).probs
        return estimate

    def label(self, stream: Hashable) -> Any:
        """Return the most probable class of a stream; of several, the first."""
        with self._lock:
            return self._in_state(stream).label

    def _in_state(self, stream: Hashable) -> Any:
        """Return a filter in the state of a stream, which the next call changes."""
        state = self._table.columns.states[self._table.slot(stream)].copy()
        self._reader.state = unpack_state(self._reader, state)
        return self._reader

    def time(self, stream: Hashable) -> float:
        """Return the time of a stream's last row; in seconds, where the tracker has a unit."""
        with self._lock:
            return float(self._table.columns.times[self._table.slot(stream)])

    def health(self, now: Any = None) -> Health:
        """Return how each source does, over all streams, against what is usual of it.

        A source that is stuck on a class, silent, or no longer agrees with the estimate as it did
        when tuned, or before, has a verdict, in words, with figures. Nothing is weighed down: what
        to do is left to you. `now` is the time, if no rows come; by default that of the last row.

        Examples
        --------
        >>> import classfilter as cf
        >>> tracker = cf.Tracker(cf.DirichletFilter(["rest", "move"], half_life=30.0))
        >>> for i in range(150):
        ...     _ = tracker.update("ann", 5.0 * i, "wrist", [0.9, 0.1])
        >>> tracker.health().verdicts
        {}
        >>> tracker.health(now=745.0 + 7200.0).verdicts
        {'wrist': ('silent for 2 h; usually a prediction every 5 s',)}
        """
        if self._chain.independent:
            raise ValueError(
                "the health of sources is known for classes that exclude each other; watch each "
                "label in a tracker of its own: Tracker(chain.lane(label))"
            )
        at = None if now is None else self._unit.seconds(now)
        with self._lock:
            return self._counts.health(at)

    def pop_events(self) -> list[Event]:
        """Return the events that were confirmed since the last call, each once, as `Events`.

        They are those that `classfilter.events` finds in the whole stream; with a `lag`, those that
        it finds with ``smooth=True`` and that lag. Of a stream that is dropped or over, all are
        confirmed.
        """
        live = self._require_events()
        found = [live.event(stream, event) for stream, event in self._pop_confirmed(live)]
        return Events(found)

    def _pop_confirmed(self, live: LiveEvents) -> list[tuple[Any, Confirmed]]:
        """Return what was confirmed since the last call, with the streams."""
        with self._lock:
            column = self._table.columns.events
            found, slots = list(live.ended), []
            for stream in live.waiting:
                slot = self._slots.get(stream)
                if slot is not None and column[slot] is not None and column[slot][1]:
                    found += [(stream, event) for event in column[slot][1]]
                    slots.append(slot)
            fetched = np.empty(len(slots), object)
            for i, slot in enumerate(slots):
                fetched[i] = Known(column[slot][0], ())
            # Without a call in between: a signal's handler finds all of them, or none.
            column[slots] = fetched
            live.ended, live.waiting = [], {}
        return found

    def current(self, stream: Hashable) -> Any:
        """Return the `Event` of a stream that goes on at present, provisional: its end is None.

        None where no event is reported at present: an ignored class, uncertain or unknown time,
        and after the first row of a stream, since a row lasts until the next. Of several labels at
        once, return a list: an event for each label that is on, maybe none. With a `lag`,
        it is the event of the last row that is smoothed, and there is none before one is.
        """
        live = self._require_events()
        with self._lock:
            known = self._table.columns.events[self._table.slot(stream)]
            return live.current(stream, known)

    def _require_events(self) -> LiveEvents:
        if self._live is None:
            raise ValueError(
                'the tracker has no rule for events; give one: events=EventRule(change_cost="30s")'
            )
        return self._live

    def drop(self, streams: Iterable[Hashable]) -> None:
        """Forget streams; their last events are confirmed."""
        if isinstance(streams, str):
            raise TypeError(f"streams is {streams!r}; give a list: [{streams!r}]")
        names = dict.fromkeys(streams)
        with self._lock:
            for name in names:
                self._table.slot(name)
            for name in names:
                self._table.forget(name)

    def hand_over(self, old: Hashable, new: Hashable) -> None:
        """Let a stream go on by another name: an object whose id changed keeps what is known of it.

        Its estimate, the time of its last row, its policy and its events move, and there is no
        stream `old` any more. Events that were not fetched yet have the new name. For
        `expire_after` and `max_streams` it counts as a row at the newest time of all streams.

        Parameters
        ----------
        old : hashable
            A stream; KeyError if there is none.
        new : hashable
            A name that no stream has: the rows of two streams cannot become one.

        Examples
        --------
        >>> import classfilter as cf
        >>> tracker = cf.Tracker(cf.StickyFilter(["car", "truck"], half_life=5.0))
        >>> _ = tracker.update_many([7, 7, 7], [0.0, 0.1, 0.2], None, ["car", "car", "car"])
        >>> tracker.hand_over(7, 12)
        >>> tracker.update(12, 1.0, None, "truck", confidence=0.6).round(2)
        array([0.83, 0.17])
        >>> tracker.streams
        [12]
        """
        with self._lock:
            hand_over(self._table, old, new)

    def expire(self, now: Any) -> list[Any]:
        """Set the clock of all streams to now, and forget the streams that are over; return them.

        `update` does it by the newest time of all streams; this is for when no rows come.
        """
        at = now if type(now) is self._as_it_is else self._unit.seconds(now)
        with self._lock:
            return self._table.expire(at)

    def save(self, path: str | PathLike[str]) -> None:
        """Write settings and all streams to one file, complete or not at all; `load` reads it.

        Streams must be named by text, numbers, None, or tuples of them. Of several saves at once,
        the one that began last is in the file at the end.
        """
        with self._saving:
            remove_drafts(fspath(path))
            store.write(path, self._saved("tracker"))

    def _saved(self, kind: str) -> store.Saved:
        table = self._table
        with self._lock:
            names, columns = table.held()
            meta: dict[str, Any] = {
                "expire_after": table.expire_after,
                "max_streams": table.max_streams,
                "max_jump": table.max_jump,
                "unit": self._unit.name,
                "lag": self._lag,
                "clock": None if math.isnan(table.clock) else table.clock,
                "strays": [[store.name_as_json(name), at] for name, at in table.strays.items()],
            }
            meta["sources"] = self._counts.saved()
            more = dict[str, Array]()
            if self._policy is not None:
                meta["calls"] = [calls.saved() for calls in columns.extra]
            if self._live is not None:
                more |= live_events.pack(columns.events)
                ended = [(store.name_as_json(name), *event) for name, event in self._live.ended]
                meta["ended"] = ended
        return store.Saved(kind, self._chain, names, columns, meta, more)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the tracker that a file of `save` holds."""
        saved = store.read(path, "tracker", "no saved tracker; take an earlier copy")
        tracker = cls.__new__(cls)
        with store.damaged(path):
            limits = {
                name: saved.meta[name] for name in ("expire_after", "max_streams", "max_jump")
            }
            lag = saved.meta.get("lag")
            if lag is not None and saved.chain.smoother.rule is None:
                raise ValueError("it has a lag, but no rule for events")
            tracker._use(saved.chain, saved.meta.get("unit"), lag, **limits)
            tracker._take(saved)
        return tracker

    def _take(self, saved: store.Saved) -> None:
        """Take all streams of a file."""
        names, columns, meta = saved.names, saved.columns, saved.meta
        self._spelling.note(names)
        self._runner.check_states(columns.states)
        if self._policy is not None:
            for i, calls in zip(range(len(names)), meta["calls"], strict=True):
                columns.extra[i] = self._new_calls().restored(calls)
        if self._live is not None:
            columns.events[:] = live_events.unpack(saved.more, self._live, len(names))
            over = [store.name_from_json(name) for name, *_ in meta["ended"]]
            events = self._live.checked([event for _, *event in meta["ended"]])
            self._live.ended += zip(over, events, strict=True)
            self._live.waiting.update(dict.fromkeys(names))
        self._counts.restore(meta["sources"])
        strays = {store.name_from_json(name): at for name, at in meta["strays"]}
        clock = math.nan if meta["clock"] is None else store.finite(meta["clock"])
        self._table.take(names, columns, clock)
        self._table.strays = {name: store.finite(at) for name, at in strays.items()}
