"""Files of events from JavaScript have the bytes of `cf.write_events`, and refuse what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
import node_cases as node
from classfilter._events._files import FORMATS as ALL_FORMATS
from javascript_messages import sent

FORMATS = {name: one for name, one in ALL_FORMATS.items() if name != "raven"}  # in Python only
ZONES = [None, "UTC", "+02:00", "-09:30", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"]
times = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 60.5, 1e-7, 1e22, 1.7e9, 1714550400.25, 5e-324, 0.0005]),
    st.floats(-1e6, 1e6),
    st.integers(-5, 5).map(lambda n: n / 2000),
    st.floats(allow_nan=False, allow_infinity=False),
)
NUMBERS = ("NaN", "Infinity")  # which come as text
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
names = names.filter(lambda name: name not in NUMBERS)
labels = st.one_of(st.sampled_from(["walk", "sit", "a b", '"x", y', "n/a", "<NA>", "é😀"]), names)
streams = st.one_of(st.sampled_from([None, "ann", "bob", 7, "<v>&"]), names)
OPTIONS: dict[str, dict[str, Any]] = {
    "textgrid": {"tiers": "class", "duration": "1h"},
    "vtt": {"probability": False},
}


@st.composite
def some_events(draw: st.DrawFn) -> list[cf.Event]:
    known = draw(st.lists(streams, min_size=1, max_size=2))
    spans = draw(st.lists(st.tuples(times, times).map(sorted), max_size=6))
    p = st.one_of(st.none(), st.floats(0, 1))
    return [
        cf.Event(draw(st.sampled_from(known)), draw(labels), start, end, draw(p))
        for start, end in spans
    ]


def in_python(
    events: list[cf.Event], path: Path, name: str, options: dict[str, Any], **kind: Any
) -> str | None:
    """Return the text of the file; None where the events are refused."""
    try:
        cf.write_events(cf.Events(events, **kind), path, name, **options)
    except ValueError:
        return None
    return path.read_bytes().decode()


def in_node(events: Any, name: str, **options: Any) -> dict[str, Any]:
    listed = [{key: sent(cell) for key, cell in event._asdict().items()} for event in events]
    case = {"kind": "eventFile", "events": listed, "format": name, "options": options}
    (result,) = node.run([case])
    return result


@given(events=some_events(), name=st.sampled_from(list(FORMATS)), data=st.data())
def test_any_events(
    events: list[cf.Event], name: str, data: st.DataObject, tmp_path_factory: Any
) -> None:
    options: dict[str, Any] = {"overlaps": data.draw(st.booleans())}
    chosen = OPTIONS.get(name, {})
    options |= {key: value for key, value in chosen.items() if data.draw(st.booleans())}
    if FORMATS[name].seconds and data.draw(st.booleans()):
        options["start"] = data.draw(times)
    expected = in_python(events, tmp_path_factory.getbasetemp() / "events", name, options)
    result = in_node(events, name, **options)
    assert result.get("text") == expected, result


NIGHT = [
    cf.Event("ann", "walk", 1714550400.25, 1714550460.5, 0.9),
    cf.Event("ann", 'say "a, b"', 1714550460.5, 1714560460.0, None),
    cf.Event("ann", "walk", 1714560460.0, 1714560460.125, 1 / 3),
]


@pytest.mark.parametrize("name", [*FORMATS, "TextGrid", "VTT"])
def test_each_format(name: str, tmp_path: Path) -> None:
    options = {"start": 1714550400.0} if FORMATS[name.lower()].seconds else {}
    events = [event._replace(label=event.label.replace(" ", "_")) for event in NIGHT]
    for listed in (events, events[:0]):
        more = {"duration": 1e5} if name.lower() == "textgrid" else {}
        expected = in_python(listed, tmp_path / "events", name, options | more)
        assert expected is not None
        assert in_node(listed, name, **options, **more) == {"text": expected}


@pytest.mark.parametrize("zone", ZONES)
def test_dates_are_in_their_zone(zone: str | None, tmp_path: Path) -> None:
    """Summer and winter, the hour that comes twice, before there were zones, and the year 1."""
    seconds = [1714550400.25, 1729990800.0, 1729994400.0, 1e9, 0.1, -1e9, -4e9, -6e10]
    events = [cf.Event(None, f"c{i}", x, x + 0.1, 0.5) for i, x in enumerate(seconds)]
    for name in ("csv", "json"):
        expected = in_python(events, tmp_path / "events", name, {}, dates=True, zone=zone)
        assert expected is not None
        assert in_node(events, name, dates=True, zone=zone) == {"text": expected}


def test_zeros_and_exponents(tmp_path: Path) -> None:
    events = [cf.Event(None, "a", -0.0, 0.0), cf.Event(None, "b", 5e-324, 1e22, 1e-5)]
    for name in ("csv", "txt", "tsv", "json"):
        expected = in_python(events, tmp_path / "events", name, {})
        assert in_node(events, name) == {"text": expected}


def test_dates_from_a_second_zero(tmp_path: Path) -> None:
    options = {"start": 1714550400.0}
    expected = in_python(NIGHT, tmp_path / "events", "txt", options, dates=True, zone="UTC")
    assert in_node(NIGHT, "txt", dates=True, **options) == {"text": expected}


WALK = cf.Event("ann", "walk", 0.5, 1.5, 0.5)
REFUSED: list[tuple[str, list[cf.Event], dict[str, Any]]] = [
    ("xml", [WALK], {}),
    ("csv", [WALK], {"start": 1.5}),
    ("csv", [WALK], {"tiers": "class"}),
    ("vtt", [WALK], {"tiers": "class"}),
    ("csv", [WALK._replace(label=" ")], {}),
    ("csv", [WALK, WALK._replace(end=None)], {}),
    ("csv", [WALK._replace(start=float("nan"))], {}),
    ("csv", [WALK._replace(end=0.25)], {}),
    ("csv", [WALK._replace(probability=1.5)], {}),
    ("csv", [WALK, WALK._replace(start=1.25)], {}),
    ("csv", [WALK._replace(stream=None), WALK._replace(stream=None)], {}),
    ("csv", [WALK._replace(stream="")], {}),
    ("csv", [WALK._replace(stream="7"), WALK._replace(stream=7)], {}),
    ("tsv", [WALK, WALK._replace(stream="bob")], {}),
    ("tsv", [WALK._replace(label="a\tb")], {}),
    ("txt", [WALK._replace(label="a\nb")], {}),
    ("rttm", [WALK._replace(label="a b")], {}),
    ("rttm", [WALK._replace(stream="<NA>")], {}),
    ("vtt", [WALK], {"start": 1.25}),
    ("vtt", [WALK._replace(end=0.5001)], {}),
    ("textgrid", [], {}),
    ("textgrid", [WALK], {"duration": 1.25}),
    ("textgrid", [WALK], {"duration": "soon"}),
    ("textgrid", [WALK], {"tiers": "label"}),
    ("textgrid", [WALK, WALK._replace(stream="bob")], {"tiers": "class"}),
    ("textgrid", [WALK, WALK._replace(start=1.25)], {"overlaps": True}),
    ("textgrid", [WALK._replace(end=0.5)], {}),
]
WORDS = {
    "None": "null", "overlaps=True": "overlaps: true", "give duration=": "give duration",
    "give start=": "give start", "a number, a timedelta, or text": "a number, or text",
    "json, raven and": "json and",
}  # fmt: skip


@pytest.mark.parametrize(("name", "events", "options"), REFUSED)
def test_what_is_refused(
    name: str, events: list[cf.Event], options: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(cf.ArgumentError) as error:
        cf.write_events(events, tmp_path / "events", name, **options)
    expected = str(error.value)
    for python, javascript in WORDS.items():
        expected = expected.replace(python, javascript)
    assert in_node(events, name, **options) == {"message": expected}


def test_dates_and_names_that_no_file_can_hold() -> None:
    zone = 'zone is \'Mars\'; it must be a time zone such as "Europe/Berlin" or "+02:00"'
    assert in_node([WALK], "csv", dates=True, zone="Mars") == {"message": zone}
    text = in_node([WALK], "txt", dates=True)["message"]
    assert text.startswith("start is null, but the times are dates and txt holds seconds; give")
    late = in_node([WALK._replace(end=1e14)], "csv", dates=True)["message"]
    assert late == "time is 100000000000000.0; a date must lie in the years 1 to 9999"
    half = in_node([WALK._replace(label="\ud800")], "csv")["message"]
    assert half == "events have a name with '\\ud800', which is not Unicode"
