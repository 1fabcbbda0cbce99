"""Which streams expire, against a list that is searched through at every row."""

from __future__ import annotations

import numpy as np
import pytest

import classfilter as cf


class Plain:
    """The rule as it is documented, without any short cut."""

    def __init__(self, expire_after: float, max_streams: int) -> None:
        self.span, self.most, self.newest = expire_after, max_streams, -np.inf
        self.seen: dict[str, float] = {}
        self.ahead: str | None = None

    def row(self, stream: str, at: float) -> list[str]:
        confirmed: str | None = None
        if at > self.newest:
            far = self.span < at - self.newest < np.inf
            if far and self.ahead in (None, stream):
                self.ahead = stream
            else:
                self.newest, confirmed, self.ahead = at, self.ahead, None
        if confirmed in self.seen:  # its row counts as of now
            self.seen.pop(str(confirmed))
            self.seen[str(confirmed)] = at
        self.seen.pop(stream, None)
        self.seen[stream] = self.newest
        while len(self.seen) > self.most or self.newest - min(self.seen.values()) > self.span:
            self.seen.pop(next(iter(self.seen)))
        return list(self.seen)


@pytest.mark.covering(1)
@pytest.mark.parametrize("start", [0.0, 1.7e9, -1e12])
@pytest.mark.parametrize("span", [1e-4, 3.3, 1e5])
def test_streams_expire_as_by_the_plain_rule(span: float, start: float) -> None:
    rng = np.random.default_rng(0)
    tracker = cf.Tracker(cf.RawFilter(2), expire_after=span, max_streams=9)
    plain, last = Plain(span, 9), dict.fromkeys("abcdefghijklmn", start)
    dropped = 0
    for _ in range(2000):
        name = str(rng.choice(list(last)))
        last[name] += float(rng.choice([0.0, 0.3, 1.0, 1.5, 40.0], p=[0.2, 0.4, 0.3, 0.08, 0.02]))
        last[name] = max(last[name], plain.newest - 2 * span) if rng.random() < 0.5 else last[name]
        if name in tracker:
            last[name] = max(last[name], tracker.time(name))
        before = len(tracker) + (name not in tracker)
        tracker.update(name, last[name], None, [0.5, 0.5])
        assert tracker.streams == plain.row(name, last[name])
        dropped += before - len(tracker)
    assert dropped > 20
