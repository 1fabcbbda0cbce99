"""The table of events on real data, on a few made-up trips in the same file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from experiments import event_settings, events

STEP = 5.0


def write_trips(folder: Path, streams: int = 3, rows: int = 500) -> tuple[list[int], np.ndarray]:
    """Write streams of five transport modes; return the length of each, and the true classes."""
    rng = np.random.default_rng(4)
    lengths = [rows + 20 * i for i in range(streams)]
    total = sum(lengths)
    y = np.repeat(rng.integers(5, size=total // 50 + 1), 50)[:total]
    y[:7] = -1

    def predicted(right: float) -> np.ndarray:
        shown = np.where(rng.random(total) < right, np.maximum(y, 0), rng.integers(5, size=total))
        return (0.1 + 0.5 * np.eye(5)[shown]).astype(np.float32)

    np.savez(
        folder / "geolife_streams.npz",
        lengths=np.array(lengths),
        y=y.astype(np.int8),
        weak=predicted(0.6),
        strong=predicted(0.85),
    )
    return lengths, y


def test_the_table_of_a_few_trips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths, y = write_trips(tmp_path)
    monkeypatch.chdir(tmp_path)  # the cache is there
    monkeypatch.setattr(sys, "argv", ["events", "geolife", "--data", str(tmp_path)])
    events.main()
    head, titles, *lines = capsys.readouterr().out.strip().splitlines()
    parts = np.split(y, np.cumsum(lengths)[:-1])
    runs = sum(int((part[1:] != part[:-1]).sum()) + 1 for part in parts) - 1  # one is unknown
    assert head == f"geolife: {len(lengths)} streams, {runs} true events"
    assert titles.split() == ["rows", "cost,", "s", "F1@50", "events", "rows", "right", "live"]
    assert len(lines) == 3 * len(events.COSTS)
    table: dict[tuple[str, float], list[str]] = {}
    for line in lines:
        cells = line[16:].split()
        table[line[:16].strip(), float(cells[0])] = cells
    costs = [STEP * cost for cost in events.COSTS]
    assert list(table) == [
        (kind, cost) for kind in ("strong, always", "filtered", "smoothed") for cost in costs
    ]
    with np.load(tmp_path / "geolife_streams.npz") as file:
        best = file["strong"].argmax(axis=1)
    _, f1, count, right = table["strong, always", 0.0]
    changes = sum(
        int((part[1:] != part[:-1]).sum()) + 1 for part in np.split(best, np.cumsum(lengths)[:-1])
    )
    assert count == f"{changes / runs:.1f}x"
    assert right == f"{100 * (best == y)[y >= 0].mean():.1f}%"
    assert all(table["filtered", cost][4:6] == ["0", "differ;"] for cost in costs)
    assert float(table["strong, always", 40.0][1]) > 80 > 50 > float(f1)
    filtered, smoothed = (float(table[kind, 0.0][2][:-1]) for kind in ("filtered", "smoothed"))
    assert smoothed < filtered  # the rows after it show that a change was an error
    for kind in ("strong, always", "filtered", "smoothed"):
        counts = [float(table[kind, cost][2][:-1]) for cost in costs]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.slow
def test_the_table_of_durations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths, _ = write_trips(tmp_path, streams=6)
    monkeypatch.chdir(tmp_path)
    given = ["event_settings", "geolife", "--data", str(tmp_path), "--every", "4"]
    monkeypatch.setattr(sys, "argv", given)
    event_settings.main()
    head, titles, *lines = capsys.readouterr().out.strip().splitlines()
    assert head.startswith(f"geolife, one strong call in 4: {len(lengths)} streams, ")
    assert titles.split()[-6:] == ["offline", "live", "lag", "of", "one", "call"]
    table = {line[:26].strip(): line[26:].split() for line in lines}
    names = list(table)
    assert names[0] == "argmax"
    assert names[-2:] == ["no duration", "best by labels"]
    exact = next(name for name in names if name.startswith("duration ") and ", x" not in name)
    for column in range(3):
        f1, count, right = table[exact][3 * column : 3 * column + 3]
        assert float(count[1:]) == pytest.approx(1, abs=0.03)
        assert float(f1) <= float(table["best by labels"][3 * column]) + 1
        assert float(right) > 80

    monkeypatch.setattr(sys, "argv", [*given, "--labelled", "2"])
    event_settings.main()
    _, *lines = capsys.readouterr().out.strip().splitlines()
    assert [line.split()[2:5] for line in lines] == [
        ["offline", "2", "labelled"],
        ["live", "2", "labelled"],
    ]
