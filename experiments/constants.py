"""Leave one set out for every constant of `tune`: ``python -m experiments.constants``.

Each constant is set to other values, one at a time. For each real set, the value that is best on
average over the other sets is compared with the present one. The measure is accuracy in percent:
with several sources at one strong call in 4, 12 and 30 on all streams, and in 12 on streams other
than the half it was tuned on; with one source, each classifier alone.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import one_source, rates
from .one_source import SETS
from .parallel import map_in_processes

SEVERAL = {
    "_model.PRIOR_POWER": (0.0, 0.25, 0.75, 1.0),
    "_model.ROUNDS": (0, 2, 8),
    "_model.SMOOTHED_SHARE": (0.0, 0.25, 0.75, 1.0),
    "_model.MAX_STAY": (0.9, 0.999),
    "_model.PSEUDO_STREAMS": (0.0, 0.5, 2.0),
    "_criterion.SCORE_FLOOR": (0.003, 0.03),
    "_objective.CAUTION": (0.0, 1.0, 2.0, 3.0),
    "_search.GUARD": (1.0, 3.0),
    "_search.REFERENCE_WEIGHTS": ((1.0,), (1.0, 0.7, 0.5)),
    "_search.WEIGHTS": ((0.0, 0.05, 0.2, 1.0), (0.0, 0.5)),
    "_search.CHANNELS": (("near",), ("em",)),
    "_tune.MIN_AGREEMENT": (0.0, 0.05, 0.2),
    "_tune.MIN_PREDICTIONS": (20, 80),
    "_candidates.FLOOR": (1e-4, 1e-2),
}
ONE = {
    "_tune.ONE_SOURCE_POWER": (0.0, 0.5),
    "_memory.FAST_TIME": (0.1, 0.4),
    "_memory.FAST_SHARE": (0.02, 0.1),
    "_memory.FADED": (0.05, 0.2),
    "_memory.MIN_SIGNAL": (0.0, 0.5, 0.8),
    "_memory.TOO_CERTAIN": (0.9, 0.99),
    "_memory.MIN_GAP": (1 / 40, 1 / 10),
}


class Trial(NamedTuple):
    """A set, a constant and its value; the present one where it is None."""

    name: str
    data: Path
    constant: str
    value: Any
    several: bool


def accuracy(trial: Trial) -> float:
    """Return the mean accuracy on a set with one constant changed."""
    module_name, constant = trial.constant.split(".")
    module = importlib.import_module(f"classfilter.tuning.{module_name}")
    present = getattr(module, constant)
    setattr(module, constant, present if trial.value is None else trial.value)
    try:
        if not trial.several:
            cases = [(trial.name, trial.data, source) for source in ("strong", "weak")]
            return float(np.mean([one_source.real_result(case).tuned for case in cases]))
        draws = [rates.Draw(trial.name, trial.data, every, 1.0, 0) for every in rates.RATES]
        draws += [rates.Draw(trial.name, trial.data, 12, 0.5, seed) for seed in range(2)]
        return float(np.mean([rates.measure(draw).live.accuracy for draw in draws]))
    finally:
        setattr(module, constant, present)


def rows(data: Path, constants: dict[str, tuple[Any, ...]], jobs: int) -> Iterable[str]:
    """Yield a line for each constant."""
    several = constants is SEVERAL
    first = next(iter(constants))
    values = [(first, None), *((c, v) for c, tried in constants.items() for v in tried)]
    trials = [Trial(n, data, c, v, several) for (c, v), n in itertools.product(values, SETS)]
    measured = np.array(list(map_in_processes(accuracy, trials, jobs))).reshape(-1, len(SETS))
    present, others = measured[0], dict(zip(values[1:], measured[1:], strict=True))
    yield f"| present | | {' | '.join(f'{x:.2f}' for x in present)} | |"
    for constant, tried in constants.items():
        table = np.stack([present, *(others[constant, value] for value in tried)])
        for value, line in zip(tried, table[1:] - present, strict=True):
            yield f"| {constant} | {value} | {' | '.join(f'{x:+.2f}' for x in line)} | |"
        lost = []
        for i in range(len(SETS)):
            best = int(np.delete(table, i, axis=1).mean(axis=1).argmax())
            lost.append(f"{SETS[i]} {table[best, i] - present[i]:+.2f}")
        yield f"| {constant} | chosen without the set | | | | | {', '.join(lost)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data files")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    for title, constants in (("several sources", SEVERAL), ("one source", ONE)):
        print(f"\n{title}\n\n| | value | {' | '.join(SETS)} | against the present value |")
        print("|---" * (3 + len(SETS)) + "|")
        for line in rows(args.data, constants, args.jobs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
