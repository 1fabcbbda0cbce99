"""The table of streams: the slot of each name, and what is known of it."""

from __future__ import annotations

import logging
import math
import sys
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import ArgumentError, RowError
from ..inputs import positive_duration
from ..support.types import Array, Bools, Duration, Floats, Ints
from .stages import Confirmed, Decided, Later, Stages

LOG = logging.getLogger("classfilter")
SPARE = 64
"""So many streams at least are made room for at once."""
WITNESSES = 3
"""So many streams, or all where there are fewer, must agree on a time far from the clock."""
MAX_STRAYS = 8


class JumpError(RowError):
    """A time is too far ahead of the row before of its stream."""


class Columns(NamedTuple):
    """What is known of each stream, by slot.

    Attributes
    ----------
    states : ndarray (N, S)
        The numbers of the filter's state.
    times : ndarray of float64 (N,)
        The time of the last row; NaN before the first.
    seen : ndarray of float64 (N,)
        Where streams expire: what the clock of all streams was after that row.
    jumps : ndarray of float64 (N,)
        The time of a row that was refused since it was too far ahead; NaN if there is none.
    extra : ndarray of object (N,)
        What else the table's user keeps of a stream.
    held : ndarray of object (N,)
        The rows that wait for later ones; None where nothing is smoothed.
    events : ndarray of object (N,)
        The state of the rule for events; None where there is no rule.
    """

    states: Array
    times: Floats
    seen: Floats
    jumps: Floats
    extra: Array
    held: Array
    events: Array


def check_name(stream: Hashable) -> None:
    """Raise for a name that can never be found again: NaN."""
    if stream != stream:
        problem = "is {}, which does not even equal itself"
        raise RowError("stream", stream, problem=problem, fix="give it a name")


class Changes(NamedTuple):
    """What changed in a table since the call before.

    Attributes
    ----------
    names : list
        The streams that are new, moved or have another name, in their order: they are the last.
    slots : ndarray of int (N,)
        Their slots; then those of other streams of which something else is known now.
    columns : Columns
        What is known of all these, (N,).
    gone : ndarray of int
        Slots that no stream has any more.
    total : int
        How many streams there are.
    """

    names: list[Any]
    slots: Ints
    columns: Columns
    gone: Ints
    total: int


class StreamTable:
    """Streams by name, each with a state; they begin, go on, expire and are forgotten.

    A stream is over when more than `expire_after` passes without a row of it; its next row begins
    it anew. It is forgotten when the clock of all streams has gone on so far since its last row.
    The clock is the newest time of all streams, but a time further than `expire_after` from it
    counts only when three streams agree on it, or all, where there are fewer: neither one wrong
    clock nor two drop a stream, or keep others from expiring.

    `begins` looks at the time of a row, or rejects it; `commit` writes what is known after rows,
    all of it or nothing; `touch` then lets the clock go on, and `drop_old` looks what has expired.

    Parameters
    ----------
    start : ndarray (S,)
        The state of a new stream.
    stages : Stages
        What knows the last events of a stream that is over.
    expire_after : float, str or timedelta, optional
        See above.
    max_streams : int, optional
        Where there are more, the stream whose last row came first is dropped.
    max_jump : float, str or timedelta, optional
        A row that is further ahead of the row before of its stream is refused, unless the stream's
        next row confirms its time.

    Attributes
    ----------
    slots : dict
        By stream. Where streams are dropped, the one whose last row came first is first.
    columns : Columns
        By slot. All are replaced at once where there is no more room.
    changed : bytearray
        By slot: whether something else is known of its stream since `changes`.
    unsaved : ndarray of bool
        By slot: whether that was so when `changes` was called, and nothing says that it was saved.
    clock : float
        The clock of all streams; NaN before the first row.
    none_expire_until : float
        A lower bound of the time until which no stream expires.
    confirmed : list of (stream, event)
        Events that are final and were not fetched; those of streams that are over are among them.
    started : dict of (stream, class, start)
        The starts of events that are final and were not fetched, in order; each maps to None.
    """

    def __init__(
        self,
        start: Array,
        stages: Stages,
        *,
        expire_after: Duration | None = None,
        max_streams: int | None = None,
        max_jump: Duration | None = None,
    ) -> None:
        if expire_after is not None:
            expire_after = positive_duration("expire_after", expire_after)
        if max_jump is not None:
            max_jump = positive_duration("max_jump", max_jump)
        if max_streams is not None and max_streams < 1:
            raise ValueError(f"max_streams is {max_streams!r}; it must be 1 or more")
        self.expire_after, self.max_streams, self.max_jump = expire_after, max_streams, max_jump
        self.drops = expire_after is not None or max_streams is not None
        self.watches_times = expire_after is not None or max_jump is not None
        self.span = math.inf if expire_after is None else expire_after
        self.most = math.inf if max_streams is None else max_streams
        self.longest_gap = min(self.span, max_jump or math.inf, sys.float_info.max)
        self.start, self._stages = start, stages
        # To find its first key, a plain dict walks over all those that moved to its end.
        self.slots: dict[Hashable, int] = OrderedDict() if self.drops else {}
        self.columns, self.changed = self._empty(0), bytearray()
        self.unsaved: Bools = np.zeros(0, bool)
        self._free: list[int] = []
        self.clock = math.nan
        self.strays: dict[Hashable, float] = {}
        self.none_expire_until = -math.inf
        self._to_come = 0  # of the streams, those whose first row is noted later
        self.confirmed: list[tuple[Any, Confirmed]] = []
        self.started: dict[tuple[Any, int, float], None] = {}

    def __len__(self) -> int:
        return len(self.slots)

    def _empty(self, count: int) -> Columns:
        times, seen, jumps = np.full((3, count), np.nan)
        extra, held, events = np.full((3, count), None, object)
        return Columns(np.tile(self.start, (count, 1)), times, seen, jumps, extra, held, events)

    def slot(self, stream: Hashable) -> int:
        """Return the slot of a stream, or raise and say that there is none."""
        slot = self.slots.get(stream)
        if slot is None:
            raise KeyError(f"there is no stream {stream!r}; it has had no rows yet, or was dropped")
        return slot

    def slots_of(self, streams: Iterable[Hashable]) -> Ints:
        """Return the slot of each stream, -1 where there is none."""
        return np.fromiter(map(self.slots.get, streams, repeat(-1)), np.intp)

    def begins(self, stream: Hashable, at: float) -> bool:
        """Return whether a row begins its stream, or begins it anew; raise if its time is wrong."""
        slot = self.slots.get(stream)
        if slot is None:
            if not math.isfinite(at):
                raise RowError("time", at, must="it must be finite")
            check_name(stream)
            return True
        last = self.columns.times.item(slot)
        gap = at - last
        if 0 <= gap <= self.longest_gap:
            return False
        if not 0 <= gap < math.inf:
            raise self.time_error(stream, slot, at)
        if self.max_jump is not None and gap > self.max_jump and not self.confirms(stream, at):
            raise self.jump_error(stream, last, at)
        return gap > self.span

    def confirms(self, stream: Hashable, at: float) -> bool:
        """Return whether the stream's row before was refused for a time such as this one."""
        assert self.max_jump is not None
        return bool(0 <= at - self.columns.jumps[self.slots[stream]] <= self.max_jump)

    def remember_jump(self, stream: Hashable, at: float) -> None:
        """Remember the time of a row that was refused since it is too far ahead."""
        slot = self.slots[stream]
        self.columns.jumps[slot], self.changed[slot] = at, 1

    def jump_error(self, stream: Hashable, last: float, at: float) -> JumpError:
        """Return what is wrong with a time that is too far ahead of the stream's row before."""
        return JumpError(
            "time",
            at,
            problem=f"is {{}}, more than {self.max_jump:g} after {last!r}, the time of the last "
            f"row of stream {stream!r}",
            must="it is rejected, unless the next row of the stream confirms it",
        )

    def time_error(self, stream: Hashable, slot: int, at: float) -> RowError:
        """Return what is wrong with the time of a row of a stream."""
        if not math.isfinite(at):
            return RowError("time", at, must="it must be finite")
        last = float(self.columns.times[slot])
        relation = "before" if at < last else "too long after"
        return RowError(
            "time",
            at,
            problem=f"is {{}}, {relation} {last!r}, the time of the last row of stream {stream!r}",
            fix="give the rows of a stream in order of time",
        )

    def add(self, stream: Hashable) -> int:
        """Return the slot of a new stream."""
        [slot] = self._reserve(1)
        self.slots[stream] = slot
        return slot

    def _reserve(self, count: int) -> list[int]:
        """Return free slots, with the state of new streams."""
        missing = count - len(self._free)
        if missing > 0:
            old = self.columns
            more = self._empty(max(missing, SPARE, len(old.times) // 8))
            first, last = len(old.times), len(old.times) + len(more.times)
            self.changed = self.changed + bytes(len(more.times))
            self.columns = Columns(*map(np.concatenate, zip(old, more, strict=True)))
            self._free = [*range(last - 1, first - 1, -1), *self._free]
        return [self._free.pop() for _ in range(count)]

    def commit(
        self,
        slots: Ints,
        new: Sequence[Any],
        states: Array,
        times: Floats,
        more: Mapping[str, Array],
        final: Iterable[tuple[Any, Decided]] = (),
    ) -> None:
        """Write what is known of streams after their rows: all of it, or nothing.

        `slots` are -1 for the streams that are `new`. `kept` are more columns, by their names, and
        `final` the events and starts that are final with these rows.
        """
        slots, added = slots.copy(), dict(zip(new, self._reserve(len(new)), strict=True))
        slots[slots < 0] = [*added.values()]
        columns, count, final = self.columns, len(self.confirmed), list(final)
        before = [column[slots] for column in columns]
        self.mark(slots)
        try:
            _core.commit(columns.states, columns.times, slots, states, times)
            for name, values in more.items():
                getattr(columns, name)[slots] = values
            columns.jumps[slots] = np.nan
            self.slots.update(added)
            self.keep(final)
        except BaseException:
            del self.confirmed[count:]
            for stream, decided in final:
                for start in decided.starts:
                    self.started.pop((stream, *start), None)
            for name in added:
                self.slots.pop(name, None)
            for column, values in zip(columns, before, strict=True):
                column[slots] = values
            self._free += added.values()
            raise

    def mark(self, slots: Ints) -> None:
        """Note that something else is known of streams."""
        np.frombuffer(self.changed, np.uint8)[slots] = 1

    def keep(self, final: Iterable[tuple[Any, Decided]]) -> None:
        """Keep events and starts that are final, until they are fetched."""
        for stream, (events, starts) in final:
            self.confirmed += [(stream, event) for event in events]
            self.started |= {(stream, *start): None for start in starts}

    def touch(self, stream: Hashable, slot: int, at: float) -> None:
        """Note that a stream had a row: it is the last one to go now, and the clock goes on."""
        self.slots.move_to_end(stream)  # type: ignore[attr-defined]
        if self.expire_after is not None:
            ahead = at - self.clock
            if 0 <= ahead <= self.span and not self.strays:
                self.clock = at
            else:
                self._tick(stream, at, ahead)
            self.columns.seen[slot] = self.clock

    def touch_many(self, streams: list[Any], slots: Ints, times: Floats, new: set[Any]) -> None:
        """Note many rows, in their order; `new` are the streams that were not there before."""
        if self.expire_after is not None:
            clock = np.maximum.accumulate(np.append(self.clock, times))
            if not (np.abs(times - clock[:-1]) <= self.span).all():  # a stray, or the first row
                to_come = set(new)
                try:
                    for row in zip(streams, slots.tolist(), times.tolist(), strict=True):
                        to_come.discard(row[0])
                        self._to_come = len(to_come)
                        self.touch(*row)
                finally:
                    self._to_come = 0
                return
            self.clock, self.strays = float(clock[-1]), {}
            self.columns.seen[slots] = clock[1:]
        for stream in reversed(dict.fromkeys(reversed(streams))):
            self.slots.move_to_end(stream)  # type: ignore[attr-defined]

    def _tick(self, stream: Hashable, at: float, ahead: float) -> None:
        """Let the clock go on with a row that may be far from it."""
        if math.isnan(ahead):  # the first row of all
            self.clock = at
        elif abs(ahead) > self.span:
            self._stray(stream, at)
        else:
            self.clock, self.strays = max(self.clock, at), {}

    def _stray(self, stream: Hashable, at: float) -> None:
        """Take a time far from the clock, if enough streams agree on it."""
        strays = {name: time for name, time in self.strays.items() if name != stream}
        strays[stream] = at
        if len(strays) > MAX_STRAYS:
            del strays[next(iter(strays))]
        agree = {name: time for name, time in strays.items() if abs(time - at) <= self.span}
        if len(agree) < min(WITNESSES, len(self.slots) - self._to_come):
            self.strays = strays
            return
        self.strays = {}
        self._set_clock(max(agree.values()))
        for name in agree:
            slot = self.slots.get(name)
            if slot is not None:
                self.columns.seen[slot], self.changed[slot] = self.clock, 1
                self.slots.move_to_end(name)  # type: ignore[attr-defined]

    def _set_clock(self, now: float) -> None:
        if now < self.clock:
            self.mark(np.flatnonzero(self.columns.seen > now))
            np.minimum(self.columns.seen, now, out=self.columns.seen)
        self.clock, self.none_expire_until = now, -math.inf

    def expire(self, now: float) -> list[Any]:
        """Set the clock, and forget what is over; return those streams."""
        if self.expire_after is None:
            raise ValueError('the tracker has no expire_after; give one, such as expire_after="1h"')
        if not math.isfinite(now):
            raise ValueError(f"now is {now}; it must be finite")
        self._set_clock(now)
        return self.drop_old()

    def drop_old(self) -> list[Any]:
        """Forget the streams that are over, and those too many; return them."""
        dropped: list[Any] = []
        while self.drops and self.slots:
            first = next(iter(self.slots))
            slot = self.slots[first]
            if math.isnan(self.columns.seen[slot]):  # a signal's handler raised before it was noted
                self.columns.seen[slot], self.changed[slot] = self.clock, 1
            since = self.columns.seen[slot]
            if len(self.slots) <= self.most and not self.clock - since > self.span:
                # The stream that goes next only ever has a later time; less than both round off.
                self.none_expire_until = float(since + 0.999 * self.span - 1e-15 * abs(since))
                break
            self.forget(first)
            dropped.append(first)
        return dropped

    def forget(self, stream: Hashable) -> None:
        """Forget a stream; its last events are confirmed."""
        slot, last = self.slots[stream], self.last_events(stream)
        events = [(stream, event) for event in last.events]
        starts = {(stream, *start): None for start in last.starts}
        # Without a call in between: a signal's handler finds the stream, or its last events.
        del self.slots[stream]
        self.confirmed += events
        self.started |= starts
        self._release(slot)

    def discard(self, stream: Hashable) -> None:
        """Forget a stream whose last events are confirmed already."""
        self._release(self.slots.pop(stream))

    def _release(self, slot: int) -> None:
        """Take a slot back that no stream has."""
        self.changed[slot] = 1
        for column, value in zip(self.columns, self._empty(1), strict=True):
            column[slot] = value[0]
        self._free.append(slot)

    def later(self, slot: int) -> Later:
        """Return what the stages after the filter know of the stream in a slot."""
        return Later(self.columns.held[slot], self.columns.events[slot])

    def last_events(self, stream: Hashable) -> Decided:
        """Return the events of a stream that are final if it is over.

        A rule that fails loses them, and says so in the log: the rows of other streams, which may
        be what makes this one expire, must not fail with it.
        """
        later = self.later(self.slots[stream])
        if later.rule is None:
            return Decided()
        try:
            _, [decided] = self._stages.finish([later])
        except ValueError as error:
            LOG.error("stream %r ends without its last events: %s", stream, error)
            return Decided()
        return decided

    def rename(self, old: Hashable, new: Hashable) -> None:
        """Give the slot of a stream, and its events, another name, or raise and change nothing."""
        slot, slots = self.slot(old), self.slots
        check_name(new)
        if new in slots:
            problem = f"is {{}}, which already has rows, so {old!r} cannot continue as it"
            raise ArgumentError("new", new, problem=problem, fix=f"drop it first: drop([{new!r}])")
        confirmed = [(new if name == old else name, event) for name, event in self.confirmed]
        started = {
            (new if name == old else name, k, start): None for name, k, start in self.started
        }
        if self.expire_after is not None:
            # It is the last one to go now, and streams go in the order in which they were seen.
            self.columns.seen[slot] = self.clock
        self.changed[slot] = 1
        # Without a call in between: a signal's handler finds the stream by one of the names.
        slots[new] = slot
        del slots[old]
        self.confirmed[:], self.started = confirmed, started
        if old in self.strays:
            self.strays[new] = self.strays.pop(old)

    def take(
        self, names: Sequence[Any], slots: Ints, columns: Columns, clock: float = math.nan
    ) -> None:
        """Take all streams of a file, in the order in which they go; there are none before."""
        self.columns = self._empty(1 + int(slots.max(initial=-1)))
        for column, values in zip(self.columns, columns, strict=True):
            column[slots] = values
        is_free = np.ones(len(self.columns.times), bool)
        is_free[slots] = False
        self._free = np.flatnonzero(is_free)[::-1].tolist()
        self.changed, self.unsaved = bytearray(len(is_free)), np.zeros(0, bool)
        self.slots.update(zip(names, slots.tolist(), strict=True))
        self.clock = clock

    def changes(self, whole: bool = False) -> Changes:
        """Return what changed since the last save; with `whole`, all streams as if they were new.

        What is known of them is copied. Once it is saved, nothing is `unsaved`.
        """
        marks = np.frombuffer(self.changed, bool).copy()
        marks[: len(self.unsaved)] |= self.unsaved
        self.unsaved = marks  # first: a signal's handler may raise in between
        self.changed = bytearray(len(marks))
        changed = np.flatnonzero(marks)
        if whole:
            names, moved = list(self.slots), list(self.slots.values())
        else:
            # What is new or moves goes to the end: before the first that did not change, none did.
            names, moved = [], []
            for name in reversed(self.slots):
                slot = self.slots[name]
                if not marks[slot]:
                    break
                names.append(name)
                moved.append(slot)
            names.reverse()
            moved.reverse()
        is_free = np.isnan(self.columns.times[changed])
        others = np.setdiff1d(changed[~is_free], moved, assume_unique=True)
        slots = np.append(np.array(moved, np.intp), others)
        columns = Columns(*(column[slots] for column in self.columns))
        return Changes(names, slots, columns, changed[is_free], len(self.slots))
