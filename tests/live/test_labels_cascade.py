"""The live loop for several labels at once: each label as in a loop of its own, to the bit."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest

import classfilter as cf
from classfilter.policy import Adaptive

LABELS = ("robin", "wren")
SOURCES = ("weak", "strong")
SAMPLE = np.zeros((1, 1))
TWO = {"sticky": cf.StickyFilter(2, stay=0.5 ** (1 / 5)), "dirichlet": cf.DirichletFilter(2, 0.9)}


def some_scores(seed: int, steps: int, labels: int = 2) -> Any:
    """Return the scores of each step and source, (T, 2, L), some of them missing."""
    rng = np.random.default_rng(seed)
    scores = rng.random((steps, 2, labels))
    scores[rng.random(scores.shape) < 0.2] = np.nan
    scores[rng.random(scores.shape[:2]) < 0.1] = np.nan
    return scores


def loop(pipe: Any, scores: Any, start: int = 0, **how: Any) -> cf.Cascade:
    """Return a cascade whose sources give the scores of the step, (T, 2, ...)."""
    at = {"step": start}

    def source(which: int) -> Any:
        def call(_: Any) -> Any:
            return scores[at["step"], which]

        return call

    cascade = cf.Cascade(pipe, {name: source(i) for i, name in enumerate(SOURCES)}, **how)
    step = cascade.step

    def counted(*given: Any, **more: Any) -> Any:
        result = step(*given, **more)
        at["step"] += 1
        return result

    cascade.step = counted  # type: ignore[method-assign]
    return cascade


def _steps(cascade: cf.Cascade, dt: Any) -> list[Any]:
    return [cascade.step(SAMPLE, float(x)) for x in dt]


@pytest.mark.parametrize("seed", range(3))
def test_adaptive_has_the_largest_uncertainty_and_disagreement(seed: int) -> None:
    """The same policy, by itself, with what the labels come to, label by label."""
    scores = some_scores(seed, 80)
    f, policy = cf.MultiLabelFilter(LABELS, TWO["sticky"]), Adaptive(budget=1 / 5, disagreement=2.0)
    weights = {"weak": 0.3, "strong": 1.0}
    cascade = loop(f, scores, beta=weights, policy=policy)
    calls = [s.called[0] for s in _steps(cascade, np.ones(80))]
    alone, last, expected = f.copy(), -np.inf, []
    for now, of_sources in enumerate(scores):
        p = alone.probs.tolist()
        unsure = max(min(x, 1 - x) for x in p)
        source = policy.choose([1 - unsure, unsure], {"strong": now - last, "weak": 1.0})
        seen = of_sources[SOURCES.index(source)].tolist()
        against = [1 - s if x > 0.5 else s for s, x in zip(seen, p, strict=True) if s == s]
        d = max(against, default=np.nan)
        alone.update(seen, weights[source], 1.0)
        policy.called(source, [1 - d, d], [1 - unsure, unsure], 1.0)
        last = now if source == "strong" else last
        expected.append(source)
    assert calls == expected
    assert 8 <= calls.count("strong") <= 30


@pytest.mark.parametrize(
    "output",
    [
        [0.9, 0.2],
        [[0.9, 0.2]],
        {"wren": 0.2, "robin": 0.9},
        pd.Series({"wren": 0.2, "robin": 0.9}),
        np.array([[0.9, 0.2]]),
    ],
)
def test_what_a_source_returns(output: Any) -> None:
    f = cf.MultiLabelFilter(LABELS, TWO["sticky"])
    step = cf.Cascade(f, {"weak": lambda _: output}).step(SAMPLE)
    np.testing.assert_array_equal(step.probs, f.update([0.9, 0.2]))
    assert step.label == ("robin",)


@pytest.mark.parametrize("output", [0.9, [0.9], np.float64(0.9), {"speech": 0.9}])
def test_one_label_needs_one_number(output: Any) -> None:
    f = cf.MultiLabelFilter(["speech"], TWO["sticky"])
    step = cf.Cascade(f, {"weak": lambda _: output}).step(SAMPLE)
    assert step.probs.tolist() == f.update([0.9]).tolist()
    assert step.label == ("speech",)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ([0.9, 1.2], "it['wren'] is 1.2; it must lie in [0, 1]"),
        ([0.9], "it has shape (1,); it must be (2,), one score per label"),
        ("robin", "it is 'robin'; it must be 2 numbers"),
    ],
)
def test_invalid_outputs_count_as_missing(
    output: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    f = cf.MultiLabelFilter(LABELS, TWO["sticky"])
    cascade = cf.Cascade(f, {"weak": lambda _: output})
    with caplog.at_level(logging.WARNING, "classfilter"):
        step = cascade.step(SAMPLE)
    assert step.source is None
    assert cascade.errors == {"weak": 1}
    assert why in caplog.text
    np.testing.assert_array_equal(step.probs, f.update([np.nan] * 2))
