"""The example page in Chromium: from disk, with data in it, without a message."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
CLASSES = ['<img src=x onerror="alert(1)">', "b,c</script><b>", "plain"]
SOURCES = ["<b>weak</b>", "strong"]


def write_rows(path: Path) -> list[float]:
    """Write rows of two streams; return the times of the first one."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2.0, 1.0, 0.5], 300)
    streams = rng.choice(["ann", "bob"], 300).tolist()
    times = np.cumsum(rng.choice([1.0, 5.0], 300)).tolist()
    sources = rng.choice(SOURCES, 300).tolist()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "stream", "source", *(f"p_{name}" for name in CLASSES)])
        for time, stream, source, p in zip(times, streams, sources, probs.tolist(), strict=True):
            writer.writerow([time, stream, source, *map(repr, p)])
    return [time for time, stream in zip(times, streams, strict=True) if stream == streams[0]]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the page showed, and the times of the stream that it showed."""
    if not (ROOT / "js/node_modules").exists():
        pytest.skip("there is no Playwright; make js/node_modules installs it")
    folder = tmp_path_factory.mktemp("page")
    times = write_rows(folder / "rows.csv")
    script = str(ROOT / "tests/js/walk_page.mjs")
    process = subprocess.run(
        ["node", script, str(folder / "rows.csv"), str(folder)], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    shown: dict[str, Any] = json.loads(process.stdout)
    return shown | {"times": times, "folder": folder}


def test_nothing_goes_wrong_and_nothing_leaves(walk: dict[str, Any]) -> None:
    assert walk["messages"] == []
    assert [url for url in walk["requests"] if not url.startswith(("file:", "blob:"))] == []
    assert walk["outside"] == "blocked"


def test_it_starts_with_data_of_one_classifier(walk: dict[str, Any]) -> None:
    shown = walk["simulated"]
    assert shown["origin"].startswith("This is a simulation: one classifier")
    predicted, filtered, _ = map(int, re.findall(r"\b(\d+) (?:times|events)", shown["summary"]))
    assert 0 < filtered < predicted / 5
    assert shown["events"] > 2
    for word in ("weak", "strong", "weight", "source"):
        assert word not in shown["words"]
    assert walk["weights"]  # a file of two sources has them


def test_a_dearer_change_gives_fewer_events(walk: dict[str, Any]) -> None:
    assert walk["free"] > walk["simulated"]["events"] > walk["dear"] == 1


def test_zoom(walk: dict[str, Any]) -> None:
    first, last = walk["times"][0], walk["times"][-1]
    last += float(np.sort(np.diff(walk["times"]))[(len(walk["times"]) - 2) // 2])
    shares = [(0, 1), (1 / 4, 3 / 4), (1 / 2, 1), (1 / 4, 1), (0, 1), (1 / 4, 1 / 2), (0, 1)]
    for span, share in zip(walk["spans"], shares, strict=True):
        expected = [first + part * (last - first) for part in share]
        got = [float(end) for end in span.split(" to ")]
        assert got == pytest.approx(expected, abs=(last - first) / 100)
    assert walk["changed"]


def test_a_file_is_saved(walk: dict[str, Any]) -> None:
    with (walk["folder"] / walk["name"]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    assert {row["class"] for row in rows} <= {*CLASSES}


def test_names_are_text(walk: dict[str, Any]) -> None:
    assert walk["markup"] == 0
    assert all(name in walk["origin"] for name in (*CLASSES, *SOURCES))


def test_every_control_has_a_name_and_the_page_is_not_too_wide(walk: dict[str, Any]) -> None:
    assert walk["unnamed"] == []
    assert walk["sideways"] <= 0


def test_errors_name_the_row_and_hide_what_was_shown(walk: dict[str, Any]) -> None:
    words = "column p_b in row 0 (line 2) is 'x'; it must hold numbers"
    assert walk["bad"]["error"].startswith(words)
    assert walk["bad"]["hidden"]
    assert walk["bad"]["open"]
