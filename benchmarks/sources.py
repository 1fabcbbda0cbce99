"""Print how soon a source that goes wrong is reported, and how often one that does not.

``python -m benchmarks.sources``: simulated days, each in a tracker of its own, with faults from
noon on. ``python -m benchmarks.sources FOLDER`` reads streams of real classifiers too.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import classfilter as cf
from classfilter.engine import episodes

DAYS, TUNED_ON, NOON = 12, 4, 12 * 3600.0
REAL = {"geolife": 5, "ltafdb": 3}
"""Files, and how many classes they have."""


def first_report(pipe: cf.Pipeline, rec: cf.Rows, source: str) -> float:
    """Return when a source is first reported, NaN if it never is; to a minute."""
    tracker, look = cf.Tracker(pipe), NOON
    for time, name, probs in zip(
        rec.time.tolist(), rec.source_names.tolist(), rec.probs, strict=True
    ):
        tracker.update("day", time, name, probs)
        if time >= look:
            look = time + 60.0
            if source in tracker.health().verdicts:
                return float(time)
    return float("nan")


def with_fault(rec: cf.Rows, source: str, fault: str, seed: int) -> cf.Rows:
    """Return a day whose source goes wrong at noon."""
    rng, K = np.random.default_rng(seed), len(rec.classes)
    probs, rows = rec.probs.copy(), (rec.of_source(source)) & (rec.time >= NOON)
    if fault == "stuck":
        probs[rows] = np.where(np.arange(K) == rng.integers(K), 0.9, 0.1 / (K - 1))
    elif fault == "noise":
        probs[rows] = rng.dirichlet(np.ones(K), int(rows.sum()))
    keep = ~rows if fault == "silent" else np.ones(len(rec), bool)
    return cf.rows(
        time=rec.time[keep], source=rec.source_names[keep], probs=probs[keep], classes=rec.classes
    )


def reports(pipe: cf.Pipeline, recordings: list[cf.Rows]) -> int:
    """Return how often anything is reported, each recording by itself."""
    return sum(len(episodes(pipe, [rec])[1]) for rec in recordings)


def real(path: Path, classes: int) -> list[cf.Rows]:
    """Return the streams of a file, the strong classifier at one step in twelve."""
    with np.load(path) as file:
        ends = np.cumsum(file["lengths"])
        both = [file[name] + 1e-9 for name in ("weak", "strong")]
    weak, strong = (p / p.sum(axis=1, keepdims=True) for p in both)
    streams = []
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        source = np.where(np.arange(end - start) % 12 == 0, "strong", "weak")
        p = np.where((source == "strong")[:, None], strong[start:end], weak[start:end])
        streams.append(
            cf.rows(time=5.0 * np.arange(end - start), source=source, probs=p, classes=classes)
        )
    return streams


def main(folder: Path | None) -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    for preset in ("plain", "capture24"):
        days = [cf.simulate(preset, seed=seed).rows() for seed in range(DAYS)]
        tuned = cf.tune(days[:TUNED_ON], reference="strong")
        rest = days[TUNED_ON:]
        alone = cf.Pipeline.of(tuned, expected={})
        print(f"{preset}: {24 * len(rest)} h without a fault: {reports(tuned, rest)} reports;",
              f"without what was tuned, {reports(alone, rest)}")  # fmt: skip
        for source in ("weak", "strong"):
            for fault in ("stuck", "silent", "noise"):
                times = [
                    first_report(tuned, with_fault(rec, source, fault, i), source) - NOON
                    for i, rec in enumerate(rest)
                ]
                low, mid, high = np.percentile(np.array(times) / 60, [0, 50, 100])
                print(f"  {source} {fault}: after {mid:.0f} min, {low:.0f} to {high:.0f}")
    for name, classes in REAL.items() if folder else ():
        assert folder is not None
        streams = real(folder / f"{name}_streams.npz", classes)
        order = np.random.default_rng(0).permutation(len(streams))
        count, hours = 0, 0.0
        for half in (order[::2], order[1::2]):
            others = [streams[i] for i in order if i not in half]
            tuned = cf.tune([streams[i] for i in half], reference="strong")
            count += reports(tuned, others)
            hours += sum(float(rec.time[-1]) for rec in others) / 3600
        print(f"{name}: {hours:.0f} h of other people: {count} reports")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
