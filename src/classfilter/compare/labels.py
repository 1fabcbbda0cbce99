"""Comparison of filters on several labels at once: the methods, and the measures over all labels.

Each label is counted as a recording of two classes, its lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..filters import EmaFilter, HoldFilter, MeanFilter, MultiLabelFilter, RawFilter
from ..inputs import Rows, pairs
from ..metrics import average_precision, mean_of_known
from ..pipeline import Chain
from ..support.types import Array, Floats, Weights
from ..tuning import (
    HELD_BELOW,
    WINDOW,
    LabelTuning,
    Prepared,
    Tuned,
    choose,
    count_predictions,
    prepare,
    step_of,
    tune,
)
from .comparison import Measure, Row
from .row_measures import Counts, Scores, judge, last_of_each_time, measures

Method = Callable[[Rows], Array]
"""Returns the probability of each label, (T, L)."""
ENTER, LEAVE = 0.5, 0.35
"""A label is on from the upper threshold until it is below the lower one."""


def label_methods(
    train: Sequence[Rows], reference: str, smoothed: str
) -> dict[str, Callable[[], Method]]:
    """Return functions that tune each method on some streams; `smoothed` ends a smoother's name."""
    labels = train[0].classes
    sources = dict.fromkeys(name for rec in train for name in rec.sources)
    held = {name: 1.0 if name == reference else HELD_BELOW for name in sources}
    prepared: dict[tuple[str, ...], Prepared | None] = {}

    def baseline(filter_: Any, beta: Weights = 1.0) -> Callable[[], Method]:
        of_labels = MultiLabelFilter(labels, filter_)
        return lambda: Chain(of_labels, beta=beta).run

    def of_lanes(lanes: list[Rows], kind: Any) -> Tuned:
        name = lanes[0].classes
        if name not in prepared:
            prepared[name] = prepare(lanes, reference, every=1)
        known = prepared[name]
        return choose(known, kind) if known else tune(lanes, kind, reference, every=1)

    @cache
    def tuned(kind: Any) -> Tuned:
        tuning = LabelTuning(train, reference, lambda lanes: of_lanes(lanes, kind), every=1)
        return tuning.chain()

    raw = baseline(RawFilter(2))()
    methods: dict[str, Callable[[], Method]] = {
        "Raw": lambda: raw,
        "Threshold 0.5": lambda: lambda rec: (raw(rec) > 0.5).astype(np.float64),
        f"Thresholds {ENTER}/{LEAVE}": lambda: lambda rec: two_thresholds(raw(rec)),
        f"Mean of {WINDOW}": baseline(MeanFilter(2, WINDOW)),
        "Ema": baseline(EmaFilter(2, 0.9 ** (1 / step_of(train)))),
    }
    if len(sources) > 1:
        methods["Hold"] = baseline(HoldFilter(2), held)
    kinds = {"Dirichlet, tuned": "dirichlet", "Sticky, tuned": "sticky", "Tuned": "auto"}
    for name, kind in kinds.items():
        methods[name] = lambda kind=kind: tuned(kind).run  # type: ignore[misc]
        methods[name + smoothed] = lambda kind=kind: tuned(kind).smooth  # type: ignore[misc]
    return methods


def two_thresholds(P: Floats) -> Floats:
    """Return where each label is on, (T, L): from the upper threshold until below the lower.

    Examples
    --------
    >>> two_thresholds(np.array([[0.4], [0.5], [0.4], [0.3], [0.4]])).ravel().tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    decides = (P >= ENTER) | (P < LEAVE)
    last = np.maximum.accumulate(np.where(decides, np.arange(len(P))[:, None], -1), axis=0)
    on = np.take_along_axis(P, np.maximum(last, 0), axis=0) >= ENTER
    return np.where(last >= 0, on, False).astype(np.float64)


def judge_labels(streams: Sequence[Rows], reference: str) -> list[list[Scores]] | None:
    """Return the scores of each stream and label; None if there is too little of all labels.

    A label with too little data has scores of no rows.
    """
    nothing = Scores(np.zeros(0, np.intp), np.zeros((0, 2)))
    of_labels = []
    for label in streams[0].classes:
        lanes = [rec.lane(label) for rec in streams]
        enough = count_predictions(lanes, reference) >= 2
        of_labels.append(judge(lanes, reference) if enough else None)
    if all(scores is None for scores in of_labels):
        return None
    return [
        [nothing if scores is None else scores[i] for scores in of_labels]
        for i in range(len(streams))
    ]


def label_row(
    name: str,
    smoothed: bool,
    streams: Sequence[Rows],
    probs: Sequence[Array],
    scores: Sequence[Any],
    sets: NDArray[np.intp],
) -> Row:
    """Return the measures of a method: over all labels, and of each."""
    labels = streams[0].classes
    parts = [_counts(*stream) for stream in zip(streams, probs, scores, strict=True)]
    whole = measures(parts, sets, label_values)
    by_label = {}
    for k, label in enumerate(labels):
        columns = {
            key: np.array([getattr(p, key)[k : k + 1] for p in parts]) for key in Counts._fields
        }
        values = label_values(columns, np.arange(len(parts))[None])
        of_label = {key: float(value[0]) for key, value in values.items() if key != "macro_f1"}
        if "micro_f1" in of_label:
            f1, ap = of_label.pop("micro_f1"), _average_precision(streams, probs, k)
            of_label = {"f1": f1, "average_precision": ap} | of_label
        by_label[label] = of_label
    if "micro_f1" in whole:
        mean = mean_of_known(of_label["average_precision"] for of_label in by_label.values())
        first = {key: whole.pop(key) for key in ("macro_f1", "micro_f1")}
        unsure = Measure(mean, float("nan"), float("nan"))
        whole = first | {"average_precision": unsure} | whole
    return Row(name, smoothed, whole, by_label)


def label_values(columns: Mapping[str, Floats], sets: NDArray[np.intp]) -> dict[str, Floats]:
    """Return each measure of each set of streams, (sets,); the columns are of stream and label."""
    streams = np.arange(len(columns["rows"]))
    times = (sets[:, :, None] == streams).sum(axis=1).astype(np.float64)
    total = {key: np.tensordot(times, column, 1) for key, column in columns.items()}
    overall = {key: column.sum(axis=1) for key, column in total.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        switches = {"switches": overall["switches"] / overall["hours"]}
        if not columns["rows"].any():
            return {"agreement": _mean(np.exp(total["agreement"] / total["judged"]))} | switches
        c, together = total["confusion"], overall["confusion"]
        right = np.trace(together, axis1=1, axis2=2)
        return {
            "macro_f1": _mean(_f1(c)),
            "micro_f1": _f1(together),
            "accuracy": right / overall["rows"],
            "log_loss": overall["log_loss"] / overall["rows"],
            "brier": overall["brier"] / overall["rows"],
            **switches,
            "delay": overall["delay"] / overall["changes"],
        }


def _f1(confusion: Floats) -> Floats:
    """Return ``2 TP / (2 TP + FP + FN)`` of on."""
    found = confusion[..., 1, 1]
    occurs = confusion[..., 1, :].sum(axis=-1) + confusion[..., :, 1].sum(axis=-1)
    f1: Floats = 2 * found / occurs
    return f1


def _mean(of_labels: Floats) -> Floats:
    """Return the mean over the labels that have a value, (sets,)."""
    known = ~np.isnan(of_labels)
    mean: Floats = np.where(known, of_labels, 0).sum(axis=1) / known.sum(axis=1)
    return mean


def _counts(rec: Rows, P: Array, scores: Sequence[Scores] | None) -> Counts:
    """Return the sums of one stream, those of each label on the first axis."""
    each = [
        Counts.of(rec.lane(label), pairs(np.asarray(P[:, k], np.float64)), of_label)
        for k, label in enumerate(rec.classes)
        for of_label in [None if scores is None else scores[k]]
    ]
    return Counts(*(np.array(column) for column in zip(*each, strict=True)))  # type: ignore[arg-type]


def _average_precision(streams: Sequence[Rows], probs: Sequence[Array], k: int) -> float:
    """Return the average precision of one label, over all streams."""
    true, scores = [], []
    for rec, P in zip(streams, probs, strict=True):
        if rec.label is not None:
            rows = np.flatnonzero(last_of_each_time(rec) & (rec.label[:, k] >= 0))
            true.append(rec.label[rows, k] == 1)
            scores.append(np.asarray(P, np.float64)[rows, k])
    return average_precision(np.concatenate(true), np.concatenate(scores))
