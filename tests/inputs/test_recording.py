"""Recordings: their columns, their errors, and runs that equal those of the filter."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import classfilter as cf
from classfilter import _core
from classfilter.engine.recording import Recording
from small_recording import CLASSES, INF, NAN, VALID, recording


def test_columns() -> None:
    rec = recording(label=["sit", None, "walk"])
    assert rec.time.tolist() == [0.0, 5.0, 5.0]
    assert rec.time.dtype == np.float64
    assert rec.source.tolist() == ["weak", "strong", "weak"]
    assert rec.probs.tolist() == [VALID, [0.8, 0.1, 0.1], VALID]
    assert rec.classes == CLASSES
    assert rec.label is not None
    assert rec.label.tolist() == [1, -1, 0]
    assert rec.dt.tolist() == [0.0, 5.0, 0.0]
    assert rec.sources == ("weak", "strong")
    assert len(rec) == 3
    assert repr(rec) == (
        "Recording(3 rows, classes ['walk', 'sit', 'sleep'], sources ['weak', 'strong'])"
    )


def test_it_cannot_be_changed_and_shares_nothing() -> None:
    time, probs = np.arange(3.0), np.array([VALID] * 3)
    rec = recording(time=time, probs=probs, label=[0, 1, 2])
    for name in ("time", "source", "probs", "label"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(rec, name)[0] = 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(rec, name, None)
    time[:], probs[:] = 7, 1 / 3
    assert rec.time.tolist() == [0, 1, 2]
    assert rec.probs.tolist() == [VALID] * 3


def test_a_copy_from_its_own_columns_is_equal() -> None:
    rec = recording(classes=["1", "2", "3"], label=["2", None, "3"])  # indices 1 and 2
    again = dataclasses.replace(rec)
    for field in dataclasses.fields(rec):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(rec, field.name))


def test_a_copy_of_several_labels_has_independent_scores() -> None:
    truth = [[1, 0], [0, -1]]
    rec = Recording([0, 1], "a", [[0.9, 0.8], [0.1, np.nan]], 2, truth, scores="independent")
    again = dataclasses.replace(rec)
    assert again.independent
    np.testing.assert_array_equal(again.probs, rec.probs)
    np.testing.assert_array_equal(again.label, rec.label)


def test_no_rows() -> None:
    rec = Recording([], [], [], CLASSES, [])
    assert (len(rec), rec.probs.shape, rec.sources, rec.dt.tolist()) == (0, (0, 3), (), [])
    assert rec.run(cf.DirichletFilter(CLASSES), beta={}).shape == (0, 3)


def test_classes_and_sources_become_text() -> None:
    rec = recording(classes=3, source=[1, 2, 1])
    assert rec.classes == ("0", "1", "2")
    assert rec.sources == ("1", "2")
    assert recording(source="weak").source.tolist() == ["weak"] * 3


def test_whole_numbers_as_probabilities() -> None:
    rec = recording(probs=np.eye(3, dtype=int))
    assert rec.probs.dtype == np.float64
    assert rec.probs.tolist() == np.eye(3).tolist()


def test_labels_by_name_and_by_index() -> None:
    for label in (
        ["sleep", None, "walk"],
        [2, -1, 0],
        [2.0, NAN, 0.0],
        ["sleep", NAN, "walk"],
        np.array([2, -1, 0]),
    ):
        indices = recording(label=label).label
        assert indices is not None
        assert indices.tolist() == [2, -1, 0]
        assert indices.dtype == np.intp
    assert recording().label is None


@pytest.mark.parametrize("missing", [[NAN] * 3, [None] * 3])
def test_a_missing_observation(missing: list[Any]) -> None:
    assert np.isnan(recording(probs=[VALID, missing, VALID]).probs[1]).all()


@given(st.permutations(list(range(8))))
def test_sorting_keeps_rows_together_and_equal_times_in_order(order: list[int]) -> None:
    time = np.array([i // 2 for i in order], dtype=float)  # each time twice
    probs = np.array([[i / 10, 1 - i / 10] for i in order])
    rec = Recording(time, [str(i) for i in order], probs, 2, [i % 2 for i in order], sort=True)
    expected = sorted(order, key=lambda i: i // 2)  # Python's sort is stable
    assert rec.source.tolist() == [str(i) for i in expected]
    assert rec.time.tolist() == [i // 2 for i in expected]
    assert rec.probs[:, 0].tolist() == [i / 10 for i in expected]
    assert rec.label is not None
    assert rec.label.tolist() == [i % 2 for i in expected]


def test_rows_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []
    check_rows = _core.check_rows

    def count(classes: int, probs: Any, beta: Any, dt: Any) -> Any:
        checks.append(len(probs))
        return check_rows(classes, probs, beta, dt)

    monkeypatch.setattr(_core, "check_rows", count)
    probs = {f"p_{name}": [p] * 6 for name, p in zip(CLASSES, VALID, strict=True)}
    df = pl.DataFrame(
        {"time": range(6), "stream": ["a", "b", "c"] * 2, "label": CLASSES * 2, **probs}
    )
    recs = cf.recordings(df)
    assert checks == [6]
    assert {name: rec.label.tolist() for name, rec in recs.items() if rec.label is not None} == {
        "a": [0, 0],
        "b": [1, 1],
        "c": [2, 2],
    }
    for rec in recs.values():
        with pytest.raises(ValueError, match="read-only"):
            rec.probs[0] = 0
    rec = recs["b"].part(slice(1, None))
    assert (rec.time.tolist(), rec.probs.tolist(), rec.dt.tolist()) == ([4.0], [VALID], [0.0])
    assert checks == [6]


def test_part() -> None:
    rec = recording(label=["sit", None, "walk"])
    part = rec.part(slice(1, 3))
    assert part.time.tolist() == [5.0, 5.0]
    assert part.source.tolist() == ["strong", "weak"]
    assert part.probs.tolist() == [[0.8, 0.1, 0.1], VALID]
    assert part.label is not None
    assert (part.label.tolist(), part.classes) == ([-1, 0], CLASSES)
    for rows in (slice(None, None, -1), slice(0, 3, 2)):
        with pytest.raises(ValueError, match=r"rows is slice.*; it must be a slice of successive"):
            rec.part(rows)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time": [0, 5, 4]}, r"time in row 2 is 4\.0, before 5\.0, .*sort=True"),
        ({"time": [0, NAN, 4]}, "time in row 1 is nan; it must be finite: leave the row out"),
        ({"time": [0, 1, INF]}, "time in row 2 is inf"),
        ({"time": [0, 1, None]}, "time in row 2 is nan"),
        ({"time": np.array(["2024", "NaT", "2025"], "datetime64[s]")}, "time in row 1 is nan"),
        ({"time": [datetime(2024, 1, 1), pd.NaT, None]}, "time in row 1 is nan"),
        (
            {"time": ["2024-01-01T00:00:00Z", "2024-01-32T00:00:00", "x"]},
            "time in row 1 is '2024-01-32T00:00:00'; .* text such as 2024-05-01T08:00:00Z",
        ),
        ({"time": ["2024-13-01T00:00:00Z"] * 3}, "time in row 0 is '2024-13-01T00:00:00Z'"),
        ({"time": ["0", "1", "noon"]}, "time in row 2 is 'noon'"),
        ({"time": [True, False, True]}, "time in row 0 is True"),
        ({"time": [[0, 1, 2]]}, "time has 2 dimensions; it must have 1"),
        ({"time": [0, 1]}, "source has 3 rows, but time has 2"),
        ({"source": ["weak", None, "weak"]}, "source in row 1 is None; .* fill it in"),
        ({"source": ["weak", "weak", NAN]}, "source in row 2 is nan"),
        ({"probs": [VALID, VALID]}, "probs has 2 rows, but time has 3"),
        ({"source": ["weak"]}, "source has 1 rows, but time has 3"),
        ({"source": [["weak"] * 3]}, "source has 2 dimensions"),
        (
            {"probs": [VALID, [0.5, 0.5], VALID]},
            "probs in row 1 has 2 entries, but there are 3 classes; give one probability per class",
        ),
        ({"probs": [[0.5, 0.5]] * 3}, "probs in row 0 has 2 entries, but there are 3"),
        ({"probs": [0.5, 0.2, 0.3]}, "probs in row 0 has 1 entries"),
        ({"probs": [VALID, VALID, [0.5, "0.5", 0.0]]}, "probs in row 2 has '0.5'; it must hold"),
        (
            {"probs": [VALID, [0.7, -0.2, 0.5], VALID]},
            r"probs in row 1, class 'sit', is -0\.2; .* not be negative",
        ),
        ({"probs": [VALID, VALID, [0.5, 0.5, INF]]}, "row 2, class 'sleep', is inf; .* be finite"),
        ({"probs": [VALID, VALID, [0.5, 0.5, -INF]]}, "row 2, class 'sleep', is -inf"),
        (
            {"probs": [VALID, [NAN, 0.5, 0.5], VALID]},
            "row 1, class 'walk', is nan while other entries .* are not; .* row of NaN only",
        ),
        ({"probs": [VALID, [0.5] * 3, [-1] * 3]}, r"row 1 sums to 1\.5; .* 0\.05 of 1: if one"),
        ({"probs": [VALID, VALID, [0.2, 0.2, 0.54]]}, r"row 2 sums to 0\.94"),
        ({"label": ["sit", "run", "sit"]}, r"label in row 1 is 'run'; the classes are \['walk'"),
        ({"label": [0, 1, 3]}, "label in row 2 is 3; .* index from 0 to 2, or -1"),
        ({"label": [0, 1, -2]}, "label in row 2 is -2"),
        ({"label": np.array([0, 1, 3])}, "label in row 2 is 3; .* index from 0 to 2, or -1"),
        ({"label": np.array([0, -2, -2])}, "label in row 1 is -2"),
        ({"label": [0.0, 0.5, 1.0]}, r"label in row 1 is 0\.5"),
        ({"label": [0, 1]}, "label has 2 rows, but time has 3"),
        ({"label": [[0, 1, 2]]}, "label has 2 dimensions"),
        ({"classes": []}, "at least two are needed"),
        ({"classes": ["a", "b", "a"]}, "'a' more than once"),
        ({"classes": [1, "1", 2]}, "'1' more than once"),
    ],
)
def test_errors_name_the_row_the_value_and_the_remedy(changed: Any, message: str) -> None:
    recording()  # valid without the change
    with pytest.raises(ValueError, match=message):
        recording(**changed)


@pytest.mark.parametrize("total", [0.951, 1.0, 1.049])
def test_sums_near_1_are_valid(total: float) -> None:
    rec = recording(probs=np.array([VALID] * 3) * total)
    rec.run(cf.DirichletFilter(CLASSES))


@given(st.lists(st.floats(-1, 2) | st.sampled_from([NAN, INF, 0.5, 0.0]), min_size=2, max_size=2))
@example([0.0, 1.05])
@example([0.0, 0.95])
@example([0.05, 0.9])
def test_it_rejects_what_the_filter_rejects(row: list[float]) -> None:
    def rejects(call: Any) -> bool:
        try:
            call()
        except ValueError:
            return True
        return False

    f = cf.DirichletFilter(2)
    assert rejects(lambda: f.run([row])) == rejects(lambda: Recording([0], "weak", [row], 2))
