"""Tuning without labels at several rates of strong calls, and with few streams: `Tuned` and rules.

Part of ``python -m experiments.compare --rates``. With a share of the streams below 1, settings are
tuned on random streams and measured on all others; with all of them, on the same streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter import Recording
from classfilter._typing import Floats

from .streams import Person

RATES = (4, 12, 30)
SHARES = (1.0, 0.5, 0.1)
REPEATS = 2
"""Random choices of streams, for each share below 1."""
RULES = ("Raw", "Mean", "Ema", "Hold")


class Result(NamedTuple):
    """Accuracies in percent; `ahead` is of the best rule, with its standard error over streams."""

    every: int
    share: float
    tuned: float
    rules: tuple[float, ...]
    ahead: float
    error: float
    chosen: str


def rule_filters(rec: Recording, step: float) -> dict[str, tuple[object, dict[str, float]]]:
    """Return the simple rules and the weights of their sources."""
    equal, strong_first = {"strong": 1.0, "weak": 1.0}, {"strong": 1.0, "weak": 0.5}
    return {
        "Raw": (cf.RawFilter(rec.classes), equal),
        "Mean": (cf.MeanFilter(rec.classes), equal),
        "Ema": (cf.EmaFilter(rec.classes, 0.9 ** (1 / step)), equal),
        "Hold": (cf.HoldFilter(rec.classes), strong_first),
    }


def results(people: Sequence[Person]) -> Iterator[Result]:
    """Tune at each rate and on each share of the streams, and measure."""
    for every in RATES:
        recs = [person.recording(every) for person in people]
        step = float(np.median(np.concatenate([rec.dt[1:] for rec in recs])))
        rules = rule_filters(recs[0], step)
        correct = {
            name: [_correct(rec, rec.run(f, beta)) for rec in recs]  # type: ignore[arg-type]
            for name, (f, beta) in rules.items()
        }
        for share in SHARES:
            runs = [
                _tuned(recs, correct, every, share, seed)
                for seed in range(REPEATS if share < 1 else 1)
            ]
            means = np.mean([[r.tuned, r.ahead, r.error, *r.rules] for r in runs], axis=0)
            chosen = ", ".join(dict.fromkeys(run.chosen for run in runs))
            tuned, ahead, error = means[:3].tolist()
            yield Result(every, share, tuned, tuple(means[3:].tolist()), ahead, error, chosen)


def _tuned(
    recs: Sequence[Recording],
    correct: dict[str, list[Floats]],
    every: int,
    share: float,
    seed: int,
) -> Result:
    order = np.random.default_rng(seed).permutation(len(recs))
    count = max(1, round(share * len(recs)))
    train, test = order[:count], order if share == 1 else order[count:]
    tuned = cf.tune([recs[i] for i in sorted(train)], reference="strong")
    mine = [_correct(recs[i], tuned.run(recs[i])) for i in test]
    rules = {name: _mean([hits[i] for i in test]) for name, hits in correct.items()}
    best = max(rules, key=lambda name: rules[name])
    differences = [a - correct[best][i] for a, i in zip(mine, test, strict=True)]
    chosen = tuned.candidate.family if tuned.candidate is not None else ""
    accuracies = tuple(rules.values())
    return Result(
        every, share, _mean(mine), accuracies, _mean(differences), _error(differences), chosen
    )


def _correct(rec: Recording, P: Floats) -> Floats:
    assert rec.label is not None
    known = rec.label >= 0
    correct: Floats = (P.argmax(axis=1) == rec.label)[known].astype(np.float64)
    return correct


def _mean(parts: Sequence[Floats]) -> float:
    return 100 * float(np.concatenate(parts).mean())


def _error(parts: Sequence[Floats]) -> float:
    """Return the standard error of the mean in percent, over streams."""
    total = sum(part.size for part in parts)
    mean = sum(part.sum() for part in parts) / total
    rest = np.array([part.sum() - part.size * mean for part in parts])
    n = len(parts)
    return 100 * float(np.sqrt(n / (n - 1) * (rest**2).sum()) / total)


def markdown(name: str, rows: Sequence[Result]) -> str:
    """Return the lines of a set."""
    lines = []
    for every, share, tuned, rules, ahead, error, chosen in rows:
        cells = [f"{name}, 1 in {every}", f"{share:.0%}", *(f"{x:.1f}" for x in rules)]
        cells += [f"{tuned:.1f}", f"{ahead:+.1f} ± {error:.1f}", chosen]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


HEAD = (
    f"| | streams | {' | '.join(RULES)} | Tuned | ahead of the best rule | chosen |\n"
    + "|---" * (5 + len(RULES))
    + "|"
)
