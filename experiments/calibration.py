"""How honest probabilities are, by temperature, live and smoothed: ``experiments.calibration``.

Tuned without labels, measured by them on the same streams. The calibration error is in percent, of
15 bins of equal width; beside it stands the log-loss.

    python -m experiments.calibration geolife ltafdb --data DIR --every 4 12 30
    python -m experiments.calibration geolife --data DIR --one      # each source by itself
    python -m experiments.calibration geolife --data DIR --weights  # own weights for the smoother
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import classfilter as cf
from classfilter import Recording, metrics
from classfilter._support.types import Floats, Ints
from classfilter.chain._temperature import has_temperature
from classfilter.tuning._candidates import Candidate
from classfilter.tuning._rows import floored, parts
from classfilter.tuning._temperature import SMOOTHER, find_temperature
from classfilter.tuning._tune import prepare

from .streams import arguments, splits

TEMPERATURES = (1.0, 1.2, SMOOTHER, 1.7, 2.0)
AHEAD = 1.5
"""Standard errors by which other weights of the smoother must be ahead."""


def power(P: Floats, temperature: float) -> Floats:
    """Return probabilities at a temperature."""
    q = P ** (1 / temperature)
    tempered: Floats = q / q.sum(axis=1, keepdims=True)
    return tempered


def joined(recs: Sequence[Recording], run: Callable[[Recording], Any]) -> tuple[Ints, Floats]:
    """Return labels and probabilities of the labelled rows of all streams."""
    y = np.concatenate([np.asarray(rec.label) for rec in recs])
    P = np.concatenate([np.asarray(run(rec), np.float64) for rec in recs])
    return y[y >= 0], P[y >= 0]


def both(y: Ints, P: Floats) -> str:
    """Return calibration error and log-loss as a cell."""
    return f"{100 * metrics.calibration_error(y, P):.1f}, {metrics.log_loss(y, P):.3f}"


def by_labels(y: Ints, P: Floats) -> float:
    """Return the temperature of the least log-loss."""
    return find_temperature(P, np.eye(P.shape[1])[y]).value


def print_temperatures(name: str, recs: Sequence[Recording], every: int) -> None:
    """Print a line of filtered and one of smoothed rows."""
    tuned = cf.tune(list(recs), "sticky", "strong").untempered()
    for what, run in (("live", tuned.run), ("smoothed", tuned.smooth)):
        y, P = joined(recs, run)
        best = by_labels(y, P)
        cells = [f"{name}, 1 in {every}", what, f"{100 * metrics.accuracy(y, P):.1f}"]
        cells += [both(y, power(P, T)) for T in TEMPERATURES]
        cells.append(f"{best:.2f}: {both(y, power(P, best))}")
        print(f"| {' | '.join(cells)} |", flush=True)


def print_one(name: str, source: str, recs: list[Recording]) -> None:
    """Print a line of one source by itself, before and after."""
    tuned = cf.tune(recs, reference=source)
    before, candidate = tuned.untempered(), tuned.candidate
    assert candidate is not None
    cells = [f"{name}, {source}", candidate.family]
    y, live = joined(recs, tuned.run)
    plain = joined(recs, before.run)[1]
    if not np.array_equal(live.argmax(axis=1), plain.argmax(axis=1)):
        raise AssertionError("the temperature changed a class")
    cells.append(f"{100 * metrics.accuracy(y, live):.1f}")
    for run, old in ((tuned.run, before.run), (tuned.smooth, before.smooth)):
        chain = tuned if run == tuned.run else tuned.smoother
        if not has_temperature(chain.filter()):
            cells += ["", both(y, joined(recs, run)[1]), "", ""]
            continue
        P, Q = joined(recs, old)[1], joined(recs, run)[1]
        best = by_labels(y, P)
        cells += [f"{chain.filter().temperature:.2f}", both(y, P), both(y, Q)]
        cells.append(f"{best:.2f}: {both(y, power(P, best))}")
    print(f"| {' | '.join(cells)} |", flush=True)


def print_weights(name: str, recs: Sequence[Recording], every: int) -> None:
    """Print a line of the smoother with the weights of the filter, and with weights of its own.

    They are those of the highest mean probability that the reference gives to the class that is
    smoothed without its own evidence: ``q = smoothed / (s / prior) ** weight``.
    """
    prepared = prepare(recs, "strong")
    assert prepared is not None
    tuned = cf.tune(list(recs), "sticky", "strong")
    runner, rows = prepared.objective.runner, prepared.rows
    chosen = tuned.candidate
    assert chosen is not None
    own = rows.of_reference
    s, part = floored(rows.observed[own]), parts(rows)[own]

    def smoothed(candidate: Candidate) -> Floats:
        probs, beta = runner._inputs(candidate)
        f: Any = candidate.filter(runner.model, rows.classes)
        return runner.passes.smooth(f, probs, beta)

    def score(candidate: Candidate, P: Floats) -> Floats:
        weight = dict(candidate.beta)["strong"]
        q = P[own] / (s / runner.model.prior) ** weight
        found: Floats = s[np.arange(len(s)), q.argmax(axis=1)]
        return found

    first = smoothed(chosen)
    base, best, gain, best_error = score(chosen, first), (chosen, first), 0.0, 0.0
    for trial in tuned.table:
        if trial.candidate.family != "transitions" or trial.candidate == chosen:
            continue
        P = smoothed(trial.candidate)
        ahead = score(trial.candidate, P) - base
        sums = np.bincount(part, ahead - ahead.mean())
        error = float(np.sqrt(sums @ sums) / len(ahead))
        if ahead.mean() > max(gain, AHEAD * error):
            best, gain, best_error = (trial.candidate, P), float(ahead.mean()), error
    known = rows.label >= 0
    y, cells = rows.label[known], [f"{name}, 1 in {every}"]
    for candidate, P in ((chosen, first), best):
        weights = ", ".join(f"{n} {w:.2g}" for n, w in candidate.beta)
        loss = metrics.log_loss(y, power(P[known], SMOOTHER))
        cells += [weights, f"{100 * metrics.accuracy(y, P[known]):.1f}", f"{loss:.3f}"]
    cells.append(f"{gain / best_error:.1f}" if best_error else "")
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print a table."""
    parser = arguments(__doc__, count=2)
    parser.add_argument("--every", type=int, nargs="+", default=[12], help="steps between calls")
    parser.add_argument("--one", action="store_true", help="each source by itself")
    parser.add_argument("--weights", action="store_true", help="own weights for the smoother")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = ["", "rows", "accuracy", *(f"T = {T:g}" for T in TEMPERATURES), "best by labels"]
    if args.one:
        parts_of = ["T", "at 1", "at T", "best by labels"]
        heads = [
            "",
            "chosen",
            "accuracy",
            *(f"{w}: {p}" for w in ("live", "smoothed") for p in parts_of),
        ]
    elif args.weights:
        pair = ["weights", "smoothed accuracy", "log-loss"]
        heads = ["", *pair, *(f"own {head}" for head in pair), "ahead, standard errors"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in args.sets:
        people = [p for part in splits(name, args.data, args.splits) for p in part]
        if args.one:
            for source in ("strong", "weak"):
                recs = [
                    Recording(p.time, source, getattr(p, source), p.classes, p.label)
                    for p in people
                    if (p.label >= 0).any()
                ]
                print_one(name, source, recs)
            continue
        for every in args.every:
            line = print_weights if args.weights else print_temperatures
            line(name, [p.recording(every) for p in people], every)


if __name__ == "__main__":
    main()
