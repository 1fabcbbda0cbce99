"""Reports sources that go wrong while lines are filtered: when it begins, and when it ends."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from ..streams._counts import ALL
from ..streams._health import Health, changed
from ._streams import LiveStreams

CHANGES = ALL.index("changes")


class SourceWatch:
    """Says what is wrong with sources: the first three times of each, then powers of two."""

    def __init__(self, log: TextIO) -> None:
        self._log, self._changes = log, -1.0
        self._before = Health()
        self._times: Counter[tuple[str, str]] = Counter()

    def look(self, streams: LiveStreams | None, line: int) -> None:
        """Report what began or ended with a line; nothing of several labels at once."""
        if streams is None or streams.chain.independent:
            return
        changes = streams.tracker._counts.numbers.item(CHANGES)
        if changes == self._changes:
            return
        self._changes = changes
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

    def summarize(self, streams: LiveStreams | None) -> None:
        """Say what is still wrong at the end, and how often anything was."""
        if streams is None or streams.chain.independent:
            return
        for row in streams.tracker.health():
            if not row.reported:
                continue
            now = "; ".join(row.verdicts) or "as usual now"
            times = "once" if row.reported == 1 else f"{row.reported} times"
            text = f"source {row.source!r} was reported {times}; at the end: {now}"
            print(text, file=self._log, flush=True)
