"""Each format of events: samples written by hand, and what is written reads back equal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.events import FORMATS
from conftest import rejected

MAY = 1_714_550_400.0  # 2024-05-01T08:00:00Z
EVENTS = [
    cf.Event("ann", "walk", 0.5, 60.5, 0.9),
    cf.Event("ann", "sit", 60.5, 90.0, None),
    cf.Event("ann", "walk", 100.0, 101.25, 1.0),
]
READ = {name: kind for name, kind in FORMATS.items() if kind.read}
GOLDEN = Path(__file__).with_name("golden")
"""EVENTS in each format, written by hand."""


def golden(name: str) -> str:
    return (GOLDEN / f"night{FORMATS[name].suffixes[0]}").read_bytes().decode()


def kept(events: list[cf.Event], name: str) -> list[cf.Event]:
    """Return events without what a format has no place for."""
    places = {"stream": FORMATS[name].streams, "probability": FORMATS[name].probability}
    nothing: Any = dict.fromkeys(what for what, there in places.items() if not there)
    return [e._replace(**nothing) for e in events]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def text(events: Any, name: str, **options: Any) -> str:
        path = tmp_path / f"night.{name}"
        cf.write_events(events, path, **options)
        return path.read_text()

    return text


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def events(text: str, name: str, **options: Any) -> cf.Events:
        path = tmp_path / f"night.{name}"
        path.write_bytes(text.encode())
        return cf.read_events(path, **options)

    return events


def test_every_golden_file_has_a_format() -> None:
    names = {f"night{kind.suffixes[0]}" for kind in FORMATS.values()}
    assert {path.name for path in GOLDEN.iterdir()} == names


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_by_hand(name: str, write: Any, read: Any) -> None:
    assert write(EVENTS, name) == golden(name)
    if name in READ:
        again = read(golden(name), name)
        assert again == kept(EVENTS, name)
        assert not again.dates


@pytest.mark.parametrize("name", [name for name, kind in READ.items() if kind.probability])
def test_a_probability_of_0_is_known(name: str, write: Any, read: Any) -> None:
    assert read(write([("s", "a", 0.0, 1.0, 0.0)], name), name)[0].probability == 0.0


def test_a_mark_of_the_byte_order(read: Any) -> None:
    assert read("\ufeffclass,start,end\né,0,1\n", "csv") == [(None, "é", 0.0, 1.0, None)]


def test_what_other_programs_write(read: Any) -> None:
    audacity = "0.500000\t2.000000\tbat\n\\\t18000.000000\t45000.000000\n2,5\t3\tx\n"
    with rejected("start", cf.RowError, row=1, line=3):
        read(audacity, "txt")
    assert read(audacity[:-8], "txt", stream="roost") == [("roost", "bat", 0.5, 2.0, None)]
    rttm = ";; comment\nSPKR-INFO rec1 1 <NA> <NA> <NA> unknown anna <NA> <NA>\r\n"
    rttm += "SPEAKER rec1 1 5.20 1.03 <NA> <NA> anna <NA> <NA>\r\n"
    assert read(rttm, "rttm") == [("rec1", "anna", 5.2, 6.23, None)]
    bids = "onset\tduration\ttrial_type\tresponse_time\n1.2\t0.6\tgo\t1.435\n5.6\t0\tstop\tn/a\n"
    assert read(bids, "tsv") == [(None, "go", 1.2, 1.8, None), (None, "stop", 5.6, 5.6, None)]
    by_response = read(bids[:-15], "tsv", columns={"class": "response_time"}, stream="sub-01")
    assert by_response == [("sub-01", "1.435", 1.2, 1.8, None)]
    table = 'label,t0,t1\n\'a,1,2\n\n"b ""c""\nd",2,3\n'
    columns = {"class": "label", "start": "t0", "end": "t1"}
    assert [e.label for e in read(table, "csv", columns=columns)] == ["'a", 'b "c"\nd']


SHORT = """File type = "ooTextFile"
"TextGrid"

0 ! from
2.5
<exists>
2
"IntervalTier"
"words"
0
2.5
2
0
1
""
1
2.5
"say ""hi\"\"\"
"TextTier"
"bell"
0
2.5
1
0.75
"ding"
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_textgrids_short_with_points_and_in_utf16(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.TextGrid"
    path.write_bytes(SHORT.encode(encoding))
    words = cf.Event("words", 'say "hi"', 1.0, 2.5, None)
    assert cf.read_events(path) == [words, cf.Event("bell", "ding", 0.75, 0.75, None)]
    by_class = cf.read_events(path, tiers="class")
    assert [e.label for e in by_class] == ["words", "bell"]


def test_textgrid_tiers_of_classes_and_a_longer_duration(write: Any, read: Any) -> None:
    both = [cf.Event(None, "dog", 1.0, 3.0), cf.Event(None, "cat", 2.0, 4.0)]
    text = write(both, "TextGrid", tiers="class", duration="1min")
    assert text.count("xmax = 60.0\n") == 1 + 2 + 2
    assert read(text, "TextGrid", tiers="class") == both
    assert 'name = ""' in write([], "TextGrid", duration=10)
    with rejected("events"):
        write([], "TextGrid")
    with rejected("duration"):
        write(both, "TextGrid", tiers="class", duration=3)


def test_dates_as_given(write: Any, read: Any) -> None:
    events = cf.Events([("a", "walk", MAY, MAY + 60.25, 0.5)], dates=True, zone="Europe/Berlin")
    text = write(events, "csv")
    assert "2024-05-01T10:00:00+02:00,2024-05-01T10:01:00.25+02:00,60.25,0.5" in text
    again = read(text, "csv")
    assert (again, again.dates, again.zone) == (events, True, "+02:00")
    (item,) = json.loads(write(events, "json"))["results"]["a"]
    assert item["segment"] == ["2024-05-01T10:00:00+02:00", "2024-05-01T10:01:00.25+02:00"]
    naive = read(write(cf.Events(events, dates=True), "csv"), "csv")
    assert (naive, naive.dates, naive.zone) == (events, True, None)


@pytest.mark.parametrize("name", [name for name, kind in FORMATS.items() if kind.seconds])
def test_formats_of_seconds_need_the_start_of_dates(name: str, write: Any, read: Any) -> None:
    events = cf.Events([("a", "walk", MAY + 3.3, MAY + 60.1, 0.5)], dates=True)
    with rejected("start") as error:
        write(events, name)
    assert error.value.argument == "start"
    start = "2024-05-01T10:00:00+02:00"
    text = write(events, name, start=start)
    assert "3.3" in text
    if name not in READ:
        return
    again = read(text, name, start=start)
    assert (again, again.dates, again.zone) == (kept(events, name), True, "+02:00")


def test_the_band_of_a_selection_table(write: Any) -> None:
    text = write([("a", "wren", 1.5, 2.0, None)], "raven", low_freq=100.0, high_freq=8000.0)
    assert "\t100\t8000\twren\ta\n" in text
    with rejected("low_freq"):
        write([], "raven", low_freq=9.0, high_freq=8.0)


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
NAMES = NAMES.filter(lambda name: bool(name.strip()))


@st.composite
def lists(draw: st.DrawFn, name: str) -> list[cf.Event]:
    """Draw events that a format can hold; those of a stream follow each other."""
    kind = FORMATS[name]
    forbidden = re.compile(f"[{kind.forbidden}]" if kind.forbidden else "(?!)")
    label = NAMES.map(lambda text: forbidden.sub("", text))
    label = label.filter(lambda text: text.strip() and text != kind.reserved)
    most = 3 if kind.streams else 1
    streams = draw(st.lists(st.none() | label, min_size=1, max_size=most, unique=True))
    micros = st.integers(-(10**15), 10**18).map(lambda n: n / 10**6)
    times = draw(st.sampled_from([micros, st.floats(0, 1e12)]))
    events = []
    for stream in streams:
        edges = sorted(set(draw(st.lists(times, max_size=8))))
        for start, end in zip(edges[::2], edges[1::2], strict=False):
            p = draw(st.none() | st.floats(0, 1))
            events.append(cf.Event(stream, draw(label), start, end, p))
    return events


@pytest.mark.parametrize("name", READ)
@given(data=st.data())
def test_what_is_written_reads_back_equal(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    events = data.draw(lists(name))
    path = tmp_path_factory.mktemp("events") / f"night.{name}"
    options: dict[str, Any] = {"duration": 2e12} if name == "textgrid" else {}
    cf.write_events(events, path, **options)
    again = cf.read_events(path)
    expected = kept(events, name)
    if name == "tsv":
        again, expected = cf.Events(sorted(again, key=in_order)), sorted(expected, key=in_order)
    assert again == expected


def in_order(event: cf.Event) -> tuple[Any, ...]:
    return str(event.stream), event.label, event.start


@given(st.integers(10**12, 8 * 10**15), st.integers(1000, 10**12))
def test_dates_read_back_equal_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, micros: int, length: int
) -> None:
    start, end = micros / 1e6, (micros + length) / 1e6
    events = cf.Events([("a", "walk", start, end, None)], dates=True, zone="America/New_York")
    folder = tmp_path_factory.mktemp("events")
    for name in READ:
        zero: dict[str, Any] = {"start": start - 0.001} if FORMATS[name].seconds else {}
        cf.write_events(events, folder / f"x.{name}", **zero)
        assert cf.read_events(folder / f"x.{name}", **zero) == kept(events, name)


@pytest.mark.parametrize("name", READ)
@given(data=st.data())
def test_any_text_is_events_or_refused(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of a good file, one part is replaced by another text; no other error may come."""
    sample = golden(name)
    at = data.draw(st.integers(0, len(sample)))
    size = data.draw(st.integers(0, 20))
    pieces = [
        st.text(),
        st.sampled_from(['"', "\n", "\t", "nan", "1e999", "<NA>", "-5", "\0"]),
    ]
    broken = sample[:at] + data.draw(st.one_of(pieces)) + sample[at + size :]
    path = tmp_path_factory.mktemp("events") / f"night.{name}"
    path.write_bytes(broken.encode("utf-8", "surrogatepass"))
    try:
        events = cf.read_events(path)
    except cf.ArgumentError:
        return
    assert all(e.label.strip() and e.end is not None and e.start <= e.end for e in events)


def test_formats_are_found_by_suffix_or_by_name(tmp_path: Path) -> None:
    cf.write_events(EVENTS, tmp_path / "a.dat", format="rttm")
    assert cf.read_events(tmp_path / "a.dat", "rttm") == EVENTS
    with rejected("path"):
        cf.read_events(tmp_path / "a.dat")
    with rejected("format"):
        cf.write_events(EVENTS, tmp_path / "a.csv", "srt")
    with rejected("tiers"):
        cf.write_events(EVENTS, tmp_path / "a.csv", tiers="class")
    cf.write_events(cf.Events(EVENTS).to_table("pandas"), tmp_path / "a.csv")
    assert cf.read_events(tmp_path / "a.csv") == EVENTS
    assert cf.Events(EVENTS)[0].stream == "ann"
