"""`compare` by events: every number recomputed from the events of all streams."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter import Comparison, Rows, compare
from compare_oracle import changed, clean
from example_tables import KINDS, column, names_of

RULE = cf.EventRule("10s", merge_gap=30)
MINE = "Mine, smoothed"


@lru_cache
def some() -> tuple[Rows, ...]:
    """Of several lengths, one without labels, one with some."""
    first, second, third = (clean(seed, 0.7 + 0.1 * seed) for seed in range(3))
    assert third.label is not None
    late = np.where(np.arange(len(third)) < 40, -1, third.label)
    return first, changed(second, label=None), changed(third, label=late)


def smooth_by_hand(rec: Rows) -> Any:
    """Return the mean of nine rows, as another method would."""
    P = np.nan_to_num(rec.probs, nan=1 / len(rec.classes))
    ones = np.ones(9)
    columns = [np.convolve(p, ones, "same") for p in P.T]
    return np.array(columns).T / np.convolve(np.ones(len(P)), ones, "same")[:, None]


@lru_cache
def result(labelled: bool) -> Comparison:
    recs = some() if labelled else tuple(changed(rec, label=None) for rec in some())
    return compare(recs, "strong", events=RULE, extra={MINE: smooth_by_hand})


def events_of(rule: Any, raw: bool = False) -> dict[int, tuple[Rows, list[cf.Event]]]:
    """Return each stream with its events, under a rule and from the rows of one method."""
    found = {}
    for i, rec in enumerate(some()):
        P = cf.Pipeline.of(cf.RawFilter(rec.classes)).run(rec) if raw else smooth_by_hand(rec)
        rows = cf.rows(time=rec.time, source="mine", probs=P, classes=rec.classes)
        found[i] = (rec, list(cf.events({i: rows}, rule)))
    return found


def values(comparison: Comparison, name: str) -> dict[str, float]:
    (row,) = [row for row in comparison.rows if row.name == name]
    return {key: measure.value for key, measure in row.measures.items()}


def rows_of(rec: Rows, events: list[cf.Event]) -> list[str | None]:
    """Return the class of each row, by looking for the event that it lies in."""
    inside = [
        [e.label for e in events if e.end is not None and e.start <= t < e.end]
        for t in rec.time.tolist()
    ]
    return [labels[-1] if labels else None for labels in inside]


@pytest.mark.parametrize(("rule", "title"), [(RULE, "rule"), (cf.EventRule(), "argmax")])
@pytest.mark.parametrize(("method", "raw"), [(MINE, False), ("Raw", True)])
def test_scores_are_those_of_all_streams(rule: Any, title: str, method: str, raw: bool) -> None:
    found = {i: pair for i, pair in events_of(rule, raw).items() if pair[0].label is not None}
    truth = cf.label_events({i: rec for i, (rec, _) in found.items()})
    listed = [e for _, events in found.values() for e in events]
    scores = cf.metrics.event_scores(truth, listed, iou=0.5)
    assert min(scores.true, scores.found) > 5 or raw
    got = values(result(True), f"{method}: {title}")
    hours = sum((rec.time[-1] - rec.time[0]) / 3600 for rec, _ in found.values())
    right = labelled = 0
    for rec, events in found.values():
        assert rec.label is not None
        names = [None if k < 0 else rec.classes[k] for k in rec.label.tolist()]
        labelled += sum(name is not None for name in names)
        right += sum(
            name is not None and name == row
            for name, row in zip(names, rows_of(rec, events), strict=True)
        )
    late = [cf.metrics.event_scores(cf.label_events({i: r}), e) for i, (r, e) in found.items()]
    expected = {
        "event_f1": scores.f1,
        "event_precision": scores.precision,
        "event_recall": scores.recall,
        "accuracy": right / labelled,
        "events": len(listed) / hours,
        "event_delay": sum(x.delay * x.found for x in late if x.found) / scores.found,
    }
    assert got == pytest.approx(expected, rel=1e-12)


def test_without_labels_later_predictions_judge() -> None:
    got = values(result(False), f"{MINE}: rule")
    assert list(got) == ["agreement", "events"]
    found = events_of(RULE).values()
    hours = sum((rec.time[-1] - rec.time[0]) / 3600 for rec, _ in found)
    assert got["events"] == pytest.approx(sum(len(events) for _, events in found) / hours)
    by_rule = {row.name: row.measures["agreement"].value for row in result(False).rows}
    assert 1.0 < by_rule[f"{MINE}: rule"] < math.inf
    assert by_rule[f"{MINE}: rule"] > by_rule["Raw: argmax"]
    assert result(False).rows[0].measures["events"].value > 100  # the argmax of raw rows flickers


@pytest.mark.parametrize("labelled", [True, False])
def test_every_method_has_a_row_for_every_rule(labelled: bool) -> None:
    comparison = result(labelled)
    methods = ["Raw", "Hold", "Tuned", "Tuned, smoothed", MINE]
    step = 5.0
    rules = ["argmax", f"thresholds 0.5/0.35, {8 * step:g} s on, {3 * step:g} s off", "rule"]
    names = [f"{m}: {rule}" for m in methods for rule in [*rules, "majority of 9"]]
    assert [row.name for row in comparison.rows] == names
    smoothed = [row.name.partition(":")[0].endswith("smoothed") for row in comparison.rows]
    assert [row.smoothed for row in comparison.rows] == smoothed


def test_it_is_a_table_and_text() -> None:
    comparison = result(True)
    best = comparison.best("event_f1")
    assert best is not None
    by_value = {
        row.name: row.measures["event_f1"].value for row in comparison.rows if not row.smoothed
    }
    assert by_value[best] == max(by_value.values())
    for kind in KINDS:
        df = comparison.to_table(kind)
        assert column(df, "method") == [row.name for row in comparison.rows]
        assert {"event_f1", "event_f1_low", "event_delay_high"} <= set(names_of(df))
    text = str(comparison)
    head = text.splitlines()[:3]
    assert [line.split("  ")[-1].strip() for line in head] == ["start", "late by", "(s)"]
    line = next(line for line in text.splitlines() if line.startswith(f"{MINE}: rule *"))
    assert f"{100 * values(comparison, f'{MINE}: rule')['event_f1']:.1f}" in line
    assert "event F1@50 (%)" in comparison._repr_html_()


@pytest.mark.parametrize("labelled", [True, False])
def test_rows_are_compared_with_their_events_by_argmax(labelled: bool) -> None:
    recs = some() if labelled else tuple(changed(rec, label=None) for rec in some())
    by_rows = compare(recs, "strong", extra={MINE: smooth_by_hand})
    by_events = result(labelled)
    for name in ("Raw", "Hold", "Tuned", MINE):
        rows, events = values(by_rows, name), values(by_events, f"{name}: argmax")
        assert {key: rows[key] for key in rows if "event" in key} == {
            key: events[key] for key in ("events", "event_f1") if key in events
        }
    if labelled:
        known = [rec for rec in some() if rec.label is not None]
        true = sum(len(cf.label_events(rec)) for rec in known)
        hours = sum(rec.time[-1] - rec.time[0] for rec in known) / 3600
        assert by_rows.true_events == pytest.approx(true / hours)
        assert str(by_rows).endswith(f", and has {true / hours:.1f} events per hour.")
    else:
        assert math.isnan(by_rows.true_events)


def test_true_means_several_costs() -> None:
    comparison = compare(some(), "strong", events=True)
    names = [row.name.partition(": ")[2] for row in comparison.rows if row.name[:4] == "Raw:"]
    costs = [float(name.split()[1]) for name in names if name.startswith("cost")]
    calls = np.concatenate([np.diff(rec.time[rec.observed("strong")]) for rec in some()])
    assert costs == pytest.approx([share * float(np.median(calls)) for share in (0.25, 1, 4)])
    assert not any(name == "rule" for name in names)
