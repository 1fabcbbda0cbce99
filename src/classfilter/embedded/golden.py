"""Golden vectors: rows for the firmware's self-test, and what Python computes from them."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Start
from ..inputs import Heads
from ..pipeline import Pipeline
from .rule import FirmwareRule


def golden_events(
    rules: Sequence[FirmwareRule | None], heads: Heads, dt: Any, rows: Any
) -> list[str]:
    """Return the lines of cf_golden.h: what the rules report of the self-test's rows.

    `rows` are the filtered probabilities, (T, C).
    """
    scale, count, crc = _ticks_per_part(rules), 0, 0
    stack = heads.stacked(rows)
    streams = [
        _Stream(rule, stack[:, h, :size], heads.spans[h].stop - size)
        for h, (rule, size) in enumerate(zip(rules, heads.sizes, strict=True))
    ]
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
    """Rows of a head of the self-test: what is reported, as the words that the firmware adds up.

    `first` is the column of the first class; off, the first one of a label, has none.
    """

    def __init__(self, rule: FirmwareRule | None, rows: Any, first: int) -> None:
        self._core = None if rule is None else rule.core()
        self._rows, self._first = np.ascontiguousarray(rows, np.float32), first
        self._state = b"" if self._core is None else self._core.start()
        both = 0.0 if rule is None else sum(rule.rule.pad)
        self._tiny = 0.5 / both if both else 0.0

    def words_of_row(self, now: int, row: int) -> tuple[int, bytes]:
        if self._core is None:
            return 0, _packed([0, 0, 0])
        starts: list[Start] = []
        self._state, events = self._core.update(self._state, float(now), self._rows[row], starts)
        going_on = self._core.current(self._state)
        words = [len(events)]
        for event in events:
            words += self._words(*event)
        words += self._starts(starts)
        words += [0] if going_on is None else self._current(*going_on)
        return len(events), _packed(words)

    def words_of_end(self) -> tuple[int, bytes]:
        if self._core is None:
            return 0, _packed([0])
        starts: list[Start] = []
        columns = [column.tolist() for column in self._core.finish(self._state, starts)]
        events = list(zip(*columns, strict=True))
        words = [word for event in events for word in self._words(*event)]
        return len(events), _packed([*words, *self._starts(starts)])

    def _starts(self, starts: list[Start]) -> list[int]:
        words = [[self._first + label, *self._time(start)] for label, start in starts]
        return [len(starts), *(word for own in words for word in own)]

    def _current(self, label: int, start: float, mean: float, confirmed: bool) -> list[int]:
        return [1 + confirmed, self._first + label, *self._time(start), _bits(mean)]

    def _words(self, label: int, start: float, end: float, mean: float, forced: bool) -> list[int]:
        times = (*self._time(start), *self._time(end))
        return [self._first + label, *times, _bits(mean), int(forced)]

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


Singles = NDArray[np.float32]
ROWS, FULL, SEED = 3000, 8, 2024
_STEPS = (1.0, 1.0, 1.0, 1.0, 5.0, 0.0, 0.0, 600.0)


class Golden(NamedTuple):
    """Synthetic predictions, as the firmware's self-test draws them, and the filter's results.

    Attributes
    ----------
    source : list of str
        The source of each row.
    dt : ndarray (T,)
        The time since the row before.
    probs : ndarray (T, C)
        The predictions.
    filtered : ndarray (T, C)
        The filtered probabilities.
    state : ndarray (T, N)
        The filter's state after each row, see `state_numbers`.
    chosen : ndarray (T, 1), or (T, 0) without a policy
        The index of the source that the policy chose.
    policy : ndarray (T, N), or (T, 0)
        The time since the last strong call, and the policy's state.
    """

    source: list[str]
    dt: Singles
    probs: Singles
    filtered: Singles
    state: Singles
    chosen: Singles
    policy: Singles


def golden(config: Pipeline, rows: int = ROWS) -> Golden:
    """Return synthetic predictions and the results of the filter, which is in float32."""
    f, names = config.filter, config.sources
    rule: Any = None if config.policy is None else config.policy.copy()
    random = _random_numbers()
    sources, dt = [], np.zeros(rows, np.float32)
    probs = np.zeros((rows, len(config.classes)), np.float32)
    filtered, state, chosen, policy = np.zeros_like(probs), [], [], []
    since, any_strong = np.float32(0), False
    for i in range(rows):
        index, dt[i], probs[i] = _random_row(random, config.heads, len(names))
        before = f.probs
        if rule is not None:
            elapsed = {rule.strong: float(since + dt[i])} if any_strong else {}
            choice = names.index(rule.choose(before, elapsed))
            chosen.append([choice])
            index = index if next(random) % 4 == 0 else choice
        source, beta, row = config.observe(names[index], probs[i])
        sources.append(source)
        filtered[i] = f.update(row, beta, float(dt[i]))
        state.append(state_numbers(f, config.heads))
        if rule is not None:
            rule.called(source, row, before, float(dt[i]))
            any_strong |= source == rule.strong
            since = np.float32(0) if source == rule.strong else since + dt[i]
            policy.append([since, *rule.state])
    of_policy = [np.array(part, np.float32).reshape(rows, -1) for part in (chosen, policy)]
    return Golden(sources, dt, probs, filtered, np.array(state), *of_policy)


def _random_numbers() -> Iterator[int]:
    seed = SEED
    while True:
        seed = (seed * 1664525 + 1013904223) % 2**32
        yield seed >> 16


def state_numbers(f: Any, heads: Heads) -> Singles:
    """Return a filter's state as a stream of the firmware has it: zeros fill up smaller heads."""
    if heads.is_exclusive:
        return np.hstack(list(f.state)).astype(np.float32)
    most = max(map(len, f.state))
    padded = [np.pad(part, (0, most - len(part))) for part in f.state]
    return np.concatenate(padded).astype(np.float32)


def _random_row(random: Iterator[int], heads: Heads, sources: int) -> tuple[int, float, Singles]:
    """Return the index of a source, dt and a row (C,): `make_row` of cf_selftest.c."""
    C = len(heads.shown)
    kind, chosen, step = next(random) % 16, next(random) % C, next(random) % 8
    source = next(random) % sources
    dt = next(random) % 1000 / 16 if step == 6 else _STEPS[step]
    row = np.zeros(C, np.float32)
    for h, span in enumerate(heads.spans):
        draw = _random_score if h in heads.labels else _random_probs
        row[span] = draw(random, kind, chosen, span.stop - span.start)
        if kind == 0 or (kind == 2 and not heads.is_exclusive and span.start <= chosen < span.stop):
            row[span] = np.nan
    return source, dt, row


def _random_probs(random: Iterator[int], kind: int, chosen: int, K: int) -> Singles:
    parts = np.zeros(K, np.int64)
    for k in range(K):
        part = next(random) % 256
        part = 0 if kind == 1 else part * part // 1024 if kind > 3 else part
        parts[k] = part + 64 * (k == chosen % K)
    return parts.astype(np.float32) / np.float32(parts.sum())


def _random_score(random: Iterator[int], kind: int, *_: int) -> np.float32:
    part = next(random) % 256
    return np.float32(part // 128 * 255 if kind == 1 else part) / np.float32(255)


def golden_header(config: Pipeline, rules: Sequence[FirmwareRule | None] = ()) -> str:
    """Return the header with the results that the self-test compares with."""
    vectors = golden(config)
    defined = [
        f"#define CF_GOLDEN_SEED {SEED}u",
        f"#define CF_GOLDEN_ROWS {ROWS}",
        f"#define CF_GOLDEN_FULL {FULL}",
    ]
    first = np.where(np.isnan(vectors.probs[:, 0]), np.float32(-1), vectors.probs[:, 0])
    inputs = zlib.crc32(np.stack([vectors.dt, first], axis=1).astype("<f4").tobytes())
    results = np.hstack([vectors.chosen, vectors.filtered, vectors.state, vectors.policy])
    outputs = zlib.crc32(results.astype("<f4").tobytes())
    full = vectors.filtered[:FULL].view(np.uint32).tolist()
    rows = ",\n".join(f"    {{{', '.join(f'0x{word:08x}u' for word in row)}}}" for row in full)
    defined += [f"#define CF_GOLDEN_INPUTS 0x{inputs:08x}u"]
    defined += [f"#define CF_GOLDEN_OUTPUTS 0x{outputs:08x}u"]
    if any(rules):
        defined += golden_events(rules, config.heads, vectors.dt, vectors.filtered)
    macros = "\n".join(defined)
    return f"""\
/* Results of Python for the rows of cf_selftest.c. Written by classfilter; do not edit. */
#ifndef CF_GOLDEN_H
#define CF_GOLDEN_H

#include <stdint.h>

{macros}

/* The bits of the first filtered probabilities. */
static const uint32_t cf_golden[CF_GOLDEN_FULL][CF_COLUMNS] = {{
{rows}}};

#endif
"""
