"""Figures of several labels at once, by their artists: lanes that may be on at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgba

import classfilter as cf
from classfilter import Event, Events, MultiLabelFilter, StickyFilter, plot

TIME = np.arange(6) * 60.0
LABELS = ("robin", "wren")
TRUTH = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0]])
SCORES = np.array([[0.1, 0.2], [0.9, 0.4], [0.8, 0.7], [np.nan, 0.6], [0.6, 0.1], [0.2, 0.3]])


def only(figure: Any) -> Any:
    (axes,) = figure.axes
    return axes


def ticks(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def bands(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """Return start and end of the bands of each lane, in minutes."""
    names, places = ticks(axes), axes.get_yticks()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for group in axes.collections:
        for path in group.get_paths():
            (x0, y0), (x1, y1) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            if len(path.vertices) == 5:  # a rectangle, not an area
                name = names[int(np.abs(places - (y0 + y1) / 2).argmin())]
                found[name].append((float(x0), float(x1)))
    return found


def test_labels_that_overlap_have_lanes_of_their_own() -> None:
    axes = only(plot.timeline(TIME, TRUTH, {"Raw": SCORES}, LABELS))
    assert ticks(axes) == ["robin: Truth", "robin: Raw", "wren: Truth", "wren: Raw"]
    drawn = bands(axes)
    assert drawn["robin: Truth"] == [(1.0, 3.0)]
    assert drawn["wren: Truth"] == [(2.0, 5.0)]
    assert drawn["robin: Raw"] == [(1.0, 3.0), (4.0, 5.0)]  # not where it was not observed
    assert drawn["wren: Raw"] == [(2.0, 4.0)]
    colours = {tuple(group.get_facecolor()[0][:3]) for group in axes.collections}
    assert colours == {to_rgba(colour)[:3] for colour in plot.COLOURS[:2]}


def test_the_area_of_a_lane_is_the_probability() -> None:
    axes = only(plot.timeline(TIME, None, {"Raw": SCORES[:, 1:]}, ["wren"], scores="independent"))
    assert ticks(axes) == ["wren"]
    areas = [p for g in axes.collections for p in g.get_paths() if len(p.vertices) > 5]
    (area,) = areas
    y = np.asarray(area.vertices)[:, 1]
    tops = sorted({round(float((y.max() - v) / 0.84), 6) for v in y} - {0.0})
    assert tops == sorted(SCORES[:, 1].tolist())


def test_events_of_several_labels() -> None:
    events = Events([Event(None, "robin", 60.0, 200.0, 0.9), Event(None, "wren", 120.0, None, 0.8)])
    axes = only(plot.timeline(TIME, TRUTH, {"events": events}, LABELS))
    drawn = bands(axes)
    assert drawn["robin: events"] == [(1.0, 200 / 60)]
    assert drawn["wren: events"] == [(2.0, 6.0)]  # until what is drawn ends


@pytest.mark.parametrize("truth", [TRUTH, None])
def test_an_overview_has_truth_scores_and_probabilities(truth: Any) -> None:
    rec = cf.rows(
        time=TIME, source="mic", probs=SCORES, classes=LABELS, label=truth, scores="independent"
    )
    P = cf.Pipeline.of(MultiLabelFilter(LABELS, StickyFilter(2, stay=0.5 ** (1 / 60)))).run(rec)
    axes = only(plot.overview(rec, P, strong="mic"))
    names = ["raw", "filtered"] if truth is None else ["truth", "raw", "filtered"]
    assert ticks(axes) == [f"{label}: {name}" for label in LABELS for name in names]
    assert np.size(axes.lines[-1].get_xdata()) == 6  # a mark for each call
    at = bands(axes)
    for i, label in enumerate(LABELS):
        on = sum(end - start for start, end in at[f"{label}: filtered"])
        assert on == pytest.approx((P[:, i] > 0.5).sum())


def test_an_overview_of_heads_has_a_lane_for_each_class() -> None:
    probs = np.column_stack([np.nan_to_num(SCORES[:, 0]), np.full((6, 2), 0.2), np.full(6, 0.6)])
    heads = {"robin": None, "activity": ["walk", "sit", "run"]}
    truth = np.stack([TRUTH[:, 0], [0, 0, 2, 2, -1, 1]], axis=1)
    rec = cf.rows(time=TIME, probs=probs, classes=heads, label=truth)
    drawn = bands(only(plot.overview(rec, probs)))
    assert drawn["robin: truth"] == [(1.0, 3.0)]
    assert drawn["activity:run: truth"] == [(2.0, 4.0)]
    assert drawn["activity:run: filtered"] == [(0.0, 6.0)]
    assert drawn["activity:walk: filtered"] == []
