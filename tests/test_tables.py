"""Tables and files: streams are kept apart, rows stay in place, and nothing is lost on disk."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import classfilter as cf
from classfilter.recording import Recording
from classfilter.tables import (
    filter_table,
    read_table,
    recordings,
    replacing,
    write_table,
)
from streams import options, random_stream

NAN = float("nan")
KINDS: dict[str, Any] = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}
BETA = {"weak": 0.25, "strong": 1.0}
FILES = [".csv", ".parquet", ".ndjson", ".jsonl"]


def columns(**changed: Any) -> dict[str, Any]:
    """Three good rows, save for what is changed; None drops a column."""
    good: dict[str, Any] = {
        "time": [0.0, 5.0, 5.0],
        "source": ["weak", "strong", "weak"],
        "p_walk": [0.7, 0.1, 0.5],
        "p_sit": [0.3, 0.9, 0.5],
    }
    return {name: cells for name, cells in (good | changed).items() if cells is not None}


def walk_sit(**settings: Any) -> cf.DirichletFilter:
    return cf.DirichletFilter(["walk", "sit"], **settings)


def column(df: Any, name: str) -> list[Any]:
    """The cells of a column, by the library's own means."""
    if isinstance(df, pa.Table):
        return list(df[name].to_pylist())
    return list(df[name].to_list())


def names_of(df: Any) -> list[str]:
    return list(df.column_names if isinstance(df, pa.Table) else df.columns)


# --- dataframes -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_to_table_and_back(kind: str) -> None:
    probs = [[0.7, 0.3], [NAN, NAN], [0.5, 0.5]]
    rec = Recording([0, 5, 5], ["a", "b", "a"], probs, ["walk", "sit"], [1, -1, 0])
    df = rec.to_table(kind)
    assert type(df) is (pa.Table if kind == "pyarrow" else KINDS[kind])
    assert names_of(df) == ["time", "source", "label", "p_walk", "p_sit"]
    assert column(df, "source") == ["a", "b", "a"]
    label = column(df, "label")
    assert (label[0], label[2]) == ("sit", "walk")
    assert pd.isna(label[1])
    again = Recording.from_table(df)
    assert again.classes == rec.classes
    for name in ("time", "source", "probs", "label"):
        np.testing.assert_array_equal(getattr(again, name), getattr(rec, name))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_labels_or_sources(kind: str) -> None:
    rec = Recording.from_table(KINDS[kind](columns(source=None)))
    assert rec.label is None
    assert rec.sources == ("default",)
    assert "label" not in names_of(rec.to_table(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_knows_the_label(kind: str) -> None:
    df = Recording([0], "a", [[0.5, 0.5]], 2, [-1]).to_table(kind)
    found = Recording.from_table(df).label
    assert found is not None
    assert found.tolist() == [-1]


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(kind: str) -> None:
    df = KINDS[kind]({name: [] for name in columns(stream=[])})
    assert len(Recording.from_table(df)) == 0
    assert recordings(df) == {}
    out = filter_table(df, walk_sit(), BETA)
    assert names_of(out) == [*columns(stream=[]), "f_walk", "f_sit", "class"]
    assert column(out, "class") == []


@pytest.mark.parametrize("kind", KINDS)
def test_recordings_of_streams(kind: str) -> None:
    df = KINDS[kind](columns(stream=[7, 3, 7], label=["sit", "walk", None]))
    found = recordings(df)
    assert list(found) == [7, 3]  # in order of appearance
    assert found[7].time.tolist() == [0.0, 5.0]
    assert found[7].source.tolist() == ["weak", "weak"]
    assert found[7].probs.tolist() == [[0.7, 0.3], [0.5, 0.5]]
    first, second = found[7].label, found[3].label
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.tolist()) == ([1, -1], [0])
    assert list(recordings(KINDS[kind](columns()))) == [None]


@pytest.mark.parametrize("kind", KINDS)
def test_dates_in_a_table(kind: str) -> None:
    naive = [datetime(2024, 5, 1, 8, 0, s, 250000) for s in (0, 5, 5)]
    aware = [moment.replace(tzinfo=timezone.utc) for moment in naive]
    want = [moment.timestamp() for moment in aware]
    text = [moment.isoformat() for moment in aware]
    for time in (naive, aware, text):
        assert Recording.from_table(KINDS[kind](columns(time=time))).time.tolist() == want


def test_dates_of_every_library() -> None:
    """A zone with summer time; and days."""
    utc = pd.to_datetime(["2024-03-31T00:59:59", "2024-03-31T01:00:00", "2024-03-31T01:00:01"])
    berlin = utc.tz_localize("UTC").tz_convert("Europe/Berlin")
    want = [t.timestamp() for t in utc]
    as_pandas = pd.DataFrame(columns(time=berlin))
    as_polars = pl.DataFrame(columns(time=pl.Series(utc.to_list()))).with_columns(
        pl.col("time").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    )
    ns = pa.timestamp("ns", "Europe/Berlin")
    as_arrow = pa.table(columns(time=pa.array(berlin.to_list(), ns)))
    for df in (as_pandas, as_polars, as_arrow, as_pandas.astype({"time": object})):
        assert Recording.from_table(df).time.tolist() == want
    days = [date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3)]
    assert Recording.from_table(pl.DataFrame(columns(time=days))).dt.tolist() == [0, 86400, 86400]


@pytest.mark.parametrize(
    ("classes", "label", "want"),
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
def test_labels_in_a_table(classes: Any, label: list[Any], want: list[int]) -> None:
    cells = {"time": [0, 1, 2], "label": label} | {f"p_{name}": [0.5] * 3 for name in classes}
    for kind in KINDS.values():
        found = Recording.from_table(kind(cells)).label
        assert found is not None
        assert found.tolist() == want


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
    rec = Recording.from_table(df)
    assert np.isnan(rec.probs).tolist() == [[False] * 2, [True] * 2, [False] * 2]


def test_columns_of_nothing_but_null() -> None:
    """A CSV file of missing observations has columns of no type."""
    nothing = [None] * 3
    for kind in KINDS.values():
        rec = Recording.from_table(kind(columns(p_walk=nothing, p_sit=nothing)))
        assert np.isnan(rec.probs).all()


# --- filtering ------------------------------------------------------------------------------


def by_hand(cells: dict[str, Any], f: cf.DirichletFilter, beta: dict[str, float]) -> Any:
    """Loop over the rows, with one filter and one clock a stream."""
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


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Streams of random rows, interleaved at random; with a column of no meaning."""
    K = draw(st.integers(2, 4))
    parts = []
    for stream in range(draw(st.integers(1, 4))):
        T, seed = draw(st.integers(1, 6)), draw(st.integers(0, 2**32 - 1))
        made = random_stream(K, T, seed)
        rng = np.random.default_rng(seed)
        start = 1e3 * rng.random()  # no two streams begin at the same time
        parts.append(
            [
                (f"stream {stream}", time, source, row)
                for time, source, row in zip(
                    (start + np.cumsum(made.dt)).tolist(),
                    rng.choice(list(BETA), T).tolist(),
                    made.probs.tolist(),
                    strict=True,
                )
            ]
        )
    turns = draw(st.permutations([i for i, part in enumerate(parts) for _ in part]))
    queues = [iter(part) for part in parts]
    rows = [next(queues[i]) for i in turns]
    cells: dict[str, Any] = {
        "note": [f"row {row}" for row in range(len(rows))],
        "stream": [row[0] for row in rows],
        "time": [row[1] for row in rows],
        "source": [row[2] for row in rows],
    }
    for k in range(K):
        cells[f"p_class {k}"] = [row[3][k] for row in rows]
    return cells


def same_cells(a: list[Any], b: list[Any]) -> bool:
    return all(x == y or (pd.isna(x) and pd.isna(y)) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@given(tables(), options())
def test_streams_are_apart_and_rows_in_place(
    kind: str, cells: dict[str, Any], chosen: dict[str, Any]
) -> None:
    classes = [name[2:] for name in cells if name.startswith("p_")]
    f = cf.DirichletFilter(classes, **chosen)
    df = KINDS[kind](cells)
    out = filter_table(df, f, BETA)
    assert type(out) is type(df)
    assert names_of(out) == [*cells, *(f"f_{name}" for name in classes), "class"]
    for name in cells:  # and rows in order
        assert same_cells(column(out, name), cells[name])
    P = np.stack([np.array(column(out, f"f_{c}"), f.probs.dtype) for c in classes], axis=1)
    want = by_hand(cells, f, BETA)
    assert P.tobytes() == want.tobytes()
    assert column(out, "class") == [classes[k] for k in want.argmax(axis=1)]
    for stream, rec in recordings(df).items():
        rows = [row for row, name in enumerate(cells["stream"]) if name == stream]
        assert rec.run(f, BETA).tobytes() == want[rows].tobytes()


@given(tables(), st.randoms(use_true_random=False))
def test_rows_in_any_order_of_time(cells: dict[str, Any], random: Any) -> None:
    """Rows of equal time are interchangeable only in order, so the times are made to differ."""
    rows = len(cells["time"])
    cells = cells | {"time": [t + i for i, t in enumerate(cells["time"])]}
    order = random.sample(range(rows), rows)
    mixed = {name: [column[i] for i in order] for name, column in cells.items()}
    classes = [name[2:] for name in cells if name.startswith("p_")]
    f = cf.DirichletFilter(classes)
    out = filter_table(pl.DataFrame(mixed), f, BETA, sort=True)
    assert out["note"].to_list() == mixed["note"]
    want = by_hand(cells, f, BETA)[order]
    assert out.select(f"f_{c}" for c in classes).to_numpy().tobytes() == want.tobytes()
    for stream, rec in recordings(pl.DataFrame(mixed), sort=True).items():
        kept = [t for t, s in zip(cells["time"], cells["stream"], strict=True) if s == stream]
        assert rec.time.tolist() == kept


def test_the_index_of_pandas_is_kept_and_the_input_left_alone() -> None:
    df = pd.DataFrame(columns(), index=pd.Index(["x", "y", "x"], name="who"))
    before = df.copy()
    out = filter_table(df, walk_sit(), BETA)
    pd.testing.assert_frame_equal(df, before)
    pd.testing.assert_frame_equal(out[df.columns], before)
    assert out["f_walk"].notna().all()
    plain = filter_table(pd.DataFrame(columns()), walk_sit(), BETA)
    assert out["f_walk"].tolist() == plain["f_walk"].tolist()


def test_types_of_the_original_columns_are_kept() -> None:
    df = pl.DataFrame(columns(time=[0, 5, 5]) | {"day": [date(2024, 5, 1)] * 3}).with_columns(
        pl.col("source").cast(pl.Categorical), pl.col("p_sit").cast(pl.Float32)
    )
    out = filter_table(df, walk_sit(), BETA)
    assert out.select(df.columns).schema == df.schema
    assert out.select(df.columns).equals(df)


def test_the_filter_is_left_alone_and_its_state_not_used() -> None:
    df = pl.DataFrame(columns(stream=["a", "b", "a"]))
    used = walk_sit()
    used.run([[0.0, 1.0]] * 20)
    before = used.alpha
    assert filter_table(df, used, BETA).equals(filter_table(df, walk_sit(), BETA))
    assert used.alpha.tobytes() == before.tobytes()


def test_classes_in_another_order() -> None:
    df = pl.DataFrame(columns())
    want = filter_table(df, cf.DirichletFilter(["walk", "sit"], prior=[3.0, 1.0]), BETA)
    out = filter_table(df, cf.DirichletFilter(["sit", "walk"], prior=[1.0, 3.0]), BETA)
    assert out.columns == want.columns
    assert out["class"].to_list() == want["class"].to_list()
    np.testing.assert_allclose(out["f_walk"], want["f_walk"], rtol=1e-9)
    by_number = filter_table(df, cf.DirichletFilter(2, prior=[3.0, 1.0]), BETA)
    assert by_number.equals(want)


def test_one_weight_for_all_and_no_source() -> None:
    df = pl.DataFrame(columns(source=None))
    want = walk_sit().run(df.select("p_walk", "p_sit").to_numpy(), beta=0.25, dt=[0, 5, 0])
    for beta in (0.25, {"default": 0.25}):
        out = filter_table(df, walk_sit(), beta)
        assert out.select("f_walk", "f_sit").to_numpy().tobytes() == want.tobytes()


def test_labels_do_not_matter_for_filtering() -> None:
    df = pl.DataFrame(columns(label=["?", "?", "?"]))
    assert filter_table(df, walk_sit(), BETA)["label"].to_list() == ["?"] * 3


# --- errors ---------------------------------------------------------------------------------

INTERLEAVED = {
    "stream": ["a", "b", "a", "b", "b"],
    "time": [9.0, 0.0, 10.0, 5.0, 4.0],
    "source": ["weak", "weak", "strong", "strong", "weak"],
    "p_walk": [0.5, 0.5, 0.5, 0.5, 0.5],
    "p_sit": [0.5, 0.5, 0.5, 0.5, 0.5],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (columns(time=None), r"has no column time; it has \['source', 'p_walk', 'p_sit'\]"),
        (columns(p_walk=None), r"two or more columns p_<class>.* has \['time', 'source', 'p_sit'"),
        (columns(time=[0, 5, None]), "time in row 2 is nan"),
        (columns(time=["0", "5", "noon"]), "time in row 2 is 'noon'"),
        (columns(time=[0, 5, 4]), r"time in row 2 is 4\.0, before that of row 1"),
        (columns(p_sit=[0.3, None, 0.5]), "probs in row 1, class 'sit', is nan; other entries"),
        (columns(p_sit=["0.3", "n/a", "0.5"]), "column p_sit in row 1 is 'n/a'; .* numbers"),
        (columns(p_sit=["0.3", "0.9", "0.5"]), "column p_sit in row 0 is '0.3'; .* numbers"),
        (columns(p_sit=[True, False, True]), "column p_sit in row 0 is True; .* numbers"),
        (columns(p_sit=[0.3, 0.9, 0.7]), r"probs in row 2 sums to 1\.2"),
        (columns(p_sit=[0.3, -0.9, 0.5]), r"probs in row 1, class 'sit', is -0\.9"),
        (columns(source=["weak", None, "weak"]), "source in row 1 is None"),
        (columns(stream=["a", "a", None]), "stream in row 2 is None; every row needs one"),
        (columns(stream=[1.5, 2.5, NAN]), "stream in row 2 is (nan|None); every row needs one"),
        (INTERLEAVED, r"time in row 4 is 4\.0, before that of row 3, 5\.0; .*sort=True"),
    ],
)
def test_errors_name_the_row_of_the_table(kind: str, cells: Any, message: str) -> None:
    df = KINDS[kind](cells)
    with pytest.raises(ValueError, match=message):
        filter_table(df, walk_sit(), BETA)
    with pytest.raises(ValueError, match=message):
        recordings(df)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: filter_table(
                pl.DataFrame(
                    INTERLEAVED
                    | {"time": [0, 0, 1, 1, 2], "source": ["weak"] * 3 + ["other", "new"]}
                ),
                walk_sit(),
                BETA,
            ),
            ValueError,
            r"source in row 3 is 'other', which has no weight; beta names \['weak', 'strong'\]",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns()), cf.DirichletFilter(["walk", "run"])),
            ValueError,
            r"the data has the classes \['walk', 'sit'\], but the filter has \['walk', 'run'\]",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns()), cf.DirichletFilter(3)),
            ValueError,
            r"the data has the classes \['walk', 'sit'\], but the filter has \[0, 1, 2\]",
        ),
        (
            lambda: filter_table(pl.DataFrame(columns(f_sit=[0] * 3)), walk_sit(), BETA),
            ValueError,
            r"already has the columns \['f_sit'\]; drop or rename them",
        ),
        (
            lambda: filter_table(filter_table(pl.DataFrame(columns()), walk_sit()), walk_sit()),
            ValueError,
            r"already has the columns \['f_walk', 'f_sit', 'class'\]",
        ),
        (
            lambda: Recording.from_table(pl.DataFrame(columns(stream=["a", "b", "a"]))),
            ValueError,
            r"the table has 2 streams \('a', 'b'\); read them with recordings",
        ),
        (
            lambda: Recording.from_table(pl.DataFrame(columns(label=["sit", "run", None]))),
            ValueError,
            "label in row 1 is 'run'",
        ),
        (
            lambda: filter_table(pl.LazyFrame(columns()), walk_sit()),
            TypeError,
            r"polars\..*LazyFrame; give a dataframe of pandas, Polars or PyArrow .*collect",
        ),
        (lambda: recordings([1, 2]), TypeError, r"the table is a builtins\.list"),
        (
            lambda: recordings(pd.DataFrame([[0] * 3], columns=["time", "p_a", "p_a"])),
            ValueError,
            "unique column names",
        ),
        (
            lambda: Recording([0], "a", [[0.5, 0.5]], 2).to_table("excel"),
            ValueError,
            "kind is 'excel'; it must be one of polars, pandas, pyarrow",
        ),
        (lambda: read_table("day.xlsx"), ValueError, r"day\.xlsx ends in '\.xlsx'; .* \.csv, "),
        (lambda: write_table(pl.DataFrame(), "day"), ValueError, "day ends in ''"),
        (lambda: read_table("nowhere.csv"), FileNotFoundError, r"nowhere\.csv"),
        (lambda: write_table([1], "day.csv"), TypeError, "builtins.list"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["narwhals", "polars"])
def test_a_library_that_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    rec = Recording([0], "a", [[0.5, 0.5]], 2)
    with pytest.raises(ImportError, match=rf"needs {name}.*pip install 'classfilter\[tables\]'"):
        rec.to_table()


@pytest.mark.parametrize("module", ["recording", "tables", "config"])
def test_imports_are_light(module: str) -> None:
    heavy = "{'narwhals', 'polars', 'pandas', 'pyarrow', 'tomllib'}"
    code = f"import sys, classfilter.{module}; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


# --- files ----------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("ending", FILES)
@given(cells=tables(), label=st.lists(st.sampled_from([-1, 0, 1]), min_size=24, max_size=24))
def test_files_round_trip(
    ending: str, cells: dict[str, Any], label: list[int], tmp_path: Path
) -> None:
    classes = [name[2:] for name in cells if name.startswith("p_")]
    known = [None if k < 0 else classes[k] for k in label[: len(cells["time"])]]
    df = pl.DataFrame(cells | {"label": known})
    path = tmp_path / f"day{ending}"
    write_table(df, path)
    again = read_table(path)
    assert again.columns == df.columns
    want, found = recordings(df), recordings(again)
    assert list(found) == list(want)
    for stream, rec in want.items():
        assert found[stream].classes == rec.classes
        for name in ("time", "source", "probs", "label"):
            np.testing.assert_array_equal(getattr(found[stream], name), getattr(rec, name))


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_dataframe_can_be_written(kind: str, ending: str, tmp_path: Path) -> None:
    df = KINDS[kind](columns())
    write_table(df, tmp_path / f"day{ending.upper()}")
    again = read_table(str(tmp_path / f"day{ending.upper()}"))
    assert again.to_dict(as_series=False) == columns()


def test_files_are_what_they_are_called(tmp_path: Path) -> None:
    for ending in FILES:
        write_table(pl.DataFrame(columns()), tmp_path / f"day{ending}")
    as_pandas = pd.DataFrame(columns())
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "day.csv"), as_pandas)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "day.parquet"), as_pandas)
    for ending in (".ndjson", ".jsonl"):
        lines = pd.read_json(tmp_path / f"day{ending}", lines=True, dtype={"time": float})
        pd.testing.assert_frame_equal(lines, as_pandas)


def test_names_in_csv_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,stream,source,label,p_1,p_2\n0,007,1,1,0.5,0.5\n1,007,1,,0.5,0.5\n")
    ((stream, rec),) = recordings(read_table(path)).items()
    assert (stream, rec.sources) == ("007", ("1",))
    assert rec.label is not None
    assert rec.label.tolist() == [0, -1]


def test_text_far_down_a_csv_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,p_a,p_b\n" + "0,0.5,0.5\n" * 500 + "0,oops,0.5\n")
    with pytest.raises(ValueError, match="column p_a in row 500 is 'oops'"):
        recordings(read_table(path))


def test_missing_observations_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,p_a,p_b\n0,,\n1,NaN,\n2,0.5,0.5\n")
    rec = Recording.from_table(read_table(path))
    assert np.isnan(rec.probs).all(axis=1).tolist() == [True, True, False]
    path.write_text("time,p_a,p_b\n0,,\n")
    assert np.isnan(Recording.from_table(read_table(path)).probs).all()


@pytest.mark.parametrize(("ending", "data"), [(".csv", b""), (".parquet", b"x"), (".ndjson", b"{")])
def test_files_that_cannot_be_read(ending: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"day{ending}"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"day{ending} cannot be read as {ending}: "):
        read_table(path)


def test_a_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    for name in ("day[1].csv", "day*.csv"):
        write_table(pl.DataFrame(columns()), tmp_path / name)
        assert len(read_table(tmp_path / name)) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["day*.csv", "day[1].csv"]


class StopError(Exception):
    pass


@pytest.mark.parametrize("ending", FILES)
def test_a_write_that_fails_leaves_all_as_it_was(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"day{ending}"
    path.write_text("old")

    def fail(df: pl.DataFrame, file: Any) -> None:
        file.write(b"half")
        assert path.read_text() == "old"  # while the new one is under way
        raise StopError

    for name in ("write_csv", "write_parquet", "write_ndjson"):
        monkeypatch.setattr(pl.DataFrame, name, fail)
    with pytest.raises(StopError):
        write_table(pl.DataFrame(columns()), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_replacing(tmp_path: Path) -> None:
    target, link = tmp_path / "deep" / "file", tmp_path / "link"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"new")
        assert target.read_text() == "old"
        assert len(list(target.parent.iterdir())) == 2  # in the same folder
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [p.name for p in target.parent.iterdir()] == ["file"]
    plain = tmp_path / "plain"
    plain.write_text("")
    with replacing(tmp_path / "made"):
        pass
    assert (tmp_path / "made").stat().st_mode == plain.stat().st_mode
    with pytest.raises(FileNotFoundError, match="nowhere"), replacing(tmp_path / "nowhere" / "f"):
        pass
