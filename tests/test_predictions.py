"""A class counts with its confidence; without one, with a default reliability or by a channel."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.tuning import thin
from ndjson_lines import as_line, serve_here

CLASSES = ["walk", "sit", "sleep"]
CHANNEL = {"net": cf.Channel([[8, 1, 1], [2, 6, 2], [1, 1, 8]])}
RELIABILITY = 0.7
FILTERS: dict[str, Callable[[], Any]] = {
    "sticky": lambda: cf.StickyFilter(CLASSES, stay=0.9),
    "dirichlet": lambda: cf.DirichletFilter(CLASSES, gamma=0.9, estimate="mean"),
}
TIMES = [0.0, 1.0, 3.0, 4.0]
Confidences = list[float | None]


def by_hand(f: Any, rows: list[list[float]], channel: Any = None) -> bytes:
    out = []
    for row, dt in zip(rows, np.diff(TIMES, prepend=0.0), strict=True):
        out.append(f.update(row if channel is None else channel["net"].apply(row), dt=dt))
    return np.array(out).tobytes()


def spread(k: int, top: float) -> list[float]:
    return [top if i == k else (1 - top) / 2 for i in range(3)]


def entry_points(labels: list[Any], top: Confidences | None) -> dict[str, Callable[..., Any]]:
    """Each as a function of a filter and its channels that gives the results of four rows."""
    each: Confidences = [None] * 4 if top is None else top

    def tracker_update(f: Any, **channel: Any) -> Any:
        tracker = cf.Tracker(f, **channel)
        rows = zip(TIMES, labels, each, strict=True)
        return [tracker.update("a", at, "net", label, confidence=c) for at, label, c in rows]

    def observe(f: Any, **channel: Any) -> Any:
        pipe, dt = cf.Pipeline(f, **channel), np.diff(TIMES, prepend=0.0)
        rows = [pipe.observe("net", k, c).probs for k, c in zip(labels, each, strict=True)]
        return f.run(rows, dt=dt)

    def bank(f: Any, **channel: Any) -> Any:
        one: cf.Bank[Any] = cf.Bank(cf.Pipeline(f, **channel), 1)
        dt = np.diff(TIMES, prepend=0.0)
        return [
            one.update([k], dt=[t], source="net", confidence=None if c is None else [c])[0]
            for k, c, t in zip(labels, each, dt, strict=True)
        ]

    def table() -> dict[str, Any]:
        columns: dict[str, Any] = {"time": TIMES, "source": ["net"] * 4}
        columns["prediction"] = [CLASSES[k] if isinstance(k, int) else k for k in labels]
        return columns if top is None else columns | {"confidence": top}

    def frame(make: Any) -> Any:
        def run(f: Any, **channel: Any) -> Any:
            out = cf.filter_table(make(table()), f, **channel)
            return np.stack([out[f"f_{c}"].to_numpy() for c in CLASSES], axis=1)

        return run

    def file(f: Any, **channel: Any) -> Any:
        with TemporaryDirectory() as folder:
            path, out = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
            pl.DataFrame(table()).write_parquet(path)
            cf.filter_file(path, out, f, **channel)
            return pl.read_parquet(out).select(f"f_{c}" for c in CLASSES).to_numpy()

    def lines(f: Any, **channel: Any) -> Any:
        rows = pl.DataFrame(table()).to_dicts()
        out = serve_here([as_line(r) for r in rows], lambda _: f, classes=CLASSES, **channel)
        return [[row[f"f_{c}"] for c in CLASSES] for row in map(json.loads, out)]

    return {
        "Tracker.update": tracker_update,
        "Tracker.update_many": lambda f, **channel: cf.Tracker(f, **channel).update_many(
            ["a"] * 4, TIMES, "net", labels, confidence=top
        ),
        "Pipeline.observe": observe,
        "Bank.update": bank,
        "Bank.run": lambda f, **channel: cf.Bank(cf.Pipeline(f, **channel), 1).run(
            labels, dt=np.diff(TIMES, prepend=0.0), rows=[0] * 4, confidence=top
        ),
        "Recording": lambda f, **channel: cf.Pipeline.of(f, **channel).run(
            cf.rows(time=TIMES, source="net", probs=labels, classes=CLASSES, confidence=top)
        ),
        "pandas": frame(pd.DataFrame),
        "polars": frame(pl.DataFrame),
        "file": file,
        "lines": lines,
    }


@pytest.mark.parametrize("channel", [None, CHANNEL], ids=["no channel", "channel"])
@pytest.mark.parametrize("kind", FILTERS)
@given(
    labels=st.lists(st.sampled_from([0, 1, 2, *CLASSES]), min_size=4, max_size=4),
    top=st.none() | st.lists(st.none() | st.floats(0, 1), min_size=4, max_size=4),
)
def test_a_class_equals_the_row_by_hand(
    kind: str, channel: Any, labels: list[Any], top: Confidences | None
) -> None:
    """To the bit, at every entry point; and one-hot probabilities count as they are given."""
    indices = [k if isinstance(k, int) else CLASSES.index(k) for k in labels]
    unknown = RELIABILITY if channel is None else 1.0
    each = [unknown if c is None else c for c in top or [None] * 4]
    expected = by_hand(FILTERS[kind](), [*map(spread, indices, each)], channel)
    for name, run in entry_points(labels, top).items():
        results = np.array(run(FILTERS[kind](), channel=channel))
        assert results.tobytes() == expected, name
    given_as_probabilities = np.eye(3)[indices]
    rec = cf.rows(time=TIMES, source="net", probs=given_as_probabilities, classes=CLASSES)
    one_hot = by_hand(FILTERS[kind](), given_as_probabilities.tolist(), channel)
    assert cf.Pipeline.of(FILTERS[kind](), channel=channel).run(rec).tobytes() == one_hot


@pytest.mark.parametrize("make", [*FILTERS.values(), lambda: cf.MeanFilter(CLASSES)])
def test_filters_take_classes(make: Callable[[], Any]) -> None:
    rows = [spread(1, RELIABILITY), spread(0, RELIABILITY)]
    expected = make().run(rows)
    for labels in (["sit", "walk"], [1, 0], np.array([1, 0]), pd.Series(["sit", "walk"])):
        assert make().run(labels).tobytes() == expected.tobytes()
    f = make()
    assert [f.update(label).tobytes() for label in ("sit", np.int64(0))] == [
        row.tobytes() for row in expected
    ]
    if hasattr(f, "_backward") or isinstance(f, cf.DirichletFilter):
        assert cf.smooth(make(), ["sit", 0]).tobytes() == cf.smooth(make(), rows).tobytes()


def test_a_list_may_mix_classes_and_probabilities() -> None:
    rows = [[0.6, 0.3, 0.1], "sit", {"sleep": 0.5, "sit": 0.3, "walk": 0.2}, None]
    f, tracker = FILTERS["dirichlet"](), cf.Tracker(FILTERS["dirichlet"]())
    expected = [cf.Tracker(f).update("a", 0.0, None, row) for row in rows]
    many = tracker.update_many(["a", "b", "c", "d"], 0.0, None, rows)
    assert many.tobytes() == np.array(expected).tobytes()
    rec = cf.rows(time=range(4), source="net", probs=rows, classes=CLASSES)
    assert rec.one_hot.tolist() == [False, True, False, False]


def test_labels_stay_labels() -> None:
    """In parts, copies and tables; `tune` gets them one-hot, to estimate their channel."""
    labels: list[Any] = ["sit", None, "walk", [0.0, 0.0, 1.0]]
    rec = cf.rows(time=range(4), source=["a", "b", "b", "a"], probs=labels, classes=CLASSES)
    hard = [True, False, True, False]
    nan = [np.nan] * 3
    np.testing.assert_array_equal(rec.probs, [[0, 1, 0], nan, [1, 0, 0], [0, 0, 1]])
    assert rec.one_hot.tolist() == hard
    assert rec.take(slice(1, 4)).one_hot.tolist() == hard[1:]
    f, copies = FILTERS["sticky"](), [dataclasses.replace(rec)]
    copies += [cf.rows(rec.to_table(kind)) for kind in ("pandas", "polars")]
    copies += [cf.rows(rec.to_table("pyarrow"), classes=CLASSES)]
    for copy in copies:
        assert copy.one_hot.tolist() == hard
        np.testing.assert_array_equal(copy.probs, rec.probs)
        assert cf.Pipeline.of(f).run(copy).tobytes() == cf.Pipeline.of(f).run(rec).tobytes()
    turned = cf.rows(time=[3, 2, 1, 0], source="a", probs=labels, classes=CLASSES, sort=True)
    assert turned.one_hot.tolist() == hard[::-1]


def test_labels_stay_labels_where_rows_are_left_out() -> None:
    time, source = np.repeat(np.arange(40.0), 2), ["weak", "strong"] * 40
    rec = cf.rows(
        time=time, source=source, probs=["walk", "sit", "sleep", "sit"] * 20, classes=CLASSES
    )
    assert thin([rec], "strong", 5).recordings[0].one_hot.all()


def test_a_missing_class_has_no_confidence() -> None:
    tracker = cf.Tracker(FILTERS["sticky"]())
    tracker.update_many(["a", "b"], 0.0, None, [-1, None], confidence=[7.0, np.nan])
    np.testing.assert_array_equal(tracker.probs("a"), FILTERS["sticky"]().probs)


@pytest.mark.parametrize("time", [4, 4.0, np.float32(4), "1970-01-01T00:00:04Z"])
def test_one_time_for_all_rows(time: Any) -> None:
    tracker = cf.Tracker(FILTERS["sticky"]())
    tracker.update_many([7, 8, -1], time, None, [0, 1, 1], confidence=[0.9, 0.8, 0.7])
    assert [tracker.time(stream) for stream in (7, 8, -1)] == [4.0] * 3


def test_a_frame_without_objects() -> None:
    tracker, none = cf.Tracker(FILTERS["sticky"]()), np.empty(0, int)
    nothing: list[Any] = [None, np.empty(0), []]
    for confidence in nothing:
        assert tracker.update_many(none, 4.0, None, none, confidence=confidence).shape == (0, 3)


def test_numbers_and_names_that_share_no_class() -> None:
    """They would be six classes."""
    names = ["wake", "light", "deep", "wake"]
    table = {"time": [0.0, 30, 60, 90], "prediction": [0, 1, 2, 1], "label": names}
    for columns in (table, table | {"prediction": names, "label": ["0", None, "2", "1"]}):
        for make in (pd.DataFrame, pl.DataFrame):
            with pytest.raises(cf.ArgumentError, match="column"):
                cf.rows(make(columns)).by_stream()
    (rec,) = cf.rows(pd.DataFrame(table), classes=["wake", "light", "deep"]).by_stream().values()
    assert rec.label is not None
    assert rec.probs.argmax(axis=1).tolist() == [0, 1, 2, 1]
    assert rec.label.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("classes", [["True", "False"], ["False", "True"], [False, True]])
def test_flags_that_are_names_of_classes(classes: list[Any]) -> None:
    f = cf.StickyFilter(classes, stay=0.5 ** (1 / 1))
    df = pl.DataFrame({"time": [0, 1], "prediction": [True, True]})
    assert cf.filter_table(df, f)["class"].to_list() == ["True", "True"]
    assert str(classes[f.run(np.array([True, True]))[-1].argmax()]) == "True"
    assert str(classes[f.update(True).argmax()]) == "True"
