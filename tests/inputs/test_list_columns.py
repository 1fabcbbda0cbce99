"""A column `probs` with a list of all probabilities in each cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import classfilter as cf
from example_tables import KINDS, NAN, column, names_of

PROBS = [[0.9, 0.1], None, [0.4, 0.6]]
AS_ROWS = [[0.9, 0.1], [NAN, NAN], [0.4, 0.6]]
every_kind = pytest.mark.parametrize("kind", KINDS)


def table(kind: str, probs: Any = PROBS, name: str = "probs", **more: Any) -> Any:
    return KINDS[kind]({"time": [0, 5, 6], name: probs} | more)


@every_kind
def test_lists_are_rows(kind: str) -> None:
    """In the order of the classes, which have numbers if nothing names them; null is missing."""
    np.testing.assert_array_equal(cf.rows(table(kind), classes=["b", "a"]).probs, AS_ROWS)
    named = cf.rows(table(kind, name="softmax"), classes=["b", "a"], columns={"probs": "softmax"})
    np.testing.assert_array_equal(named.probs, AS_ROWS)
    assert (named.classes, cf.rows(table(kind)).classes) == (("b", "a"), ("0", "1"))
    percent = cf.rows(table(kind, [[90, 10], [50, 50], [40, 60]]), classes=2, scores="percent")
    assert percent.probs.tolist() == [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6]]


@every_kind
def test_the_filter_names_the_classes_and_the_table_stays(kind: str) -> None:
    out = cf.filter_table(table(kind, note=["x", "y", "z"]), cf.RawFilter(["b", "a"]))
    assert names_of(out) == ["time", "probs", "note", "f_b", "f_a", "class"]
    assert column(out, "f_b")[::2] == [0.9, 0.4]
    assert column(out, "class")[::2] == ["b", "a"]


@every_kind
def test_columns_of_classes_come_first(kind: str) -> None:
    rows = cf.rows(table(kind, p_a=[0.2] * 3, p_b=[0.8] * 3))
    assert rows.probs.tolist() == [[0.2, 0.8]] * 3
