"""The events of a report in Chromium: sliders, table and files, with the bits of Python."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import classfilter as cf
import node_cases as node
from classfilter.pipeline import under_rule
from report_pages import SOURCES, use, write_page
from report_pages import streams as streams_of
from saved_files import loaded

CLASSES = ["a&b", "<b>", "__proto__", "plain"]
RULE = cf.EventRule(
    change_cost={name: 7.3 + i for i, name in enumerate(CLASSES)},
    min_duration={CLASSES[0]: 41.7},
    merge_gap=12.0,
    max_gap=60.0,
)
STEPS: list[list[Any]] = [
    ["slide", "#minDuration", 350],
    ["slide", "#changeCost", 0],
    ["slide", "#minDuration", 0],
    ["slide", "#changeCost", 250],
    ["slide", "#weight0", 0.3],
    ["stream", "1"],
    ["click", "#restore"],
]
BETA = {SOURCES[0]: 1.0, SOURCES[1]: 0.123456789}
BERLIN = ZoneInfo("Europe/Berlin")


def streams() -> dict[str, cf.Rows]:
    return streams_of((CLASSES, SOURCES))


def settings() -> cf.Pipeline:
    sticky = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 30), prior=[0.3, 0.2, 0.4, 0.1])
    return cf.Pipeline(sticky, beta=BETA, channel={SOURCES[1]: cf.Channel(np.eye(4) + 0.2)})


def downloads(prefix: str) -> list[list[Any]]:
    formats = ("csv", "json")
    return [["download", f"[data-format={name}]", f"{prefix}.{name}"] for name in formats]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events")
    write_page(streams(), under_rule(settings(), RULE), path / "report.html")
    return path


@pytest.fixture(scope="module")
def played(folder: Path) -> dict[str, Any]:
    everything = [["select", "#eventsOf", "all"], *downloads("all")]
    return use(folder / "report.html", [*STEPS, *downloads("one"), *everything])


def shown_events(state: dict[str, Any]) -> list[Any]:
    return [
        (label, *(float(node.decode(x, np.float64)[0]) for x in numbers))
        for label, *numbers in state["events"]
    ]


def test_every_slider_gives_the_events_of_python(played: dict[str, Any]) -> None:
    assert played["messages"] == []
    by_name = streams()
    names = list(by_name)
    counts = []
    for step, state in zip([["open"], *STEPS], played["states"], strict=False):
        name = names[step in STEPS[-2:]]
        pipe = loaded(state["json"])
        expected = cf.events({name: by_name[name]}, pipe)
        assert shown_events(state) == [
            (event.label, event.start, event.end, event.probability) for event in expected
        ], step
        counts.append(len(expected))
        true = cf.label_events({name: by_name[name]})
        f1 = cf.metrics.event_scores(true, expected, iou=0.5).f1
        assert f"F1 of events by the labels: {f1:.3f}." in state["numbers"], step
        dt = by_name[name].dt[1:]
        hours = dt[dt <= 10 * np.median(dt)].sum() / 3600
        rate = f"Events: {len(expected)}, {len(expected) / hours:.1f} an hour."
        assert rate in state["numbers"], step
    assert len(set(counts)) >= 5


def test_the_settings_carry_the_rule(played: dict[str, Any]) -> None:
    rules = [loaded(state["json"]).rule for state in played["states"]]
    assert rules[0] == RULE == rules[7]
    assert all(rule is not None and rule.merge_gap == 12.0 for rule in rules)
    assert rules[1] is not None
    assert rules[1].change_cost == RULE.change_cost
    assert isinstance(rules[1].min_duration, float)
    assert rules[2] is not None
    assert rules[2].change_cost == 0
    assert rules[4] is not None
    # 0 and then 1 to 1000, from a quarter of a step, 5 s, to 80,000 times that, in three digits
    assert rules[4].change_cost == float(f"{1.25 * 80000 ** (249 / 999):.3g}")


def test_files_have_the_events_of_python(played: dict[str, Any], folder: Path) -> None:
    by_name = streams()
    one = cf.events({"<u>1</u>": by_name["<u>1</u>"]}, settings(), RULE)
    both = cf.events(by_name, settings(), RULE)
    for name, events in (("one", one), ("all", both)):
        assert list(cf.read_events(folder / f"{name}.csv")) == list(events)
        cf.write_events(events, folder / "python.json")
        found, expected = (
            json.loads((folder / f"{who}.json").read_text("utf-8")) for who in (name, "python")
        )
        assert found == expected


def test_without_a_rule_each_stretch_is_an_event(tmp_path: Path) -> None:
    rec = next(iter(streams().values()))
    write_page({"one": rec}, settings(), tmp_path / "r.html")
    state = use(tmp_path / "r.html", [])["states"][0]
    assert loaded(state["json"]).rule is None  # nothing was touched
    labels = settings().run(rec).argmax(axis=1)
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    assert [(CLASSES[labels[i]], rec.time[i]) for i in starts] == [
        (label, start) for label, start, *_ in shown_events(state)
    ]


def test_the_table_sorts_and_leads_to_the_pictures(tmp_path: Path) -> None:
    flickering = cf.Pipeline(
        cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 2)), beta=dict.fromkeys(BETA, 1.0)
    )
    write_page({"one": streams()["<u>0</u>"]}, flickering, tmp_path / "r.html")
    steps: list[list[Any]] = [
        ["click", "[data-order=probability]"],
        ["click", "[data-order=probability]"],
        ["click", "#eventsAfter"],
        ["click", "#eventRows tr:nth-child(3) button"],
    ]
    states = use(tmp_path / "r.html", steps)["states"]
    everything = shown_events(states[0])
    total = len(everything)
    assert total > 30  # more than two pages
    assert states[0]["eventCount"] == f"Events 1 to 15 of {total}; times: h:mm:ss."
    assert len(states[0]["eventTable"]) == 15
    by_probability = sorted(everything, key=lambda event: event[3])
    texts = [f"{100 * p:.1f} %" for *_, p in by_probability]
    assert [row[4] for row in states[1]["eventTable"]] == texts[:15]
    assert [row[4] for row in states[2]["eventTable"]] == texts[::-1][:15]
    assert states[3]["eventCount"].startswith("Events 16 to 30 of ")
    _, start, end, _ = by_probability[::-1][17]
    low, high = states[4]["view"]
    assert low <= start < end <= high
    assert high - low <= max(3 * (end - start), end - start + 80.0) + 1e-6


def dated(zone: Any) -> cf.Rows:
    rec = cf.simulate("plain", hours=0.5, seed=4).rows()
    start = datetime(2024, 5, 1, 8, 0, tzinfo=zone)
    time = [start + timedelta(seconds=float(t)) for t in rec.time]
    return cf.rows(
        time=np.array(time, object), source=rec.source_names, probs=rec.probs, classes=CLASSES
    )


def pipe_of(rec: cf.Rows) -> cf.Pipeline:
    f = cf.StickyFilter(rec.classes, stay=0.5 ** (1 / 60))
    return cf.Pipeline(f, beta={"strong": 1.0, "weak": 0.2}, rule=cf.EventRule(20.0))


def test_dates_are_in_the_zone_of_the_data_until_another_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    rec, pipe = dated(BERLIN), pipe_of(dated(BERLIN))
    write_page({"ann": rec}, pipe, tmp_path / "r.html")
    steps = [["select", "#zone", "1"], ["select", "#zone", "2"], *downloads("page")]
    used = use(tmp_path / "r.html", steps)
    assert used["messages"] == []
    names = ["Europe/Berlin", "UTC", "America/New_York"]
    assert used["states"][0]["zones"] == [
        "Europe/Berlin (that of the data)", "UTC", "America/New_York (that of this computer)",
    ]  # fmt: skip
    for name, state in zip(names, used["states"], strict=False):
        first, last = (
            datetime.fromtimestamp(at, ZoneInfo(name)) for at in (rec.time[0], rec.time[-1] + 5)
        )
        assert state["span"] == f"{first:%F %T} to {last:%F %T} ({name})"
        assert state["eventTable"][0][1] == f"{first:%F %T}"
        assert state["eventCount"].endswith(f"times: {name}.")
    saved = cf.read_events(tmp_path / "page.csv")  # in UTC, whatever is shown
    assert list(saved) == list(cf.events({"ann": rec}, pipe))
    assert saved.dates


@pytest.mark.parametrize(
    ("kind", "zones", "span"),
    [
        ("none", 0, "2024-05-01 08:00:00 to 2024-05-01 08:30:00 (no zone)"),
        ("offset", 2, "2024-05-01 08:00:00 to 2024-05-01 08:30:00 (+05:30)"),
        ("unix", 2, "2023-11-14 22:13:20 to 2023-11-14 22:43:20 (UTC)"),
    ],
)
def test_times_without_a_zone_stay_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, zones: int, span: str
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    offset = datetime.fromisoformat("2024-05-01T08:00:00+05:30").tzinfo
    rec = dated(offset if kind == "offset" else None)
    if kind == "unix":
        day = cf.simulate("plain", hours=0.5, seed=4).rows()
        rec = cf.rows(
            time=day.time + 1.7e9, source=day.source_names, probs=day.probs, classes=CLASSES
        )
    write_page({"one": rec}, pipe_of(rec), tmp_path / "r.html")
    last = [["select", "#zone", str(zones - 1)]] if zones else []
    states = use(tmp_path / "r.html", last)["states"]
    assert states[0]["span"] == span
    assert len(states[0]["zones"]) == zones
    if kind == "unix":
        assert states[1]["span"] == "1700000000 to 1700001800 (seconds)"
