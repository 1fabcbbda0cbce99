"""``classfilter stream --events`` of several labels at once: those of ``classfilter events``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import classfilter as cf
from label_event_cases import LABELS, random_scores

OPTIONS = ["--scores", "independent", "--half-life", "20s", "--change-cost", "5s"]
OPTIONS += ["--merge-gap", "robin=20s"]


def command(folder: Path, *arguments: str, lines: bytes = b"") -> None:
    words = [sys.executable, "-m", "classfilter", *arguments]
    subprocess.run(words, input=lines, capture_output=True, check=True, cwd=folder)


@pytest.mark.slow
def test_events_of_lines_are_those_of_the_file(tmp_path: Path) -> None:
    """Also where the command ends in the middle, and goes on from its state."""
    scores = random_scores(np.random.default_rng(8), 200)
    columns = {f"p_{name}": scores[:, k] for k, name in enumerate(LABELS)}
    time = np.arange(200) * 5.0
    df = pl.DataFrame({"time": time, "stream": ["a", "b"] * 100, **columns}).fill_nan(None)
    cf.write_table(df, tmp_path / "dawn.ndjson")
    lines = (tmp_path / "dawn.ndjson").read_bytes()
    command(tmp_path, "events", "dawn.ndjson", "-o", "offline.csv", *OPTIONS)
    command(tmp_path, "stream", *OPTIONS, "--events", "live", lines=lines)
    live = [json.loads(line) for line in (tmp_path / "live").read_text().splitlines()]
    keys = "stream", "class", "start", "end", "probability"
    found = [cf.Event(*(line[key] for key in keys)) for line in live]
    assert sorted(found) == sorted(cf.read_events(tmp_path / "offline.csv"))
    assert len({e.label for e in found}) == 3
    resumed = [*OPTIONS, "--events", "resumed", "--state", "state"]
    for end in (60, 150, 200):
        part = b"".join(lines.splitlines(keepends=True)[:end])
        command(tmp_path, "stream", *resumed, lines=part)
    text = (tmp_path / "resumed").read_text()  # the last events stay in the state
    assert text
    assert (tmp_path / "live").read_text().startswith(text)
