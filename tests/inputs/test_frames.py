"""Tables: streams are filtered separately, and rows keep their place."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter import filter_table
from conftest import rejected
from example_tables import BETA, KINDS, NAN, column, columns, names_of, tables, walk_sit

# --- dataframes -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_to_table_and_back(kind: str) -> None:
    probs = [[0.7, 0.3], [NAN, NAN], [0.5, 0.5]]
    rec = cf.rows(
        time=[0, 5, 5],
        source=["a", "b", "a"],
        probs=probs,
        classes=["walk", "sit"],
        label=[1, -1, 0],
    )
    df = rec.to_table(kind)
    assert type(df) is (pa.Table if kind == "pyarrow" else KINDS[kind])
    assert names_of(df) == ["time", "source", "label", "p_walk", "p_sit"]
    assert column(df, "source") == ["a", "b", "a"]
    label = column(df, "label")
    assert (label[0], label[2]) == ("sit", "walk")
    assert pd.isna(label[1])
    again = cf.rows(df)
    assert again.classes == rec.classes
    for name in ("time", "source", "sources", "probs", "label"):
        np.testing.assert_array_equal(getattr(again, name), getattr(rec, name))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_labels_or_sources(kind: str) -> None:
    rec = cf.rows(KINDS[kind](columns(source=None)))
    assert rec.label is None
    assert rec.sources == ("default",)
    assert "label" not in names_of(rec.to_table(kind))


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "ä", "", "a much longer name"]), st.integers(1, 9))
    )
)
def test_text_as_codes_in_order_of_appearance(runs: list[tuple[str, int]]) -> None:
    """In short runs and in long ones, in one chunk and in two."""
    cells = [cell for cell, count in runs for _ in range(count)]
    half = len(cells) // 2
    series = pl.concat([pl.Series(part, dtype=pl.String) for part in (cells[:half], cells[half:])])
    numbers = range(len(cells))
    df = pl.DataFrame({"time": numbers, "stream": series, "p_a": 0.5, "p_b": 0.5})
    rows = cf.rows(df.filter(pl.col("stream") != ""))
    named = [cell for cell in cells if cell]
    assert rows.streams == tuple(dict.fromkeys(named))
    assert [rows.streams[code] for code in rows.stream] == named


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_labels(kind: str) -> None:
    df = cf.rows(time=[0], source="a", probs=[[0.5, 0.5]], classes=2, label=[-1]).to_table(kind)
    label = cf.rows(df).label
    assert label is not None
    assert label.tolist() == [-1]
    if isinstance(df, pl.DataFrame):
        assert df.schema["label"] == pl.String


def test_one_stream_in_any_order_of_time() -> None:
    df = pl.DataFrame(columns(time=[5.0, 0.0, 5.0]))
    with rejected("time", row=1):
        cf.rows(df)
    rec = cf.rows(df, sort=True)[None]
    assert rec.source_names.tolist() == ["strong", "weak", "weak"]
    assert rec.probs[:, 0].tolist() == [0.1, 0.7, 0.5]


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(kind: str) -> None:
    df = KINDS[kind]({name: [] for name in columns(stream=[])})
    assert len(cf.rows(df)) == 0
    assert cf.rows(df).by_stream() == {}
    out = filter_table(df, walk_sit(), beta=BETA)
    assert names_of(out) == [*columns(stream=[]), "f_walk", "f_sit", "class"]
    assert column(out, "class") == []


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_streams(kind: str) -> None:
    df = KINDS[kind](columns(stream=[7, 3, 7], label=["sit", "walk", None]))
    streams = cf.rows(df).by_stream()
    assert list(streams) == [7, 3]  # in order of appearance
    assert streams[7].time.tolist() == [0.0, 5.0]
    assert streams[7].source_names.tolist() == ["weak", "weak"]
    assert streams[7].probs.tolist() == [[0.7, 0.3], [0.5, 0.5]]
    first, second = streams[7].label, streams[3].label
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.tolist()) == ([1, -1], [0])
    assert list(cf.rows(KINDS[kind](columns())).by_stream()) == [None]


@pytest.mark.parametrize(
    ("classes", "label", "expected"),
    [
        (("walk", "sit"), ["sit", None, "walk"], [1, -1, 0]),
        (("walk", "sit"), [1, -1, 0], [1, -1, 0]),
        (("walk", "sit"), ["1", "-1", "0"], [1, -1, 0]),  # as a CSV file has them
        (("2", "1"), [1, -1, 2], [1, -1, 0]),  # numbers that are names
        (("2", "1"), ["1", None, "2"], [1, -1, 0]),
        (("2", "1"), [1.0, NAN, 2.0], [1, -1, 0]),
        (("0", "1"), [1, -1, 0], [1, -1, 0]),
        (("-1", "1"), [1, None, -1], [1, -1, 0]),
        (("1", "one"), ["one", "1", "0"], [1, 0, 0]),  # a name comes before an index
    ],
)
def test_labels_in_a_table(classes: Any, label: list[Any], expected: list[int]) -> None:
    cells = {"time": [0, 1, 2], "label": label} | {f"p_{name}": [0.5] * 3 for name in classes}
    for kind in KINDS.values():
        indices = cf.rows(kind(cells)).label
        assert indices is not None
        assert indices.tolist() == expected


@pytest.mark.parametrize(
    "df",
    [
        pl.DataFrame(columns(p_walk=[0.7, None, 0.5], p_sit=[0.3, None, 0.5])),
        pl.DataFrame(columns(p_walk=[0.7, NAN, 0.5], p_sit=[0.3, None, 0.5])),
        pd.DataFrame(columns(p_walk=[0.7, None, 0.5], p_sit=[0.3, None, 0.5]), dtype=object),
        pa.table(columns(p_walk=[0.7, None, 0.5], p_sit=[0.3, None, 0.5])),
    ],
)
def test_all_null_is_a_missing_observation(df: Any) -> None:
    rec = cf.rows(df)
    assert np.isnan(rec.probs).tolist() == [[False] * 2, [True] * 2, [False] * 2]


def test_decimals_are_numbers_and_nanoseconds_are_exact() -> None:
    df = pl.DataFrame(columns(time=[0, 1500, 2000])).with_columns(
        pl.col("time").cast(pl.Datetime("ns")), pl.col("p_walk", "p_sit").cast(pl.Decimal(5, 2))
    )
    rec = cf.rows(df)
    assert rec.time.tolist() == [0.0, 1.5e-6, 2e-6]
    assert rec.probs.tolist() == [[0.7, 0.3], [0.1, 0.9], [0.5, 0.5]]


def test_columns_of_nothing_but_null() -> None:
    """A CSV file of missing observations has columns of no type."""
    nothing = [None] * 3
    for kind in KINDS.values():
        rec = cf.rows(kind(columns(p_walk=nothing, p_sit=nothing)))
        assert np.isnan(rec.probs).all()


# --- filtering ------------------------------------------------------------------------------


def filter_rows(cells: dict[str, Any], f: cf.DirichletFilter, beta: dict[str, float]) -> Any:
    """A loop over the rows, with one filter and one clock per stream."""
    filters: dict[Any, cf.DirichletFilter] = {}
    clock: dict[Any, float] = {}
    out = []
    for row in range(len(cells["time"])):
        stream, now = cells["stream"][row], cells["time"][row]
        if stream not in filters:
            filters[stream], clock[stream] = f.copy(), now
        probs = [cells[f"p_{name}"][row] for name in f.classes]
        weight = beta[cells["source"][row]]
        out.append(filters[stream].update(probs, beta=weight, dt=now - clock[stream]))
        clock[stream] = now
    return np.array(out)


@pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
@given(tables(), st.randoms(use_true_random=False))
def test_rows_in_any_order_of_time(cells: dict[str, Any], random: Any) -> None:
    """Rows of equal time are interchangeable only in order, so all times differ."""
    rows = len(cells["time"])
    cells = cells | {"time": [t + i for i, t in enumerate(cells["time"])]}
    order = random.sample(range(rows), rows)
    mixed = {name: [column[i] for i in order] for name, column in cells.items()}
    classes = [name[2:] for name in cells if name.startswith("p_")]
    f = cf.DirichletFilter(classes)
    out = filter_table(cf.rows(pl.DataFrame(mixed), sort=True), f, beta=BETA)
    assert out["note"].to_list() == mixed["note"]
    expected = filter_rows(cells, f, BETA)[order]
    assert out.select(f"f_{c}" for c in classes).to_numpy().tobytes() == expected.tobytes()
    for stream, rec in cf.rows(pl.DataFrame(mixed), sort=True).by_stream().items():
        times = [t for t, s in zip(cells["time"], cells["stream"], strict=True) if s == stream]
        assert rec.time.tolist() == times


def test_the_index_of_pandas_stays_and_the_input_does_not_change() -> None:
    df = pd.DataFrame(columns(), index=pd.Index(["x", "y", "x"], name="who"))
    before = df.copy()
    out = filter_table(df, walk_sit(), beta=BETA)
    pd.testing.assert_frame_equal(df, before)
    pd.testing.assert_frame_equal(out[df.columns], before)
    assert out["f_walk"].notna().all()
    plain = filter_table(pd.DataFrame(columns()), walk_sit(), beta=BETA)
    assert out["f_walk"].tolist() == plain["f_walk"].tolist()


def test_types_of_the_original_columns_stay() -> None:
    df = pl.DataFrame(columns(time=[0, 5, 5]) | {"day": [date(2024, 5, 1)] * 3}).with_columns(
        pl.col("source").cast(pl.Categorical), pl.col("p_sit").cast(pl.Float32)
    )
    out = filter_table(df, walk_sit(), beta=BETA)
    assert out.select(df.columns).schema == df.schema
    assert out.select(df.columns).equals(df)


def test_the_filter_does_not_change_and_its_state_is_not_used() -> None:
    df = pl.DataFrame(columns(stream=["a", "b", "a"]))
    used = walk_sit()
    used.run([[0.0, 1.0]] * 20)
    before = used.alpha
    assert filter_table(df, used, beta=BETA).equals(filter_table(df, walk_sit(), beta=BETA))
    assert used.alpha.tobytes() == before.tobytes()


def test_labels_do_not_matter_for_filtering() -> None:
    df = pl.DataFrame(columns(label=["?", "?", "?"]))
    assert filter_table(df, walk_sit(), beta=BETA)["label"].to_list() == ["?"] * 3
