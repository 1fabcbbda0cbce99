"""Figures by their artists: what is drawn, where, and its name. No pixels."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import classfilter as cf
from classfilter import Comparison, Events, demo, metrics, plot
from classfilter.compare import Difference, Row
from classfilter.simulate import simulate
from conftest import rejected

pytest.importorskip("matplotlib")

T, K = 24, 3
TIME = np.arange(T) * 5.0
TRUTH = np.repeat([0, 1, 2], 8)
STRONG = np.arange(T) % 12 == 0
CLASSES = ("rest", "walk", "run")


def probs(seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet(np.ones(K), T)


METHODS = {"Simple": probs(1), "Single": probs(2), "Multiple": probs(3)}


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def bars(axes: Any) -> list[tuple[int, float, float, Any]]:
    """Row, start, end and colour of every band."""
    bands = []
    for group in axes.collections:
        for path in group.get_paths():
            (x0, y0), (x1, y1) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            bands.append((round((y0 + y1) / 2), x0, x1, tuple(group.get_facecolor()[0])))
    return sorted(bands)


def test_probabilities_draws_the_true_class_of_each_method() -> None:
    raw = probs(0)
    (axes,) = plot.probabilities(TIME, TRUTH, raw, METHODS, strong=STRONG).axes
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines) == ["Raw", "Raw, strong call (grid)", "Simple", "Single", "Multiple"]
    assert legend(axes) == list(lines)
    row = np.arange(T)
    for name, p in METHODS.items():
        np.testing.assert_allclose(np.asarray(lines[name].get_xdata()), TIME / 60)
        np.testing.assert_array_equal(np.asarray(lines[name].get_ydata()), p[row, TRUTH])
    weak, strong = axes.lines[:2]
    np.testing.assert_array_equal(np.asarray(weak.get_ydata()), raw[row, TRUTH][~STRONG])
    np.testing.assert_array_equal(np.asarray(strong.get_ydata()), raw[row, TRUTH][STRONG])
    assert weak.get_linestyle() == strong.get_linestyle() == "None"
    assert weak.get_marker() == "o"


def test_strong_calls_are_vertical_lines_over_the_whole_height() -> None:
    (axes,) = plot.probabilities(TIME, TRUTH, probs(0), {}, strong=STRONG).axes
    (grid,) = axes.collections
    ends = np.array([path.vertices for path in grid.get_paths()])
    np.testing.assert_allclose(ends[:, :, 0], np.column_stack([TIME[STRONG] / 60] * 2))
    np.testing.assert_array_equal(ends[:, :, 1], [[0, 1]] * 2)
    assert grid.get_transform() == axes.get_xaxis_transform()
    (bare,) = plot.probabilities(TIME, TRUTH, probs(0), {}).axes
    assert not bare.collections
    assert legend(bare) == ["Raw"]


def test_axes_have_units_and_the_legend_is_outside() -> None:
    figure = plot.probabilities(TIME, TRUTH, probs(0), METHODS, strong=STRONG)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Time (min)"
    assert axes.get_ylabel() == "Probability of the true class"
    low, high = axes.get_ylim()
    assert low < 0 < 1 < high
    for drawn in (figure, plot.timeline(TIME, TRUTH, METHODS, CLASSES)):
        drawn.draw_without_rendering()
        frame = drawn.axes[0].get_legend()
        assert frame is not None
        assert frame.get_window_extent().y0 >= drawn.axes[0].get_window_extent().y1
        assert frame.get_window_extent().x1 <= drawn.bbox.x1
    (short,) = plot.probabilities(TIME / 2, TRUTH, probs(0), {}).axes
    assert short.get_xlabel() == "Time (s)"
    assert short.lines[0].get_xdata()[-1] == pytest.approx(TIME[-1] / 2)  # type: ignore[index]
    (hours,) = plot.probabilities(TIME * 100, TRUTH, probs(0), {}).axes
    assert hours.get_xlabel() == "Time (h)"
    assert hours.lines[0].get_xdata()[-1] == pytest.approx(TIME[-1] * 100 / 3600)  # type: ignore[index]


def test_lines_differ_in_colour_and_in_dashes() -> None:
    many = {f"method {i}": probs(i) for i in range(5)}
    (axes,) = plot.probabilities(TIME, TRUTH, probs(0), many).axes
    assert len({line.get_color() for line in axes.lines[1:]}) == 5
    assert len({str(style["linestyle"]) for style in plot.LINES}) == len(plot.LINES) == 5


def test_gaps_and_unlabelled_rows_interrupt_the_lines() -> None:
    time = TIME + np.where(np.arange(T) >= 10, 600, 0)
    truth = np.where(np.arange(T) == 3, -1, TRUTH)
    (axes,) = plot.probabilities(time, truth, probs(0), {"Mean": probs(1)}).axes
    y = np.asarray(axes.lines[1].get_ydata(), dtype=float)
    assert y.size == T + 1
    assert np.flatnonzero(np.isnan(y)).tolist() == [3, 10]


def test_timeline_bands_are_the_runs_of_classes() -> None:
    labels = np.zeros(T, dtype=int)
    labels[4:6] = 2
    (axes,) = plot.timeline(TIME, TRUTH, {"Mine": labels}, CLASSES).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Truth", "Mine"]
    assert axes.yaxis_inverted()  # the truth is on top
    expected = [
        (0, 0, 40, 0), (0, 40, 80, 1), (0, 80, 120, 2),
        (1, 0, 20, 0), (1, 20, 30, 2), (1, 30, 120, 0),
    ]  # fmt: skip
    got = bars(axes)
    assert len(got) == len(expected)
    from matplotlib.colors import to_rgba

    for (row, x0, x1, colour), (at, first, last, c) in zip(got, expected, strict=True):
        assert (row, x0 * 60, x1 * 60) == pytest.approx((at, first, last))
        assert colour == to_rgba(plot.COLOURS[c])
    assert legend(axes) == ["rest", "walk", "run"]


def test_timeline_takes_probabilities_and_names_only_what_occurs() -> None:
    (axes,) = plot.timeline(TIME, None, {"Mine": np.eye(4)[[3] * T]}, ["a", "b", "c", "d"]).axes
    assert legend(axes) == ["d"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Mine"]


def test_timeline_leaves_gaps_and_unlabelled_rows_empty() -> None:
    time = TIME + np.where(np.arange(T) >= 8, 600, 0)
    truth = np.where(np.arange(T) < 16, 0, -1)
    (axes,) = plot.timeline(time, truth, {}, CLASSES).axes
    spans = [(round(x0 * 60), round(x1 * 60)) for _, x0, x1, _ in bars(axes)]
    assert spans == [(0, 40), (640, 680)]


def test_timeline_draws_events_where_they_are() -> None:
    from matplotlib.colors import to_rgba

    events = Events(
        [
            (None, "walk", -30.0, -10.0),  # before all that is drawn
            (None, "rest", -10.0, 12.5),  # cut at the first row
            (None, "run", 20.0, 62.5),
            (None, "walk", 100.0, 500.0),  # cut where the last row ends
            (None, "run", 110.0, None),  # still going on
        ]
    )
    (axes,) = plot.timeline(TIME, TRUTH, {"Events": events}, CLASSES).axes
    got = [bar for bar in bars(axes) if bar[0] == 1]
    expected = [(0, 12.5, 0), (20, 62.5, 2), (100, 120, 1), (110, 120, 2)]
    assert len(got) == len(expected)
    for (_, x0, x1, colour), (first, last, c) in zip(got, expected, strict=True):
        assert (x0 * 60, x1 * 60) == pytest.approx((first, last))
        assert colour == to_rgba(plot.COLOURS[c])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Truth", "Events"]
    (alone,) = plot.timeline(TIME, None, {"Events": events[:3]}, CLASSES).axes
    assert legend(alone) == ["rest", "run"]
    assert alone.get_xlim() == pytest.approx((0, 2))
    moved = Events([(None, "run", START + 20.0, START + 62.5)], dates=True, zone="UTC")
    (dated,) = plot.timeline(START + TIME, None, {"E": moved}, CLASSES, zone="UTC").axes
    ((_, x0, x1, _),) = bars(dated)
    assert (x1 - x0) * 86400 == pytest.approx(42.5)


def test_classes_look_different() -> None:
    names = [f"c{c}" for c in range(128)]
    (axes,) = plot.timeline(np.arange(128.0), None, {"Mine": np.arange(128)}, names).axes
    groups: Any = axes.collections
    looks = [(tuple(group.get_facecolor()[0]), group.get_hatch()) for group in groups]
    assert len(looks) == len(set(looks)) == 128
    assert len({hatch for _, hatch in looks[:16]}) == 16  # without colour


START = 1_714_550_400.0  # 2024-05-01T08:00:00Z


def date_ticks(axes: Any) -> list[str]:
    axes.figure.draw_without_rendering()
    ticks = [label.get_text() for label in axes.get_xticklabels() if label.get_text()]
    return [*ticks, axes.xaxis.get_offset_text().get_text()]


def test_dates_are_drawn_in_their_zone() -> None:
    (axes,) = plot.timeline(START + TIME * 60, TRUTH, {}, CLASSES, zone="Europe/Berlin").axes
    assert axes.get_xlabel() == "Time (Europe/Berlin)"
    ticks = date_ticks(axes)  # 10:00 to 12:00 there, in summer
    assert ticks[0] == "10:00"
    assert ticks[-1] == "2024-May-01"
    from matplotlib.dates import num2date

    _, begin, end, _ = bars(axes)[0]
    shown = [num2date(x).timestamp() for x in (begin, end)]  # type: ignore[no-untyped-call]
    assert shown == pytest.approx([START, START + 8 * 300], abs=1e-3)


def test_ticks_are_whole_hours_of_the_zone() -> None:
    (axes,) = plot.timeline(START + TIME * 300, TRUTH, {}, CLASSES, zone="Asia/Kolkata").axes
    assert {tick[-3:] for tick in date_ticks(axes)[:-1]} <= {":00", "-02"}


def test_times_that_are_dates_are_drawn_as_dates() -> None:
    berlin = timezone(timedelta(hours=2))
    dates = [datetime(2024, 5, 1, 10, tzinfo=berlin) + timedelta(minutes=5 * i) for i in range(T)]
    naive = np.array([date.astimezone(UTC).replace(tzinfo=None) for date in dates], "M8[s]")
    text = [date.isoformat() for date in dates]
    times: list[Any] = [dates, naive, text]
    for time, label, first in zip(
        times, ("UTC+02:00", "UTC", "UTC"), ("10", "08", "08"), strict=True
    ):
        (axes,) = plot.probabilities(time, TRUTH, probs(0), METHODS, strong=STRONG).axes
        assert axes.get_xlabel() == f"Time ({label})"
        assert date_ticks(axes)[0] == f"{first}:00"


def test_an_overview_draws_dates_in_a_zone() -> None:
    rec = cf.rows(time=START + TIME * 60, source="weak", probs=probs(0), classes=CLASSES)
    plain = plot.overview(rec, probs(1), strong="weak").axes[2]
    assert plain.get_xlabel() == "Time (min)"
    assert plain.get_xlim() == pytest.approx((0, 120))
    zoned = plot.overview(rec, probs(1), strong="weak", zone=UTC).axes
    assert [axes.get_xlabel() for axes in zoned] == ["", "", "Time (UTC)"]
    assert date_ticks(zoned[2])[0] == "08:00"
    assert zoned[0].get_xlim() == zoned[2].get_xlim()


def test_the_axes_of_the_caller_are_used() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    part = figure.add_subfigure(figure.add_gridspec(1, 2)[1])
    top, bottom = part.subplots(2, 1)
    assert plot.probabilities(TIME, TRUTH, probs(0), METHODS, ax=top) is figure
    assert plot.timeline(TIME, TRUTH, METHODS, CLASSES, ax=bottom) is figure
    assert len(top.lines) == 4
    assert len(bottom.collections) > 4


def compared(measure: str) -> Comparison:
    values = {"Raw": 0.5, "Mine": 0.9, "Yours": 0.875, "Lag, smoothed": 0.8, "All, smoothed": 0.95}
    words = ("worse", "best", "level", "worse", "better")
    rows = [Row(name="Mine, rule", switches=3.0)]
    for (name, x), word in zip(values.items(), words, strict=True):
        half = 0.03 * (word != "best")
        difference = Difference(x - 0.9, x - 0.9 - half, x - 0.9 + half, word)
        options: dict[str, Any] = {measure: x, "differences": {measure: difference}}
        rows.append(Row(name=name, smoothed="smoothed" in name, **options))
    return Comparison(rows=rows, reference="strong")


def test_comparison_draws_each_value_with_the_interval_of_its_difference() -> None:
    (axes,) = plot.comparison(compared("accuracy")).axes
    names = ["Raw", "Mine", "Yours", "Lag, smoothed", "All, smoothed"]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert axes.yaxis_inverted()  # the first is on top
    assert axes.get_xlabel().startswith("Accuracy (%); lines: 95 % intervals of the difference")
    *lines, best = axes.lines
    np.testing.assert_allclose(np.asarray(best.get_xdata(), float), [90, 90])
    for y, (x, half) in enumerate([(50, 3), (90, 0), (87.5, 3), (80, 3), (95, 3)]):
        span, point = lines[2 * y : 2 * y + 2]
        np.testing.assert_allclose(np.asarray(span.get_xdata(), float), [x - half, x + half])
        np.testing.assert_array_equal(np.asarray(span.get_ydata()), [y, y])
        np.testing.assert_allclose(np.asarray(point.get_xdata(), float), [x])
        np.testing.assert_array_equal(np.asarray(point.get_ydata()), [y])
    points = lines[1::2]
    assert [point.get_marker() for point in points] == ["o", "o", "o", "s", "s"]
    assert len({point.get_color() for point in points}) == 2


def test_comparison_marks_the_best_and_what_is_level_with_it() -> None:
    (axes,) = plot.comparison(compared("agreement")).axes
    assert axes.get_xlabel().startswith("Agreement (%)")
    filled = [point.get_markerfacecolor() != "white" for point in axes.lines[1:-1:2]]
    assert filled == [False, True, True, False, False]
    bold = [label.get_fontweight() == "bold" for label in axes.get_yticklabels()]
    assert bold == [False, True, False, False, False]


def test_matplotlib_is_imported_only_for_a_figure() -> None:
    code = "import sys, classfilter.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_demo_prints_the_table_and_writes_the_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, page = tmp_path / "demo.png", tmp_path / "report.html"
    demo.demonstrate(str(out), days=1, report=str(page))
    printed = capsys.readouterr().out
    assert f"{page}: days with the tuned filter: 1;" in printed
    assert page.read_text("utf-8").startswith("<!doctype html>")
    for name, paper in demo.PAPER.items():
        (line,) = [row for row in printed.splitlines() if row.startswith(name + "  ")]
        assert f"{paper:.2f}" in line
    assert "Hold last strong" in printed
    assert "tune warns: walking: 1516 of 1516 predicted rows are gone" in printed
    day = simulate("capture24", seed=0)
    (line,) = [row for row in printed.splitlines() if row.startswith("(the truth)")]
    changes = (np.diff(day.truth) != 0).sum()
    assert line.split()[-2:] == [f"{changes / 24:.1f}", "100.0"]
    assert out.read_bytes().startswith(b"\x89PNG")
    assert f"{out}: " in printed
    assert printed.rstrip().endswith("--event-duration 5min")  # what to do next
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    demo.demonstrate(str(tmp_path / "none.png"), days=1)
    assert "pip install 'classfilter[plot]'" in capsys.readouterr().out
    assert not (tmp_path / "none.png").exists()


def test_progress_is_drawn_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.show_progress(0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    demo.show_progress(0.25, width=8)
    assert capsys.readouterr().err == "\r[##      ]  25%"
    demo.show_progress(1.0, width=8)
    assert capsys.readouterr().err == f"\r{' ' * 15}\r"  # it disappears


# --- calibration ----------------------------------------------------------------------------


def test_reliability_draws_bins_with_enough_rows() -> None:
    from matplotlib.figure import Figure

    truth = np.repeat([0, 1, 0], [80, 20, 5])
    sure = np.r_[np.full(100, 0.7), np.full(5, 0.95)]
    table = metrics.reliability(truth, np.column_stack([sure, 1 - sure]))
    figure = plot.reliability({"live": table, "smoothed": table})
    above, below = figure.axes
    diagonal, *curves = above.lines
    np.testing.assert_array_equal(
        np.asarray(diagonal.get_xdata()), np.asarray(diagonal.get_ydata())
    )
    for curve in curves:
        np.testing.assert_allclose(np.asarray(curve.get_xdata()), [70])
        np.testing.assert_allclose(np.asarray(curve.get_ydata()), [80])
    error = f"calibration error {100 * table.error:.1f} %"
    assert legend(above) == [f"live: {error}", f"smoothed: {error}"]
    drawn: list[Any] = list(below.patches)
    heights = [bar.get_height() for bar in drawn[: len(table.rows)]]
    np.testing.assert_allclose(heights, 100 * table.rows / 105)
    (own,) = plot.reliability({"all": table}, min_rows=1, ax=Figure().subplots()).axes
    np.testing.assert_allclose(np.asarray(own.lines[1].get_ydata()), [80, 100])
    with rejected("curves"):
        plot.reliability({})
