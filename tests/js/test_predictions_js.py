"""Predictions as people have them, in JavaScript: by name, a class, a class and its confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.inputs import DEFAULT_RELIABILITY
from saved_files import file_of

CLASSES = ["walk", "sit", "7"]
RELIABILITY = 0.7
MISSING = [np.nan] * 3


def spread(k: int, top: float) -> list[float]:
    """Return the row of a class: the others share the rest."""
    return [top if i == k else (1.0 - top) / 2.0 for i in range(3)]


PREDICTIONS: list[tuple[Any, list[float]]] = [
    ({"sit": 0.5, "7": 0.125, "walk": 0.375}, [0.375, 0.5, 0.125]),
    ({"p_7": 0.125, "p_walk": 0.375, "p_sit": 0.5}, [0.375, 0.5, 0.125]),
    ({"sit": None, "7": None, "walk": None}, MISSING),
    ("sit", spread(1, RELIABILITY)),
    ("7", spread(2, RELIABILITY)),
    (0, spread(0, RELIABILITY)),
    (-1, MISSING),
    ("", MISSING),
    (None, MISSING),
    ([0.25, 0.25, 0.5], [0.25, 0.25, 0.5]),
]


def test_a_class_counts_as_in_python() -> None:
    assert DEFAULT_RELIABILITY == RELIABILITY


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_filter_takes_names_and_classes(dtype: str) -> None:
    f = cf.DirichletFilter(CLASSES, dtype=dtype)
    expected = f.run([row for _, row in PREDICTIONS])
    sent = [prediction for prediction, _ in PREDICTIONS]
    case = {"kind": "predicted", "classes": CLASSES, "predictions": sent, "dtype": dtype}
    (result,) = node.run([case])
    for kind in ("run", "update"):
        assert all(map(node.same_bits, result[kind], expected)), kind


def tracked(pipe: cf.Pipeline, rows: list[Any], **options: Any) -> dict[str, Any]:
    case = {"kind": "tracked", "config": file_of(pipe), "options": options, "rows": rows}
    (result,) = node.run([case])
    return result


def test_a_tracker_takes_names_classes_and_confidence() -> None:
    """Without a channel a class counts by its reliability; with one, the channel says it all."""
    channel = cf.Channel([[8, 1, 1], [1, 7, 2], [2, 2, 6]])
    pipe = cf.Pipeline(
        cf.StickyFilter(CLASSES), beta={"plain": 0.5, "known": 1.0}, channel={"known": channel}
    )
    confident: list[tuple[Any, float]] = [("walk", 0.75), (2, 1.0), ("sit", 0.0), (-1, 5.0)]
    predictions: list[Any] = []
    for prediction, row in PREDICTIONS:
        certain = np.eye(3)[np.argmax(row)] if RELIABILITY in row else row
        predictions.append((prediction, {}, row, certain))
    for label, top in confident:
        k = CLASSES.index(label) if isinstance(label, str) else label
        row = MISSING if k < 0 else spread(k, top)
        predictions.append((label, {"confidence": top}, row, row))
    sent, expected = [], []
    tracker = cf.Tracker(pipe)
    for i, (prediction, options, plain, known) in enumerate(predictions):
        for stream, source, row in (("a", "plain", plain), ("b", "known", known)):
            sent.append([stream, float(i), source, prediction, *([options] if options else [])])
            expected.append(tracker.update(stream, float(i), source, list(row)))
    for row, result, estimate in zip(sent, tracked(pipe, sent)["results"], expected, strict=True):
        assert node.same_bits(result["out"], estimate), (row, result)


REJECTED: list[tuple[Any, Any, str]] = [
    ({"walk": 0.9, "sit": 0.1}, {}, 'probs names ["walk", "sit"]'),
    ({"walk": 0.9, "stand": 0.1, "7": 0.0}, {}, 'probs names ["7", "walk", "stand"]'),
    ({"walk": 0.9, "sit": 0.1, "7": 0.0, "p_sit": 0.1}, {}, "name each class once"),
    ({}, {}, "probs names []"),
    ({"walk": "a", "sit": 0, "7": 1}, {}, "probs must hold numbers"),
    ({"walk": 0.9, "sit": 0.9, "7": 0}, {}, "probs sums to 1.8"),
    ("stand", {}, 'probs is "stand"'),
    (3, {}, "probs is 3"),
    (-2, {}, "probs is -2"),
    (0.5, {}, "probs must hold numbers, got 0.5"),
    (True, {}, "probs must hold numbers, got true"),
    ("sit", {"confidence": 1.5}, "confidence is 1.5; it must lie in [0, 1]: divide percentages"),
    ("sit", {"confidence": "NaN"}, "confidence is NaN"),
    ("sit", {"confidence": "high"}, 'confidence is "high"'),
    ("sit", {"reliability": 0.5}, "unknown option reliability"),
    ("sit", 0.5, "options is 0.5"),
    ([0.5, 0.5, 0], {"confidence": 0.5}, "confidence is given, but probs holds no class"),
]


@pytest.mark.parametrize(("prediction", "options", "message"), REJECTED)
def test_what_is_rejected_changes_nothing(prediction: Any, options: Any, message: str) -> None:
    pipe = cf.Pipeline(cf.StickyFilter(CLASSES))
    good: list[Any] = ["ann", 1.0, None, [0.25, 0.25, 0.5]]
    rows = [["ann", 0.0, None, "sit"], ["ann", 0.5, None, prediction, options], good]
    _, refused, last = tracked(pipe, rows)["results"]
    assert message in refused["message"]
    tracker = cf.Tracker(pipe)
    tracker.update("ann", 0.0, None, spread(1, RELIABILITY))
    assert node.same_bits(last["out"], tracker.update("ann", 1.0, None, good[3]))


def test_rows_are_named_in_errors() -> None:
    case = {"kind": "error", "name": "DirichletFilter", "args": [["a", "b"]], "method": "run"}
    rows = [[[0.5, 0.5], {"a": 1}], [{"a": 1, "b": 0}, "c"], [[0.5, 0.5], 0.5]]
    results = node.run([{**case, "call": [row]} for row in rows])
    starts = ['probs in row 1 names ["a"]', 'probs in row 1 is "c"', "probs must hold numbers"]
    for result, start in zip(results, starts, strict=True):
        assert result["message"].startswith(start)
        assert result["unchanged"]
