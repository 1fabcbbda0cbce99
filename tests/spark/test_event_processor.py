"""Events of live streams in the state store: those of tables, for any micro-batches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import format_for
from classfilter.spark.processor import EventProcessor
from classfilter.spark.schema import FrameFormat
from fleet_frames import BETA, CHANNEL, CLASSES, ORDER, fleet
from micro_batches import Store, Watermark, checked_columns, run_batch

NAMES = ["stream", "class", "start", "end", "duration", "probability", "status", "error", "taken"]
RULE = cf.EventRule(2.0, min_duration={"walk": 3.0}, merge_gap=1.0, max_gap=8.0)
SINGLE = cf.DirichletFilter(CLASSES[::-1], half_life=20.0, estimate="mean", dtype=np.float32)
PIPES: dict[str, tuple[cf.Pipeline, int | None]] = {
    "dirichlet": (cf.Pipeline(cf.DirichletFilter(CLASSES, half_life=5.0), rule=RULE), None),
    "single": (cf.Pipeline(SINGLE, rule=cf.EventRule(1.0, ignore="sit")), None),
    "in Python": (cf.Pipeline(cf.VoteFilter(CLASSES, 3), rule=cf.EventRule(0.5)), None),
    "lag": (cf.Pipeline(cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 5)), rule=RULE), 3),
    "lag, single": (cf.Pipeline(SINGLE, rule=cf.EventRule(1.0)), 1),
}
LABELS = ("robin", "wren")
BIRDS = cf.MultiLabelFilter(LABELS, cf.StickyFilter(2, stay=0.5 ** (1 / 5)))
BIRD_RULE = cf.EventRule(1.0, min_duration={"wren": 2.0})


class Query:
    """An event query over a table's rows, in micro-batches."""

    def __init__(
        self,
        pipe: cf.Pipeline,
        lag: int | None,
        like: pl.DataFrame,
        expire_after: float | None,
        starts: bool = False,
    ) -> None:
        table = format_for(pipe)
        self.form = FrameFormat(table, table.layout(like.columns), pipe, "quarantine")
        self.lag, self.expire_after, self.like, self.starts = lag, expire_after, like, starts
        self.store, self.newest = Store(), 0.0

    def run(self, df: pl.DataFrame, seed: int = 0, *, dates: bool = False) -> list[dict[str, Any]]:
        """Return what comes out of a micro-batch."""
        processor = EventProcessor(
            self.form,
            checked_columns(self.like),
            NAMES,
            self.expire_after,
            self.lag,
            dates,
            self.starts,
        )
        watermark = Watermark(int(self.newest * 1000))
        results, ended = run_batch(processor, self.form, self.store, watermark, df, seed)
        if self.expire_after is not None and len(df):
            self.newest = max(self.newest, float(np.nanmax(df["time"].cast(float).to_numpy())))
        return [dict(zip(NAMES, row, strict=True)) for row in results + ended]

    def last_events(self) -> list[dict[str, Any]]:
        """Return what comes out once all streams are over."""
        processor = EventProcessor(
            self.form,
            checked_columns(self.like),
            NAMES,
            self.expire_after,
            self.lag,
            dates=False,
            starts=self.starts,
        )
        processor.init(self.store)
        found: list[Any] = []
        for key, (saved,) in list(self.store.values.items()):
            processor._restore(saved, key[0])
            found += processor._last(key[0])
        return [dict(zip(NAMES, row, strict=True)) for row in found]


def keyed(rows: Any) -> Counter[Any]:
    return Counter(tuple(row[name] for name in NAMES[:6]) for row in rows)


def offline(
    df: pl.DataFrame, pipe: cf.Pipeline, lag: int | None, span: float | None
) -> Counter[Any]:
    """Return the events of the rows, each stream cut where it was silent for too long."""
    how: dict[str, Any] = {} if lag is None else {"smooth": True, "lag": lag}
    found: Counter[Any] = Counter()
    for stream in df.partition_by("stream"):
        ends = np.flatnonzero(np.diff(stream["time"]) > (np.inf if span is None else span)) + 1
        for i, j in zip([0, *ends], [*ends, len(stream)], strict=True):
            found += keyed(cf.events(stream[int(i) : int(j)], pipe, **how).to_dicts())
    return found


def cut(df: pl.DataFrame, sizes: list[int]) -> list[pl.DataFrame]:
    starts = [0, *np.cumsum(sizes).tolist()]
    ends = [*starts[1:], len(df)]
    return [df[i:j] for i, j in zip(starts, ends, strict=True) if i < min(j, len(df))]


@pytest.mark.parametrize("kind", PIPES)
@given(
    seed=st.integers(0, 2**32 - 1),
    span=st.sampled_from([None, 2.0, 8.0]),
    sizes=st.lists(st.integers(1, 25), max_size=6),
)
def test_any_micro_batches(kind: str, seed: int, span: float | None, sizes: list[int]) -> None:
    pipe, lag = PIPES[kind]
    pipe = cf.Pipeline.of(pipe, beta=BETA, channel=CHANNEL)
    df = fleet(4, 80, seed).unique(ORDER, keep="first").sort("row")
    query, out = Query(pipe, lag, df, span, starts=True), []
    ok, batches = [], cut(df, sizes)
    late: Counter[Any] = Counter()
    for part in batches:
        came = query.run(part, seed)
        refused = Counter((row["stream"], row["start"]) for row in came if row["error"])
        late += refused
        ok.append(part.sort(ORDER).filter([
            (row["stream"], row["time"]) not in refused for row in part.sort(ORDER).to_dicts()
        ]))  # fmt: skip
        out += came
    assert sum(row["taken"] for row in out) + late.total() == len(df)
    out += query.last_events()
    events = keyed(row for row in out if row["status"] == "ok")
    assert events == offline(pl.concat(ok), pipe, lag, span)
    starts = keyed(row for row in out if row["status"] == "start")
    assert starts == Counter((*event[:3], None, None, None) for event in events.elements())
    told: set[Any] = set()
    for row in out:
        told |= {tuple(row[name] for name in NAMES[:3])} if row["status"] == "start" else set()
        assert row["status"] != "ok" or tuple(row[name] for name in NAMES[:3]) in told


@pytest.mark.parametrize("lag", [None, 2])
@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(1, 15), max_size=5))
def test_several_labels(lag: int | None, seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    df = pl.DataFrame(
        {
            "time": rng.choice([0.5, 1.0, 2.5], 50).cumsum(),
            "stream": [f"s{k}" for k in rng.integers(0, 3, 50)],
            **{f"p_{name}": rng.random(50).round(2) for name in LABELS},
        }
    )
    pipe = cf.Pipeline(BIRDS, rule=BIRD_RULE)
    query, out = Query(pipe, lag, df, None), []
    for part in cut(df, sizes):
        out += query.run(part, seed)
    assert {row["status"] for row in out} <= {"ok", None}
    events = [row for row in out if row["status"] == "ok"] + query.last_events()
    assert keyed(events) == offline(df, pipe, lag, None)


def row(number: int, at: float | None, stream: str = "ann", walk: float = 0.9) -> dict[str, Any]:
    p = {"p_walk": walk, "p_sit": 0.9 - walk, "p_sleep": 0.1}
    return {"row": number, "time": at, "stream": stream, "source": "strong", **p}


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=fleet(1, 1).schema)


def strong(rule: cf.EventRule = RULE, beta: float = 1.0) -> cf.Pipeline:
    return cf.Pipeline(cf.RawFilter(CLASSES), beta=beta, rule=rule)


def test_refused_rows_come_out_with_a_reason_and_change_nothing() -> None:
    query = Query(strong(), None, fleet(1, 1), None)
    query.run(table(row(0, 5.0), row(1, 10.0)))
    before = dict(query.store.values)
    wrong, timeless = row(4, 12.0, walk=-1.0), row(5, None)
    out = query.run(table(row(2, 7.0), row(3, 10.0), wrong, timeless))
    assert query.store.values == before
    shown = sorted((str(r["start"]), r["status"], r["class"], r["end"], r["taken"]) for r in out)
    assert shown == [
        ("10.0", "duplicate", None, None, 0),
        ("12.0", "invalid", None, None, 0),
        ("7.0", "late", None, None, 0),
        ("None", "invalid", None, None, 0),
    ]
    reasons = {r["start"]: r["error"] for r in out}
    assert reasons[7.0] == "time 7.0 is before 10.0, that of the stream's last row"
    assert "class 'walk', is -1.0" in reasons[12.0]


def test_the_last_events_come_out_when_a_stream_is_over() -> None:
    query = Query(strong(cf.EventRule(1.0)), None, fleet(1, 1), 60.0)
    assert not keyed(r for r in query.run(table(row(0, 0.0), row(1, 10.0))) if r["status"])
    query.run(table(row(2, 71.0, "bob")))
    ended = [r for r in query.run(table(row(3, 72.0, "bob"))) if r["status"]]
    assert [(r["stream"], r["class"], r["start"], r["end"]) for r in ended] == [
        ("ann", "walk", 0.0, 20.0)
    ]
    assert set(query.store.values) == {("bob",)}
    # The next row is so late that the stream begins anew: its events are not lost.
    again = query.run(table(row(4, 200.0, "bob")))
    assert [(r["class"], r["start"], r["end"]) for r in again if r["status"]] == [
        ("walk", 71.0, 73.0)
    ]


def test_dates_are_microseconds() -> None:
    query = Query(strong(cf.EventRule(1.0)), None, fleet(1, 1), None)
    first = query.run(table(row(0, 0.1), row(1, 10.1), row(2, 20.1, walk=0.0)), dates=True)
    assert [r for r in first if r["status"]] == []
    second = query.run(table(*(row(3 + i, 40.1 + i, walk=0.0) for i in range(4))), dates=True)
    (event,) = [r for r in second if r["status"]]
    assert (event["start"], event["end"], event["duration"]) == (100_000, 20_100_000, 20.0)


@pytest.mark.parametrize(
    "other",
    [
        Query(strong(cf.EventRule(3.0)), None, fleet(1, 1), None),
        Query(strong(beta=0.5), None, fleet(1, 1), None),
        Query(PIPES["lag"][0], 3, fleet(1, 1), None),
    ],
)
def test_a_query_goes_on_with_the_same_settings_only(other: Query) -> None:
    query = Query(strong(), None, fleet(1, 1), None)
    query.run(table(row(0, 0.0)))
    other.store = query.store
    with pytest.raises(ValueError, match=r"'ann' was written with other settings .* or rule than"):
        other.run(table(row(1, 5.0)))


def test_another_lag_is_another_setting() -> None:
    pipe = cf.Pipeline.of(PIPES["lag"][0], beta=1.0)
    query, other = (Query(pipe, lag, fleet(1, 1), None) for lag in (3, 2))
    query.run(table(row(0, 0.0)))
    other.store = query.store
    with pytest.raises(ValueError, match="was written with other settings"):
        other.run(table(row(1, 5.0)))


def test_a_damaged_state_is_refused() -> None:
    query = Query(strong(), None, fleet(1, 1), None)
    query.run(table(row(0, 0.0)))
    ((key, (saved,)),) = query.store.values.items()
    for damaged in (saved[:-3], saved[: -len(saved) // 2], saved + b"x"):
        query.store.values[key] = (damaged,)
        with pytest.raises(ValueError, match=r"state of stream 'ann' is damaged: .*checkpointLoc"):
            query.run(table(row(1, 5.0)))
