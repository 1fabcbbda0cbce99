"""Labels of one source, tuned without the truth: ``python -m experiments.one_source_labels``.

Labels do not say how sure they are, so that errors that last look like classes that are short. Two
limits of `tuning._memory` decide which they are. Drawn simulations, in which some classes last up
to 100 times as long as others; simulated days; and real sets, with ``--data``, the most probable
class of each row. Tuned and measured on the same streams, with the limits and without.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter import Filter, Recording
from classfilter.tuning import _memory

from .one_source import SETS
from .parallel import map_in_processes
from .streams import Floats, splits

DAYS = [("capture24", step, source) for step in (30.0, 5.0) for source in ("strong", "weak")]
NO_LIMITS = {"MIN_SLOW_SHARE": 0.0, "MOST_ROWS": 1.0}


class Result(NamedTuple):
    """Right rows in percent, two log-losses, and whether `tune` warns of its choice."""

    name: str
    raw: float
    vote: float
    without: float
    tuned: float
    smoothed: float
    raw_loss: float
    tuned_loss: float
    warned: bool


def only_labels(rec: Recording) -> Recording:
    """Return a recording of the most probable class of each row, without its probability."""
    (source,) = rec.sources
    said = [rec.classes[k] for k in rec.probs.argmax(axis=1)]
    return Recording(rec.time, source, said, rec.classes, rec.label)


def drawn(seed: int) -> tuple[str, list[Recording]]:
    """Return streams with classes, durations and errors that are drawn themselves."""
    rng = np.random.default_rng(1000 + seed)
    K, typical = int(rng.integers(2, 9)), np.exp(rng.uniform(np.log(15), np.log(300)))
    spread = (1, 1, 5, 30, 100)[rng.integers(5)]
    dwell = np.maximum(typical * spread ** rng.uniform(-0.5, 0.5, K), 4)
    r, gain = (0, 0.5, 0.8, 0.95)[rng.integers(4)], rng.uniform(1.5, 4.0)
    T, streams = (1500, 4000, 8000)[rng.integers(3)], int(rng.integers(3, 9))
    weight, recs = rng.dirichlet(np.full(K, 3.0)), []
    for _ in range(streams):
        truth: list[int] = []
        k = int(rng.integers(K))
        while len(truth) < T:
            truth += [k] * (1 + int(rng.exponential(dwell[k])))
            others = np.where(np.arange(K) == k, 0.0, weight)
            k = int(rng.choice(K, p=others / others.sum()))
        noise = rng.normal(size=(T, K))
        for t in range(1, T):
            noise[t] = r * noise[t - 1] + np.sqrt(1 - r * r) * noise[t]
        p = np.exp(1.17 * noise + gain * np.eye(K)[truth[:T]])
        p /= p.sum(axis=1, keepdims=True)
        recs.append(Recording(np.arange(float(T)), "drawn", p, K, truth[:T]))
    name = f"{seed}: K = {K}, {typical:.0f} rows, spread {spread}, r = {r:g}, {streams} x {T}"
    return name, recs


def day(case: tuple[str, float, str]) -> tuple[str, list[Recording]]:
    """Return one source of simulated days."""
    preset, step, source = case
    days = [cf.simulate(preset, hours=24.0, step=step, seed=seed) for seed in range(30, 36)]
    recs = [Recording(d.time, source, d.probs[source], d.classes, d.truth) for d in days]
    return f"{preset} every {step:g} s, {source}", recs


def real(data: Path, rows: int, case: tuple[str, str]) -> tuple[str, list[Recording]]:
    """Return one classifier of a real set, of the first people with about so many rows in all."""
    name, source = case
    recs, count = [], 0
    for p in splits(name, data, 1)[0]:
        if (p.label >= 0).any() and count < rows:
            recs.append(Recording(p.time, source, getattr(p, source), p.classes, p.label))
            count += len(p.time)
    return f"{name}, {source}", recs


def scores(recs: Sequence[Recording], filter_: cf.Chain | Filter) -> tuple[float, float]:
    """Return the share of right rows, in percent, and the log-loss."""
    P = np.concatenate([np.asarray(rec.run(filter_)) for rec in recs])
    return _scores(recs, P)


def _scores(recs: Sequence[Recording], P: Floats) -> tuple[float, float]:
    truth = np.concatenate([rec.label for rec in recs if rec.label is not None])
    known = truth >= 0
    return (
        100 * cf.metrics.accuracy(truth[known], P[known]),
        cf.metrics.log_loss(truth[known], P[known]),
    )


def measure(named: tuple[str, list[Recording]], soft: bool = False) -> Result:
    """Return the result of streams, of their labels or of their probabilities."""
    name, recs = named
    recs = recs if soft else [only_labels(rec) for rec in recs]
    classes = recs[0].classes
    raw, raw_loss = scores(recs, cf.RawFilter(classes))
    vote, _ = scores(recs, cf.VoteFilter(classes, window=5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = cf.tune(recs)
    warned = any("another class" in str(w.message) for w in caught)
    right, loss = scores(recs, tuned)
    smoothed, _ = _scores(recs, np.concatenate([np.asarray(tuned.smooth(rec)) for rec in recs]))
    kept = {limit: getattr(_memory, limit) for limit in NO_LIMITS}
    try:
        for limit, value in NO_LIMITS.items():
            setattr(_memory, limit, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            without, _ = scores(recs, cf.tune(recs))
    finally:
        for limit, value in kept.items():
            setattr(_memory, limit, value)
    return Result(name, raw, vote, without, right, smoothed, raw_loss, loss, warned)


def drawn_result(soft: bool, seed: int) -> Result:
    """Return the result of drawn streams."""
    return measure(drawn(seed), soft)


def day_result(soft: bool, case: tuple[str, float, str]) -> Result:
    """Return the result of simulated days."""
    return measure(day(case), soft)


def real_result(soft: bool, data: Path, rows: int, case: tuple[str, str]) -> Result:
    """Return the result of a real set."""
    return measure(real(data, rows, case), soft)


def main() -> None:
    """Print the table, and how many drawn streams gain and lose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", type=int, nargs=2, default=(0, 0), help="first seed, and end")
    parser.add_argument("--days", action="store_true", help="simulated days")
    parser.add_argument("--data", type=Path, help="folder with the data files, for the real sets")
    parser.add_argument("--rows", type=int, default=60_000, help="of a real set, about")
    parser.add_argument("--soft", action="store_true", help="probabilities in place of labels")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    cases = [(n, s) for n in SETS for s in ("strong", "weak")] if args.data else []
    print(
        "| | raw | vote of 5 | without limits | tuned | smoothed | log-loss, raw | tuned | warned |"
    )
    print("|---" * 9 + "|")
    partial, jobs = functools.partial, args.jobs
    results = []
    for result in itertools.chain(
        map_in_processes(partial(drawn_result, args.soft), range(*args.drawn), jobs),
        map_in_processes(partial(day_result, args.soft), DAYS if args.days else [], jobs),
        map_in_processes(partial(real_result, args.soft, args.data, args.rows), cases, jobs),
    ):
        results.append(result)
        name, *right, raw_loss, loss, warned = result
        cells = [name, *(f"{a:.1f}" for a in right), f"{raw_loss:.3f}", f"{loss:.3f}"]
        print(f"| {' | '.join([*cells, 'yes' if warned else ''])} |", flush=True)
    simple = np.array([max(r.raw, r.vote) for r in results])
    all_right = {
        "without limits": [r.without for r in results],
        "tuned": [r.tuned for r in results],
    }
    for what, reached in all_right.items():
        gain = np.array(reached) - simple
        lost = int((gain < -1).sum())
        print(
            f"\n{what}: {gain.mean():+.1f} points on average against the better of raw and vote; "
            f"{lost} of {len(gain)} lose more than a point, at most {-gain.min():.1f}."
        )
    unwarned = sum(r.tuned < s - 1 and not r.warned for r, s in zip(results, simple, strict=True))
    print(f"\nOf those, {unwarned} without a warning; {sum(r.warned for r in results)} warnings.")


if __name__ == "__main__":
    main()
