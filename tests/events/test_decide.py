"""`events`: tables of every kind and arrays, against the rule in plain Python."""

from __future__ import annotations

import math
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import classfilter as cf
import slow_events
from conftest import rejected
from example_tables import KINDS, NAN, column, names_of

CLASSES = ("walk", "sit", "run")
RULE = cf.EventRule(1.5)
STICKY = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 20))
MAY = datetime(2024, 5, 1, 8, tzinfo=UTC)
Rows = list[tuple[Any, ...]]


def probs_of(rows: int, seed: int) -> Any:
    """Return probabilities that follow a class for a while; multiples of 1/64 are exact."""
    rng = np.random.default_rng(seed)
    truth = np.cumsum(rng.random(rows) < 0.2) % 3
    odds = 0.2 + 4.0 * np.eye(3)[truth] * rng.random((rows, 1)) + rng.random((rows, 3))
    P = np.floor(64 * odds / odds.sum(axis=1, keepdims=True)) / 64
    P[:, 2] = 1 - P[:, 0] - P[:, 1]
    return P


def cells_of(rows: int = 40, seed: int = 0, classes: Any = CLASSES, prefix: str = "p_") -> Any:
    P = probs_of(rows, seed)
    order = [CLASSES.index(name) for name in classes]
    cells: dict[str, Any] = {"time": [2.0 * i for i in range(rows)]}
    return cells | {f"{prefix}{CLASSES[k]}": P[:, k].tolist() for k in order}


def two_streams() -> dict[str, Any]:
    """Return two streams with whole numbers for names, row by row in turn; 7 comes first."""
    one, two = cells_of(30, 1), cells_of(30, 2)
    both = {
        name: [x for pair in zip(one[name], two[name], strict=True) for x in pair] for name in one
    }
    return {"stream": [7, 3] * 30, **both}


def slow(time: Any, P: Any, cost: float = 1.5, classes: Any = CLASSES, **options: Any) -> Rows:
    """Return class, start, end and probability of each event, by the definition of the rule."""
    rule = slow_events.plain_rule(P.shape[1], cost, **options)
    found = slow_events.events(rule, np.asarray(time, float), np.asarray(P, float))
    return [(classes[e.label], e.start, e.end, e.probability) for e in found]


def rows_of(table: Any) -> Rows:
    """Return class, start, end and probability of the rows of a table of events."""
    names = ("class", "start", "end", "probability")
    rows = list(zip(*(column(table, name) for name in names), strict=True))
    lasts = [row[2] - row[1] for row in rows]
    assert column(table, "duration") == [
        x.total_seconds() if isinstance(x, timedelta) else x for x in lasts
    ]
    return rows


def same(got: Rows, expected: Rows) -> None:
    assert [row[:3] for row in got] == [row[:3] for row in expected]
    assert [row[3] for row in got] == pytest.approx([row[3] for row in expected], rel=1e-12)


# --- tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", ["p_", "f_"])
def test_a_bare_rule_takes_rows_as_they_are(kind: str, prefix: str) -> None:
    cells = cells_of(prefix=prefix)
    if prefix == "f_":  # the predictions are there too, and are not used
        cells |= {"p_walk": [0.0] * 40, "p_sit": [0.0] * 40, "p_run": [1.0] * 40}
    found = cf.events(KINDS[kind](cells), RULE)
    assert type(found) is type(KINDS[kind](cells))
    assert names_of(found) == ["class", "start", "end", "duration", "probability"]
    expected = slow(cells["time"], probs_of(40, 0))
    assert len(expected) > 3
    same(rows_of(found), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [{}, {"smooth": True}, {"smooth": True, "lag": 2}])
def test_rows_are_filtered_or_smoothed_first(kind: str, how: dict[str, Any]) -> None:
    cells = cells_of() | {"source": ["weak", "strong"] * 20}
    beta = {"weak": 0.25, "strong": 1.0}
    found = cf.events(KINDS[kind](cells), STICKY, RULE, beta=beta, **how)
    df = pl.DataFrame(cells)
    if how:
        rows = cf.smooth_table(df, STICKY, beta=beta, lag=how.get("lag"))
    else:
        rows = cf.filter_table(df, STICKY, beta=beta)
    P = rows.select("f_walk", "f_sit", "f_run").to_numpy()
    same(rows_of(found), slow(cells["time"], P))
    same(rows_of(cf.events(rows, RULE)), slow(cells["time"], P))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filtered", [False, True])
def test_streams_that_alternate_are_decided_one_by_one(kind: str, filtered: bool) -> None:
    table = KINDS[kind](two_streams())
    found = cf.events(table, STICKY, RULE) if filtered else cf.events(table, RULE)
    assert names_of(found)[0] == "stream"
    assert all(type(name) is int for name in column(found, "stream"))
    expected: Rows = []
    for stream, seed in ((7, 1), (3, 2)):
        cells, P = cells_of(30, seed), probs_of(30, seed)
        if filtered:
            STICKY.reset()
            P = STICKY.run(P, dt=np.append(0.0, np.full(29, 2.0)))
        expected += [(stream, *row) for row in slow(cells["time"], P)]
    same(rows_of(found), [row[1:] for row in expected])
    assert column(found, "stream") == [row[0] for row in expected]


@pytest.mark.parametrize("index", [["time"], ["stream"], ["stream", "time"]])
def test_an_index_of_pandas(index: list[str]) -> None:
    df = pd.DataFrame(two_streams())
    expected = cf.events(df, STICKY, RULE)
    pd.testing.assert_frame_equal(cf.events(df.set_index(index), STICKY, RULE), expected)
    df.index = pd.Index([5] * len(df))  # one that means nothing
    pd.testing.assert_frame_equal(cf.events(df, STICKY, RULE), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_dates_come_back_as_dates_in_their_zone(kind: str, zone: str | None) -> None:
    cells = cells_of()
    start = MAY.replace(tzinfo=None) if zone is None else MAY.astimezone(ZoneInfo(zone))
    dates = [start + timedelta(seconds=x) for x in cells["time"]]
    found = cf.events(KINDS[kind](cells | {"time": dates}), RULE)
    numbers = slow(cells["time"], probs_of(40, 0))
    expected = [(k, start + timedelta(0, a), start + timedelta(0, b), p) for k, a, b, p in numbers]
    same(rows_of(found), expected)
    first = column(found, "start")[0]
    assert first.utcoffset() == start.utcoffset()
    assert column(found, "duration")[0] == numbers[0][2] - numbers[0][1]


def test_text_of_dates_with_an_offset() -> None:
    times = [f"2024-05-01T08:00:{2 * i:02}+05:30" for i in range(20)]
    cells = cells_of(20) | {"time": times}
    found = cf.events(pd.DataFrame(cells), RULE)
    assert str(found["start"][0]) == "2024-05-01 08:00:00+05:30"
    expected = slow(cells_of(20)["time"], probs_of(20, 0))
    at = [(x - found["start"][0]).total_seconds() for x in found["end"]]
    assert at == [row[2] for row in expected]
    assert str(cf.events(pl.DataFrame(cells), RULE)["start"][0]) == "2024-05-01 02:30:00+00:00"


@pytest.mark.parametrize("prefix", ["p_", "f_"])
def test_units_names_of_columns_and_order(prefix: str) -> None:
    cells = cells_of(prefix=prefix)
    names = {f"p_{name}": f"{prefix}{name}" for name in CLASSES}
    expected = slow(cells["time"], probs_of(40, 0))
    shuffled = np.random.default_rng(3).permutation(40)
    df = pl.DataFrame(cells).with_columns(ts=1000 * pl.col("time")).drop("time")[shuffled.tolist()]
    for columns in (names | {"time": "ts"}, names | {"ts": "time"}):
        found = cf.events(cf.rows(df, columns=columns, unit="ms", sort=True), RULE)
        same(rows_of(found), expected)
    with pytest.raises(cf.RowError) as caught:
        cf.events(cf.rows(df, columns=columns, unit="ms"), RULE)
    back = int(np.flatnonzero(np.diff(shuffled) < 0)[0]) + 1
    assert caught.value.row == back


def test_columns_of_predictions_may_be_named_where_filtered_ones_count() -> None:
    cells = cells_of(prefix="f_") | {"walk": [1.0] * 40, "sit": [0.0] * 40, "run": [0.0] * 40}
    named = {"walk": "p_walk", "sit": "p_sit", "run": "p_run"}
    expected = slow(cells["time"], probs_of(40, 0))
    for columns in (named, {here: name for name, here in named.items()}):
        same(rows_of(cf.events(cf.rows(pl.DataFrame(cells), columns=columns), RULE)), expected)


@pytest.mark.parametrize("filter_", [STICKY, cf.StickyFilter(3, stay=0.5 ** (1 / 20))])
def test_events_have_the_classes_of_the_table_whatever_their_order(filter_: Any) -> None:
    classes = ("run", "walk", "sit") if filter_ is STICKY else CLASSES
    df = pl.DataFrame(cells_of(classes=classes))
    filter_.reset()
    P = filter_.run(probs_of(40, 0), dt=np.append(0.0, np.full(39, 2.0)))
    filter_.reset()
    same(rows_of(cf.events(df, filter_, RULE)), slow(df["time"], P))
    smoothed = cf.smooth_table(df, filter_).select("f_walk", "f_sit", "f_run").to_numpy()
    same(rows_of(cf.events(df, filter_, RULE, smooth=True)), slow(df["time"], smoothed))


def test_single_precision_and_labels() -> None:
    f = cf.StickyFilter(CLASSES, stay=0.5 ** (1 / 20), dtype=np.float32)
    df = pl.DataFrame(cells_of())
    P = cf.filter_table(df, f).select("f_walk", "f_sit", "f_run").to_numpy()
    found = rows_of(cf.events(df, f, cf.EventRule()))
    assert [row[:3] for row in found] == [row[:3] for row in slow(df["time"], P, 0.0)]
    labels = pl.DataFrame({"time": range(5), "prediction": ["a", "a", None, "b", "a"]})
    assert rows_of(cf.events(labels, cf.EventRule())) == [
        ("a", 0.0, 2.0, 1.0),
        ("b", 3.0, 4.0, 1.0),
        ("a", 4.0, 5.0, 1.0),
    ]


def test_rows_of_nan_are_unknown_and_no_event() -> None:
    cells, P = cells_of(), probs_of(40, 0)
    P[[0, 10, 11, 39]] = NAN
    cells |= {f"p_{name}": P[:, k] for k, name in enumerate(CLASSES)}
    found = rows_of(cf.events(pl.DataFrame(cells), RULE))
    same(found, slow(cells["time"], P))
    assert found[0][1] == 2.0
    assert found[-1][2] == 78.0
    assert any(row[2] == 20.0 for row in found)
    assert any(row[1] == 24.0 for row in found)
    P[:] = NAN
    cells |= {f"p_{name}": P[:, k] for k, name in enumerate(CLASSES)}
    assert rows_of(cf.events(pl.DataFrame(cells), RULE)) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("rule", [RULE, cf.ThresholdRule()])
def test_no_time_has_no_events(kind: str, rows: int, rule: Any) -> None:
    df = pl.DataFrame(two_streams()).head(rows)
    table = {"polars": df, "pandas": df.to_pandas(), "pyarrow": df.to_arrow()}[kind]
    for found in (cf.events(table, rule), cf.events(table, STICKY, rule)):
        assert names_of(found) == ["stream", "class", "start", "end", "duration", "probability"]
        assert rows_of(found) == []


# --- arrays ---------------------------------------------------------------------------------


def of_arrays(rows: int = 40, seed: int = 0, classes: Any = CLASSES, **more: Any) -> cf.Rows:
    P = probs_of(rows, seed)[:, [CLASSES.index(name) for name in classes]]
    return cf.rows(time=2.0 * np.arange(rows), source="net", probs=P, classes=classes, **more)


def test_rows_one_several_or_by_name() -> None:
    recs = [of_arrays(seed=1), of_arrays(30, 2)]
    expected = [slow(rec.time, rec.probs) for rec in recs]
    one = cf.events(recs[0], RULE)
    assert isinstance(one, cf.Events)
    assert [e.stream for e in one] == [None] * len(one)
    same([e[1:] for e in one], expected[0])
    by_name = {"a": recs[0], "b": recs[1]}
    for given_, names in ((recs, (0, 1)), (tuple(recs), (0, 1)), (by_name, "ab")):
        found = cf.events(given_, RULE)
        same([e[1:] for e in found], expected[0] + expected[1])
        streams = [names[0]] * len(expected[0]) + [names[1]] * len(expected[1])
        assert [e.stream for e in found] == streams


def test_arrays_equal_tables() -> None:
    df = pl.DataFrame(two_streams())
    for how in ({}, {"smooth": True}, {"smooth": True, "lag": 3}):
        table = cf.Events.from_table(cf.events(df, STICKY, RULE, **how))
        assert cf.events(cf.rows(df).by_stream(), STICKY, RULE, **how) == table


def test_arrays_of_dates() -> None:
    def dated(*hours: int) -> list[cf.Rows]:
        starts = [MAY.astimezone(timezone(timedelta(hours=h))).isoformat() for h in hours]
        ends = [text.replace(":00:00+", ":00:05+") for text in starts]
        both = zip(starts, ends, strict=True)
        return [
            cf.rows(time=times, source="net", probs=[[0.9, 0.1]] * 2, classes=["a", "b"])
            for times in both
        ]

    found = cf.events(dated(2), cf.EventRule())
    assert (found.dates, found.zone) == (True, "+02:00")
    assert found[0][1:4] == ("a", MAY.timestamp(), MAY.timestamp() + 10)
    assert cf.events(dated(2, 3), cf.EventRule()).zone == "UTC"
    of_numbers = cf.rows(time=[0], probs=[[0.9, 0.1]], classes=["a", "b"])
    with rejected("data"):
        cf.events([*dated(2), of_numbers], cf.EventRule())


# --- rules ----------------------------------------------------------------------------------


def test_the_rule_of_a_pipe_counts_unless_another_is_given() -> None:
    df = pl.DataFrame(cells_of())
    pipe = cf.Pipeline(STICKY, rule=RULE)
    assert cf.events(df, pipe).equals(cf.events(df, STICKY, RULE))
    other = cf.events(df, pipe, cf.EventRule(50.0))
    assert other.equals(cf.events(df, STICKY, cf.EventRule(50.0)))
    assert len(other) == 1 < len(cf.events(df, pipe))


def test_a_table_with_times_that_go_back_or_without_predictions() -> None:
    cells = cells_of(4) | {"time": [0.0, 2.0, 1.0, 3.0]}
    for arguments in ((RULE,), (STICKY, RULE)):
        with pytest.raises(cf.RowError) as caught:
            cf.events(pl.DataFrame(cells), *arguments)
        assert caught.value.row == 2
    with rejected("the table"):
        cf.events(pl.DataFrame({"time": [0.0], "f_walk": [1.0]}), RULE)


# --- labels ---------------------------------------------------------------------------------


def test_events_of_labels_are_their_stretches() -> None:
    label = [0, 0, 1, -1, 1, 1, 2]
    rec = cf.rows(
        time=[0, 1, 3, 4, 5, 9, 10],
        source="net",
        probs=np.full((7, 3), 1 / 3),
        classes=CLASSES,
        label=label,
    )
    spans = [("walk", 0.0, 3.0), ("sit", 3.0, 4.0), ("sit", 5.0, 10.0), ("run", 10.0, 11.0)]
    assert cf.label_events(rec) == [cf.Event(None, *span, None) for span in spans]
    named = cf.label_events({"ann": rec, "bob": rec})
    assert named == [cf.Event(name, *span, None) for name in ("ann", "bob") for span in spans]
    gaps = cf.label_events([rec], max_gap="2s")
    assert [e[1:4] for e in gaps][2:4] == [("sit", 5.0, 7.0), ("sit", 9.0, 10.0)]
    with rejected("rows"):
        cf.label_events([of_arrays()])
    without = cf.rows(time=[0.0], source="net", probs=np.full((1, 3), 1 / 3), classes=CLASSES)
    with pytest.raises(cf.ArgumentError, match="rows have no label in stream 'bob'; leave the"):
        cf.label_events({"ann": rec, "bob": without})


def test_without_a_cost_events_are_runs_of_the_most_probable_class() -> None:
    rec = of_arrays(seed=9)
    best = rec.probs.argmax(axis=1)
    label = cf.label_events(
        cf.rows(time=rec.time, source="net", probs=rec.probs, classes=CLASSES, label=best)
    )
    found = cf.events(rec, cf.EventRule())
    assert [e[:4] for e in found] == [e[:4] for e in label]
    assert all(e.probability is not None and not math.isnan(e.probability) for e in found)


def test_rows_as_they_are_take_memory_by_the_row() -> None:
    probs = np.random.default_rng(0).dirichlet([1.0, 1.0], 10_000)
    rows = cf.rows(time=np.arange(10_000.0), probs=probs, classes=["a", "b"])
    cf.events(rows, cf.EventRule(5.0))  # what is loaded at first does not count
    tracemalloc.start()
    try:
        cf.events(rows, cf.EventRule(5.0))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1000 * len(rows)
