"""The data sets of the experiments: the split, the chained streams, Capture-24's files."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from experiments.signals import RATE, STEP, Signals, folds
from hypothesis import given
from hypothesis import strategies as st

import synthetic_datasets
from experiments import capture24, wisdm


@given(st.integers(2, 60), st.data())
def test_everybody_is_tested_once(people: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(2, people))
    names = tuple(f"P{i:03}" for i in range(people))
    result = folds(names, count)
    assert len(result) == count
    assert Counter(name for _, _, tested in result for name in tested) == Counter(names)
    for parts in result:
        assert sorted(name for part in parts for name in part) == sorted(names)
    sizes = [len(tested) for _, _, tested in result]
    assert sizes == sorted(sizes)
    assert sizes[-1] - sizes[0] <= 1


def test_six_folds_test_as_many_as_the_paper() -> None:
    train, held_out, tested = folds(tuple(f"P{i:03}" for i in range(151)), 6)[0]
    assert (len(tested), len(train) + len(held_out)) == (25, 126)
    with pytest.raises(ValueError, match="folds is 3; it must be 2 to 2"):
        folds(("a", "b"), 3)


def test_steps_end_every_5_s_with_the_class_of_their_last_sample() -> None:
    y = np.ones(2 * STEP + 30, np.int8)
    y[[STEP - 1, 2 * STEP - 2, 2 * STEP]] = 0
    X = np.zeros((len(y), 3), np.int16)
    signals = Signals.joined({"a": (X[:50], y[:50]), "b": (X, y)}, ("rest", "move"))
    steps = signals.steps(("b", "a"))
    assert steps.end.tolist() == [50 + STEP, 50 + 2 * STEP]
    assert steps.first.tolist() == [50, 50]
    assert steps.label.tolist() == [0, 1]
    assert steps.counts.tolist() == [2, 0]


def test_thinned_steps_are_spread_evenly() -> None:
    X, y = np.zeros((10 * STEP, 3), np.int16), np.zeros(10 * STEP, np.int8)
    steps = Signals.joined({"a": (X[: 3 * STEP], y[: 3 * STEP]), "b": (X, y)}, ("rest",)).steps(
        ("a", "b")
    )
    assert steps.thinned(13).end.tolist() == steps.end.tolist()
    few = steps.thinned(5)
    assert few.end.tolist() == steps.end[::3].tolist()
    assert few.first.tolist() == steps.first[::3].tolist()
    assert (few.counts.tolist(), len(few.label)) == ([1, 4], 5)


def test_chained_streams_hold_a_persons_own_pieces(tmp_path: Path) -> None:
    signals = wisdm.load(synthetic_datasets.wisdm(tmp_path, people=2))
    assert signals.classes[signals.y[0]] == "walking"
    assert signals.classes[signals.y[-1]] == "kicking"
    result = wisdm.chained(signals, 4000, seed=3)
    for name in signals.names:
        X, y = signals.part(name)
        chained, label = result.part(name)
        assert len(chained) == 4000 * RATE
        rows = {(*x, k) for x, k in zip(X.tolist(), y.tolist(), strict=True)}
        assert {(*x, k) for x, k in zip(chained.tolist(), label.tolist(), strict=True)} <= rows
        edges = np.flatnonzero(np.diff(label)) + 1
        dwell = np.diff(edges) / RATE
        assert len(edges) > 4
        assert dwell.min() >= wisdm.SHORTEST
        assert dwell.max() <= wisdm.LONGEST
    assert (wisdm.chained(signals, 4000, seed=3).X == result.X).all()
    assert (wisdm.chained(signals, 4000, seed=4).X != result.X).any()


def test_chained_streams_do_not_repeat_with_a_fixed_period() -> None:
    n = 120 * RATE  # two pieces of two minutes, each sample with a number
    X = np.arange(2 * n, dtype=np.int16)[:, None].repeat(3, axis=1)
    signals = Signals.joined({"a": (X, np.repeat([0, 1], n).astype(np.int8))}, ("rest", "walk"))
    number = wisdm.chained(signals, 7200, seed=1).X[:, 0].astype(int)
    jumps = np.flatnonzero(np.diff(number) != 1) + 1
    lengths = np.diff(jumps) / RATE
    assert lengths.max() <= 90
    assert np.median(lengths) > 20  # an activity may end within a stretch
    for lag in range(60 * RATE, 600 * RATE, RATE):
        assert (number[lag:] == number[:-lag]).mean() < 0.2


def capture_file(folder: Path, lines: list[str]) -> Path:
    path = folder / "P001.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n".join(["time,x,y,z,annotation", *lines]))
    return path


def row(ms: int, x: float, text: str = "walking;MET 3.5") -> str:
    return f"2016-11-13 02:18:{ms // 1000:02}.{ms % 1000:03}000,{x},0.5,-1.0,{text}"


def test_capture24_drops_broken_rows(tmp_path: Path) -> None:
    synthetic_datasets.dictionary(tmp_path)
    codes = capture24.dictionary(tmp_path / capture24.DICTIONARY)
    walking = capture24.CLASSES.index("walking")
    lines = [
        row(0, 0.1), row(10, 0.3), row(20, 0.2, ""),  # the last one has no annotation
        "not a time,1,2,3,walking;MET 3.5", row(30, float("nan")), "2016-11-13 02:18:00.045,7",
        row(50, 0.4),
        row(200, 0.6, "dancing"),
        row(100, 9.0),  # back in time
        row(250, 0.8), row(260, 1.0),
    ]  # fmt: skip
    X, y, count = capture24.person(capture_file(tmp_path, lines), codes)
    assert X[:, 0].tolist() == [200, 400, 400, 400, 600, 900]
    assert y.tolist() == [-1, walking, -1, -1, -1, walking]
    expected = {"rows": 11, "broken": 4, "unknown": 1, "missing": 2, "samples": 6}
    assert count == expected


def test_capture24_errors(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no P001\.csv\.gz"):
        capture24.prepare(tmp_path, tmp_path / "prepared")
    path = capture_file(tmp_path, ["a,b,c,d,e"])
    with pytest.raises(SystemExit, match="it is part of Capture-24"):
        capture24.prepare(tmp_path, tmp_path / "prepared")
    synthetic_datasets.dictionary(tmp_path)
    with pytest.raises(ValueError, match="has no row that can be read"):
        capture24.prepare(tmp_path, tmp_path / "prepared")
    capture_file(tmp_path, [row(0, 1.0), row(0, 1.0).replace("11-13", "11-15")])
    with pytest.raises(ValueError, match="time jumps by 172800 s"):
        capture24.person(path, {})
    with pytest.raises(SystemExit, match=r"experiments\.run capture24 --data DIR writes it"):
        capture24.load(tmp_path / "prepared")
