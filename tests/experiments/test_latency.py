"""The table of alarms: how soon they come, and how many are false, against cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import latency


def test_a_lower_cost_gives_more_alarms_sooner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    label = np.tile(np.repeat(["rest", "fall"], [300, 60]), 6)
    p = np.clip(np.where(label == "fall", 0.7, 0.3) + rng.normal(0, 0.25, len(label)), 0, 1)
    table = np.c_[np.arange(len(label)), 1 - p, p, label]
    file = tmp_path / "falls.csv"
    np.savetxt(file, table, "%s", ",", header="time,p_rest,p_fall,label", comments="")
    latency.main([str(file), "fall", "--event-duration", "180s", "--max-delay", "60"])
    head, _, *lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (head, *lines)]
    assert tuple(rows[0]) == latency.COLUMNS
    of_costs, split, delayed = rows[1:7], rows[7], rows[8]
    seconds = [float(row[6].removesuffix(" s")) for row in of_costs if row[6]]
    assert seconds == sorted(seconds)
    assert seconds[0] < float(of_costs[0][7].removesuffix(" s"))
    tuned = of_costs[latency.COSTS.index(1.0)]
    assert tuned[4] == "6 of 6"
    assert split[3:] == tuned[3:], "with two classes only the sum of the costs counts"
    assert delayed[2] == "60"
