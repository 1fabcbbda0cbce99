"""The table of `compare` on real and on simulated streams: ``python -m experiments.compare``.

Every split trains the classifiers on one half of the people and predicts for the other half. What
is tuned is tuned on half of those, without labels, and runs on the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from classfilter import Recording, compare, metrics, tune
from classfilter._support.types import Floats
from classfilter.evaluation._comparison import LOW_IS_GOOD, TITLES, Comparison

from . import rates
from .streams import Person, arguments, splits

ALWAYS = "Strong on every step"
MEASURES = (
    "accuracy", "macro_f1", "log_loss", "calibration_error", "brier", "switches", "delay"
)  # fmt: skip


def compare_methods(people: Sequence[Person], seed: int) -> Comparison:
    """Compare all methods, and the strong classifier on every step beside them."""
    recordings = [person.recording() for person in people]
    extra = {ALWAYS: [person.strong for person in people]}
    return compare(recordings, "strong", extra=extra, seed=seed)


def cost_of_no_labels(people: Sequence[Person]) -> dict[str, float]:
    """Return the accuracy of tuning without and with labels, on people neither was tuned on."""
    recordings = [person.recording() for person in people]
    folds = recordings[::2], recordings[1::2]
    accuracy: dict[str, float] = {}
    for kind in ("dirichlet", "sticky", "auto"):
        for labels in (False, True):
            correct = rows = 0.0
            for train, test in (folds, folds[::-1]):
                tuned = tune(train, kind, "strong", labels=labels)
                for rec in test:
                    hits, labelled = _count_correct(rec, tuned.run(rec))
                    correct, rows = correct + hits, rows + labelled
            accuracy[f"{kind}, {'with' if labels else 'no'} labels"] = correct / rows
    return accuracy


def _count_correct(rec: Recording, P: Floats) -> tuple[float, float]:
    assert rec.label is not None
    labelled = int((rec.label >= 0).sum())
    return (metrics.accuracy(rec.label, P) * labelled, labelled) if labelled else (0.0, 0.0)


def measures_by_split(
    comparisons: Sequence[Comparison],
) -> list[tuple[str, dict[str, list[float]]]]:
    """Return each method's measures, one value per split."""
    return [
        (
            row.name + " *" * row.smoothed,
            {key: [c.rows[i].measures[key].value for c in comparisons] for key in MEASURES},
        )
        for i, row in enumerate(comparisons[0].rows)
    ]


def markdown(rows: Sequence[tuple[str, dict[str, list[float]]]]) -> str:
    """Return a table of means in Markdown, the best in bold; smoothers apart.

    The accuracy is followed by its standard deviation over the splits.
    """
    lines = [
        "| | " + " | ".join(TITLES[key] for key in MEASURES) + " |",
        "|---" * (1 + len(MEASURES)) + "|",
    ]
    for name, values in rows:
        rivals = [v for n, v in rows if n.endswith("*") == name.endswith("*") and n != ALWAYS]
        cells = []
        for key in MEASURES:
            percent = key in ("accuracy", "macro_f1", "calibration_error")
            scale, digits = (100 if percent else 1), (2 if key in ("log_loss", "brier") else 1)
            text = f"{scale * np.mean(values[key]):.{digits}f}"
            best = {"accuracy": max, "macro_f1": max, **dict.fromkeys(LOW_IS_GOOD, min)}.get(key)
            if (
                best
                and name != ALWAYS
                and _mean(values, key) == best(_mean(v, key) for v in rivals)
            ):
                text = f"**{text}**"
            if key == "accuracy" and len(values[key]) > 1:
                text += f" ± {scale * np.std(values[key], ddof=1):.{digits}f}"
            cells.append(text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean(values: dict[str, list[float]], key: str) -> float:
    return float(np.mean(values[key]))


def main() -> None:
    """Print a table for each set of streams, and what labels would gain."""
    parser = arguments(__doc__, count=4)
    parser.add_argument("--out", type=Path, help="write the numbers here, as JSON")
    parser.add_argument("--rates", action="store_true", help="rates and shares instead; 2 splits")
    parser.add_argument("--jobs", type=int, default=1, help="processes, for --rates")
    args = parser.parse_args()
    if args.rates:
        rates.print_table(args.sets, args.data, args.jobs)
        return
    results = {}
    for name in args.sets:
        parts = splits(name, args.data, args.splits)
        comparisons = [compare_methods(people, i) for i, people in enumerate(parts)]
        costs = [cost_of_no_labels(people) for people in parts]
        rows = measures_by_split(comparisons)
        cost = {key: float(np.mean([c[key] for c in costs])) for key in costs[0]}
        results[name] = {"methods": dict(rows), "labels": cost}
        print(f"\n{name}: {len(parts)} splits, {comparisons[0].streams} streams in each\n")
        print(markdown(rows))
        print("\nAccuracy, %: " + "; ".join(f"{k} {100 * v:.1f}" for k, v in cost.items()))
        print(f"True switches per hour: {np.mean([c.true_switches for c in comparisons]):.1f}")
    if args.out:
        args.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
