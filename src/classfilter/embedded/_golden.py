"""Golden vectors: rows for the firmware's self-test, and what Python computes from them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..chain._chain import Chain
from ._golden_events import golden_events
from ._rule import FirmwareRule

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
    probs : ndarray (T, K)
        The predictions.
    filtered : ndarray (T, K)
        The filtered probabilities.
    state : ndarray (T, K or K + 1)
        The filter's state after each row.
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


def golden(config: Chain, rows: int = ROWS) -> Golden:
    """Return synthetic predictions and the results of the filter, which is in float32."""
    f, K, names = config.filter(), len(config.classes), config.sources
    rule: Any = None if config.policy is None else config.policy.copy()
    random, draw = _random_numbers(), _random_scores if config.independent else _random_row
    sources, dt = [], np.zeros(rows, np.float32)
    probs = np.zeros((rows, K), np.float32)
    filtered, state, chosen, policy = np.zeros_like(probs), [], [], []
    since, any_strong = np.float32(0), False
    for i in range(rows):
        index, dt[i], probs[i] = draw(random, K, len(names))
        before = f.probs
        if rule is not None:
            elapsed = {rule.strong: float(since + dt[i])} if any_strong else {}
            choice = names.index(rule.choose(before, elapsed))
            chosen.append([choice])
            index = index if next(random) % 4 == 0 else choice
        source, beta, row = config.observe(names[index], probs[i])
        sources.append(source)
        filtered[i] = f.update(row, beta, float(dt[i]))
        state.append(np.hstack(list(f.state)).astype(np.float32))
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


def _random_row(random: Iterator[int], K: int, sources: int) -> tuple[int, float, Singles]:
    """Return the index of a source, dt and probabilities: `make_row` of selftest.c."""
    kind, top, step = next(random) % 16, next(random) % K, next(random) % 8
    source = next(random) % sources
    dt = next(random) % 1000 / 16 if step == 6 else _STEPS[step]
    parts = np.zeros(K, np.int64)
    for k in range(K):
        part = next(random) % 256
        part = 0 if kind == 1 else part * part // 1024 if kind > 3 else part
        parts[k] = part + 64 * (k == top)
    row = parts.astype(np.float32) / np.float32(parts.sum())
    return source, dt, np.full(K, np.nan, np.float32) if kind == 0 else row


def _random_scores(random: Iterator[int], labels: int, sources: int) -> tuple[int, float, Singles]:
    """Return the same with scores of several labels: `make_row` of labels/selftest.c."""
    kind, unseen, step = next(random) % 16, next(random) % labels, next(random) % 8
    source = next(random) % sources
    dt = next(random) % 1000 / 16 if step == 6 else _STEPS[step]
    row = np.zeros(labels, np.float32)
    for i in range(labels):
        part = next(random) % 256
        part = part // 128 * 255 if kind == 1 else part
        row[i] = np.nan if kind == 0 or (kind == 2 and i == unseen) else np.float32(part) / 255
    return source, dt, row


def golden_header(config: Chain, rules: Sequence[FirmwareRule | None] = ()) -> str:
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
    columns = "CF_LABELS" if config.independent else "CF_CLASSES"
    full = vectors.filtered[:FULL].view(np.uint32).tolist()
    rows = ",\n".join(f"    {{{', '.join(f'0x{word:08x}u' for word in row)}}}" for row in full)
    defined += [f"#define CF_GOLDEN_INPUTS 0x{inputs:08x}u"]
    defined += [f"#define CF_GOLDEN_OUTPUTS 0x{outputs:08x}u"]
    if any(rules):
        defined += golden_events(rules, config.independent, vectors.dt, vectors.filtered)
    macros = "\n".join(defined)
    return f"""\
/* Results of Python for the rows of selftest.c, in float32. Written by classfilter; do not edit. */
#ifndef CF_GOLDEN_H
#define CF_GOLDEN_H

#include <stdint.h>

{macros}

/* The bits of the first filtered probabilities. */
static const uint32_t cf_golden[CF_GOLDEN_FULL][{columns}] = {{
{rows}}};

#endif
"""
