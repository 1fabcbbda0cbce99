"""Live events of rows that are smoothed at a lag are those of the whole table, bit-identical."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.support.types import Floats
from entry_points import restarted

# Some random rows have steps that do not fit the filter.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")

ACTIVITIES = ["walk", "sit", "run"]
BY_HEAD = {"activity": 0.3, "alone": 0.6}
LAYOUTS = ("classes", "labels", "heads", "transitions")
SCORES = [0.0, 0.0, 1.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
ROWS = 40
THREE = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
TWO = np.array([[0.9, 0.1], [0.3, 0.7]])


class Case(NamedTuple):
    pipe: cf.Pipeline
    table: pl.DataFrame
    probs: Floats


def smoother(rng: np.random.Generator, classes: Any, dtype: str) -> Any:
    half_life = float(rng.choice([1.0, 20.0]))
    temperature = float(rng.choice([1.0, 1.4]))
    if rng.random() < 0.6:
        floor = float(rng.choice([0.001, 0.3]))  # both far from their nearest float32
        stay = 0.5 ** (1 / half_life)
        return cf.StickyFilter(classes, stay, floor=floor, temperature=temperature, dtype=dtype)
    anchor = float(rng.choice([0.0, 0.4]))
    return cf.DirichletFilter(classes, half_life=half_life, anchor=anchor, dtype=dtype)


def settings(rng: np.random.Generator, layout: str, dtype: str) -> tuple[Any, Any, Any]:
    """Return a filter, and weights and channels of its sources."""
    if layout == "transitions":
        f: Any = cf.StickyFilter(ACTIVITIES, transitions=THREE, interval=2.0, dtype=dtype)
        return f, {"w": 0.25, "s": 0.4}, None
    if layout == "classes":
        channel = {"w": cf.Channel(THREE)} if rng.random() < 0.5 else None
        return smoother(rng, ACTIVITIES, dtype), {"w": 0.25, "s": 0.4}, channel
    if layout == "labels":
        f = cf.MultiLabelFilter(["alone", "loud"], smoother(rng, 2, dtype))
        weights: Any = {"alone": 0.5, "loud": 1.0} if rng.random() < 0.5 else 0.25
        channels: Any = {"alone": cf.Channel(TWO), "loud": None}
    else:
        each = {"activity": smoother(rng, 3, dtype), "alone": smoother(rng, 2, dtype)}
        f = cf.MultiLabelFilter({"activity": ACTIVITIES, "alone": None}, each)
        weights = BY_HEAD if rng.random() < 0.5 else 0.25
        channels = {"activity": cf.Channel(THREE), "alone": cf.Channel(TWO)}
    return f, {"w": weights, "s": 0.4}, {"w": channels} if rng.random() < 0.5 else None


def case(seed: int, layout: str, dtype: str) -> Case:
    """Return settings and rows of three streams; many are certain, and some are missing."""
    rng = np.random.default_rng(seed)
    f, beta, channel = settings(rng, layout, dtype)
    T = ROWS
    exclusive = rng.choice([0.0, 0.5, 1.0], (T, 3)) + rng.choice([1e-9, 1e-3, 1.0], (T, 1))
    exclusive /= exclusive.sum(axis=1, keepdims=True)
    labels = rng.choice(SCORES, (T, 2))
    probs: Floats = exclusive if layout in ("classes", "transitions") else labels
    if layout == "heads":
        probs = np.column_stack([exclusive, labels[:, :1]])
    probs[rng.random(T) < 0.1] = np.nan
    columns: dict[str, Any] = {
        "stream": rng.choice(["a", "b", "c"], T, p=[0.6, 0.35, 0.05]),
        "time": np.cumsum(rng.choice([0.0, 0.5, 1.0, 2.0, 7.25], T)),
        "source": rng.choice(["w", "s"], T),
    }
    columns |= {f"p_{name}": probs[:, k] for k, name in enumerate(f.classes)}
    rule = cf.EventRule(float(rng.choice([0.0, 0.3, 5.0])))
    return Case(cf.Pipeline(f, beta=beta, channel=channel, rule=rule), pl.DataFrame(columns), probs)


def as_rows(events: Any) -> list[Any]:
    return sorted((e.stream, str(e.label), e.start, e.end, e.probability) for e in events)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 2**32 - 1),
    lag=st.integers(1, 12),
    restart=st.integers(0, ROWS),
)
def test_live_events_with_a_lag_are_those_of_the_table(
    layout: str, dtype: str, seed: int, lag: int, restart: int
) -> None:
    """Row by row and by tables of three, saved and loaded in the middle.

    Weights are small, so that events span predictions of 0, which a filter takes as its floor.
    """
    pipe, table, probs = case(seed, layout, dtype)
    wanted = as_rows(cf.Events.from_table(cf.events(table, pipe, smooth=True, lag=lag)))
    for at_once in (1, 3):
        tracker, found = cf.Tracker(pipe, events=True, lag=lag), list[Any]()
        for i in range(0, len(table), at_once):
            part = table[i : i + at_once]
            if i <= restart < i + at_once:
                with TemporaryDirectory() as folder:
                    tracker = restarted(tracker, Path(folder))
            stream, time, source = (part[name].to_list() for name in ("stream", "time", "source"))
            if at_once == 1:
                tracker.update(stream[0], time[0], source[0], probs[i])
            else:
                tracker.update_many(stream, time, source, probs[i : i + at_once])
            found += tracker.pop_events()
        tracker.drop(tracker.streams)
        assert as_rows([*found, *tracker.pop_events()]) == wanted


def test_a_score_of_0_in_single_precision() -> None:
    """The floor that takes its place has the same bits, live and in the table."""
    f = cf.MultiLabelFilter(["a", "b"], cf.StickyFilter(2, stay=0.5 ** (1 / 3), dtype="float32"))
    pipe = cf.Pipeline(f, beta={"w": 0.25, "s": 1.0}, rule=cf.EventRule(0.3))
    rows = [(1.0, "w", [0.7, 0.3]), (2.0, "w", [0.7, 0.0]), (3.0, "s", [0.9, 1.0])]
    table = {"time": [1.0, 2.0, 3.0], "source": ["w", "w", "s"]}
    table |= {"stream": ["x"] * 3, "p_a": [0.7, 0.7, 0.9], "p_b": [0.3, 0.0, 1.0]}
    tracker = cf.Tracker(pipe, events=True, lag=2)
    for time, source, scores in rows:
        tracker.update("x", time, source, scores)
    tracker.drop(["x"])
    wanted = cf.Events.from_table(cf.events(pl.DataFrame(table), pipe, smooth=True, lag=2))
    assert as_rows(tracker.pop_events()) == as_rows(wanted)
