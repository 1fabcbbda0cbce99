"""Reports for tests in Chromium: streams, pages, and what a page shows after some steps."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.report.page import fill_page
from classfilter.report.page_data import page_data

ROOT = Path(__file__).parents[1]
CLASSES = ["</script><img src=x onerror=alert(1)>", "\"'><u>\u2028", "__proto__", "plain"]
SOURCES = ["<i>strong</i>", "constructor"]


def streams(names: tuple[Any, Any] = (CLASSES, SOURCES)) -> dict[str, cf.Rows]:
    """Return two streams of two sources; the second one has a pause, gaps and equal times."""
    recs = {}
    for seed in range(2):
        day = cf.simulate("plain", hours=1.5, seed=seed).rows()
        probs, time = day.probs.copy(), day.time.copy()
        if seed:
            probs[40:44] = np.nan
            time[500:] += 3000.0
            time[700:720:2] = time[701:721:2]  # two rows of one time
        source = np.where(day.of_source("strong"), *names[1])
        hard = (np.arange(len(day)) // 50 == 2) & (day.of_source("weak"))  # classes, no confidence
        probs[hard] = np.eye(len(names[0]))[probs[hard].argmax(axis=1)]
        recs[f"<u>{seed}</u>"] = cf.rows(
            time=time, source=source, probs=probs, classes=names[0], label=day.label, one_hot=hard
        )
    return recs


def use(path: Path, steps: list[list[Any]]) -> dict[str, Any]:
    """Open a report in Chromium, take steps, and return what it shows after each."""
    if not (ROOT / "js/node_modules").exists():
        pytest.skip("there is no Playwright; make js/node_modules installs it")
    command = ["node", str(ROOT / "tests/js/use_report.mjs"), str(path), str(path.parent)]
    process = subprocess.run(command, input=json.dumps(steps), capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def write_page(recs: dict[Any, cf.Rows], pipe: cf.Pipeline | None, path: Path) -> Path:
    """Write a report without the tables, which take a while to compute; or the empty page."""
    data = None if pipe is None else page_data(list(recs.items()), pipe)
    path.write_text(fill_page("", "", [], data), "utf-8")
    return path
