"""Files of events from JavaScript: what Python reads from CSV, and the values of its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
import node_cases as node
from node_cases import sent

times = st.one_of(
    st.sampled_from([0.0, 0.1, 60.5, 1e-7, 1.7e9, 1714550400.25]), st.floats(-1e6, 1e6)
)
labels = st.sampled_from(["walk", "a b", '"x", y', "line\nend", "é😀", "__proto__"])
streams = st.sampled_from(["ann", "bob, 2", "__proto__", "007"])


@st.composite
def some_events(draw: st.DrawFn) -> list[cf.Event]:
    spans = draw(st.lists(st.tuples(times, times).map(sorted), max_size=6))
    p = st.one_of(st.none(), st.floats(0, 1))
    return [cf.Event(draw(streams), draw(labels), start, end, draw(p)) for start, end in spans]


def in_node(events: Any, name: str, **options: Any) -> dict[str, Any]:
    listed = [{key: sent(cell) for key, cell in event._asdict().items()} for event in events]
    case = {"kind": "eventFile", "events": listed, "format": name, "options": options}
    (result,) = node.run([case])
    return result


@given(events=some_events())
def test_python_reads_the_csv(events: list[cf.Event], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "events.csv"
    result = in_node(events, "csv", overlaps=True)
    path.write_text(result["text"], "utf-8", newline="")
    assert list(cf.read_events(path, overlaps=True)) == events


def test_json_has_the_values_of_python(tmp_path: Path) -> None:
    events = [
        cf.Event("ann", "walk", 0.5, 1.5, 0.25),
        cf.Event("__proto__", 'a "b"', 1e-7, 3.0),
        cf.Event("ann", "sit", 1.5, 2.0, 1.0),
    ]
    cf.write_events(events, tmp_path / "events.json")
    expected = json.loads((tmp_path / "events.json").read_text("utf-8"))
    assert json.loads(in_node(events, "json")["text"]) == expected


def test_dates_are_utc(tmp_path: Path) -> None:
    events = [cf.Event("ann", "walk", 1714550400.25, 1714550460.5, 0.5)]
    (tmp_path / "events.csv").write_text(in_node(events, "csv", dates=True)["text"])
    read = cf.read_events(tmp_path / "events.csv")
    assert list(read) == events
    assert read.dates
    text = in_node(events, "json", dates=True)["text"]
    assert "2024-05-01T08:00:00.250Z" in text


WALK = cf.Event("ann", "walk", 0.5, 1.5, 0.5)


@pytest.mark.parametrize(
    ("events", "options", "words"),
    [
        ([WALK], {"zone": "UTC"}, "unknown option zone"),
        ([WALK._replace(label=" ")], {}, 'label in row 0 is " "'),
        ([WALK, WALK._replace(end=None)], {}, "end in row 1 is null"),
        ([WALK._replace(start=float("nan"))], {}, "start in row 0 is NaN"),
        ([WALK._replace(end=0.25)], {}, "end in row 0 is 0.25"),
        ([WALK._replace(probability=1.5)], {}, "probability in row 0 is 1.5"),
        ([WALK, WALK._replace(start=1.25)], {}, "start in row 1 is 1.25"),
        ([WALK._replace(stream="")], {}, 'stream in row 0 is ""'),
        ([WALK._replace(stream="7"), WALK._replace(stream=7)], {}, "stream in row 1 is 7"),
        ([WALK._replace(end=1e14)], {"dates": True}, "time is 100000000000000"),
    ],
)
def test_what_is_rejected(events: Any, options: dict[str, Any], words: str) -> None:
    assert in_node(events, "csv", **options)["message"].startswith(words)
    assert in_node([WALK], "rttm")["message"].startswith('format is "rttm"')
