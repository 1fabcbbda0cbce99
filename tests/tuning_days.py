"""Simulated days to tune on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import classfilter as cf
from classfilter import Rows
from classfilter.pipeline import Pipeline
from classfilter.simulate import Simulation
from classfilter.tuning import tune

Floats = NDArray[np.float64]


NAN = float("nan")


@lru_cache
def day(seed: int, hours: float) -> Simulation:
    return cf.simulate("capture24", hours=hours, seed=seed)


def days(seeds: Sequence[int], hours: float) -> list[Rows]:
    return [day(seed, hours).rows() for seed in seeds]


def three(simulated: Simulation, medium: bool = True) -> Rows:
    """Add a medium source, the mean of weak and strong, three times per minute."""
    n = np.arange(len(simulated.time))
    both = simulated.probs | {"medium": (simulated.probs["weak"] + simulated.probs["strong"]) / 2}
    source = np.where(n % 12 == 0, "strong", np.where(medium & (n % 4 == 2), "medium", "weak"))
    probs = np.array([both[name][t] for t, name in enumerate(source.tolist())])
    return cf.rows(
        time=simulated.time,
        source=source,
        probs=probs,
        classes=simulated.classes,
        label=simulated.truth,
    )


def changed(rec: Rows, **new: Any) -> Rows:
    columns = {name: getattr(rec, name) for name in ("time", "probs", "classes", "label")}
    return cf.rows(**{"source": rec.source_names} | columns | new)


def accuracy(run: Callable[[Rows], Floats], recs: Sequence[Rows]) -> float:
    correct = [np.asarray(run(rec)).argmax(axis=1) == rec.label for rec in recs]
    return float(np.concatenate(correct).mean())


def hold(rec: Rows) -> Floats:
    beta = {name: 1.0 if name == "strong" else 0.5 for name in rec.sources}
    return cf.Pipeline(cf.HoldFilter(rec.classes), beta=beta).run(rec)


@lru_cache
def tuned_short(kind: Any) -> Pipeline:
    return tune(days([0, 1], 2.0), kind, "strong")


def messy(seed: int, hours: float = 3.0) -> Rows:
    """Rows lost, irregular times, some predictions missing, and both sources at one time."""
    rng = np.random.default_rng(seed)
    simulated = day(seed, hours)
    rows = np.flatnonzero(rng.random(len(simulated.time)) < 0.8)
    time = simulated.time[rows] + rng.uniform(0, 2, len(rows))
    strong = rows % 12 < 1
    order = np.repeat(np.arange(len(rows)), 1 + strong)
    second = np.append(False, order[1:] == order[:-1])
    both = (simulated.probs[name][rows[order]] for name in ("strong", "weak"))
    probs = np.where(second[:, None], *both)
    probs[rng.random(len(order)) < 0.05] = NAN
    source = np.where(second, "strong", "weak")
    return cf.rows(
        time=time[order],
        source=source,
        probs=probs,
        classes=simulated.classes,
        label=simulated.truth[rows[order]],
    )


def correlated_errors(
    r: float, dwell: float, seed: int, rows: int, K: int = 4, shape: float = 1.0
) -> Rows:
    """A source at 30 rows a second, whose errors have the correlation r from row to row.

    A class lasts a gamma-distributed number of rows of the mean `dwell`.
    """
    rng = np.random.default_rng(seed)
    lasts = np.maximum(rng.gamma(shape, dwell / shape, rows).astype(int), 1)
    truth = np.repeat(np.cumsum(rng.integers(1, K, size=rows)) % K, lasts)[:rows]
    noise = rng.normal(scale=1.17, size=(rows, K))
    for t in range(1, rows):
        noise[t] = r * noise[t - 1] + np.sqrt(1 - r**2) * noise[t]
    p = np.exp(noise + 2.0 * np.eye(K)[truth])
    p /= p.sum(axis=1, keepdims=True)
    return cf.rows(time=np.arange(rows) / 30, source="video", probs=p, classes=K, label=truth)
