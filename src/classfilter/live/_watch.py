"""Reports sources that go wrong while lines are filtered: when it begins, and when it ends."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from ..streams._health import Health, changed
from ._streams import LiveStreams

LINES = 16
"""In many lines at once, it looks after so many; where they come one by one, after each."""


class SourceWatch:
    """Says what is wrong with sources: the first three times of each, then powers of two."""

    def __init__(self, log: TextIO) -> None:
        self._log, self._before = log, Health()
        self._line = 0
        self._times: Counter[tuple[str, str]] = Counter()

    def look(self, streams: LiveStreams | None, line: int, *, now: bool = False) -> None:
        """Report what began or ended, if it is time to look; nothing of several labels at once."""
        if streams is None or streams.chain.independent:
            return
        if not now and line < self._line + LINES:
            return
        self._line = line
        health = streams.tracker.health()
        for source, kind, text in changed(self._before, health):
            self._say(source, kind, text, line)
        self._before = health

    def _say(self, source: str, kind: str, text: str, line: int) -> None:
        self._times[source, kind] += 1
        times = self._times[source, kind]
        if times > 3 and times & (times - 1):
            return
        often = f" (no. {times})" if times > 1 else ""
        print(f"line {line}: source {source!r}: {text}{often}", file=self._log, flush=True)

    def summarize(self) -> None:
        """Say what is still wrong at the end, and how often anything was."""
        for row in self._before:
            times = sum(n for (source, kind), n in self._times.items()
                        if source == row.source and not kind.startswith("no longer"))  # fmt: skip
            if times:
                now = "; ".join(row.verdicts) or "as usual now"
                often = "once" if times == 1 else f"{times} times"
                text = f"source {row.source!r} was reported {often}; at the end: {now}"
                print(text, file=self._log, flush=True)
