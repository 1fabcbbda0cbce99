"""The report in Chromium: from disk, without a message, and with the bits of Python."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.pipeline import Expected
from report_pages import CLASSES, SOURCES, streams, use, write_page
from saved_files import loaded

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]
STEPS: list[list[Any]] = [
    ["slide", "#floor", -2.0],
    ["slide", "#weight1", 0.4],
    ["check", "#channel1", False],
    ["select", "#kind", "sticky"],
    ["slide", "#halfLife", 2.3],
    ["select", "#kind", "dirichlet"],
    ["slide", "#halfLife", 1.1],
    ["slide", "#weight0", 0.0],
    ["stream", "1"],
    ["click", "#restore"],
]
VIEWS: list[list[Any]] = [
    ["click", "[data-view=in]"],
    ["press", "#lanes", "ArrowRight"],
    ["press", "#probs", "+"],
    ["click", "[data-view=out]"],
    ["press", "#probs", "Home"],
    ["drag", "#probs", [0.25, 0.75]],
    ["drag", "#lanes", [0.5, 1.0]],
    ["press", "#probs", "Home"],
    ["wheel", "#lanes", ["Control", 0.25, -346.92]],
    ["wheel", "#lanes", ["Shift", 0.5, 500]],
    ["drag", "#lanes", [0.0, 0.05]],
]


def settings() -> cf.Pipeline:
    """Return settings with transitions and a channel, which tune would choose."""
    rows = np.full((4, 4), 0.002) + 0.992 * np.eye(4)
    sticky = cf.StickyFilter(CLASSES, transitions=rows, interval=5.0, prior=[0.3, 0.2, 0.4, 0.1])
    channel = cf.Channel(np.eye(4) + 0.2, [0.3, 0.2, 0.4, 0.1])
    beta = {SOURCES[0]: 1.0, SOURCES[1]: 0.123456789}
    return cf.Pipeline(sticky, beta=beta, channel={SOURCES[0]: None, SOURCES[1]: channel})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report")
    cf.report(streams(), path / "report.html", settings())
    return path


@pytest.fixture(scope="module")
def played(folder: Path) -> dict[str, Any]:
    download = [["download", "#saveRows", "rows.csv"], ["download", "#save", "settings.json"]]
    return use(folder / "report.html", [*STEPS, ["open", "#settings"], *download])


def filtered(text: str, rec: cf.Rows) -> Any:
    return loaded(text).run(rec)


def test_nothing_goes_wrong_and_nothing_leaves(played: dict[str, Any]) -> None:
    assert played["messages"] == []
    assert all(state["message"] is None for state in played["states"])
    assert [url for url in played["requests"] if not url.startswith(("file:", "blob:"))] == []
    assert (played["outside"], played["inline"]) == ("blocked", "blocked")
    assert played["markup"] == 0


def test_every_slider_gives_what_python_computes(played: dict[str, Any]) -> None:
    first, second = streams().values()
    before = None
    for step, state in zip([["open"], *STEPS], played["states"], strict=False):
        rec = second if step in STEPS[STEPS.index(["stream", "1"]) :] else first
        expected = filtered(state["json"], rec)
        assert node.same_bits(state["data"][0], rec.time), step
        for k, column in enumerate(state["data"][1:]):
            assert node.same_bits(column, expected[:, k]), (step, k)
        assert state["data"] != before, step
        before = state["data"]
        predicted = expected.argmax(axis=1)
        raw = np.where(rec.observed(), np.nan_to_num(rec.probs).argmax(axis=1), -1)
        last = np.append(np.diff(rec.time) > 0, True)
        rates = [
            cf.metrics.switches_per_hour(labels[last], rec.time[last])
            for labels in (raw, predicted)
        ]
        words = "Changes an hour: {:.1f} as predicted, {:.1f} filtered.".format(*rates)
        assert state["numbers"].startswith(words), step
        assert rec.label is not None
        shares = [(labels == rec.label)[raw >= 0] for labels in (raw,)] + [predicted == rec.label]
        accuracy = [f"{100 * share.mean():.1f} %" for share in shares]
        assert state["numbers"].endswith(
            "Accuracy by the labels: {} as predicted, {} filtered.".format(*accuracy)
        )


def test_settings_are_those_of_the_controls(played: dict[str, Any]) -> None:
    contents = [loaded(state["json"]) for state in played["states"]]
    strong, weak = SOURCES
    tuned = settings()
    assert contents[0].beta == tuned.beta == contents[10].beta
    assert [content.filter._options["floor"] for content in contents[:2]] == [1e-3, 0.01]
    assert contents[2].beta == {strong: 1.0, weak: 0.4}
    assert [content.channel[weak] is None for content in contents[2:4]] == [False, True]
    half_life = np.log(0.5) / np.log(contents[5].filter.stay)
    assert half_life == pytest.approx(200)  # 10 ** 2.3 in three digits
    assert isinstance(contents[6].filter, cf.DirichletFilter)
    assert contents[8].weight(strong) == (strong, 0.0)
    disabled = [state["halfLifeDisabled"] for state in played["states"]]
    assert disabled[:11] == [True] * 4 + [False] * 6 + [True]


def test_downloads(played: dict[str, Any], folder: Path) -> None:
    rec = list(streams().values())[1]
    expected = filtered((folder / "settings.json").read_text("utf-8"), rec)
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(rec)
    for row, time, source, P in zip(rows, rec.time, rec.source_names, expected, strict=True):
        assert (float(row["time"]), row["source"]) == (time, source)
        assert [float(row[f"f_{name}"]) for name in CLASSES] == P.tolist()
        assert row["class"] == CLASSES[int(P.argmax())]


def with_everything() -> cf.Pipeline:
    """Return settings with a table of each kind, and a smoother that differs in each of its own."""
    tuned, (strong, weak) = settings(), SOURCES
    rule = cf.EventRule(20.0, min_duration={CLASSES[0]: 15.0, CLASSES[3]: 5.0})
    smoother = cf.Pipeline(
        cf.StickyFilter(CLASSES, stay=0.98, temperature=1.4),
        beta={strong: 0.75, weak: 0.123456789},
        rule=cf.EventRule(0.0, min_duration={CLASSES[0]: 25.0}),
    )
    runs = (60.0, 50.0, 40.0, 1 / 3)
    known = Expected(5.0, 0.7, 30.0, runs, 75.5)
    return cf.Pipeline(
        tuned.filter,
        beta=tuned.beta,
        channel=tuned.channel,
        policy=cf.policy.Periodic(12, strong=strong, weak=weak),
        rule=rule,
        smoother=smoother,
        expected={weak: known},
    )


def test_untouched_settings_are_those_of_the_file(tmp_path: Path) -> None:
    pipe = with_everything()
    write_page(streams(), pipe, tmp_path / "report.html")
    use(tmp_path / "report.html", [["open", "#settings"], ["download", "#save", "page.json"]])
    assert cf.load(tmp_path / "page.json").content == pipe.content
    assert {"policy", "events", "smoother", "expected"} <= set(pipe.content)
    case = {"kind": "error", "name": "load", "args": [(tmp_path / "page.json").read_text()]}
    assert node.run([case]) == [{"message": None}]  # JavaScript loads it, too


FORMS: list[list[Any]] = [
    ["slide", "#floor", -2.0],
    ["select", "#kind", "dirichlet"],
    ["check", "#channel1", False],
    ["select", "#kind", "transitions"],
    ["click", "#restore"],
    ["slide", "#minDuration", 500],
]


def test_the_smoother_stays_while_the_filter_has_its_form(tmp_path: Path) -> None:
    pipe = with_everything()
    write_page(streams(), pipe, tmp_path / "report.html")
    states = use(tmp_path / "report.html", FORMS)["states"]
    found = [loaded(state["json"]) for state in states]
    assert all(one.expected == pipe.expected for one in found)
    kept = ["smoother" in one.settings for one in found]
    assert kept == [True, True, False, False, False, True, False]
    assert found[1].smoothing.settings == pipe.smoothing.settings
    assert found[5].smoothing.settings == pipe.smoothing.settings


def test_zoom(folder: Path) -> None:
    rec = next(iter(streams().values()))
    used = use(folder / "report.html", VIEWS)
    first, last = rec.time[0], rec.time[-1] + 5.0
    whole = last - first
    views = [state["view"] for state in used["states"]]
    assert [state["lanesView"] for state in used["states"]] == views
    expected = [
        (0, 1), (1 / 4, 3 / 4), (1 / 2, 1), (5 / 8, 7 / 8), (1 / 2, 1), (0, 1),
        (1 / 4, 3 / 4), (1 / 2, 3 / 4), (0, 1), (1 / 8, 5 / 8), (3 / 8, 7 / 8), (3 / 8, 0.4),
    ]  # fmt: skip
    for view, (start, end) in zip(views, expected, strict=True):
        pixel = whole / 840  # of the widest view
        assert view == pytest.approx([first + start * whole, first + end * whole], abs=3 * pixel)
    assert len({state["span"] for state in used["states"]}) >= 8


def test_lanes_have_the_colours_of_the_classes(folder: Path) -> None:
    rec = next(iter(streams().values()))
    assert rec.label is not None
    labels = settings().run(rec).argmax(axis=1)
    changes = np.convolve(np.diff(labels) != 0, np.ones(20), "valid")
    start = int(changes.argmax())
    assert changes[start] >= 2
    ends = rec.time[[start, start + 25]]
    middle = (rec.time[start : start + 20] + 2.5).tolist()
    zoom = ((ends - rec.time[0]) / (rec.time[-1] + 5 - rec.time[0])).tolist()
    steps = [["drag", "#lanes", zoom], ["pixels", 0, middle], ["pixels", 3, middle]]
    *_, truth, steady = use(folder / "report.html", steps)["states"]
    for pixels, classes in ((truth["pixels"], rec.label), (steady["pixels"], labels)):
        expected = [COLOURS[k] for k in classes[start : start + 20]]
        assert pixels == expected


def test_a_filter_in_single_precision_and_dates(tmp_path: Path) -> None:
    day = cf.simulate("plain", hours=1.5, seed=3).rows()
    rec = cf.rows(
        time=day.time + 1.7e9, source=day.source_names, probs=day.probs, classes=day.classes
    )
    f = cf.DirichletFilter(list(day.classes)[::-1], 0.97, estimate="mean", dtype="float32")
    beta = {"strong": 1.0, "weak": 0.2}
    channel = {"strong": None, "weak": cf.Channel(np.eye(4) + 0.3)}
    tuned = cf.Pipeline(f, beta=beta, channel=channel)
    cf.report(rec, tmp_path / "r.html", tuned)
    steps: list[list[Any]] = [["slide", "#halfLife", 1.5], ["select", "#shown", ":weak"]]
    used = use(tmp_path / "r.html", steps)
    assert used["messages"] == []
    for state in used["states"][:2]:
        expected = filtered(state["json"], rec)[:, ::-1].astype(np.float64)
        for k, column in enumerate(state["data"][1:]):
            assert node.same_bits(column, expected[:, k])
    weak = rec.of_source("weak")
    assert node.same_bits(used["states"][2]["data"][1], rec.probs[weak][:, -1])
    assert used["states"][0]["span"].startswith("2023-11-14 22:13:20 to ")


@pytest.mark.parametrize("picture", ["#probs", "#lanes"])
def test_the_row_under_the_pointer(folder: Path, picture: str) -> None:
    rec = next(iter(streams().values()))
    shown = use(folder / "report.html", [["point", picture, [0.5, 0.5]]])["states"][1]["row"]
    P = settings().run(rec)
    texts = []
    for row in np.flatnonzero(np.abs(rec.time - (rec.time[0] + rec.time[-1] + 5) / 2) < 20):
        order = np.argsort(-P[row], kind="stable")[:3]
        classes = ", ".join(f"{CLASSES[k]} {100 * P[row, k]:.0f} %" for k in order)
        minutes, seconds = divmod(int(rec.time[row]), 60)
        texts.append(f"0:{minutes:02d}:{seconds:02d}: {classes}")
    assert shown in texts


@pytest.mark.parametrize("width", [1000, 360])
def test_pictures_and_paper(folder: Path, width: int) -> None:
    pictures = [
        step
        for theme in ("light", "dark")
        for step in (["theme", theme], ["screenshot", f"{theme}-{width}.png", True])
    ]
    used = use(folder / "report.html", [["size", width, 900], *pictures, ["pdf", f"{width}.pdf"]])
    assert used["messages"] == []
    assert not any(state["wide"] for state in used["states"])  # nothing to scroll sideways
    headings = used["states"][-1]["headings"]
    assert any(seen[:4] == ["Class", "Start", "End", "Duration"] for seen in headings)
    compared = next(seen for seen in headings if "accuracy (%)" in seen)
    assert len(compared) >= 3
    light, dark = ((folder / f"{theme}-{width}.png").read_bytes() for theme in ("light", "dark"))
    assert light != dark
