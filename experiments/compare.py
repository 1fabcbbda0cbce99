"""The table of `compare` on real and on simulated streams: ``python -m experiments.compare``.

Every split trains the classifiers on one half of the people and answers for the other half. What is
tuned is tuned on half of those, without labels, and runs on the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from classfilter import Recording, compare, metrics, tune
from classfilter.evaluation._comparison import TITLES, Comparison

from ._typing import Floats
from .data._streams import Person, arguments, splits

ALWAYS = "Strong on every step"
MEASURES = ("accuracy", "macro_f1", "log_loss", "brier", "switches", "delay")


def measured(several: Sequence[Person], seed: int) -> Comparison:
    """Compare all methods, and the strong classifier on every step beside them."""
    recordings = [person.recording() for person in several]
    extra = {ALWAYS: [person.strong for person in several]}
    return compare(recordings, "strong", extra=extra, seed=seed)


def label_price(several: Sequence[Person]) -> dict[str, float]:
    """Return the accuracy of tuning without and with labels, on people neither was tuned on."""
    recordings = [person.recording() for person in several]
    halves = recordings[::2], recordings[1::2]
    found: dict[str, float] = {}
    for kind in ("dirichlet", "sticky", "auto"):
        for labels in (False, True):
            right = rows = 0.0
            for train, test in (halves, halves[::-1]):
                tuned = tune(train, kind, "strong", labels=labels)
                for rec in test:
                    right_here, rows_here = _right(rec, tuned.run(rec))
                    right, rows = right + right_here, rows + rows_here
            found[f"{kind}, {'with' if labels else 'no'} labels"] = right / rows
    return found


def _right(rec: Recording, P: Floats) -> tuple[float, float]:
    assert rec.label is not None
    seen = int((rec.label >= 0).sum())
    return (metrics.accuracy(rec.label, P) * seen, seen) if seen else (0.0, 0.0)


def mean_table(found: Sequence[Comparison]) -> list[tuple[str, dict[str, list[float]]]]:
    """Return each method's measures, one a split."""
    return [
        (
            row.name + " *" * row.smoothed,
            {key: [one.rows[i].measures[key].value for one in found] for key in MEASURES},
        )
        for i, row in enumerate(found[0].rows)
    ]


def markdown(rows: Sequence[tuple[str, dict[str, list[float]]]]) -> str:
    """Return a table of means in Markdown, the best in bold; smoothers apart.

    Behind the accuracy is its standard deviation over the splits.
    """
    lines = ["| | " + " | ".join(TITLES[key] for key in MEASURES) + " |", "|---" * 7 + "|"]
    for name, values in rows:
        rivals = [v for n, v in rows if n.endswith("*") == name.endswith("*") and n != ALWAYS]
        cells = []
        for key in MEASURES:
            scale, digits = {"accuracy": (100, 1), "macro_f1": (100, 1)}.get(
                key, (1, 2 if key in ("log_loss", "brier") else 1)
            )
            text = f"{scale * np.mean(values[key]):.{digits}f}"
            best = {"accuracy": max, "macro_f1": max, "log_loss": min, "brier": min}.get(key)
            if (
                best
                and name != ALWAYS
                and _mean(values, key) == best(_mean(v, key) for v in rivals)
            ):
                text = f"**{text}**"
            if key == "accuracy":
                text += f" ± {scale * np.std(values[key], ddof=1):.{digits}f}"
            cells.append(text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean(values: dict[str, list[float]], key: str) -> float:
    return float(np.mean(values[key]))


def main() -> None:
    """Print a table for each set of streams, and what labels would bring."""
    parser = arguments(__doc__, count=4)
    parser.add_argument("--out", type=Path, help="keep the numbers here, as JSON")
    given = parser.parse_args()
    kept = {}
    for name in given.sets:
        several_splits = splits(name, given.data, given.splits)
        found = [measured(several, i) for i, several in enumerate(several_splits)]
        prices = [label_price(several) for several in several_splits]
        rows = mean_table(found)
        price = {key: float(np.mean([one[key] for one in prices])) for key in prices[0]}
        kept[name] = {"methods": dict(rows), "labels": price}
        print(f"\n{name}: {given.splits} splits, {found[0].streams} streams in each\n")
        print(markdown(rows))
        print("\nAccuracy, %: " + "; ".join(f"{k} {100 * v:.1f}" for k, v in price.items()))
        print(f"True switches an hour: {np.mean([one.true_switches for one in found]):.1f}")
    if given.out:
        given.out.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
