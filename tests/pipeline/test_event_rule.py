"""The settings of an event rule: read as people give them, refused where they mean nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import classfilter as cf
from classfilter.tuning import TuningRecord

CLASSES = ["walk", "sit", "other"]


def test_durations_are_text_timedeltas_or_numbers() -> None:
    rule = cf.EventRule(
        "30s",
        leave_cost={"walk": timedelta(seconds=2)},
        min_duration={"walk": "500ms", "sit": 3},
        merge_gap="1min",
        pad=("200ms", 0.1),
        shift=4,
        ignore="other",
        max_gap="1h",
    )
    assert rule.change_cost == 30.0
    assert rule.leave_cost == {"walk": 2.0}
    assert rule.min_duration == {"walk": 0.5, "sit": 3.0}
    assert (rule.merge_gap, rule.pad, rule.shift, rule.max_gap) == (60.0, (0.2, 0.1), 4.0, 3600.0)
    assert rule.ignore == ("other",)


def test_a_pipe_keeps_its_rule_in_a_file(tmp_path: Path) -> None:
    rule = cf.EventRule(
        {"walk": 1.5, "sit": 0.1, "other": 1 / 3},
        min_duration={"walk": 10.0},
        evidence="log",
        min_probability=0.4,
        pad=(0.25, 0.5),
        ignore="other",
        max_delay=60,
    )
    pipe = cf.Pipeline(cf.StickyFilter(CLASSES), beta={"weak": 0.5}, rule=rule)
    pipe.save(tmp_path / "pipeline.json")
    assert cf.load(tmp_path / "pipeline.json").rule == rule
    assert cf.load(tmp_path / "pipeline.json").digest == pipe.digest
    assert (
        replace(pipe, rule=None).digest
        == cf.Pipeline(cf.StickyFilter(CLASSES), beta={"weak": 0.5}).digest
    )
    assert replace(pipe, rule=cf.EventRule(1.0)).digest != pipe.digest


def test_a_rule_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.json"
    events = '{"change_cost": "2min", "ignore": ["b"]}'
    path.write_text(f'{{"classes": ["a", "b"], "filter": "raw", "events": {events}}}')
    assert cf.load(path).rule == cf.EventRule(120.0, ignore="b")


def test_a_pipe_keeps_its_explanation_with_a_rule() -> None:
    tuned = cf.Pipeline(cf.RawFilter(["a", "b"]), tuning=TuningRecord("x", "why"))
    with_rule = replace(tuned, rule=cf.EventRule(3.0))
    assert with_rule.tuning.explain() == "why"
    assert with_rule.rule == cf.EventRule(3.0)
    assert tuned.rule is None
