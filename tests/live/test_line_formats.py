"""Lines with other keys, logits, percentages, earlier results; and keys that are there twice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

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
