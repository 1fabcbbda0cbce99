"""What a filter's tolerance changes: ``python -m experiments.tolerance``.

For each set of streams, the share of decisions of a Dirichlet filter in float32 that are those of
the exact one: the least over memories and weak weights. What it saves, `make embedded` tells.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from classfilter import DirichletFilter, Recording

from .data._streams import arguments, splits

TOLERANCES = (0.01, 0.05, 0.1)
STEPS = (7, 23)
"""Half-lives, in steps."""
WEIGHTS = (0.1, 0.5, 1.0)


def agreement(recordings: list[Recording], tolerance: float, steps: int, weight: float) -> float:
    """Return the share of decisions that are those of the exact filter."""
    same = []
    for rec in recordings:
        beta = rec.weights({"weak": weight, "strong": 1.0})
        labels = []
        for how in (0.0, tolerance):
            f = DirichletFilter(
                rec.classes, half_life=steps, estimate="mean", tolerance=how, dtype=np.float32
            )
            labels.append(f.run(rec.probs, beta).argmax(axis=1))
        same.append(labels[0] == labels[1])
    return float(np.concatenate(same).mean())


def main() -> None:
    """Print the least agreement of each set and tolerance."""
    given = arguments(__doc__, count=2).parse_args()
    print(f"| | {' | '.join(f'tolerance {t}' for t in TOLERANCES)} |")
    print("|---" * (1 + len(TOLERANCES)) + "|")
    for name in given.sets:
        several = [
            [person.recording() for person in part]
            for part in splits(name, given.data, given.splits)
        ]
        least = [
            min(agreement(part, t, *how) for part in several for how in product(STEPS, WEIGHTS))
            for t in TOLERANCES
        ]
        print(f"| {name} | {' | '.join(f'{share:.3%}' for share in least)} |", flush=True)


if __name__ == "__main__":
    main()
