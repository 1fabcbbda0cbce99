"""Lines with other keys, logits, percentages, earlier results; and keys that are there twice."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from classfilter import DirichletFilter, softmax
from ndjson_lines import CLASSES, VALID, as_line, serve_here

ROWS: list[Any] = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [None] * 3, [0.2, 0.2, 0.6]]


def lines(rows: list[Any], keys: list[str], **more: Any) -> list[bytes]:
    return [
        as_line(more | {"time": t} | dict(zip(keys, row, strict=True)))
        for t, row in enumerate(rows)
    ]


def results(out: list[bytes]) -> list[list[float]]:
    return [[json.loads(line)[f"f_{name}"] for name in CLASSES] for line in out]


PLAIN = results(serve_here(lines(ROWS, [f"p_{name}" for name in CLASSES])))


def scaled(row: list[Any], by: float) -> list[Any]:
    return [None if p is None else p * by for p in row]


def test_percentages() -> None:
    rows = [scaled(row, 100) for row in ROWS]
    out = serve_here(lines(rows, [f"p_{name}" for name in CLASSES]), scores="percent")
    np.testing.assert_allclose(results(out), PLAIN, rtol=1e-13)


def test_logits() -> None:
    rows: list[Any] = [[2.0, -1.0, 0.5], [None] * 3, [-3, 400, 0]]
    keys = [f"p_{name}" for name in CLASSES]
    out = results(serve_here(lines(rows, keys), scores="logits"))
    probs = [row if row[0] is None else softmax(row).tolist() for row in rows]
    np.testing.assert_allclose(out, results(serve_here(lines(probs, keys))), rtol=1e-13)


def test_other_keys() -> None:
    columns = {"time": "ts", "stream": "who", "p_walk": "gehen", "p_sleep": "p_z"}
    rows = [
        {"ts": t, "who": "ann", "gehen": w, "p_sit": s, "p_z": z, "p_sleep": "other", "stream": []}
        for t, (w, s, z) in enumerate(ROWS)
    ]
    out = serve_here([as_line(row) for row in rows], columns=columns, classes=CLASSES)
    assert results(out) == PLAIN
    assert json.loads(out[0])["gehen"] == 0.7
    messages = io.StringIO()
    wrong = [{"time": 1}, {"ts": "noon"} | rows[0] | {"ts": "noon"}, rows[0] | {"who": None}]
    wrong += [rows[0] | {"gehen": -0.5}, rows[0] | {"p_z": None}]
    serve_here([as_line(row) for row in wrong], columns=columns, classes=CLASSES, errors=messages)
    assert [line.partition(";")[0] for line in messages.getvalue().splitlines()] == [
        "line 1: ts is missing",
        "line 2: ts is 'noon'",
        "line 3: who is None",
        "line 4: 'gehen' is -0.5",
        "line 5: 'p_z' is null, but others are not",
    ]


def test_labels_under_another_key_with_percentages() -> None:
    row = {"time": 0, "guess": "sit", "sure": 75}
    columns = {"prediction": "guess", "confidence": "sure"}
    out = serve_here([as_line(row)], columns=columns, classes=CLASSES, scores="percent")
    p = DirichletFilter(CLASSES).update([0.125, 0.75, 0.125], dt=0.0)
    assert results(out)[0] == p.tolist()


def test_a_key_that_is_no_class() -> None:
    """Where the classes are known; otherwise the message names it."""
    row = VALID | {"p_value": 0.01}
    out = serve_here([as_line(row)], classes=("walk", "sit"))
    assert json.loads(out[0])["class"] == "walk"
    assert "f_value" not in json.loads(out[0])
    mixed = VALID | {"p_value": 0.01, "prediction": "sit"}
    assert json.loads(serve_here([as_line(mixed)], classes=("walk", "sit"))[0])["class"] == "walk"
    label = {"time": 0, "p_value": 0.3, "prediction": "sit"}
    assert json.loads(serve_here([as_line(label)], classes=("walk", "sit"))[0])["class"] == "sit"


def test_lines_with_results_are_filtered_again() -> None:
    keys = [f"p_{name}" for name in CLASSES]
    first = serve_here(lines(ROWS, keys, note='"class":", é'))
    again = serve_here(first)
    for a, b in zip(first, again, strict=True):
        assert json.loads(a) == json.loads(b)
        assert list(json.loads(a)) == list(json.loads(b))
    other = serve_here(first, make_filter=lambda c: DirichletFilter(c, gamma=0.1))
    assert results(other) != PLAIN
    assert [json.loads(line)["note"] for line in other] == ['"class":", é'] * len(ROWS)


@pytest.mark.parametrize(
    ("scores", "row", "why"),
    [
        ("percent", [70, 20, -10], "the p_<class> are (70, 20, -10); percentages are not negative"),
        ("percent", [0.7, 0.2, 0.1], "percentages are not negative, and sum to 100"),
        ("probabilities", [70, 20, 10], "--scores percent"),
        (
            "probabilities",
            [2, -1, 0],
            "'p_sit' is -1.0; a probability must not be negative",
        ),
        ("logits", ["2", 1, 0], "'p_walk' is '2'; it must be a number"),
        ("logits", [1e999, 1, 0], "must be finite"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_scores_that_are_wrong(scores: str, row: Any, why: str, first: bool) -> None:
    good = {"percent": [70, 20, 10], "logits": [2, 1, 0], "probabilities": [0.7, 0.2, 0.1]}[scores]
    keys, messages = [f"p_{name}" for name in CLASSES], io.StringIO()
    text = [line.replace(b"Infinity", b"1e999") for line in lines([row], keys)]
    out = serve_here([*lines([] if first else [good], keys), *text], scores=scores, errors=messages)
    assert why in messages.getvalue()
    assert len(out) == (not first)


@pytest.mark.parametrize(
    "line",
    [
        r'{"time": "2024-05-01T08\u003a00Z", "time": 1, "p_walk": 0.5, "p_sit": 0.5}',
        r'{"time": "2024-05-01T08\u003A00Z", "x": 1, "x": 2, "p_walk": 0.5, "p_sit": 0.5}',
        r'{"ti\u006de": 1, "time": 2, "p_walk": 0.5, "p_sit": 0.5}',
        r'{"time": 1, "p_walk": 0.5, "p_sit": 0.5, "p_s\u0069t": 0.5}',
    ],
)
def test_a_key_that_is_there_twice_in_other_words(line: str) -> None:
    messages = io.StringIO()
    assert serve_here([line.encode() + b"\n"], errors=messages) == []
    assert "is there twice" in messages.getvalue()
