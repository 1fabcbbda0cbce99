"""A report of thousands of streams in Chromium: only what is shown is unpacked and listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import classfilter as cf
import node_cases as node
from report_pages import use, write_page

STREAMS = 5000
CLASSES = ["a", "b"]


def streams() -> dict[Any, cf.Rows]:
    rng = np.random.default_rng(0)
    first = rng.random((STREAMS, 6, 1))
    probs = np.concatenate([first, 1 - first], axis=2)
    return {
        f"patient {i:04d}": cf.rows(
            time=np.arange(6) * 5.0, source="weak", probs=probs[i], classes=CLASSES
        )
        for i in range(STREAMS)
    }


def test_one_stream_is_unpacked_and_few_are_listed(tmp_path: Path) -> None:
    recs = streams()
    pipe = cf.Pipeline(cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 10)), beta={"weak": 0.5})
    write_page(recs, pipe, tmp_path / "r.html")
    steps: list[list[Any]] = [
        ["slide", "#weight0", 0.7],
        ["type", "#streamName", "patient 49"],
        ["search", "#streamName", "patient 4987"],
        ["click", "#streamAfter"],
    ]
    used = use(tmp_path / "r.html", steps)
    assert used["messages"] == []
    states = used["states"]
    assert [state["unpacked"] for state in states] == [1, 1, 1, 2, 3]
    assert max(state["offered"] for state in states) == 30
    assert all(state["elements"] < 400 for state in states)
    assert states[0]["streamCount"] == "5,000 streams: type a part of a name."
    assert states[2]["streamCount"] == (
        "100 of 5,000 streams, of which the first 30 are offered: type more letters."
    )
    assert states[3]["shownStream"] == "patient 4987"
    weights = [0.5, 0.7, 0.7, 0.7, 0.7]
    names = [*["patient 0000"] * 3, "patient 4987", "patient 4988"]
    for state, name, weight in zip(states, names, weights, strict=True):
        expected = cf.Pipeline(pipe.filter, beta=weight).run(recs[name])
        assert node.same_bits(state["data"][1], expected[:, 0]), name
