"""Rows for `compare`, and its methods and measures in plain loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as sk

import classfilter as cf
from classfilter import Comparison, Rows
from slow_metrics import slow_calibration_error, slow_delays, slow_switches

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
NAN = float("nan")
K = 4
ROWS = (
    "accuracy", "macro_f1", "log_loss", "calibration_error", "switches", "delay"
)  # fmt: skip


def changed(rec: Rows, **new: Any) -> Rows:
    columns = {name: getattr(rec, name) for name in ("time", "probs", "classes", "label")}
    return cf.rows(**{"source": rec.source_names} | columns | new)


@lru_cache
def clean(seed: int, hours: float = 1.0) -> Rows:
    return cf.simulate("plain", hours=hours, seed=seed).rows()


def messy(seed: int, hours: float) -> Rows:
    """Weak and strong at one time, in any order; predictions, rows and labels missing."""
    rng = np.random.default_rng(seed)
    day = cf.simulate("plain", hours=hours, seed=seed)
    rows = np.flatnonzero(rng.random(len(day.time)) < 0.9)
    source, order = [], []
    for t in rows.tolist():
        both = ["weak", "strong"] if t % 12 < 2 else ["weak"]
        source += rng.permutation(both).tolist()
        order += [t] * len(both)
    probs = np.array([day.probs[name][t] for name, t in zip(source, order, strict=True)])
    probs[rng.random(len(probs)) < 0.05] = NAN
    unknown = rng.random(len(day.time)) < 0.1
    label = np.where(unknown, -1, day.truth)[order]
    return cf.rows(
        time=day.time[order], source=source, probs=probs, classes=day.classes, label=label
    )


def perfect(rec: Rows) -> Floats:
    label = np.zeros(len(rec), int) if rec.label is None else rec.label
    return np.eye(K)[np.maximum(label, 0)]


def values(result: Comparison, name: str) -> dict[str, float]:
    """Return the measures of rows; events of the same rows are tested by themselves."""
    return {key: getattr(result[name], key) for key in ROWS}


# --- the methods, row by row ----------------------------------------------------------------


def raw(rec: Rows) -> Floats:
    return mean_of(1)(rec)


def hold(rec: Rows) -> Floats:
    out, strong = [np.full(K, 1 / K)], False
    for source, p in zip(rec.source_names, rec.probs, strict=True):
        replaces = not np.isnan(p[0]) and (source == "strong" or not strong)
        strong |= bool(replaces and source == "strong")
        out.append(p / p.sum() if replaces else out[-1])
    return np.array(out[1:])


def mean_of(window: int) -> Callable[[Rows], Floats]:
    def mean(rec: Rows) -> Floats:
        out, last = [], []
        for p in rec.probs:
            if not np.isnan(p[0]):
                last.append(p / p.sum())
            out.append(np.mean(last[-window:], axis=0) if last else np.full(K, 1 / K))
        return np.array(out)

    return mean


def vote(rec: Rows) -> Floats:
    sure = np.where(np.isnan(rec.probs), NAN, np.eye(K)[np.nan_to_num(rec.probs).argmax(axis=1)])
    return mean_of(5)(changed(rec, probs=sure))


def ema(rec: Rows) -> Floats:
    """The weight of a row is 0.9 to the power of its age in steps."""
    out = []
    observed = ~np.isnan(rec.probs[:, 0])
    for t in range(len(rec)):
        rows = np.flatnonzero(observed[: t + 1])
        weight = 0.9 ** ((rec.time[t] - rec.time[rows]) / 5.0)
        total = weight.sum()
        out.append(weight @ rec.probs[rows] / total if total else np.full(K, 1 / K))
    return np.array(out)


LOOPS = {"Raw": raw, "Hold": hold, "Mean of 5": mean_of(5), "Vote of 5": vote, "EMA": ema}


def last_of_each_time(rec: Rows, P: Floats) -> tuple[Ints, Floats, list[float]]:
    """Labels, probabilities and times; of several rows at one time, the last."""
    T = len(rec)
    rows = [t for t in range(T) if t == T - 1 or rec.time[t + 1] > rec.time[t]]
    label = np.full(T, -1) if rec.label is None else rec.label
    return label[rows], P[rows], rec.time[rows].tolist()


def by_hand(recs: Sequence[Rows], probs: Sequence[Floats]) -> dict[str, float]:
    """All measures, over the rows of all streams."""
    ys, ps = [], []
    switches, seconds, delays = 0, 0.0, list[float]()
    for rec, P in zip(recs, probs, strict=True):
        y, p, time = last_of_each_time(rec, P)
        ys.append(y[y >= 0])
        ps.append(p[y >= 0])
        step = float(np.median(np.diff(time)))
        predicted, truth = p.argmax(axis=1).tolist(), y.tolist()
        delays += slow_delays(truth, predicted, time, 10 * step, step)[0]
        changes, length = slow_switches(truth, predicted, time, 10 * step)
        switches, seconds = switches + changes, seconds + length
    y, p = np.concatenate(ys), np.concatenate(ps)
    floored = np.maximum(p, 1e-3)
    floored /= floored.sum(axis=1, keepdims=True)
    return {
        "accuracy": sk.accuracy_score(y, p.argmax(axis=1)),
        "macro_f1": sk.f1_score(y, p.argmax(axis=1), average="macro"),
        "log_loss": sk.log_loss(y, floored, labels=range(K)),
        "calibration_error": slow_calibration_error(y.tolist(), p.tolist()),
        "switches": 3600 * switches / seconds,
        "delay": float(np.mean(delays)),
    }
