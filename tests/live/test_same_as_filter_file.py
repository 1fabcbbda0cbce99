"""The same lines through ``classfilter stream`` and ``classfilter filter``: the same results."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import classfilter as cf
from ndjson_lines import as_line, serve_here

A, B = {"p_a": 0.8, "p_b": 0.2}, {"p_a": 0.3, "p_b": 0.7}
NONE: dict[str, Any] = {"p_a": None, "p_b": None}
CLASSES = ("a", "b")

AGREED: dict[str, list[dict[str, Any]]] = {
    "a label where there are no probabilities": [A, {"prediction": "b"}, {"prediction": "b"}, B],
    "a label beside nulls": [A, NONE | {"prediction": "b", "confidence": 0.8}, NONE, B],
    "a label beside probabilities": [A | {"prediction": "b"}, B | {"prediction": "nonsense"}],
    "a label in the first line": [{"prediction": "a", "confidence": 0.7}, A, B],
    "labels without confidence": [
        {"prediction": "a", "confidence": 0.9},
        {"prediction": "b", "confidence": None},
        {"prediction": "b"},
    ],
    "1 and 1.0": [A | {"stream": 1}, B | {"stream": 1.0}, B | {"stream": 2.5}, A | {"stream": 1}],
    "labels by number": [{"prediction": 0}, {"prediction": 1}, {"prediction": -1}],
    "labels by name": [{"prediction": "a"}, {"prediction": None}, {"prediction": "b"}],
    "1 and '1'": [A | {"stream": 1}, A | {"stream": "1"}, B | {"stream": "01"}, B | {"stream": 1}],
    "a tie": [{"p_b": 0.5, "p_a": 0.5}, {"p_b": 0.4, "p_a": 0.6}, {"p_b": 0.6, "p_a": 0.4}],
    "missing rows": [A, NONE, B],
    "equal rows": [A, A, A],
    "sources": [A | {"source": "weak"}, B | {"source": "strong"}, B | {"source": "weak"}],
    "other keys": [A, A, B | {"note": "x"}],
    "earlier results": [A | {"f_a": 0.1, "f_b": 0.9, "class": "b"}] * 2,
    "rounded probabilities": [{"p_a": 0.85, "p_b": 0.2}, {"p_a": 1, "p_b": -0.0}],
}
DIFFER: dict[str, list[dict[str, Any]]] = {
    "no stream beside others": [A | {"stream": "x"}, B],
    "no source beside others": [A | {"source": "weak"}, B],
    "no prediction": [A, {"note": "x"}],
}
"""The keys that a line leaves out; a file has columns for all rows. See docs/differences.md."""


def lines_of(rows: list[dict[str, Any]]) -> list[bytes]:
    return [as_line({"time": 5 * n} | row) for n, row in enumerate(rows)]


def new_filter(classes: Any) -> cf.DirichletFilter:
    return cf.DirichletFilter(classes, half_life=60.0)


def by_file(lines: list[bytes], classes: Any, folder: Path) -> list[bytes]:
    (folder / "in.ndjson").write_bytes(b"".join(lines))
    cf.filter_file(folder / "in.ndjson", folder / "out.ndjson", new_filter(classes))
    return (folder / "out.ndjson").read_bytes().splitlines()


def results(lines: list[bytes]) -> list[dict[str, Any]]:
    rows = map(json.loads, lines)
    return [{k: x for k, x in row.items() if k.startswith("f_") or k == "class"} for row in rows]


@pytest.mark.parametrize("classes", [CLASSES, CLASSES[::-1]], ids=str)
@pytest.mark.parametrize("name", AGREED)
def test_they_agree(name: str, classes: tuple[str, ...], tmp_path: Path) -> None:
    lines = lines_of(AGREED[name])
    live = serve_here(lines, make_filter=lambda _: new_filter(classes), classes=classes)
    assert results(live) == results(by_file(lines, classes, tmp_path))
    assert len(live) == len(lines)


@pytest.mark.parametrize("name", ["no stream beside others", "no source beside others"])
def test_lines_take_what_a_file_refuses(name: str, tmp_path: Path) -> None:
    lines = lines_of(DIFFER[name])
    assert len(serve_here(lines, make_filter=new_filter, classes=CLASSES)) == len(lines)
    with pytest.raises(cf.RowError, match=r"in row 1 .* is None; .*fill it in"):
        by_file(lines, CLASSES, tmp_path)


def test_a_file_takes_what_lines_refuse(tmp_path: Path) -> None:
    """A line without a prediction, which is a missing one in a file."""
    lines, errors = lines_of(DIFFER["no prediction"]), StringIO()
    live = serve_here(lines, make_filter=new_filter, classes=CLASSES, errors=errors)
    assert len(live) == 1
    assert "has 0 keys p_<class>; give ['p_a', 'p_b']" in errors.getvalue()
    assert len(by_file(lines, CLASSES, tmp_path)) == 2
