"""The Tracker of JavaScript on the hostile rows: the rules of all entry points, to the bit."""

from __future__ import annotations

import base64
import json
import math
import subprocess
from typing import Any

import pytest

import classfilter as cf
from differences import part
from entry_points import PIPE, same
from expected_rows import Result, Taken, as_numbers, expected
from hostile_rows import CASES, Case, Expire, Row
from node_cases import ROOT
from saved_files import file_of

OPTIONS = {"expire_after": "expireAfter", "max_streams": "maxStreams", "max_jump": "maxJump"}
APPLIES = [part(case, "JavaScript") for case in CASES]


def number(x: float) -> float | str:
    """Return a number, or text where JSON has none."""
    return "NaN" if math.isnan(x) else x


def as_json(step: Any) -> dict[str, Any]:
    if isinstance(step, Expire):
        return {"expire": step.now}
    assert isinstance(step, Row)
    probs = [number(p) for p in as_numbers(step.probs, step.source)]
    return {"row": [step.stream, number(step.time), step.source, probs]}


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """What Node makes of all cases, in one process."""
    sent = []
    for case in APPLIES:
        config = file_of(cf.Pipeline(case.fresh(), **PIPE))
        options = {OPTIONS[name]: value for name, value in case.limits.items()}
        steps = [as_json(step) for step in case.steps]
        sent.append({"config": config, "options": options, "steps": steps})
    process = subprocess.run(
        ["node", "tests/js/run_hostile_rows.mjs"],
        input=json.dumps(sent, allow_nan=False),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr
    return dict(zip(map(str, APPLIES), json.loads(process.stdout), strict=True))


def _result(step: dict[str, Any]) -> Any:
    if "estimate" in step:
        return Taken(base64.b64decode(step["estimate"]), step["label"])
    return step.get("over")


@pytest.mark.parametrize("case", APPLIES, ids=str)
def test_as_the_rules_and_plain_filters(case: Case, results: dict[str, Any]) -> None:
    result = results[case.name]
    assert "failed" not in result
    same(Result([_result(step) for step in result["results"]], result["streams"]), expected(case))
