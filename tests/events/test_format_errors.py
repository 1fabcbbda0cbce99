"""Files and lists that are no events: an error with the place and what to do, and no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import classfilter as cf
from classfilter.events.files import FORMATS, READ

GOOD = cf.Event("ann", "walk", 0.0, 1.0, 0.5)
TEXTGRID = '"ooTextFile"\n"TextGrid"\n0\n9\n<exists>\n1\n"IntervalTier"\n"a"\n0\n9\n'

FILES = [
    ("csv", "class,start\na,1\n", "has no column end"),
    ("csv", "class,start,end,end\na,1,2,3\n", "each column must have a name of its own"),
    ("csv", "class,start,end\na,1,2\nb,1\n", "row 1 (line 3) has 2 fields, but the header 3"),
    ("csv", "class,start,end\na,1,2\nb,x,2\n", "column start in row 1 (line 3) is 'x'"),
    ("csv", "class,start,end\na,2,1\n", "end in row 0 (line 2) is 1.0, before the start, 2.0"),
    ("csv", "class,start,end\na,1,\n", "end in row 0 (line 2) is None: the event is provisional"),
    ("csv", "class,start,end\n,1,2\n", "column class in row 0 (line 2) is ''; every event"),
    ("csv", "class,start,end\n' ',1,2\n ,1,2\n", "label in row 1 (line 3) is ' '"),
    ("csv", 'class,start,end\n"a\nb",1,2\nc,inf,2\n', "column start in row 1 (line 4) is 'inf'"),
    ("csv", "class,start,end,probability\na,1,2,1.5\n", "probability in row 0 (line 2) is 1.5"),
    ("csv", "class,start,end\na,1,5\nb,2,3\na,4,6\n",
     "start in row 2 (line 4) is 4.0, but row 0, also of class 'a', ends at 5.0; merge them"),
    ("csv", "stream,class,start,end\ns,a,4,6\ns,a,1,5\n", "also of class 'a' of 's', ends at 5.0"),
    ("csv", "class,start,end\na,2024-05-01,7\n", "either all numbers or all dates"),
    ("csv", "", "has no column class"),
    ("tsv", "onset\tduration\ttrial_type\n1\tn/a\tgo\n", "duration in row 0 (line 2) is 'n/a'"),
    ("tsv", "onset\tduration\ttrial_type\n1\t2\tn/a\n", "every event needs a class"),
    ("tsv", "onset\tduration\ttrial_type\n1\t-2\tgo\n", "end in row 0 (line 2) is -1.0, before"),
    ("tsv", "onset\tduration\n1\t2\n", "has no column class"),
    ("txt", "1.0\twalk\n", "row 0 (line 1) is '1.0\\twalk'; it must have a start, an end and a"),
    ("txt", "\n0\t1\t\n", "(line 2)"),
    ("txt", "0\t0x1\ta\n", "end in row 0 (line 1) is '0x1'; it must be a number of seconds"),
    ("rttm", "SPEAKER a 1 0 1 <NA> <NA> b\n", "has 8 fields"),
    ("rttm", "SPEAKER a 1 x 1 <NA> <NA> b <NA> <NA>\n", "onset in row 0 (line 1) is 'x'"),
    ("rttm", "SPEAKER a 1 0 1 <NA> <NA> <NA> <NA> <NA>\n", "every event needs a class"),
    ("rttm", "SPEAKER a 1 0 1 <NA> <NA> b high <NA>\n", "probability in row 0 (line 1) is 'high'"),
    ("rttm", "LEXEME a 1 0 1 the lex b 0.5 <NA>\n", "has no line SPEAKER, only ['LEXEME']"),
    ("TextGrid", '"ooTextFile"\n"TextGrid"\n0\n9\n<exists>\n1e999', "must be a number of tiers"),
    ("TextGrid", "hello", "ends too early; here must be a text in quotes"),
    ("TextGrid", "ooBinaryFile\x08", "is a binary TextGrid; save it as text in Praat"),
    ("TextGrid", '"ooTextFile" "Sound"', "is not a TextGrid"),
    ("TextGrid", TEXTGRID + '2\n0\n1\n"x"\n', "the file (line 14) ends too early"),
    ("TextGrid", TEXTGRID + '1\n0\n"x"\n', "(line 13) has 'x'; here must be a number"),
    ("TextGrid", TEXTGRID + '1\n0\n1\n"x\n', "has a quote that does not end"),
    ("TextGrid", TEXTGRID + '1.5\n0\n1\n"x"\n', "has 1.5; here must be a number of tiers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "message"), FILES)
def test_files_that_are_no_events(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / f"night.{name}"
    path.write_text(text)
    with pytest.raises(cf.ArgumentError) as error:
        cf.read_events(path)
    assert message in str(error.value)


def test_overlaps_can_be_allowed(tmp_path: Path) -> None:
    both = [GOOD, GOOD._replace(start=0.5, end=2.0)]
    path = tmp_path / "night.rttm"
    with pytest.raises(cf.RowError, match="also of class 'walk' of 'ann', ends at 1"):
        cf.write_events(both, path)
    assert not path.exists()
    cf.write_events(both, path, overlaps=True)
    with pytest.raises(cf.RowError, match=r"row 1 \(line 2\) is 0\.5"):
        cf.read_events(path)
    assert cf.read_events(path, overlaps=True) == both


def test_an_event_within_another_does_not_hide_its_end(tmp_path: Path) -> None:
    rows = [(None, "a", 0.0, 9.0), (None, "a", 2.0, 3.0), (None, "a", 4.0, 5.0)]
    with pytest.raises(cf.RowError, match=r"start in row 1 is 2\.0, but row 0"):
        cf.write_events(rows, tmp_path / "x.csv")


def test_events_that_touch_are_no_overlap(tmp_path: Path) -> None:
    rows = [(None, "a", 1.0, 2.0), (None, "a", 0.0, 1.0), ("s", "a", 0.5, 1.5)]
    cf.write_events(rows, tmp_path / "x.csv")
    assert len(cf.read_events(tmp_path / "x.csv")) == 3


LISTS: list[tuple[str, list[Any], str]] = [
    ("csv", [GOOD._replace(end=None)], "provisional; leave it out until it is confirmed"),
    ("csv", [GOOD._replace(label="")], "label in row 0 is ''"),
    ("csv", [GOOD._replace(label="a\0")], "label in row 0 is 'a\\x00'"),
    ("csv", [("ann", 3, 0.0, 1.0)], "label in row 0 is 3; it must be text"),
    ("csv", [GOOD._replace(start=float("nan"))], "start in row 0 is nan"),
    ("csv", [GOOD, GOOD._replace(end=-1.0)], "end in row 1 is -1.0, before the start, 0.0"),
    ("csv", [GOOD._replace(probability=2)], "probability in row 0 is 2"),
    ("csv", [GOOD._replace(stream="")], "stream in row 0 is ''"),
    ("csv", [GOOD._replace(stream=7), GOOD._replace(stream="7")], "rename one of them"),
    ("csv", [GOOD._replace(label="\ud800")], "not Unicode"),
    ("tsv", [GOOD, GOOD._replace(stream="bob")], "have 2 streams; BIDS events.tsv has no place"),
    ("txt", [GOOD, GOOD._replace(stream="bob")], "write each stream to a file of its own"),
    ("tsv", [GOOD._replace(label="n/a")], "label in row 0 is 'n/a'; BIDS events.tsv cannot hold"),
    ("tsv", [GOOD._replace(label="a\tb")], "cannot hold tabs"),
    ("txt", [GOOD._replace(label="a\nb")], "cannot hold tabs or line breaks: rename it"),
    ("raven", [GOOD, GOOD._replace(stream="bob")], "have 2 streams; a selection table has no"),
    ("raven", [GOOD._replace(label="nocall")], "label in row 0 is 'nocall'; a selection table"),
    ("rttm", [GOOD._replace(label="a b")], "RTTM cannot hold spaces"),
    ("rttm", [GOOD._replace(stream="<NA>")], "stream in row 0 is '<NA>'"),
    ("vtt", [GOOD._replace(label="a\nb")], "WebVTT cannot hold line breaks"),
    ("vtt", [GOOD._replace(start=-1.0)], "has no negative times: give start="),
    ("vtt", [GOOD._replace(end=0.0004)], "a cue of WebVTT must last for a millisecond"),
    ("TextGrid", [GOOD, GOOD._replace(start=2.0, end=2.0)], "an interval must have a length"),
]


@pytest.mark.parametrize(("name", "events", "message"), LISTS)
def test_lists_that_a_format_cannot_hold(
    name: str, events: list[Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"night.{name}"
    path.write_text("before")
    with pytest.raises(cf.ArgumentError) as error:
        cf.write_events(events, path)
    assert message in str(error.value)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", FORMATS)
def test_no_events_are_a_file_too(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"night.{name}"
    options: dict[str, Any] = {"duration": 1} if name == "textgrid" else {}
    cf.write_events([], path, **options)
    assert path.exists()
    if name in READ:
        assert cf.read_events(path) == []
