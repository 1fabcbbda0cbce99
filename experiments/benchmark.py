"""What `tune` reaches without labels, beside simple rules: ``python -m experiments.benchmark DIR``.

It prints the tables of docs/results.md for files of streams (see `experiments.streams`). The strong
classifier is called in place of the weak one at each 4th, 12th and 30th row. Labels only judge;
the best Ema alone is chosen by them. The parts are

- ``rows``: accuracy, calibration error and log-loss of rows, live and smoothed;
- ``events``: F1@50 of events, without and with the mean duration of the true ones;
- ``few``: tuned on 1, 2, 4 and 8 streams drawn at random, measured on all others;
- ``one``: each classifier by itself at every step.

With ``--two-fold``, each half of the streams runs with what was tuned on the other half; with
``--hard``, only the most probable class of each prediction is known.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import classfilter as cf
from classfilter import Rows, metrics

from .streams import Floats, Ints, Stream, read_all

EVERY = (4, 12, 30)
PARTS = ("rows", "events", "few", "one")
RULES = ("Raw", "Mean", "Vote", "Best Ema", "Hold")
HALF_LIVES = (1, 2, 4, 8, 16, 32, 64)
"""Of the Ema, in rows."""
COUNTS = (1, 2, 4, 8)
"""Of the streams that are drawn."""
LOST = -2.0
"""Points from Hold below which a draw counts as lost."""
PREFER_STRONG = {"strong": 1.0, "weak": 0.5}
Probs = list[Floats]
Folds = list[tuple[Ints, Ints]]
Sets = dict[str, list[Rows]]
ROWS = ("live", "smoothed")


def folds(count: int, two_fold: bool) -> Folds:
    """Return the streams to tune on and to run on: all and all, or half and half, both ways."""
    everything = np.arange(count)
    if not two_fold:
        return [(everything, everything)]
    mixed = np.random.default_rng(0).permutation(count)
    first, second = np.sort(mixed[: count // 2]), np.sort(mixed[count // 2 :])
    return [(first, second), (second, first)]


def filtered(recs: Sequence[Rows], parts: Folds, reference: str) -> tuple[Probs, Probs, str]:
    """Return live and smoothed rows of each stream, and the names of what was chosen."""
    live, smoothed = ([np.empty(0)] * len(recs) for _ in range(2))
    chosen = []
    for train, test in parts:
        tuned = cf.tune([recs[i] for i in train], reference=reference)
        for i in test:
            live[i], smoothed[i] = tuned.run(recs[i]), tuned.smooth(recs[i])
        chosen.append("safe" if tuned.tuning.candidate is None else tuned.tuning.candidate.family)
    return live, smoothed, ", ".join(dict.fromkeys(chosen))


def simple_rules(recs: Sequence[Rows]) -> dict[str, Probs]:
    """Return the rows of simple rules; of the Ema, with the half-life that is best by labels."""
    classes, truth = recs[0].classes, labels(recs)
    row = float(np.median(np.concatenate([rec.dt[1:] for rec in recs])))
    emas = [
        [cf.Pipeline(cf.EmaFilter(classes, half_life=n * row)).run(rec) for rec in recs]
        for n in HALF_LIVES
    ]
    return {
        "Raw": [cf.Pipeline(cf.RawFilter(classes)).run(rec) for rec in recs],
        "Mean": [cf.Pipeline(cf.MeanFilter(classes)).run(rec) for rec in recs],
        "Vote": [cf.Pipeline(cf.VoteFilter(classes)).run(rec) for rec in recs],
        "Best Ema": max(emas, key=lambda probs: accuracy(truth, probs)),
        "Hold": hold(recs),
    }


def hold(recs: Sequence[Rows]) -> Probs:
    """Return the last prediction of the strong classifier; before the first, that of the weak."""
    return [cf.Pipeline(cf.HoldFilter(rec.classes), beta=PREFER_STRONG).run(rec) for rec in recs]


def labels(recs: Sequence[Rows]) -> list[Ints]:
    """Return the labels of each stream."""
    return [rec.label for rec in recs if rec.label is not None]


def score(metric: Callable[[Ints, Floats], Any], truth: Sequence[Ints], probs: Probs) -> Any:
    """Return a metric of all streams together."""
    return metric(np.concatenate(truth), np.concatenate(probs))


def accuracy(truth: Sequence[Ints], probs: Probs) -> float:
    """Return the rows that are right, in percent."""
    return 100 * float(score(metrics.accuracy, truth, probs))


def calibration(truth: Sequence[Ints], probs: Probs) -> float:
    """Return the calibration error in percent."""
    return 100 * float(score(metrics.calibration_error, truth, probs))


def error_of_gain(truth: Sequence[Ints], worse: Probs, better: Probs) -> float:
    """Return the standard error, over streams, of a difference of accuracies in percent."""
    triples = zip(truth, worse, better, strict=True)
    right = [1.0 * (b.argmax(axis=1) == y) - (a.argmax(axis=1) == y) for y, a, b in triples]
    gains = np.array([x[y >= 0].sum() for x, y in zip(right, truth, strict=True)])
    rows = np.array([(y >= 0).sum() for y in truth])
    rest = gains - rows * gains.sum() / rows.sum()
    n = len(truth)
    return 100 * float(np.sqrt(n / max(n - 1, 1) * (rest**2).sum()) / rows.sum())


def row_tables(sets: Sets, two_fold: bool, title: str) -> Iterator[str]:
    """Yield the table of rows that are right, and that of how calibrated probabilities are."""
    right, honest = [], []
    for name, recs in sets.items():
        rules, truth = simple_rules(recs), labels(recs)
        live, smoothed, chosen = filtered(recs, folds(len(recs), two_fold), "strong")
        gain = accuracy(truth, live) - accuracy(truth, rules["Hold"])
        error = error_of_gain(truth, rules["Hold"], live)
        tried = [*rules.values(), live, smoothed]
        reached = cells([accuracy(truth, probs) for probs in tried])
        right.append([name, *reached, f"{gain:+.1f} ± {error:.1f}", chosen])
        errors = cells([calibration(truth, probs) for probs in tried[-3:]])
        losses = [score(metrics.log_loss, truth, probs) for probs in tried[-3:]]
        honest.append([name, *errors, *cells(losses, digits=3)])
    heads = ["", *RULES, "live", "smoothed", "live - Hold", "chosen"]
    yield table(f"Rows right, %; {title}", heads, right)
    heads = [f"{what}, {of}" for what in ("ECE", "log-loss") for of in ("Hold", *ROWS)]
    yield table(f"Calibration error (ECE), %, and log-loss; {title}", ["", *heads], honest)


def event_line(name: str, recs: Sequence[Rows], two_fold: bool) -> list[str]:
    """Return F1@50 of runs of one class, of the rule that `tune` suggests, and of that by duration.

    The duration is the mean of the true events of the streams that are tuned on. Where a gap of
    time ends an event is a convention: here it is that of the rule, for all.
    """
    true: list[cf.Event] = []
    predicted: dict[int, list[cf.Event]] = {}
    durations = []
    for train, test in folds(len(recs), two_fold):
        own, others = ({int(i): recs[i] for i in part} for part in (train, test))
        plain = cf.tune(own, reference="strong")
        gap = None if plain.rule is None else plain.rule.max_gap
        durations.append(np.mean([(e.end or 0) - e.start for e in cf.label_events(own, gap)]))
        timed = cf.tune(own, reference="strong", event_duration=float(durations[-1]))
        runs = cf.EventRule()
        steady = cf.Pipeline(cf.HoldFilter(timed.classes), beta=PREFER_STRONG)
        true += cf.label_events(others, gap)
        for i, (pipe, rule, smooth) in enumerate((
            (steady, runs, False), (plain, runs, False), (plain, runs, True),
            (plain, plain.rule, False), (plain, plain.smoothing.rule, True),
            (timed, timed.rule, False), (timed, timed.smoothing.rule, True),
        )):  # fmt: skip
            rule = replace(rule or runs, max_gap=gap)
            predicted.setdefault(i, []).extend(cf.events(others, pipe, rule, smooth=smooth))
    f1 = [100 * metrics.event_scores(true, events, iou=0.5).f1 for events in predicted.values()]
    return [name, str(len(true)), f"{np.mean(durations):.0f}", *cells(f1)]


def few_lines(name: str, recs: Sequence[Rows], draws: int) -> Iterator[list[str]]:
    """Yield, for each number of streams, the gain over Hold on all other streams."""
    for count in COUNTS:
        if count >= len(recs):
            return
        gains = []
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(recs))
            tuned = cf.tune([recs[i] for i in order[:count]], reference="strong")
            others = [recs[i] for i in order[count:]]
            live = [tuned.run(rec) for rec in others]
            truth = labels(others)
            gains.append(accuracy(truth, live) - accuracy(truth, hold(others)))
        lost = f"{sum(gain < LOST for gain in gains)} of {draws}"
        yield [name, str(count), f"{np.mean(gains):+.1f}", f"{min(gains):+.1f}", lost]


def one_line(name: str, source: str, recs: Sequence[Rows], two_fold: bool) -> list[str]:
    """Return the accuracies and calibration errors of one classifier by itself."""
    rules, truth = simple_rules(recs), labels(recs)
    live, smoothed, chosen = filtered(recs, folds(len(recs), two_fold), source)
    shown = [rules[rule] for rule in RULES[:4]]
    right = [accuracy(truth, probs) for probs in (*shown, live, smoothed)]
    errors = [calibration(truth, probs) for probs in (rules["Raw"], live, smoothed)]
    return [f"{name}, {source}", *cells([*right, *errors]), chosen]


def cells(values: Sequence[float], digits: int = 1) -> list[str]:
    """Return numbers as text."""
    return [f"{value:.{digits}f}" for value in values]


def table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return f"\n{title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def tables(
    streams: dict[str, list[Stream]], part: str, every: int, args: argparse.Namespace
) -> Iterator[str]:
    """Yield the tables of a part at one rate of calls."""
    how = "hard labels" if args.hard else "probabilities"
    where = f"{how}, {'two-fold' if args.two_fold else 'in sample'}"
    sets = {n: [one.rows(every, args.hard) for one in of] for n, of in streams.items()}
    if part == "rows":
        yield from row_tables(sets, args.two_fold, f"1 in {every}, {where}")
    elif part == "events":
        heads = ["", "true events", "their duration, s", "Hold"]
        heads += [f"{of}, {rows}" for of in ("runs", "rule", "duration") for rows in ROWS]
        lines = [event_line(name, of, args.two_fold) for name, of in sets.items()]
        yield table(f"F1@50, %; 1 in {every}, {where}", heads, lines)
    elif part == "few":
        lines = [line for name, of in sets.items() for line in few_lines(name, of, args.draws)]
        heads = ["", "streams", "live - Hold", "worst draw", f"below {LOST:g}"]
        yield table(f"Tuned on few streams, points; 1 in {every}, {how}", heads, lines)
    else:
        lines = [
            one_line(name, source, [one.alone(source, args.hard) for one in of], args.two_fold)
            for name, of in streams.items()
            for source in ("weak", "strong")
        ]
        heads = ["", *RULES[:4], *ROWS, *(f"ECE, {of}" for of in ("Raw", *ROWS)), "chosen"]
        yield table(f"One classifier at every row, %; {where}", heads, lines)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="folders, or files of streams")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["rows"])
    parser.add_argument("--every", nargs="+", type=int, default=list(EVERY), help="rows per call")
    parser.add_argument("--two-fold", action="store_true", help="tune on the other half")
    parser.add_argument("--hard", action="store_true", help="hard labels, no probabilities")
    parser.add_argument("--draws", type=int, default=8, help="of few streams")
    args = parser.parse_args(arguments)
    sets, start = read_all(args.paths), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tune: the tables show what it warns of
        for part in args.parts:
            for every in args.every if part != "one" else args.every[:1]:
                for text in tables(sets, part, every, args):
                    print(text, flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
