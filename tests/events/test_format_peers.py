"""Files of events, read by other people's readers, and theirs by ours.

`pip install pandas praatio textgrid praat-parselmouth webvtt-py mne pyannote.database` has all of
them; a test is left out where its reader is not installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf

pytestmark = pytest.mark.slow

EVENTS = [
    cf.Event("ann", "walk", 0.5, 60.125, 0.9),
    cf.Event("ann", 'sit "down"', 60.125, 90.0, None),
    cf.Event("ann", "R&B <3 é", 100.0, 101.25, 1.0),
]
RANDOM = np.sort(np.random.default_rng(3).uniform(0, 1e4, 40)).reshape(-1, 2).tolist()
SPANS = [cf.Event("ann", f"c{i % 3}", a, b, 0.5) for i, (a, b) in enumerate(RANDOM)]


def peer(name: str, package: str) -> Any:
    return pytest.importorskip(name, reason=f"pip install {package}: another reader of the format")


def spans(events: list[cf.Event]) -> list[tuple[Any, ...]]:
    return [(e.start, e.end, e.label) for e in events]


def times(events: list[cf.Event]) -> Any:
    return np.array([e[2:4] for e in events], float)


@pytest.mark.parametrize("events", [EVENTS, SPANS], ids=["names", "numbers"])
def test_textgrid_by_three_readers(events: list[cf.Event], tmp_path: Path) -> None:
    path = str(tmp_path / "a.TextGrid")
    cf.write_events(events, path, duration=20_000)
    praat = peer("parselmouth", "praat-parselmouth")
    grid = praat.Data.read(path)
    table = praat.praat.call(grid, "Down to Table", False, 17, True, False)
    lines = praat.praat.call(table, "List", False).split("\n")[1:]
    fields = [line.split("\t") for line in lines if line]
    read = [(float(r[0]), float(r[3])) for r in fields]
    assert np.allclose(read, times(events), rtol=0, atol=1e-12)
    assert [r[2] for r in fields] == [e.label for e in events]
    assert {r[1] for r in fields} == {"ann"}
    for kind in ("Save as text file", "Save as short text file"):
        praat.praat.call(grid, f"{kind}...", str(tmp_path / "b.TextGrid"))
        again = cf.read_events(tmp_path / "b.TextGrid")
        assert spans(again) == spans(events)
    praatio = peer("praatio.textgrid", "praatio").openTextgrid(path, includeEmptyIntervals=False)
    assert [tuple(x) for x in praatio.getTier("ann").entries] == spans(events)
    other = peer("textgrid", "textgrid").TextGrid.fromFile(path)
    marked = [(float(x.minTime), float(x.maxTime), x.mark) for x in other[0] if x.mark]
    assert [row[2] for row in marked] == [e.label for e in events]
    assert np.allclose([row[:2] for row in marked], times(events), rtol=0, atol=6e-6)
    assert float(other.maxTime) == 20_000


def test_rttm_by_pyannote(tmp_path: Path) -> None:
    load_rttm = peer("pyannote.database.util", "pyannote.database").load_rttm
    cf.write_events(SPANS, tmp_path / "a.rttm")
    annotation = load_rttm(str(tmp_path / "a.rttm"))["ann"]
    tracks = [(s.start, s.end, label) for s, _, label in annotation.itertracks(yield_label=True)]
    for got, wanted in zip(tracks, spans(SPANS), strict=True):
        assert got == (pytest.approx(wanted[0]), pytest.approx(wanted[1]), wanted[2])
    with (tmp_path / "b.rttm").open("w") as file:
        annotation.write_rttm(file)
    again = cf.read_events(tmp_path / "b.rttm")  # pyannote writes milliseconds
    assert [e.label for e in again] == [e.label for e in SPANS]
    assert np.allclose(times(again), times(SPANS), rtol=0, atol=1.1e-3)


@pytest.mark.parametrize("events", [EVENTS, SPANS], ids=["names", "numbers"])
def test_webvtt_by_webvtt_py(events: list[cf.Event], tmp_path: Path) -> None:
    webvtt = peer("webvtt", "webvtt-py")
    cf.write_events(events, tmp_path / "a.vtt", probability=False)
    cues = list(webvtt.read(str(tmp_path / "a.vtt")))
    assert [cue.voice for cue in cues] == ["ann"] * len(events)
    read = [(cue.start_in_seconds, cue.end_in_seconds) for cue in cues]
    assert np.allclose(read, times(events), rtol=0, atol=1.0)


def test_mne_annotations_as_in_the_recipe(tmp_path: Path) -> None:
    mne = peer("mne", "mne")
    start, length, label = zip(*((e.start, e.duration, e.label) for e in SPANS), strict=True)
    annotations = mne.Annotations(onset=start, duration=length, description=label)
    assert annotations.description.tolist() == [e.label for e in SPANS]
    assert np.allclose(annotations.onset, [e.start for e in SPANS], rtol=0, atol=1e-9)
    annotations.save(tmp_path / "a.csv", overwrite=True)
    columns = {"class": "description", "start": "onset"}
    again = cf.read_events(tmp_path / "a.csv", columns=columns)
    assert again.dates  # MNE writes dates
    assert [e.label for e in again] == [e.label for e in SPANS]
