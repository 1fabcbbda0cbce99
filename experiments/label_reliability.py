"""How much a class without confidence should count: ``python -m experiments.label_reliability``.

The predictions of each source become classes, as if it gave no more than that, and are filtered
with several reliabilities. Each cell is the mean over two sources, two filters and four half-lives:
accuracy, log-loss, and changes of the class per hundred steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from classfilter import DirichletFilter, Recording, StickyFilter

from .streams import Person, arguments, splits

RELIABILITIES = (0.6, 0.7, 0.8, 0.9, 1.0)
HALF_LIVES = (3.0, 12.0, 60.0, 240.0)
"""In steps."""
FILTERS = (StickyFilter, DirichletFilter)
SOURCES = ("weak", "strong")
FLOOR = 1e-3
"""The smallest probability in a log-loss."""

Floats = NDArray[np.float64]


def measured(people: list[Person], reliability: float) -> Floats:
    """Return the mean accuracy, log-loss and changes per hundred steps."""
    cells = [
        np.concatenate(
            list(_steps(people, source, make(people[0].classes, half_life=h), reliability))
        )
        for source, make, h in product(SOURCES, FILTERS, HALF_LIVES)
    ]
    means: Floats = np.mean([cell.mean(axis=0) for cell in cells], axis=0)
    return means * [100, 1, 100]


def _steps(
    people: list[Person], source: str, f: StickyFilter | DirichletFilter, reliability: float
) -> Iterator[Floats]:
    """Yield what is measured at each step of each person."""
    for person in people:
        labels = getattr(person, source).argmax(axis=1)
        steps = np.arange(len(labels), dtype=np.float64)
        rec = Recording(steps, source, labels, person.classes, confidence=reliability)
        P = rec.run(f)
        known = person.label >= 0
        decided = P.argmax(axis=1)
        p = P[np.arange(len(P)), np.maximum(person.label, 0)]
        columns = (
            decided == person.label,
            -np.log(np.maximum(p, FLOOR)),
            np.diff(decided, prepend=decided[0]) != 0,
        )
        yield np.stack(columns, axis=1).astype(np.float64)[known]


def main() -> None:
    """Print a row for each set, and the mean."""
    args = arguments(__doc__, count=1).parse_args()
    print(f"| | {' | '.join(f'{r}' for r in RELIABILITIES)} |")
    print("|---" * (1 + len(RELIABILITIES)) + "|")
    tables = []
    for name in args.sets:
        (people, *_) = splits(name, args.data, 1)
        tables.append([measured(people, r) for r in RELIABILITIES])
        print(_row(name, tables[-1]), flush=True)
    print(_row("mean", list(np.mean(tables, axis=0))))


def _row(name: str, cells: list[Floats]) -> str:
    return f"| {name} | {' | '.join('{:.2f} %, {:.2f}, {:.1f}'.format(*c) for c in cells)} |"


if __name__ == "__main__":
    main()
