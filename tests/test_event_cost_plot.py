"""Events against the cost of a change: what is drawn is what was counted, and what chose it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import plot
from event_effects import CURVE, suggested, tuned_with

LIVE, OFFLINE = "#0072B2", "#E69F00"
NO_COST = "No cost: the most probable class of each row"
ROWS = ["Filtered rows, live", "Smoothed rows, offline"]


def points(line: Any) -> list[tuple[float, float]]:
    return list(zip(np.atleast_1d(line.get_xdata()), np.atleast_1d(line.get_ydata()), strict=True))


def marks(axes: Any) -> list[tuple[float, float, str, bool]]:
    """Return cost, events, colour of each point, and whether it is full."""
    found = [line for line in axes.lines if line.get_marker() == "o"]
    return [(*points(p)[0], p.get_color(), p.get_markerfacecolor() != "white") for p in found]


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_every_cost_is_drawn_with_its_events() -> None:
    (axes,) = plot.event_costs(tuned_with("duration")).axes
    curves = [line for line in axes.lines if len(points(line)) > 1]
    # Twice the count of half an hour; the costs that were chosen are on the curves.
    live = sorted([(cost, 2 * n) for cost, n, _ in CURVE] + [(5.0, 20)])
    offline = sorted([(cost, 2 * n) for cost, _, n in CURVE] + [(10.0, 18)])
    assert [points(line) for line in curves] == [live, offline]
    assert [line.get_color() for line in curves] == [LIVE, OFFLINE]
    crosses = [points(line)[0] for line in axes.lines if line.get_marker() == "x"]
    assert crosses == [(0, 80), (0, 40)]
    assert marks(axes) == [(5, 20, LIVE, True), (10, 18, OFFLINE, True)]
    assert texts(axes) == ["5 s: 20", "10 s: 18"]
    assert legend(axes) == [*ROWS, "Chosen by event_duration", NO_COST]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Cost of a change", "Events an hour")
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["0", "0.3 s", "1 s", "3 s", "10 s", "30 s", "1 min"]
    places = axes.transData.transform([(x, 0.0) for x in axes.get_xticks()])[:, 0]
    apart = np.diff(places)
    assert 0 < apart.max() < 3 * apart.min()  # 0 is on the axis, and takes no more than its part


def test_the_label_says_what_chose() -> None:
    (axes,) = plot.event_costs(tuned_with("labels")).axes
    assert legend(axes)[2] == "Chosen by labels (F1@50)"


@pytest.mark.parametrize(
    ("tuned", "offline", "names"),
    [
        (suggested(10.0, True), (10, 18, OFFLINE, True), ["Suggested, applied"]),
        (
            suggested(10.0, False),
            (10, 18, OFFLINE, False),
            ["Suggested, applied", "Suggested, not applied"],
        ),
        (
            suggested(0.0, False),
            (0, 40, OFFLINE, True),
            ["Suggested, applied", "Suggested: no cost"],
        ),
    ],
)
def test_a_suggestion_says_whether_it_is_applied(tuned: Any, offline: Any, names: Any) -> None:
    (axes,) = plot.event_costs(tuned).axes
    assert marks(axes) == [(5, 20, LIVE, True), offline]
    assert legend(axes) == [*ROWS, *names, NO_COST, "To expect: 19 an hour"]
    (level,) = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert [y for _, y in points(level)] == [19, 19]


def test_times_that_are_no_seconds_have_no_hours() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subfigure(figure.add_gridspec(1, 2)[1]).subplots()
    tuned = tuned_with("duration", in_seconds=False)
    assert plot.event_costs(tuned, ax=axes) is figure
    assert axes.get_ylabel() == "Events in 1000 rows"
    assert axes.get_xlabel() == "Cost of a change (in the unit of times)"
    assert marks(axes)[0][1] == pytest.approx(10 / 3.6)
    assert texts(axes) == ["5: 2.8", "10: 2.5"]


def test_the_legend_covers_no_data() -> None:
    figure = plot.event_costs(suggested(10.0, False))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    frame = axes.get_legend()
    assert frame is not None
    assert frame.get_window_extent().y0 >= axes.get_window_extent().y1
    assert frame.get_window_extent().y1 <= figure.bbox.y1


def test_refused_where_nothing_was_counted() -> None:
    tuned = tuned_with("duration").having(event_effect=None)
    with pytest.raises(cf.ArgumentError, match=r"tuned has no event_effect.*with event_duration"):
        plot.event_costs(tuned)
    chain: Any = cf.Chain(cf.StickyFilter(2))
    with pytest.raises(cf.ArgumentError, match="give the result of tune"):
        plot.event_costs(chain)


def test_the_suggestion_of_tune_is_on_its_curves() -> None:
    recs = [cf.simulate("plain", hours=1.0, seed=seed).recording() for seed in range(2)]
    tuned = cf.tune(recs, "sticky", "strong")
    suggestion, effect = tuned.suggestion, tuned.event_effect
    assert suggestion is not None
    assert effect is not None
    rule, smoothed = tuned.rule, tuned.smoother.rule
    assert rule is not None
    assert smoothed is not None
    assert (effect.live_cost, effect.offline_cost) == (rule.change_cost, smoothed.change_cost)
    at = cf.EventRule(suggestion.offline_cost, max_gap=smoothed.max_gap)
    assert suggestion.offline_events == len(cf.events(recs, tuned, at, smooth=True))
    live, offline = marks(plot.event_costs(tuned).axes[0])
    per_hour = len(cf.events(recs, tuned)) / 2
    assert live[:2] == pytest.approx((rule.change_cost, per_hour))
    assert offline[:2] == pytest.approx((suggestion.offline_cost, suggestion.offline_events / 2))
