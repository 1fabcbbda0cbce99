"""Logits, percentages and a class with its confidence become probabilities."""

from __future__ import annotations

import re
from typing import Any

import mpmath as mp
import numpy as np
import pandas as pd
import pytest

import classfilter as cf
from example_tables import KINDS, NAN, column, columns, filter_parts, walk_sit

LOGITS = [[2.0, -1.0, 0.5], [-800.0, 0.0, 700.0], [NAN, NAN, NAN]]


@pytest.mark.parametrize("temperature", [1.0, 2.5, 0.1])
def test_softmax_in_mpmath(temperature: float) -> None:
    p = cf.softmax(LOGITS, temperature)
    with mp.workdps(50):
        for row, got in zip(LOGITS[:2], p, strict=False):
            e = [mp.exp(mp.mpf(s) / mp.mpf(temperature)) for s in row]
            expected = [float(x / mp.fsum(e)) for x in e]
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)
    assert np.isnan(p[2]).all()
    assert cf.softmax(LOGITS[0], temperature).tolist() == p[0].tolist()


def test_a_masked_class_has_no_probability() -> None:
    assert cf.softmax([0.0, -np.inf, 0.0]).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (([1.0, 2.0], 0.0), "temperature is 0.0; it must be positive and finite"),
        (([1.0, 2.0], "2"), "temperature is '2'; it must be positive and finite"),
        ((3.0,), "scores has shape (); it must be (K,) or (T, K), one per class"),
        (([[1.0], [2.0]],), "scores has shape (2, 1); it must be (K,)"),
        (([[1.0, 2.0], [NAN, 1.0]],), "scores in row 1 is [nan, 1.0]; it must hold finite numbers"),
        (([np.inf, 1.0],), "scores in row 0 is [inf, 1.0]; it must hold finite numbers, or only"),
    ],
)
def test_softmax_rejects(arguments: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}"):
        cf.softmax(*arguments)


SCORES: dict[str, Any] = {
    "logits": {"p_walk": np.log([0.7, 0.1, 0.5]) + 3, "p_sit": np.log([0.3, 0.9, 0.5]) + 3},
    "percent": {"p_walk": [70.0, 10.0, 50.0], "p_sit": [30.0, 90.0, 50.0]},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", SCORES)
def test_tables_of_scores(kind: str, scores: str) -> None:
    expected = cf.filter_table(KINDS[kind](columns()), walk_sit())
    df = KINDS[kind](columns(**SCORES[scores]))
    out = cf.filter_table(cf.rows(df, scores=scores), walk_sit())
    np.testing.assert_allclose(column(out, "f_walk"), column(expected, "f_walk"), rtol=1e-12)
    np.testing.assert_array_equal(column(out, "p_walk"), SCORES[scores]["p_walk"])  # unchanged
    smoothed = cf.smooth_table(cf.rows(df, scores=scores), walk_sit())
    assert column(smoothed, "class") == column(
        cf.smooth_table(KINDS[kind](columns()), walk_sit()), "class"
    )
    rec = cf.rows(df, scores=scores)
    np.testing.assert_allclose(rec.probs[:, 0], [0.7, 0.1, 0.5], rtol=1e-12)


def test_scores_in_files(tmp_path: Any) -> None:
    day, out = tmp_path / "day.csv", tmp_path / "out.csv"
    cf.write_table(KINDS["polars"](columns(**SCORES["percent"])), day)
    filter_parts(day, out, cf.Chain(walk_sit()), scores="percent")
    expected = cf.filter_table(pd.DataFrame(columns()), walk_sit())["f_walk"]
    np.testing.assert_allclose(cf.read_table(out)["f_walk"].to_numpy(), expected, rtol=1e-12)


def top_1(**changed: Any) -> dict[str, Any]:
    given = {"time": [0, 5, 6], "prediction": ["b", None, "c"], "confidence": [0.7, None, 0.5]}
    return given | changed


def test_a_class_with_its_confidence() -> None:
    """The rest is spread evenly over the other classes."""
    expected = [[0.15, 0.7, 0.15], [NAN] * 3, [0.25, 0.25, 0.5]]
    rec = cf.rows(pd.DataFrame(top_1()), classes=["a", "b", "c"])
    np.testing.assert_allclose(rec.probs, expected)
    percent = pd.DataFrame(top_1(confidence=[70, None, 50]))
    rec = cf.rows(percent, classes=["a", "b", "c"], scores="percent")
    np.testing.assert_allclose(rec.probs, expected)


ABC = {"time": [0, 1], "p_a": [0.5, 0.5], "p_b": [0.25, 0.25], "p_c": [0.25, 0.25]}
PERCENT = ABC | {"p_a": [50, 50], "p_b": [20, 20], "p_c": [30, 30]}


@pytest.mark.parametrize(
    ("table", "how", "why", "remedy"),
    [
        (
            top_1(confidence=[70, None, 50]),
            {},
            "confidence in row 0 is 70.0; it must lie in [0, 1]",
            'for percentages, give scores="percent"',
        ),
        (top_1(), {"scores": "logits"}, 'scores is "logits", but confidence', "a percentage"),
        (
            ABC | {"p_a": [2.0, 1.0], "p_b": [-1.0, 0.0]},
            {},
            "probs in row 0, class 'b', is -1.0; a probability must not be negative: logits need",
            'classfilter.softmax; if these are logits, give scores="logits"',
        ),
        (
            PERCENT,
            {},
            "probs in row 0 sums to 100.0; it must be within 0.05 of 1",
            '; these look like percentages: give scores="percent"',
        ),
        (ABC, {"scores": "percent"}, "probs in row 0 sums to 0.01", "where it is an argument"),
        (
            ABC,
            {"scores": "log"},
            "scores is 'log'; it must be one of",
            "logits, percent, independent, independent-logits, independent-percent",
        ),
        (
            ABC | {"p_a": [NAN, 1.0]},
            {"scores": "logits"},
            "scores in row 0 is [nan, 0.25, 0.25]; it must hold",
            "only NaN where nothing was observed",
        ),
    ],
)
def test_errors_name_the_remedy(table: Any, how: Any, why: str, remedy: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}.*{re.escape(remedy)}$"):
        cf.rows(pd.DataFrame(table), classes=["a", "b", "c"], **how)
