"""The table of a comparison: text of any width, columns, HTML."""

from __future__ import annotations

import numpy as np
import pytest

from classfilter import Comparison, compare
from classfilter.compare import Difference, Row
from compare_oracle import clean
from example_tables import KINDS, column, names_of

NAN = float("nan")
BEST = Difference(0, 0, 0, "best")
RAW = Row(
    name="Raw", accuracy=0.5, macro_f1=0.4, log_loss=1.25, switches=100.04, delay=2.4, events=99,
    event_f1=0.031,
    differences={
        "accuracy": Difference(-0.375, -0.4, -0.35, "worse"),
        "event_f1": Difference(-0.469, NAN, NAN, ""),
        "log_loss": Difference(1.0, 0.9, 1.1, "worse"),
    },
)  # fmt: skip
TUNED = Row(
    name="Tuned", accuracy=0.875, macro_f1=0.8, log_loss=0.25, switches=8.0, delay=12.0,
    events=8.25, event_f1=0.5,
    differences={"accuracy": BEST, "event_f1": BEST, "log_loss": BEST},
)  # fmt: skip
BACK = Row(
    name="Tuned, smoothed", smoothed=True, accuracy=0.9, switches=7.0, events=7.0, event_f1=0.55,
    differences={
        "accuracy": Difference(0.025, -0.01, 0.06, "level"),
        "event_f1": Difference(0.05, 0.01, 0.09, "better"),
    },
)  # fmt: skip
TABLE = Comparison(rows=[RAW, TUNED, BACK], reference="strong", notes=("A note.", "Another <one>."))


def test_the_text() -> None:
    assert (
        str(TABLE)
        == """
                 accuracy              to the  switches  delay    events  F1@50             to the
                      (%)                best  per hour    (s)  per hour    (%)               best
Raw                  50.0  -37.5 ± 2.5 worse      100.0      2      99.0    3.1       -46.9
Tuned                87.5              best         8.0     12       8.2   50.0             best
Tuned, smoothed      90.0   +2.5 ± 3.5 level        7.0      -       7.0   55.0  +5.0 ± 4.0 better

A note.
Another <one>."""[1:]
    )


def test_a_narrow_table_leaves_out_what_matters_least() -> None:
    assert "delay" in TABLE.text(98)
    titles = [set(TABLE.text(width).split("Raw")[0].split()) for width in (97, 90, 80)]
    for seen, gone in zip(titles, (["delay"], ["delay", "switches"], ["events"]), strict=True):
        assert not seen & set(gone)
    assert "F1@50" in TABLE.text(1)
    assert max(map(len, TABLE.text(97).split("\n"))) <= 97


def test_multi_label_has_f1_in_place_of_accuracy() -> None:
    labels = Comparison(rows=[RAW, TUNED], reference="strong", labels=("robin", "wren"))
    assert "macro-F1" in str(labels)
    assert "accuracy" not in str(labels)


def test_as_columns() -> None:
    assert list(TABLE.table)[:7] == [
        "method", "smoothed", "accuracy",
        "accuracy_difference", "accuracy_low", "accuracy_high", "accuracy_word",
    ]  # fmt: skip
    assert TABLE.table["event_f1_word"] == ["", "best", "better"]
    np.testing.assert_equal(TABLE.table["log_loss_high"], [1.1, 0, NAN])
    assert "agreement" not in TABLE.table
    assert all(len(cells) == 3 for cells in TABLE.table.values())


@pytest.mark.parametrize("kind", KINDS)
def test_as_a_dataframe(kind: str) -> None:
    df = TABLE.to_table(kind)
    assert names_of(df) == list(TABLE.table)
    assert column(df, "method") == ["Raw", "Tuned", "Tuned, smoothed"]
    assert column(df, "accuracy_word") == ["worse", "best", "level"]
    assert column(df, "accuracy_low") == [-0.4, 0, -0.01]


def test_rows_and_the_best_by_name() -> None:
    assert TABLE["Tuned"] is TUNED
    assert TABLE.best("accuracy") == "Tuned"
    with pytest.raises(KeyError, match="'Mine'; the methods are Raw, Tuned, Tuned, smoothed"):
        TABLE["Mine"]
    with pytest.raises(ValueError, match="measure is 'switches'; it must be one of"):
        TABLE.best("switches")


def test_tables_of_the_examples_fit_a_terminal() -> None:
    for data in ("examples/one_classifier.csv", "examples/predictions.csv"):
        lines = str(compare(data)).split("\n")
        assert max(map(len, lines)) <= 100
        assert lines[2].startswith("Raw")
    recs = [clean(0), clean(1)]
    assert max(map(len, str(compare(recs, "strong", events="5min")).split("\n"))) <= 100
