"""What a tolerance saves, and what it changes: ``python -m tests.embedded.loose --data FOLDER``.

On real streams (see docs/results.md for the data): the share of decisions that stay as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from experiments.streams import people

from classfilter import DirichletFilter
from classfilter.config import Config

from .__main__ import measure
from .board import M4F, missing

TOLERANCES = (0.0, 0.01, 0.05, 0.1)
SETTINGS = [(gamma, beta) for gamma in (0.9, 0.97) for beta in (0.1, 0.5, 1.0)]


def agreement(name: str, data: Path, tolerance: float) -> float:
    """Return the least share of decisions, over settings, that are those of the exact filter."""
    worst = 1.0
    recordings = [person.recording() for person in people(name, data, 0)]
    for gamma, beta in SETTINGS:
        same = total = 0
        for rec in recordings:
            weights = rec.weights({"weak": beta, "strong": 1.0})
            labels = []
            for how in (0.0, tolerance):
                f = DirichletFilter(
                    rec.classes, gamma, estimate="mean", tolerance=how, dtype=np.float32
                )
                labels.append(f.run(rec.probs, weights).argmax(axis=1))
            same += int((labels[0] == labels[1]).sum())
            total += len(rec)
        worst = min(worst, same / total)
    return worst


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data files")
    data = parser.parse_args().data
    sets = ("extrasensory", "wisdm")
    print(f"| tolerance | instructions, mean | most | {' | '.join(sets)} |")
    print("|---|---|---|---|---|")
    for tolerance in TOLERANCES:
        f = DirichletFilter(6, 0.95, estimate="mean", tolerance=tolerance)
        cost = None if missing() else measure(Config(f, {"a": 0.5}, {}), M4F)
        shares = [f"{agreement(name, data, tolerance):.3%}" for name in sets]
        told = "| |" if cost is None else f"{cost.of('usual mean'):,} | {cost.of('usual most'):,}"
        print(f"| {tolerance:g} | {told} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
