"""The example page in Chromium: from disk, without a message, and with the bits of Python."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.config import read

ROOT = Path(__file__).parents[2]
CLASSES = ['<img src=x onerror="alert(1)">', "b,c</script><b>", "plain"]
SOURCES = ["<b>weak</b>", "strong"]


def write_rows(path: Path) -> tuple[list[str], list[float], list[str], Any]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2.0, 1.0, 0.5], 300)
    probs[10] = np.nan
    streams = rng.choice(["ann", "bob"], 300).tolist()
    times = np.cumsum(rng.choice([1.0, 5.0], 300)).tolist()
    sources = rng.choice(SOURCES, 300).tolist()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "stream", "source", *(f"p_{name}" for name in CLASSES)])
        for row in zip(times, streams, sources, probs.tolist(), strict=True):
            *first, p = row
            writer.writerow([*first, *("" if np.isnan(x) else repr(x) for x in p)])
    return streams, times, sources, probs


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, Any]:
    """Return what the page showed, the folder of its downloads, and the rows it got."""
    if not (ROOT / "js/node_modules").exists():
        pytest.skip("there is no Playwright; make js/node_modules installs it")
    folder = tmp_path_factory.mktemp("page")
    rows = write_rows(folder / "rows.csv")
    script = str(ROOT / "tests/js/use_page.mjs")
    process = subprocess.run(
        ["node", script, str(folder / "rows.csv"), str(folder)], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout), folder, rows


def test_nothing_goes_wrong_and_nothing_leaves(used: tuple[dict[str, Any], Path, Any]) -> None:
    shown, _, _ = used
    assert shown["messages"] == []
    assert [url for url in shown["requests"] if not url.startswith(("file:", "blob:"))] == []
    assert shown["outside"] == "blocked"


def test_filtering_removes_switches(used: tuple[dict[str, Any], Path, Any]) -> None:
    shown, _, _ = used
    raw, filtered = (int(shown["simulated"][key].split()[0]) for key in ("raw", "filtered"))
    assert 0 < filtered < raw / 5
    assert shown["changed"]


def test_zoom(used: tuple[dict[str, Any], Path, Any]) -> None:
    shown, _, (streams, times, _, _) = used
    own = [time for time, stream in zip(times, streams, strict=True) if stream == streams[0]]
    first, last = own[0], own[-1]
    shares = [(0, 1), (1 / 4, 3 / 4), (1 / 2, 1), (1 / 4, 1), (0, 1), (1 / 4, 1 / 2)]
    for span, share in zip(shown["spans"], shares, strict=True):
        expected = [first + part * (last - first) for part in share]
        got = [float(end) for end in span.split(" to ")]
        assert got == pytest.approx(expected, abs=(last - first) / 200)


def test_names_are_text(used: tuple[dict[str, Any], Path, Any]) -> None:
    shown, _, _ = used
    assert shown["markup"] == 0
    assert all(name in shown["summary"] for name in (*CLASSES, *SOURCES))


def test_errors_name_the_row(used: tuple[dict[str, Any], Path, Any]) -> None:
    assert used[0]["error"] == 'p_b in row 0 is "x"; give a number'


def test_downloads_are_what_python_computes(used: tuple[dict[str, Any], Path, Any]) -> None:
    _, folder, (streams, times, sources, probs) = used
    settings = read(folder / "settings.toml")
    first = sources[0]
    assert settings.weight(first) == (first, 0.2)
    assert settings.filter().gamma == pytest.approx(0.5 ** (1 / 316))
    tracker = cf.Tracker(settings)
    with (folder / "filtered.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    for row, *arguments in zip(written, streams, times, sources, probs, strict=True):
        estimate = tracker.update(*arguments)
        assert [float(row[f"f_{name}"]) for name in CLASSES] == estimate.tolist()
        assert row["class"] == CLASSES[int(estimate.argmax())]
