"""Several labels at once in scikit-learn: what each estimator predicts, and a filter for each."""

from __future__ import annotations

from functools import partial
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
from conftest import rejected
from sklearn_streams import by_hand

FOREST = RandomForestClassifier(5, max_depth=4, random_state=0)
ESTIMATORS: dict[str, Any] = {
    "forest": FOREST,
    "multi-output": MultiOutputClassifier(LogisticRegression()),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
}
ONE_AGAINST_THE_REST = OneVsRestClassifier(LogisticRegression())


class Data:
    """Four streams of labels that last, in a shuffled order."""

    def __init__(self, rows: int = 60) -> None:
        rng = np.random.default_rng(0)
        truth = np.stack([np.repeat(rng.integers(0, 2, rows * 4 // 10), 10) for _ in range(3)], 1)
        order = rng.permutation(len(truth))
        X = np.hstack([np.eye(2)[column] for column in truth.T])
        self.X = (X + rng.normal(size=X.shape))[order]
        self.y = truth[order]
        self.groups = np.repeat(["a", "b", "c", "d"], rows)[order]
        self.times = np.tile(5.0 * np.arange(rows), 4)[order]
        self.where: Any = {"groups": self.groups, "times": self.times}


@pytest.mark.parametrize("estimator", [*ESTIMATORS.values(), ONE_AGAINST_THE_REST])
@pytest.mark.parametrize("lag", [0, 3])
def test_predictions_equal_a_filter_of_each_label(estimator: Any, lag: int) -> None:
    data, half_life = Data(), 20.0
    f = cf.MultiLabelFilter(3, cf.DirichletFilter(2, half_life=half_life))
    model = FilteredClassifier(estimator, f, lag=lag).fit(data.X, data.y, **data.where)
    outputs = estimator.fit(data.X, data.y).predict_proba(data.X)
    ones = [P[:, 1] for P in outputs] if isinstance(outputs, list) else outputs.T
    expected = [
        by_hand(
            cf.DirichletFilter(2, half_life=half_life),
            np.stack([1 - p, p], axis=1), data.groups, data.times, lag,
        )[:, 1]
        for p in ones
    ]  # fmt: skip
    filtered = model.predict_proba(data.X, **data.where)
    np.testing.assert_array_equal(filtered, np.stack(expected, axis=1))
    assert model.classes_.tolist() == [0, 1, 2]
    predicted = model.predict(data.X, **data.where)
    np.testing.assert_array_equal(predicted, (filtered > 0.5).astype(int))
    right = (predicted == data.y).all(axis=1)
    assert model.score(data.X, data.y, **data.where) == pytest.approx(right.mean())
    assert model.score(data.X, data.y, right, **data.where) == 1.0


def test_the_filter_is_tuned_on_streams_that_its_model_has_not_seen() -> None:
    data, estimator = Data(), ONE_AGAINST_THE_REST
    model = FilteredClassifier(estimator, "sticky", cv=2).fit(data.X, data.y, **data.where)
    names = list(dict.fromkeys(data.groups.tolist()))  # in order of appearance
    stream = np.array([names.index(name) for name in data.groups])
    order = np.lexsort((data.times, stream))
    X, y, stream, times = data.X[order], data.y[order], stream[order], data.times[order]
    probs = np.empty((len(y), 3))
    for train, test in GroupKFold(2).split(X, y, stream):
        probs[test] = estimator.fit(X[train], y[train]).predict_proba(X[test])
    how: Any = {"source": "estimator", "classes": 3, "scores": "independent"}
    recs = [
        cf.rows(time=times[rows], probs=probs[rows], **how)
        for rows in (stream == code for code in range(4))
    ]
    assert model.filter_.settings == cf.tune(recs, "sticky").settings


def test_outputs_of_more_than_two_classes_are_rejected() -> None:
    data = Data()
    for y in (data.y + data.y[:, :1], data.y.astype(str), data.y + 1):
        with rejected("y"):
            FilteredClassifier(FOREST).fit(data.X, y)


@pytest.mark.filterwarnings("ignore:.*agree hardly more than by chance")
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
    quick = partial(cf.StickyFilter, dwell=9.0)
    sticky = FilteredClassifier(FOREST, quick).fit(data.X, y)
    assert isinstance(sticky.filter_.filters[2], cf.StickyFilter)
    one_row = FilteredClassifier(FOREST).fit  # too few rows for folds
    with pytest.warns(UserWarning, match="too few rows for folds"):
        assert isinstance(one_row(data.X[:1], data.y[:1]).filter_, cf.MultiLabelFilter)


def test_scikit_learn_cross_validates_it() -> None:
    data = Data(rows=20)
    model = FilteredClassifier(ONE_AGAINST_THE_REST, half_life=3.0)
    scores = cross_val_score(model, data.X, data.y, cv=3, scoring="average_precision")
    assert ((scores > 0.3) & (scores <= 1)).all()
