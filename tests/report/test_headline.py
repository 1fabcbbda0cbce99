"""The headline of a report: each figure, computed in another way."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

import classfilter as cf
from classfilter.pipeline import under_rule
from classfilter.report.headline import figures, headline
from classfilter.report.page import label_measures, with_averages
from label_report import LABELS, label_recordings, label_settings


def streams(labels: bool = True) -> dict[str, cf.Rows]:
    """Return two streams; the second one begins without a prediction and has a pause."""
    recs = {}
    for seed in range(2):
        day = cf.simulate("plain", hours=1.0, seed=seed).rows()
        probs, time = day.probs.copy(), day.time.copy()
        if seed:
            probs[:3] = probs[200:205] = np.nan
            time[300:] += 7200.0
        label = day.label if labels else None
        recs[f"day {seed}"] = cf.rows(
            time=time, source=day.source_names, probs=probs, classes=day.classes, label=label
        )
    return recs


def pipe(rule: cf.EventRule | None = None) -> cf.Pipeline:
    f = cf.StickyFilter([f"class {i}" for i in range(4)], stay=0.5 ** (1 / 60))
    return cf.Pipeline(f, beta={"strong": 1.0, "weak": 0.2}, rule=rule)


def counted(rec: cf.Rows, classes: list[Any]) -> tuple[int, float]:
    """Return changes and seconds between neighbouring rows, by a plain loop."""
    changes, seconds = 0, 0.0
    for i in range(1, len(rec)):
        step = rec.time[i] - rec.time[i - 1]
        if step > 50 or classes[i] is None or classes[i - 1] is None:  # a step is 5 s
            continue
        changes += classes[i] != classes[i - 1]
        seconds += step
    return changes, seconds


def held(rec: cf.Rows) -> list[Any]:
    """Return the class of the last prediction."""
    classes: list[Any] = []
    for row in rec.probs:
        last = classes[-1] if classes else None
        classes.append(last if np.isnan(row[0]) else int(row.argmax()))
    return classes


def tiles(html: str) -> dict[str, list[str]]:
    """Return the values of each figure, and its note."""
    texts = {}
    for tile in re.findall("<div>(.*?)</div>", html):
        name, values, note = re.findall(r"<d[td]>(.*?)</d[td]>", tile)
        texts[name] = [*re.findall("<span>(.*?)</span>", values), note]
    return texts


def test_every_figure() -> None:
    recs, tuned = streams(), pipe(cf.EventRule("20s"))
    result = figures(list(recs.items()), tuned)
    shown = tiles(headline(result, tuned))
    totals = np.zeros((2, 2))
    truth, before, after = [], [], []
    for rec in recs.values():
        raw = held(rec)
        filtered = [
            None if a is None else int(p.argmax()) for a, p in zip(raw, tuned.run(rec), strict=True)
        ]
        totals += [counted(rec, raw), counted(rec, filtered)]
        assert rec.label is not None
        for label, a, b in zip(rec.label, raw, filtered, strict=True):
            if a is not None:
                truth.append(label)
                before.append(a)
                after.append(b)
    rates = 3600 * totals[:, 0] / totals[:, 1]
    assert rates[1] < rates[0]
    assert shown["Changes an hour"] == [
        f"{rates[0]:,.1f}",
        f"{rates[1]:,.1f}",
        f"as predicted → filtered: {100 - 100 * rates[1] / rates[0]:.0f}% fewer",
    ]
    shares = [100 * accuracy_score(truth, predicted) for predicted in (before, after)]
    assert shown["Accuracy"][:2] == [f"{share:.1f}%" for share in shares]
    hours = sum((np.diff(rec.time)[np.diff(rec.time) <= 50]).sum() for rec in recs.values()) / 3600
    events = cf.events(recs, tuned)
    assert shown["Events"] == [
        f"{len(events)}", f"{len(events) / hours:.1f} an hour: change cost 20 s",
    ]  # fmt: skip
    assert shown["Hours"] == [f"{hours:.1f}", "in 2 streams, 1,440 rows"]


def test_without_labels_and_without_a_rule() -> None:
    recs = streams(labels=False)
    shown = tiles(headline(figures(list(recs.items()), pipe()), pipe()))
    assert list(shown) == ["Changes an hour", "Events", "Hours"]
    assert int(shown["Events"][0]) == len(cf.events(recs, pipe(), cf.EventRule()))
    assert "at a change cost of 0, since the settings have no rule for events" in shown["Events"][1]


def test_a_rule_by_class_is_said() -> None:
    rule = cf.EventRule(5.0, min_duration={"class 0": 10.0}, merge_gap=3.0)
    tuned = pipe(rule)
    shown = tiles(headline(figures(list(streams().items()), tuned), tuned))
    assert shown["Events"][1].endswith(
        "change cost 5 s, minimum duration by class, and 1 more option"
    )


def test_rows_without_time() -> None:
    rec = cf.rows(time=[0.0], source="weak", probs=[[0.9, 0.1, 0.0, 0.0]], classes=pipe().classes)
    shown = tiles(headline(figures([("one", rec)], pipe()), pipe()))
    assert list(shown) == ["Events", "Hours"]


def test_several_labels_at_once() -> None:
    recs = label_recordings()
    tuned = under_rule(label_settings(), cf.EventRule(10.0))
    measures = label_measures(list(recs.values()), tuned, labelled=True)
    result = with_averages(figures(list(recs.items()), tuned), measures, labelled=True)
    shown = tiles(headline(result, tuned))
    assert int(shown["Events"][0]) == len(cf.events(recs, tuned))
    scores = []
    for k in range(len(LABELS)):
        truth = np.concatenate([rec.label[:, k] for rec in recs.values()])  # type: ignore[index]
        on = np.concatenate([tuned.run(rec)[:, k] > 0.5 for rec in recs.values()])
        scores.append(f1_score(truth[truth >= 0], on[truth >= 0]))
    assert shown["F1"][1] == f"{np.mean(scores):.1%}"
    assert shown["Changes an hour"][2].startswith("as predicted → filtered, mean of the labels")


@pytest.mark.parametrize("count", [1, 3])
def test_too_many_streams_to_measure_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    report = import_module("classfilter.report.page")

    monkeypatch.setattr(report, "MAX_MEASURED_STREAMS", count)
    monkeypatch.setattr(report, "compare", lambda *args, **options: "")
    monkeypatch.setattr(report, "comparison_section", lambda comparison: "")
    cf.report(streams(), tmp_path / "r.html", pipe())
    text = (tmp_path / "r.html").read_text("utf-8")
    said = "Confusions, calibration, comparison and calls: from the first 720 rows of 1 stream."
    assert (said in text) == (count == 1)
