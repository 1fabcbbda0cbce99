"""Outputs of scikit-learn side by side: classes of an activity and a posture, or several labels."""

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
from sklearn_streams import by_hand

FOREST = RandomForestClassifier(5, max_depth=4, random_state=0)
ESTIMATORS: dict[str, Any] = {
    "forest": FOREST,
    "multi-output": MultiOutputClassifier(LogisticRegression()),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
}
ONE_AGAINST_THE_REST = OneVsRestClassifier(LogisticRegression())
CLASSES = {"activity": ["run", "sit", "walk"], "posture": ["lying", "upright"]}


class Data:
    """Four streams of outputs that last, in a shuffled order: names, or labels of 0 and 1."""

    def __init__(self, rows: int = 60, labels: bool = False) -> None:
        rng = np.random.default_rng(0)
        counts = (2, 2, 2) if labels else (3, 2)
        runs = [np.repeat(rng.integers(0, K, rows * 4 // 10), 10) for K in counts]
        truth = np.stack(runs, axis=1)
        order = rng.permutation(len(truth))
        X = np.hstack([np.eye(K)[truth[:, h]] for h, K in enumerate(counts)])
        self.X = (X + rng.normal(size=X.shape))[order]
        self.y: Any = truth[order]
        self.truth = truth[order]
        if not labels:
            columns = zip(CLASSES.values(), self.truth.T, strict=True)
            self.y = np.stack([np.array(names)[k] for names, k in columns], axis=1)
        self.groups = np.repeat(["a", "b", "c", "d"], rows)[order]
        self.times = np.tile(5.0 * np.arange(rows), 4)[order]
        self.where: Any = {"groups": self.groups, "times": self.times}


def each_output(outputs: Any, labels: bool) -> list[Any]:
    """Return the probabilities of the classes of each output; of a label, those of 0 and 1."""
    if not labels:
        return list(outputs)
    ones = [P[:, 1] for P in outputs] if isinstance(outputs, list) else outputs.T
    return [np.stack([1 - p, p], axis=1) for p in ones]


CASES = [(False, estimator) for estimator in ESTIMATORS.values()]
CASES += [(True, estimator) for estimator in (*ESTIMATORS.values(), ONE_AGAINST_THE_REST)]


@pytest.mark.parametrize(("labels", "estimator"), CASES)
@pytest.mark.parametrize("lag", [0, 3])
def test_predictions_equal_a_filter_of_each_output(labels: bool, estimator: Any, lag: int) -> None:
    data = Data(labels=labels)
    make: Any = {"filter": partial(cf.StickyFilter, stay=0.5 ** (1 / 20))}
    if labels:
        make = {"filter": cf.MultiLabelFilter(3, cf.StickyFilter(2, stay=0.5 ** (1 / 20)))}
    model = FilteredClassifier(estimator, **make, lag=lag).fit(data.X, data.y, **data.where)
    expected = [
        by_hand(cf.StickyFilter(P.shape[1], stay=0.5 ** (1 / 20)), P, data.groups, data.times, lag)
        for P in each_output(estimator.fit(data.X, data.y).predict_proba(data.X), labels)
    ]
    filtered = model.predict_proba(data.X, **data.where)
    if labels:
        np.testing.assert_array_equal(filtered, np.stack([P[:, 1] for P in expected], axis=1))
        assert model.classes_.tolist() == [0, 1, 2]
        best = [(P[:, 1] > 0.5).astype(int) for P in expected]
    else:
        for P, by_itself in zip(filtered, expected, strict=True):
            np.testing.assert_array_equal(P, by_itself)
        assert [own.tolist() for own in model.classes_] == list(CLASSES.values())
        best = [own[P.argmax(axis=1)] for own, P in zip(model.classes_, expected, strict=True)]
    predicted = model.predict(data.X, **data.where)
    np.testing.assert_array_equal(predicted, np.stack(best, axis=1))
    right = (predicted == data.y).all(axis=1)
    assert model.score(data.X, data.y, **data.where) == pytest.approx(right.mean())
    assert model.score(data.X, data.y, right, **data.where) == 1.0


@pytest.mark.parametrize("labels", [False, True])
def test_the_filter_is_tuned_on_streams_that_its_model_has_not_seen(labels: bool) -> None:
    data = Data(labels=labels)
    estimator: Any = ONE_AGAINST_THE_REST if labels else FOREST
    model = FilteredClassifier(estimator, "sticky", cv=2).fit(data.X, data.y, **data.where)
    names = list(dict.fromkeys(data.groups.tolist()))  # in order of appearance
    stream = np.array([names.index(name) for name in data.groups])
    order = np.lexsort((data.times, stream))
    X, y, stream, times = data.X[order], data.y[order], stream[order], data.times[order]
    probs = np.empty((len(y), 3 if labels else 5))
    for train, test in GroupKFold(2).split(X, y, stream):
        P = estimator.fit(X[train], y[train]).predict_proba(X[test])
        probs[test] = P if labels else np.hstack(P)
    outputs: Any = {str(h): names for h, names in enumerate(CLASSES.values())}
    how: Any = {"classes": 3, "scores": "independent"} if labels else {"classes": outputs}
    recs = [
        cf.rows(time=times[rows], source="estimator", probs=probs[rows], **how)
        for rows in (stream == code for code in range(4))
    ]
    assert model.filter_.settings == cf.tune(recs, "sticky").settings


def test_events_have_the_names_of_the_outputs() -> None:
    pd = pytest.importorskip("pandas")
    data, rule = Data(), cf.EventRule(change_cost="15s")
    y = pd.DataFrame(data.y, columns=list(CLASSES))
    model = FilteredClassifier(FOREST, half_life=20.0, event_rule=rule).fit(data.X, y, **data.where)
    events = model.predict_events(data.X, **data.where)
    order = np.argsort(data.times, kind="stable")
    rows = cf.rows(
        time=data.times[order],
        stream=data.groups[order],
        probs=np.hstack(FOREST.fit(data.X, data.y).predict_proba(data.X))[order],
        classes=CLASSES,
    )
    f = cf.MultiLabelFilter(
        CLASSES, {name: cf.DirichletFilter(own, half_life=20.0) for name, own in CLASSES.items()}
    )
    assert sorted(events) == sorted(cf.events(rows, f, rule))
    assert {event.label.partition(":")[0] for event in events} == set(CLASSES)


def test_an_output_of_0_and_1_is_a_label() -> None:
    data, rule = Data(), cf.EventRule(change_cost="15s")
    model = FilteredClassifier(FOREST, half_life=20.0, event_rule=rule)
    model.fit(data.X, data.truth, **data.where)
    assert [own.tolist() for own in model.classes_] == [[0, 1, 2], [0, 1]]
    assert [P.shape for P in model.predict_proba(data.X, **data.where)] == [(240, 3), (240, 2)]
    assert model.predict(data.X, **data.where).dtype.kind == "i"
    labels = {event.label for event in model.predict_events(data.X, **data.where)}
    assert labels == {"0:0", "0:1", "0:2", "1"}


def test_a_class_that_a_fold_lacks_is_improbable_there() -> None:
    data = Data()
    y = np.where((data.y == "run") & (data.groups != "a")[:, None], "walk", data.y)
    model = FilteredClassifier(FOREST, "sticky").fit(data.X, y, **data.where)
    assert all(np.isfinite(P).all() for P in model.predict_proba(data.X, **data.where))


@pytest.mark.parametrize("labels", [False, True])
def test_rare_labels_are_no_harm(labels: bool) -> None:
    """One is never on, one in a single stream; estimators differ in what they make of that."""
    data = Data(labels=True)
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
    data = Data(rows=20, labels=True)
    y = pd.DataFrame(data.y, columns=["robin", "wren", "owl"])
    model = FilteredClassifier(FOREST, half_life="30s").fit(data.X, y, **data.where)
    assert model.classes_.tolist() == ["robin", "wren", "owl"]
    assert model.filter_.classes == ("robin", "wren", "owl")
    assert repr(model.filter_.filters[0]) == repr(cf.DirichletFilter(2, half_life=30.0))
    sticky = FilteredClassifier(FOREST, partial(cf.StickyFilter, stay=0.5 ** (1 / 9))).fit(
        data.X, y
    )
    assert isinstance(sticky.filter_.filters[2], cf.StickyFilter)
    one_row = FilteredClassifier(FOREST).fit  # too few rows for folds
    with pytest.warns(UserWarning, match="too few rows for folds"):
        assert isinstance(one_row(data.X[:1], data.y[:1]).filter_, cf.MultiLabelFilter)


def test_scikit_learn_cross_validates_it() -> None:
    data = Data(rows=20, labels=True)
    model = FilteredClassifier(ONE_AGAINST_THE_REST, half_life=3.0)
    scores = cross_val_score(model, data.X, data.y, cv=3, scoring="average_precision")
    assert ((scores > 0.3) & (scores <= 1)).all()
