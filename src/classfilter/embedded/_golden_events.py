"""Golden events: what Python's rule reports of the rows of the firmware's self-test."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._rule import FirmwareRule


def golden_events(
    rules: Sequence[FirmwareRule | None], independent: bool, dt: Any, rows: Any
) -> list[str]:
    """Return the lines of golden.h: what the rules report of the self-test's rows.

    `rows` are the filtered probabilities, of classes or of several labels at once.
    """
    scale, count, crc = _ticks_per_part(rules), 0, 0
    if independent:
        pairs = [np.column_stack([1 - on, on]) for on in rows.T]
        streams = [_Stream(*part) for part in zip(rules, pairs, range(len(rules)), strict=True)]
    else:
        streams = [_Stream(rules[0], rows)]
    now = 0
    for row, step in enumerate(np.asarray(dt, float).tolist()):
        now += int(step * 16) * scale
        for stream in streams:
            found, words = stream.words_of_row(now, row)
            count, crc = count + found, zlib.crc32(words, crc)
    for stream in streams:
        found, words = stream.words_of_end()
        count, crc = count + found, zlib.crc32(words, crc)
    return [
        f"#define CF_GOLDEN_TICKS {scale}u",
        f"#define CF_GOLDEN_EVENTS {count}",
        f"#define CF_GOLDEN_REPORTED 0x{crc:08x}u",
    ]


def _ticks_per_part(rules: Sequence[FirmwareRule | None]) -> int:
    """Return how many ticks a sixteenth of the self-test's time unit takes.

    A row of one unit then stands for about a quarter of what a change costs.
    """
    some = [one for one in rules if one is not None]
    cost = float(np.median([x for one in some for x in one.numbers["enter"]]))
    scale = cost / 64 if cost > 0 else 1 / some[0].tick / 16
    gaps = [one.rule.max_gap / 40 for one in some if one.rule.max_gap is not None]
    return max(1, min(round(min(scale, *gaps)) if gaps else round(scale), 200_000))


class _Stream:
    """A stream of the self-test: what is reported, as the words that the firmware adds up.

    Of several labels at once, it is one of a `label`, which may have no rule.
    """

    def __init__(self, rule: FirmwareRule | None, rows: Any, label: int | None = None) -> None:
        self._core = None if rule is None else rule.core()
        self._rows, self._label = rows.astype(np.float32), label
        self._state = b"" if self._core is None else self._core.start()
        both = 0.0 if rule is None else sum(rule.rule.pad)
        self._tiny = 0.5 / both if both else 0.0

    def words_of_row(self, now: int, row: int) -> tuple[int, bytes]:
        if self._core is None:
            return 0, _packed([0, 0])
        self._state, events = self._core.update(self._state, float(now), self._rows[row])
        going_on = self._core.current(self._state)
        words = [len(events)]
        for event in events:
            words += self._words(*event)
        words += [0] if going_on is None else self._current(*going_on)
        return len(events), _packed(words)

    def words_of_end(self) -> tuple[int, bytes]:
        if self._core is None:
            return 0, b""
        columns = [column.tolist() for column in self._core.finish(self._state)]
        events = list(zip(*columns, strict=True))
        return len(events), _packed([word for event in events for word in self._words(*event)])

    def _current(self, label: int, start: float, mean: float, confirmed: bool) -> list[int]:
        return [1 + confirmed, self._named(label), *self._time(start), _bits(mean)]

    def _words(self, label: int, start: float, end: float, mean: float, forced: bool) -> list[int]:
        times = (*self._time(start), *self._time(end))
        return [self._named(label), *times, _bits(mean), int(forced)]

    def _named(self, label: int) -> int:
        return label if self._label is None else self._label

    def _time(self, time: float) -> tuple[int, int]:
        """Return the words of a tick: where pads meet between two ticks, of the earlier one.

        That time is right but for rounding, which is far less than the least share of a tick.
        """
        high, low = divmod(math.floor(time + self._tiny), 2**32)
        return low, high


def _bits(mean: float) -> int:
    return int(np.float32(mean).view(np.uint32))


def _packed(words: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)
