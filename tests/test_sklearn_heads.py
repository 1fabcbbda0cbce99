"""FilteredClassifier of several outputs, such as activity and posture, against each by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
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
CLASSES = {"activity": ["run", "sit", "walk"], "posture": ["lying", "upright"]}


class Data:
    """Four streams of an activity and a posture that last, in a shuffled order of rows."""

    def __init__(self, rows: int = 60) -> None:
        rng = np.random.default_rng(0)
        truth = np.stack(
            [np.repeat(rng.integers(0, K, rows * 4 // 10), 10) for K in (3, 2)], axis=1
        )
        order = rng.permutation(len(truth))
        X = np.hstack([np.eye(3)[truth[:, 0]], np.eye(2)[truth[:, 1]]])
        self.X = (X + rng.normal(size=X.shape))[order]
        self.truth = truth[order]
        columns = zip(CLASSES.values(), self.truth.T, strict=True)
        self.y = np.stack([np.array(names)[k] for names, k in columns], axis=1)
        self.groups = np.repeat(["a", "b", "c", "d"], rows)[order]
        self.times = np.tile(5.0 * np.arange(rows), 4)[order]
        self.where: Any = {"groups": self.groups, "times": self.times}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("lag", [0, 3])
def test_predictions_equal_a_filter_of_each_output(name: str, lag: int) -> None:
    data = Data()
    model = FilteredClassifier(ESTIMATORS[name], cf.StickyFilter, half_life=20.0, lag=lag)
    model.fit(data.X, data.y, **data.where)
    outputs = ESTIMATORS[name].fit(data.X, data.y).predict_proba(data.X)
    expected = [
        by_hand(cf.StickyFilter(K, half_life=20.0), P, data.groups, data.times, lag)
        for K, P in zip((3, 2), outputs, strict=True)
    ]
    filtered = model.predict_proba(data.X, **data.where)
    for P, by_itself in zip(filtered, expected, strict=True):
        np.testing.assert_array_equal(P, by_itself)
    assert [own.tolist() for own in model.classes_] == list(CLASSES.values())
    best = [own[P.argmax(axis=1)] for own, P in zip(model.classes_, expected, strict=True)]
    predicted = model.predict(data.X, **data.where)
    np.testing.assert_array_equal(predicted, np.stack(best, axis=1))
    right = (predicted == data.y).all(axis=1)
    assert model.score(data.X, data.y, **data.where) == pytest.approx(right.mean())
    assert model.score(data.X, data.y, right, **data.where) == 1.0


def test_the_filter_is_tuned_on_streams_that_its_model_has_not_seen() -> None:
    data = Data()
    model = FilteredClassifier(FOREST, "sticky", cv=2).fit(data.X, data.y, **data.where)
    names = list(dict.fromkeys(data.groups.tolist()))  # in order of appearance
    stream = np.array([names.index(name) for name in data.groups])
    order = np.lexsort((data.times, stream))
    X, y, stream, times = data.X[order], data.y[order], stream[order], data.times[order]
    probs = np.empty((len(y), 5))
    for train, test in GroupKFold(2).split(X, y, stream):
        probs[test] = np.hstack(FOREST.fit(X[train], y[train]).predict_proba(X[test]))
    classes: Any = {str(h): names for h, names in enumerate(CLASSES.values())}
    recs = [
        cf.rows(time=times[rows], source="estimator", probs=probs[rows], classes=classes)
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
