"""The section of a report on events and their cost: its numbers, its points, or no section."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import classfilter as cf
from classfilter.web._event_costs import event_costs_section
from event_effects import suggested, tuned_with

SVG = "{http://www.w3.org/2000/svg}"


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows][1:]


def drawn(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_the_section_has_the_numbers() -> None:
    html = event_costs_section(tuned_with("duration"))
    assert "<h2>Events and the cost of a change</h2>" in html
    assert cells(html) == [
        ["filtered rows, live", "chosen by event_duration", "5 s", "20", "80"],
        ["smoothed rows, offline", "chosen by event_duration", "10 s", "18", "40"],
    ]
    assert "to expect" not in html
    assert 'style="' not in html  # the page's policy forbids it


def test_the_points_are_on_the_curves() -> None:
    picture = drawn(event_costs_section(tuned_with("duration")))
    curves = [path for path in picture.iter(f"{SVG}path") if path.get("stroke-width") == "2"]
    assert len(curves) == 2
    for curve in curves:
        places = [tuple(map(float, at.split())) for at in curve.get("d", "")[1:].split("L")]
        assert len(places) == 5
        across, down = zip(*places, strict=True)
        assert across == tuple(sorted(across))
        assert down == tuple(sorted(down))  # fewer events are lower
        points = [c for c in picture.iter(f"{SVG}circle") if c.get("stroke") == curve.get("stroke")]
        (point,) = points
        assert (float(point.get("cx", "")), float(point.get("cy", ""))) in places


def test_a_suggestion_that_is_not_applied_is_hollow() -> None:
    html = event_costs_section(suggested(10.0, False))
    live, offline = (c for c in drawn(html).iter(f"{SVG}circle") if c.get("stroke"))
    assert live.get("fill") == live.get("stroke")
    assert offline.get("fill") == "none"
    assert "10 s: 18, suggested, not applied" in html
    assert "About 19 events an hour are expected: the dotted line." in html
    assert "The suggestion is not applied: so it is." in html
    assert "Smoothed rows need no cost: so it is." in event_costs_section(suggested(0.0, False))
    applied = event_costs_section(suggested(10.0, True))
    assert "The suggestion is applied: so it is." in applied
    assert 'fill="none" stroke="#E69F00"/>' not in applied


def test_no_section_where_nothing_was_counted() -> None:
    assert event_costs_section(tuned_with("duration").having(event_effect=None)) == ""
    assert event_costs_section(cf.Chain(cf.StickyFilter(2))) == ""
