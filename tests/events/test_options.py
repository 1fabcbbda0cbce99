"""The table of the rule's options: each of them changes the events, wherever rules are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from website.rule_options import texts

import classfilter as cf
from classfilter import _core
from classfilter.embedded import export
from classfilter.events import OPTIONS
from conftest import Run

SOURCE = Path(cf.__file__).parent
NAMES = ("walk", "sit", "other")
TIME = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21, 22, 23, 24.0])
WALKS = [0.9, 0.8, 0.2, 0.9, 0.45, 0.4, 0.1, 0.1, 0.6, 0.1, 0.1, 0.2, 0.9, 0.9, 0.1]
PROBS = np.array([[walk, (1 - walk) * 0.7, (1 - walk) * 0.3] for walk in WALKS])
ROWS = cf.rows(time=TIME, probs=PROBS, classes=NAMES)
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "change_cost": ({}, 0.6),
    "leave_cost": ({}, {"walk": 0.9}),
    "min_duration": ({}, 3.0),
    "merge_gap": ({"ignore": ["sit", "other"]}, 2.0),
    "bias": ({}, {"walk": 0.5}),
    "evidence": ({"change_cost": 0.6}, "log"),
    "min_probability": ({}, 0.5),
    "pad": ({"ignore": ["sit", "other"]}, (0.25, 0.5)),
    "shift": ({}, 0.5),
    "ignore": ({}, ("sit",)),
    "max_gap": ({}, 2.0),
    "max_duration": ({}, 1.5),
    "max_delay": ({"change_cost": 2.0, "min_duration": {"walk": 2.0}}, 2.0),
}
"""By option: others that are needed, and a value that changes the events."""


def rules(name: str) -> tuple[cf.EventRule, cf.EventRule]:
    others, value = CASES[name]
    return cf.EventRule(**others), cf.EventRule(**{**others, name: value})


def live(rule: cf.EventRule) -> list[Any]:
    tracker = cf.Tracker(cf.RawFilter(NAMES), events=rule)
    for time, row in zip(TIME, PROBS, strict=True):
        tracker.update("ann", time, "default", row)
    tracker.drop(["ann"])
    return [event[1:] for event in tracker.pop_events()]


def test_every_option_has_a_case() -> None:
    assert list(CASES) == list(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_changes_the_events(name: str) -> None:
    without, with_it = rules(name)
    for events in (lambda rule: cf.events(ROWS, cf.RawFilter(NAMES), rule), live):
        assert list(events(with_it)) != list(events(without))
    assert with_it.settings.keys() - without.settings.keys() <= {name}


def test_the_command_line_has_every_option(run: Run) -> None:
    text = " ".join(run("events", "--help")[1].split())
    for name, option in OPTIONS.items():
        assert f" --{name.replace('_', '-')} " in text
        assert option.says in text


@pytest.mark.parametrize("name", OPTIONS)
def test_the_firmware_has_every_option(name: str, tmp_path: Path) -> None:
    texts: list[str] = []
    for rule in rules(name):
        pipe = cf.Pipeline(cf.DirichletFilter(NAMES, half_life=5.0), rule=rule)
        export(pipe, tmp_path / str(len(texts)), "walk", tick=0.25)
        texts.append((tmp_path / str(len(texts)) / "src" / "cf_config.h").read_text())
    assert texts[0] != texts[1]


def test_javascript_and_the_docs_have_the_table() -> None:
    """What was forgotten, ``python -m website.rule_options`` writes."""
    for path, text in texts().items():
        assert path.read_text(encoding="utf8") == text, path.name


def test_the_core_has_what_the_rule_sends() -> None:
    """A number that the struct of the core does not have, or the other way round."""
    text = (SOURCE / "csrc/cf.h").read_text()
    struct = re.search(r"typedef struct \{([^}]*)\} cf_events_f64;", text)
    assert struct
    code = re.sub(r"/\*.*?\*/", "", struct[1])
    fields = [*re.findall(r"(\w+)(?=[,;])", code), *_core.EVENT_TIMES]
    sent = cf.EventRule().numbers(NAMES)
    assert set(fields) == {"classes", *sent}
