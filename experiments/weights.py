"""How near `beta_from_confusion` comes to the best weight: ``python -m experiments.weights``.

For each split, the weak classifier's weight is searched over a grid, each with the half-life that
is best by the labels; the rule gets the weak classifier's confusion matrix by the same labels.
"""

from __future__ import annotations

import numpy as np

from classfilter import DirichletFilter, Recording, beta_from_confusion, metrics

from .streams import arguments, splits

GRID = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
HALF_LIVES = (2, 4, 8, 16, 32)


def accuracy(recordings: list[Recording], weight: float, step: float) -> float:
    """Return the accuracy of a Dirichlet filter with a weak weight and the best half-life."""
    truth = np.concatenate([rec.label for rec in recordings if rec.label is not None])
    results = []
    for n in HALF_LIVES:
        f = DirichletFilter(recordings[0].classes, half_life=n * step)
        beta = {"strong": 1.0, "weak": weight}
        results.append(np.concatenate([rec.run(f, beta=beta) for rec in recordings]))
    return max(metrics.accuracy(truth, P) for P in results)


def main() -> None:
    """Print, for each set of streams, the rule's weight, the best one, and what they reach."""
    args = arguments(__doc__, count=2).parse_args()
    print("| | rule | accuracy, % | best weight | accuracy, % | with 0.5, % |\n" + "|---" * 6 + "|")
    for name in args.sets:
        rows = []
        for people in splits(name, args.data, args.splits):
            recordings = [person.recording() for person in people]
            step = float(np.median(np.concatenate([rec.dt for rec in recordings])))
            weak = np.concatenate([person.weak for person in people])
            label = np.concatenate([person.label for person in people])
            rule = beta_from_confusion(metrics.confusion(label, weak, weak.shape[1]))
            grid = [accuracy(recordings, weight, step) for weight in GRID]
            best = int(np.argmax(grid))
            half = grid[GRID.index(0.5)]
            rows.append((rule, accuracy(recordings, rule, step), GRID[best], grid[best], half))
        rule, reached, best_weight, most, half = np.mean(rows, axis=0)
        print(
            f"| {name} | {rule:.3f} | {100 * reached:.1f} | {best_weight:.2f} | {100 * most:.1f} "
            f"| {100 * half:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
