"""The streams of a tracker: the place of each in a bank, and which one is dropped next."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any

from .._typing import Array, Floats
from ..filters._bank import Bank

SPARE = 64
"""So many streams at least are made room for at once."""
_NOBODY = object()


class Roster:
    """The slot of each stream in a bank; slots of streams that were dropped are used again.

    Parameters
    ----------
    bank : Bank
        Without streams.
    expire_after, max_streams
        As in `Tracker`.

    Attributes
    ----------
    slots : dict
        By stream. Where streams are dropped, the one whose last row came first is first.
    times, seen : array of float
        By slot: the time of the last row, and what the newest time of all streams was then.
    newest : float
        The newest time of all streams, without one that only a single stream has.
    """

    def __init__(
        self, bank: Bank[Any], expire_after: float | None, max_streams: int | None
    ) -> None:
        self._bank, self._expire_after, self._max_streams = bank, expire_after, max_streams
        self.drops = expire_after is not None or max_streams is not None
        # To find its first key, a plain dict walks over all those that moved to its end.
        self.slots: dict[Hashable, int] = OrderedDict() if self.drops else {}
        self.times, self.seen = array("d"), array("d")
        self.newest = -math.inf
        self._ahead: Any = _NOBODY  # the stream that was more than expire_after ahead of it
        self._free: list[int] = []

    def slot(self, stream: Hashable) -> int:
        """Return the slot of a stream, or raise and say that there is none."""
        slot = self.slots.get(stream)
        if slot is None:
            raise KeyError(f"there is no stream {stream!r}; it had no row yet, or was dropped")
        return slot

    def last_time(self, stream: Hashable) -> float | None:
        """Return the time of a stream's last row; None if there is no such stream."""
        slot = self.slots.get(stream)
        return None if slot is None else self.times[slot]

    def time_error(self, stream: Hashable, at: float, slot: int) -> str:
        """Say what is wrong with the time of a row of a stream."""
        last = self.times[slot]
        if not math.isfinite(at):
            return f"time is {at}; it must be finite"
        where = "before" if at < last else "too long after"
        return (
            f"time is {at!r}, {where} {last!r}, that of the last row of stream {stream!r}; give "
            "the rows of a stream in order of time"
        )

    def reserve(self, stream: Hashable) -> int:
        """Return a slot for a new stream, which `see` or `release` must get."""
        if stream != stream:
            raise ValueError(
                f"stream is {stream!r}, which equals nothing, not even itself; give it a name"
            )
        if not self._free:
            count = max(SPARE, len(self._bank) // 2)
            self._free += reversed(self._bank.add(count))
            self.times.extend([0.0] * count)
            self.seen.extend([0.0] * count)
        return self._free.pop()

    def release(self, slots: Iterable[int]) -> None:
        """Take slots back, whose states are those of new streams."""
        self._free += slots

    def see(self, stream: Hashable, slot: int, at: float) -> None:
        """Note that a stream had a row: it is the last one to go now."""
        self.slots[stream] = slot
        self.times[slot] = at
        if not self.drops:
            return
        self.slots.move_to_end(stream)  # type: ignore[attr-defined]
        if self._expire_after is None:
            return
        if at > self.newest:
            alone = self._ahead is _NOBODY or self._ahead == stream
            if alone and self._expire_after < at - self.newest < math.inf:
                self._ahead = stream
            else:
                self.newest = at
                first = self.slots.get(self._ahead)
                if first is not None:
                    self.seen[first] = at
                self._ahead = _NOBODY
        self.seen[slot] = self.newest

    def drop_old(self) -> list[Any]:
        """Forget the streams that expired, and those too many; return them."""
        dropped = []
        span = math.inf if self._expire_after is None else self._expire_after
        most = math.inf if self._max_streams is None else self._max_streams
        while self.slots:
            first = next(iter(self.slots))
            if len(self.slots) <= most and self.newest - self.seen[self.slots[first]] <= span:
                break
            self.forget(first)
            dropped.append(first)
        return dropped

    def forget(self, stream: Hashable) -> None:
        """Forget a stream, and what it had in the bank."""
        slot = self.slots.pop(stream)
        self._bank._states[slot] = self._bank._start
        self._free.append(slot)

    def restore(self, names: list[Any], times: Floats, seen: Floats, states: Array) -> None:
        """Take all streams of a file, in the order in which they go."""
        self._bank._replace_states(states)
        self.slots.update((name, slot) for slot, name in enumerate(names))
        self.times.extend(times.tolist())
        self.seen.extend(seen.tolist())
        self.newest = max(self.seen, default=-math.inf)
