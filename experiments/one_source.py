"""One source, tuned without labels: ``python -m experiments.one_source``.

Simulated: classes that last, logits with errors of correlation r from row to row; tuned on some
streams and measured on others. Real, with ``--data``: each classifier alone at every step, tuned
and measured on the same streams. "Best by labels" is the best of the candidates that `tune` tried,
by the labels of the streams it is measured on.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter import Recording
from classfilter.tuning._candidates import Candidate, Runner
from classfilter.tuning._criterion import by_labels
from classfilter.tuning._objective import Objective
from classfilter.tuning._passes import Passes
from classfilter.tuning._rows import concatenate
from classfilter.tuning._tune import prepare

from .parallel import map_in_processes
from .streams import splits

SETS = ("geolife", "ltafdb", "wisdm", "extrasensory")


class Case(NamedTuple):
    """Simulated streams: correlation of errors, rows that a class lasts, classes, rows, streams."""

    r: float
    dwell: float
    K: int
    rows: int = 9000
    streams: int = 4
    shape: float = 1.0

    def __str__(self) -> str:
        """Name the case in a table."""
        shape = "" if self.shape == 1 else f", gamma dwell of shape {self.shape:g}"
        return f"{self.r:g}; {self.dwell:g}, K = {self.K}; {self.streams} x {self.rows}{shape}"


CASES = [
    *(Case(r, 150, 5) for r in (0.0, 0.5, 0.8, 0.95)),
    *(Case(0.8, 600, 5), Case(0.6, 60, 3), Case(0.9, 300, 10), Case(0.3, 30, 4)),
    *(Case(0.8, 150, K) for K in (2, 3, 10, 20)),
    *(Case(0.0, 20, 5), Case(0.0, 10, 3), Case(0.5, 15, 4)),
    *(Case(0.9, 1500, 5), Case(0.5, 600, 5), Case(0.98, 900, 5)),
    *(Case(0.8, 150, 5, 1500), Case(0.8, 300, 5, 1000), Case(0.8, 150, 5, 500, 2)),
    *(Case(0.8, 150, 5, 9000, 1), Case(0.8, 150, 5, shape=0.5), Case(0.9, 300, 10, shape=4.0)),
]
DAYS = [(*day, s) for day in (("capture24", 10.0), ("plain", 5.0)) for s in ("weak", "strong")]


def simulated(case: Case, seed: int, rows: int | None = None) -> Recording:
    """Return a stream, 30 rows a second."""
    T, K = rows or case.rows, case.K
    rng = np.random.default_rng(seed)
    dwell = np.maximum(rng.gamma(case.shape, case.dwell / case.shape, T).astype(int), 1)
    truth = np.repeat(np.cumsum(rng.integers(1, K, size=T)) % K, dwell)[:T]
    noise = rng.normal(scale=1.17, size=(T, K))
    for t in range(1, T):
        noise[t] = case.r * noise[t - 1] + np.sqrt(1 - case.r**2) * noise[t]
    p = np.exp(noise + 2.0 * np.eye(K)[truth])
    return Recording(np.arange(T) / 30, "video", p / p.sum(axis=1, keepdims=True), K, truth)


class Result(NamedTuple):
    """Accuracies in percent, and what was chosen."""

    name: str
    raw: float
    ema: float
    tuned: float
    best: float
    chosen: Candidate


def measure(name: str, train: Sequence[Recording], test: Sequence[Recording]) -> Result:
    """Tune on some streams and measure on others, or on the same."""
    (source,) = train[0].sources
    tuned = cf.tune(train, reference=source)
    chosen, prepared = tuned.candidate, prepare(train, source)
    assert chosen is not None
    assert prepared is not None
    rows = concatenate(test, source)
    judge = Objective(
        Runner(rows, Passes(rows), prepared.objective.runner.model), [by_labels(rows)]
    )
    accuracy = {trial.candidate: 100 * judge.mean(trial.candidate) for trial in tuned.table}
    raw, ema = (
        Candidate(f, ((source, 1.0),), h) for f, h in (("raw", None), ("ema", 16 * rows.step))
    )
    best = max(accuracy.values())
    measured = [100 * judge.mean(candidate) for candidate in (raw, ema, chosen)]
    return Result(name, measured[0], measured[1], measured[2], best, chosen)


def simulated_result(case: Case) -> Result:
    """Return the result of simulated streams."""
    train = [simulated(case, seed) for seed in range(case.streams)]
    return measure(str(case), train, [simulated(case, 100 + i, 9000) for i in range(4)])


def day_result(day: tuple[str, float, str]) -> Result:
    """Return the result of one source of simulated days."""
    name, hours, source = day
    days = [cf.simulate(name, hours=hours, seed=seed) for seed in range(50, 58)]
    recs = [Recording(d.time, source, d.probs[source], d.classes, d.truth) for d in days]
    return measure(f"{name}, {source} alone", recs[:4], recs[4:])


def real_result(case: tuple[str, Path, str]) -> Result:
    """Return the result of one classifier of a real set."""
    name, data, source = case
    people = [person for part in splits(name, data, 2) for person in part]
    recs = [
        Recording(p.time, source, getattr(p, source), p.classes, p.label)
        for p in people
        if (p.label >= 0).any()
    ]
    return measure(f"{name}, {source} alone", recs, recs)


def main() -> None:
    """Print the table, and the largest loss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the data files, for the real sets")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    results = []
    print(
        "| | raw | Ema of 16 rows | tuned | best by labels | loss | chosen |\n" + "|---" * 7 + "|"
    )
    real = [(n, args.data, s) for n in SETS for s in ("strong", "weak")] if args.data else []
    for result in itertools.chain(
        map_in_processes(simulated_result, CASES, args.jobs),
        map_in_processes(day_result, DAYS, args.jobs),
        map_in_processes(real_result, real, args.jobs),
    ):
        results.append(result)
        name, *accuracies, chosen = result
        loss = result.best - result.tuned
        settings = f"{chosen.family}" + (f" {chosen.half_life:.3g}" if chosen.half_life else "")
        cells = [name, *(f"{a:.1f}" for a in accuracies), f"{loss:.1f}", settings]
        print(f"| {' | '.join(cells)} |", flush=True)
    worst = max(results, key=lambda result: result.best - result.tuned)
    print(f"\nLargest loss: {worst.best - worst.tuned:.1f} points, {worst.name}.")


if __name__ == "__main__":
    main()
