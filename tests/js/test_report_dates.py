"""The page of a report writes dates in the zone of the recording, as Python does."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

ROOT = Path(__file__).parents[2]
SPRING = 1711846800.0  # 2024-03-31T01:00:00Z, when Berlin's clocks go from 2 to 3
TIMES = [SPRING - 1, SPRING, SPRING + 86400 * 200.5, 0.0, 951782400.0]
ZONES = ["Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Etc/GMT-2", "UTC"]


def test_texts_and_axes() -> None:
    midnights = [1714514400.0, 1714600800.0]  # of Berlin
    quarters = [1714513500.0, 1714514400.0, 1714515300.0]
    cases: list[dict[str, Any]] = [
        {"zone": zone, "times": TIMES} for zone in [*ZONES, "", "Mars/Olympus"]
    ]
    cases += [{"zone": "Europe/Berlin", "times": times} for times in (midnights, quarters)]
    done = subprocess.run(
        ["node", "tests/js/write_dates.mjs"],
        input=json.dumps(cases), capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    results = json.loads(done.stdout)
    for case, result in zip(cases, results, strict=True):
        known = case["zone"] in ZONES
        assert result["zone"] == (case["zone"] if known or not case["zone"] else "UTC")
        zone = ZoneInfo(case["zone"]) if known else UTC
        moments = [datetime.fromtimestamp(at, zone) for at in case["times"]]
        assert result["texts"] == [f"{at:%Y-%m-%d %H:%M:%S}" for at in moments]
    assert results[-2]["axis"] == ["2024-05-01", "2024-05-02"]
    assert results[-1]["axis"] == ["04-30 23:45", "05-01 00:00", "00:15"]
