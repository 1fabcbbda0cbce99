"""What every entry point should make of a case: the rules, and one plain filter for each stream."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from hostile_rows import BETA, CHANNEL, CLASSES, Case, Expire, Row
from stream_rules import Outcome, StreamRules


class Taken(NamedTuple):
    """An estimate as its bytes, and the most probable class; None where that is not said."""

    estimate: bytes
    label: str | None = None


class Result(NamedTuple):
    """What comes of a case: an entry for each row and each `Expire`, and the streams at the end.

    The entry of a row is None if it was refused; that of an `Expire` the streams that were over.
    The rules also know the rows, by number, of each stream from its beginning until it is over.
    """

    steps: list[Any]
    streams: list[Hashable] | None = None
    parts: list[list[int]] | None = None


def expected(case: Case) -> Result:
    """Return what the rules and plain filters make of a case."""
    filters: dict[Hashable, Any] = {}
    rules: dict[Hashable, StreamRules] = {}
    results: list[Any] = []
    waiting: list[tuple[int, Row]] = []
    parts: list[list[int]] = []
    going: dict[Hashable, list[int]] = {}

    def rules_of(stream: Hashable) -> StreamRules:
        key = stream if case.apart else None
        return rules.setdefault(key, StreamRules(**case.limits))

    def end_call() -> None:
        for (at, row), outcome in _outcomes(waiting, rules_of):
            if outcome.accepted:
                results[at] = _filtered(case, filters, row, outcome)
                if outcome.fresh:
                    going[row.stream] = []
                    parts.append(going[row.stream])
                going[row.stream].append(at)
        waiting.clear()

    number = 0
    for step in case.steps:
        if isinstance(step, Row):
            results.append(None)
            if number not in case.refused and _is_valid(step):
                waiting.append((len(results) - 1, step))
            number += 1
        if not isinstance(step, Row) or number % case.calls == 0:
            end_call()
        if isinstance(step, Expire):
            results.append(rules_of(None).expire(step.now))
    end_call()
    drops = {"expire_after", "max_streams"} & case.limits.keys()
    held = rules_of(None).held if drops and not case.apart else None
    return Result(results, held, parts)


def _outcomes(rows: list[tuple[int, Row]], rules_of: Any) -> list[tuple[tuple[int, Row], Outcome]]:
    """Return what becomes of the rows of one call; a stream is forgotten after all of them."""
    outcomes = [(item, rules_of(item[1].stream).row(item[1].stream, item[1].time, forget=False))
                for item in rows]  # fmt: skip
    for _, row in rows:
        rules_of(row.stream).forget()
    return outcomes


def _is_valid(row: Row) -> bool:
    """Return whether a filter takes the source and the prediction of a row."""
    if row.source is not None and row.source not in BETA:
        return False
    if isinstance(row.probs, str) or all(math.isnan(p) for p in row.probs):
        return True
    return min(row.probs) >= 0 and abs(sum(row.probs) - 1) <= 0.05


def _filtered(case: Case, filters: dict[Hashable, Any], row: Row, outcome: Outcome) -> Taken:
    if outcome.fresh:
        filters[row.stream] = case.fresh()
    f = filters[row.stream]
    source = row.source or "default"
    probs = np.array(as_numbers(row.probs, source), f.probs.dtype)
    if source in CHANNEL:
        probs = CHANNEL[source].apply(probs)
    estimate = f.update(probs, BETA[source], outcome.dt)
    return Taken(estimate.tobytes(), first_maximum(estimate.tolist()))


def as_numbers(probs: tuple[float, ...] | str, source: str | None) -> tuple[float, ...]:
    """Return probabilities; of a class, 1 and zeros if its source has a channel, else 0.7."""
    if not isinstance(probs, str):
        return probs
    top = 1.0 if (source or "default") in CHANNEL else 0.7
    rest = (1 - top) / (len(CLASSES) - 1)
    return tuple(top if name == probs else rest for name in CLASSES)


def first_maximum(estimate: list[float]) -> str:
    """Return the most probable class; of several, the first in the order of the filter."""
    return CLASSES[estimate.index(max(estimate))]
