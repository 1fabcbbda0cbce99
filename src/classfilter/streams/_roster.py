"""The streams of a tracker: the place of each in a bank, and which one is dropped next."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any

from .._support.types import Array, Floats
from ._bank import Bank

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
        self._none_expire_until = -math.inf  # a lower bound
        if self.drops:
            self._move_to_end = self.slots.move_to_end  # type: ignore[attr-defined]
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
        """Return a slot for a new stream, which `place` or `release` must get."""
        if stream != stream:
            raise ValueError(
                f"stream is {stream!r}, which equals nothing, not even itself; give it a name"
            )
        if not self._free:
            count = max(SPARE, len(self._bank) // 8)
            self._free += reversed(self._bank.add(count))
            self.times.frombytes(bytes(8 * count))
            self.seen.frombytes(bytes(8 * count))
        return self._free.pop()

    def release(self, slots: Iterable[int]) -> None:
        """Take slots back, whose states are those of new streams."""
        self._free += slots

    def place(self, stream: Hashable, slot: int, at: float) -> None:
        """Give a new stream, whose first row has come, its slot."""
        self.slots[stream] = slot
        self.times[slot] = at
        if self.drops:
            self.touch(stream, slot, at)

    def touch(self, stream: Hashable, slot: int, at: float) -> bool:
        """Note that a stream had a row: it is the last one to go now.

        Only where streams are dropped. Returns whether one may have expired.
        """
        self._move_to_end(stream)
        span = self._expire_after
        if span is None:
            return False
        newest = self.newest
        if at > newest:
            if self._ahead is _NOBODY and at - newest <= span:
                newest = self.newest = at
            else:
                newest = self._step_ahead(stream, at, span)
        self.seen[slot] = newest
        return newest > self._none_expire_until

    def _step_ahead(self, stream: Hashable, at: float, span: float) -> float:
        """Return the newest time after one that may be wrong: a second stream must confirm it."""
        alone = self._ahead is _NOBODY or self._ahead == stream
        if alone and span < at - self.newest < math.inf:
            self._ahead = stream
            return self.newest
        self.newest = at
        first = self.slots.get(self._ahead)
        if first is not None:
            self.seen[first] = at
            self._move_to_end(self._ahead)  # or those behind it would stay as long as it does
            self._move_to_end(stream)
        self._ahead = _NOBODY
        return at

    def drop_old(self) -> list[Any]:
        """Forget the streams that expired, and those too many; return them."""
        dropped = []
        span = math.inf if self._expire_after is None else self._expire_after
        most = math.inf if self._max_streams is None else self._max_streams
        while self.slots:
            first = next(iter(self.slots))
            seen = self.seen[self.slots[first]]
            if len(self.slots) <= most and self.newest - seen <= span:
                # The stream that goes next only ever has a later time; less than both round off.
                self._none_expire_until = seen + 0.999 * span - 1e-15 * abs(seen)
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
        self.times.frombytes(times.tobytes())
        self.seen.frombytes(seen.tobytes())
        self.newest = max(self.seen, default=-math.inf)
