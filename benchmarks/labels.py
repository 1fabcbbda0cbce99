"""Several labels at once: label-rows a second, beside a forward pass and an average of each label.

A label-row is one score of one label. ``python -m benchmarks.labels [rows]``
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from hmmlearn import _hmmc
from scipy.signal import lfilter

import classfilter as cf
from classfilter.support.types import Floats

from .harness import Call, machine, race, report

LABELS = 100
ROWS = 1_000_000
BLOCK = 50_000
"""Rows of one call; the state goes on from block to block."""
FILTERS: dict[str, Any] = {
    "StickyFilter": cf.StickyFilter(2, stay=0.5 ** (1 / 10)),
    "DirichletFilter": cf.DirichletFilter(2, half_life=10.0),
}
GOAL = "500 ns: 2 million a second"


def scores_of(rows: int, labels: int) -> Floats:
    """Return scores of labels that come and go."""
    rng = np.random.default_rng(0)
    on = rng.random((-(-rows // 50), labels)).repeat(50, axis=0)[:rows] < 0.3
    return np.asarray(np.clip(np.where(on, 0.7, 0.3) + rng.normal(0, 0.25, on.shape), 0, 1))


def whole(rows: int) -> None:
    """Time all rows of all labels on one core, block by block."""
    scores = scores_of(BLOCK, LABELS)
    blocks = max(1, rows // BLOCK)
    start, matrix = np.full(2, 0.5), np.array([[0.97, 0.03], [0.03, 0.97]])

    def forward() -> None:
        for s in scores.T:
            _hmmc.forward_scaling(start, matrix, np.maximum(np.stack([1 - s, s], axis=1), 1e-3))

    def average() -> None:
        lfilter([0.1], [1, -0.9], scores, axis=0)

    def ours(one: Any) -> Call:
        f = cf.MultiLabelFilter(LABELS, one)

        def call() -> None:
            for _ in range(blocks):
                f.run(scores)

        return call

    def repeated(call: Call) -> Call:
        def calls() -> None:
            for _ in range(blocks):
                call()

        return calls

    calls: dict[str, Call] = {
        "hmmlearn forward_scaling, each label": repeated(forward),
        "scipy lfilter, an EMA": repeated(average),
    }
    calls |= {f"MultiLabelFilter.run, {name}": ours(one) for name, one in FILTERS.items()}
    total = blocks * BLOCK * LABELS
    times = {
        f"{name}, {total / best / 1e6:.1f} M/s": best / total
        for name, best in race(calls, least=1).items()
    }
    goals = {name: GOAL for name in times if name.startswith("Multi")}
    report(f"{LABELS} labels, {blocks * BLOCK:,} rows, per label-row", times, goals)


def one_row(labels: int) -> None:
    """Time one row from Python."""
    rows = list(scores_of(1000, labels))
    names = [f"label {i}" for i in range(labels)]

    def ema() -> None:
        p, g = np.full(labels, 0.5), 0.9
        for s in rows:
            p = g * p + (1 - g) * s

    def updates(one: Any) -> Call:
        f = cf.MultiLabelFilter(names, one)

        def call() -> None:
            for s in rows:
                f.update(s)

        return call

    def tracked(one: Any) -> Call:
        tracker, at = cf.Tracker(cf.MultiLabelFilter(names, one)), 0.0

        def call() -> None:
            nonlocal at
            for s in rows:
                at += 1.0
                tracker.update("ann", at, "net", s)

        return call

    calls: dict[str, Call] = {"NumPy EMA, g*p + (1-g)*s": ema}
    for name, one in FILTERS.items():
        calls[f"MultiLabelFilter.update, {name}"] = updates(one)
        calls[f"Tracker.update, {name}"] = tracked(one)
    times = {name: best / len(rows) for name, best in race(calls).items()}
    report(f"One row of {labels} labels", times, {})


def main(rows: int = ROWS) -> None:
    whole(rows)
    for labels in (1, 10, 100):
        one_row(labels)


if __name__ == "__main__":
    print(machine())
    main(*map(int, sys.argv[1:]))
