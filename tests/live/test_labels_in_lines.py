"""Lines of several labels at once: each label is filtered by itself, also after a restart."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.live._ndjson import serve
from ndjson_lines import as_line

LABELS = ("robin", "wren")
CHANNEL = cf.Channel([[0.8, 0.2], [0.3, 0.7]])
PLAIN = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, half_life=10.0))
CHAINS = {
    "one weight": cf.Chain(PLAIN),
    "weights": cf.Chain(PLAIN, beta={"near": 1.0, "far": {"robin": 0.2, "wren": 0.7}}),
    "channels": cf.Chain(
        cf.MultiLabelFilter(LABELS, cf.DirichletFilter(2, half_life=10.0, dtype=np.float32)),
        channel={"far": {"robin": CHANNEL, "wren": None}},
    ),
}


def rows(seed: int, count: int = 30) -> list[dict[str, Any]]:
    """Return lines of two streams and two sources, with missing scores and equal times."""
    rng = np.random.default_rng(seed)
    scores = rng.random((count, len(LABELS))).tolist()
    time = np.cumsum(rng.choice([0.0, 1.0, 4.0], count)).tolist()
    return [
        {"time": time[i], "stream": "ab"[rng.integers(2)], "source": ["near", "far"][i % 2]}
        | {f"p_{n}": p if rng.random() < 0.8 else None for n, p in zip(LABELS, row, strict=True)}
        for i, row in enumerate(scores)
    ]


def served(
    lines: list[dict[str, Any]], chain: Any, state: Path | None = None, **how: Any
) -> tuple[list[Any], str]:
    """Return the results of lines, and the messages."""
    make: Callable[[Any], Any] = chain if callable(chain) else lambda _: chain
    messages = io.StringIO()
    with TemporaryFile() as source, TemporaryFile() as sink:
        source.write(b"".join(map(as_line, lines)))
        source.seek(0)
        given: Any = {"source": source.fileno(), "sink": sink.fileno(), "errors": messages}
        serve(make, state=state, every=1000.0, **given, **how)
        sink.seek(0)
        return [json.loads(line) for line in sink], messages.getvalue()


def by_lanes(lines: list[dict[str, Any]], chain: cf.Chain) -> list[list[float]]:
    """Return the results of each line by the label's own chain of two classes."""
    found = [[0.0] * len(LABELS) for _ in lines]
    for k, label in enumerate(LABELS):
        for stream in "ab":
            mine = [i for i, row in enumerate(lines) if row["stream"] == stream]
            if not mine:
                continue
            on = [lines[i][f"p_{label}"] for i in mine]
            two = [[np.nan] * 2 if p is None else [1 - p, p] for p in on]
            if chain.filter().dtype == np.float32:
                s = np.array(on, float).astype(np.float32)
                two = np.stack([1 - s, s], axis=1).tolist()
            rec = cf.Recording(
                [lines[i]["time"] for i in mine], [lines[i]["source"] for i in mine], two,
                classes=(f"not {label}", label),
            )  # fmt: skip
            for i, p in zip(mine, chain.lane(label).run(rec)[:, 1].tolist(), strict=True):
                found[i][k] = p
    return found


@pytest.mark.parametrize("kind", CHAINS)
@given(seed=st.integers(0, 10_000), cut=st.integers(0, 30), back=st.integers(0, 10))
def test_each_label_by_itself_and_after_a_restart(
    kind: str, seed: int, cut: int, back: int
) -> None:
    lines, chain = rows(seed), CHAINS[kind]
    results, messages = served(lines, chain, scores="independent")
    assert messages == ""
    expected = by_lanes(lines, chain)
    assert [[row[f"f_{name}"] for name in LABELS] for row in results] == expected
    for row, given_line, p in zip(results, lines, expected, strict=True):
        assert row["labels"] == [n for n, x in zip(LABELS, p, strict=True) if x > 0.5]
        assert {**row, **given_line} == row
    with TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        before, _ = served(lines[:cut], chain, state)
        after, _ = served(lines[max(cut - back, 0) :], chain, state)
    assert before + after == results


def test_one_label_by_one_key() -> None:
    f = cf.MultiLabelFilter(["speech"], cf.StickyFilter(2, half_life=10.0))
    lines = [{"time": t, "p_speech": p} for t, p in enumerate([0.9, 0.8, None, 0.1])]
    two = [[np.nan] * 2 if p is None else [1 - p, p] for p in (0.9, 0.8, None, 0.1)]
    lane = cf.StickyFilter(2, half_life=10.0).run(two, dt=[0.0, 1.0, 1.0, 1.0])[:, 1].tolist()
    results, _ = served(lines, cf.Chain(f), independent=True)
    assert [row["f_speech"] for row in results] == lane
    assert [row["labels"] for row in results] == [["speech"] if p > 0.5 else [] for p in lane]
    bare = [{"time": row["time"], "speech": row["p_speech"]} for row in lines]
    again, messages = served(bare, cf.Chain(f), scores="independent", classes=("speech",))
    assert [row["f_speech"] for row in again] == lane, messages
    percent = [{"time": 0, "p_speech": 90}]
    (row,), _ = served(percent, cf.Chain(f), scores="percent", independent=True)
    assert row["f_speech"] == lane[0]
    (row,), _ = served(
        [{"time": 0, "p_speech": -1000}], cf.Chain(f), scores="logits", independent=True
    )
    floored = cf.StickyFilter(2, half_life=10.0).update([1.0, 0.0])[1]
    assert row["f_speech"] == floored


def test_earlier_results_are_replaced() -> None:
    first, _ = served(rows(1), CHAINS["one weight"])
    again, messages = served(first, CHAINS["one weight"], scores="independent")
    assert again == first
    assert messages == ""


GOOD = {"time": 0, "p_robin": 0.7, "p_wren": 0.6}
INVALID: list[tuple[dict[str, Any], str]] = [
    (GOOD | {"p_wren": 1.2}, "'p_wren' is 1.2; it must lie in [0, 1]"),
    (GOOD | {"p_wren": -0.1}, "'p_wren' is -0.1; it must lie in [0, 1]"),
    (GOOD | {"p_wren": True}, "'p_wren' is True; it must be a number, or null"),
    (GOOD | {"p_wren": "0.5"}, "'p_wren' is '0.5'; it must be a number, or null"),
    (GOOD | {"p_wren": 10**400}, "they must be finite"),
    ({"time": 0, "p_robin": 0.7}, "'p_wren' is missing"),
    ({"time": 0, "prediction": "robin"}, "has no keys p_<label>"),
    (GOOD | {"f_robin": 0.1}, "already has ['f_robin']"),
]


@pytest.mark.parametrize(("row", "why"), INVALID)
def test_invalid_lines_change_nothing(row: dict[str, Any], why: str) -> None:
    plain, _ = served([GOOD, GOOD], CHAINS["one weight"])
    results, messages = served([GOOD, row, GOOD], CHAINS["one weight"])
    assert messages.startswith("line 2: ")
    assert why in messages
    assert results == plain


def test_a_first_line_that_is_invalid() -> None:
    results, messages = served([INVALID[0][0], GOOD], CHAINS["one weight"])
    assert messages.startswith("line 1: 'p_wren' is 1.2; it must lie in [0, 1]")
    assert len(results) == 1


def test_exclusive_classes_take_no_independent_scores() -> None:
    with pytest.raises(cf.ArgumentError, match="exclude each other; give a MultiLabelFilter"):
        served([GOOD], lambda names: cf.Chain(cf.StickyFilter(names)), scores="independent")
