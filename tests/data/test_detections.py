"""Lists of detections become rows of scores, by hand and by a plain loop."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf


def birdnet(*rows: tuple[float, float, str, float], **more: Any) -> pd.DataFrame:
    columns = ["Start (s)", "End (s)", "Common name", "Confidence"]
    return pd.DataFrame(list(rows), columns=columns).assign(**more)


def test_windows_that_overlap_stand_for_their_middle() -> None:
    table = birdnet((1, 4, "wren", 0.5), (3, 6, "robin", 0.8), (3, 6, "wren", 0.3))
    scores = cf.detection_scores(table, step="1s", end=8, below=0.1)
    assert scores.columns.tolist() == ["time", "p_robin", "p_wren"]
    assert scores["time"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert scores["p_wren"].tolist() == [0.1, 0.5, 0.1, 0.3, 0.1, 0.1]
    assert scores["p_robin"].tolist() == [0.1, 0.1, 0.1, 0.8, 0.1, 0.1]


@pytest.mark.filterwarnings("ignore:step is")  # a draw may have every second window only
@given(
    cells=st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.sampled_from(["x", "y", "z"])),
        st.floats(0.25, 1.0),
        min_size=1,
    ),
    step=st.sampled_from([0.5, 1.5, 3.0]),
)
def test_every_detection_is_in_its_cell(
    cells: dict[tuple[str, int, str], float], step: float
) -> None:
    """And all others are 0, in each file up to its end."""
    rows = [(n * step, n * step + 3.0, k, p) for (_, n, k), p in cells.items()]
    table = birdnet(*rows, File=[name for name, *_ in cells])
    ends = {"a": 20 * step + 3.0, "b": 20 * step + 3.4, "empty": 3.0}
    scores = cf.detection_scores(pl.from_pandas(table), step=step, end=ends)
    assert isinstance(scores, pl.DataFrame)
    found = {}
    for row in scores.iter_rows(named=True):
        n = (row["time"] + step / 2 - 1.5) / step
        assert n == pytest.approx(round(n))
        for column, p in row.items():
            if column.startswith("p_") and p > 0:
                found[row["stream"], round(n), column[2:]] = p
    assert found == cells
    assert scores["stream"].to_list() == ["a"] * 21 + ["b"] * 21 + ["empty"]


def test_a_selection_table_without_calls() -> None:
    table = pd.DataFrame({
        "Begin Time (s)": [0], "End Time (s)": [3], "Common Name": ["nocall"], "Confidence": [1.0],
    })  # fmt: skip
    scores = cf.detection_scores(table, step=3, end=9, labels=["wren"])
    assert scores["p_wren"].tolist() == [0.0, 0.0, 0.0]


def test_labels_that_are_wanted() -> None:
    table = birdnet((0, 3, "wren", 0.5), (0, 3, "robin", 0.8))
    assert cf.detection_scores(table, step=3, labels=["wren", "owl"]).to_numpy().tolist() == [
        [0.0, 0.5, 0.0]
    ]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            [(0, 3, "a", 0.5), (1, 4, "a", 0.5)],
            {"step": 3},
            "row 1 is 1.0; .*less the overlap",
        ),
        (
            [(0, 3, "a", 0.5), (3, 9, "a", 0.5)],
            {"step": 3},
            "windows of 3 s and of 6.*merge_consecutive",
        ),
        ([(0, 3, "a", 50.0)], {"step": 3}, "row 0 is 50.0; it must lie in.*percentages"),
        ([(0, 3, "a", float("nan"))], {"step": 3}, "row 0 is nan; it must be a finite number"),
        ([(0, 3, "a", 0.5), (0, 3, "a", 0.6)], {"step": 3}, "row 1 is 'a', which this window has"),
        ([(6, 9, "a", 0.5)], {"step": 3, "end": 8}, "row 0 starts a window at 6.0, which goes on"),
        ([(0, 3, "a", 0.5)], {"step": 3, "end": 1}, "end is 1.0; it must be finite, and 3 or more"),
        ([(0, 3, "a", 0.5)], {"step": 0}, "step is 0"),
        ([(0, 3, "a", 0.5)], {"step": 3, "below": 1.5}, "below is 1.5"),
        (
            [(0, 3, "a", 0.5)],
            {"step": 3, "columns": {"class": "Species"}},
            "has 'Species' for class",
        ),
        (
            [(0, 3, "a", 0.5)],
            {"step": 3, "columns": {"label": "File"}},
            "names 'label'; it must be",
        ),
        ([(0, 3, "a", 0.5)], {"step": 3, "end": {"x": 9}}, "one stream without a name"),
    ],
)
def test_what_is_refused(rows: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.ArgumentError, match=message):
        cf.detection_scores(birdnet(*rows), **options)


def test_columns_that_are_missing_are_named() -> None:
    with pytest.raises(cf.ArgumentError, match="has no column confidence"):
        cf.detection_scores(pd.DataFrame({"start": [0], "end": [3], "class": ["a"]}), step=3)
    table = birdnet((0, 3, "a", 0.5), File=["x"])
    with pytest.raises(cf.ArgumentError, match="has no entry for the stream 'x'"):
        cf.detection_scores(table, step=3, end={"y": 9})


def test_a_step_that_no_window_has_is_warned_of() -> None:
    table = birdnet((0, 3, "wren", 0.9), (3, 6, "wren", 0.8), (9, 12, "wren", 0.7))
    with pytest.warns(UserWarning, match="give step=3"):
        scores = cf.detection_scores(table, step=1)
    assert len(scores) == 10
    assert cf.detection_scores(table, step=3)["p_wren"].tolist() == [0.9, 0.8, 0.0, 0.7]
    sparse = birdnet((0, 3, "wren", 0.9), (6, 9, "wren", 0.8), (12, 15, "wren", 0.7))
    assert len(cf.detection_scores(sparse, step=3)) == 5  # nothing was heard between them


@pytest.mark.parametrize("end", ["20min", {"a": "20min"}, 1200, pd.Timedelta(minutes=20)])
def test_the_end_is_a_duration(end: Any) -> None:
    table = birdnet((0, 3, "wren", 0.9), File="a")
    assert len(cf.detection_scores(table, step="3s", end=end)) == 400
    with pytest.raises(cf.ArgumentError, match="end"):
        cf.detection_scores(table, step="3s", end="long")
