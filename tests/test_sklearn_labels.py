"""FilteredClassifier of several labels at once, against MultiLabelFilter by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classfilter as cf
from classfilter.sklearn import FilteredClassifier
from label_days import truth_of
from sklearn_streams import by_hand

FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)
ESTIMATORS: dict[str, Any] = {
    "forest": FOREST,
    "multi-output": MultiOutputClassifier(LogisticRegression()),
    "one against the rest": OneVsRestClassifier(LogisticRegression()),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
}


class Data:
    """Four streams of three labels, in a shuffled order of rows."""

    def __init__(self, rows: int = 60, labels: int = 3) -> None:
        rng = np.random.default_rng(0)
        streams = [[truth_of(rng, rows, 8, 10) for _ in range(labels)] for _ in range(4)]
        y = np.concatenate([np.stack(stream, axis=1) for stream in streams])
        order = rng.permutation(len(y))
        self.X = (y + rng.normal(size=y.shape))[order]
        self.y = y[order]
        self.groups = np.repeat(["a", "b", "c", "d"], rows)[order]
        self.times = np.tile(5.0 * np.arange(rows), 4)[order]
        self.where: Any = {"groups": self.groups, "times": self.times}


def scores_of(model: Any, X: Any) -> Any:
    """Return the probability of 1 of each label, as scikit-learn documents it."""
    outputs = model.predict_proba(X)
    return np.stack([p[:, 1] for p in outputs], axis=1) if isinstance(outputs, list) else outputs


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("lag", [0, 3])
def test_predictions_equal_a_filter_by_hand(name: str, lag: int) -> None:
    data = Data()
    f = cf.MultiLabelFilter(3, cf.StickyFilter(2, half_life=20.0))
    model = FilteredClassifier(ESTIMATORS[name], f, lag=lag).fit(data.X, data.y, **data.where)
    scores = scores_of(ESTIMATORS[name].fit(data.X, data.y), data.X)
    expected = np.empty(scores.shape)
    for k in range(3):
        lane = np.stack([1 - scores[:, k], scores[:, k]], axis=1)
        two = cf.StickyFilter(2, half_life=20.0)
        expected[:, k] = by_hand(two, lane, data.groups, data.times, lag)[:, 1]
    P = model.predict_proba(data.X, **data.where)
    np.testing.assert_array_equal(P, expected)
    np.testing.assert_array_equal(model.predict(data.X, **data.where), (expected > 0.5).astype(int))
    right = ((expected > 0.5) == data.y).all(axis=1).mean()
    assert model.score(data.X, data.y, **data.where) == pytest.approx(right)
    assert model.classes_.tolist() == [0, 1, 2]


def test_the_filter_is_tuned_on_streams_that_its_model_has_not_seen() -> None:
    data = Data()
    estimator = ESTIMATORS["one against the rest"]
    model = FilteredClassifier(estimator, "sticky", cv=2).fit(data.X, data.y, **data.where)
    names = list(dict.fromkeys(data.groups.tolist()))  # in order of appearance
    stream = np.array([names.index(name) for name in data.groups])
    order = np.lexsort((data.times, stream))
    X, y, stream, times = data.X[order], data.y[order], stream[order], data.times[order]
    scores = np.empty(y.shape)
    for train, test in GroupKFold(2).split(X, y, stream):
        scores[test] = estimator.fit(X[train], y[train]).predict_proba(X[test])
    recs = [
        cf.rows(
            time=times[rows],
            source="estimator",
            probs=scores[rows],
            classes=3,
            scores="independent",
        )
        for rows in (stream == code for code in range(4))
    ]
    assert model.filter_.settings == cf.tune(recs, "sticky").settings


@pytest.mark.parametrize("labels", [False, True])
def test_rare_labels_are_no_harm(labels: bool) -> None:
    """One is never on, one in a single stream; estimators differ in what they make of that."""
    data = Data()
    never, here = np.zeros(len(data.y)), (data.groups == "a") & (data.times < 50)
    y = np.column_stack([data.y[:, 0], never, here])
    model = FilteredClassifier(FOREST, labels=labels).fit(data.X, y, **data.where)
    P = model.predict_proba(data.X, **data.where)
    assert (P[:, 1] < 0.5).all()
    assert np.isfinite(P).all()
    several = FilteredClassifier(ESTIMATORS["multi-output"], "sticky", labels=labels)
    several.fit(data.X, y[:, [0, 2]], **data.where)  # one fold has no label of the last
    assert np.isfinite(several.predict_proba(data.X, **data.where)).all()


def test_names_a_half_life_and_what_makes_a_filter() -> None:
    pd = pytest.importorskip("pandas")
    data = Data(rows=20)
    y = pd.DataFrame(data.y, columns=["robin", "wren", "owl"])
    model = FilteredClassifier(FOREST, half_life="30s").fit(data.X, y, **data.where)
    assert model.classes_.tolist() == ["robin", "wren", "owl"]
    assert model.filter_.classes == ("robin", "wren", "owl")
    assert repr(model.filter_.filters[0]) == repr(cf.DirichletFilter(2, half_life=30.0))
    sticky = FilteredClassifier(FOREST, cf.StickyFilter, half_life=9.0).fit(data.X, y)
    assert isinstance(sticky.filter_.filters[2], cf.StickyFilter)
    one_row = FilteredClassifier(FOREST).fit  # too few rows for folds
    with pytest.warns(UserWarning, match="too few rows for folds"):
        assert isinstance(one_row(data.X[:1], data.y[:1]).filter_, cf.MultiLabelFilter)


def test_scikit_learn_cross_validates_it() -> None:
    data = Data(rows=20)
    model = FilteredClassifier(ESTIMATORS["one against the rest"], half_life=3.0)
    scores = cross_val_score(model, data.X, data.y, cv=3, scoring="average_precision")
    assert ((scores > 0.3) & (scores <= 1)).all()
