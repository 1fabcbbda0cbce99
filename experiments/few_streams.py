"""Tuning on eight streams, and how many would do: ``python -m experiments.few_streams SETS``.

Settings are tuned without labels on some streams, chosen at random, and measured on all others.
Where it is not settled whether they are better than the best simple rule, as many streams are drawn
as `tune` asks for, and tuned on.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter.tuning import Rival, Tuned

from .parallel import map_in_processes
from .rates import RULES, _correct, _correct_by_rule, _mean, _people
from .streams import arguments

STREAMS = 8
EVERY = (4, 12, 30)


class Draw(NamedTuple):
    """A random choice of the streams of a set, at one rate of strong calls."""

    name: str
    data: Path | None
    every: int
    seed: int


class Result(NamedTuple):
    """Accuracies on other streams, whether it is settled, and whether that many streams do."""

    hold: float
    tuned: float
    faster: bool
    settled: bool
    needed: float
    settled_then: bool | None


def measure(draw: Draw) -> Result:
    """Tune on eight streams; where that settles nothing, on as many as are needed."""
    name, data, every, seed = draw
    recs = [person.recording(every) for person in _people(name, data)]
    order = np.random.default_rng(seed).permutation(len(recs))
    tuned, others = _tuned([recs[i] for i in sorted(order[:STREAMS])]), order[STREAMS:]
    hold = _correct_by_rule(name, data, every)["Hold"]
    best, then = best_rule(tuned), None
    if best is not None and not best.clear and best.streams_needed <= len(recs):
        more = np.random.default_rng(1000 + seed).permutation(len(recs))
        later = best_rule(_tuned([recs[i] for i in more[: round(best.streams_needed)]]))
        then = later is None or later.clear
    return Result(
        _mean([hold[i] for i in others]),
        _mean([_correct(recs[i], tuned.run(recs[i])) for i in others]),
        tuned.candidate is not None and tuned.candidate.rate > 1,
        best is None or best.clear,
        np.nan if best is None else best.streams_needed,
        then,
    )


def _tuned(recs: list[cf.Recording]) -> Tuned:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cf.tune(recs, reference="strong")


def best_rule(tuned: Tuned) -> Rival | None:
    """Return the simple rule that comes closest; None where a rule was chosen."""
    if tuned.candidate is not None and tuned.candidate.family.capitalize() in RULES:
        return None
    rules = [rival for rival in tuned.rivals if rival.name in RULES]
    return min(rules, key=lambda rival: rival.gain, default=None)


def markdown(name: str, every: int, results: list[Result]) -> str:
    """Return the line of a set at one rate."""
    ahead = np.array([result.tuned - result.hold for result in results])
    open_ = [result for result in results if not result.settled]
    then = [result.settled_then for result in open_ if result.settled_then is not None]
    needed = np.percentile([r.needed for r in open_], [25, 50, 75]).tolist() if open_ else []
    cells = [
        f"{name}, 1 in {every}",
        *(f"{np.mean([getattr(r, key) for r in results]):.1f}" for key in ("hold", "tuned")),
        f"{ahead.min():+.1f}",
        f"{(ahead < 0).sum()} of {len(results)}",
        f"{sum(result.faster for result in results)}",
        f"{len(open_)}",
        ", ".join(f"{x:.0f}" if x <= 1000 else "> 1000" for x in needed),
        f"{sum(then)} of {len(then)}" if then else "",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a line for each set and rate."""
    parser = arguments(__doc__, count=2)
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    heads = ["", "Hold", "Tuned", "worst draw", "below Hold", "faster rates", "not settled"]
    heads += ["streams needed, quartiles", "settled by as many"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for every in EVERY:
        for name in args.sets:
            draws = [Draw(name, args.data, every, seed) for seed in range(args.draws)]
            results = list(map_in_processes(measure, draws, args.jobs))
            print(markdown(name, every, results), flush=True)


if __name__ == "__main__":
    main()
