"""Wishes of `tune` on real data: ``python -m experiments.wishes --data FOLDER``.

Tuned on half of the streams, without labels, and measured on the other half: changes of class an
hour, accuracy, and the median delay of true changes to a class that lasts a minute or more, beside
what `tune` says. The plain rule has the paper's weights, its half-life doubled until it has as
few changes on the first half.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import classfilter as cf
from classfilter import Recording
from classfilter._support.types import Floats

from .streams import splits

CHANGES = {"geolife": (None, 10, 5), "ltafdb": (None, 1.5, 0.5), "capture24": (None, 10, 6)}
DELAYS = {"geolife": (15,), "ltafdb": (10,), "capture24": (15,)}
PAPER = {"strong": 1.0, "weak": 0.5}
LASTS = 60.0
"""Seconds."""
MAX_HALF_LIFE = 3600.0

Run = Callable[[Recording], Floats]


def delays(rec: Recording, predicted: Floats) -> list[float]:
    """Return the delay of true changes to a class that lasts, infinite where it is missed.

    Only those count before which the predicted class is right.
    """
    assert rec.label is not None
    cuts = np.flatnonzero(np.diff(rec.label)) + 1
    ends = np.append(cuts, len(rec))[1:]
    result = []
    for first, end in zip(cuts, ends, strict=True):
        lasts = rec.time[end - 1] - rec.time[first] >= LASTS and rec.label[first] >= 0
        if lasts and predicted[first - 1] == rec.label[first - 1]:
            hits = np.flatnonzero(predicted[first:end] == rec.label[first])
            result.append(rec.time[first + hits[0]] - rec.time[first] if hits.size else np.inf)
    return result


def measure(recs: Sequence[Recording], run: Run) -> tuple[float, float, float]:
    """Return changes an hour, the accuracy in percent and the median delay in seconds."""
    changes = hours = correct = labelled = 0.0
    late: list[float] = []
    for rec in recs:
        k = run(rec).argmax(axis=1)
        changes += float((np.diff(k) != 0).sum())
        hours += (rec.time[-1] - rec.time[0]) / 3600
        assert rec.label is not None
        correct += float((k == rec.label)[rec.label >= 0].sum())
        labelled += float((rec.label >= 0).sum())
        late += delays(rec, k)
    return changes / hours, 100 * correct / labelled, float(np.median(late))


def plain_rule(recs: Sequence[Recording], most: float) -> Run:
    """Return a filter of the shortest half-life, doubled from two steps on, with few changes."""
    half_life = 2 * float(np.median(recs[0].dt[1:]))
    while True:
        f = cf.DirichletFilter(recs[0].classes, half_life=half_life)
        changes = measure(recs, lambda rec, f=f: rec.run(f, beta=PAPER))[0]  # type: ignore[misc]
        if changes <= most or half_life > MAX_HALF_LIFE:
            return lambda rec: rec.run(f, beta=PAPER)
        half_life *= 2


def cells(measured: tuple[float, float, float]) -> list[str]:
    """Return changes, accuracy and delay as text."""
    changes, accuracy, delay = measured
    return [f"{changes:.2g}", f"{accuracy:.1f}", f"{delay:.0f} s" if delay < np.inf else "missed"]


def main() -> None:
    """Print the table of each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data files")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of a wish that is not met: the table shows it
    heads = ["changes an hour", "accuracy, %", "delay", "delay as said"]
    heads += [f"plain rule: {head}" for head in heads[:3]]
    for name, wishes in CHANGES.items():
        recs = [person.recording() for person in splits(name, args.data, 1)[0]]
        order = np.random.default_rng(0).permutation(len(recs))
        train, test = ([recs[i] for i in part] for part in (order[::2], order[1::2]))
        print(f"\n| {name} | {' | '.join(heads)} |\n{'|---' * 8}|")
        asked: list[dict[str, Any]] = [{"max_changes_per_hour": most} for most in wishes]
        asked += [{"max_delay": longest} for longest in DELAYS[name]]
        for wish in asked:
            tuned = cf.tune(train, reference="strong", **wish)
            assert tuned.effect is not None
            row = [*cells(measure(test, tuned.run)), f"{tuned.effect.delay:.0f} s"]
            row += cells(measure(test, plain_rule(train, tuned.effect.changes_per_hour)))
            ((option, limit),) = wish.items()
            asks = "no wish" if limit is None else f"`{option}={limit:g}`"
            print(f"| {asks} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
