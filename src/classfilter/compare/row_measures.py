"""The measures of rows: sums of each stream, and what they give over sets of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import metrics
from ..inputs import Rows
from ..metrics import BINS, average_precision, mean_of_known
from ..support.types import Array, Floats, Ints
from ..tuning import GAP, Criterion, count_predictions, prepare
from .comparison import Measure, Row

PERCENT = (2.5, 97.5)
FEWEST_STREAMS = 5
"""Below it, there are no intervals."""


class Scores(NamedTuple):
    """The rows of a stream that later predictions judge, (N,), and each class's score there."""

    rows: Ints
    of_class: Floats


def judge(streams: Sequence[Rows], reference: str) -> list[list[Scores]] | None:
    """Return the scores of each stream and head, by the criterion of `tune`.

    A head with too little data has scores of no rows; where all have, None.
    """
    heads = streams[0].heads
    by_head = [streams]
    if not heads.is_exclusive:
        by_head = [[rec.head(name) for rec in streams] for name in heads.names]
    of_heads = [_judge_head(rows, reference) for rows in by_head]
    if all(scores is None for scores in of_heads):
        return None
    nothing = Scores(np.zeros(0, np.intp), np.zeros((0, heads.width)))
    return [
        [nothing if scores is None else scores[i] for scores in of_heads]
        for i in range(len(streams))
    ]


def _judge_head(streams: Sequence[Rows], reference: str) -> list[Scores] | None:
    """Return the scores of each stream; None if there is too little data."""
    if count_predictions(streams, reference) < 2:
        return None
    prepared = prepare(streams, reference, every=1, min_predictions=2)
    if prepared is None:
        return None
    criterion: Criterion = prepared.objective.criteria[0]
    observed = [np.flatnonzero(rec.observed()) for rec in streams]
    ends = np.cumsum([rows.size for rows in observed])[:-1]
    parts = zip(
        observed, np.split(criterion.scores, ends), np.split(criterion.judged, ends), strict=True
    )
    return [Scores(rows[judged], scores[judged]) for rows, scores, judged in parts]


class RowSums(NamedTuple):
    """The sums behind the measures of one stream; those of several streams add up.

    Each has a number for each head, (H,). But `found`, the rows of a class that are predicted, and
    `occurs`, its true rows and its predicted ones, have one for each column, (C,).
    """

    found: Floats
    occurs: Floats
    correct: Floats
    log_loss: Floats
    excess: Floats
    brier: Floats
    rows: Floats
    agreement: Floats
    judged: Floats
    switches: Floats
    hours: Floats
    delay: Floats
    changes: Floats

    @classmethod
    def of(cls, rec: Rows, P: Array, scores: Sequence[Scores] | None) -> RowSums:
        """Count by the labels, or where there are none in any stream, by later predictions."""
        heads, stack = rec.heads, rec.heads.stacked(np.asarray(P, np.float64))
        label = np.full(len(rec), -1) if rec.label is None else rec.label
        truth = np.broadcast_to(label.reshape(len(rec), -1), stack.shape[:2])
        last = last_of_each_time(rec)
        each = []
        for h, (size, own) in enumerate(zip(heads.sizes, heads.columns, strict=True)):
            p, y = stack[:, h, :size], truth[:, h]
            sums = {"agreement": 0.0, "judged": 0.0}
            if scores is not None:
                rows, of_class = scores[h]
                agreed = of_class[np.arange(rows.size), p[rows].argmax(axis=1)]
                sums = {"agreement": float(agreed.sum()), "judged": float(rows.size)}
            time, p, y = rec.time[last], p[last], y[last]
            judging = y if scores is None else None
            switches, hours = metrics.count_switches(p, time, judging, GAP * rec.step)
            sums |= {"switches": switches, "hours": hours}
            each.append(sums | _by_truth(y, p, time, len(own)))
        columns = {name: np.array([sums[name] for sums in each]) for name in cls._fields[2:]}
        for name in ("found", "occurs"):
            columns[name] = np.concatenate([sums[name] for sums in each])
        return cls(**columns)


def _by_truth(y: Ints, P: Floats, time: Floats, shown: int) -> dict[str, Any]:
    """Return the sums of one head by its true classes, of which the last ones are shown."""
    K, labelled = P.shape[1], int((y >= 0).sum())
    confusion, delay = np.zeros((K, K)), metrics.Delay(0.0, 0.0, 0.0, 0)
    of_rows: dict[str, Any] = {"log_loss": 0.0, "excess": np.zeros(BINS), "brier": 0.0}
    if labelled:
        confusion = metrics.confusion(y, P, K).astype(float)
        delay = metrics.detection_delay(y, P, time)
        of_rows = {
            "log_loss": metrics.log_loss(y, P) * labelled,
            "excess": _excess(metrics.reliability(y, P)),
            "brier": metrics.brier(y, P) * labelled,
        }
    correct, occurs = confusion.diagonal(), confusion.sum(axis=0) + confusion.sum(axis=1)
    return of_rows | {
        "found": correct[-shown:],
        "occurs": occurs[-shown:],
        "correct": correct.sum(),
        "rows": float(labelled),
        "delay": delay.mean * delay.changes if delay.changes else 0.0,
        "changes": float(delay.changes),
    }


def _excess(table: metrics.Reliability) -> Floats:
    """Return the rows of each bin that are right, less those that should be by their confidence."""
    excess: Floats = np.nan_to_num(table.rows * (table.accuracy - table.confidence))
    return excess


def measures(parts: Sequence[Any], sets: NDArray[np.intp], values_of: Any) -> dict[str, Measure]:
    """Return the measures of all streams, with intervals over resampled sets of streams."""
    columns = {key: np.array([getattr(p, key) for p in parts]) for key in parts[0]._fields}
    every = np.arange(len(parts))[None]
    whole, resampled = values_of(columns, every), values_of(columns, sets)
    labelled = columns["rows"].reshape(len(parts), -1).any(axis=1)
    measured = int(labelled.sum()) or len(parts)
    measures = {}
    for key, value in whole.items():
        known = resampled[key][~np.isnan(resampled[key])]
        enough = measured >= FEWEST_STREAMS and known.size
        low, high = np.percentile(known, PERCENT) if enough else (np.nan, np.nan)
        measures[key] = Measure(float(value[0]), float(low), float(high))
    return measures


def totals(columns: Mapping[str, Floats], sets: NDArray[np.intp]) -> dict[str, Floats]:
    """Return the sums over the streams of each set, (sets, ...)."""
    streams = len(columns["rows"])
    times = np.array([np.bincount(one, minlength=streams) for one in sets], np.float64)
    return {key: np.tensordot(times, column, 1) for key, column in columns.items()}


def values(columns: Mapping[str, Floats], sets: NDArray[np.intp]) -> dict[str, Floats]:
    """Return each measure of each set of streams, (sets,); the columns are those of `Counts`.

    Macro-F1 and agreement are means over columns and over heads; the others are of all together.
    """
    total = totals(columns, sets)
    overall = {key: column.sum(axis=1) for key, column in total.items()}
    rows = overall["rows"]
    with np.errstate(divide="ignore", invalid="ignore"):
        switches = overall["switches"] / overall["hours"]
        if not columns["rows"].any():
            agreement = _mean(np.exp(total["agreement"] / total["judged"]))
            return {"agreement": agreement, "switches": switches}
        return {
            "macro_f1": _mean(2 * total["found"] / total["occurs"]),
            "micro_f1": 2 * overall["found"] / overall["occurs"],
            "accuracy": overall["correct"] / rows,
            "log_loss": overall["log_loss"] / rows,
            "calibration_error": np.abs(overall["excess"]).sum(axis=1) / rows,
            "brier": overall["brier"] / rows,
            "switches": switches,
            "delay": overall["delay"] / overall["changes"],
        }


def _mean(values: Floats) -> Floats:
    """Return the mean over the columns that have a value, (sets,)."""
    known = ~np.isnan(values)
    mean: Floats = np.where(known, values, 0).sum(axis=1) / known.sum(axis=1)
    return mean


OF_ONE_HEAD = (
    "agreement", "accuracy", "macro_f1", "log_loss", "calibration_error", "brier", "switches",
    "delay",
)  # fmt: skip
OF_HEADS = (
    "agreement", "macro_f1", "micro_f1", "f1", "average_precision", "accuracy", "log_loss", "brier",
    "switches", "delay",
)  # fmt: skip
"""The measures of one head, and of several, in the order of the table."""


def measured(
    name: str,
    smoothed: bool,
    streams: Sequence[Rows],
    probs: Sequence[Array],
    scores: Sequence[Sequence[Scores] | None],
    sets: NDArray[np.intp],
) -> Row:
    """Return the measures of a method: over all heads and, where there are several, of each."""
    heads = streams[0].heads
    parts = [RowSums.of(*stream) for stream in zip(streams, probs, scores, strict=True)]
    whole = measures(parts, sets, values)
    if heads.is_exclusive:
        return Row(name, smoothed, {key: whole[key] for key in OF_ONE_HEAD if key in whole})
    every, by_head = np.arange(len(parts))[None], {}
    for h, label in enumerate(heads.names):
        places = {"found": heads.spans[h], "occurs": heads.spans[h]}
        columns = {
            key: np.array([getattr(part, key)[places.get(key, slice(h, h + 1))] for part in parts])
            for key in RowSums._fields
        }
        of_head = {key: float(value[0]) for key, value in values(columns, every).items()}
        if "macro_f1" in whole:
            del of_head["micro_f1"]
            of_head["f1"] = of_head.pop("macro_f1")
            of_head["average_precision"] = _average_precision(streams, probs, heads.spans[h])
        by_head[label] = {key: of_head[key] for key in OF_HEADS if key in of_head}
    if "macro_f1" in whole:
        mean = mean_of_known(of_head["average_precision"] for of_head in by_head.values())
        whole["average_precision"] = Measure(mean, float("nan"), float("nan"))
    return Row(name, smoothed, {key: whole[key] for key in OF_HEADS if key in whole}, by_head)


def _average_precision(streams: Sequence[Rows], probs: Sequence[Array], columns: slice) -> float:
    """Return the average precision of some columns, over all streams; their mean."""
    true, scores = [], []
    for rec, P in zip(streams, probs, strict=True):
        if rec.label is not None:
            last = last_of_each_time(rec)
            true.append(rec.heads.certain(rec.label)[last, columns])
            scores.append(np.asarray(P, np.float64)[last, columns])
    y, p = np.concatenate(true), np.concatenate(scores)
    known = ~np.isnan(y)
    return mean_of_known(
        average_precision(y[known[:, k], k] == 1, p[known[:, k], k]) for k in range(y.shape[1])
    )


def last_of_each_time(rec: Rows) -> NDArray[np.bool_]:
    """Say for each row whether it is the last of its time."""
    last: NDArray[np.bool_] = np.append(np.diff(rec.time) > 0, True)
    return last
