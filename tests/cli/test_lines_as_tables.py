"""The same lines through ``classfilter stream`` and ``classfilter filter``: refused or read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from ndjson_lines import as_line

GAMMA = ["--gamma", "0.9"]
A, B = {"p_a": 0.8, "p_b": 0.2}, {"p_a": 0.3, "p_b": 0.7}
NONE: dict[str, Any] = {"p_a": None, "p_b": None}
LABEL = {"prediction": "b", "Confidence": 0.7}

READ: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "a key that is named": ([A | {"Stream": "x"}], ["stream=Stream"]),
    "both spellings": ([A | {"Stream": "x", "stream": "y"}], []),
    "Label, which no filter reads": ([A | {"Label": "b"}], []),
    "Prediction beside probabilities": ([A | {"Prediction": "b"}, B | {"Prediction": "b"}], []),
    "Confidence of no label": ([A | LABEL, NONE | LABEL | {"prediction": None}], []),
    "Confidence without a label": ([A | {"Confidence": 0.7}, NONE | {"Confidence": 0.7}], []),
    "rows of nulls": ([A, NONE, B], []),
    "a label alone": ([A | {"guess": "b"}, A | {"guess": "b"}], ["prediction=guess"]),
}


def written(rows: list[dict[str, Any]]) -> bytes:
    lines = b"".join(as_line({"time": n} | row) for n, row in enumerate(rows))
    Path("in.ndjson").write_bytes(lines)
    return lines


@pytest.mark.parametrize("name", READ)
def test_both_read_the_rest_alike(run: Run, name: str) -> None:
    rows, columns = READ[name]
    options = [
        *GAMMA,
        "--classes",
        "a,b",
        *(part for pair in columns for part in ("--columns", pair)),
    ]
    code, out, _ = run("stream", *options, stdin=written(rows))
    assert code == 0
    assert run("filter", "in.ndjson", "-o", "out.ndjson", *options)[0] == 0
    table = Path("out.ndjson").read_text().splitlines()
    assert len(table) == len(rows)
    for a, b in zip(map(json.loads, out.splitlines()), map(json.loads, table), strict=True):
        assert [a[key] for key in ("f_a", "f_b", "class")] == [b["f_a"], b["f_b"], b["class"]]
