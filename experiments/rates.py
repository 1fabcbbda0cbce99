"""Tuning without labels at several rates of strong calls, and with few streams: `Tuned` and rules.

Part of ``python -m experiments.compare --rates``. With a share of the streams below 1, settings are
tuned on random streams and measured on all others; with all of them, on the same streams. Events
are scored by F1@50: of the most probable class of each row and, where `tune` gives a rule, by that.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter import Recording, metrics
from classfilter._support.types import Floats
from classfilter.evaluation._event_measures import count_events

from .parallel import map_in_processes
from .streams import Person, splits

RATES = (4, 12, 30)
SHARES = (1.0, 0.5, 0.1)
DRAWS = 8
"""Random choices of streams, for each share below 1."""
SPLITS = 2
"""In two splits, each person is predicted once."""
RULES = ("Raw", "Mean", "Vote", "Ema", "Hold")


class Draw(NamedTuple):
    """A random choice of the streams of a set, at one rate of strong calls."""

    name: str
    data: Path | None
    every: int
    share: float
    seed: int


class Rows(NamedTuple):
    """Filtered or smoothed rows: accuracy, calibration error, F1@50 of events; in percent."""

    accuracy: float
    calibration: float
    argmax: float
    by_rule: float


class Result(NamedTuple):
    """Accuracies in percent; `ahead` is of the best rule, with its standard error over streams."""

    live: Rows
    smoothed: Rows
    rules: tuple[float, ...]
    ahead: float
    error: float
    chosen: str


class Cell(NamedTuple):
    """The results of all draws from a set at one rate and share."""

    name: str
    every: int
    share: float
    results: list[Result]

    def mean(self, field: str, of: str = "") -> float:
        """Return the mean of a field over the draws, or of a field of its rows."""
        results = [getattr(result, of) if of else result for result in self.results]
        return float(np.mean([getattr(result, field) for result in results]))


def rule_filters(rec: Recording, step: float) -> dict[str, tuple[object, dict[str, float]]]:
    """Return the simple rules and the weights of their sources."""
    equal, strong_first = {"strong": 1.0, "weak": 1.0}, {"strong": 1.0, "weak": 0.5}
    filters: list[object] = [
        cf.RawFilter(rec.classes),
        cf.MeanFilter(rec.classes),
        cf.VoteFilter(rec.classes),
        cf.EmaFilter(rec.classes, 0.9 ** (1 / step)),
    ]
    rules = {name: (f, equal) for name, f in zip(RULES, filters, strict=False)}
    return rules | {"Hold": (cf.HoldFilter(rec.classes), strong_first)}


def cells(names: Iterable[str], data: Path | None, jobs: int) -> Iterator[Cell]:
    """Tune at each rate and on each share of the streams, and measure."""
    draws = [
        Draw(name, data, every, share, seed)
        for name, every, share in itertools.product(names, RATES, SHARES)
        for seed in range(DRAWS if share < 1 else 1)
    ]
    results = zip(draws, map_in_processes(measure, draws, jobs), strict=True)
    for (name, every, share), group in itertools.groupby(
        results, lambda r: (r[0].name, *r[0][2:4])
    ):
        yield Cell(name, every, share, [result for _, result in group])


@functools.cache
def _people(name: str, data: Path | None) -> list[Person]:
    return [person for part in splits(name, data, SPLITS) for person in part]


@functools.cache
def _correct_by_rule(name: str, data: Path | None, every: int) -> dict[str, list[Floats]]:
    recs = [person.recording(every) for person in _people(name, data)]
    step = float(np.median(np.concatenate([rec.dt[1:] for rec in recs])))
    return {
        rule: [_correct(rec, rec.run(f, beta=beta)) for rec in recs]  # type: ignore[arg-type]
        for rule, (f, beta) in rule_filters(recs[0], step).items()
    }


def measure(draw: Draw) -> Result:
    """Tune on the streams of a draw and measure."""
    name, data, every, share, seed = draw
    recs = [person.recording(every) for person in _people(name, data)]
    correct = _correct_by_rule(name, data, every)
    order = np.random.default_rng(seed).permutation(len(recs))
    count = max(1, round(share * len(recs)))
    train, test = order[:count], order if share == 1 else order[count:]
    tuned = cf.tune([recs[i] for i in sorted(train)], reference="strong")
    tested = [recs[i] for i in test]
    live, smoothed = [tuned.run(r) for r in tested], [tuned.smooth(r) for r in tested]
    mine = [_correct(rec, P) for rec, P in zip(tested, live, strict=True)]
    rules = {rule: _mean([hits[i] for i in test]) for rule, hits in correct.items()}
    best = max(rules, key=lambda rule: rules[rule])
    differences = [a - correct[best][i] for a, i in zip(mine, test, strict=True)]
    chosen = tuned.candidate.family if tuned.candidate is not None else ""
    accuracies = tuple(rules.values())
    both = _rows(tested, live, tuned.rule), _rows(tested, smoothed, tuned.smoother.rule)
    return Result(*both, accuracies, _mean(differences), _error(differences), chosen)


def _rows(recs: Sequence[Recording], probs: Sequence[Floats], rule: cf.EventRule | None) -> Rows:
    """Measure filtered or smoothed rows, and the events that they give."""
    y, P = np.concatenate([np.asarray(rec.label) for rec in recs]), np.concatenate(probs)
    correct = _mean([_correct(rec, p) for rec, p in zip(recs, probs, strict=True)])
    scores = []
    gap = None if rule is None else rule.max_gap  # where a gap ends an event, it does for both
    for one in (cf.EventRule(max_gap=gap), rule):
        if one is None:
            scores.append(np.nan)
            continue
        pairs = zip(recs, probs, strict=True)
        found, true, predicted, *_ = np.sum([count_events(rec, p, one) for rec, p in pairs], axis=0)
        scores.append(100 * 2 * found / (true + predicted))
    return Rows(correct, 100 * metrics.calibration_error(y, P), *scores)


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


def markdown(cell: Cell) -> str:
    """Return the line of a cell."""
    rules = np.mean([result.rules for result in cell.results], axis=0)
    worst = min(result.ahead for result in cell.results)
    columns = [f"{cell.name}, 1 in {cell.every}", f"{cell.share:.0%}"]
    columns += [f"{x:.1f}" for x in rules] + [f"{cell.mean('accuracy', 'live'):.1f}"]
    columns += [f"{cell.mean('ahead'):+.1f} ± {cell.mean('error'):.1f}", f"{worst:+.1f}"]
    for what in ("live", "smoothed"):
        by_rule = cell.mean("by_rule", what)
        columns.append(f"{cell.mean('argmax', what):.1f}")
        columns[-1] += "" if np.isnan(by_rule) else f", {by_rule:.1f}"
        columns.append(f"{cell.mean('calibration', what):.1f}")
    columns.append(", ".join(dict.fromkeys(result.chosen for result in cell.results)))
    return f"| {' | '.join(columns)} |"


def print_table(names: Iterable[str], data: Path | None, jobs: int) -> None:
    """Print all cells, and the worst one below them."""
    heads = ["", "streams", *RULES, "Tuned", "ahead of the best rule", "worst draw"]
    measured = ("events F1@50", "calibration error")
    heads += [f"{measure}, {what}" for what in ("live", "smoothed") for measure in measured]
    heads.append("chosen")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    done = []
    for cell in cells(names, data, jobs):
        print(markdown(cell), flush=True)
        done.append(cell)
    worst = min(done, key=lambda cell: cell.mean("ahead"))
    below = [r.ahead < 0 for cell in done for r in cell.results]
    print(
        f"\nWorst cell: {worst.name}, 1 in {worst.every}, {worst.share:.0%}: "
        f"{worst.mean('ahead'):+.1f}. Below the best rule in {sum(below)} of {len(below)} draws."
    )
