"""Class names count: any order of named columns gives the same bits; others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf

CLASSES = ("walk", "sit", "sleep")
ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3]])
FILTERS: dict[str, Callable[[Any], Any]] = {
    "dirichlet": lambda classes: cf.DirichletFilter(classes, gamma=0.8),
    "sticky": lambda classes: cf.StickyFilter(classes, stay=0.9),
    "raw": cf.RawFilter,
    "mean": lambda classes: cf.MeanFilter(classes, window=3),
    "vote": cf.VoteFilter,
    "ema": cf.EmaFilter,
    "hold": cf.HoldFilter,
}
Entry = Callable[[Any, Any], Any]
"""Of a filter and four rows, its results."""
MANY: dict[str, Entry] = {
    "run": lambda f, rows: f.copy().run(rows),
    "Bank.update": lambda f, rows: cf.Bank(f, 4).update(rows),
    "Bank of a pipeline": lambda f, rows: cf.Bank(cf.Pipeline(f), 4).update(rows),
    "Bank.run": lambda f, rows: cf.Bank(f, 2).run(rows, rows=[0, 1, 1, 0]),
    "update_many": lambda f, rows: cf.Tracker(f).update_many("aabb", [0, 1, 0, 1], None, rows),
    "rows": lambda f, rows: cf.Pipeline(f).run(
        cf.rows(time=range(4), source="net", probs=rows, classes=CLASSES)
    ),
}
ONE: dict[str, Entry] = {
    "update": lambda f, row: f.copy().update(row),
    "Tracker.update": lambda f, row: cf.Tracker(f).update("a", 0.0, None, row),
    "Pipeline.observe": lambda f, row: f.copy().update(cf.Pipeline(f).observe(None, row).probs),
    "Cascade": lambda f, row: cf.Cascade(f, {"net": lambda _: row}).step([0.0], time=1.0).probs,
}
each_filter = pytest.mark.parametrize("kind", FILTERS)


def forms(order: list[int], prefix: str = "") -> dict[str, Any]:
    """The rows as people have them, in an order of the classes."""
    names = [prefix + CLASSES[k] for k in order]
    frame = pd.DataFrame(ROWS[:, order], columns=names)
    columns: dict[str, Any] = {name: frame[name].tolist() for name in names}
    return {
        "pandas": frame,
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "columns": columns,
        "records": frame.to_dict("records"),
        "series": [row for _, row in frame.iterrows()],
    }


def one_row(order: list[int], prefix: str = "") -> dict[str, Any]:
    rows = forms(order, prefix)
    return {
        "mapping": rows["records"][0],
        "series": rows["series"][0],
        "pandas": rows["pandas"][:1],
        "polars": rows["polars"][:1],
    }


def numbers(results: Any) -> Any:
    """Results in the filter's order: those of a dataframe by the names of its columns."""
    if hasattr(results, "columns"):
        return np.stack([np.asarray(results[name]) for name in CLASSES], axis=1)
    return results


@pytest.mark.parametrize("kind", ["dirichlet", "sticky", "mean"])
@given(order=st.permutations(range(3)), prefix=st.sampled_from(["", "p_"]))
def test_any_order_of_names_gives_the_same_bits(kind: str, order: list[int], prefix: str) -> None:
    f = FILTERS[kind](CLASSES)
    for name, entry in MANY.items():
        expected = entry(f, ROWS)
        for form, rows in forms(order, prefix).items():
            results = numbers(entry(f, rows))
            assert results.tobytes() == expected.tobytes(), (name, form)
    for name, entry in ONE.items():
        expected = entry(f, ROWS[0])
        for form, row in one_row(order, prefix).items():
            assert entry(f, row).tobytes() == expected.tobytes(), (name, form)


@each_filter
def test_a_dataframe_gives_a_dataframe(kind: str) -> None:
    """With its index, and the classes in the filter's order; smoothing too."""
    f = FILTERS[kind](CLASSES)
    days = pd.date_range("2024-05-01", periods=4, tz="Europe/Berlin")
    frame = pd.DataFrame(ROWS[:, [2, 0, 1]], index=days, columns=["sleep", "walk", "sit"])
    calls: list[Callable[[Any], Any]] = [lambda rows: f.copy().run(rows)]
    if kind in ("dirichlet", "sticky"):
        calls.append(lambda rows: cf.smooth(f, rows))
        calls.append(lambda rows: cf.smooth(cf.Pipeline(f), rows))
    for call in calls:
        out = call(frame)
        expected = pd.DataFrame(call(ROWS), index=days, columns=list(CLASSES))
        pd.testing.assert_frame_equal(out, expected, check_exact=True)
        polars = call(pl.from_pandas(frame))
        assert isinstance(polars, pl.DataFrame)
        assert polars.columns == list(CLASSES)
        assert polars.to_numpy().tobytes() == call(ROWS).tobytes()
        assert call(forms([2, 0, 1])["pyarrow"]).column_names == list(CLASSES)


def test_columns_without_names_are_in_order() -> None:
    """So are the columns of a filter that has a number of classes; but a mapping has no order."""
    f, expected = cf.StickyFilter(CLASSES), cf.StickyFilter(CLASSES).run(ROWS)
    for rows in (pd.DataFrame(ROWS), pl.DataFrame(ROWS)):
        assert numbers(f.copy().run(rows)).tobytes() == expected.tobytes()
    assert f.copy().update(pd.Series(ROWS[0])).tobytes() == expected[0].tobytes()
    counted = cf.StickyFilter(3)
    named = counted.copy().run(pd.DataFrame(ROWS, columns=["c", "a", "b"]))
    assert named.to_numpy().tobytes() == expected.tobytes()
    turned = counted.copy().update({2: 0.5, 0: 0.25, "1": 0.25})
    assert turned.tobytes() == counted.copy().update([0.25, 0.25, 0.5]).tobytes()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_cells_that_are_missing(missing: Any) -> None:
    rows = pd.DataFrame(ROWS, columns=CLASSES).astype(object)
    rows.iloc[1] = missing
    expected = ROWS.copy()
    expected[1] = np.nan
    f = cf.DirichletFilter(CLASSES)
    assert numbers(f.copy().run(rows)).tobytes() == f.copy().run(expected).tobytes()
    row = dict.fromkeys(CLASSES, missing)
    assert f.copy().update(row).tobytes() == f.copy().update([np.nan] * 3).tobytes()


@given(order=st.permutations(range(3)), prefix=st.sampled_from(["", "p_"]))
def test_a_channel_is_fitted_by_name(order: list[int], prefix: str) -> None:
    strong = pd.DataFrame(np.roll(ROWS, 1, axis=0), columns=CLASSES)
    expected = cf.Channel.fit(ROWS, strong.to_numpy())
    for rows in forms(order, prefix).values():
        assert cf.Channel.fit(rows, strong, classes=CLASSES) == expected
    turned = cf.Channel.fit(forms(order)["pandas"], strong)  # in the order of the weak one
    np.testing.assert_allclose(turned.matrix, expected.matrix[np.ix_(order, order)], rtol=1e-14)
