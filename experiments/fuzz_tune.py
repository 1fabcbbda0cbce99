"""How often `tune` loses to a simple rule, on random streams: ``python -m experiments.fuzz_tune``.

Each case draws 2 to 12 classes that last 1 to 1,000 rows, shares down to 0.1 %, and one to four
sources that are right in 30 to 99 % of the rows, whose errors may last, and which may be stuck,
inverted, shuffled, or as fast as the others; probabilities or labels; times in bursts. A case is
lost where filtered or smoothed rows are more than two points below the simple rule: the prediction
itself of one source, the last one of the best of several, or a vote of sources that are equally
fast. It is silent where no warning came either. Labels only judge.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import classfilter as cf
from classfilter import Rows, metrics

from .streams import Floats, Ints

LOST = 2.0
"""Points below the simple rule."""
LAYOUTS = ("one", "calls", "equal", "slow")
"""One source; a strong one in place of the weak one at some rows; all at each row; some slower."""
FAULTS = ("", "", "", "", "stuck", "inverted", "shuffled")


@dataclass(frozen=True)
class Source:
    """How a simulated source errs.

    Attributes
    ----------
    right : float
        The share of its rows that are right.
    lasting : float
        The mean rows that an error lasts.
    sharp : float
        The probability that it gives the class it says.
    fault : str
        What is wrong with it: nothing, or one of `FAULTS`.
    """

    right: float
    lasting: float
    sharp: float
    fault: str = ""


@dataclass(frozen=True)
class Case:
    """What is simulated, and what is told."""

    seed: int
    classes: int
    lasts: float
    rarest: float
    streams: int
    rows: int
    layout: str
    every: int
    sources: tuple[Source, ...]
    hard: bool
    bursts: bool
    named: bool

    def __str__(self) -> str:
        """Return what matters in one line."""
        kind = "labels" if self.hard else "probabilities"
        parts = [f"seed {self.seed}: {self.classes} classes of {self.lasts:.3g} rows, {kind}"]
        parts += [f"{self.streams} x {self.rows} rows, {self.layout}"]
        parts += [f"1 in {self.every}"] * (self.layout in ("calls", "slow"))
        parts += ["named"] * self.named + ["bursts"] * self.bursts
        parts += [f"rarest {self.rarest:.1%}"] * (self.rarest < 0.5 / self.classes)
        for one in self.sources:
            lasting = f" for {one.lasting:.0f}" * (one.lasting > 1)
            parts.append(f"{one.right:.0%}{lasting} {one.fault}".strip())
        return ", ".join(parts)


def draw(seed: int) -> Case:
    """Draw a case; the first source is the best, and the one that is slow or called."""
    rng = np.random.default_rng(seed)
    layout = LAYOUTS[rng.integers(len(LAYOUTS))]
    count = 1 if layout == "one" else 2 if layout == "calls" else int(rng.integers(2, 5))
    lasts = float(10 ** rng.uniform(0, 3))
    sources = []
    for _ in range(count):
        errors = float(10 ** rng.uniform(0, 1.5)) if rng.random() < 0.4 else 1.0
        fault = FAULTS[rng.integers(len(FAULTS))] if count > 1 else ""
        if count == 1 and rng.random() < 0.1:
            fault = "shuffled"
        sources.append(Source(rng.uniform(0.3, 0.99), errors, rng.uniform(0.3, 0.9), fault))
    sources.sort(key=lambda one: (bool(one.fault) if rng.random() < 0.8 else 0, -one.right))
    K = int(rng.integers(2, 13))
    rare = float(10 ** rng.uniform(-3, -1)) if rng.random() < 0.3 else 1.0 / K
    return Case(
        seed=seed,
        classes=K,
        lasts=lasts,
        rarest=min(rare, 1.0 / K),
        streams=int(2 ** rng.integers(0, 5)),
        rows=int(rng.choice([250, 500, 1000])),
        layout=layout,
        every=int(rng.choice([4, 12, 30])),
        sources=tuple(sources),
        hard=bool(rng.random() < 0.4),
        bursts=bool(rng.random() < 0.2),
        named=bool(layout in ("calls", "slow") and rng.random() < 0.5),
    )


def stay_or_draw(rng: np.random.Generator, rows: int, lasts: float, shares: Floats) -> Ints:
    """Return classes (T,) that stay, or are drawn again after so many rows on average."""
    drawn = np.where(rng.random(rows) < 1 / lasts, rng.choice(len(shares), rows, p=shares), -1)
    drawn[0] = rng.choice(len(shares), p=shares)
    return np.asarray(drawn[np.maximum.accumulate(np.where(drawn >= 0, np.arange(rows), 0))])


def predictions(rng: np.random.Generator, source: Source, truth: Ints, K: int) -> Floats:
    """Return what a source predicts, (T, K)."""
    T = len(truth)
    new = rng.random(T) < 1 / source.lasting
    new[0] = True
    at = np.maximum.accumulate(np.where(new, np.arange(T), 0))
    wrong = (rng.random(T) >= source.right)[at]
    said = np.where(wrong, (truth + rng.integers(1, K, T)[at]) % K, truth)
    if source.fault == "stuck":
        said = np.zeros(T, np.intp)
    elif source.fault == "inverted":
        said = K - 1 - said
    elif source.fault == "shuffled":
        said = rng.permutation(said)
    probs = (1 - source.sharp) * rng.dirichlet(np.ones(K), T)
    probs[np.arange(T), said] += source.sharp
    return probs


def streams_of(case: Case) -> list[Rows]:
    """Simulate the streams of a case."""
    rng = np.random.default_rng([case.seed, 1])
    K, T = case.classes, case.rows
    shares = np.append(np.full(K - 1, (1 - case.rarest) / (K - 1)), case.rarest)
    recs = []
    for _ in range(case.streams):
        truth = stay_or_draw(rng, T, case.lasts, shares)
        probs = np.stack([predictions(rng, one, truth, K) for one in case.sources])
        row = np.repeat(np.arange(T), len(case.sources))
        source = np.tile(np.arange(len(case.sources)), T)
        called = row % case.every == 0
        kept = np.ones(len(row), bool)
        if case.layout == "calls":
            kept = (source == 0) == called
        elif case.layout == "slow":
            kept = (source > 0) | called
        row, source = row[kept], source[kept]
        step = 5.0 if not case.bursts else rng.exponential(5.0, T).round(3) + 0.5
        clock = np.cumsum(np.broadcast_to(step, T))
        seen = probs[source, row]
        recs.append(
            cf.rows(
                time=clock[row] + 0.05 * source * case.bursts,
                source=np.array([f"s{i}" for i in range(len(case.sources))])[source],
                probs=seen.argmax(axis=1) if case.hard else seen,
                classes=K,
                label=truth[row],
            )
        )
    return recs


def simple_rule(case: Case) -> cf.Pipeline:
    """Return the rule that a person would take."""
    if case.layout == "one":
        return cf.Pipeline(cf.RawFilter(case.classes))
    if case.layout == "equal":
        return cf.Pipeline(cf.VoteFilter(case.classes))
    beta = {f"s{i}": 0.5 if i else 1.0 for i in range(len(case.sources))}
    return cf.Pipeline(cf.HoldFilter(case.classes), beta=beta)


def accuracy(recs: list[Rows], run: Any) -> float:
    """Return the rows that are right, in percent."""
    truth = np.concatenate([rec.label for rec in recs if rec.label is not None])
    return 100 * float(metrics.accuracy(truth, np.concatenate([run(rec) for rec in recs])))


@dataclass(frozen=True)
class Outcome:
    """What `tune` made of a case."""

    case: Case
    rule: float
    live: float
    smoothed: float
    chosen: str
    warned: tuple[str, ...]

    @property
    def lost(self) -> float:
        """Points below the simple rule."""
        return self.rule - min(self.live, self.smoothed)

    def __str__(self) -> str:
        """Return the case, what came of it, and what was said."""
        rows = f"rule {self.rule:.1f}, live {self.live:.1f}, smoothed {self.smoothed:.1f}"
        said = "; ".join(text[:100] for text in self.warned) or "SILENT"
        return f"{self.case}\n    {rows}, {self.chosen}: {said}"


def outcomes(seeds: range) -> Iterator[Outcome]:
    """Tune each case."""
    for seed in seeds:
        case = draw(seed)
        recs = streams_of(case)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pipe = cf.tune(recs, reference="s0" if case.named else None)
        yield Outcome(
            case=case,
            rule=accuracy(recs, simple_rule(case).run),
            live=accuracy(recs, pipe.run),
            smoothed=accuracy(recs, pipe.smooth),
            chosen="safe" if pipe.tuning.candidate is None else pipe.tuning.candidate.family,
            warned=tuple(dict.fromkeys(str(one.message) for one in caught)),
        )


def main(arguments: list[str] | None = None) -> None:
    """Print the cases that are lost, and how many they are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parser.parse_args(arguments)
    start, results = time.perf_counter(), []
    for one in outcomes(range(args.first, args.first + args.cases)):
        results.append(one)
        if one.lost > LOST:
            print(one, flush=True)
    print(f"\n{'':24}cases  live lost  smoothed lost  of these silent  mean gain, live  smoothed")
    for name in (*LAYOUTS, "all"):
        some = [one for one in results if name in (one.case.layout, "all")]
        live, smoothed = (
            sum(one.rule - rows > LOST for one, rows in ((o, getattr(o, of)) for o in some))
            for of in ("live", "smoothed")
        )
        silent = sum(one.lost > LOST and not one.warned for one in some)
        gains = [
            np.mean([getattr(one, of) - one.rule for one in some] or [0.0])
            for of in ("live", "smoothed")
        ]
        print(
            f"{name:24}{len(some):5}{live:11}{smoothed:15}{silent:17}"
            f"{gains[0]:+17.1f}{gains[1]:+10.1f}"
        )
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
