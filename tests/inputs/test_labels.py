"""Labels in place of probabilities: the same results as with rows written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import classfilter as cf
from example_tables import NAN, walk_sit

LABELS = ["walk", "sit", None, "walk"]
ONE_HOT = [[1.0, 0.0], [0.0, 1.0], [NAN, NAN], [1.0, 0.0]]
SOURCES = ["a", "b", "a", "b"]
CHANNEL = {"a": cf.Channel([[6, 4], [3, 7]]), "b": cf.Channel([[9, 1], [2, 8]])}


def table(labels: Any = LABELS, **more: Any) -> dict[str, Any]:
    return {"time": [0.0, 5.0, 6.0, 9.0], "source": SOURCES, "prediction": labels, **more}


def by_hand() -> Any:
    """Filter the one-hot rows in a loop."""
    f, rows = walk_sit(half_life=30.0), []
    for probs, source, dt in zip(ONE_HOT, SOURCES, (0.0, 5.0, 1.0, 3.0), strict=True):
        rows.append(f.update(CHANNEL[source].apply(probs), dt=dt))
    return np.array(rows)


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        [0, 1, -1, 0],
        [0, 1, None, 0],
        np.array([0, 1, -1, 0]),
        np.array([0.0, 1.0, NAN, 0.0]),
        ["walk", "sit", "", "walk"],
        pd.Series(["walk", "sit", None, "walk"]),
        pd.Series(["walk", "sit", pd.NA, "walk"], dtype="string"),
        pd.Series([0, 1, pd.NA, 0], dtype="Int64"),
        pd.Categorical(["walk", "sit", None, "walk"]),
    ],
    ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
)
def test_labels_become_one_hot_rows(labels: Any) -> None:
    rec = cf.rows(time=[0, 5, 6, 9], source=SOURCES, probs=labels, classes=["walk", "sit"])
    np.testing.assert_array_equal(rec.probs, ONE_HOT)
    P = cf.Pipeline.of(walk_sit(half_life=30.0), channel=CHANNEL).run(rec)
    assert P.tobytes() == by_hand().tobytes()


def test_classes_of_labels_are_those_that_occur_unless_given() -> None:
    df = pd.DataFrame(table(label=["walk", "sleep", "walk", None]))
    rec = cf.rows(df)
    assert rec.classes == ("sit", "sleep", "walk")
    np.testing.assert_array_equal(rec.probs.argmax(axis=1)[[0, 1, 3]], [2, 0, 2])
    assert rec.label is not None
    assert rec.label.tolist() == [2, 1, 2, -1]
    assert cf.rows(df, classes=["walk", "sit", "sleep"]).classes[0] == "walk"
    numbers = pd.DataFrame(table([2, 10, None, 2]))  # floats, beside the missing one
    assert cf.rows(numbers).classes == ("2", "10")
    given = cf.rows(pd.DataFrame(table([0, 1, None, 0])), classes=["walk", "sit"])
    np.testing.assert_array_equal(given.probs, ONE_HOT)


def test_probabilities_go_before_labels() -> None:
    df = pd.DataFrame(table(p_walk=[0.3] * 4, p_sit=[0.7] * 4))
    assert cf.rows(df).probs.tolist() == [[0.3, 0.7]] * 4
