"""The same lines through ``classfilter stream`` and ``classfilter filter``: refused or read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import rejected
from conftest import Run
from ndjson_lines import as_line

GAMMA = ["--gamma", "0.9"]
A, B = {"p_a": 0.8, "p_b": 0.2}, {"p_a": 0.3, "p_b": 0.7}
NONE: dict[str, Any] = {"p_a": None, "p_b": None}
LABEL = {"prediction": "b", "Confidence": 0.7}

UNREAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "Stream": ([A | {"Stream": "x"}], "--columns stream=Stream; or rename it"),
    "STREAM beside bare classes": ([{"a": 0.8, "b": 0.2, "STREAM": 1}], "--columns stream=STREAM"),
    " source ": ([A | {" source ": "weak"}], "--columns source=' source '; or rename it"),
    "Confidence": ([LABEL], "--columns confidence=Confidence; or rename it"),
    "Confidence beside nulls": ([A | LABEL, NONE | LABEL], "--columns confidence=Confidence"),
    "Prediction beside nulls": ([A, NONE | {"Prediction": "b"}], "--columns prediction=Prediction"),
    "scores of some classes": (
        [{"prediction": "b", "p_a": 0.2}],
        "give p_b too, 1 - p_a; to read the classes alone, give --columns prediction=prediction",
    ),
}
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


@pytest.mark.parametrize("name", UNREAD)
def test_both_refuse_what_would_not_be_read(run: Run, name: str) -> None:
    rows, remedy = UNREAD[name]
    lines = written(rows)
    code, out, err = run("stream", *GAMMA, "--classes", "a,b", stdin=lines)
    assert (code, len(out.splitlines())) == (3, len(rows) - 1)
    message = rejected(run, "filter", "in.ndjson", "-o", "out.ndjson", *GAMMA, "--classes", "a,b")
    assert remedy in message
    why = message.removeprefix("classfilter: in.ndjson: the table ")
    assert err.startswith(f"line {len(rows)}: it {why}")


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


@pytest.mark.parametrize("head", [[], [{"p_a": 2.0, "p_b": -1.0}]], ids=["first", "later"])
def test_both_refuse_a_confidence_among_logits(run: Run, head: list[dict[str, Any]]) -> None:
    lines = written([*head, NONE | {"prediction": "b", "confidence": 0.7}])
    options = [*GAMMA, "--classes", "a,b", "--scores", "logits"]
    code, out, err = run("stream", *options, stdin=lines)
    assert (code, len(out.splitlines())) == (3, len(head))
    assert "confidence is 0.7; it must be a probability or a percentage" in err
    message = rejected(run, "filter", "in.ndjson", "-o", "out.ndjson", *options)
    assert "confidence must be a probability or a percentage" in message
