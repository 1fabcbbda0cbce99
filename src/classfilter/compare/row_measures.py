"""The measures of rows: sums of each stream, and what they give over sets of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import metrics
from ..inputs import Rows
from ..metrics import BINS
from ..support.types import Array, Floats, Ints
from ..tuning import GAP, Criterion, prepare
from .comparison import Measure

PERCENT = (2.5, 97.5)
MIN_STREAMS = 5
"""Below it, there are no intervals."""


class Scores(NamedTuple):
    """The rows of a stream that later predictions judge, (N,), and each class's score there."""

    rows: Ints
    of_class: Floats


def judge(streams: Sequence[Rows], reference: str) -> list[Scores] | None:
    """Return the scores of each stream, by the criterion of `tune`; None if there is too little."""
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


class Counts(NamedTuple):
    """The sums behind the measures of one stream; those of several streams add up."""

    confusion: Floats
    log_loss: float
    excess: Floats
    brier: float
    rows: float
    agreement: float
    judged: float
    switches: float
    hours: float
    delay: float
    changes: float

    @classmethod
    def of(cls, rec: Rows, P: Array, scores: Scores | None) -> Counts:
        """Count by the labels, or where there are none in any stream, by later predictions."""
        K, agreement, judged = len(rec.classes), 0.0, 0
        if scores is not None:
            judged = scores.rows.size
            agreement = float(scores.of_class[np.arange(judged), P[scores.rows].argmax(1)].sum())
        last = last_of_each_time(rec)
        time, P = rec.time[last], np.asarray(P, np.float64)[last]
        y = np.full(len(rec), -1)[last] if rec.label is None else rec.label[last]
        labelled = int((y >= 0).sum())
        switches, hours = metrics.count_switches(
            P, time, y if scores is None else None, GAP * rec.step
        )
        counts = (np.zeros((K, K)), 0.0, np.zeros(BINS), 0.0, 0.0)
        delay = metrics.Delay(0.0, 0.0, 0.0, 0)
        if labelled:
            counts = (
                metrics.confusion(y, P, K).astype(float),
                metrics.log_loss(y, P) * labelled,
                _excess(metrics.reliability(y, P)),
                metrics.brier(y, P) * labelled,
                float(labelled),
            )
            delay = metrics.detection_delay(y, P, time)
        seconds = delay.mean * delay.changes if delay.changes else 0.0
        return cls(*counts, agreement, float(judged), switches, hours, seconds, delay.changes)


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
        enough = measured >= MIN_STREAMS and known.size
        low, high = np.percentile(known, PERCENT) if enough else (np.nan, np.nan)
        measures[key] = Measure(float(value[0]), float(low), float(high))
    return measures


def values(columns: Mapping[str, Floats], sets: NDArray[np.intp]) -> dict[str, Floats]:
    """Return each measure of each set of streams, (sets,)."""
    total = {key: column[sets].sum(axis=1) for key, column in columns.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        switches = total["switches"] / total["hours"]
        if not columns["rows"].any():
            agreement = np.exp(total["agreement"] / total["judged"])
            return {"agreement": agreement, "switches": switches}
        c = total["confusion"]
        correct = np.diagonal(c, axis1=1, axis2=2)
        occurs = c.sum(axis=1) + c.sum(axis=2)
        return {
            "accuracy": correct.sum(axis=1) / total["rows"],
            "macro_f1": np.nansum(2 * correct / occurs, axis=1) / (occurs > 0).sum(axis=1),
            "log_loss": total["log_loss"] / total["rows"],
            "calibration_error": np.abs(total["excess"]).sum(axis=1) / total["rows"],
            "brier": total["brier"] / total["rows"],
            "switches": switches,
            "delay": total["delay"] / total["changes"],
        }


def last_of_each_time(rec: Rows) -> NDArray[np.bool_]:
    """Say for each row whether it is the last of its time."""
    last: NDArray[np.bool_] = np.append(np.diff(rec.time) > 0, True)
    return last
