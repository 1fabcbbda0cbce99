"""Metrics of several labels at once, against scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as peer

from classfilter.metrics import label_scores

NAN = float("nan")


def random_case(seed: int) -> tuple[Any, Any]:
    """Return truth with missing entries, and scores with ties; some labels without positives."""
    rng = np.random.default_rng(seed)
    T, L = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    true = (rng.random((T, L)) < rng.choice([0.0, 0.1, 0.5, 1.0], L)).astype(int)
    predicted = np.round(rng.random((T, L)), int(rng.integers(0, 4)))
    true[rng.random((T, L)) < rng.choice([0.0, 0.3])] = -1
    true[0, 0] = rng.integers(2)
    return true, predicted


@pytest.mark.parametrize("seed", range(20))
def test_all_scores_equal_scikit_learn(seed: int) -> None:
    true, predicted = random_case(seed)
    threshold = float(np.random.default_rng(seed).choice([0.0, 0.3, 0.5, 1.0]))
    scores = label_scores(true, predicted, threshold=threshold)
    known = true >= 0
    each: dict[str, list[float]] = {"f1": [], "precision": [], "recall": [], "ap": []}
    for k in range(true.shape[1]):
        y, s = true[known[:, k], k], predicted[known[:, k], k]
        one = scores.by_class[str(k)]
        ours = [one.precision, one.recall, one.f1, one.accuracy, one.average_precision]
        theirs = [NAN] * 5
        if y.size:
            theirs = _peer(y, s, threshold)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        for name, value in zip(
            ("precision", "recall", "f1", "ap"), [*theirs[:3], theirs[4]], strict=True
        ):
            each[name].append(value)
    micro = [scores.precision, scores.recall, scores.f1, scores.accuracy, scores.average_precision]
    np.testing.assert_allclose(micro, _peer(true[known], predicted[known], threshold), rtol=1e-12)
    macro = scores.macro_f1, scores.macro_precision, scores.macro_recall
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of nothing is NaN
        means = [np.nanmean(values) for values in each.values()]
    np.testing.assert_allclose([*macro, scores.macro_average_precision], means, rtol=1e-12)


def _peer(y: Any, s: Any, threshold: float) -> list[float]:
    on = s > threshold
    options: Any = {"average": "binary", "zero_division": NAN}
    precision, recall, f1, _ = peer.precision_recall_fscore_support(y, on, **options)
    ap = peer.average_precision_score(y, s) if y.any() else NAN
    return [precision, recall, f1, peer.accuracy_score(y, on), ap]


def test_names_decisions_and_one_label() -> None:
    pd = pytest.importorskip("pandas")
    true = pd.DataFrame({"robin": [1, 0, 1], "wren": [0, None, 1]})
    predicted = pd.DataFrame({"p_wren": [0.2, 0.9, 0.9], "p_robin": [0.9, 0.1, 0.2]})
    scores = label_scores(true, predicted)
    assert list(scores.by_class) == ["robin", "wren"]
    assert scores.by_class["robin"].recall == 0.5
    assert scores.by_class["wren"].f1 == 1.0
    decided = np.array([[True, False], [False, True], [False, True]])
    by_decision = label_scores(true, decided)
    assert (by_decision.f1, by_decision.macro_f1) == (scores.f1, scores.macro_f1)
    assert by_decision.by_class["robin"].average_precision == pytest.approx(5 / 6)
    one = label_scores([1, 0, -1], [0.7, 0.6, 0.1], labels=["robin"])
    assert (one.known, one.precision, one.by_class["robin"].known) == (2, 0.5, 2)


def test_the_printout_says_the_convention() -> None:
    scores = label_scores([[1, 0], [0, -1]], [[0.9, 0.2], [0.4, NAN]], threshold=0.3)
    lines = str(scores).splitlines()
    assert lines[1].split() == ["micro", "3", "1", "2", "1", "0.667", "0.500", "1.000", "1.000"]
    assert lines[-1].startswith("On is above 0.3. Micro: all labels together. Macro: the mean")
    assert "<table" in scores._repr_html_()
    assert str(scores.by_class["0"]).splitlines()[-1] == "On is above 0.3."
