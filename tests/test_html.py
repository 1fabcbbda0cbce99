"""Results in notebooks: what the tables say, what the pictures show, and that text stays text."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import classfilter as cf
from classfilter._support import html as _html
from classfilter.evaluation._comparison import Measure, Row

HOSTILE = ("<script>alert(1)</script>", "\"><img src=x onerror='alert(2)'>", "a & b]]></svg>\n<b>")
TAGS = {
    "div", "br", "b", "table", "thead", "tbody", "tr", "th", "td",
    "svg", "path", "circle", "text", "title",
}  # fmt: skip
ATTRIBUTES = {
    "style", "width", "height", "role", "aria-label", "font-family", "font-size", "fill", "d",
    "stroke", "stroke-width", "stroke-dasharray", "opacity", "x", "y", "text-anchor", "cx", "cy",
    "r",
}  # fmt: skip


def parse(value: Any) -> Any:
    """Parse the HTML, which is XML too, so that nothing is left open."""
    root = ElementTree.fromstring(value._repr_html_())
    for element in root.iter():
        element.tag = element.tag.removeprefix("{http://www.w3.org/2000/svg}")
        assert element.tag in TAGS
        assert set(element.attrib) <= ATTRIBUTES
    return root


def cells(root: Any) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def lines(root: Any) -> list[str]:
    """Return the text outside of tables and pictures."""
    plain = [div for div in root if div.find("table") is None and div.find("svg") is None]
    return [text for div in plain for text in div.itertext()]


def recording(classes: Any = ("rest", "move"), names: Any = ("strong", "weak")) -> cf.Recording:
    a, b = names
    probs = [[0.9, 0.1], [0.2, 0.8], [math.nan] * 2, [0.6, 0.4], [0.3, 0.7]]
    return cf.Recording([0, 5, 10, 15, 20], [a, b, b, b, a], probs, classes, [0, 0, 1, 1, -1])


def test_a_recording_counts_its_predictions() -> None:
    root = parse(recording())
    assert cells(root) == [
        ["class", "truth", "strong", "weak"],
        ["rest", "2", "1", "1"],
        ["move", "2", "1", "1"],
    ]
    assert lines(root) == [
        "5 rows, times 0 to 20",
        "Lanes in each class, from the top: truth, strong, weak.",
    ]


def bands(root: Any) -> dict[str, list[tuple[float, float, float]]]:
    """Return the bands of each colour: y, start and end as a share of the width."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for path in root.iter("path"):
        if "stroke-width" in path.attrib:
            for x, y, width in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)", path.attrib["d"]):
                start = (float(x) - _html.MARGIN) / _html.WIDTH
                band = float(y), start, start + float(width) / _html.WIDTH
                found.setdefault(path.attrib["stroke"], []).append(band)
    return found


def test_a_timeline_has_a_row_per_class_and_a_lane_per_source() -> None:
    truth, strong, weak = bands(parse(recording())).values()
    by_hand = [
        (truth, [(0, 0.0, 0.4), (1, 0.4, 0.8)]),
        (strong, [(0, 0.0, 0.2), (1, 0.8, 1.0)]),
        (weak, [(0, 0.6, 0.8), (1, 0.2, 0.4)]),
    ]
    height = _html.LANE * 3 + 8
    for lane, (got, expected) in enumerate(by_hand):
        for (y, start, end), (k, first, last) in zip(got, expected, strict=True):
            assert y == pytest.approx(k * height + 4 + _html.LANE * (lane + 0.5), abs=0.1)
            assert (start, end) == pytest.approx((first, last), abs=1e-3)


def test_a_long_timeline_stays_small_and_shows_the_most_frequent_class() -> None:
    T = 30_000
    probs = np.eye(3)[np.where(np.arange(T) % 3 > 0, 1, 2)]
    rec = cf.Recording(np.arange(T), "weak", probs, 3)
    assert len(rec._repr_html_()) < 4000
    (only,) = bands(parse(rec)).values()
    assert [(start, end) for _, start, end in only] == [(0.0, 1.0)]


def test_recordings_without_rows_or_with_one() -> None:
    empty = parse(cf.Recording([], [], [], ["rest", "move"]))
    assert cells(empty) == [["class"], ["rest"], ["move"]]
    assert empty.find(".//svg") is None
    (band,) = bands(parse(cf.Recording([7], "weak", [[0.9, 0.1]], 2)))["#0072B2"]
    assert band[1:] == (0.0, 1.0)


def tuned(explanation: str = "As it is.\nTwo lines.", names: Any = ("strong", "weak")) -> cf.Tuned:
    channel = {names[0]: None, names[1]: cf.Channel(np.eye(2) + 1)}
    beta = {names[0]: 1.0, names[1]: 0.125}
    f = cf.DirichletFilter(2)
    return cf.Tuned(f, beta=beta, channel=channel, reference=names[0], explanation=explanation)


def test_tuned_settings_are_explained() -> None:
    root = parse(tuned())
    assert lines(root) == ["As it is.", "Two lines."]
    assert cells(root) == [
        ["source", "weight", "channel"],
        ["strong", "1", "no"],
        ["weak", "0.125", "yes"],
    ]


def comparison(names: Any = ("Raw", "Mine", "Late")) -> cf.Comparison:
    accuracy = [Measure(0.5, 0.4, 0.6), Measure(0.9, 0.85, 0.95), Measure(0.8, 0.8, 0.8)]
    rows = [
        Row(name, i == 2, {"accuracy": accuracy[i], "switches": Measure(i, math.nan, math.nan)})
        for i, name in enumerate(names)
    ]
    return cf.Comparison(rows, 3, 120, names[0], 7.0)


def test_a_comparison_is_its_table_with_intervals() -> None:
    result = comparison()
    root = parse(result)
    assert cells(root) == [
        ["", "accuracy", "accuracy, %", "switches per hour"],
        ["Raw", "", "50.0 ± 10.0", "0.0"],
        ["Mine", "", "90.0 ± 5.0", "1.0"],
        ["Late *", "", "80.0 ± 0.0", "2.0"],
    ]
    assert [b.text for b in root.iter("b")] == ["90.0 ± 5.0", "80.0 ± 0.0"]
    assert lines(root) == [*str(result).split("\n\n")[1].split("\n"), "Bold: the best of its kind."]
    at = [float(circle.attrib["cx"]) for circle in root.iter("circle")]
    assert at == pytest.approx([5 + 110 * (x - 0.4) / 0.55 for x in (0.5, 0.9, 0.8)], abs=0.06)
    spans = [re.findall(r"[\d.]+", path.attrib["d"]) for path in root.iter("path")]
    assert float(spans[0][0]) == 5.0
    assert float(spans[1][2]) == 115.0


def test_a_comparison_without_values_has_no_picture() -> None:
    nothing = Measure(math.nan, math.nan, math.nan)
    root = parse(cf.Comparison([Row("Raw", False, {"accuracy": nothing})], 1, 0, "a", math.nan))
    assert root.find(".//svg") is None
    assert cells(root)[1] == ["Raw", "", "nan"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_never_markup(name: str) -> None:
    shown = recording([name, "move"], (name, "weak")), tuned(name, (name, "weak"))
    for value in (*shown, comparison((name, "Mine", "Late"))):
        root = parse(value)  # no tag and no attribute but those of the page
        assert name in {"".join(element.itertext()) for element in root.iter()} | {
            cell.removesuffix(" *") for row in cells(root) for cell in row
        }
    picture = next(parse(shown[0]).iter("svg"))
    assert name in {title.text for title in picture.iter("title")} | {
        element.text for element in picture.iter("text")
    }
