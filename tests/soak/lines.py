"""Lines for a soak, each chunk from its number alone, and what they must lead to."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import classfilter as cf

CLASSES = ("walk", "sit", "sleep")
STREAMS = 40
ROWS, WRONG = 1000, 2
NUMBERED = ROWS + WRONG
"""Lines of a chunk that have a number; garbage has none."""
MAX_GAP, MAX_JUMP, END_GAP = 60.0, 1000.0, 500.0
PIPE = cf.Pipeline(
    cf.DirichletFilter(CLASSES, half_life=20.0),
    rule=cf.EventRule(0.5, min_duration=2.0, max_gap=MAX_GAP),
)
GARBAGE = (
    b"not JSON\n",
    b"\xff\xfe\x00\n",
    b"\n",
    b"[1, 2]\n",
    b'{"time": 1\n',
    b"{" * 2000 + b"\n",
    b'{"n": "seven", "time": 0, "p_walk": 1, "p_sit": 0, "p_sleep": 0}\n',
)


class Rows(NamedTuple):
    """The valid rows of a chunk: stream and time (T,), probabilities (T, K)."""

    stream: Any
    time: Any
    probs: Any


def rows_of(chunk: int, seed: int) -> Rows:
    """Return the valid rows of a chunk; every stream is steady for a while in one class."""
    at = np.arange(chunk * ROWS, (chunk + 1) * ROWS)
    stream, step = at % STREAMS, at // STREAMS
    true = (step // (20 + stream) * (stream + 1) * 7919 + stream) % 3
    noise = np.random.default_rng([seed, chunk]).dirichlet(np.ones(3), ROWS)
    return Rows(stream, step.astype(float), 0.5 * np.eye(3)[true] + 0.5 * noise)


def chunk_lines(chunk: int, seed: int) -> list[tuple[int, bytes]]:
    """Return the lines of a chunk with their numbers, -1 for garbage."""
    rng = np.random.default_rng([seed, chunk, 1])
    stream, time, probs = rows_of(chunk, seed)
    wrong = set(rng.choice(ROWS // 2, 1).tolist() + (500 + rng.choice(ROWS // 2, 1)).tolist())
    lines: list[tuple[int, bytes]] = []
    number = chunk * NUMBERED
    for i, (s, t, p) in enumerate(zip(stream.tolist(), time.tolist(), probs.tolist(), strict=True)):
        if i in wrong:  # a clock far ahead, or behind
            off = 1e7 if rng.random() < 0.5 else -500.0
            lines.append((number, _line(number, s, t + off, p)))
            number += 1
        lines.append((number, _line(number, s, t, p)))
        number += 1
        if rng.random() < 0.002:
            lines.append((-1, GARBAGE[int(rng.integers(len(GARBAGE)))]))
    return lines


def last_lines(chunks: int) -> list[bytes]:
    """Return one more row of each stream, after a gap that ends all events."""
    at = float(chunks * ROWS // STREAMS) + END_GAP
    first = chunks * NUMBERED
    return [_line(first + s, s, at, [1.0, 0.0, 0.0]) for s in range(STREAMS)]


def _line(number: int, stream: int, time: float, probs: list[float]) -> bytes:
    row = {"n": number, "time": time, "stream": f"s{stream}"}
    row |= {f"p_{name}": p for name, p in zip(CLASSES, probs, strict=True)}
    return json.dumps(row).encode() + b"\n"


def wanted(chunks: int, seed: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return the events of each stream, from one table of all valid rows."""
    parts = [rows_of(chunk, seed) for chunk in range(chunks)]
    end = float(chunks * ROWS // STREAMS) + END_GAP
    last = np.tile([1.0, 0.0, 0.0], (STREAMS, 1))
    parts.append(Rows(np.arange(STREAMS), np.full(STREAMS, end), last))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    table = {"stream": [f"s{s}" for s in columns[0].tolist()], "time": columns[1]}
    table |= {f"p_{name}": columns[2][:, k] for k, name in enumerate(CLASSES)}
    events: dict[str, list[tuple[Any, ...]]] = {f"s{s}": [] for s in range(STREAMS)}
    for e in cf.Events.from_table(cf.events(pl.DataFrame(table), PIPE)):
        if e.start < end:  # the last row's own event goes on
            events[str(e.stream)].append((e.label, e.start, e.end, e.probability))
    return events
