"""Logits, percentages and a class with its confidence become probabilities."""

from __future__ import annotations

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
    filter_parts(day, out, cf.Pipeline(walk_sit()), scores="percent")
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
