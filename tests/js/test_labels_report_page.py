"""The report on several labels at once in Chromium: each label with the bits of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import classfilter as cf
import node_cases as node
from classfilter.pipeline import under_rule
from label_report import LABELS, label_recordings, label_settings
from report_pages import use
from saved_files import loaded

STEPS: list[list[Any]] = [
    ["slide", "#weight0", 0.4],
    ["stream", "1"],
    ["stream", "5"],
    ["open", "details >> nth=1"],
]


def test_each_label_can_be_played_with(tmp_path: Path) -> None:
    tuned, recs = under_rule(label_settings(), cf.EventRule(7.0)), label_recordings()
    cf.report(recs, tmp_path / "labels.html", tuned)
    result = use(tmp_path / "labels.html", STEPS)
    assert result["messages"] == []
    assert result["markup"] == 0
    states = result["states"]
    garden, wood = recs.values()
    for state, rec, k in ((0, garden, 0), (2, garden, 1), (3, wood, 2)):
        shown = states[state]
        assert shown["message"] is None
        pipe = loaded(shown["json"])
        assert pipe.classes == (f"not {LABELS[k]}", LABELS[k])
        assert pipe.settings["options"] == tuned.head(LABELS[k]).settings["options"]
        expected = tuned.run(rec)[:, k]
        assert node.same_bits(shown["data"][2], expected)
        np.testing.assert_array_equal(node.decode(shown["data"][0], np.float64), rec.time)
        name = next(name for name in recs if recs[name] is rec)
        events = [event for event in cf.events({name: rec}, tuned) if event.label == LABELS[k]]
        assert [event[0] for event in shown["events"]] == [event.label for event in events]
        for i, values in enumerate(zip(*(event[2:] for event in events), strict=True), 1):
            bits = [float(node.decode(event[i], np.float64)[0]) for event in shown["events"]]
            assert bits == list(values)
        assert events
        assert pipe.rule == tuned.head(LABELS[k]).rule
    assert states[1]["data"] != states[0]["data"]
    assert loaded(states[1]["json"]).weight("mic") == ("mic", 0.4)
