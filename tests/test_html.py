"""Results in notebooks: what the tables say, and that text stays text."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import classfilter as cf
from classfilter.compare import Difference, Row
from classfilter.tuning import TuningRecord

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "a & b]]></td>\n<b>",
)
TAGS = {"div", "br", "b", "table", "thead", "tbody", "tr", "th", "td"}


def parse(value: Any) -> Any:
    """Parse the HTML, which is XML too, so that nothing is left open."""
    root = ElementTree.fromstring(value._repr_html_())
    for element in root.iter():
        assert element.tag in TAGS
        assert set(element.attrib) <= {"style"}
    return root


def cells(root: Any) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def lines(root: Any) -> list[str]:
    """Return the text outside of tables."""
    plain = [div for div in root if div.find("table") is None]
    return [text for div in plain for text in div.itertext()]


def recording(classes: Any = ("rest", "move"), names: Any = ("strong", "weak")) -> cf.Rows:
    a, b = names
    probs = [[0.9, 0.1], [0.2, 0.8], [math.nan] * 2, [0.6, 0.4], [0.3, 0.7]]
    return cf.rows(
        time=[0, 5, 10, 15, 20],
        source=[a, b, b, b, a],
        probs=probs,
        classes=classes,
        label=[0, 0, 1, 1, -1],
    )


def test_a_recording_counts_its_predictions() -> None:
    root = parse(recording())
    assert cells(root) == [
        ["class", "truth", "strong", "weak"],
        ["rest", "2", "1", "1"],
        ["move", "2", "1", "1"],
    ]
    assert lines(root) == ["5 rows, times 0 to 20"]


def test_a_recording_without_rows() -> None:
    empty = parse(cf.rows(time=[], source=[], probs=[], classes=["rest", "move"]))
    assert cells(empty) == [["class"], ["rest"], ["move"]]


def tuned(
    explanation: str = "As it is.\nTwo lines.", names: Any = ("strong", "weak")
) -> cf.Pipeline:
    channel = {names[0]: None, names[1]: cf.Channel(np.eye(2) + 1)}
    beta = {names[0]: 1.0, names[1]: 0.125}
    f = cf.DirichletFilter(2)
    record = TuningRecord(names[0], explanation)
    return cf.Pipeline(f, beta=beta, channel=channel, tuning=record)


def test_tuned_settings_are_explained() -> None:
    root = parse(tuned())
    assert lines(root) == ["As it is.", "Two lines."]
    assert cells(root) == [
        ["source", "weight", "channel"],
        ["strong", "1", "no"],
        ["weak", "0.125", "yes"],
    ]


def comparison(names: Any = ("Raw", "Mine", "Late")) -> cf.Comparison:
    differences = [
        Difference(-0.4, -0.5, -0.3, "worse"),
        Difference(0, 0, 0, "best"),
        Difference(-0.1, -0.3, 0.1, "level"),
    ]
    rows = [
        Row(name=name, accuracy=x, switches=i, differences={"accuracy": differences[i]})
        for i, (name, x) in enumerate(zip(names, (0.5, 0.9, 0.8), strict=True))
    ]
    return cf.Comparison(rows=rows, reference=names[0], notes=(f"Reference: {names[0]}.", "More."))


def test_a_comparison_is_its_table() -> None:
    root = parse(comparison())
    assert cells(root) == [
        ["", "accuracy (%)", "to the best", "switches per hour"],
        ["Raw", "50.0", "-40.0\u00a0±\u00a010.0\u00a0worse", "0.0"],
        ["Mine", "90.0", "best", "1.0"],
        ["Late", "80.0", "-10.0\u00a0±\u00a020.0\u00a0level", "2.0"],
    ]
    assert [b.text for b in root.iter("b")] == ["best"]
    assert lines(root) == ["Reference: Raw.", "More."]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_never_markup(name: str) -> None:
    shown = recording([name, "move"], (name, "weak")), tuned(name, (name, "weak"))
    for value in (*shown, comparison((name, "Mine", "Late"))):
        root = parse(value)  # no tag and no attribute but those of the page
        assert name in {"".join(element.itertext()) for element in root.iter()} | {
            cell.removesuffix(" *") for row in cells(root) for cell in row
        }
