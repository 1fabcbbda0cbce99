"""True and False are no probabilities: every way in refuses them in the same words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import classfilter as cf

CLASSES = ("a", "b")
FORMS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda cells: np.array(cells, object),
    "scalars": lambda cells: [np.bool_(c) if isinstance(c, bool) else c for c in cells],
    "Series": lambda cells: pl.Series(cells, strict=False),
}
FILTERS = (cf.DirichletFilter, cf.StickyFilter, cf.RawFilter)
WORDS = r"is (True|False); it must hold numbers: write 1\.0 for True and 0\.0 for False"
CHANNEL = cf.Channel([[0.9, 0.1], [0.2, 0.8]])


def refused(call: Callable[[], Any], argument: str = "probs") -> cf.RowError:
    with pytest.raises(cf.RowError, match=WORDS) as caught:
        call()
    error = caught.value
    assert error.argument == argument
    assert error.value in (True, False)
    return error


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", FILTERS)
def test_one_row(kind: Any, form: str) -> None:
    f, row = kind(CLASSES), FORMS[form]([True, False])
    before = pickle.dumps(f.state)
    error = refused(lambda: f.update(row))
    assert (error.row, error.entry) == (None, 0)
    assert pickle.dumps(f.state) == before


@pytest.mark.parametrize("form", ["list", "tuple", "objects", "scalars"])
def test_one_beside_a_number(form: str) -> None:
    f = cf.DirichletFilter(CLASSES)
    assert refused(lambda: f.update(FORMS[form]([1.0, False]))).entry == 1


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 0.0], [0.5, 0.5], [0.0, True]],
        ([1.0, 0.0], (0.5, 0.5), (0.0, True)),
        [np.array([1.0, 0.0]), [0.5, 0.5], np.array([False, True])],
        np.array([[1.0, 0.0], [0.5, 0.5], [0.0, True]], object),
    ],
)
def test_many_rows(kind: Any, rows: Any) -> None:
    for call in (
        lambda: kind(CLASSES).run(rows),
        lambda: cf.Bank(kind(CLASSES), 3).update(rows),
        lambda: cf.Tracker(kind(CLASSES)).update_many(["x", "y", "z"], [0.0] * 3, None, rows),
        lambda: cf.rows(
            time=[0.0, 1.0, 2.0], source=["default"] * len(rows), probs=rows, classes=CLASSES
        ),
        lambda: CHANNEL.apply(rows),
    ):
        assert refused(call).row == 2


def test_an_array_of_booleans() -> None:
    rows = np.eye(2, dtype=bool)
    for call in (
        lambda: cf.DirichletFilter(CLASSES).run(rows),
        lambda: cf.Bank(cf.DirichletFilter(CLASSES), 2).update(rows),
        lambda: cf.Tracker(cf.DirichletFilter(CLASSES)).update_many(
            ["x", "y"], [0.0, 0.0], None, rows
        ),
        lambda: cf.rows(
            time=[0.0, 1.0], source=["default"] * len(rows), probs=rows, classes=CLASSES
        ),
        lambda: CHANNEL.apply(rows),
    ):
        error = refused(call)
        assert (error.row, error.entry) == (0, 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"channel": {"weak": CHANNEL}}])
def test_a_tracker(options: Any, form: str) -> None:
    row = FORMS[form]([True, False])
    tracker = cf.Tracker(cf.Pipeline(cf.DirichletFilter(CLASSES), **options))
    refused(lambda: tracker.update("x", 0.0, "weak", row))
    assert len(tracker) == 0
    tracker.update("x", 0.0, "weak", [1.0, 0.0])
    refused(lambda: tracker.update("x", 1.0, "weak", row))
    assert tracker.time("x") == 0.0


def test_by_names() -> None:
    f = cf.DirichletFilter(CLASSES)
    refused(lambda: f.update({"a": True, "b": False}))
    error = refused(lambda: f.run({"a": [0.5, True], "b": [0.5, 0.0]}))
    assert (error.row, error.entry) == (1, "a")


@pytest.mark.parametrize("form", FORMS)
def test_labels_at_once(form: str) -> None:
    f, row = cf.MultiLabelFilter(CLASSES, cf.DirichletFilter(2)), FORMS[form]([True, False])
    refused(lambda: f.update(row), "scores")
    if form != "Series":
        refused(lambda: f.run([row]), "scores")


def test_a_class_may_be_a_boolean() -> None:
    f = cf.DirichletFilter(("False", "True"))
    assert f.update(True).argmax() == 1
    assert f.run([True, False]).shape == (2, 2)
