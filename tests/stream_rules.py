"""The rules of keyed streams, written out slowly: what every tracker must do with a row's time.

Times are numbers, and rows are taken in the order in which they come. A row is refused, continues
its stream after `dt`, or begins it anew. Streams end by silence, by the clock of all streams, or
because there are too many.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

MOST_STRAYS = 8
ENOUGH = 3
"""So many streams that agree set the clock, or all of them where there are fewer."""


class Outcome(NamedTuple):
    """What becomes of a row: a refused one is neither fresh nor has it a dt."""

    accepted: bool
    fresh: bool = False
    dt: float = 0.0


@dataclass
class Stream:
    """The time of the last row, what the clock was after it, and the last time that was a jump."""

    time: float
    seen: float = math.nan
    jump: float | None = None


class StreamRules:
    """Streams by name, each with its times; None turns a limit off."""

    def __init__(
        self,
        expire_after: float | None = None,
        max_streams: int | None = None,
        max_jump: float | None = None,
    ) -> None:
        self.expire_after, self.max_streams, self.max_jump = expire_after, max_streams, max_jump
        self.streams: dict[Hashable, Stream] = {}
        self.clock: float | None = None
        self.strays: dict[Hashable, float] = {}

    @property
    def held(self) -> list[Hashable]:
        """The streams; the one whose last row came first is first."""
        return list(self.streams)

    def row(self, stream: Hashable, time: float, *, forget: bool = True) -> Outcome:
        """Take a row; without `forget`, no stream ends after it, as amid the rows of one call."""
        known = self.streams.get(stream)
        if not math.isfinite(time) or (known is not None and time < known.time):
            return Outcome(False)
        if known is not None and self._is_jump(known, time):
            known.jump = time
            return Outcome(False)
        fresh = known is None or self._is_over(known.time, time)
        dt = 0.0 if known is None or fresh else time - known.time
        self.streams[stream] = Stream(time)
        self._put_last(stream)
        if self.expire_after is not None:
            self._set_clock(stream, time)
            assert self.clock is not None
            self.streams[stream].seen = self.clock
        if forget:
            self.forget()
        return Outcome(True, fresh, dt)

    def forget(self) -> list[Hashable]:
        """Forget the streams that are over, and those too many; return them."""
        gone = []
        for name, stream in list(self.streams.items()):
            many = self.max_streams is not None and len(self.streams) > self.max_streams
            if not many and not (self.clock is not None and self._is_over(stream.seen, self.clock)):
                break
            del self.streams[name]
            gone.append(name)
        return gone

    def expire(self, now: float) -> list[Hashable]:
        """Set the clock; return the streams that are over then."""
        self.clock = now
        self._no_seen_after_clock()
        return self.forget()

    def _is_jump(self, known: Stream, time: float) -> bool:
        if self.max_jump is None or time - known.time <= self.max_jump:
            return False
        return known.jump is None or not 0 <= time - known.jump <= self.max_jump

    def _is_over(self, last: float, now: float) -> bool:
        return self.expire_after is not None and now - last > self.expire_after

    def _set_clock(self, stream: Hashable, at: float) -> None:
        assert self.expire_after is not None
        if self.clock is None or abs(at - self.clock) <= self.expire_after:
            self.clock = at if self.clock is None else max(self.clock, at)
            self.strays = {}
            return
        self.strays.pop(stream, None)
        self.strays[stream] = at
        if len(self.strays) > MOST_STRAYS:
            del self.strays[next(iter(self.strays))]
        agree = [name for name, t in self.strays.items() if abs(t - at) <= self.expire_after]
        if len(agree) < min(ENOUGH, len(self.streams)):
            return
        self.clock = max(self.strays[name] for name in agree)
        self.strays = {}
        for name in agree:
            if name in self.streams:
                self.streams[name].seen = self.clock
                self._put_last(name)
        self._no_seen_after_clock()

    def _no_seen_after_clock(self) -> None:
        assert self.clock is not None
        for stream in self.streams.values():
            stream.seen = min(stream.seen, self.clock)

    def _put_last(self, stream: Hashable) -> None:
        self.streams[stream] = self.streams.pop(stream)
